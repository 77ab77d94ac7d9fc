"""Which of the places where a gold text's letters stand is its own, and what it is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kragx.data.tokens import Ints
from kragx.workshop.moving.letters import GRAM, letters
from kragx.workshop.moving.probes import Probe
from kragx.workshop.moving.search import Chunk, Meeting, Run, Search

Mask = NDArray[np.bool_]

Verdict = Literal["same", "moved", "merged", "split", "lost", "unsure"]

THERE = 0.75
"""The least share of a gold text's letters by which a place is one of it."""

MUCH = 0.5
"""The same where what stands around it is there as well."""

GONE = 0.3
"""Below this share of them nothing of it is left that a person should look at."""

OWN = 0.5
"""The least share of what stands once in the old corpus, the text or what is around it."""

LARGER = 1.25
"""A chunk so many times as large as the gold text's own was is a larger one."""

_FEWEST = 3  # grams that stand once; fewer may do so by accident
_SAME = 0.97
_FEW = 12


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
    runs: list[Run]
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


class _Place:
    """Chunks that hold a gold text together, as neighbours in the corpus do."""

    def __init__(
        self,
        probe: Probe,
        group: Mapping[int, set[Run]],
        unique: Ints,
        search: Search,
        *,
        is_common: bool,
    ) -> None:
        self.chunks = {number: search.chunks[number] for number in group}
        self.runs = {
            number: _chain(own, self.chunks[number].text or "") for number, own in group.items()
        }
        self.masks: dict[int, Mask] = {}
        whole = np.zeros(len(probe.codes), bool)
        for number, runs in self.runs.items():
            mask = np.zeros(len(probe.codes), bool)
            for run in runs:
                mask[run.first : run.last] = True
            whole |= mask
            self.masks[number] = mask[probe.low : probe.high]
        self.equal = whole[probe.low : probe.high]
        self.share = float(self.equal.mean())
        there = np.zeros(len(unique), bool)
        for runs in self.runs.values():
            for run in runs:  # as a whole: a number between the same words is another one
                if run.last - run.first >= GRAM:
                    begin, end = np.searchsorted(unique, [run.first, run.last - GRAM + 1])
                    there[begin:end] = True
        self.own = _own_share(there, unique, probe, is_common=is_common, share=self.share)
        best = max(self.masks, key=lambda number: int(self.masks[number].sum()))
        self.source = self.chunks[best].source
        self.is_start = (
            probe.start is not None
            and self.source == probe.source
            and any(
                run.first <= probe.low < run.last
                and (start := self.chunks[number].start) is not None
                and abs(start + run.begin - (run.first - probe.low) - probe.start) <= 1
                for number, runs in self.runs.items()
                for run in runs
                if run.first == probe.low
            )
        )


def _own_share(there: Mask, unique: Ints, probe: Probe, *, is_common: bool, share: float) -> float:
    """How much is there of what stands once in the old corpus: the text, or what is around it.

    Of a common text, as those of one template are, others may stand between the old neighbours: so
    its own letters tell, or, where none are, those on both of its sides.
    """

    def mean(of: Mask, fewest: int = _FEWEST) -> float:
        return float(of.mean()) if len(of) >= fewest else 0.0

    left, right = unique < probe.low, unique > probe.high - GRAM
    in_text = there[~left & ~right]
    if not is_common:  # what stands around it may be gone, or in no order
        return max(mean(there), mean(in_text))
    if len(in_text) >= _FEWEST:
        return mean(in_text)
    return mean(there) if share >= _SAME else min(mean(there[left], 1), mean(there[right], 1))


def _chain(runs: Collection[Run], text: str) -> list[Run]:
    """Runs in the order of both texts, the longest first to be taken; no letter is in two."""
    if len(runs) == 1:
        return [*runs]
    kept: list[Run] = []
    for run in sorted(runs, key=lambda run: (run.first - run.last, run.first)):
        first, last, shift = run.first, run.last, run.other - run.first
        for other in kept:
            if first < other.first:
                last = min(last, other.first, other.other - shift)
            else:
                first = max(first, other.last, other.other + other.last - other.first - shift)
        if last - first == run.last - run.first:
            kept.append(run)
        elif last - first > 1:
            begin, end = run.begin, run.end
            if len(places := letters([text[begin:end]]).place) == run.last - run.first:
                end = begin + int(places[last - 1 - run.first]) + 1
                begin += int(places[first - run.first])
            kept.append(Run(first, last, first + shift, begin, end))
    return sorted(kept)


def choose(  # noqa: PLR0911  # a line for each reason
    number: int, probes: Sequence[Probe], search: Search
) -> Choice:
    """What became of a gold text."""
    probe, unique = probes[number], search.unique[number]
    if probe.low == probe.high:
        return Choice("unsure", reason="its text has no letters")
    meetings = search.meetings[number]
    if not meetings:
        if len(probe.codes) < GRAM:
            return Choice("unsure", reason="its text is too short to be looked for")
        return Choice("lost", reason="no chunk has its text")
    # Text that is common has few letters of its own.
    in_text = unique[(unique >= probe.low) & (unique <= probe.high - GRAM)]
    n_in_text = (probe.high - probe.low) * search.n_sampled[number] / max(1, len(probe.codes))
    is_common = len(in_text) < n_in_text / 2
    places = [
        place
        for group in _groups(probe, meetings, search)
        if (place := _Place(probe, group, unique, search, is_common=is_common)).equal.any()
    ]
    places.sort(key=lambda place: (-place.own, -place.share))
    there = [place for place in places if place.share >= THERE or _is_edited(probe, place)]
    if not there:
        return _in_parts(probe, places, is_common)
    if number in search.crowded:
        return _unsure(there, "its text stands in very many chunks")
    chosen, reason = _own(probe, there, len(unique), is_common)
    if not chosen:
        return _unsure(there, reason)
    choice = _pieces(probe, chosen[0])
    for place in chosen[1:]:  # the same text again: any of them serves
        more = _pieces(probe, place)
        if len(choice.pieces) == len(more.pieces) == 1:
            choice.pieces[0].chunks += more.pieces[0].chunks
        elif len(more.pieces) == 1:
            more.pieces[0].chunks += choice.pieces[0].chunks if len(choice.pieces) == 1 else []
            choice = more
    return choice


def _groups(
    probe: Probe, meetings: Sequence[Meeting], search: Search
) -> Iterator[dict[int, set[Run]]]:
    """Runs by chunk, of those where the gold text would begin at one place of the corpus."""
    begins = sorted(
        (search.chunks[meeting.chunk].place + run.other - run.first, meeting.chunk, run)
        for meeting in meetings
        for run in meeting.runs
    )
    slack = max(64, (probe.high - probe.low) // 2)
    group: dict[int, set[Run]] = {}
    before = begins[0][0]
    for begin, chunk, run in begins:
        if begin - before > slack:
            yield group
            group = {}
        group.setdefault(chunk, set()).add(run)
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
            return [], "its text is common, and no chunk of its source has it"
    if there[0].own < OWN:
        if len(there) == 1 and n_unique < _FEWEST and not is_common:
            return there, ""
        if len(there) == 1:
            return [], "a text like it stood elsewhere as well, and this may be that one"
        return [], f"its text stands in {len(there)} places, and nothing around it tells which"
    best = there[0]
    alike = [place for place in there if place.own > best.own - 0.1]
    near = [place for place in there if place.own > best.own - 0.25]
    if len(near) > len(alike):
        return [], f"its text stands in {len(there)} places that are much alike"
    if any(abs(place.share - best.share) > 1 - _SAME for place in alike):
        return [], f"its text stands in {len(there)} places that are much alike"
    return alike, ""


def _is_edited(probe: Probe, place: _Place) -> bool:
    """Whether what stands around a text says that it is the same one, much edited."""
    if place.share < MUCH or place.own < OWN:
        return False
    reached = np.any([*_filled(probe, place).values()], axis=0)
    return bool(reached.mean() >= THERE)


def _unsure(places: Sequence[_Place], reason: str) -> Choice:
    """Not known: with the chunks where it may be, those with most of it first."""
    shares: dict[int, float] = {}
    for place in places:
        for number, mask in place.masks.items():
            shares[number] = max(shares.get(number, 0.0), float(mask.mean()))
    ranked = sorted(shares.items(), key=lambda entry: -entry[1])
    return Choice("unsure", reason=reason, candidates=[pair for pair in ranked if pair[1] > 0][:10])


def _in_parts(probe: Probe, places: list[_Place], is_common: bool) -> Choice:
    """A gold text of which no place has enough, but several together may."""
    if not places:
        return Choice("lost", reason="no chunk has its text")
    covered = np.sum([place.equal for place in places], axis=0)
    share = float((covered > 0).mean())
    if share < GONE:
        choice = _unsure(places, f"{share:.0%} of its letters are left")
        choice.verdict = "lost"
        return choice
    if share < THERE:
        return _unsure(places, f"{share:.0%} of its letters are left")
    if is_common or (covered > 1).mean() > 0.1:
        return _unsure(places, "its parts stand in several places")
    whole = places[0]
    for place in places[1:]:
        whole.runs |= place.runs
        whole.masks |= place.masks
        whole.chunks |= place.chunks
    whole.equal = covered > 0
    return _pieces(probe, whole)


def _pieces(probe: Probe, place: _Place) -> Choice:
    """Where a gold text is, at a place that is its own."""
    masks = _filled(probe, place)
    reached = np.any([*masks.values()], axis=0)
    wholes = [
        number
        for number, mask in masks.items()
        if place.masks[number].any() and not (reached & ~mask).any()
    ]
    if wholes:
        # The chunk that holds least besides comes first.
        wholes.sort(key=lambda number: (place.chunks[number].size, number))
        piece = Piece(wholes, place.runs[wholes[0]], 0, probe.high - probe.low, 1.0)
        larger = place.chunks[wholes[0]].size > LARGER * max(probe.size, 1)
        return Choice("merged" if larger else "moved", [piece], place.equal)
    rest = reached.copy()
    pieces: list[Piece] = []
    while rest.any():
        at = int(np.argmax(rest))
        holding = [number for number, mask in masks.items() if mask[at]]
        best = max(holding, key=lambda number: (int((masks[number] & rest).sum()), -number))
        part = masks[best] & rest
        rest &= ~part
        if not (part & place.masks[best]).any():
            continue  # nothing but what somebody edited
        inside = np.flatnonzero(part)
        others = [
            number for number in masks if number != best and not (part & ~masks[number]).any()
        ]
        low, high = int(inside[0]), int(inside[-1]) + 1
        pieces.append(Piece([best, *others], place.runs[best], low, high, len(inside)))
    total = sum(piece.share for piece in pieces)
    for piece in pieces:
        piece.share /= total
    return Choice("split", pieces, place.equal)


def _filled(probe: Probe, place: _Place) -> dict[int, Mask]:
    """What each chunk has of a gold text, with what was edited in it.

    Between runs, and before the first and behind the last, letters count as there that no chunk
    has, if the chunk has others in their place.
    """
    masks = {}
    for number, runs in place.runs.items():
        mask = np.zeros(len(probe.codes), bool)
        mask[probe.low : probe.high] = place.masks[number]
        nowhere = np.ones(len(probe.codes), bool)
        nowhere[probe.low : probe.high] = ~place.equal

        def fill(low: int, high: int, few: int, mask: Mask = mask, nowhere: Mask = nowhere) -> None:
            # A letter or two may be the same in another chunk by accident.
            mask[low:high] |= True if high - low <= few else nowhere[low:high]

        for before, after in pairwise(runs):
            there = after.other - before.other - before.last + before.first
            if there >= max(1, (after.first - before.last) / 2 - 2):
                fill(before.last, max(before.last, after.first), _FEW)
        first, last = runs[0], max(runs, key=lambda run: run.last)
        if first.other:
            fill(max(0, first.first - first.other - 2), first.first, 2)
        if rest := place.chunks[number].size - last.other - last.last + last.first:
            fill(last.last, min(len(mask), last.last + rest + 2), 2)
        masks[number] = mask[probe.low : probe.high]
    return masks


__all__ = ["Choice", "Chunk", "Piece", "Verdict", "choose"]
