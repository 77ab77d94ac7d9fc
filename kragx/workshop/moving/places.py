"""A place where a gold text may be: a stretch of the new corpus's text, whatever its chunks are.

Where its first and its last letter stand follows from the letters that are as they were, in it and
around it; which chunks hold it, from where they begin and end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kragx.data.lists import Ints
from kragx.workshop.folder.places import origin_of
from kragx.workshop.moving.alignment import PUT_IN, LetterRun
from kragx.workshop.moving.blocks import GRAM, Block, Bools, letters
from kragx.workshop.moving.probes import FEWEST, GoldProbe


class Chunk(NamedTuple):
    """A chunk in which gold may stand.

    Attributes:
        number: which of the corpus it is.
        id, text, size: its id and its text, and how many letters that has.
        place: where it begins in the corpus, in letters.
        source, start: of its text, where metadata say so.
    """

    number: int
    id: str
    text: str
    size: int
    place: int
    source: str | None
    start: int | None

    @property
    def end(self) -> int:
        """Where it ends in the corpus, in letters."""
        return self.place + self.size

    def characters(self, *places: int) -> list[int]:
        """Its characters where some letters stand, by their places in the corpus."""
        positions = letters([self.text]).place
        return [int(positions[min(place - self.place, len(positions) - 1)]) for place in places]


class Place:
    """A stretch of the new corpus that may be a gold text.

    Args:
        probe: the gold text.
        runs: the letters that are as they were.
        block: the part of the corpus.
        chunks: those of its rows that some place is in, added to.

    Attributes:
        chunks: those that hold some of it.
        begin, end: where it stands in the text of the corpus.
        share: how many of its letters are there as they were.
        weight: how many grams are there that stood once in the old corpus.
        is_framed: what stood on both of its sides stands there.
        is_known: letters of the text itself that stood once are there, or it is framed. One side
            alone may be the next document, behind the end of another one.
        is_start: it begins at the very character of its source that the gold text begins at.
        beside: whether what stood right before it is there to its last letter, and right behind it.
    """

    def __init__(
        self,
        probe: GoldProbe,
        runs: Sequence[LetterRun],
        block: Block,
        chunks: dict[int, Chunk],
    ) -> None:
        self.probe = probe
        self._weigh(runs)
        self._locate(runs, block, chunks)

    def _weigh(self, runs: Sequence[LetterRun]) -> None:
        """Say what speaks for it being the text's own place, and not that of one like it."""
        probe = self.probe
        low, high = probe.low, probe.high
        is_there = np.zeros(len(probe.unique), bool)
        for run in runs:
            if run.last - run.first >= GRAM:
                first, last = np.searchsorted(probe.unique, [run.first, run.last - GRAM + 1])
                is_there[first:last] = True
        is_before, is_after = probe.unique < low, probe.unique > high - GRAM
        in_text, n_before, n_behind = (
            probe.step * int(is_there[side].sum())
            for side in (~is_before & ~is_after, is_before, is_after)
        )
        self.weight: int = probe.step * int(is_there.sum())
        self.is_framed: bool = (
            self.weight >= FEWEST
            and (not low or n_before >= FEWEST)
            and (high == len(probe.codes) or n_behind >= FEWEST)
        )
        self.is_known: bool = self.is_framed or in_text >= FEWEST

    def _locate(self, runs: Sequence[LetterRun], block: Block, chunks: dict[int, Chunk]) -> None:
        """Say where it begins and ends, and which chunks hold it."""
        probe = self.probe
        low, high, codes = probe.low, probe.high, probe.codes
        positions = _letters_at(runs, len(codes))
        first, last = block.rows(runs[0].place, runs[-1].end)
        bounds = int(block.row[first]), int(block.end[last - 1])
        begin = _place_of(low, positions, bounds, is_end=False)
        end = max(begin, _place_of(high, positions, bounds, is_end=True))
        self.begin: int = block.begin + begin
        self.end: int = block.begin + end
        self.beside: tuple[bool, bool] = (
            bool(low and positions[low - 1] >= 0),
            bool(high < len(codes) and positions[high] >= 0),
        )
        parts = [(max(run.first, low), min(run.last, high), run.shift) for run in runs]
        self._runs = [
            LetterRun(first - low, last - low, block.begin + shift + first)
            for first, last, shift in parts
            if first < last
        ]
        for row in range(*block.rows(begin, end)):
            if row not in chunks:
                chunks[row] = _chunk(block, row)
        self.chunks: list[Chunk] = [chunks[row] for row in range(*block.rows(begin, end))]
        self.share: float = float(self.equal.mean())
        self.source: str | None = max(self.chunks, key=self.n_equal).source
        chunk = next(chunk for chunk in self.chunks if chunk.end > self.begin)
        self.is_start: bool = (
            probe.start is not None
            and self.source == probe.source
            and bool(self.equal[0])
            and chunk.start is not None
            and abs(chunk.start + chunk.characters(self.begin)[0] - probe.start) <= 1
        )

    @property
    def positions(self) -> Ints:
        """Where in the corpus each letter of the gold text is; -1 for those that are edited."""
        return _letters_at(self._runs, self.probe.high - self.probe.low)

    @property
    def equal(self) -> Bools:
        """Which of its letters are there as they were."""
        return np.asarray(self.positions >= 0)

    def inside(self, chunk: Chunk) -> tuple[int, int]:
        """What of it a chunk has, in the text of the corpus."""
        begin = max(self.begin, chunk.place)
        return begin, max(begin, min(self.end, chunk.end))

    def n_equal(self, chunk: Chunk) -> int:
        """How many of its letters a chunk has as they were."""
        positions = self.positions
        return int(((positions >= chunk.place) & (positions < chunk.end)).sum())

    def letters(self, *places: int) -> Iterator[int]:
        """Which letters of the gold text stand at places of the corpus.

        Of edited letters those that were there, as far as they go.
        """
        letters = np.concatenate(([-1], np.flatnonzero(self.equal), [len(self.equal)]))
        positions = np.concatenate(([self.begin - 1], self.positions[letters[1:-1]], [self.end]))
        for place in places:
            before = int(np.searchsorted(positions, place, side="right")) - 1
            letter = int(letters[before] + place - positions[before])
            yield min(letter, int(letters[min(before + 1, len(letters) - 1)]))

    def narrow(self) -> None:
        """Leave out what is edited at its ends."""
        self.begin, self.end = self._runs[0].place, self._runs[-1].end


def _letters_at(runs: Sequence[LetterRun], n: int) -> Ints:
    positions = np.full(n, -1, np.int64)
    for run in runs:
        positions[run.first : run.last] = np.arange(run.place, run.end)
    return positions


def _chunk(block: Block, row: int) -> Chunk:
    doc, begin, end = block.docs[row], int(block.row[row]), int(block.end[row])
    source, start = origin_of(doc)
    return Chunk(
        block.first + row,
        str(doc.id),
        doc.text or "",
        end - begin,
        block.begin + begin,
        source,
        start,
    )


def _place_of(letter: int, positions: Ints, bounds: tuple[int, int], *, is_end: bool) -> int:
    """Where in the text of the corpus a gold text begins or ends, at a letter of the probe.

    A word that was put in there belongs to what is before it, a sentence to neither side.

    Args:
        letter: the first one of the gold text, or that behind its last one.
        positions: where each letter of the probe is; -1 for those that are edited.
        bounds: the place cannot be outside these.
        is_end: whether the gold text ends there.
    """
    equal = np.flatnonzero(positions >= 0)
    position = int(np.searchsorted(equal, letter))
    # The letter behind the last one before it that is there, and the first one from it on.
    before = int(equal[position - 1]) + 1 if position else None
    after = int(equal[position]) if position < len(equal) else None
    if before is None:
        assert after is not None
        return max(min(bounds[0], int(positions[after])), int(positions[after]) - after + letter)
    begin = int(positions[before - 1]) + 1
    if after is None:
        return min(max(bounds[1], begin), begin + letter - before)
    end = int(positions[after])
    if before == after and begin == end:
        return end
    if (end - after) - (begin - before) > PUT_IN:
        return begin + letter - before if is_end else end - after + letter
    if after == letter or after - letter < letter - before > PUT_IN:
        return max(begin, end - after + letter)
    return min(end, begin + letter - before)
