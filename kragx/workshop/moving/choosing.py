"""Which of the places where a gold text's letters stand is its own, and what it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from kragx.data import Doc
from kragx.ground.printing import message
from kragx.workshop.moving.blocks import GRAM, Bools
from kragx.workshop.moving.places import Piece, Place
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


class GoldPart(NamedTuple):
    """An item that gold becomes.

    Attributes:
        docs: any of them serves.
        chunk_text: that of the chunk of the first one.
        begin, end: its characters in it.
    """

    docs: list[Doc]
    chunk_text: str = ""
    begin: int = 0
    end: int = 0


@dataclass(frozen=True)
class MoveOption:
    """A gold item or an alternative on its way: what it was, and what became of it.

    Attributes:
        probe: what was looked for.
        verdict: in a word.
        pieces: where it is; one if it is whole.
        reason: why it is not known, or lost.
        candidates: the ids of the chunks where it may be, with the share of its letters in each.
        parts: what it becomes, an and of ors; made of the pieces by `rebuild`.
        edited: the share of its words that are not there as they were; None if it is nowhere.
    """

    probe: GoldProbe
    verdict: Verdict
    pieces: Sequence[Piece] = ()
    reason: str = ""
    candidates: dict[str, float] = field(default_factory=dict)
    parts: Sequence[GoldPart] = ()
    edited: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is left to a person."""
        return self.verdict in ("lost", "unsure")

    @property
    def equal(self) -> Bools:
        """Which of its letters are there as they were."""
        return np.asarray(np.any([piece.place.equal for piece in self.pieces], axis=0))


def choose(probe: GoldProbe, places: list[Place], *, is_crowded: bool) -> MoveOption:
    """What became of a gold text.

    Args:
        probe: the text.
        places: where it may be.
        is_crowded: it stands in so many that not all were looked at.
    """
    if probe.low == probe.high or (not places and len(probe.codes) < GRAM):
        short = message("its text is too short to be looked for")
        return MoveOption(probe, "unsure", reason=short)
    # Text that is common has few letters of its own.
    n_grams = max(0, probe.high - GRAM + 1 - probe.low) / probe.step
    is_common = len(probe.unique_in(probe.low, probe.high)) < n_grams / 2
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
    options = [_whole_or_parts(place) for place in selected]
    whole = [option for option in options if len(option.pieces) == 1]
    for option in whole[1:]:
        whole[0].pieces[0].chunks += option.pieces[0].chunks
    return (whole or options)[0]


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
    shares: dict[str, float] = {}
    for place in places:
        for chunk in place.chunks:
            if n_equal := place.n_equal(chunk):
                share = n_equal / (probe.high - probe.low)
                shares[chunk.id] = max(shares.get(chunk.id, 0.0), share)
    ranked = sorted(shares.items(), key=lambda entry: -entry[1])
    return MoveOption(probe, "unsure", reason=reason, candidates=dict(ranked[:10]))


def _in_parts(probe: GoldProbe, places: list[Place], *, is_common: bool) -> MoveOption:
    """A gold text of which no place has enough, but several together may."""
    if not places:
        return MoveOption(probe, "lost", reason=message("no chunk has its text"))
    covered = np.sum([place.equal for place in places], axis=0)
    share = float((covered > 0).mean())
    if share < THERE:
        option = _unsure(probe, places, message("{share:.0%} of its letters are left", share=share))
        return replace(option, verdict="lost") if share < GONE else option
    places = [place for place in places if place.is_known]
    is_known = np.any([place.equal for place in places], axis=0)
    if is_common or (covered > 1).mean() > 0.1 or is_known.mean() < THERE:
        return _unsure(probe, places, message("its parts stand in several places"))
    for place in places:
        place.narrow()
    return _split(probe, [piece for place in places for piece in place.pieces()])


def _whole_or_parts(place: Place) -> MoveOption:
    """Where a gold text is, at a place that is its own."""
    probe, n = place.probe, place.probe.high - place.probe.low
    pieces = place.pieces()
    doubtful = [piece for piece in pieces if place.may_be_beside(piece)]
    if any(piece.share >= SLIVER * n for piece in doubtful):
        edited = message("of what was edited at its end nobody knows the chunk")
        return _unsure(probe, [place], edited)
    pieces = [piece for piece in pieces if piece not in doubtful]
    if len(pieces) > 1:
        return _split(probe, pieces)
    (piece,) = pieces
    piece.low, piece.high, piece.share = 0, n, 1.0
    chunk = piece.chunks[0]
    is_larger = chunk.end - chunk.begin > LARGER * max(probe.size, 1)
    return MoveOption(probe, "merged" if is_larger else "moved", pieces)


def _split(probe: GoldProbe, pieces: Sequence[Piece]) -> MoveOption:
    total = sum(piece.share for piece in pieces)
    for piece in pieces:
        piece.share /= total
    return MoveOption(probe, "split", pieces)
