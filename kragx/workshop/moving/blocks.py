"""Texts as letters, and a corpus read once as such, in blocks of neighbouring chunks.

What is compared when gold moves are letters and digits alone, folded (NFC, compatibility forms and
case): white space, punctuation and markup between them do not matter, and a word that is cut is no
other word. Everything is arrays.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kragx.data import Doc
from kragx.data.lists import Bools, Ints
from kragx.workshop.folder.places import origin_of

Codes = NDArray[np.uint32]
Hashes = NDArray[np.uint64]

Characters = NDArray[np.int32]

GRAM = 16
"""Letters in a row by which texts are looked up: four words, or five of Korean."""

MANY = 255
"""Times that a gram stands in a corpus; more are counted as so many."""

_UNKNOWN = 0xFFFFFFFF
_MOST = 1 << 24  # grams that are all counted: those of 25,000 chunks
_SLOT = np.uint64(36)  # bits of a hash that do not count for its slot
_BASE, _MIX = 0x9E3779B97F4A7C15, np.uint64(0xD6E8FEB86659FD93)
_MARKS = "\u0300-\u036f\u1160-\u11ff\u3099\u309a"
_CLUSTER = re.compile(rf"(?s).[{_MARKS}]*")


class LetterStream(NamedTuple):
    """The letters of texts, one text after another.

    Attributes:
        codes: code points, folded.
        start: where each text begins in `codes`, and where the last one ends.
        place: for each letter its character in its own text.
    """

    codes: Codes
    start: Ints
    place: Characters


def letters(texts: Sequence[str]) -> LetterStream:
    """The letters of texts."""
    texts = [
        text
        if text.isascii() or unicodedata.is_normalized("NFC", text)
        else _CLUSTER.sub(_composed, text)
        for text in texts
    ]
    begin = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    # One code point is four bytes there, lone surrogates too, so bytes can be read as an array.
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    table = _table()
    folded = table[codes]
    if new := np.unique(codes[folded == _UNKNOWN]).tolist():
        table[new] = [*map(_folded, new)]
        folded = table[codes]
    places = np.flatnonzero(folded)
    start = np.searchsorted(places, begin)
    place = (places - np.repeat(begin[:-1], np.diff(start))).astype(np.int32)
    return LetterStream(folded[places], start, place)


def _composed(cluster: re.Match[str]) -> str:
    """A character with its marks in NFC, as long as before, so that others keep their places."""
    size = len(cluster[0])
    return unicodedata.normalize("NFC", cluster[0])[:size].ljust(size)


@cache
def _table() -> Codes:
    """For each code point its letter; 0 where it is none, filled in as characters are met."""
    return np.full(0x110000, _UNKNOWN, np.uint32)


def _folded(code: int) -> int:
    char = chr(code)
    if not char.isalnum():
        return 0
    folded = unicodedata.normalize("NFKC", char).casefold()
    return ord(folded) if len(folded) == 1 and folded.isalnum() else code


def as_string(codes: Codes) -> str:
    """Letters as a string, in which others can be searched for."""
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def grams(codes: Codes, size: int = GRAM) -> Hashes:
    """The hashes of all letters in a row, `size` (a power of 2) at a time."""
    hashes = codes.astype(np.uint64) + np.uint64(1)
    base, step = _BASE, 1
    # Hashes of twice as many letters are made of two neighbours, so 16 letters take four rounds.
    while step < size:
        longer = hashes * np.uint64(base)
        longer[:-step] += hashes[step:]
        hashes, base, step = longer, base * base % (1 << 64), 2 * step
    hashes ^= hashes >> np.uint64(32)
    hashes *= _MIX
    # Behind the last letters fewer follow.
    return (hashes ^ (hashes >> np.uint64(29)))[: max(0, len(codes) - size + 1)]


class GramCounts:
    """How often grams of a corpus stand in it.

    Attributes:
        times: up to `MANY` for each slot, a gigabyte's quarter of which the system gives as much
            as is written to.
        banners: letters with which documents end and the next ones begin.
        step: 1 while every gram is counted; 8 for a corpus so large that an eighth has to do.
    """

    def __init__(self) -> None:
        self.times: NDArray[np.uint8] = np.zeros(1 << 28, np.uint8)
        self.banners: set[str] = set()
        self.step: int = 1
        self._n = 0

    def add(self, hashes: Hashes) -> None:
        """Count grams."""
        # Slots are distinct here: an addition by index would count one that stands there twice
        # once.
        slots, times = np.unique(hashes[self.sampled(hashes)] >> _SLOT, return_counts=True)
        self.times[slots] = np.minimum(self.times[slots] + times, MANY)
        self._n += len(slots)
        if self._n > _MOST:
            self.step = 8

    def of(self, hashes: Hashes) -> NDArray[np.uint8]:
        """How often each of some grams stands there, up to `MANY` (of a few, too often)."""
        return np.asarray(self.times[hashes >> _SLOT])

    def sampled(self, hashes: Hashes) -> Bools:
        """Which grams are counted: the same ones in every text."""
        return np.asarray((hashes & np.uint64(self.step - 1)) == 0)


BLOCK = 1 << 20
"""Characters that are worked on at once."""

MARGIN = 1 << 15
"""Characters before and behind them that are known as well: more than most gold texts have."""


class Chunk(NamedTuple):
    """A chunk in which gold may stand, and where in a block's stream it begins and ends."""

    doc: Doc
    begin: int
    end: int

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.doc.id)

    @property
    def text(self) -> str:
        """Its text."""
        return self.doc.text or ""

    def characters(self, *places: int) -> list[int]:
        """Its characters where some letters stand."""
        positions = letters([self.text]).place
        return [int(positions[min(place - self.begin, len(positions) - 1)]) for place in places]


@dataclass(frozen=True)
class Block:
    """Neighbouring chunks; of the first and the last few only the text is of use.

    Attributes:
        docs: a row each.
        interior: the rows that are this block's alone.
        stream: the letters of the text that they were cut from: overlaps stand there once.
        begins: where in it each row begins.
        ends: where in it each row ends, after a 0: a row's letters that are not in the row before
            as well begin where that one ends.
        bounds: where in it sources begin, and where the last one ends.
        hashes: of the grams of the stream; 0 where one would reach from source to source.
    """

    docs: list[Doc]
    interior: range
    stream: Codes
    begins: Ints
    ends: Ints
    bounds: Ints
    hashes: Hashes

    @property
    def interior_letters(self) -> slice:
        """What of the stream stands in the own rows, and not in the row before as well."""
        return slice(*self.ends[[self.interior.start, self.interior.stop]].tolist())

    def chunks(self, begin: int, end: int) -> list[Chunk]:
        """Those that have some of a stretch of the stream."""
        first = int(np.searchsorted(self.ends[1:], begin, side="right"))
        last = int(np.searchsorted(self.begins, end))
        return [
            Chunk(self.docs[row], int(self.begins[row]), int(self.ends[row + 1]))
            for row in range(first, last)
        ]

    def source(self, place: int) -> tuple[int, int]:
        """Where the source begins and ends that a letter of the stream is of."""
        number = min(int(np.searchsorted(self.bounds, place, side="right")), len(self.bounds) - 1)
        return int(self.bounds[number - 1]), int(self.bounds[number])


def blocks(
    docs: Iterable[Doc], banners: set[str], size: int = BLOCK, margin: int = MARGIN
) -> Iterator[Block]:
    """The documents of a corpus in blocks, each with the neighbours of its first and last rows.

    Args:
        docs: in the order of the corpus.
        banners: letters with which documents end and the next ones begin, as they are known from
            another corpus; those of this one are added.
        size: characters of a block.
        margin: characters of the neighbours on either side.
    """
    rows: list[Doc] = []
    head = n_characters = 0
    for doc in docs:
        rows.append(doc)
        n_characters += len(doc.text or "")
        if n_characters > size + margin and (end := _before(rows, len(rows), margin)) > head:
            yield _block(rows, range(head, end), banners)
            start = _before(rows, end, margin)
            rows, head = rows[start:], end - start
            n_characters = sum(len(doc.text or "") for doc in rows[head:])
    if len(rows) > head:
        yield _block(rows, range(head, len(rows)), banners)


def _before(rows: Sequence[Doc], end: int, margin: int) -> int:
    """From which row on those before one have the characters of a margin."""
    while end and margin > 0:
        end -= 1
        margin -= len(rows[end].text or "")
    return end


def _block(docs: list[Doc], interior: range, banners: set[str]) -> Block:
    codes, start, _ = letters([doc.text or "" for doc in docs])
    string, sources = as_string(codes), [origin_of(doc)[0] for doc in docs]
    texts = [string[first:last] for first, last in pairwise(start.tolist())]
    follows = np.array([False, *(before == after for before, after in pairwise(sources))])
    overlap = np.array(_overlaps(texts, follows, banners), np.int64)
    sizes = np.diff(start)
    number = np.arange(len(codes)) - np.repeat(start[:-1], sizes)
    stream = codes[number >= np.repeat(overlap, sizes)]
    ends = np.cumsum([0, *(sizes - overlap)])
    bounds, hashes = ends[~np.append(follows, False)], grams(stream)
    for bound in bounds.tolist():
        hashes[max(0, bound - GRAM + 1) : bound] = 0
    return Block(docs, interior, stream, ends[1:] - sizes, ends, bounds, hashes)


def _overlaps(texts: Sequence[str], follows: Iterable[bool], banners: set[str]) -> list[int]:
    """How many letters each text has in common with the end of the one before, as windows do.

    What several texts end and begin with alike is no overlap, but a banner of documents that follow
    on one another.
    """
    overlaps = [
        after[: _overlap(before, after)] if is_next else ""
        for before, after, is_next in zip(["", *texts], texts, follows)
    ]
    banners.update(text for text, times in Counter(overlaps).items() if times > 1)
    return [0 if text in banners else len(text) for text in overlaps]


def _overlap(before: str, after: str) -> int:
    """How many letters the end of a text and the beginning of the next have in common."""
    head = after[:GRAM]
    if len(head) < GRAM:
        return 0
    # A chunk that is all of its neighbour is another place of the same text.
    place = before.find(head, max(1, len(before) - len(after) + 1))
    while place >= 0:
        if after.startswith(before[place:]):
            return len(before) - place
        place = before.find(head, place + 1)
    return 0
