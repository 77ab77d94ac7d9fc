"""Letters that a gold text and the new corpus share, in the order of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kragx.data.lists import ranges
from kragx.workshop.moving.blocks import Codes, whole_grams

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
        place: where in those of the corpus its first letter is.
    """

    first: int
    last: int
    place: int

    @property
    def shift(self) -> int:
        """Where in the corpus the gold text's letters would begin."""
        return self.place - self.first

    @property
    def end(self) -> int:
        """Where in it the letter behind the last one is."""
        return self.shift + self.last


def align(
    codes: Codes,
    gold: tuple[int, int],
    corpus: Codes,
    bounds: tuple[int, int],
    shifts: tuple[int, int],
    chunks: Iterable[tuple[int, int]],
    is_own: Callable[[int, int], bool],
) -> list[LetterRun]:
    """The runs of letters that a gold text and a part of the corpus share.

    Args:
        codes: the letters of the gold text, and of what stood around it.
        gold: where among them its own begin and end.
        corpus: the letters of the corpus.
        bounds: the part that is looked at.
        shifts: the least and the most letter of it where the text may begin.
        chunks: where in the corpus those that have some of it begin and end.
        is_own: whether letters of the gold text, from one to another, are in it alone.
    """
    equal = [*_equal_letters(codes, corpus, bounds, shifts)]
    runs = [
        LetterRun(first, last, run.shift + first)
        for run in _joined([part for chunk in chunks for part in _of_chunk(equal, chunk)])
        for first, last in pairwise(
            [run.first, *(end for end in gold if run.first < end < run.last), run.last]
        )
    ]
    return _chain(sorted(runs), gold, is_own)


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
    letters = STEP * order[ranges(first, times)]
    places = begin + np.repeat(np.arange(len(of_corpus)), times)
    diagonals = places - letters
    inside = (diagonals >= shifts[0]) & (diagonals <= shifts[1])
    diagonals, support = np.unique(diagonals[inside], return_counts=True)
    best = diagonals[np.argsort(-support, kind="stable")[:_DIAGONALS]]
    for diagonal in best.tolist():
        low, high = max(0, begin - diagonal), min(len(codes), end - diagonal)
        equal = codes[low:high] == corpus[low + diagonal : high + diagonal]
        # Where letters begin to be the same, and where they end, by turns.
        changes = low + np.flatnonzero(np.diff(equal, prepend=False, append=False))
        for a, b in changes.reshape(-1, 2).tolist():
            if b - a >= LEAST:
                yield LetterRun(a, b, a + diagonal)


def _of_chunk(runs: Sequence[LetterRun], chunk: tuple[int, int]) -> Iterator[LetterRun]:
    """What of runs is in a chunk, each without the letters that are in a longer one.

    A chunk is of one document: where the next one begins as the gold text ends, the letters there
    are those of what is behind it.
    """
    inside = [
        LetterRun(begin - run.shift, end - run.shift, begin)
        for run in runs
        if (begin := max(run.place, chunk[0])) < (end := min(run.end, chunk[1]))
    ]
    longer: list[LetterRun] = []
    for run in sorted(inside, key=lambda run: (run.first - run.last, run)):
        begin, end, size = run.place, run.end, run.last - run.first
        for other_run in longer:
            if other_run.last - other_run.first == size:
                continue
            if other_run.place <= begin:
                begin = max(begin, other_run.end)
            else:
                end = min(end, other_run.place)
        if end - begin >= min(2, size):
            longer.append(LetterRun(begin - run.shift, end - run.shift, begin))
    yield from longer


def _chain(
    runs: Sequence[LetterRun], gold: tuple[int, int], is_own: Callable[[int, int], bool]
) -> list[LetterRun]:
    """Runs in the order of both texts: those of the most letters, for the least put in between.

    Letters put into the gold text cost as many, between runs that are its own `_JUMP` at the most.
    Text that stands in many places, as a banner does, counts only beside what is there.
    """
    low, high = gold
    is_unique = [is_own(run.first, run.last) for run in runs]
    chains: list[tuple[float, int, int]] = []  # its worth, the run before, from which letter on
    for number, run in enumerate(runs):
        # What may as well be of what is around the text is that.
        penalty = 0.5 if run.last > low and run.first < high and not is_unique[number] else 0.0
        best = (run.last - run.first - penalty, -1, run.first)
        for earlier, before in enumerate(runs[:number]):
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
                cost = min(away, _JUMP) if is_unique[number] and is_unique[earlier] else away
            worth = chains[earlier][0] + run.last - first - penalty - cost
            best = max(best, (worth, earlier, first))
        chains.append(best)
    # From the end of the best chain back, by the run that each one goes on from.
    number = max(range(len(runs)), key=lambda number: chains[number][0], default=-1)
    chain: list[tuple[LetterRun, bool]] = []
    while number >= 0:
        run, (_, before_it, first) = runs[number], chains[number]
        chain.insert(0, (LetterRun(first, run.last, run.shift + first), is_unique[number]))
        number = before_it
    beside = [
        run
        for place, (run, is_its_own) in enumerate(chain)
        if is_its_own
        or any(
            abs(run.shift - neighbour.shift) <= PUT_IN
            for neighbour, _ in [*chain[max(0, place - 1) : place], *chain[place + 1 : place + 2]]
        )
    ]
    return _joined(beside or [run for run, _ in chain][:1])


def _joined(runs: Sequence[LetterRun]) -> list[LetterRun]:
    """Runs in their order, those that follow on one another, or overlap, as one."""
    joined: list[LetterRun] = []
    for run in sorted(set(runs), key=lambda run: (run.shift, run)):
        before = joined[-1] if joined else None
        if before is None or run.shift != before.shift or run.first > before.last:
            joined.append(run)
        elif run.last > before.last:
            joined[-1] = before._replace(last=run.last)
    return sorted(joined)
