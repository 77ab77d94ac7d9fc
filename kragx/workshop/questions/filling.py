"""What templates are filled with: a document's heading, its noun phrases, its metadata."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

from kragx.data.documents import Doc
from kragx.data.tokenizers import KiwiTokenizer
from kragx.data.words import words
from kragx.workshop.questions.leak import ASKING_EN, HANGUL, has_kiwi
from kragx.workshop.questions.templates import Language

LONGEST = 80
"""Characters of a value; a longer one is no word of a question."""
MOST_NOUNS = 8
"""Noun phrases of a document."""
_READ = 4000  # characters of a document in which noun phrases are looked for

_HEADINGS = (
    *("heading", "section", "Header 4", "Header 3", "Header 2", "Header 1", "title"),
    *("제목", "소제목"),
)
"""The metadata that names what a document is about, the narrowest first."""
_MARKDOWN = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)+\.?|\d+[.)]|[IVX]+\.)\s+")
_KIND_EN = re.compile(
    r"^(?:case (?:file|study|no\.? ?\w+)|case|faq|guide|note|notice|policy|"
    r"(?:chapter|section|part) \w+)\s*[:—–-]\s+",
    re.IGNORECASE,
)
_KIND_KO = re.compile(
    r"(?:에 (?:관한|관해|대한|대해))?\s*"
    r"(?:자주 묻는 질문|묻고 답하기|사례|사건|안내|해설|지침|FAQ|Q&A)$"
)
_SENTENCE_KO = re.compile(r"(?:습니다|입니다|합니다|됩니다|니까|나요|세요|는다|한다|된다)$")


@dataclass(frozen=True)
class Filling:
    """What templates can be filled with from one document.

    Attributes:
        doc: the document.
        language: ``ko`` where a third of its letters is Hangul, else ``en``.
        values: its metadata by name, and its ``heading`` if it has one.
        nouns: its noun phrases, the most telling first.
    """

    doc: Doc
    language: Language
    values: Mapping[str, str] = field(default_factory=dict)
    nouns: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """What a template can ask for."""
        return frozenset(self.values) | (
            frozenset({"noun", "nouns"}) if self.nouns else frozenset()
        )


def language_of(text: str) -> Language:
    """``ko`` where a third of the letters is Hangul (of NFD as of NFC), else ``en``."""
    letters = [char for char in unicodedata.normalize("NFC", text[:_READ]) if char.isalpha()]
    n_hangul = sum(HANGUL.match(char) is not None for char in letters)
    return "ko" if n_hangul * 3 >= max(1, len(letters)) else "en"


def fillings(documents: Sequence[Doc]) -> list[Filling]:
    """What each document has.

    Args:
        documents: with texts; how telling a noun phrase is, is counted among them: the more often
            a document has it, and the fewer others do, the more.
    """
    texts = [unicodedata.normalize("NFC", (doc.text or "")[:_READ]) for doc in documents]
    languages = [
        language_of(" ".join([text, *_values(doc.metadata).values()]))
        for doc, text in zip(documents, texts)
    ]
    headings = [_heading(*each) for each in zip(documents, texts, languages)]
    phrases = _Phrases(text for text, language in zip(texts, languages) if language == "ko")
    counts = [
        Counter(phrases.of(f"{heading or ''}\n{text}", language))
        for text, language, heading in zip(texts, languages, headings)
    ]
    n_having = Counter(noun for nouns in counts for noun in nouns)
    made = []
    for doc, language, heading, nouns in zip(documents, languages, headings, counts):
        weights = {
            noun: -count
            * (1 + (noun in (heading or "")))
            * log((len(documents) + 1) / n_having[noun])
            for noun, count in nouns.items()
        }
        telling = sorted(weights, key=lambda noun: (weights[noun], noun))[:MOST_NOUNS]
        named = {} if heading is None else {"heading": heading}
        made.append(Filling(doc, language, _values(doc.metadata) | named, tuple(telling)))
    return made


def _values(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The metadata that can be words of a question: short texts and numbers, by name."""
    values = {
        str(name): _clean(value)
        for name, value in metadata.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
    return {name: value for name, value in values.items() if value is not None}


def _clean(value: object) -> str | None:
    """A value on one line, in NFC; None where nobody could read it as words."""
    text = "".join(char if char.isprintable() else " " for char in str(value)[: LONGEST * 4])
    text = " ".join(unicodedata.normalize("NFC", text).split())
    return text if len(text) <= LONGEST and any(map(str.isalnum, text)) else None


def _heading(doc: Doc, text: str, language: Language) -> str | None:
    """What a document is called: by its metadata, a Markdown heading, or a first line that is one.

    Without its number and without the word for its kind ("Case file: ...", "... 안내").
    """
    named = (_clean(doc.metadata[name]) for name in _HEADINGS if doc.metadata.get(name))
    headings = [heading for heading in named if heading]
    headings += [_clean(heading[1]) or "" for heading in _MARKDOWN.finditer(text)][:1]
    first, _, rest = text.strip().partition("\n")
    if rest.strip() and not first.startswith("#") and first[-1:].isalnum():
        headings.append(_clean(first) or "")
    for heading in headings:
        bare = _NUMBER.sub("", re.sub(r"[*_`#]+", "", heading)).strip(" .:;,-–—")
        if bare and bare[-1] not in "?!" and not _SENTENCE_KO.search(bare):
            return _without_kind(bare, language)
    return None


def _without_kind(heading: str, language: Language) -> str:
    if language == "en":
        return _KIND_EN.sub("", heading) or heading
    bare = _KIND_KO.sub("", heading)
    if bare == heading or len(bare) < 4 or not has_kiwi():
        return heading  # what is left may end in the middle of a clause
    *_, last = KiwiTokenizer().tokenize(bare)
    return bare if last.tag in ("NNG", "NNP") and last.form not in ("때", "경우", "뒤") else heading


class _Phrases:
    """The noun phrases of texts.

    In Korean by Kiwi: nouns in a row. Without it, words of the given texts that stand there with
    two kinds of particles, one of which only nouns have. In English up to three words between a
    determiner and what can only follow a noun.
    """

    def __init__(self, korean: Iterable[str]) -> None:
        self._kiwi = has_kiwi()
        self._nouns = frozenset[str]() if self._kiwi else _with_particles(korean)

    def of(self, text: str, language: Language) -> Iterator[str]:
        """The noun phrases of a text, repeats too."""
        if language == "en":
            return _english(text)
        if self._kiwi:
            return _korean(text)
        stems = (_PARTICLE.sub("", word) for word in words(text))
        return (stem for stem in stems if stem in self._nouns)


def _korean(text: str) -> Iterator[str]:
    """Two to four nouns in a row, on one line, apart by no more than a space; else single ones."""
    runs: list[list[Any]] = []
    for token in KiwiTokenizer().tokenize(text):
        if token.tag not in ("NNG", "NNP", "XSN", "XPN"):
            runs.append([])
        elif runs and runs[-1] and text[runs[-1][-1].end : token.start] in ("", " "):
            runs[-1].append(token)
        else:
            runs.append([token])
    phrases = [text[run[0].start : run[-1].end] for run in runs if run]
    several = [
        phrase
        for phrase, run in zip(phrases, filter(None, runs))
        if 2 <= sum(token.tag[:2] == "NN" for token in run) <= 4 and 3 <= len(phrase) <= 20
    ]
    return iter(several or [phrase for phrase in phrases if 2 <= len(phrase) <= 20])


_PARTICLE = re.compile("(?:에서|에게|으로|은|는|이|가|을|를|의|에|와|과|도|로)$")
_OF_NOUNS = frozenset({"를", "의", "에서", "와", "과"})


def _with_particles(texts: Iterable[str]) -> frozenset[str]:
    particles = defaultdict[str, set[str]](set)
    for text in texts:
        for word in words(text):
            end = _PARTICLE.search(word)
            if end is not None and end.start() > 1 and HANGUL.match(word):
                particles[word[: end.start()]].add(end[0])
    return frozenset(
        stem for stem, ends in particles.items() if len(ends) > 1 and not ends.isdisjoint(_OF_NOUNS)
    )


_ENGLISH = re.compile(
    r"\b(?:the|an?|this|that|each|every|any|your|our|their|its|his|her|my)\s+"
    r"(?P<phrase>[a-z][a-z-]+(?:\s[a-z][a-z-]+){0,2})"
    r"(?=\s*[.,;:)!?\n]|\s(?:of|in|on|at|for|from|with|within|is|are|was|were|must|may|can|will|and|or)\b)",
    re.IGNORECASE,
)

_NO_NOUN = re.compile(r"(?:ed|ing|ly)$")


def _english(text: str) -> Iterator[str]:
    for match in _ENGLISH.finditer(text):
        phrase = " ".join(match["phrase"].split())
        parts = phrase.split()
        if ASKING_EN.isdisjoint(map(str.lower, parts)) and not re.search(
            r"(?:ed|ing|ly)$", parts[-1]
        ):
            yield phrase.lower() if parts[0].istitle() and len(parts) == 1 else phrase
