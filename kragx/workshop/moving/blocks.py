"""A corpus read once, in blocks of neighbouring chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kragx.data import Doc, value_at
from kragx.data.tokens import Ints
from kragx.workshop.moving.letters import GRAM, Bools, Hashes, Letters, grams, letters

BLOCK = 1 << 20
"""Characters that are worked on at once."""

APART = 1 << 20
"""Letters that lie between chunks of different sources: more than any gold text has."""

NEIGHBOURS = 8
"""Chunks before and after that are known as well."""

_HEAD = 8
"""Letters that an overlap has at least."""

_NONE = Doc(text="")


@dataclass(frozen=True)
class Block:
    """Neighbouring chunks; of the first and the last few only the text is of use.

    Attributes:
        first: which chunk of the corpus the first row is.
        docs: a row each.
        letters: of their texts.
        hashes: of their grams.
        follows: whether each row may be the continuation of the row before.
        overlap: how many letters each row has in common with the end of the row before.
        place: where each row begins in the corpus, in letters; overlaps count once.
    """

    first: int
    docs: list[Doc]
    letters: Letters
    hashes: Hashes
    follows: list[bool]
    overlap: list[int]
    place: list[int]

    @property
    def own(self) -> range:
        """The rows that are this block's own."""
        return range(NEIGHBOURS, len(self.docs) - NEIGHBOURS)

    def whole_grams(self) -> Bools:
        """Which letters of the own rows begin a gram that is in its row."""
        start = self.letters.start
        return self._between(start[:-1], np.maximum(start[1:] - GRAM + 1, start[:-1]))

    def new_grams(self) -> Bools:
        """Which begin one that is not in the row before as well, nor reaches from text to text."""
        start, overlap = self.letters.start, np.array([*self.overlap, 0])
        begin = np.minimum(start[:-1] + np.maximum(overlap[:-1] - GRAM + 1, 0), start[1:])
        # Where the next row goes on, what reaches into it is a gram of the text.
        goes_on = np.array([*self.follows[1:], False]) & (overlap[1:] == 0)
        end = np.where(goes_on, start[1:], np.maximum(start[1:] - GRAM + 1, begin))
        return self._between(begin, np.minimum(end, start[-1] - GRAM + 1))

    def _between(self, begin: Ints, end: Ints) -> Bools:
        change = np.zeros(len(self.letters.codes) + 1, np.int64)
        own = slice(self.own.start, self.own.stop)
        np.add.at(change, begin[own], 1)
        np.add.at(change, np.maximum(begin, end)[own], -1)
        return np.cumsum(change[:-1]) > 0


def blocks(docs: Iterable[Doc], size: int = BLOCK) -> Iterator[Block]:
    """The documents of a corpus in blocks, each with the neighbours of its first and last rows."""
    more = 2 * NEIGHBOURS
    rows, n_characters, first, begin = [_NONE] * NEIGHBOURS, 0, -NEIGHBOURS, 0
    for doc in docs:
        rows.append(doc)
        n_characters += len(doc.text or "")
        if n_characters > size and len(rows) > more:
            block = _block(first, rows, begin)
            yield block
            first, begin, rows = first + len(rows) - more, block.place[-more], rows[-more:]
            n_characters = 0
    if len(rows) > NEIGHBOURS:
        yield _block(first, [*rows, *[_NONE] * NEIGHBOURS], begin)


def _block(first: int, docs: list[Doc], begin: int) -> Block:
    of_texts = letters([doc.text or "" for doc in docs])
    raw = of_texts.codes.astype("<u4").tobytes()
    bounds = (4 * of_texts.start).tolist()
    texts = [raw[a:b].decode("utf-32-le", "surrogatepass") for a, b in pairwise(bounds)]
    sources = [source_of(doc.metadata) for doc in docs]
    follows, overlap, place = [False], [0], [begin]
    for row in range(1, len(docs)):
        before, after = sources[row - 1 : row + 1]
        follows.append(before == after)
        overlap.append(_overlap(texts[row - 1], texts[row]) if before == after else 0)
        gap = 0 if before == after else APART
        place.append(place[-1] + len(texts[row - 1]) - overlap[-1] + gap)
    return Block(first, docs, of_texts, grams(of_texts.codes), follows, overlap, place)


def _overlap(before: str, after: str) -> int:
    """How many letters the end of a text and the beginning of the next have in common."""
    head = after[:_HEAD]
    if len(head) < _HEAD:
        return 0
    # A chunk that is all of its neighbour is another place of the same text.
    at = before.find(head, max(1, len(before) - len(after) + 1))
    while at >= 0:
        if after.startswith(before[at:]):
            return len(before) - at
        at = before.find(head, at + 1)
    return 0


def source_of(metadata: Any) -> str | None:
    """The source that metadata name, as coverage reads it; None if they name none."""
    source = value_at(metadata, "source") if metadata else None
    return None if source is None else str(source)


def start_of(metadata: Any) -> int | None:
    """The place in it, in characters; None if they do not say."""
    values = (value_at(metadata, key) for key in ("start_index", "start"))
    value = next((value for value in values if value is not None), None)
    is_place = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_place else None
