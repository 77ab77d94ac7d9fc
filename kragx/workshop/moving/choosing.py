"""Which of the places where a gold text's letters stand is its own, and what it is there.

A place is a stretch of the new corpus's text, whatever its chunks are: where its first and its last
letter stand follows from the runs in it and around it; which chunks hold it, from where they begin
and end.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kragx.data.tokens import Ints
from kragx.printing import phrase
from kragx.workshop.moving.letters import GRAM, letters
from kragx.workshop.moving.probes import Probe
from kragx.workshop.moving.search import LEAST, Chunk, Meeting, Search

Mask = NDArray[np.bool_]

Verdict = Literal["same", "moved", "merged", "split", "lost", "unsure"]

THERE = 0.75
"""The least share of a gold text's letters by which a place is one of it."""

MUCH = 0.5
"""The same between what stood on both of its sides."""

GONE = 0.3
"""Below this share of them nothing of it is left that a person should look at."""

SLIVER = 0.05
"""A part of a smaller share is left out of the and: nobody would retrieve a chunk for it."""

LARGER = 1.25
"""A chunk so many times as large as the gold text's own was is a larger one."""

AGAINST = 32
"""So many grams that stood once in the old corpus outweigh one end of a run at which the new one
goes on as the old one did elsewhere. Where a word of a template is another one, 16 grams are."""

_FEWEST = 3  # grams that stand once; fewer may do so by accident
_SAME = 0.97
_LONG = 8  # letters of a run by whose ends other texts are told
_PUT_IN = 16  # letters of a word; more is a sentence of its own
_JUMP = 32  # letters that what follows must have more than, to be of the text as well


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


@dataclass
class Piece:
    """A part of a gold text, and the chunks that hold it, the first of them before the others.

    Attributes:
        chunks: their numbers; any of them serves.
        runs: where in the first its letters stand.
        low, high: the part, in the letters of the gold text.
        share: of its letters.
    """

    chunks: list[int]
    runs: list[Stretch]
    low: int
    high: int
    share: float


@dataclass
class Choice:
    """What became of a gold text.

    Attributes:
        verdict: in a word.
        pieces: where it is; one if it is whole.
        equal: which of its letters are there as they were.
        reason: why it is not known, or lost.
        candidates: the chunks where it may be, with the share of its letters that each has.
    """

    verdict: Verdict
    pieces: list[Piece] = field(default_factory=list)
    equal: Mask = field(default_factory=lambda: np.empty(0, bool))
    reason: str = ""
    candidates: list[tuple[int, float]] = field(default_factory=list)


class _Run(NamedTuple):
    """Letters in a row that a probe and the text of the new corpus share.

    Attributes:
        first, last: in the probe.
        place: where in the text of the corpus its first letter is.
        before, after: whether at that end the text goes on as the old corpus did elsewhere.
    """

    first: int
    last: int
    place: int
    before: bool
    after: bool

    @property
    def shift(self) -> int:
        """Where in the text of the corpus the probe would begin."""
        return self.place - self.first

    @property
    def end(self) -> int:
        """Where in it the letter behind the last one is."""
        return self.shift + self.last

    def part(self, first: int, last: int) -> _Run:
        """Some of its letters."""
        before, after = self.before and first == self.first, self.after and last == self.last
        return _Run(first, last, first + self.shift, before, after)

    def is_in(self, probe: Probe) -> bool:
        """Whether some of them are of the gold text itself."""
        return self.last > probe.low and self.first < probe.high


class _Place:
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
        probe: Probe,
        meetings: Sequence[tuple[int, _Run]],
        holding: Mapping[int, bool],
        unique: Ints,
        search: Search,
    ) -> None:
        self.probe = probe
        self.holding = holding
        self.chunks = {number: search.chunks[number] for number, _ in meetings}

        def is_own(run: _Run) -> bool:
            n = np.searchsorted(unique, run.last - GRAM + 1) - np.searchsorted(unique, run.first)
            return bool(search.step * n >= _FEWEST)

        of_chunk: defaultdict[int, set[_Run]] = defaultdict(set)
        for number, run in meetings:
            of_chunk[number].add(run)
        runs = {run for stretches in of_chunk.values() for run in _apart(stretches)}
        self.runs = _chain(runs, probe, is_own)
        low, high = max(0, probe.low - LEAST), min(len(probe.codes), probe.high + LEAST)
        self.is_held = any(
            run.first <= low and run.last >= high and is_own(run) for run in self.runs
        )
        whole, is_there = np.zeros(len(probe.codes), bool), np.zeros(len(unique), bool)
        for run in self.runs:
            whole[run.first : run.last] = True
            if run.last - run.first >= GRAM:
                begin, end = np.searchsorted(unique, [run.first, run.last - GRAM + 1])
                is_there[begin:end] = True
        self.equal = whole[probe.low : probe.high]
        self.share = float(self.equal.mean())
        left, right = unique < probe.low, unique > probe.high - GRAM
        in_text = search.step * int(is_there[~left & ~right].sum())
        self.has_own = in_text >= _FEWEST
        ends = [
            letter
            for run in self.runs
            if run.last - run.first >= _LONG
            for letter, is_other in ((run.first, run.before), (run.last, run.after))
            # Where the text has letters of its own, another document may be beside its own now.
            if is_other and (probe.low < letter < probe.high or in_text < _FEWEST)
        ]
        self.weight = search.step * int(is_there.sum()) - AGAINST * len(ends)
        self.is_framed = self.weight >= _FEWEST and all(
            not n_letters or search.step * is_there[side].sum() >= _FEWEST
            for n_letters, side in ((probe.low, left), (len(probe.codes) - probe.high, right))
        )
        self.is_known = self.is_framed or (self.has_own and self.weight >= _FEWEST)
        self.begin = self._at(probe.low, is_end=False)
        self.end = max(self.begin, self._at(probe.high, is_end=True))
        first_number, last_number = min(self.chunks), max(self.chunks)
        for number in holding:
            if first_number < number < last_number:  # nothing but edited words
                self.chunks[number] = search.chunks[number]
        best = max(self.chunks, key=self._n_equal)
        self.source = self.chunks[best].source
        first = next((c for c in self.chunks.values() if c.place <= self.begin < c.end), None)
        self.is_start = (
            probe.start is not None
            and self.source == probe.source
            and bool(self.equal[0])
            and first is not None
            and first.start is not None
            and abs(first.start + _characters(first, self.begin)[0] - probe.start) <= 1
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
        if after.shift - before.shift > _PUT_IN:
            return (before if is_end else after).shift + letter
        beside = after.first == letter
        if beside or after.first - letter < letter - before.last > _PUT_IN:
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
            if first < last and run.first < self.probe.high and run.last > self.probe.low:
                begin, end = _characters(chunk, first, last - 1)
                letter = first - run.shift
                result.append(Stretch(letter, letter + last - first, begin, end + 1))
        low, high = low + self.probe.low, high + self.probe.low
        if not any(run.last > low and run.first < high for run in result):
            first, last = self.inside(number)
            begin, end = _characters(chunk, first, max(first, last - 1))
            result = sorted([*result, Stretch(low, max(high, low + 1), begin, end + 1)])
        return result


def _characters(chunk: Chunk, *places: int) -> list[int]:
    """The characters of a chunk where some letters stand, by their place in the corpus."""
    of_chunk = letters([chunk.text or ""]).place
    last = len(of_chunk) - 1
    return [int(of_chunk[min(place - chunk.place, last)]) if last >= 0 else 0 for place in places]


def _chain(runs: Collection[_Run], probe: Probe, is_own: Callable[[_Run], bool]) -> list[_Run]:
    """Runs in the order of both texts: those of the most letters, for the least put in between.

    Letters put into the gold text cost as many, between runs that are its own `_JUMP` at the most.
    Text that stands in many places, as a banner does, counts only beside what is there.
    """
    parts = sorted(part for run in _joined(runs) for part in _cut(run, probe.low, probe.high))
    own = [is_own(part) for part in parts]
    chains: list[tuple[float, int, int]] = []  # its worth, the part before, from which letter on
    for at, part in enumerate(parts):
        # What may as well be of what is around the text is that.
        penalty = 0.5 if part.is_in(probe) and not own[at] else 0.0
        best = (part.last - part.first - penalty, -1, part.first)
        for number in range(at):
            before = parts[number]
            first = max(part.first, before.last, before.end - part.shift)
            if part.last - first < min(2, part.last - part.first):
                continue
            away = abs(part.shift - before.shift)
            if not probe.low < first < probe.high:
                cost = 0.0
            elif away <= _PUT_IN:
                cost = away / _PUT_IN
            else:
                cost = min(away, _JUMP) if own[at] and own[number] else away
            best = max(
                best, (chains[number][0] + part.last - first - penalty - cost, number, first)
            )
        chains.append(best)
    at = max(range(len(parts)), key=lambda number: chains[number][0], default=-1)
    chain: list[tuple[_Run, bool]] = []
    while at >= 0:
        _, before_it, first = chains[at]
        part = parts[at]
        chain.insert(0, (part.part(first, part.last), own[at]))
        at = before_it
    kept = [
        run
        for at, (run, is_its_own) in enumerate(chain)
        if is_its_own
        or any(
            abs(run.shift - other.shift) <= _PUT_IN
            for other, _ in [*chain[max(0, at - 1) : at], *chain[at + 1 : at + 2]]
        )
    ]
    return _joined(kept or [run for run, _ in chain][:1])


def _apart(runs: Collection[_Run]) -> Iterator[_Run]:
    """The runs of a chunk, each without the letters that are in a longer one.

    A chunk is of one document: where the next one begins as the gold text ends, the letters there
    are those of what is behind it.
    """
    runs_kept: list[_Run] = []
    for run in sorted(runs, key=lambda run: (run.first - run.last, run)):
        begin, end = run.place, run.end
        for other in runs_kept:
            if other.last - other.first == run.last - run.first:
                continue
            if other.place <= begin:
                begin = max(begin, other.end)
            else:
                end = min(end, other.place)
        if end - begin >= min(2, run.last - run.first):
            runs_kept.append(run.part(begin - run.shift, end - run.shift))
    yield from runs_kept


def _joined(runs: Collection[_Run]) -> list[_Run]:
    """Runs that follow on one another as one, as those of chunks that overlap or are neighbours."""
    joined: list[_Run] = []
    for run in sorted(set(runs), key=lambda run: (run.shift, run)):
        before = joined[-1] if joined else None
        if before is None or run.shift != before.shift or run.first > before.last:
            joined.append(run)
        elif run.last > before.last:
            joined[-1] = before._replace(last=run.last, after=run.after)
    return sorted(joined)


def _cut(run: _Run, low: int, high: int) -> Iterator[_Run]:
    """What of a run is before, in and behind the gold text."""
    bounds = [
        run.first,
        *(bound for bound in (low, high) if run.first < bound < run.last),
        run.last,
    ]
    yield from (run.part(first, last) for first, last in pairwise(bounds))


def choose(  # noqa: PLR0911  # a line for each reason
    number: int, probes: Sequence[Probe], search: Search
) -> Choice:
    """What became of a gold text."""
    probe, unique = probes[number], search.unique[number]
    if probe.low == probe.high:
        return Choice("unsure", reason=phrase("its text has no letters"))
    meetings = search.meetings[number]
    if not any(meeting.runs for meeting in meetings):
        if number in search.crowded:
            return _unsure([], phrase("its text stands in very many chunks"))
        if len(probe.codes) < GRAM:
            return Choice("unsure", reason=phrase("its text is too short to be looked for"))
        return Choice("lost", reason=phrase("no chunk has its text"))
    # Text that is common has few letters of its own.
    n_in_text = max(0, probe.high - GRAM + 1 - probe.low) / search.step
    is_in_text = (unique >= probe.low) & (unique <= probe.high - GRAM)
    is_common = is_in_text.sum() < n_in_text / 2
    holding: dict[int, bool] = {}
    for meeting in sorted(meetings, key=lambda meeting: meeting.chunk):
        holding[meeting.chunk] = meeting.is_gold or holding.get(meeting.chunk, False)
    places = [
        place
        for group in _groups(probe, meetings, search)
        if (place := _Place(probe, group, holding, unique, search)).equal.any()
    ]
    places.sort(key=lambda place: (-place.weight, -place.share))
    there = [place for place in places if place.share >= (MUCH if place.is_framed else THERE)]
    if not there:
        return _in_parts(places, is_common=is_common)
    if number in search.crowded:
        return _unsure(there, phrase("its text stands in very many chunks"))
    chosen, reason = _own(probe, there, len(unique), is_common)
    if not chosen:
        return _unsure(there, reason)
    choice = _whole_or_parts(chosen[0])
    for place in chosen[1:]:  # the same text again: any of them serves
        more = _whole_or_parts(place)
        if len(choice.pieces) == len(more.pieces) == 1:
            choice.pieces[0].chunks += more.pieces[0].chunks
        elif len(more.pieces) == 1:
            choice = more
    return choice


def _groups(
    probe: Probe, meetings: Sequence[Meeting], search: Search
) -> Iterator[list[tuple[int, _Run]]]:
    """Runs with their chunks, of those where the gold text would begin at one place."""
    runs = sorted(
        (search.chunks[meeting.chunk].place + run.other - run.first, meeting.chunk, run)
        for meeting in meetings
        for run in meeting.runs
    )
    slack = max(64, (probe.high - probe.low) // 2)
    group: list[tuple[int, _Run]] = []
    before = runs[0][0]
    for begin, chunk, run in runs:
        if begin - before > slack:
            yield group
            group = []
        first, last, _, *ends = run
        group.append((chunk, _Run(first, last, begin + first, *ends)))
        before = begin
    yield group


def _own(  # noqa: PLR0911  # a line for each reason
    probe: Probe, there: list[_Place], n_unique: int, is_common: bool
) -> tuple[list[_Place], str]:
    """The place that is the gold text's own, or several that serve alike; else why not."""
    exact = [place for place in there if place.is_start and place.share >= _SAME]
    if len(exact) == 1:
        return exact, ""
    if probe.source is not None:
        from_source = [place for place in there if place.source == probe.source]
        if len(from_source) == 1 and (len(there) > 1 or is_common):
            return from_source, ""
        there = from_source or there
        other = bool(there) and not from_source and there[0].source is not None
        if other and is_common:
            return [], phrase("its text is common, and no chunk of its source has it")
    best = max(there, key=lambda place: (place.is_known, place.weight))
    if not best.is_known:
        if len(there) == 1 and n_unique < _FEWEST and not is_common and best.weight >= 0:
            return there, ""
        if len(there) == 1:
            return [], phrase("a text like it stood elsewhere as well, and this may be that one")
        return [], phrase(
            "its text stands in {n} places, and nothing around it tells which", n=len(there)
        )
    alike = [place for place in there if place.weight > 0.9 * best.weight]
    if not best.has_own and _is_beside_itself(probe):
        alike = [place for place in alike if place.is_held]
        if not alike:
            return [], phrase("a text like it stood elsewhere as well, and this may be that one")
    near = [place for place in there if place.weight > 0.5 * best.weight]
    if len(near) > len(alike) or any(abs(place.share - best.share) > 1 - _SAME for place in alike):
        return [], phrase("its text stands in {n} places that are much alike", n=len(there))
    return alike, ""


def _is_beside_itself(probe: Probe) -> bool:
    """Whether what is around a text has some of it again, as of two banners in a row."""
    left, own, right = (part.tobytes() for part in np.split(probe.codes, [probe.low, probe.high]))
    size = 4 * min(GRAM, probe.high - probe.low)
    return any(
        own[start : start + size] in around
        for start in range(0, len(own) - size + 1, 4)
        for around in (left, right)
    )


def _unsure(places: Sequence[_Place], reason: str) -> Choice:
    """Not known: with the chunks where it may be, those with most of it first."""
    shares: dict[int, float] = {}
    for place in places:
        for number, share in place.candidates():
            shares[number] = max(shares.get(number, 0.0), share)
    ranked = sorted(shares.items(), key=lambda entry: -entry[1])
    return Choice("unsure", reason=reason, candidates=ranked[:10])


def _in_parts(places: list[_Place], *, is_common: bool) -> Choice:
    """A gold text of which no place has enough, but several together may."""
    if not places:
        return Choice("lost", reason=phrase("no chunk has its text"))
    covered = np.sum([place.equal for place in places], axis=0)
    share = float((covered > 0).mean())
    if share < THERE:
        choice = _unsure(places, phrase("{share:.0%} of its letters are left", share=share))
        choice.verdict = "lost" if share < GONE else choice.verdict
        return choice
    places = [place for place in places if place.is_known]
    is_known = np.any([place.equal for place in places], axis=0)
    if is_common or (covered > 1).mean() > 0.1 or is_known.mean() < THERE:
        return _unsure(places, phrase("its parts stand in several places"))
    pieces = []
    for place in places:
        low, high = place.probe.low, place.probe.high
        runs = [run for run in place.runs if run.last > low and run.first < high]
        place.begin, place.end = max(place.begin, runs[0].place), min(place.end, runs[-1].end)
        pieces += _pieces(place)
    return _choice_of(pieces, covered > 0)


def _whole_or_parts(place: _Place) -> Choice:
    """Where a gold text is, at a place that is its own."""
    wholes = [
        number
        for number, chunk in place.chunks.items()
        if place.inside(number) == (place.begin, place.end) and place.holding[number] and chunk.text
    ]
    high = len(place.equal)
    if wholes:
        # The chunk that holds least besides comes first.
        wholes.sort(key=lambda number: (place.chunks[number].size, number))
        pieces = [Piece(wholes, place.stretches(wholes[0], 0, high), 0, high, 1.0)]
    else:
        pieces = _pieces(place)
        doubtful = [piece for piece in pieces if _may_be_beside(place, piece)]
        if any(piece.share >= SLIVER * high for piece in doubtful):
            return _unsure([place], phrase("of what was edited at its end nobody knows the chunk"))
        pieces = [piece for piece in pieces if piece not in doubtful]
    if len(pieces) > 1:
        return _choice_of(pieces, place.equal)
    (piece,) = pieces
    piece.low, piece.high, piece.share = 0, high, 1.0
    larger = place.chunks[piece.chunks[0]].size > LARGER * max(place.probe.size, 1)
    return Choice("merged" if larger else "moved", pieces, place.equal)


def _choice_of(pieces: list[Piece], equal: Mask) -> Choice:
    total = sum(piece.share for piece in pieces)
    for piece in pieces:
        piece.share /= total
    return Choice("split", pieces, equal)


def _pieces(place: _Place) -> list[Piece]:
    """The parts of a gold text, each in the chunk that has most of what is left."""
    inside = {
        number: place.inside(number)
        for number, chunk in place.chunks.items()
        if place.holding[number] and chunk.text
    }
    pieces: list[Piece] = []
    begin = place.begin
    while begin < place.end:
        holding = [number for number, (first, last) in inside.items() if first <= begin < last]
        if not holding:  # in no chunk
            begin = min(
                (first for first, last in inside.values() if first > begin and last > first),
                default=place.end,
            )
            continue
        best = max(holding, key=lambda number: (inside[number][1], -number))
        end = inside[best][1]
        chunks = [number for number in holding if number != best and inside[number][1] >= end]
        low, high = place.letter(begin), place.letter(end)
        stretches = place.stretches(best, low, high)
        share = max(high - low, 1)
        pieces.append(Piece([best, *chunks], stretches, low, high, share))
        begin = end
    # Of a letter or two that were edited nobody knows on which side of a chunk's end they are.
    n_few = max(2, 0.02 * len(place.equal))
    return [
        piece
        for piece in pieces
        if piece.share > n_few or place.equal[piece.low : piece.high].any()
    ] or pieces


def _may_be_beside(place: _Place, piece: Piece) -> bool:
    """Whether a part, of which no letter is as it was, may as well be what stood beside the text.

    It is of the text where what stood beside it is there to its last letter.
    """
    low, high = place.probe.low, place.probe.high
    return not place.equal[piece.low : piece.high].any() and (
        (piece.low == 0 and all(run.last != low for run in place.runs))
        or (piece.high == high - low and all(run.first != high for run in place.runs))
    )


__all__ = ["Choice", "Chunk", "Piece", "Stretch", "Verdict", "choose"]
