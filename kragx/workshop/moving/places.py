"""A place where a gold text may be: a stretch of the new corpus's text, whatever its chunks are.

Where its first and its last letter stand follows from the runs in it and around it; which chunks
hold it, from where they begin and end.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kragx.data.tokens import Ints
from kragx.workshop.moving.letters import GRAM, letters
from kragx.workshop.moving.probes import GoldProbe
from kragx.workshop.moving.runs import PUT_IN, LetterRun, chain_of, without_overlaps
from kragx.workshop.moving.search import LEAST, Chunk, MoveSearch

AGAINST = 32
"""So many grams that stood once in the old corpus outweigh one end of a run at which the new one
goes on as the old one did elsewhere. Where a word of a template is another one, 16 grams are."""

FEWEST = 3
"""Grams that stand once; fewer may do so by accident."""

_LONG = 8  # letters of a run by whose ends other texts are told


class Stretch(NamedTuple):
    """Letters in a row that a gold text and a chunk share.

    Attributes:
        first, last: in the probe.
        begin, end: their characters in the chunk.
    """

    first: int
    last: int
    begin: int
    end: int


class Place:
    """A stretch of the new corpus that may be a gold text.

    Attributes:
        chunks: those that share letters with it, by their numbers.
        runs: in the order of both texts.
        equal: which of its letters are in a run.
        share: how many.
        begin, end: where it stands in the text of the corpus.
        weight: how many grams are there that stood once in the old corpus, less `AGAINST` for each
            end of a run at which the text goes on as the old one did elsewhere.
        is_held: all of it is there in one piece with some letters on both of its sides, and grams
            among them that stood once.
        has_own: letters of the text itself that stood once are there.
        is_framed: what stood on both of its sides stands there.
        is_known: letters of the text itself that stood once are there, or it is framed. One side
            alone may be the next document, behind the end of another one.
    """

    def __init__(
        self,
        probe: GoldProbe,
        meetings: Sequence[tuple[int, LetterRun]],
        holding: Mapping[int, bool],
        unique: Ints,
        search: MoveSearch,
    ) -> None:
        self.probe = probe
        self.holding = holding
        self.chunks: dict[int, Chunk] = {number: search.chunks[number] for number, _ in meetings}

        def is_own(run: LetterRun) -> bool:
            # How many grams that stand once in the old corpus lie in the run; of a sample each
            # stands for `step`.
            n = np.searchsorted(unique, run.last - GRAM + 1) - np.searchsorted(unique, run.first)
            return bool(search.step * n >= FEWEST)

        of_chunk: defaultdict[int, set[LetterRun]] = defaultdict(set)
        for number, run in meetings:
            of_chunk[number].add(run)
        runs = {run for stretches in of_chunk.values() for run in without_overlaps(stretches)}
        self.runs: list[LetterRun] = chain_of(runs, probe, is_own)
        low, high = max(0, probe.low - LEAST), min(len(probe.codes), probe.high + LEAST)
        self.is_held: bool = any(
            run.first <= low and run.last >= high and is_own(run) for run in self.runs
        )
        whole, is_there = np.zeros(len(probe.codes), bool), np.zeros(len(unique), bool)
        for run in self.runs:
            whole[run.first : run.last] = True
            if run.last - run.first >= GRAM:
                begin, end = np.searchsorted(unique, [run.first, run.last - GRAM + 1])
                is_there[begin:end] = True
        self.equal: NDArray[np.bool_] = whole[probe.low : probe.high]
        self.share: float = float(self.equal.mean())
        is_before, is_after = unique < probe.low, unique > probe.high - GRAM
        in_text = search.step * int(is_there[~is_before & ~is_after].sum())
        self.has_own: bool = in_text >= FEWEST
        ends = [
            letter
            for run in self.runs
            if run.last - run.first >= _LONG
            for letter, is_other in ((run.first, run.before), (run.last, run.after))
            # Where the text has letters of its own, another document may be beside its own now.
            if is_other and (probe.low < letter < probe.high or in_text < FEWEST)
        ]
        self.weight: int = search.step * int(is_there.sum()) - AGAINST * len(ends)
        self.is_framed: bool = self.weight >= FEWEST and all(
            not n_letters or search.step * is_there[side].sum() >= FEWEST
            for n_letters, side in (
                (probe.low, is_before),
                (len(probe.codes) - probe.high, is_after),
            )
        )
        self.is_known: bool = self.is_framed or (self.has_own and self.weight >= FEWEST)
        self.begin: int = self._at(probe.low, is_end=False)
        self.end: int = max(self.begin, self._at(probe.high, is_end=True))
        first_number, last_number = min(self.chunks), max(self.chunks)
        for number in holding:
            if first_number < number < last_number:  # nothing but edited words
                self.chunks[number] = search.chunks[number]
        best = max(self.chunks, key=self._n_equal)
        self.source: str | None = self.chunks[best].source
        first = next((c for c in self.chunks.values() if c.place <= self.begin < c.end), None)
        self.is_start: bool = (
            probe.start is not None
            and self.source == probe.source
            and bool(self.equal[0])
            and first is not None
            and first.start is not None
            and abs(first.start + characters(first, self.begin)[0] - probe.start) <= 1
        )

    def _at(self, letter: int, *, is_end: bool) -> int:
        """Where in the text of the corpus a gold text begins or ends, at a letter of the probe.

        A word that was put in there belongs to what is before it, a sentence to neither side.
        """
        position = bisect_left(self.runs, letter, key=lambda run: run.first)
        before = self.runs[position - 1] if position else None
        after = self.runs[position] if position < len(self.runs) else None
        if before is not None and letter < before.last:
            return before.shift + letter
        if before is None:
            assert after is not None
            first = min(chunk.place for chunk in self.chunks.values())
            return max(min(first, after.place), after.shift + letter)
        if after is None:
            last = max(chunk.end for chunk in self.chunks.values())
            return min(max(last, before.end), before.shift + letter)
        if after.shift - before.shift > PUT_IN:
            return (before if is_end else after).shift + letter
        beside = after.first == letter
        if beside or after.first - letter < letter - before.last > PUT_IN:
            return max(before.end, after.shift + letter)
        return min(after.place, before.shift + letter)

    def letter(self, place: int) -> int:
        """Which letter of the gold text a place of the corpus is."""
        position = bisect(self.runs, place, key=lambda run: run.place)
        if position == 0:
            letter = place - self.runs[0].shift
        else:
            run = self.runs[position - 1]
            letter = place - run.shift
            if letter > run.last:  # edited: of the words before, as far as they go
                after = self.runs[position].first if position < len(self.runs) else letter
                letter = min(letter, after)
        return min(max(letter, self.probe.low), self.probe.high) - self.probe.low

    def _n_equal(self, number: int) -> int:
        low, high = map(self.letter, self.inside(number))
        return int(self.equal[low:high].sum())

    def inside(self, number: int) -> tuple[int, int]:
        """What of it a chunk has, in the text of the corpus."""
        chunk = self.chunks[number]
        begin = max(self.begin, chunk.place)
        return begin, max(begin, min(self.end, chunk.end))

    def candidates(self) -> Iterator[tuple[int, float]]:
        """Its chunks, and the share of its letters that each has."""
        for number in self.chunks:
            if n_equal := self._n_equal(number):
                yield number, n_equal / len(self.equal)

    def stretches(self, number: int, low: int, high: int) -> list[Stretch]:
        """Where in a chunk its letters stand; all of a part of which none is as it was."""
        chunk, result = self.chunks[number], []
        for run in self.runs:
            first = max(run.place, chunk.place)
            last = min(run.end, chunk.end)
            if first < last and run.is_in(self.probe):
                begin, end = characters(chunk, first, last - 1)
                letter = first - run.shift
                result.append(Stretch(letter, letter + last - first, begin, end + 1))
        low, high = low + self.probe.low, high + self.probe.low
        if not any(run.last > low and run.first < high for run in result):
            first, last = self.inside(number)
            begin, end = characters(chunk, first, max(first, last - 1))
            result = sorted([*result, Stretch(low, max(high, low + 1), begin, end + 1)])
        return result


def characters(chunk: Chunk, *places: int) -> list[int]:
    """The characters of a chunk where some letters stand, by their place in the corpus."""
    of_chunk = letters([chunk.text or ""]).place
    last = len(of_chunk) - 1
    return [int(of_chunk[min(place - chunk.place, last)]) if last >= 0 else 0 for place in places]
