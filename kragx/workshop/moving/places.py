"""A place where a gold text may be: a stretch of the new corpus's text, whatever its chunks are.

The letters of the gold text, and of what stood around it, are laid beside the corpus. Where its
first and its last one stand follows from those that are as they were; which chunks hold it, from
where they begin and end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kragx.data import Doc
from kragx.data.lists import Bools, Ints
from kragx.workshop.folder.places import origin_of
from kragx.workshop.moving.letters import GRAM, Block, Codes, as_text, letters

AGAINST = 32
"""So many grams that stood once in the old corpus outweigh one end of a run at which the new one
goes on as the old one did elsewhere. Where a word of a template is another one, 16 grams are."""

FEWEST = 3
"""Grams that stand once; fewer may do so by accident."""

_LEAST = 5  # letters in a row that count as the same beside longer ones
_PUT_IN = 16  # letters of a word; more is a sentence of its own
_FEW = 3  # letters of one more chunk that a run has by accident
_SHORT = 64  # letters of an edit in which single words are compared
_LONG = 8  # letters of a run by whose ends other texts are told


@dataclass(slots=True)
class GoldProbe:
    """A gold text that is looked for.

    Attributes:
        doc: the gold item, or one of its alternatives, as the gold set has it.
        codes: the letters of its text, and of what stands around it.
        low, high: where its own begin and end in `codes`.
        text: its text, that of the chunk if it is named by its id alone; None if nobody knows it.
        apart: its text is not in its chunk, as an answer in somebody's own words; so the chunk is
            looked for.
        size: the letters of its chunk, of its text where that is not known.
        begin: where in its chunk its text begins, in characters.
        source, start: of its text, where metadata say so.
        chunk: the content of its chunk, to know it again; None where the old corpus has none.
        unique: its letters from which on a gram stands once in the old corpus.
        step: 1, or 8 where of the old corpus an eighth of the grams is known.
    """

    doc: Doc
    codes: Codes = field(default_factory=lambda: np.empty(0, np.uint32))
    low: int = 0
    high: int = 0
    text: str | None = None
    apart: bool = False
    size: int = 0
    begin: int = 0
    source: str | None = None
    start: int | None = None
    chunk: bytes | None = None
    unique: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    step: int = 1

    def is_own(self, first: int, last: int) -> bool:
        """Whether letters, from one to another, are hardly those of another text."""
        low, high = np.searchsorted(self.unique, [first, last - GRAM + 1])
        return bool(self.step * (high - low) >= FEWEST)


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


def align(probe: GoldProbe, block: Block, stretch: range, shifts: range) -> Ints:
    """Where in a block each letter of a gold text is, and of what stood around it.

    -1 for a letter that is not there. Text that stands in many places, as a banner does, counts
    only beside what is there.

    Args:
        probe: the gold text.
        block: the part of the corpus.
        stretch: from its first letter to its last one, where they would be.
        shifts: the letters of the block where it may begin.
    """
    equal = [*_equal_runs(probe, block, stretch, shifts)]
    runs = [
        LetterRun(first, last, run.shift + first)
        for run in equal
        if run.last - run.first >= _LEAST
        for first, last in pairwise(
            [run.first, *(n for n in (probe.low, probe.high) if run.first < n < run.last), run.last]
        )
    ]
    beside = [
        run
        for place, run in enumerate(runs)
        if probe.is_own(run.first, run.last)
        or any(
            abs(run.shift - neighbour.shift) <= _PUT_IN
            for neighbour in [*runs[max(0, place - 1) : place], *runs[place + 1 : place + 2]]
        )
    ] or runs[:1]
    positions = _positions([*beside, *_short_runs(beside, equal, probe)], len(probe.codes))
    _hug(positions, beside, probe, block.stream)
    return positions


def _equal_runs(
    probe: GoldProbe, block: Block, stretch: range, shifts: range
) -> Iterator[LetterRun]:
    """What of a probe and of a stretch of a block is the same, for the fewest letters edited."""
    from rapidfuzz.distance import Levenshtein

    # As much is left out of the probe as the block lacks of the stretch: else that would have to
    # go somewhere.
    first, begin = max(0, -stretch.start), max(0, stretch.start)
    last = len(probe.codes) - max(0, stretch.stop - len(block.stream))
    codes, there = as_text(probe.codes[first:last]), as_text(block.stream[begin : stretch.stop])
    for op in Levenshtein.opcodes(codes, there):
        run = LetterRun(first + op.src_start, first + op.src_end, begin + op.dest_start)
        if op.tag == "equal" and run.shift in shifts:
            yield _trimmed(run, len(probe.codes), block)


def _trimmed(run: LetterRun, n: int, block: Block) -> LetterRun:
    """A run without the few letters that it has of one more chunk, at which it ends by accident."""
    low, high = np.searchsorted(block.row, [run.place + 1, run.end]).tolist()
    if low == high:  # it is in one chunk
        return run
    head, tail = int(block.row[low]) - run.place, run.end - int(block.row[high - 1])
    first = run.first + (head if run.first > 0 and head < _FEW else 0)
    last = run.last - (tail if run.last < n and tail < _FEW else 0)
    return LetterRun(first, max(first, last), run.shift + first)


def _short_runs(
    runs: Sequence[LetterRun], equal: Sequence[LetterRun], probe: GoldProbe
) -> Iterator[LetterRun]:
    """Single words in what was edited between two runs of the text, if they are half of it.

    At the text's ends they may be those of what is beside it.
    """
    for before, after in pairwise(runs):
        shortest, longest = sorted((after.first - before.last, after.place - before.end))
        between = [
            run
            for run in equal
            if before.last <= run.first and run.last <= after.first and run.last - run.first > 1
        ]
        is_inside = probe.low <= before.last and after.first <= probe.high
        n_letters = sum(run.last - run.first for run in between)
        if is_inside and longest <= _SHORT and 2 * n_letters >= shortest:
            yield from between


def _hug(positions: Ints, runs: list[LetterRun], probe: GoldProbe, stream: Codes) -> None:
    """Lay an end of a text beside the rest: a few letters, or what over a jump is not its own.

    As many letters are put in between wherever they are: of a banner with which one document ends
    and the next one begins, the alignment takes either.
    """
    low, high = probe.low, probe.high
    for before, after in pairwise(run for run in runs if run.last > low and run.first < high):
        is_jump = abs(after.shift - before.shift) > _PUT_IN
        if before.last - low < _LEAST or (is_jump and not probe.is_own(low, before.last)):
            ends, shift = slice(low, after.first), after.shift
        elif high - after.first < _LEAST or (is_jump and not probe.is_own(after.first, high)):
            ends, shift = slice(before.last, high), before.shift
        else:
            continue
        places = np.arange(ends.start, ends.stop) + shift
        is_equal = stream[np.clip(places, 0, len(stream) - 1)] == probe.codes[ends]
        if is_equal.all():
            positions[ends] = places
        elif is_jump:
            laid = [*runs_of(np.where(is_equal, places, -1))]
            long = [run for run in laid if run.last - run.first >= _LEAST]
            positions[ends] = _positions(long, len(places))


def runs_of(positions: Ints) -> Iterator[LetterRun]:
    """The runs of letters that follow on one another in a corpus as well."""
    # Of what is not there each letter is a run of its own, and none that is yielded.
    shifts = np.where(positions < 0, -len(positions) - 1, 0) + positions - np.arange(len(positions))
    cuts = np.flatnonzero(np.diff(shifts, prepend=np.inf, append=np.inf)).tolist()
    for first, last in pairwise(cuts):
        if positions[first] >= 0:
            yield LetterRun(first, last, int(positions[first]))


def _positions(runs: Sequence[LetterRun], n: int) -> Ints:
    positions = np.full(n, -1, np.int64)
    for run in runs:
        positions[run.first : run.last] = np.arange(run.place, run.end)
    return positions


class Chunk(NamedTuple):
    """A chunk in which gold may stand.

    Attributes:
        number: which of the corpus it is.
        id, text: its id and its text.
        place, end: where it begins and ends in the corpus, in letters.
        source, start: of its text, where metadata say so.
    """

    number: int
    id: str
    text: str
    place: int
    end: int
    source: str | None
    start: int | None

    def characters(self, *places: int) -> list[int]:
        """Its characters where some letters stand, by their places in the corpus."""
        positions = letters([self.text]).place
        return [int(positions[min(place - self.place, len(positions) - 1)]) for place in places]


class Place:
    """A stretch of the new corpus that may be a gold text.

    Args:
        probe: the gold text.
        positions: where in the block each letter of the probe is.
        block: the part of the corpus.
        is_old: at which letters of it what is before and behind stood together in the old corpus.

    Attributes:
        chunks: those that hold some of it.
        begin, end: where it stands in the text of the corpus.
        share: how many of its letters are there as they were.
        weight: how many grams are there that stood once in the old corpus, less `AGAINST` for each
            end of a run at which the text goes on as the old one did elsewhere.
        has_own: letters of the text itself that stood once are there.
        is_framed: what stood on both of its sides stands there.
        is_known: letters of the text itself that stood once are there, or it is framed. One side
            alone may be the next document, behind the end of another one.
        source: of the chunk that has most of it.
        is_start: it begins at the very character of its source that the gold text begins at.
        beside: whether what stood right before it is there to its last letter, and right behind it.
    """

    def __init__(self, probe: GoldProbe, positions: Ints, block: Block, is_old: Bools) -> None:
        self.probe = probe
        self._weigh(positions, block, is_old)
        self._locate(positions, block)

    def _weigh(self, positions: Ints, block: Block, is_old: Bools) -> None:
        """Say what speaks for it being the text's own place, and not that of one like it."""
        probe, n = self.probe, len(positions)
        low, high, runs = probe.low, probe.high, [*runs_of(positions)]
        in_runs = [
            probe.unique[(probe.unique >= run.first) & (probe.unique <= run.last - GRAM)]
            for run in runs
        ]
        there = np.concatenate([probe.unique[:0], *in_runs])
        n_before, n_behind = int((there < low).sum()), int((there > high - GRAM).sum())
        in_text = len(there) - n_before - n_behind
        self.has_own: bool = probe.step * in_text >= FEWEST
        n_against = sum(
            # Where the text has letters of its own, another document may be beside its own now.
            low < letter < high or not self.has_own
            for run in runs
            if run.last - run.first >= _LONG
            for letter in _ends(run, probe, block, is_old)
        )
        self.weight: int = probe.step * len(there) - AGAINST * n_against
        self.is_framed: bool = (
            self.weight >= FEWEST
            and (not low or probe.step * n_before >= FEWEST)
            and (high == n or probe.step * n_behind >= FEWEST)
        )
        self.is_known: bool = self.is_framed or (self.has_own and self.weight >= FEWEST)

    def _locate(self, positions: Ints, block: Block) -> None:
        """Say where it begins and ends, and which chunks hold it."""
        low, high, probe = self.probe.low, self.probe.high, self.probe
        there = positions[positions >= 0]
        rows = block.rows(int(there[0]), int(there[-1]) + 1)
        bounds = int(block.row[rows[0]]), int(block.end[rows[-1]])
        begin = _place_of(low, positions, bounds, is_end=False)
        end = max(begin, _place_of(high, positions, bounds, is_end=True))
        self.begin: int = block.begin + begin
        self.end: int = block.begin + end
        is_before, is_behind = low and positions[low - 1] >= 0, positions[high : high + 1] >= 0
        self.beside: tuple[bool, bool] = bool(is_before), bool(is_behind.any())
        # Many places are held at once: runs take less than positions do.
        self._runs = [
            run._replace(place=block.begin + run.place) for run in runs_of(positions[low:high])
        ]
        self.share: float = float(self.equal.mean())
        self.chunks: list[Chunk] = [_chunk(block, row) for row in block.rows(begin, end)]
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
        return _positions(self._runs, self.probe.high - self.probe.low)

    @property
    def equal(self) -> Bools:
        """Which of its letters are there as they were."""
        return np.asarray(self.positions >= 0)

    def n_equal(self, chunk: Chunk) -> int:
        """How many of its letters a chunk has as they were."""
        positions = self.positions
        return int(((positions >= chunk.place) & (positions < chunk.end)).sum())

    def letters(self, *places: int) -> Iterator[int]:
        """Which letters of the gold text stand at places of the corpus.

        Of edited letters those that were there, as far as they go.
        """
        letters = np.concatenate(([-1], np.flatnonzero(self.equal), [len(self.equal)]))
        positions = np.concatenate(([self.begin - 1], self.positions[self.equal], [self.end]))
        for place in places:
            before = int(np.searchsorted(positions, place, side="right")) - 1
            letter = int(letters[before] + place - positions[before])
            yield min(letter, int(letters[min(before + 1, len(letters) - 1)]))

    def narrow(self) -> None:
        """Leave out what is edited at its ends."""
        self.begin, self.end = self._runs[0].place, self._runs[-1].end


def _chunk(block: Block, row: int) -> Chunk:
    doc, first = block.docs[row], block.begin
    return Chunk(
        block.first + row,
        str(doc.id),
        doc.text or "",
        first + int(block.row[row]),
        first + int(block.end[row]),
        *origin_of(doc),
    )


def _ends(run: LetterRun, probe: GoldProbe, block: Block, is_old: Bools) -> Iterator[int]:
    """The ends of a run at which the corpus goes on as the old one did elsewhere."""
    stream, codes = block.stream, probe.codes
    if run.first and run.place and stream[run.place - 1] != codes[run.first - 1]:
        yield from [run.first] if is_old[run.place] else []
    if run.last < len(codes) and run.end < len(stream) and stream[run.end] != codes[run.last]:
        yield from [run.last] if is_old[run.end] else []


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
    number = int(np.searchsorted(equal, letter))
    # The letter behind the last one before it that is there, and the first one from it on; where
    # these are; and where the letter would be if it followed on the one, or went before the other.
    before = int(equal[number - 1]) + 1 if number else 0
    after = int(equal[number]) if number < len(equal) else 0
    begin, end = int(positions[before - 1]) + 1, int(positions[after])
    behind, ahead = begin + letter - before, end - after + letter
    if not number:
        return max(min(bounds[0], end), ahead)
    if number == len(equal):
        return min(max(bounds[1], begin), behind)
    if before == after and begin == end:
        return end
    if ahead - behind > _PUT_IN:
        return behind if is_end else ahead
    if after == letter or after - letter < letter - before > _PUT_IN:
        return max(begin, ahead)
    return min(end, behind)
