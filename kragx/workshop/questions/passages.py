"""Which passages of a corpus a model is asked about, and which of them belong together."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from random import Random
from typing import Literal

from kragx.data.chunking import windows
from kragx.data.documents import Doc
from kragx.data.text import normalise
from kragx.ground.errors import DataError
from kragx.judging.writing import PARTED, is_korean
from kragx.workshop.questions.leak import content_words

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
    def is_whole(self) -> bool:
        """Whether it is all of its document."""
        return self.end - self.start == len(self.doc.text or "")

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


@dataclass(frozen=True)
class CorpusPassages:
    """The passages of a corpus in an order by chance.

    Attributes:
        docs: with texts.
        language: of those that are taken; ``auto`` for all.
        seed: of the order.
        uses: how many questions were made from a document before, by its id; the fewest first.

    Raises:
        DataError: no document is long enough, or none has the language; when it is first asked.
    """

    docs: Sequence[Doc]
    language: Literal["auto", "ko", "en"] = "auto"
    seed: int = 0
    uses: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def _parts(self) -> list[PassagePart]:
        parts = [*self._stretches()]
        if not parts:
            language = "" if self.language == "auto" else f" in the language {self.language!r}"
            raise DataError(
                f"the corpus has no text{language} of at least {SHORTEST} characters to ask about"
            )
        return parts

    @cached_property
    def _order(self) -> list[int]:
        # By chance first: the sort is stable, so documents that were used alike stay so.
        order = Random(self.seed).sample(range(len(self)), len(self))
        return sorted(order, key=lambda number: self.uses.get(self._parts[number].id, 0))

    @cached_property
    def _group(self) -> list[list[int]]:
        return _groups(self._parts)

    def _stretches(self) -> Iterator[PassagePart]:
        known = set[str]()
        for doc in self.docs:
            text = doc.text or ""
            if len(text) <= LONGEST:
                stretches = [(0, len(text))]
            else:
                stretches = [(window.start, window.end) for window in windows(text, LONGEST)]
            for start, end in stretches:
                bare = normalise(text[start:end])
                if len(bare) < SHORTEST or bare in known:
                    continue
                if self.language == "auto" or is_korean(bare) == (self.language == "ko"):
                    known.add(bare)
                    yield PassagePart(doc, start, end)

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def have_neighbours(self) -> bool:
        """Whether any of them belongs together with another one."""
        return any(len(group) > 1 for group in self._group)

    def at(self, place: int, n: int = 1) -> tuple[Passage, int]:
        """The passage at a place of the order, which goes round, and the number of the round.

        Args:
            place: from 0.
            n: of how many parts; fewer where fewer belong together with the one at the place.
        """
        round_, position = divmod(place, len(self._order))
        number = self._order[position]
        group = self._group[number]
        first = max(0, min(group.index(number), len(group) - n)) if n > 1 else 0
        numbers = group[first : first + n] if n > 1 else [number]
        return Passage(tuple(self._parts[number] for number in numbers)), round_

    @cached_property
    def _folded(self) -> list[str]:
        """The texts of the parts, in one case and Unicode form."""
        return [unicodedata.normalize("NFC", part.text).casefold() for part in self._parts]

    def nearest(self, question: str, n: int) -> list[PassagePart]:
        """The parts that have most of a question's content words, rare ones counting more."""
        words = content_words(question)
        having = {word: [word.casefold() in text for text in self._folded] for word in words}
        scores = [0.0] * len(self)
        for flags in having.values():
            weight = log((len(self) + 1) / (sum(flags) or 1))
            for number, has in enumerate(flags):
                scores[number] += weight * has
        best = sorted(range(len(self)), key=lambda number: (-scores[number], number))
        return [self._parts[number] for number in best[:n] if scores[number] > 0]


def _groups(parts: Sequence[PassagePart]) -> list[list[int]]:
    """For each part those that it belongs together with, itself among them, in their order.

    What belongs together was cut from the same source, or is of one document. Where there is
    nothing of the kind it has the same words in one field of the metadata: in that one which makes
    the most groups of several parts, and so the narrowest ones.
    """
    fields = {name for part in parts for name in part.doc.metadata}
    named = [_by_field(parts, name) for name in _SOURCES if name in fields]
    groupings = [_by_field(parts, name) for name in sorted(fields.difference(_SOURCES, _TITLES))]
    by_document = _by_field(parts, None)
    firm = next(filter(_n_groups, [*named, by_document]), by_document)
    best = firm if _n_groups(firm) else max([firm, *groupings], key=_n_groups)
    group_of = {number: group for group in best.values() for number in group}
    return [group_of.get(number, [number]) for number in range(len(parts))]


def _by_field(parts: Sequence[PassagePart], name: str | None) -> dict[str, list[int]]:
    """The parts by what one field says in words, or by their documents."""
    members: dict[str, list[int]] = {}
    for number, part in enumerate(parts):
        value = part.id if name is None else part.doc.metadata.get(name)
        if isinstance(value, str) and (name is None or any(map(str.isalpha, value))):
            members.setdefault(value, []).append(number)
    return members


def _n_groups(members: Mapping[str, Sequence[int]]) -> int:
    return sum(len(group) > 1 for group in members.values())
