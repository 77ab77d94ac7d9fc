"""A corpus read once, in blocks of neighbouring chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kragx.data import Doc
from kragx.data.lists import Ints
from kragx.workshop.folder.places import origin_of
from kragx.workshop.moving.letters import GRAM, Bools, Codes, Hashes, LetterStream, grams, letters

BLOCK = 1 << 20
"""Characters that are worked on at once."""

MARGIN = 1 << 15
"""Characters before and behind them that are known as well: more than most gold texts have."""


@dataclass(frozen=True)
class Block:
    """Neighbouring chunks; of the first and the last few only the text is of use.

    Attributes:
        docs: a row each.
        interior: the rows that are this block's alone.
        first: which chunk of the corpus the first row is.
        begin: where in the corpus its stream begins, in letters.
        letters: of their texts.
        stream: the letters of the text that they were cut from: overlaps stand there once.
        row, end: where in it each row begins and ends.
        overlap: how many letters each row has in common with the end of the row before.
        hashes: of the grams of the stream.
        is_text: which of its letters begin a gram, as none reaches from source to source.
        bounds: where in it sources begin, and where the last one ends.
    """

    docs: list[Doc]
    interior: range
    first: int
    begin: int
    letters: LetterStream
    stream: Codes
    row: Ints
    end: Ints
    overlap: Ints
    hashes: Hashes
    is_text: Bools
    bounds: Ints

    @property
    def interior_letters(self) -> slice:
        """What of the stream stands in the own rows, and not in the row before as well."""
        begins = np.append(self.row + self.overlap, len(self.stream))
        return slice(*begins[[self.interior.start, self.interior.stop]].tolist())

    def new_grams(self) -> Hashes:
        """The hashes of the grams that begin there."""
        return self.hashes[self.interior_letters][self.is_text[self.interior_letters]]

    def rows(self, begin: int, end: int) -> tuple[int, int]:
        """The first row that has some of a stretch of the stream, and the one behind the last."""
        first, last = np.searchsorted(self.end, begin, side="right"), np.searchsorted(self.row, end)
        return int(first), int(last)

    def source(self, begin: int, end: int) -> tuple[int, int]:
        """Where the source begins and ends that a stretch of the stream is of."""
        first = np.searchsorted(self.bounds, begin, side="right") - 1
        last = min(int(np.searchsorted(self.bounds, max(end, begin + 1))), len(self.bounds) - 1)
        return int(self.bounds[first]), int(self.bounds[last])


def blocks(
    docs: Iterable[Doc], size: int = BLOCK, margin: int = MARGIN, banners: set[str] | None = None
) -> Iterator[Block]:
    """The documents of a corpus in blocks, each with the neighbours of its first and last rows.

    Args:
        docs: in the order of the corpus.
        size: characters of a block.
        margin: characters of the neighbours on either side.
        banners: letters with which documents end and the next ones begin, as they are known from
            another corpus; those of this one are added.
    """
    banners = set() if banners is None else banners
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
    # The letters as strings, in which overlaps are searched for.
    raw = of_texts.codes.astype("<u4").tobytes()
    cuts = (4 * of_texts.start).tolist()
    texts = [raw[a:b].decode("utf-32-le", "surrogatepass") for a, b in pairwise(cuts)]
    sources = [origin_of(doc)[0] for doc in docs]
    follows = [False, *(before == after for before, after in pairwise(sources))]
    overlap = np.array(_overlaps(texts, follows, banners), np.int64)
    row = of_texts.start[:-1] - np.cumsum(overlap)
    end = row + np.diff(of_texts.start)
    # One more where an overlap begins and one less where it ends: the sums so far tell what is in
    # one, without a loop over rows.
    change = np.zeros(len(of_texts.codes) + 1, np.int64)
    np.add.at(change, of_texts.start[:-1], overlap > 0)
    np.add.at(change, of_texts.start[:-1] + overlap, -(overlap > 0).astype(np.int64))
    stream = of_texts.codes[np.cumsum(change[:-1]) == 0]
    bounds = np.append((row + overlap)[~np.array(follows)], len(stream))
    is_text = np.ones(len(stream), bool)
    for bound in bounds.tolist():
        is_text[max(0, bound - GRAM + 1) : bound] = False
    return Block(
        docs, interior, first, begin, of_texts, stream, row, end, overlap, grams(stream), is_text,
        bounds,
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
