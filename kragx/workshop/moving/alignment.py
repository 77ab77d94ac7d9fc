"""Letters that a gold text and the new corpus share, in the order of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kragx.data.lists import ranges
from kragx.workshop.moving.blocks import Codes, whole_grams
from kragx.workshop.moving.probes import GoldProbe

STEP = 4
"""Of the grams of gold every fourth is looked up; of the corpus all."""

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
        return self.shift + self.first

    @property
    def end(self) -> int:
        """Where in it the letter behind the last one is."""
        return self.shift + self.last

    def within(self, stretches: Iterable[tuple[int, int]]) -> Iterator[LetterRun]:
        """What of it is in stretches of the gold text's letters."""
        for low, high in stretches:
            if self.first < high and low < self.last:
                yield LetterRun(max(self.first, low), min(self.last, high), self.shift)


def align(
    probe: GoldProbe,
    corpus: Codes,
    bounds: tuple[int, int],
    shifts: tuple[int, int],
    chunks: Iterable[tuple[int, int]],
) -> list[LetterRun]:
    """The runs of letters that a gold text and a part of the corpus share, in the order of both.

    Text that stands in many places, as a banner does, counts only beside what is there.

    Args:
        probe: the gold text.
        corpus: the letters of the corpus.
        bounds: the part that is looked at.
        shifts: the least and the most letter of it where the probe may begin.
        chunks: where in the corpus those that have some of it begin and end.
    """
    equal = [*_equal_letters(probe.codes, corpus, bounds, shifts)]
    of_chunks = _joined([run for chunk in chunks for run in _of_chunk(equal, chunk)])
    # None has letters of the gold text and of what is around it.
    sides = [(0, probe.low), (probe.low, probe.high), (probe.high, len(probe.codes))]
    runs = _best_chain(sorted(part for run in of_chunks for part in run.within(sides)), probe)
    near = [abs(run.shift - after.shift) <= PUT_IN for (run, _), (after, _) in pairwise(runs)]
    is_beside = zip(runs, [False, *near], [*near, False])
    beside = [run for (run, is_unique), *are_near in is_beside if is_unique or any(are_near)]
    return _joined(beside or [run for run, _ in runs][:1])


def _best_chain(runs: Sequence[LetterRun], probe: GoldProbe) -> list[tuple[LetterRun, bool]]:
    """Runs in the order of both texts, each with whether it is the gold text's own.

    They are those of the most letters, for the least put in between. Letters put into the gold text
    cost as many, between runs that are its own `_JUMP` at the most.
    """
    low, high = probe.low, probe.high
    chains: list[tuple[float, list[tuple[LetterRun, bool]]]] = []
    for run in runs:
        is_unique = probe.is_own(run.first, run.last)
        # What may as well be of what is around the text is that.
        penalty = 0.5 if run.last > low and run.first < high and not is_unique else 0.0
        best = (run.last - run.first - penalty, -1, run.first)
        for number, (worth, chain) in enumerate(chains):
            before, is_before_unique = chain[-1]
            # Not before the run ahead of it ends, neither in the gold text nor in the corpus.
            first = max(run.first, before.last, before.end - run.shift)
            if run.last - first < min(2, run.last - run.first):
                continue
            away = abs(run.shift - before.shift)
            if not low < first < high:
                cost = 0.0
            elif away <= PUT_IN:
                cost = away / PUT_IN
            else:
                cost = min(away, _JUMP) if is_unique and is_before_unique else away
            best = max(best, (worth + run.last - first - penalty - cost, number, first))
        worth, number, first = best
        chain = chains[number][1] if number >= 0 else []
        chains.append((worth, [*chain, (run._replace(first=first), is_unique)]))
    return max(chains, key=lambda chain: chain[0], default=(0.0, []))[1]


def _equal_letters(
    codes: Codes, corpus: Codes, bounds: tuple[int, int], shifts: tuple[int, int]
) -> Iterator[LetterRun]:
    """The runs on those diagonals on which the two share `_FINE` letters, the best of them."""
    begin, end = max(bounds[0], shifts[0]), min(bounds[1], shifts[1] + len(codes))
    grams, of_corpus = whole_grams(codes, _FINE)[::STEP], whole_grams(corpus[begin:end], _FINE)
    order = np.argsort(grams, kind="stable")
    first = np.searchsorted(grams, of_corpus, sorter=order)
    # Four places of one gram at most: text that repeats itself would give as many diagonals as
    # pairs of places.
    times = np.minimum(np.searchsorted(grams, of_corpus, side="right", sorter=order) - first, 4)
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


def _of_chunk(runs: Sequence[LetterRun], chunk: tuple[int, int]) -> list[LetterRun]:
    """What of runs is in a chunk, each without the letters that are in a longer one.

    A chunk is of one document: where the next one begins as the gold text ends, the letters there
    are those of what is behind it.
    """
    begin, end = chunk
    inside = [part for run in runs for part in run.within([(begin - run.shift, end - run.shift)])]
    longer: list[LetterRun] = []
    for run in sorted(inside, key=lambda run: (run.first - run.last, run)):
        first, last, shift = run
        for other_run in longer:
            if other_run.last - other_run.first == run.last - run.first:
                continue
            if other_run.place <= first + shift:
                first = max(first, other_run.end - shift)
            else:
                last = min(last, other_run.place - shift)
        if last - first >= min(2, run.last - run.first):
            longer.append(LetterRun(first, last, shift))
    return longer


def _joined(runs: Iterable[LetterRun]) -> list[LetterRun]:
    """Runs in their order, those that follow on one another, or overlap, as one."""
    joined: list[LetterRun] = []
    for run in sorted(set(runs), key=lambda run: (run.shift, run)):
        if not joined or run.shift != joined[-1].shift or run.first > joined[-1].last:
            joined.append(run)
        else:
            joined[-1] = joined[-1]._replace(last=max(run.last, joined[-1].last))
    return sorted(joined)
