"""Which of the places where a gold text's letters stand is its own, and what it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kragx.data import Doc
from kragx.ground.printing import message
from kragx.workshop.moving.blocks import GRAM, Bools
from kragx.workshop.moving.places import Chunk, Place
from kragx.workshop.moving.probes import FEWEST, GoldProbe

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

_SAME = 0.97


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


@dataclass
class MoveOption:
    """A gold item or an alternative on its way: what it was, and what became of it.

    Attributes:
        probe: what was looked for.
        verdict: in a word.
        pieces: where it is; one if it is whole.
        equal: which of its letters are there as they were.
        reason: why it is not known, or lost.
        candidates: the chunks where it may be, with the share of its letters that each has.
        parts: what it becomes, an and of ors; made of the pieces by `rebuild`.
        ends: for each part where in its first chunk it stands, in characters.
        left_out: how many pieces are too small to be items.
        edited: the share of its words that are not there as they were; None if it is nowhere.
    """

    probe: GoldProbe
    verdict: Verdict
    pieces: list[Piece] = field(default_factory=list)
    equal: Bools = field(default_factory=lambda: np.empty(0, bool))
    reason: str = ""
    candidates: list[tuple[Chunk, float]] = field(default_factory=list)
    parts: list[list[Doc]] = field(default_factory=list)
    ends: list[tuple[int, int, Chunk]] = field(default_factory=list)
    left_out: int = 0
    edited: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is nowhere, or nobody knows where."""
        return self.verdict in ("lost", "unsure")

    def give_up(self, reason: str) -> None:
        """Leave it to a person: its text stays in the gold set, without an id."""
        if self.verdict != "lost":
            self.verdict, self.reason = "unsure", reason
            self.candidates = self.candidates or [
                (chunk, piece.share) for piece in self.pieces for chunk in piece.chunks
            ]
        doc = self.probe.doc
        marks = {"moved": self.verdict} | ({} if doc.id is None else {"old_id": doc.id})
        self.parts, self.ends = [[Doc(None, self.probe.text, {**doc.metadata, **marks})]], []


def choose(probe: GoldProbe, places: list[Place], *, is_crowded: bool) -> MoveOption:
    """What became of a gold text.

    Args:
        probe: the text.
        places: where it may be.
        is_crowded: it stands in so many that not all were looked at.
    """
    if probe.low == probe.high:
        return MoveOption(probe, "unsure", reason=message("its text has no letters"))
    if not places and len(probe.codes) < GRAM:
        short = message("its text is too short to be looked for")
        return MoveOption(probe, "unsure", reason=short)
    # Text that is common has few letters of its own.
    n_grams = max(0, probe.high - GRAM + 1 - probe.low) / probe.step
    is_in_text = (probe.unique >= probe.low) & (probe.unique <= probe.high - GRAM)
    is_common = bool(is_in_text.sum() < n_grams / 2)
    places = sorted(places, key=lambda place: (-place.weight, -place.share))
    candidates = [place for place in places if place.share >= (MUCH if place.is_framed else THERE)]
    if is_crowded and (candidates or not places):
        return _unsure(probe, candidates, message("its text stands in very many chunks"))
    if not candidates:
        return _in_parts(probe, places, is_common=is_common)
    selected = _own(probe, candidates, is_common=is_common)
    if not selected:
        reason = message(
            "its text, or one like it, stands elsewhere as well, and nothing around it tells which "
            "place is its own"
        )
        return _unsure(probe, candidates, reason)
    # Of places that have the same text any serves, best one in a chunk.
    choice = _whole_or_parts(selected[0])
    for place in selected[1:]:
        further = _whole_or_parts(place)
        if len(choice.pieces) == len(further.pieces) == 1:
            choice.pieces[0].chunks += further.pieces[0].chunks
        elif len(further.pieces) == 1:
            choice = further
    return choice


def _own(probe: GoldProbe, candidates: list[Place], *, is_common: bool) -> list[Place]:
    """The place that is the gold text's own, or several that serve alike; none if nobody knows."""
    exact = [place for place in candidates if place.is_start and place.share >= _SAME]
    if len(exact) == 1:
        return exact
    if probe.source is not None:
        from_source = [place for place in candidates if place.source == probe.source]
        if len(from_source) == 1 and (len(candidates) > 1 or is_common):
            return from_source
        if not from_source and is_common and candidates[0].source is not None:
            return []
        candidates = from_source or candidates
    best = max(candidates, key=lambda place: (place.is_known, place.weight))
    if not best.is_known:
        # Too short to have letters of its own, and nowhere else.
        is_alone = len(candidates) == 1 and len(probe.unique) < FEWEST and not is_common
        return candidates if is_alone else []
    alike = [place for place in candidates if place.weight > 0.9 * best.weight]
    near = [place for place in candidates if place.weight > 0.5 * best.weight]
    is_clear = all(abs(place.share - best.share) <= 1 - _SAME for place in alike)
    return alike if is_clear and len(near) == len(alike) else []


def _unsure(probe: GoldProbe, places: Sequence[Place], reason: str) -> MoveOption:
    """Not known: with the chunks where it may be, those with most of it first."""
    shares: dict[Chunk, float] = {}
    for place in places:
        for chunk in place.chunks:
            if n_equal := place.n_equal(chunk):
                shares[chunk] = max(shares.get(chunk, 0.0), n_equal / len(place.equal))
    ranked = sorted(shares.items(), key=lambda entry: -entry[1])
    return MoveOption(probe, "unsure", reason=reason, candidates=ranked[:10])


def _in_parts(probe: GoldProbe, places: list[Place], *, is_common: bool) -> MoveOption:
    """A gold text of which no place has enough, but several together may."""
    if not places:
        return MoveOption(probe, "lost", reason=message("no chunk has its text"))
    covered = np.sum([place.equal for place in places], axis=0)
    share = float((covered > 0).mean())
    if share < THERE:
        choice = _unsure(probe, places, message("{share:.0%} of its letters are left", share=share))
        choice.verdict = "lost" if share < GONE else choice.verdict
        return choice
    places = [place for place in places if place.is_known]
    is_known = np.any([place.equal for place in places], axis=0)
    if is_common or (covered > 1).mean() > 0.1 or is_known.mean() < THERE:
        return _unsure(probe, places, message("its parts stand in several places"))
    for place in places:
        place.narrow()
    pieces = [piece for place in places for piece in _pieces(place)]
    return _choice_of(probe, pieces, covered > 0)


def _whole_or_parts(place: Place) -> MoveOption:
    """Where a gold text is, at a place that is its own."""
    pieces = _pieces(place)
    doubtful = [piece for piece in pieces if _may_be_beside(piece)]
    if any(piece.share >= SLIVER * len(place.equal) for piece in doubtful):
        edited = message("of what was edited at its end nobody knows the chunk")
        return _unsure(place.probe, [place], edited)
    pieces = [piece for piece in pieces if piece not in doubtful]
    if len(pieces) > 1:
        return _choice_of(place.probe, pieces, place.equal)
    (piece,) = pieces
    piece.low, piece.high, piece.share = 0, len(place.equal), 1.0
    is_larger = piece.chunks[0].size > LARGER * max(place.probe.size, 1)
    verdict: Verdict = "merged" if is_larger else "moved"
    return MoveOption(place.probe, verdict, pieces, place.equal)


def _choice_of(probe: GoldProbe, pieces: list[Piece], equal: Bools) -> MoveOption:
    total = sum(piece.share for piece in pieces)
    for piece in pieces:
        piece.share /= total
    return MoveOption(probe, "split", pieces, equal)


def _pieces(place: Place) -> list[Piece]:
    """The parts of a gold text, each in the chunk that has most of what is left."""
    pieces: list[Piece] = []
    begin = place.begin
    # Chunks lie beside one another: at each letter of the corpus there is one.
    while begin < place.end:
        holding = [chunk for chunk in place.chunks if chunk.place <= begin < chunk.end]
        end = min(place.end, max(chunk.end for chunk in holding))
        # Any of them serves; the one that holds least besides comes first.
        best = sorted(
            (chunk for chunk in holding if chunk.end >= end),
            key=lambda chunk: (chunk.size, chunk.number),
        )
        low, high = place.letters(begin, end)
        pieces.append(Piece(place, best, low, high, max(high - low, 1)))
        begin = end
    # Of a letter or two that were edited nobody knows on which side of a chunk's end they are.
    n_few = max(2, 0.02 * len(place.equal))
    return [
        piece
        for piece in pieces
        if piece.share > n_few or place.equal[piece.low : piece.high].any()
    ] or pieces


def _may_be_beside(piece: Piece) -> bool:
    """Whether a part, of which no letter is as it was, may as well be what stood beside the text.

    It is of the text where what stood beside it is there to its last letter, unless more letters
    than were edited stand there now, and in two chunks: some of them were put in behind it.
    """
    place, n = piece.place, len(piece.place.equal)
    if place.equal[piece.low : piece.high].any():
        return False
    first, last = np.flatnonzero(place.equal)[[0, -1]].tolist()
    is_before, is_behind = place.beside
    n_before = int(place.positions[first]) - place.begin
    n_behind = place.end - int(place.positions[last]) - 1
    is_before &= n_before <= first or piece.high == first
    is_behind &= n_behind <= n - 1 - last or piece.low == last + 1
    return (piece.low == 0 and not is_before) or (piece.high == n and not is_behind)
