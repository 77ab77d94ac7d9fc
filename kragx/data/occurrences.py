"""In how many of many documents many texts stand."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import numpy as np

from kragx.data.tokens import codes_of, hashed

_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")

_BLOCK = 1 << 22
"""Characters that are looked through at a time, for each some 30 bytes of memory."""


def n_containing(docs: Sequence[str], texts: Collection[str]) -> Counter[str]:
    """How many of the documents contain each text, by the text; all are of one line.

    A text takes time as often as its rarest three letters stand in the documents; one that is
    shorter, or whose letters are all common, is looked for in each document.
    """
    counts = Counter[str]()
    for block in _blocks(docs):
        counts.update(dict(_in_block(block, texts)))
    return counts


def _blocks(docs: Sequence[str]) -> Iterator[Sequence[str]]:
    first, size = 0, 0
    for position, doc in enumerate(docs):
        if size and size + len(doc) > _BLOCK:
            yield docs[first:position]
            first, size = position, 0
        size += len(doc) + 1
    yield docs[first:]


def _in_block(docs: Sequence[str], texts: Collection[str]) -> Iterator[tuple[str, int]]:
    joined = "\n".join(docs)
    threes = hashed(codes_of(joined), 3)
    order = np.argsort(threes)
    threes = threes[order]
    ends = np.cumsum([len(doc) + 1 for doc in docs])
    for text in texts:
        grams = hashed(codes_of(text), 3)[: max(1, len(text) - 2)]
        begin, end = (np.searchsorted(threes, grams, side) for side in _SIDES)
        rarest = int(np.argmin(end - begin))
        if len(text) < 3 or end[rarest] - begin[rarest] > len(docs):
            yield text, sum(text in doc for doc in docs)  # it may stand in most of them
        else:
            places = (order[begin[rarest] : end[rarest]] - rarest).tolist()
            starts = [n for n in places if n >= 0 and joined.startswith(text, n)]
            yield text, len({*np.searchsorted(ends, starts, side="right").tolist()})
