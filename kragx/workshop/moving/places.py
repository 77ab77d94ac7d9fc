"""A place where a gold text may be: a stretch of the new corpus's text, whatever its chunks are.

Where its first and its last letter stand follows from the letters that are as they were, in it and
around it; which chunks hold it, from where they begin and end. Letters are counted in a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kragx.data import Doc
from kragx.data.lists import Ints
from kragx.workshop.folder.places import origin_of
from kragx.workshop.moving.alignment import PUT_IN, LetterRun
from kragx.workshop.moving.blocks import GRAM, Block, Bools, letters
from kragx.workshop.moving.probes import FEWEST, GoldProbe


class Chunk(NamedTuple):
    """A chunk in which gold may stand, and where it begins and ends."""

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


@dataclass
class Piece:
    """A part of a gold text.

    Attributes:
        place: the place that it is a part of.
        chunks: those that hold it; any of them serves, the first before the others.
        low, high: the part, in the letters of the gold text.
        share: of its letters.
    """

    place: Place
    chunks: list[Chunk]
    low: int
    high: int
    share: float

    @property
    def is_edited(self) -> bool:
        """Whether no letter of it is there as it was."""
        return not self.place.equal[self.low : self.high].any()


class Place:
    """A stretch of the new corpus that may be a gold text.

    Args:
        probe: the gold text.
        runs: the letters that are as they were.
        block: the part of the corpus.

    Attributes:
        chunks: those that hold some of it.
        begin, end: where it stands in the text of the corpus.
        share: how many of its letters are there as they were.
        weight: how many grams are there that stood once in the old corpus.
        is_framed: what stood on both of its sides stands there.
        is_known: letters of the text itself that stood once are there, or it is framed. One side
            alone may be the next document, behind the end of another one.
        source: that of the chunk which has most of it.
        is_start: it begins at the very character of its source that the gold text begins at.
    """

    def __init__(self, probe: GoldProbe, runs: Sequence[LetterRun], block: Block) -> None:
        self.probe = probe
        low, high, n = probe.low, probe.high, len(probe.codes)
        once = np.concatenate([probe.unique_in(run.first, run.last) for run in runs])
        self.weight: int = probe.step * len(once)
        # Before its text's end and behind its beginning are also those that reach over it.
        before, behind = (
            probe.step * int(side.sum()) >= FEWEST for side in (once < low, once > high - GRAM)
        )
        self.is_framed: bool = (
            self.weight >= FEWEST and (not low or before) and (high == n or behind)
        )
        n_inside = probe.step * int(((once >= low) & (once <= high - GRAM)).sum())
        self.is_known: bool = self.is_framed or n_inside >= FEWEST
        self._runs = runs
        rows = block.rows(runs[0].place, runs[-1].end)
        bounds = int(block.row[rows[0]]), int(block.end[rows[-1]])
        self.begin: int = _place_of(low, self.positions_around, bounds, is_end=False)
        end = _place_of(high, self.positions_around, bounds, is_end=True)
        self.end: int = max(self.begin, end)
        self.chunks: list[Chunk] = [
            Chunk(block.docs[row], int(block.row[row]), int(block.end[row]))
            for row in block.rows(self.begin, self.end)
        ]
        self.share: float = float(self.equal.mean())
        self.source: str | None = origin_of(max(self.chunks, key=self.n_equal).doc)[0]
        chunk = next(chunk for chunk in self.chunks if chunk.end > self.begin)
        first, start = probe.start, origin_of(chunk.doc)[1]
        self.is_start: bool = False
        if first is not None and start is not None and self.source == probe.source:
            away = abs(start + chunk.characters(self.begin)[0] - first)
            self.is_start = bool(self.equal[0]) and away <= 1

    @property
    def positions_around(self) -> Ints:
        """Where in the corpus each letter of the probe is; -1 for those that are edited."""
        positions = np.full(len(self.probe.codes), -1, np.int64)
        for run in self._runs:
            positions[run.first : run.last] = np.arange(run.place, run.end)
        return positions

    @property
    def positions(self) -> Ints:
        """The same of the gold text alone."""
        return self.positions_around[self.probe.low : self.probe.high]

    @property
    def equal(self) -> Bools:
        """Which of its letters are there as they were."""
        return np.asarray(self.positions >= 0)

    def n_equal(self, chunk: Chunk) -> int:
        """How many of its letters a chunk has as they were."""
        positions = self.positions
        return int(((positions >= chunk.begin) & (positions < chunk.end)).sum())

    def narrow(self) -> None:
        """Leave out what is edited at its ends."""
        positions = self.positions[self.equal]
        self.begin, self.end = int(positions[0]), int(positions[-1]) + 1

    def pieces(self) -> list[Piece]:
        """The parts of the gold text, each in the chunk that has most of what is left."""
        pieces: list[Piece] = []
        standing, begin = self._standing(), self.begin
        # Chunks lie beside one another: at each letter of the corpus there is one.
        while begin < self.end:
            holding = [chunk for chunk in self.chunks if chunk.begin <= begin < chunk.end]
            end = min(self.end, max(chunk.end for chunk in holding))
            # Any of them serves; the one that holds least besides comes first.
            best = [chunk for chunk in holding if chunk.end >= end]
            best.sort(key=lambda chunk: chunk.end - chunk.begin)
            low, high = np.searchsorted(standing, [begin, end]).tolist()
            pieces.append(Piece(self, best, low, high, max(high - low, 1)))
            begin = end
        # Of a letter or two that were edited nobody knows on which side of a chunk's end they are.
        n_few = max(2, 0.02 * len(standing))
        return [piece for piece in pieces if piece.share > n_few or not piece.is_edited] or pieces

    def _standing(self) -> Ints:
        """Where each letter stands; of edited ones those that were there, as far as they go."""
        n, equal = self.probe.high - self.probe.low, np.flatnonzero(self.equal)
        known = np.concatenate(([-1], equal, [n]))
        places = np.concatenate(([self.begin - 1], self.positions[equal], [self.end]))
        before = np.repeat(np.arange(len(known)), np.diff(known, append=n))[-n:]
        standing: Ints = places[before] + np.arange(n) - known[before]
        return np.asarray(np.minimum(standing, places[before + 1] - 1))

    def may_be_beside(self, piece: Piece) -> bool:
        """Whether a part that is edited may as well be what stood beside the text.

        It is of the text where what stood beside it is there to its last letter, unless more
        letters than were edited stand there now, and in two chunks: some of them were put in behind
        it.
        """
        if not piece.is_edited:
            return False
        around, (low, high) = self.positions_around, (self.probe.low, self.probe.high)
        first, last = np.flatnonzero(self.equal)[[0, -1]].tolist()
        n_before = int(around[low + first]) - self.begin
        n_behind = self.end - int(around[low + last]) - 1
        is_before = bool(low) and around[low - 1] >= 0
        is_behind = high < len(around) and around[high] >= 0
        is_before &= n_before <= first or piece.high == first
        is_behind &= n_behind <= high - low - 1 - last or piece.low == last + 1
        return (piece.low == 0 and not is_before) or (piece.high == high - low and not is_behind)


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
    n_before = int(np.searchsorted(equal, letter))
    # The letter behind the last one before it that is there, and the first one from it on.
    (begin, end), before, after = bounds, letter, letter
    if n_before:
        before = int(equal[n_before - 1]) + 1
        begin = int(positions[before - 1]) + 1
    if n_before < len(equal):
        after = int(equal[n_before])
        end = int(positions[after])
    is_by_before = n_before > 0
    if 0 < n_before < len(equal):
        is_near = after == letter or after - letter < letter - before > PUT_IN
        is_by_before = is_end if end - after - begin + before > PUT_IN else not is_near
    if is_by_before:
        return min(max(begin, end), begin + letter - before)
    return max(min(begin, end), end - after + letter)
