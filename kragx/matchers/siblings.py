"""Texts made from one template, told apart by what stands between the same words.

A policy and its sibling for another company share nearly all pairs of words. Laid side by side,
they have other words between the same ones: another name, another number. So has a text that was
misread. The difference is whether the other word is known: in the gold of another question, or in
two texts that are not one where they overlap. What nobody else has is a misreading, what resembles
the word in its place is a spelling of it, and what many texts have tells nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise, zip_longest
from typing import Literal, Self

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.korean import spaced_alike, stem
from kragx.data.lists import Lists
from kragx.data.ngrams import of_pairs
from kragx.data.tokenizers import without_hanja
from kragx.data.words import unspaced, words
from kragx.matchers.gold_siblings import LEAST_QUESTIONS, LEAST_SHARE
from kragx.matchers.laid import Offsets, best_offsets
from kragx.matchers.notes import Notes
from kragx.matchers.vocabulary import Vocabulary
from kragx.metrics import Bools, Floats
from kragx.metrics.threshold import matches

Siblings = Literal["apart", "together"]

_Tokens = Sequence[int]

FINDING = "siblings"
"""Under this kind `SiblingCounts` stand in notes."""

FLOOR = 0.25
"""Pairs that score less are no match at any threshold that anybody uses, and stay as they are."""

_LESS = 0.5
"""Another offset is looked at where it has at least so much of what the best one has."""

_DRIFT = 8
"""So many words more are read at either end: what one text has more shifts what comes after it."""

_AT_END = 3
"""So many words beside what is shared are looked at where one of the texts ends."""

# Letters of which two words agree, of all of both: measured on texts of which 3 and 10 % of the
# letters were misread, in English and Korean (docs/matchers-texts.md).
_RESPELT_KNOWN, _RESPELT, _RESPELT_TOGETHER = 0.8, 0.5, 0.75
_SHORT = 4  # letters of a word of which one may be misread

# With its unit, or as an article (14일, 5kg, 제14조제2항).
_NUMBER = re.compile(r"제?\d[\d.]*(?:[가-힣]+\d[\d.]*)*(?:[가-힣]*|\D{0,3})")
_OF_NUMBER = re.compile(r"\d[\d.]*[십백천만억조]*")
_ROUND = str.maketrans(dict.fromkeys("035689", "0"))
_SYLLABLES = re.compile("[가-힣]+")
_DIGITS = re.compile(r"\d+")
_HAN = re.compile("[\u2e80-\ua4cf\uf900-\ufaff]")  # may stand in brackets that are left out
# Or a tag that a chunk's end has cut.
_SENTENCE_END = re.compile(
    r"[.!?。:;|<>&\]\n\\](?:(?<=[<>&\]\n])|(?<=\\)n|(?<=[.!?。:;|])[.!?。:;|]*(?:\s|$))"
)
_PARTING = " qzxqzx "  # a word that nobody writes in place of each, so that words are cut once


@dataclass(frozen=True)
class Difference:
    """What two texts have between the same words.

    Attributes:
        doc, gold: the words of either.
        word: the document's word that tells it from the gold; empty for a misreading.
    """

    doc: tuple[str, ...]
    gold: tuple[str, ...]
    word: str = ""


def differences(
    docs: Sequence[str], golds: Sequence[str], corpus: TokenCorpus, vocabulary: Vocabulary
) -> Iterator[Difference | None]:
    """In what documents and gold texts differ although they share much.

    Args:
        docs: (n) documents as they are read.
        golds: (n) the gold text beside each.
        corpus: numbers their words.
        vocabulary: which words are known.

    Yields:
        Of each two a difference with a `word`: they are siblings. One without: words that tell gold
        apart were misread, or are those of another text, so nobody can say. None: neither.
    """
    if vocabulary.passages == "characters":
        docs, golds = spaced_alike(docs, golds)
    # Together, as a corpus that forgets forgets all but what it is given last.
    corpus.add([*docs, *golds])
    of_docs, of_golds = corpus.rows(docs), corpus.rows(golds)
    strings = zip(corpus.strings(of_docs), corpus.strings(of_golds))
    tokens = zip(corpus.of_rows(of_docs), corpus.of_rows(of_golds))
    offsets = best_offsets(of_docs, of_golds, corpus)
    words = corpus.words
    for texts, string, (of_doc, of_gold), places in zip(zip(docs, golds), strings, tokens, offsets):
        numbers = of_doc.tolist(), of_gold.tolist()
        yield _Pair(texts, string, numbers, words, vocabulary).difference(places)


def without_siblings(
    docs: Lists,
    golds: Lists,
    scores: Floats,
    corpus: TokenCorpus,
    vocabulary: Vocabulary,
    threshold: float,
    counts: SiblingCounts,
) -> Floats:
    """Scores in which siblings of the gold have 0.

    Args:
        docs: the documents of each question, as they are read.
        golds: its gold texts.
        scores: of all pairs, question after question, documents down, gold texts across.
        corpus: numbers the words of both.
        vocabulary: which words are known.
        threshold: from which score on a pair is a match.
        counts: of the questions with siblings.
    """
    of_doc, of_gold = of_pairs(docs.n_texts, golds.n_texts)
    doc, gold = docs.numbers[of_doc], golds.numbers[of_gold]
    masked = scores.copy()
    is_sibling, is_misread = np.zeros((2, len(docs)), bool)
    open_pairs = ((scores >= FLOOR) & (scores < 1)).nonzero()[0]
    rows = [*zip(doc[open_pairs].tolist(), gold[open_pairs].tolist())]
    unique = dict.fromkeys(rows)
    of_docs = [docs.known[row] for row, _ in unique]
    of_golds = [golds.known[row] for _, row in unique]
    by_row = dict(zip(unique, differences(of_docs, of_golds, corpus, vocabulary)))
    for pair, row in zip(open_pairs.tolist(), rows):
        differing, query = by_row[row], docs.of_text[of_doc[pair]]
        if differing is not None and differing.word:
            masked[pair] = 0.0
            is_sibling[query] = True
        elif differing is not None and matches(scores[pair], threshold):
            is_misread[query] = True
    of_matches = docs.of_text[of_doc[matches(masked, threshold)]]
    has_match = np.bincount(of_matches, minlength=len(docs)) > 0
    counts.add(has_match, is_sibling, is_misread)
    return masked


class _Pair:
    """A document and a gold text, laid side by side."""

    def __init__(
        self,
        texts: tuple[str, str],
        strings: tuple[str | list[int], str | list[int]],
        tokens: tuple[_Tokens, _Tokens],
        words: Sequence[str],
        vocabulary: Vocabulary,
    ) -> None:
        self._texts, self._strings, self._tokens = texts, strings, tokens
        self._words_by_token = words
        self._vocabulary = vocabulary

    @cached_property
    def _own(self) -> frozenset[str]:
        """The words of the gold text."""
        return frozenset(map(stem, _units(self._words(self._tokens[1]))))

    def difference(self, offsets: Offsets) -> Difference | None:
        """In what they differ where most pairs of words meet, and where nearly as many do."""
        first: Difference | None = None
        peak = 0
        for offset, meetings in offsets:
            peak = peak or meetings
            if meetings >= _LESS * peak:
                differing = self._at(offset)
                if differing is None or not differing.word:
                    return differing
                first = first or differing
        return first

    def _at(self, offset: int) -> Difference | None:
        misread: Difference | None = None
        for differing in self._differences(offset):
            if differing is not None and differing.word:
                return differing
            misread = misread or differing
        return misread

    def _differences(self, offset: int) -> Iterator[Difference | None]:
        """Between the runs that both have, before the first one and behind the last."""
        from rapidfuzz.distance import LCSseq

        (doc, gold), (of_doc, of_gold) = self._strings, self._tokens
        start = max(0, -offset)
        end = min(len(gold), len(doc) - offset)
        before_gold, before_doc = max(0, start - _DRIFT), max(0, start + offset - _DRIFT)
        behind_gold, behind_doc = end + _DRIFT, end + offset + _DRIFT
        blocks = LCSseq.opcodes(doc[before_doc:behind_doc], gold[before_gold:behind_gold])
        runs = [run for run in blocks.as_matching_blocks() if run.size > 1]
        if not runs:
            return
        in_doc, in_gold = of_doc[before_doc:behind_doc], of_gold[before_gold:behind_gold]
        for before, after in pairwise(runs):
            gap = slice(before.a + before.size, after.a), slice(before.b + before.size, after.b)
            yield self._between(self._words(in_doc[gap[0]]), self._words(in_gold[gap[1]]))
        first, last = runs[0], runs[-1]
        n_doc, n_gold = before_doc + first.a, before_gold + first.b
        # A heading that a pipeline put before a chunk stands before the midst of the gold.
        if not n_doc <= _AT_END < n_gold:
            yield self._at_end(in_doc[: first.a], in_gold[: first.b], in_doc[first.a], -1)
        rest = in_doc[last.a + last.size :], in_gold[last.b + last.size :]
        yield self._at_end(*rest, in_doc[last.a + last.size - 1], 1)

    def _words(self, tokens: _Tokens) -> Sequence[str]:
        return [*map(self._words_by_token.__getitem__, tokens)]

    def _at_end(
        self, in_doc: _Tokens, in_gold: _Tokens, edge: int, step: Literal[-1, 1]
    ) -> Difference | None:
        """Other words before or behind what is shared, in the sentence that is cut there."""
        if not (in_doc and in_gold):
            return None
        # The next ones first.
        doc, gold = (self._words(tokens[::step][:_AT_END]) for tokens in (in_doc, in_gold))
        word = self._words_by_token[edge]
        gold = _in_sentence(gold, word, self._texts[1], step)
        # Sentences of the document, which is long, are looked at where it matters.
        if self._beside(doc, gold, step) is None:
            return None
        return self._beside(_in_sentence(doc, word, self._texts[0], step), gold, step)

    def _beside(
        self, doc: Sequence[str], gold: Sequence[str], step: Literal[-1, 1]
    ) -> Difference | None:
        n = min(len(doc), len(gold))
        if not n or _is_cut(doc, gold[0], step) or _is_cut(gold, doc[0], step):
            return None
        return self._between(doc[: _as_long(doc, gold[:n])][::step], gold[:n][::step])

    def _between(self, doc: Sequence[str], gold: Sequence[str]) -> Difference | None:
        """What stands in either text beside the same words."""
        in_doc = [word for word in doc if word not in gold]
        in_gold = [word for word in gold if word not in doc]
        if not in_doc or not in_gold or "".join(in_doc) == "".join(in_gold):
            return None
        telling = self._number(in_doc, in_gold)
        if telling is None:
            telling = self._word(_units(in_doc), _units(in_gold), "".join(in_gold))
        if telling is None:
            return None
        return Difference(tuple(doc), tuple(gold), telling)

    def _number(self, doc: Sequence[str], gold: Sequence[str]) -> str | None:
        """Another number than any of the gold's; None where there is none on either side."""
        numbers = [number for word in gold if (number := _number_of(word))]
        # Where a space was put in or lost, a part of a number, or two as one, is no other one.
        same = numbers if len(doc) == len(gold) else _joined(gold)
        for word in doc if numbers else ():
            number = _number_of(word)
            is_same = (number if same is numbers else _joined([number])) in same
            if (
                number
                and not is_same
                and (self._is_known(word) or not any(_may_be(number, figure) for figure in numbers))
            ):
                return word
        return None

    def _word(self, doc: Sequence[str], gold: Sequence[str], letters: str) -> str | None:
        """A word that tells the document from the gold; empty where nobody can say."""
        if not any(map(self._tells, gold)):
            telling = filter(self._tells, doc)
            return None if all(_is_respelt(word, gold, _RESPELT) for word in telling) else ""
        is_misread: bool | None = None  # found out where it is asked
        is_forgiven = False
        for word in doc:
            if word in letters and (len(doc) != len(gold) or not _DIGITS.search(word)):
                continue
            is_in_gold = self._vocabulary.is_in_gold(word, self._own)
            if is_in_gold and not _number_of(word) and self._tells(word):
                if not _is_respelt(word, gold, _RESPELT_KNOWN):
                    return word
                is_forgiven = True
                continue
            if is_misread is None:
                is_misread = _is_respelt("".join(doc), ["".join(gold)], _RESPELT_TOGETHER)
            if is_misread or _is_respelt(word, gold, _RESPELT) or _is_part(word, letters):
                is_forgiven = True
                continue
            is_known = is_in_gold or self._vocabulary.is_in_docs(word)
            if is_known and not _number_of(word) and self._tells(word):
                return word
            is_forgiven = is_forgiven or not is_known
        return "" if is_forgiven else None

    def _is_known(self, word: str) -> bool:
        vocabulary = self._vocabulary
        return vocabulary.is_in_gold(word, self._own) or vocabulary.is_in_docs(word)

    def _tells(self, word: str) -> bool:
        """Whether a word, by its length and how often it stands anywhere, tells texts apart."""
        if _number_of(word):
            return True
        return len(word) >= (2 if word >= "\u0e00" else 3) and self._vocabulary.is_rare(word)


def _in_sentence(words: Sequence[str], edge: str, text: str, step: Literal[-1, 1]) -> Sequence[str]:
    """Those of some words, the next ones to another word first, that are in a sentence with it."""
    for number, word in enumerate(words):
        pair = f" {' '.join((edge, word)[::step])} "
        # As a rule they are written so; the whole text is cut into sentences where they are not.
        if pair not in text or _HAN.match(edge):
            sentences = _sentences(text)
            if sentences and pair not in sentences:
                return words[:number]
        edge = word
    return words


def _is_cut(words: Sequence[str], word: str, step: Literal[-1, 1]) -> bool:
    """Whether one word alone is left of a text, a part of the other text's word."""
    if len(words) != 1:
        return False
    return word.startswith(words[0]) if step > 0 else word.endswith(words[0])


def _as_long(words: Sequence[str], gold: Sequence[str]) -> int:
    """How many words have no more letters than the others; one at least.

    What is misread has more words, or fewer, so that words behind them face nothing.
    """
    n_letters = len("".join(gold))
    ends = accumulate(map(len, words[:_AT_END]))
    return max(1, sum(end <= n_letters for end in ends))


def _units(words: Sequence[str]) -> list[str]:
    """Words, and of characters of scripts that write without spaces each two in a row.

    One such character alone tells nothing: that much is misread.
    """
    is_character = [len(word) == 1 and unspaced(word) for word in words]
    if not any(is_character):
        return [*words]
    pairs = [
        head + tail
        for (head, first), (tail, second) in pairwise(zip(words, is_character))
        if first and second
    ]
    return [word for word, alone in zip(words, is_character) if not alone] + pairs


def _number_of(word: str) -> str:
    """The digits of a number with its unit; empty for any other word."""
    if _NUMBER.fullmatch(word) is None:
        return ""
    return " ".join(_OF_NUMBER.findall(word))


def _joined(words: Sequence[str]) -> str:
    return "".join(words).replace(".", "")


def _may_be(number: str, gold: str) -> bool:
    """Whether a number may be another one of which a figure is lost, or read as one as round.

    A comma of thousands is read as a point.
    """
    from rapidfuzz.distance.Indel import distance

    in_doc, in_gold = number.replace(".", ""), gold.replace(".", "")
    return distance(in_doc, in_gold) <= 1 or number.translate(_ROUND) == gold.translate(_ROUND)


@lru_cache(1 << 12)
def _in_letters(word: str) -> str:
    """A word in letters: of a Hangul syllable, as a rule, one letter is misread."""
    return unicodedata.normalize("NFD", word)


def _alike(word: str, gold: str) -> float:
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(_in_letters(word), _in_letters(gold))


def _has_like_syllables(word: str, gold: str) -> bool:
    """Whether Hangul words of as many syllables differ in one letter of each syllable at most."""
    if len(word) != len(gold) or not _SYLLABLES.fullmatch(word + gold):
        return True
    pairs = (zip_longest(*map(_in_letters, pair)) for pair in zip(word, gold))
    return all(sum(a != b for a, b in pair) <= 1 for pair in pairs)


def _is_respelt(word: str, gold: Sequence[str], floor: float) -> bool:
    """Whether a word is much like one of some others, which has no other number in it."""
    number = _DIGITS.findall(word)
    if len(_in_letters(word)) == _SHORT:
        floor = min(floor, 1 - 1 / _SHORT)
    likely = (
        gold_word
        for gold_word in gold
        if _alike(word, gold_word) >= floor
        and (floor < _RESPELT_KNOWN or _has_like_syllables(word, gold_word))
    )
    return any(not number or _DIGITS.findall(gold_word) in ([], number) for gold_word in likely)


def _is_part(word: str, letters: str) -> bool:
    """Whether letters much like a word's stand in others, as where a space was put in or lost."""
    from rapidfuzz.fuzz import partial_ratio

    return len(word) > 1 and partial_ratio(_in_letters(word), _in_letters(letters)) >= 80


@lru_cache(1 << 12)
def _sentences(text: str) -> str:
    """The words with a space on either side, and one that nobody writes where sentences end.

    Nothing without an end of a sentence or a line.
    """
    text, n_ends = _SENTENCE_END.subn(_PARTING, without_hanja(text).rstrip(" .!?。"))
    return f" {' '.join(words(text))} " if n_ends else ""


@dataclass
class SiblingCounts:
    """Counts questions, and those where nobody can say whether the gold came or a sibling.

    Attributes:
        n: questions with a match or a sibling.
        n_misread: those with a match whose telling words are misread, or another text's own.
    """

    n: int = 0
    n_misread: int = 0

    def add(self, has_match: Bools, is_sibling: Bools, is_misread: Bools) -> None:
        """Add questions: which have a match, a sibling, a match that nobody can tell."""
        self.n += int((has_match | is_sibling).sum())
        self.n_misread += int(is_misread.sum())

    def merge(self, later: Self) -> None:
        """Add the questions after these."""
        self.n += later.n
        self.n_misread += later.n_misread

    @property
    def are_misread(self) -> bool:
        """Whether many questions have a match whose telling words are not the gold's."""
        return self.n_misread >= max(LEAST_QUESTIONS, LEAST_SHARE * self.n)

    def problem(self) -> str:
        """Nothing: it is said with the gold that is alike (`kragx.matchers.gold_siblings`)."""
        return ""


def are_misread(notes: Notes) -> bool:
    """Whether so much was misread that texts of one template could not be told apart."""
    counts = (finding for (kind, _), finding in notes.findings.items() if kind == FINDING)
    return any(isinstance(count, SiblingCounts) and count.are_misread for count in counts)
