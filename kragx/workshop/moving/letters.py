"""Texts as letters: what is compared when gold moves to another corpus.

Letters and digits alone, folded (NFC, compatibility forms and case): white space, punctuation and
markup between them do not matter, and a word that is cut is no other word. Everything is arrays.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kragx.data.lists import Ints

Codes = NDArray[np.uint32]
Hashes = NDArray[np.uint64]
Bools = NDArray[np.bool_]

GRAM = 16
"""Letters in a row by which texts are looked up: four words, or five of Korean."""

MANY = 255
"""Times that a gram stands in a corpus; more are counted as so many."""

_UNKNOWN = 0xFFFFFFFF
_MOST = 1 << 24  # grams that are all counted: those of 25,000 chunks
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
    place: NDArray[np.int32]

    def of(self, row: int) -> Codes:
        """The letters of one text."""
        return self.codes[self.start[row] : self.start[row + 1]]

    def places(self, row: int) -> NDArray[np.int32]:
        """The characters of one text where its letters stand."""
        return self.place[self.start[row] : self.start[row + 1]]


def letters(texts: Sequence[str]) -> LetterStream:
    """The letters of texts."""
    composed = {
        row: _composed(text)
        for row, text in enumerate(texts)
        if not (text.isascii() or unicodedata.is_normalized("NFC", text))
    }
    if composed:
        texts = [composed[row][0] if row in composed else text for row, text in enumerate(texts)]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    begin = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    # One code point is four bytes there, lone surrogates too, so bytes can be read as an array.
    raw = "".join(texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(raw, np.uint32)
    table = _table()
    folded = table[codes]
    if new := np.unique(codes[folded == _UNKNOWN]).tolist():
        table[new] = [*map(_folded, new)]
        folded = table[codes]
    letters = np.flatnonzero(folded)
    start = np.searchsorted(letters, begin)
    place = (letters - np.repeat(begin[:-1], np.diff(start))).astype(np.int32)
    for row, (_, origin) in composed.items():
        span = slice(start[row], start[row + 1])
        place[span] = origin[place[span]]
    return LetterStream(folded[letters], start, place)


def _composed(text: str) -> tuple[str, NDArray[np.int32]]:
    """A text in NFC, and for each of its characters the place that it comes from."""
    parts: list[str] = []
    origin: list[int] = []
    for cluster in _CLUSTER.finditer(text):
        part = unicodedata.normalize("NFC", cluster[0])
        parts.append(part)
        origin += [cluster.start()] * len(part)
    return "".join(parts), np.array(origin, np.int32)


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


def grams(codes: Codes, size: int = GRAM) -> Hashes:
    """For each letter the hash of it and those after it, `size` (a power of 2) in all.

    Those of the last letters, behind which fewer follow, mean nothing.
    """
    hashes = codes.astype(np.uint64) + np.uint64(1)
    base, step = _BASE, 1
    # Hashes of twice as many letters are made of two neighbours, so 16 letters take four rounds.
    while step < size:
        longer = hashes * np.uint64(base)
        longer[:-step] += hashes[step:]
        hashes, base, step = longer, base * base % (1 << 64), 2 * step
    hashes ^= hashes >> np.uint64(32)
    hashes *= _MIX
    return hashes ^ (hashes >> np.uint64(29))


def whole_grams(codes: Codes, size: int = GRAM) -> Hashes:
    """The hashes of the grams of one text, without those of its last letters."""
    return grams(codes, size)[: max(0, len(codes) - size + 1)]


class Known:
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
        slots, times = np.unique(_slots(hashes[self.sampled(hashes)]), return_counts=True)
        self.times[slots] = np.minimum(self.times[slots] + times, MANY)
        self._n += len(slots)
        if self._n > _MOST:
            self.step = 8

    def of(self, hashes: Hashes) -> NDArray[np.uint8]:
        """How often each of some grams stands there, up to `MANY` (of a few, too often)."""
        return self.times[_slots(hashes)]

    def sampled(self, hashes: Hashes) -> Bools:
        """Which grams are counted: the same ones in every text."""
        return np.asarray((hashes & np.uint64(self.step - 1)) == 0)


def _slots(hashes: Hashes) -> Ints:
    return (hashes >> np.uint64(36)).astype(np.int64)
