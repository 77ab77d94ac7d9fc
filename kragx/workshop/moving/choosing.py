"""Which of the places where a gold text's letters stand is its own, and what it becomes there."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeGuard

import numpy as np

from kragx.data import Doc, normalise
from kragx.data.gold_changes import MOVE
from kragx.data.lists import Bools
from kragx.data.words import unspaced
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import message
from kragx.workshop.folder.places import origin_of
from kragx.workshop.moving.blocks import GRAM, Characters, letters
from kragx.workshop.moving.places import Piece, Place
from kragx.workshop.moving.probes import FEWEST, GoldProbe

Verdict = Literal["same", "moved", "merged", "split", "lost", "unsure"]

MEANING: Mapping[Verdict, str] = {
    "same": message("the chunk has the same id and the same text"),
    "moved": message("in a chunk of about its size"),
    "merged": message("inside a larger chunk"),
    "split": message("over several chunks, which are an and now"),
    "unsure": message("may be in several places: for a person"),
    "lost": message("no chunk has it: for a person"),
}

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
_OPENING = "([{<\"'“‘《「『【"
_PLACES = ("start", "start_index", "end", "end_index")
_EVIDENCE = ("evidence", "spans")
OF_A_PART = (*_PLACES, *_EVIDENCE, "share")
"""Metadata of an item that are of the part of a text that it is."""


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
class Placed:
    """A chunk of the new corpus that holds gold, or a part of it.

    Attributes:
        id: of the chunk.
        share: of the gold text's letters; the shares of a split text add up to 1.
        alternatives: other chunks that hold the same.
    """

    id: str
    share: float
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Moved:
    """What became of a gold item, or of one of its alternatives.

    Attributes:
        before: it as it was, with its text.
        parts: what it becomes, an and of ors; its text without an id where nobody knows its place.
        verdict: one of `MEANING`.
        places: where it is; of one that is unsure or lost, where it may be, most of it first.
        edited: the share of its words that are not there as they were; None if that is unknown.
        reason: why nobody knows where it is.
        text: its text, where nobody knows that.
        query: the id of its query.
        id, grade: as they were.
        field: which it is: ``gold[0].alternatives[1]``.
    """

    before: Doc = dataclasses.field(repr=False, metadata=HIDDEN)
    parts: Sequence[GoldPart] = dataclasses.field(repr=False, metadata=HIDDEN)
    verdict: Verdict
    places: tuple[Placed, ...] = ()
    edited: float | None = None
    reason: str = ""
    text: str | None = None
    query: str = ""
    id: str | None = None
    grade: float = 0.0
    field: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is left to a person."""
        return self.verdict in ("unsure", "lost")

    def given_up(self, reason: str) -> Moved:
        """It, left to a person."""
        ids = ((place, name) for place in self.places for name in (place.id, *place.alternatives))
        places = [Placed(name, place.share) for place, name in ids]
        return replace(left_open(self.before, reason, places), edited=self.edited)


def left_open(
    doc: Doc, reason: str, places: Sequence[Placed] = (), verdict: Verdict = "unsure"
) -> Moved:
    """Left to a person: its text stays in the gold set, without an id."""
    marks = {"moved": verdict} | ({} if doc.id is None else {"old_id": doc.id})
    left = Doc(None, doc.text, {**doc.metadata, **marks})
    return Moved(doc, [GoldPart([left])], verdict, tuple(places), reason=reason, text=doc.text)


def choose(probe: GoldProbe, places: list[Place], *, is_crowded: bool) -> Moved:
    """What became of a gold text.

    Args:
        probe: the text.
        places: where it may be.
        is_crowded: it stands in so many that not all were looked at.
    """
    if probe.low == probe.high or (not places and len(probe.codes) < GRAM):
        return left_open(probe.before, message("its text is too short to be looked for"))
    # Text that is common has few letters of its own.
    n_grams = max(0, probe.high - GRAM + 1 - probe.low) / probe.step
    is_common = len(probe.unique_in(probe.low, probe.high)) < n_grams / 2
    places = sorted(places, key=lambda place: (-place.weight, -place.share))
    candidates = [place for place in places if place.share >= (MUCH if place.is_framed else THERE)]
    if is_crowded and (candidates or not places):
        crowded = message("its text stands in very many chunks")
        return left_open(probe.before, crowded, _shares(probe, candidates))
    if not candidates:
        return _in_parts(probe, places, is_common=is_common)
    selected = _own(probe, candidates, is_common=is_common)
    if not selected:
        reason = message(
            "its text, or one like it, stands elsewhere as well, and nothing around it tells which "
            "place is its own"
        )
        return left_open(probe.before, reason, _shares(probe, candidates))
    return _at(probe, selected)


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


def _shares(probe: GoldProbe, places: Sequence[Place]) -> list[Placed]:
    """The chunks where a gold text may be, those with most of it first."""
    shares: dict[str, float] = {}
    for place in places:
        for chunk in place.chunks:
            if n_equal := place.n_equal(chunk):
                share = n_equal / (probe.high - probe.low)
                shares[chunk.id] = max(shares.get(chunk.id, 0.0), share)
    ranked = sorted(shares.items(), key=lambda entry: -entry[1])
    return [Placed(name, round(share, 4)) for name, share in ranked[:10]]


def _in_parts(probe: GoldProbe, places: list[Place], *, is_common: bool) -> Moved:
    """A gold text of which no place has enough, but several together may."""
    if not places:
        return left_open(probe.before, message("no chunk has its text"), verdict="lost")
    covered = np.sum([place.equal for place in places], axis=0)
    share = float((covered > 0).mean())
    if share < THERE:
        left = message("{share:.0%} of its letters are left", share=share)
        verdict: Verdict = "lost" if share < GONE else "unsure"
        return left_open(probe.before, left, _shares(probe, places), verdict)
    # What a place does not have as it was may lie in a chunk of another document there.
    pieces = [
        piece
        for place in places
        if place.is_known
        for piece in place.pieces()
        if not (piece.is_edited or place.is_doubtful(piece))
    ]
    n_known = sum(piece.high - piece.low for piece in pieces)
    if is_common or (covered > 1).mean() > 0.1 or n_known < (1 - SLIVER) * len(covered):
        several = message("its parts stand in several places")
        return left_open(probe.before, several, _shares(probe, places))
    return _became(probe, sorted(pieces, key=lambda piece: piece.low))


def _at(probe: GoldProbe, places: Sequence[Place]) -> Moved:
    """What a gold text is at places that are its own: any serves, best one in a chunk."""
    pieces_of: list[list[Piece]] = []
    for place in places:
        pieces = place.pieces()
        doubtful = [piece for piece in pieces if place.is_doubtful(piece)]
        is_known = all(piece.size < SLIVER * (probe.high - probe.low) for piece in doubtful)
        pieces_of.append([piece for piece in pieces if is_known and piece not in doubtful])
    if whole := [pieces[0] for pieces in pieces_of if len(pieces) == 1]:
        chunks = [chunk for piece in whole for chunk in piece.chunks]
        return _became(probe, [whole[0]._replace(chunks=chunks)])
    if pieces_of[0]:
        return _became(probe, pieces_of[0])
    edited = message("of what was edited at its end nobody knows the chunk")
    return left_open(probe.before, edited, _shares(probe, places[:1]))


def _became(probe: GoldProbe, pieces: Sequence[Piece]) -> Moved:
    """What a gold text becomes, in the words of the chunks where its pieces are."""
    equal = np.any([piece.place.equal for piece in pieces], axis=0)
    # Where each letter of the gold text stands in it; in other words than the chunk's it is none.
    in_text = letters([probe.text or ""]).place
    characters = None if probe.apart or len(in_text) != len(equal) else in_text
    verdict: Verdict = "split"
    if len(pieces) == 1:
        pieces = [pieces[0]._replace(low=0, high=len(equal))]
        chunk = pieces[0].chunks[0]
        is_larger = chunk.end - chunk.begin > LARGER * max(probe.size, 1)
        verdict = "merged" if is_larger else "moved"
    total = sum(piece.size for piece in pieces)
    places: list[Placed] = []
    parts: list[GoldPart] = []
    for piece in pieces:
        share = piece.size / total
        name, *others = dict.fromkeys(chunk.id for chunk in piece.chunks)
        places.append(Placed(name, round(share, 4), tuple(others)))
        part = _part(piece, places[-1], characters, equal, is_whole=len(pieces) == 1)
        if share >= SLIVER or any(map(part.docs[0].metadata.get, _EVIDENCE)):
            parts.append(part)
    option = Moved(probe.before, parts, verdict, tuple(places))
    if probe.apart and len(places) > 1:
        split = message("its chunk is split, and its text is in other words than the chunk's")
        return option.given_up(split)
    option = replace(option, edited=_edited(probe, characters, equal))
    return option if parts else option.given_up(message("its parts are many and small"))


def _part(
    piece: Piece, placed: Placed, characters: Characters | None, equal: Bools, *, is_whole: bool
) -> GoldPart:
    """The item that a piece becomes.

    Args:
        piece: of a gold text.
        placed: the same in ids.
        characters: where each letter of the text stands in it.
        equal: which of them are as they were.
        is_whole: whether the piece is all of the text.
    """
    probe, chunk, is_equal = piece.place.probe, piece.chunks[0], bool(equal.all())
    doc, text = probe.doc, probe.text or ""
    # The source in which its characters are counted now, and where the chunk begins in it.
    is_in_chunk = str(doc.metadata.get("source")) == doc.id
    source, start = (chunk.id, 0) if is_in_chunk else origin_of(chunk.doc)
    base = 0 if source is None or start is None else start
    evidence = {} if characters is None else _evidence(piece, characters, base)
    begin, end = _ends(piece)
    part_text: str | None = chunk.text[begin:end]
    is_there = is_equal and is_whole and normalise(text) in normalise(chunk.text)
    if probe.apart or (is_there and doc.text is not None):
        part_text = doc.text
        offset = chunk.text.find(text, max(0, begin - len(text)))
        if offset >= 0 and not probe.apart:
            begin, end = offset, offset + len(text)
    elif is_there and probe.high - probe.low == chunk.end - chunk.begin:
        part_text = None  # the chunk's own, as before
    places = {name: doc.metadata[name] for name in _PLACES if name in doc.metadata}
    if places and source is not None and start is not None:
        places = {n: base + (begin if "start" in n else end) for n in places}
        places["source"] = source
    elif not (is_equal and is_whole):
        places = {}
    metadata = {n: v for n, v in doc.metadata.items() if n not in _OF_THIS_MOVE}
    metadata |= places | evidence | ({} if is_whole else {"share": placed.share})
    docs = [Doc(placed.id, part_text, metadata)]
    docs += [Doc(name, part_text) for name in placed.alternatives]
    return GoldPart(docs, chunk.text, begin, end)


_OF_THIS_MOVE = ("moved", "old_id", MOVE, *OF_A_PART)


def _ends(piece: Piece) -> tuple[int, int]:
    """Where a part stands in its first chunk, in characters, with the signs beside it."""
    chunk, text = piece.chunks[0], piece.chunks[0].text
    first = max(piece.place.begin, chunk.begin)
    begin, end = chunk.characters(first, max(first, min(piece.place.end, chunk.end) - 1))
    end += 1
    while begin and text[begin - 1] in _OPENING:
        begin -= 1
    while end < len(text) and not text[end].isspace() and not text[end].isalnum():
        end += 1
    return begin, end


def _edited(probe: GoldProbe, characters: Characters | None, equal: Bools) -> float:
    """The share of a text's words of which some letter is not there."""
    text = probe.text or ""
    if characters is None:
        return round(float(1 - equal.mean()), 4)
    # A word ends where letters do not stand side by side, a character of some scripts at once.
    begins = np.concatenate(([True], np.diff(characters) > 1))
    if scripts := {char for char in set(text) if unspaced(char)}:
        alone = np.array([text[place] in scripts for place in characters.tolist()], bool)
        begins[1:] |= alone[1:] | alone[:-1]
    share = float(np.logical_or.reduceat(~equal, np.flatnonzero(begins)).mean())
    # One word of very many is not none.
    return round(share, 4) or share


def _evidence(piece: Piece, characters: Characters, base: int) -> dict[str, list[list[int]]]:
    """The evidence of an item, pairs of characters of its source, in the new chunk's.

    `base` is where the new chunk begins in it. Where no source is known, and of a chunk that is its
    own, pairs are counted in the chunk.
    """
    probe, chunk, positions = piece.place.probe, piece.chunks[0], piece.place.positions
    is_of_source = probe.start is not None and str(probe.doc.metadata.get("source")) == probe.source
    first = probe.start if is_of_source and probe.start is not None else probe.begin
    in_source = characters - characters[0] + first
    is_here = (positions >= chunk.begin) & (positions < chunk.end)
    is_here[: piece.low] = is_here[piece.high :] = False
    moved: dict[str, list[list[int]]] = {}
    for name in _EVIDENCE:
        pairs = probe.doc.metadata.get(name)
        if _are_pairs(pairs):
            moved[name] = []
            for low, high in pairs:
                inside = positions[is_here & (in_source >= low) & (in_source < high)]
                if len(inside):
                    begin, end = chunk.characters(inside[0], inside[-1])
                    moved[name].append([base + begin, base + end + 1])
    return moved


def _are_pairs(value: object) -> TypeGuard[Sequence[Sequence[int]]]:
    return isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and [*map(type, pair)] == [int, int] for pair in value
    )
