"""A place where a gold text may be: a stretch of the new corpus's text, whatever its chunks are.

Letters that a gold text and the new corpus share are put together in the order of both. Where the
text's first and last letter stand follows from those that are as they were, in it and around it;
which chunks hold it, from where they begin and end. Letters are counted in a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kragx.data.lists import Bools, Ints, ranges
from kragx.workshop.folder.places import origin_of
from kragx.workshop.moving.blocks import GRAM, Block, Chunk, grams
from kragx.workshop.moving.probes import FEWEST, STEP, GoldProbe

LEAST = 5
"""Letters in a row that count as the same beside longer ones."""

PUT_IN = 16
"""Letters of a word; more is a sentence of its own."""

_FINE = 8  # letters in a row by which the two are laid beside each other
_DIAGONALS = 48
_JUMP = 32  # letters that what follows must have more than, to be of the text as well


class LetterRun(NamedTuple):
    """Letters in a row that a gold text, with what is around it, and the new corpus share.

    Attributes:
        first, last: in the gold text's letters.
        shift: where in those of the corpus the gold text's would begin.
    """

    first: int
    last: int
    shift: int

    @property
    def place(self) -> int:
        """Where in the corpus its first letter is."""
        return self.first + self.shift

    @property
    def end(self) -> int:
        """Where in it the letter behind the last one is."""
        return self.last + self.shift

    def within(self, first: int, last: int) -> LetterRun:
        """What of it is in a stretch of the gold text's letters; it may be nothing."""
        return LetterRun(max(self.first, first), min(self.last, last), self.shift)


def align(
    probe: GoldProbe, block: Block, bounds: tuple[int, int], shifts: tuple[int, int]
) -> list[LetterRun]:
    """The runs of letters that a gold text and a part of the corpus share, in the order of both.

    Text that stands in many places, as a banner does, counts only beside what is there.

    Args:
        probe: the gold text.
        block: of the corpus.
        bounds: the part of its stream that is looked at.
        shifts: the least and the most letter of it where the probe may begin.
    """
    equal = [*_equal_letters(probe, block, bounds, shifts)]
    # None has letters of the gold text and of what is around it.
    sides = [(0, probe.low), (probe.low, probe.high), (probe.high, len(probe.codes))]
    parts = (run.within(*side) for run in equal for side in sides)
    aligned = _best_chain(sorted(run for run in parts if run.first < run.last), probe)
    near = [abs(run.shift - after.shift) <= PUT_IN for run, after in pairwise(aligned)]
    beside = [
        run
        for run, *are_near in zip(aligned, [False, *near], [*near, False])
        if any(are_near) or probe.is_own(run.first, run.last)
    ]
    return beside or aligned[:1]


def _best_chain(runs: Sequence[LetterRun], probe: GoldProbe) -> list[LetterRun]:
    """Runs in the order of both texts: those of the most letters, for the least put in between.

    Letters put into the gold text cost as many, `_JUMP` at the most.
    """
    chains: list[tuple[float, list[LetterRun]]] = []
    for run in runs:
        # What may as well be of what is around the text is that.
        is_inside = probe.low <= run.first < probe.high
        penalty = 0.5 if is_inside and not probe.is_own(run.first, run.last) else 0.0
        best = (run.last - run.first - penalty, [run])
        for worth, chain in chains:
            before = chain[-1]
            # Not before the run ahead of it ends, neither in the gold text nor in the corpus.
            first = max(run.first, before.last, before.end - run.shift)
            if run.last - first < min(2, run.last - run.first):
                continue
            away = abs(run.shift - before.shift)
            cost = away / PUT_IN if away <= PUT_IN else min(away, _JUMP)
            total = worth + run.last - first - penalty
            total -= cost if probe.low < first < probe.high else 0.0
            # Of equal ones the later: a text that was put in is not the one that stood there.
            if total >= best[0]:
                best = (total, [*chain, run._replace(first=first)])
        chains.append(best)
    return max(chains, key=lambda chain: chain[0], default=(0.0, []))[1]


def _equal_letters(
    probe: GoldProbe, block: Block, bounds: tuple[int, int], shifts: tuple[int, int]
) -> Iterator[LetterRun]:
    """The runs on those diagonals on which the two share `_FINE` letters, the best of them."""
    codes, corpus = probe.codes, block.stream
    begin, end = max(bounds[0], shifts[0]), min(bounds[1], shifts[1] + len(codes))
    of_gold, of_corpus = grams(codes, _FINE)[::STEP], grams(corpus[begin:end], _FINE)
    order = np.argsort(of_gold, kind="stable")
    first = np.searchsorted(of_gold, of_corpus, sorter=order)
    # Four places of one gram at most: text that repeats itself would give as many diagonals as
    # pairs of places.
    times = np.minimum(np.searchsorted(of_gold, of_corpus, side="right", sorter=order) - first, 4)
    places = begin + np.repeat(np.arange(len(of_corpus)), times)
    diagonals = places - STEP * order[ranges(first, times)]
    inside = (diagonals >= shifts[0]) & (diagonals <= shifts[1])
    diagonals, support = np.unique(diagonals[inside], return_counts=True)
    for diagonal in diagonals[np.argsort(-support, kind="stable")[:_DIAGONALS]].tolist():
        low, high = max(0, begin - diagonal), min(len(codes), end - diagonal)
        equal = codes[low:high] == corpus[low + diagonal : high + diagonal]
        # Where letters begin to be the same, and where they end, by turns.
        changes = low + np.flatnonzero(np.diff(equal, prepend=False, append=False))
        for a, b in changes.reshape(-1, 2).tolist():
            if b - a >= LEAST:
                yield LetterRun(a, b, diagonal)


class Piece(NamedTuple):
    """A part of a gold text.

    Attributes:
        place: the place that it is a part of.
        chunks: those that hold it; any of them serves, the first before the others.
        low, high: the part, in the letters of the gold text.
    """

    place: Place
    chunks: list[Chunk]
    low: int
    high: int

    @property
    def size(self) -> int:
        """Its letters; what was put in alone has one."""
        return max(1, self.high - self.low)

    @property
    def is_edited(self) -> bool:
        """Whether no more of it is there as it was than another text may have by accident."""
        return 2 * int(self.place.equal[self.low : self.high].sum()) <= self.high - self.low


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
        self._runs = runs
        around = self.positions_around
        # Grams of which every letter is there, and beside the one before it.
        is_next = np.cumsum(np.append(False, (np.diff(around) == 1) & (around[1:] > 0)))
        once = probe.unique[is_next[probe.unique + GRAM - 1] - is_next[probe.unique] == GRAM - 1]
        # Before its text's end and behind its beginning are also those that reach over it.
        n_before, n_not_behind = np.searchsorted(once, [low, high - GRAM + 1]).tolist()
        before, inside, behind = (
            probe.step * n_once >= FEWEST
            for n_once in (n_before, n_not_behind - n_before, len(once) - n_not_behind)
        )
        self._once = once
        self.weight: int = probe.step * len(once)
        self.is_framed: bool = (
            self.weight >= FEWEST and (not low or before) and (high == n or behind)
        )
        self.is_known: bool = self.is_framed or inside
        self.begin: int
        self.end: int
        self.begin, self.end = self._edges(block)
        self.chunks: list[Chunk] = block.chunks(self.begin, self.end)
        self.share: float = float(self.equal.mean())
        self.source: str | None = origin_of(max(self.chunks, key=self.n_equal).doc)[0]
        chunk = next(chunk for chunk in self.chunks if chunk.end > self.begin)
        start = origin_of(chunk.doc)[1]
        self.is_start: bool = False
        if probe.start is not None and start is not None and self.source == probe.source:
            away = abs(start + chunk.characters(self.begin)[0] - probe.start)
            self.is_start = bool(self.equal[0]) and away <= 1

    @property
    def positions_around(self) -> Ints:
        """Where in the corpus each letter of the probe is; -1 for those that are edited."""
        positions = np.full(len(self.probe.codes), -1, np.int64)
        for first, last, shift in self._runs:
            positions[first:last] = np.arange(first, last) + shift
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

    def _edges(self, block: Block) -> tuple[int, int]:
        """Where in the text of the corpus the gold text begins and ends.

        Edited letters at an end go as far as what stood beside them, if no more were put in than a
        word, which belongs to what is before it; else they are as many as they were.
        """
        touched = block.chunks(self._runs[0].place, self._runs[-1].end)
        before, inside, behind = self._sides
        n_before, n_behind = inside[0].first - self.probe.low, self.probe.high - inside[-1].last
        begin, end = inside[0].place, inside[-1].end
        # Letters beside it that are edited are as many as they were, as far as there are any.
        least = min(begin, before[-1].shift + self.probe.low) if before else touched[0].begin
        most = max(end, behind[0].shift + self.probe.high) if behind else touched[-1].end
        if begin - least - n_before > (PUT_IN if n_before and before else 0):
            least = begin - n_before
        if most - end - n_behind > (PUT_IN if behind else 0):
            most = end + n_behind
        return least, most

    @property
    def _sides(self) -> tuple[list[LetterRun], list[LetterRun], list[LetterRun]]:
        """The runs before the gold text, in it, and behind it."""
        low, high = self.probe.low, self.probe.high
        before = [run for run in self._runs if run.last <= low]
        behind = [run for run in self._runs if run.first >= high]
        return before, list(self._runs[len(before) : len(self._runs) - len(behind)]), behind

    def pieces(self) -> list[Piece]:
        """The parts of the gold text, each in the chunk that has most of what is left."""
        pieces: list[Piece] = []
        n, standing = len(self.equal), self._standing()
        begin = self.begin
        # Chunks lie beside one another: at each letter of the corpus there is one.
        while begin < self.end:
            holding = [chunk for chunk in self.chunks if chunk.begin <= begin < chunk.end]
            end = min(self.end, max(chunk.end for chunk in holding))
            # Any of them serves; the one that holds least besides comes first.
            best = [chunk for chunk in holding if chunk.end >= end]
            best.sort(key=lambda chunk: chunk.end - chunk.begin)
            low, high = np.searchsorted(standing, [begin, end]).tolist()
            pieces.append(Piece(self, best, low, high))
            begin = end
        # Of a letter or two that were edited nobody knows on which side of a chunk's end they are.
        n_few = max(2, 0.02 * n)
        return [piece for piece in pieces if piece.size > n_few or not piece.is_edited]

    def _standing(self) -> Ints:
        """Where each letter stands; of edited ones those that were there, as far as they go."""
        positions, number = self.positions, np.arange(len(self.positions))
        last = np.maximum.accumulate(np.where(self.equal, number, -1))
        before = np.where(last < 0, self.begin - 1, positions[last])
        behind = np.minimum.accumulate(np.where(self.equal, positions + 1, self.end)[::-1])[::-1]
        return np.asarray(np.minimum(before + number - last, behind - 1))

    def is_doubtful(self, piece: Piece) -> bool:
        """Whether a part may as well be another text of its template, or what stood beside it.

        It is of the text where that runs on over the end of a chunk. It is another's where letters
        that only it had are not there. One that is edited is of the text where what stood beside it
        is there to its last letter, unless more letters than were edited stand there now, and in
        two chunks: some of them were put in behind it.
        """
        probe, n = self.probe, len(self.equal)
        is_next = np.diff(self.positions) == 1
        bounds = (bound for bound in (piece.low, piece.high) if 0 < bound < n)
        if any(is_next[max(0, bound - LEAST) : bound + LEAST - 1].all() for bound in bounds):
            return False
        ends = probe.low + piece.low, probe.low + piece.high - GRAM + 1
        n_unique, n_there = (
            np.diff(np.searchsorted(places, ends)) for places in (probe.unique, self._once)
        )
        is_told = piece.size == n or self.source == probe.source is not None
        if not is_told and probe.step * n_unique >= GRAM and n_there < 0.1 * n_unique:
            return True
        if not piece.is_edited:
            return False
        (before, inside, behind), low, high = self._sides, self.probe.low, self.probe.high
        n_before, n_behind = inside[0].first - low, high - inside[-1].last
        is_before = any(run.last == low and self.begin <= run.end + PUT_IN for run in before[-1:])
        is_behind = any(run.first == high and run.place <= self.end + PUT_IN for run in behind[:1])
        is_before &= inside[0].place - self.begin <= n_before or piece.high == n_before
        is_behind &= self.end - inside[-1].end <= n_behind or piece.low == high - low - n_behind
        return (piece.low == 0 and not is_before) or (piece.high == high - low and not is_behind)
