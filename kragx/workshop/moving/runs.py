"""Letters that a gold text and the new corpus share, in runs; and which of them belong together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from typing import NamedTuple

from kragx.workshop.moving.probes import GoldProbe

PUT_IN = 16
"""Letters of a word; more is a sentence of its own."""

_JUMP = 32  # letters that what follows must have more than, to be of the text as well


class LetterRun(NamedTuple):
    """Letters in a row that a probe and a text of the new corpus share.

    Attributes:
        first, last: in the probe.
        place: where in the text its first letter is: in a chunk, or in the corpus as a whole.
        before, after: other letters follow there than in the probe, and those stood there in the
            old corpus as well: where another text like it was.
    """

    first: int
    last: int
    place: int
    before: bool = False
    after: bool = False

    @property
    def shift(self) -> int:
        """Where in the text the probe would begin."""
        return self.place - self.first

    @property
    def end(self) -> int:
        """Where in it the letter behind the last one is."""
        return self.shift + self.last

    def part(self, first: int, last: int) -> LetterRun:
        """Some of its letters."""
        before, after = self.before and first == self.first, self.after and last == self.last
        return LetterRun(first, last, first + self.shift, before, after)

    def is_in(self, probe: GoldProbe) -> bool:
        """Whether some of them are of the gold text itself."""
        return self.last > probe.low and self.first < probe.high


def chain_of(
    runs: Collection[LetterRun], probe: GoldProbe, is_own: Callable[[LetterRun], bool]
) -> list[LetterRun]:
    """Runs in the order of both texts: those of the most letters, for the least put in between.

    Letters put into the gold text cost as many, between runs that are its own `_JUMP` at the most.
    Text that stands in many places, as a banner does, counts only beside what is there.
    """
    parts = sorted(part for run in _joined(runs) for part in _cut(run, probe.low, probe.high))
    is_of_gold = [is_own(part) for part in parts]
    chains: list[tuple[float, int, int]] = []  # its worth, the part before, from which letter on
    for end, part in enumerate(parts):
        # What may as well be of what is around the text is that.
        penalty = 0.5 if part.is_in(probe) and not is_of_gold[end] else 0.0
        best = (part.last - part.first - penalty, -1, part.first)
        for number in range(end):
            before = parts[number]
            # Not before the part ahead of it ends, neither in the gold text nor in the corpus.
            first = max(part.first, before.last, before.end - part.shift)
            if part.last - first < min(2, part.last - part.first):
                continue
            away = abs(part.shift - before.shift)
            if not probe.low < first < probe.high:
                cost = 0.0
            elif away <= PUT_IN:
                cost = away / PUT_IN
            else:
                cost = min(away, _JUMP) if is_of_gold[end] and is_of_gold[number] else away
            best = max(
                best, (chains[number][0] + part.last - first - penalty - cost, number, first)
            )
        chains.append(best)
    # From the end of the best chain back, by the part that each one goes on from.
    end = max(range(len(parts)), key=lambda number: chains[number][0], default=-1)
    chain: list[tuple[LetterRun, bool]] = []
    while end >= 0:
        _, before_it, first = chains[end]
        part = parts[end]
        chain.insert(0, (part.part(first, part.last), is_of_gold[end]))
        end = before_it
    kept = [
        run
        for place, (run, is_its_own) in enumerate(chain)
        if is_its_own
        or any(
            abs(run.shift - neighbour.shift) <= PUT_IN
            for neighbour, _ in [*chain[max(0, place - 1) : place], *chain[place + 1 : place + 2]]
        )
    ]
    return _joined(kept or [run for run, _ in chain][:1])


def without_overlaps(runs: Collection[LetterRun]) -> Iterator[LetterRun]:
    """The runs of a chunk, each without the letters that are in a longer one.

    A chunk is of one document: where the next one begins as the gold text ends, the letters there
    are those of what is behind it.
    """
    runs_kept: list[LetterRun] = []
    # The longest first: others give way to those that are kept already.
    for run in sorted(runs, key=lambda run: (run.first - run.last, run)):
        begin, end = run.place, run.end
        for candidate in runs_kept:
            if candidate.last - candidate.first == run.last - run.first:
                continue
            if candidate.place <= begin:
                begin = max(begin, candidate.end)
            else:
                end = min(end, candidate.place)
        if end - begin >= min(2, run.last - run.first):
            runs_kept.append(run.part(begin - run.shift, end - run.shift))
    yield from runs_kept


def _joined(runs: Collection[LetterRun]) -> list[LetterRun]:
    """Runs that follow on one another as one, as those of chunks that overlap or are neighbours."""
    joined: list[LetterRun] = []
    for run in sorted(set(runs), key=lambda run: (run.shift, run)):
        before = joined[-1] if joined else None
        if before is None or run.shift != before.shift or run.first > before.last:
            joined.append(run)
        elif run.last > before.last:
            joined[-1] = before._replace(last=run.last, after=run.after)
    return sorted(joined)


def _cut(run: LetterRun, low: int, high: int) -> Iterator[LetterRun]:
    """What of a run is before, in and behind the gold text."""
    bounds = [
        run.first,
        *(bound for bound in (low, high) if run.first < bound < run.last),
        run.last,
    ]
    yield from (run.part(first, last) for first, last in pairwise(bounds))
