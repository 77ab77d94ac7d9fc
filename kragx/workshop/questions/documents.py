"""What questions can be made of documents: headings and noun phrases, and passages.

A template is filled with a document's heading, its noun phrases, its metadata; a model is shown a
passage, or several that belong together.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from random import Random
from typing import Any, Literal

from kragx.data.chunking import windows
from kragx.data.documents import Doc
from kragx.data.korean import is_korean
from kragx.data.text import normalise
from kragx.data.tokenizers import KiwiTokenizer
from kragx.ground.errors import DataError
from kragx.workshop.questions.words import ASKING_EN, COMMON, content_words, has_kiwi

Language = Literal["ko", "en"]
PARTED = "\n\n***\n\n"
"""Between the passages of a text that a question is to need together."""

LONGEST_VALUE = 80
"""Characters of a value; a longer one is no word of a question."""
MOST_NOUNS = 8
"""Noun phrases of a document."""
_FEWEST_DOCUMENTS = 500
_COMMON_SHARE = 0.2  # of the documents: a noun that more of them have tells none apart
_WORDS = 6  # of a text that is a heading as a whole
_READ = 4000  # characters of a document in which noun phrases are looked for

_HEADINGS = (
    *("heading", "section", "Header 4", "Header 3", "Header 2", "Header 1", "title"),
    *("제목", "소제목"),
)
"""The metadata that names what a document is about, the narrowest first."""
_MARKDOWN = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_MARKS = re.compile(r"(?<!\w)[*_`]+|[*_`]+(?!\w)")
_SENTENCES = re.compile(r"^#|[.?!]\s")
_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)+\.?|\d+[.)]|[IVX]+\.)\s+")
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
        return frozenset(self.values).union(("noun", "nouns") if self.nouns else ())


def fillings(documents: Sequence[Doc]) -> list[Filling]:
    """What each document has.

    Args:
        documents: with texts; how telling a noun phrase is, is counted among them: the more often
            a document has it, and the fewer others do, the more.
    """
    texts = [unicodedata.normalize("NFC", (doc.text or "")[:_READ]) for doc in documents]
    metadata = [_values(doc.metadata) for doc in documents]
    wholes = (" ".join([text, *values.values()]) for text, values in zip(texts, metadata))
    languages: list[Language] = ["ko" if is_korean(text[:_READ]) else "en" for text in wholes]
    headings = list(map(_heading, metadata, texts))
    counts = [Counter[str]() for _ in texts]
    # A language's texts at once: Kiwi works on several, and English nouns show among all texts.
    for name, phrases_of in NOUNS.items():
        rows = [row for row, language in enumerate(languages) if language == name]
        phrases = phrases_of([f"{headings[row]}\n{texts[row]}" for row in rows])
        for row, nouns in zip(rows, phrases):
            counts[row].update(nouns)
    n_having = Counter(noun for nouns in counts for noun in nouns)
    return [
        Filling(
            doc,
            language,
            values | ({"heading": heading} if heading else {}),
            _telling(nouns, heading, n_having, len(documents)),
        )
        for doc, language, values, heading, nouns in zip(
            documents, languages, metadata, headings, counts
        )
    ]


def _telling(
    counts: Mapping[str, int], heading: str, n_having: Mapping[str, int], n_documents: int
) -> tuple[str, ...]:
    """A document's noun phrases that tell most of it."""

    def rank(noun: str) -> tuple[bool, float, str]:
        weight = counts[noun] * log((n_documents + 1) / n_having[noun])
        is_named = noun in heading
        is_common = n_having[noun] > max(2, _COMMON_SHARE * n_documents)
        is_weak = is_common or (counts[noun] == 1 and not is_named)
        # Nouns with equal weights by their letters, so that a seed gives the same questions.
        return is_weak, -weight * (1 + is_named), noun

    return tuple(sorted(counts, key=rank)[:MOST_NOUNS])


def sampled(docs: Sequence[Doc], n: int, rng: Random) -> list[Doc]:
    """So many documents of a corpus, and at least 500, by chance; all if there are fewer."""
    return rng.sample(docs, min(len(docs), max(_FEWEST_DOCUMENTS, n)))


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
    text = "".join(char if char.isprintable() else " " for char in str(value)[: LONGEST_VALUE * 4])
    text = " ".join(unicodedata.normalize("NFC", text).split())
    return text if len(text) <= LONGEST_VALUE and any(map(str.isalnum, text)) else None


def _heading(values: Mapping[str, str], text: str) -> str:
    """What a document is called: by its metadata, a Markdown heading, or a first line that is one.

    Without its number; empty where there is none.
    """
    headings = [values[name] for name in _HEADINGS if name in values]
    headings += [_clean(heading[1]) or "" for heading in _MARKDOWN.finditer(text)][:1]
    first, _, rest = text.strip().partition("\n")
    # A chunk that is cut out of a text may begin within a sentence.
    is_apart = not first[:1].islower() if rest.strip() else len(first.split()) <= _WORDS
    if is_apart and first[-1:].isalnum() and not _SENTENCES.search(first):
        headings.append(_clean(first) or "")
    bare = (_NUMBER.sub("", _MARKS.sub("", name)).strip(" .:;,-–—") for name in headings)
    named = (name for name in bare if name and name[-1] not in "?!")
    return next((name for name in named if not _SENTENCE_KO.search(name)), "")


_LONGEST_KO = 20  # syllables of a noun phrase

_BETWEEN = frozenset(COMMON["between"].split())
"""Nouns that say when, where or how far: no phrase holds one."""


def korean(texts: Sequence[str]) -> list[list[str]]:
    """The noun phrases of each text, repeats too.

    By Kiwi: two to four nouns in a row, or a single one of three syllables and more; in a text
    without any, of two. None without Kiwi.
    """
    if not has_kiwi():
        return [[] for _ in texts]
    runs = [_runs(*pair) for pair in zip(texts, KiwiTokenizer().kiwi.tokenize(texts))]
    return list(map(_certain, runs))


def _certain(nouns: Sequence[tuple[str, bool]]) -> list[str]:
    """Those that surely are noun phrases; of a text without any, those that may be."""
    return [noun for noun, is_sure in nouns if is_sure] or [noun for noun, _ in nouns]


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
        if is_whole and 1 <= n_nouns <= 4 and 2 <= len(phrase) <= _LONGEST_KO:
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


def english(texts: Sequence[str]) -> list[list[str]]:
    """The noun phrases of each text, repeats too.

    Up to three words between a determiner and what can follow a noun, the last of which stands
    somewhere in the texts alone behind a determiner; in a text without any, whatever the last one
    is. A single word is one where it stands twice.
    """
    matches = [[match["phrase"].split() for match in _ENGLISH.finditer(text)] for text in texts]
    heads = {phrase[0].lower() for phrases in matches for phrase in phrases if len(phrase) == 1}
    heads |= {f"{head}s" for head in heads if not head.endswith("s")}
    return [_certain(_nouns(phrases, heads)) for phrases in matches]


def _nouns(phrases: Sequence[Sequence[str]], heads: set[str]) -> list[tuple[str, bool]]:
    """The phrases that may be nouns, and whether they surely are."""
    lower = [tuple(map(str.lower, phrase)) for phrase in phrases]
    return [
        (" ".join(phrase), key[-1] in heads)
        for phrase, key in zip(phrases, lower)
        if not key[-1].endswith(("ed", "ing", "ly"))
        and ASKING_EN.isdisjoint(key)
        and (len(key) > 1 or lower.count(key) > 1)
    ]


NOUNS: Mapping[Language, Callable[[Sequence[str]], list[list[str]]]] = {
    "ko": korean,
    "en": english,
}
"""What finds the noun phrases of some texts in a language."""


SHORTEST, LONGEST = 40, 3000
"""Characters of a passage: a shorter document says too little to ask about, and of a longer one a
stretch is shown."""
_TITLES = ("title", "제목", "heading")
_SOURCES = (
    *("source", "document_id", "doc_id", "parent_id", "source_id"),
    *("file", "file_name", "filename", "file_path", "path", "url"),
)
"""The metadata that says what a chunk was cut from."""


@dataclass(frozen=True, slots=True)
class PassagePart:
    """A document, or a stretch of a long one.

    Attributes:
        doc: the document.
        start, end: the stretch, in characters of its text.
    """

    doc: Doc
    start: int
    end: int

    @property
    def id(self) -> str:
        """The document's."""
        return self.doc.id or ""

    @property
    def text(self) -> str:
        """What it says, under its document's title: a chunk alone may not say what it is about."""
        text = (self.doc.text or "")[self.start : self.end]
        titles = (self.doc.metadata.get(name) for name in _TITLES)
        title = next((text for text in titles if isinstance(text, str) and text.strip()), "")
        bare = " ".join(title.split())[:200]
        return f"{bare}\n\n{text}" if bare and bare not in text else text


@dataclass(frozen=True, slots=True)
class Passage:
    """What one question is asked about: a part of the corpus, or several together."""

    parts: tuple[PassagePart, ...]

    @property
    def text(self) -> str:
        """What the model is shown."""
        return PARTED.join(part.text for part in self.parts)

    @property
    def sources(self) -> tuple[str, ...]:
        """The documents that it is of."""
        return tuple(dict.fromkeys(part.id for part in self.parts))


class CorpusPassages:
    """The passages of a corpus in an order by chance.

    Args:
        docs: with texts.
        seed: of the order.
        uses: how many questions were made from a document before, by its id; the fewest first.

    Raises:
        DataError: no document is long enough.
    """

    def __init__(
        self,
        docs: Sequence[Doc],
        seed: int = 0,
        uses: Mapping[str, int] = {},
    ) -> None:
        self._parts = [*_stretches(docs)]
        if not self._parts:
            raise DataError(
                "the corpus has no text of at least {shortest} characters to ask about",
                shortest=SHORTEST,
            )
        order = Random(seed).sample(range(len(self)), len(self))
        # By chance first: the sort is stable, so documents that were used alike stay so.
        self._order = sorted(order, key=lambda number: uses.get(self._parts[number].id, 0))
        self._groups = _groups(self._parts)
        self._folded: list[str] = []

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def have_neighbours(self) -> bool:
        """Whether any of them belongs together with another one."""
        return any(len(group) > 1 for group in self._groups)

    def at(self, place: int, n: int = 1) -> tuple[Passage, int]:
        """The passage at a place of the order, which goes round, and the number of the round.

        Args:
            place: from 0.
            n: of how many parts; fewer where fewer belong together with the one at the place.
        """
        round_, position = divmod(place, len(self._order))
        number = self._order[position]
        group = self._groups[number] if n > 1 else [number]
        first = max(0, min(group.index(number), len(group) - n))
        return Passage(tuple(self._parts[member] for member in group[first : first + n])), round_

    def nearest(self, question: str, n: int) -> list[PassagePart]:
        """The parts that have most of a question's content words, rare ones counting more."""
        if not self._folded:  # in one case and Unicode form, and only if anybody asks
            texts = (part.text for part in self._parts)
            self._folded = [unicodedata.normalize("NFC", text).casefold() for text in texts]
        scores = [0.0] * len(self)
        for word in content_words(question):
            having = [number for number, text in enumerate(self._folded) if word.casefold() in text]
            weight = log((len(self) + 1) / max(1, len(having)))
            for number in having:
                scores[number] += weight
        best = sorted(range(len(self)), key=lambda number: (-scores[number], number))
        return [self._parts[number] for number in best[:n] if scores[number] > 0]


def _stretches(docs: Sequence[Doc]) -> Iterator[PassagePart]:
    """Documents, and stretches of long ones: each text once, if it says enough."""
    texts = set[str]()
    for doc in docs:
        text = doc.text or ""
        for window in windows(text, LONGEST):
            bare = normalise(text[window.start : window.end])
            if len(bare) >= SHORTEST and bare not in texts:
                texts.add(bare)
                yield PassagePart(doc, window.start, window.end)


def _groups(parts: Sequence[PassagePart]) -> list[list[int]]:
    """For each part those that it belongs together with, itself among them, in their order.

    What belongs together was cut from the same source, by the first field that says one, or is of
    one document.
    """
    groups: defaultdict[str, list[int]] = defaultdict(list)
    group_of: list[list[int]] = []
    for number, part in enumerate(parts):
        sources = (part.doc.metadata.get(name) for name in _SOURCES)
        named = next((source for source in sources if isinstance(source, str)), part.id)
        groups[named].append(number)
        group_of.append(groups[named])
    return group_of
