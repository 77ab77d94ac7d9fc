"""A corpus read once, in blocks of neighbouring chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kragx.data import Doc
from kragx.data.tokens import Ints
from kragx.workshop.folder.places import origin_of
from kragx.workshop.moving.letters import GRAM, Bools, Codes, Hashes, LetterStream, grams, letters

BLOCK = 1 << 20
"""Characters that are worked on at once."""

APART = 1 << 20
"""Letters that lie between chunks of different sources: more than any gold text has."""

NEIGHBOURS = 8
"""Chunks before and after that are known as well."""

_HEAD = GRAM
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
        stream: the letters of the text that they were cut from: overlaps stand there once.
        row: where in it each row begins.
        stream_hashes: of the grams of the stream.
        is_text: which of its letters begin a gram, as none reaches from source to source.
        bounds: where in it sources begin, and where the last one ends.
        follows: whether each row may be the continuation of the row before.
        overlap: how many letters each row has in common with the end of the row before.
        place: where each row begins in the corpus, in letters; overlaps count once.
    """

    first: int
    docs: list[Doc]
    letters: LetterStream
    hashes: Hashes
    stream: Codes
    row: Ints
    stream_hashes: Hashes
    is_text: Bools
    bounds: Ints
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
        # One more where a row begins and one less where its last whole gram has begun: the sums so
        # far tell what is inside, without a loop over rows.
        change = np.zeros(len(self.letters.codes) + 1, np.int64)
        rows = slice(self.own.start, self.own.stop)
        np.add.at(change, start[:-1][rows], 1)
        np.add.at(change, np.maximum(start[1:] - GRAM + 1, start[:-1])[rows], -1)
        return np.cumsum(change[:-1]) > 0

    def rows(self, row: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
        """The first row of a stretch of the stream, and how many it has, within a row's source."""
        # A number for each stretch of rows that follow on one another.
        source = np.cumsum(~np.array(self.follows))
        ends = self.row + np.diff(self.letters.start)
        first = np.searchsorted(ends, begin, side="right")
        last = np.searchsorted(self.row, end)
        first = np.maximum(first, np.searchsorted(source, source[row]))
        last = np.minimum(last, np.searchsorted(source, source[row], side="right"))
        return first, np.maximum(last - first, 0)

    def new_grams(self) -> Hashes:
        """The hashes of the grams that begin in the own rows, and not in the row before as well."""
        letters = slice(*(self.row + self.overlap)[[self.own.start, self.own.stop]].tolist())
        return self.stream_hashes[letters][self.is_text[letters]]

    def around(self, begin: int, end: int, n: int) -> tuple[Codes, Codes]:
        """Up to `n` letters before and behind a stretch of the stream, of the same source."""
        first = int(self.bounds[np.searchsorted(self.bounds, begin, side="right") - 1])
        last = int(self.bounds[np.searchsorted(self.bounds, end)])
        return (
            self.stream[max(first, begin - n) : begin],
            self.stream[end : min(last, end + n)],
        )


def blocks(
    docs: Iterable[Doc], size: int = BLOCK, banners: set[str] | None = None
) -> Iterator[Block]:
    """The documents of a corpus in blocks, each with the neighbours of its first and last rows.

    Args:
        docs: in the order of the corpus.
        size: characters of a block.
        banners: letters with which documents end and the next ones begin, as they are known from
            another corpus; those of this one are added.
    """
    banners = set() if banners is None else banners
    margin = 2 * NEIGHBOURS
    rows, n_characters, first, begin = [_NONE] * NEIGHBOURS, 0, -NEIGHBOURS, 0
    for doc in docs:
        rows.append(doc)
        n_characters += len(doc.text or "")
        if n_characters > size and len(rows) > margin:
            block = _block(first, rows, begin, banners)
            yield block
            first, begin, rows = first + len(rows) - margin, block.place[-margin], rows[-margin:]
            n_characters = 0
    if len(rows) > NEIGHBOURS:
        yield _block(first, [*rows, *[_NONE] * NEIGHBOURS], begin, banners)


def _block(first: int, docs: list[Doc], begin: int, banners: set[str]) -> Block:
    of_texts = letters([doc.text or "" for doc in docs])
    # The letters as strings, in which overlaps are searched for.
    raw = of_texts.codes.astype("<u4").tobytes()
    bounds = (4 * of_texts.start).tolist()
    texts = [raw[a:b].decode("utf-32-le", "surrogatepass") for a, b in pairwise(bounds)]
    sources = [origin_of(doc)[0] for doc in docs]
    follows = [False, *(before == after for before, after in pairwise(sources))]
    overlap, place = _overlaps(texts, follows, banners), [begin]
    for row in range(1, len(docs)):
        gap = 0 if follows[row] else APART
        place.append(place[-1] + len(texts[row - 1]) - overlap[row] + gap)
    hashes = grams(of_texts.codes)
    stream, stream_hashes = of_texts.codes, hashes
    begins = of_texts.start[:-1] - np.cumsum(overlap)
    if any(overlap):
        change = np.zeros(len(stream) + 1, np.int64)
        np.add.at(change, of_texts.start[:-1], overlap)
        np.add.at(change, of_texts.start[:-1] + overlap, np.negative(overlap))
        stream = stream[np.cumsum(change[:-1]) == 0]
        stream_hashes = grams(stream)
    is_text = np.ones(len(stream), bool)
    new = begins + overlap
    bounds = np.append(new[~np.array(follows)], len(stream))
    for end in bounds.tolist():
        is_text[max(0, end - GRAM + 1) : end] = False
    return Block(
        first, docs, of_texts, hashes, stream, begins, stream_hashes, is_text, bounds,
        follows, overlap, place,
    )  # fmt: skip


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
    head = after[:_HEAD]
    if len(head) < _HEAD:
        return 0
    # A chunk that is all of its neighbour is another place of the same text.
    place = before.find(head, max(1, len(before) - len(after) + 1))
    while place >= 0:
        if after.startswith(before[place:]):
            return len(before) - place
        place = before.find(head, place + 1)
    return 0
