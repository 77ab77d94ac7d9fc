"""Noun phrases of documents, in Korean and in English."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kragx.data.tokenizers import KiwiTokenizer
from kragx.workshop.questions.leak import ASKING_EN, COMMON, has_kiwi

_LONGEST = 20  # syllables of a Korean phrase

_BETWEEN = frozenset(COMMON["between"].split())
"""Nouns that say when, where or how far: no phrase holds one."""


def korean(texts: Sequence[str]) -> Iterator[Iterator[str]]:
    """The noun phrases of each text, repeats too.

    By Kiwi: two to four nouns in a row, or a single one of three syllables and more; in a text
    without any, of two. None without Kiwi.
    """
    if not has_kiwi():
        return (iter(()) for _ in texts)
    runs = (_runs(*pair) for pair in zip(texts, KiwiTokenizer().kiwi.tokenize(texts)))
    return (iter([p for p, is_long in run if is_long] or [p for p, _ in run]) for run in runs)


def _runs(text: str, tokens: Sequence[Any]) -> list[tuple[str, bool]]:
    """Nouns in a row, apart by no more than a space, and whether there is more than a short one."""

    def text_of(run: Sequence[Any]) -> str:
        return text[run[0].start : run[-1].end]

    runs: list[list[Any]] = [[]]
    for token in tokens:
        is_noun = token.tag in ("NNG", "NNP", "XSN", "XPN") and token.form not in _BETWEEN
        gap = text[runs[-1][-1].end : token.start] if runs[-1] else ""
        # A syllable that stands alone is often the rest of another word.
        if not is_noun or gap not in ("", " ") or (gap and len(text_of(runs[-1])) == 1):
            runs.append([])
        if is_noun and (runs[-1] or token.tag != "XSN"):
            runs[-1].append(token)
    phrases = []
    for run in filter(None, runs):
        phrase = text_of(run)
        n_nouns = sum(token.tag[0] == "N" for token in run)
        is_whole = run[-1].tag != "XPN" and run[-1].form not in _OPEN
        if is_whole and 1 <= n_nouns <= 4 and 2 <= len(phrase) <= _LONGEST:
            phrases.append((phrase, n_nouns > 1 or len(phrase) > 2))
    return phrases


_OPEN = frozenset({"적", "째", "끼리", "별"})
"""Endings with which no phrase ends."""

# A determiner begins a noun phrase, and what may follow a noun ends it; in between the fewest words
# that do.
_ENGLISH = re.compile(
    r"\b(?:the|an?|this|each|every|any|no|your|our|their|its|his|my)\s+"
    r"(?P<phrase>[a-z][a-z0-9-]+(?:[ \n][a-z][a-z0-9-]+){0,2}?)"
    r"(?=\s*[.,;:)!?\n]|\s(?:of|in|on|at|for|from|with|within|is|are|was|were|must|may|can|will|"
    r"and|or)\b)",
    re.IGNORECASE,
)


def english(texts: Sequence[str]) -> Iterator[Iterator[str]]:
    """The noun phrases of each text, repeats too.

    Up to three words between a determiner and what can follow a noun, the last of which stands
    somewhere in the texts alone behind a determiner; in a text without any, whatever the last one
    is. A single word is one where it stands twice.
    """
    matches = [[match["phrase"].split() for match in _ENGLISH.finditer(text)] for text in texts]
    heads = {phrase[0].lower() for phrases in matches for phrase in phrases if len(phrase) == 1}
    heads |= {f"{head}s" for head in heads if not head.endswith("s")}
    return (_certain_nouns(phrases, heads) for phrases in matches)


def _certain_nouns(phrases: Sequence[Sequence[str]], heads: set[str]) -> Iterator[str]:
    """The phrases that surely are nouns; of a text without any, those that may be."""
    lower = [tuple(map(str.lower, phrase)) for phrase in phrases]
    nouns = [
        (" ".join(phrase), key[-1] in heads)
        for phrase, key in zip(phrases, lower)
        if not key[-1].endswith(("ed", "ing", "ly"))
        and ASKING_EN.isdisjoint(key)
        and (len(key) > 1 or lower.count(key) > 1)
    ]
    surely = [noun for noun, is_sure in nouns if is_sure]
    return iter(surely or [noun for noun, _ in nouns])


NOUNS: Mapping[str, Callable[[Sequence[str]], Iterator[Iterator[str]]]] = {
    "ko": korean,
    "en": english,
}
"""What finds the noun phrases of some texts in a language."""
