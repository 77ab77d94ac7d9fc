"""Texts as letters, and a corpus as one stream of them: what is compared when gold moves.

Letters and digits alone, folded (NFC, compatibility forms and case): white space, punctuation and
markup between them do not matter, and a word that is cut is no other word. Everything is arrays.
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
from kragx.data.tokens import Grams, hashed
from kragx.workshop.folder.places import origin_of

Codes = NDArray[np.uint32]

GRAM = 16
"""Letters in a row by which texts are looked up: four words, or five of Korean."""

MARGIN = 1 << 15
"""Characters before and behind a block that are known as well: more than most gold texts have."""

_MANY = 255  # times that a gram stands in a corpus; more are counted as so many
_BLOCK = 1 << 20  # characters that are worked on at once
_UNKNOWN = 0xFFFFFFFF
_MOST = 1 << 24  # grams that are all counted: those of 25,000 chunks
_MARKS = "\u0300-\u036f\u1160-\u11ff\u3099\u309a"
_CLUSTER = re.compile(rf"(?s).[{_MARKS}]*")


class Letters(NamedTuple):
    """The letters of texts, one text after another.

    Attributes:
        codes: code points, folded.
        start: where each text begins in `codes`, and where the last one ends.
        place: for each letter its character in its own text.
    """

    codes: Codes
    start: Ints
    place: Ints


def letters(texts: Sequence[str]) -> Letters:
    """The letters of texts."""
    composed, origins = [*texts], dict[int, Ints]()
    for row, text in enumerate(texts):
        if not (text.isascii() or unicodedata.is_normalized("NFC", text)):
            clusters = [*_CLUSTER.finditer(text)]
            parts = [unicodedata.normalize("NFC", cluster[0]) for cluster in clusters]
            composed[row] = "".join(parts)
            begins = np.array([cluster.start() for cluster in clusters], np.int64)
            origins[row] = np.repeat(begins, [*map(len, parts)])
    begin = np.cumsum([0, *map(len, composed)])
    # One code point is four bytes there, lone surrogates too, so bytes can be read as an array.
    codes = np.frombuffer("".join(composed).encode("utf-32-le", "surrogatepass"), np.uint32)
    table = _table()
    folded = table[codes]
    if new := np.unique(codes[folded == _UNKNOWN]).tolist():
        table[new] = [*map(_folded, new)]
        folded = table[codes]
    kept = np.flatnonzero(folded)
    start = np.searchsorted(kept, begin)
    place = kept - np.repeat(begin[:-1], np.diff(start))
    for row, origin in origins.items():
        span = slice(start[row], start[row + 1])
        place[span] = origin[place[span]]
    return Letters(folded[kept], start, place)


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


def as_text(codes: Codes) -> str:
    """Letters as a string, which is searched and compared faster than an array."""
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def grams(codes: Codes) -> Grams:
    """For each letter the hash of it and those after it, `GRAM` in all; see `hashed`."""
    return hashed(codes.astype(np.uint64), GRAM)


def whole_grams(codes: Codes) -> Grams:
    """The hashes of the grams of one text, without those of its last letters."""
    return grams(codes)[: max(0, len(codes) - GRAM + 1)]


class GramCounts:
    """How often grams of a corpus stand in it.

    Attributes:
        banners: letters with which documents end and the next ones begin.
        step: 1 while every gram is counted; 8 for a corpus so large that an eighth has to do.
    """

    def __init__(self) -> None:
        # A quarter of a gigabyte, of which the system gives as much as is written to.
        self._times: NDArray[np.uint8] = np.zeros(1 << 28, np.uint8)
        self._n = 0
        self.banners: set[str] = set()
        self.step: int = 1

    def add(self, hashes: Grams) -> None:
        """Count grams."""
        # Slots are distinct here: an addition by index counts one that stands there twice once.
        slots, times = np.unique(_slots(hashes[self.sampled(hashes)]), return_counts=True)
        self._times[slots] = np.minimum(self._times[slots] + times, _MANY)
        self._n += len(slots)
        if self._n > _MOST:
            self.step = 8

    def of(self, hashes: Grams) -> NDArray[np.uint8]:
        """How often each of some grams stands there, up to 255 (of a few, too often)."""
        return self._times[_slots(hashes)]

    def sampled(self, hashes: Grams) -> Bools:
        """Which grams are counted: the same ones in every text."""
        # By other bits than those that say the slot: else an eighth of the slots would be used.
        return np.asarray((hashes >> np.uint64(33)) & np.uint64(self.step - 1) == 0)


def _slots(hashes: Grams) -> Ints:
    return (hashes >> np.uint64(36)).astype(np.int64)


@dataclass(frozen=True)
class Block:
    """Neighbouring chunks; of the first and the last few only the text is of use.

    Attributes:
        docs: a row each.
        interior: the rows that are this block's alone.
        first: which chunk of the corpus the first row is.
        begin: where in the corpus its stream begins, in letters.
        stream: the letters of the text that they were cut from: overlaps stand there once.
        row, end: where in it each row begins and ends.
        heads: where in it each row has more than the one before; then the end of the stream.
        hashes: of the grams of the stream.
    """

    docs: list[Doc]
    interior: range
    first: int
    begin: int
    stream: Codes
    row: Ints
    end: Ints
    heads: Ints
    hashes: Grams

    @property
    def interior_letters(self) -> slice:
        """What of the stream stands in the interior rows, and not in the row before as well."""
        return slice(*self.heads[[self.interior.start, self.interior.stop]].tolist())

    def rows(self, begin: int, end: int) -> range:
        """The rows that have some of a stretch of the stream."""
        first, last = np.searchsorted(self.end, begin, side="right"), np.searchsorted(self.row, end)
        return range(int(first), int(last))


def blocks(
    docs: Iterable[Doc], banners: set[str], *, size: int = _BLOCK, margin: int = MARGIN
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
    head = first = begin = n_characters = 0
    for doc in docs:
        rows.append(doc)
        n_characters += len(doc.text or "")
        if n_characters > size + margin and (end := _before(rows, len(rows), margin)) > head:
            block = _block(rows, range(head, end), first, begin, banners)
            yield block
            start = _before(rows, end, margin)
            first, begin = first + start, begin + int(block.row[start])
            rows, head = rows[start:], end - start
            n_characters = sum(len(doc.text or "") for doc in rows[head:])
    if len(rows) > head:
        yield _block(rows, range(head, len(rows)), first, begin, banners)


def _before(rows: Sequence[Doc], end: int, margin: int) -> int:
    """From which row on those before one have the characters of a margin."""
    while end and margin > 0:
        end -= 1
        margin -= len(rows[end].text or "")
    return end


def _block(docs: list[Doc], interior: range, first: int, begin: int, banners: set[str]) -> Block:
    of_texts = letters([doc.text or "" for doc in docs])
    start = of_texts.start
    codes = [of_texts.codes[a:b] for a, b in pairwise(start.tolist())]
    sources = [origin_of(doc)[0] for doc in docs]
    follows = [False, *(before == after for before, after in pairwise(sources))]
    overlap = np.array(_overlaps([*map(as_text, codes)], follows, banners), np.int64)
    stream = np.concatenate([part[n:] for part, n in zip(codes, overlap.tolist())])
    row = start[:-1] - np.cumsum(overlap)
    heads = np.append(row + overlap, len(stream))
    end, hashes = row + np.diff(start), grams(stream)
    return Block(docs, interior, first, begin, stream, row, end, heads, hashes)


def _overlaps(texts: Sequence[str], follows: Sequence[bool], banners: set[str]) -> list[int]:
    """How many letters each text has in common with the end of the one before, as windows do.

    What several texts end and begin with alike is no overlap, but a banner of documents that follow
    on one another.
    """
    overlaps = [""] * len(texts)
    for row, (before, after) in enumerate(pairwise(texts), start=1):
        if follows[row]:
            overlaps[row] = after[: _overlap(before, after)]
    banners.update(text for text, times in Counter(overlaps).items() if times > 1)
    return [0 if text in banners else len(text) for text in overlaps]


def _overlap(before: str, after: str) -> int:
    """How many letters the end of a text and the beginning of the next have in common."""
    head = after[:GRAM]
    # A chunk that is all of its neighbour is another place of the same text.
    place = max(0, len(before) - len(after))
    while len(head) == GRAM and (place := before.find(head, place + 1)) >= 0:
        if after.startswith(before[place:]):
            return len(before) - place
    return 0
