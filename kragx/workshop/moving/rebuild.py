"""A query's gold after the move: ands of ors again, with the words of the new corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from math import prod
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from kragx.data import Doc, Gold, Query, normalise
from kragx.data.gold_changes import MOVE
from kragx.data.words import unspaced
from kragx.ground.printing import phrase
from kragx.workshop.moving.choosing import SLIVER, Piece, PlaceChoice
from kragx.workshop.moving.letters import letters
from kragx.workshop.moving.places import Stretch
from kragx.workshop.moving.probes import GoldProbe
from kragx.workshop.moving.search import Chunk

_MOST_PARTS = 8
"""Items that the alternatives of one gold item may become."""

_OPENING = "([{<\"'“‘《「『【"
_PLACES = ("start", "start_index", "end", "end_index")
_EVIDENCE = ("evidence", "spans")
_OF_A_PART = (*_PLACES, *_EVIDENCE, "share")
_MARKS = ("moved", "old_id", MOVE)

Places = NDArray[np.int32]


@dataclass
class MoveOption:
    """A gold item or an alternative on its way: what it was, and what became of it.

    Attributes:
        probe, choice: what was looked for, and what became of it.
        parts: an and of ors.
        ends: for each part where in its first chunk it stands, in characters.
        left_out: how many parts are too small to be items.
        edited: the share of its words that are not there as they were; None if it is nowhere.
    """

    probe: GoldProbe
    choice: PlaceChoice
    parts: list[list[Doc]] = field(default_factory=list)
    ends: list[tuple[int, int, Chunk]] = field(default_factory=list)
    left_out: int = 0
    edited: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is nowhere, or nobody knows where."""
        return self.choice.verdict in ("lost", "unsure")

    def give_up(self, reason: str) -> None:
        """Leave it to a person: its text stays in the gold set, without an id."""
        if self.choice.verdict != "lost":
            candidates = [(n, piece.share) for piece in self.choice.pieces for n in piece.chunks]
            self.choice = replace(
                self.choice,
                verdict="unsure",
                reason=reason,
                candidates=self.choice.candidates or candidates,
            )
        doc, text = self.probe.doc, self.probe.text
        marks = {"moved": self.choice.verdict} | ({} if doc.id is None else {"old_id": doc.id})
        self.parts, self.ends = [[Doc(None, text, {**doc.metadata, **marks})]], []


def option_of(probe: GoldProbe, choice: PlaceChoice, chunks: Mapping[int, Chunk]) -> MoveOption:
    """What a gold item or an alternative becomes."""
    option = MoveOption(probe, choice)
    if choice.verdict == "same":
        option.parts, option.edited = [[probe.doc]], 0.0
    elif option.is_open:
        option.give_up(choice.reason)
    elif probe.apart and len(choice.pieces) > 1:
        option.give_up(
            phrase("its chunk is split, and its text is in other words than the chunk's")
        )
    else:
        _place(option, chunks)
    return option


def _place(option: MoveOption, chunks: Mapping[int, Chunk]) -> None:
    probe, choice, doc = option.probe, option.choice, option.probe.doc
    text = probe.text or ""
    # Where each letter of the gold text stands in it; in other words than the chunk's it is none.
    places: Places | None = letters([text]).place
    if probe.apart or places is None or len(places) != len(choice.equal):
        places = None
    is_equal, is_split = bool(choice.equal.all()), len(choice.pieces) > 1
    option.edited = 0.0 if is_equal else _edited(text, places, choice)
    metadata = {n: v for n, v in doc.metadata.items() if n not in (*_MARKS, *_OF_A_PART)}
    for piece in choice.pieces:
        first = chunks[piece.chunks[0]]
        in_chunk = first.text or ""
        place = _source_of(probe, first)
        evidence = _evidence(probe, piece, in_chunk, places, 0 if place is None else place[1])
        if is_split and piece.share < SLIVER and not any(evidence.values()):
            option.left_out += 1
            continue
        begin, end = _ends(probe, piece, in_chunk)
        own_text: str | None = in_chunk[begin:end]
        is_there = is_equal and not is_split and normalise(text) in normalise(in_chunk)
        if probe.apart or (is_there and doc.text is not None):
            own_text = doc.text
            offset = in_chunk.find(text, max(0, begin - len(text)))
            if offset >= 0 and not probe.apart:
                begin, end = offset, offset + len(text)
        elif is_there and len(choice.equal) == first.size:
            own_text = None  # the chunk's own, as before
        position = _where(probe, place, begin, end, is_equal=is_equal and not is_split)
        share = {"share": round(piece.share, 4)} if is_split else {}
        ids = dict.fromkeys(chunks[number].id for number in piece.chunks)
        new = Doc(first.id, own_text, {**metadata, **position, **evidence, **share})
        option.parts.append([new, *(Doc(name, own_text) for name in ids if name != first.id)])
        option.ends.append((begin, end, first))
    if not option.parts:
        option.give_up(phrase("its parts are many and small"))


def _edited(text: str, places: Places | None, choice: PlaceChoice) -> float:
    """The share of a text's words of which some letter is not there."""
    if places is None:
        return float(1 - choice.equal.mean())
    # A word ends where letters do not stand side by side, a character of some scripts at once.
    begins = np.concatenate(([True], np.diff(places) > 1))
    if characters := {char for char in set(text) if unspaced(char)}:
        alone = np.array([text[place] in characters for place in places.tolist()], bool)
        begins[1:] |= alone[1:] | alone[:-1]
    is_gone = np.logical_or.reduceat(~choice.equal, np.flatnonzero(begins))
    return float(is_gone.mean())


def _ends(probe: GoldProbe, piece: Piece, text: str) -> tuple[int, int]:
    """Where a part stands in its chunk, in characters, with what is edited at its ends."""
    low, high = probe.low + piece.low, probe.low + piece.high
    begin, end, before, after = _characters(piece.runs, low, high, text)
    letter = str.isalnum
    for _ in range(before):
        begin = next((place for place in range(begin - 1, -1, -1) if letter(text[place])), begin)
    for _ in range(after):
        end = next((place + 1 for place in range(end, len(text)) if letter(text[place])), end)
    while begin and text[begin - 1] in _OPENING:
        begin -= 1
    while end < len(text) and not text[end].isspace() and not letter(text[end]):
        end += 1
    return begin, end


def _characters(
    runs: Sequence[Stretch], low: int, high: int, text: str
) -> tuple[int, int, int, int]:
    """The characters of a chunk where letters of gold stand, and how many are not in any run.

    Those are the letters before the first run and behind the last one.
    """
    touched = [run for run in runs if run.last > low and run.first < high]
    first, last = min(touched), max(touched, key=lambda run: run.last)
    begin = max(low, first.first) - first.first
    end = last.end  # of a stretch that was edited, all its letters
    if high < last.last:
        end = last.begin + _place_of(high - 1 - last.first, text[last.begin : last.end]) + 1
    return (
        first.begin + _place_of(begin, text[first.begin : first.end]),
        end,
        max(0, first.first - low),
        max(0, high - last.last),
    )


def _place_of(number: int, text: str) -> int:
    """The character of a text that is its letter of a number."""
    places = letters([text]).place
    return int(places[min(number, len(places) - 1)])


def _source_of(probe: GoldProbe, chunk: Chunk) -> tuple[str, int] | None:
    """The source in which the places of an item are counted in a chunk, and its first character."""
    if str(probe.doc.metadata.get("source")) == probe.doc.id:  # in the chunk's own text
        return chunk.id, 0
    if chunk.start is None or chunk.source is None:
        return None
    return chunk.source, chunk.start


def _where(
    probe: GoldProbe, place: tuple[str, int] | None, begin: int, end: int, *, is_equal: bool
) -> Mapping[str, Any]:
    """Source and characters of a part, if its gold item names them."""
    metadata = probe.doc.metadata
    names = [name for name in _PLACES if name in metadata]
    if not names or place is None:
        return {name: metadata[name] for name in names} if is_equal else {}
    source, base = place
    return {"source": source} | {name: base + (begin if "start" in name else end) for name in names}


def _evidence(
    probe: GoldProbe, piece: Piece, text: str, places: Places | None, base: int
) -> dict[str, list[list[int]]]:
    """The evidence of an item, pairs of characters of its source, in the new chunk's.

    `base` is where the new chunk begins in it. Where no source is known, and of a chunk that is its
    own, pairs are counted in the chunk.
    """
    moved: dict[str, list[list[int]]] = {}
    for name in _EVIDENCE:
        pairs = probe.doc.metadata.get(name)
        if places is None or not _are_pairs(pairs):
            continue
        in_source = places - places[0] + probe.begin
        if probe.start is not None and str(probe.doc.metadata.get("source")) == probe.source:
            in_source += probe.start - probe.begin
        moved[name] = []
        for pair in pairs:
            # Characters to letters: marks and spaces between have none, so an end goes to the next
            # letter.
            inside = np.clip(np.searchsorted(in_source, pair), piece.low, piece.high)
            low, high = (inside + probe.low).tolist()
            if any(max(run.first, low) < min(run.last, high) for run in piece.runs):
                begin, end, *_ = _characters(piece.runs, low, high, text)
                moved[name].append([base + begin, base + end])
    return moved


def _are_pairs(value: object) -> TypeGuard[Sequence[Sequence[int]]]:
    return isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(n, int) for n in pair)
        for pair in value
    )


# -- a query's gold ---------------------------------------------------------------------------


@dataclass
class _Item:
    """A gold item after the move."""

    gold: Gold
    number: int
    option: MoveOption | None


def rebuilt(query: Query, options: Sequence[Sequence[MoveOption]]) -> tuple[Query, int]:
    """A query with its gold where it is now, and how many items became one with another.

    Args:
        query: as it was.
        options: for each gold item itself, if it has an id or a text, and its alternatives.
    """
    items = [
        _Item(gold, number, option[0] if len(option) == 1 else None)
        for number, option in enumerate(options)
        for gold in _golds(query.gold[number], option)
    ]
    _leave_irrelevant(items)
    joined_items = _joined(items)
    return replace(query, gold=tuple(item.gold for item in joined_items)), len(items) - len(
        joined_items
    )


def _golds(gold: Gold, options: Sequence[MoveOption]) -> list[Gold]:
    """What a gold item becomes: itself, if all of it is as it was."""
    if all(option.choice.verdict == "same" for option in options):
        return [gold]
    if len(options) > 1 and prod(len(option.parts) for option in options) > _MOST_PARTS:
        for option in options:
            if len(option.parts) > 1:
                option.give_up(phrase("it has alternatives, and they are split in too many ways"))
    # Then results of before and after are about the same text; see `kragx.data.gold_changes`.
    is_whole = all(
        len(option.parts) == 1 and option.edited == 0 and not option.left_out for option in options
    )
    before = [option.probe.doc.id for option in options if option.probe.doc.id is not None]
    golds = []
    # (a and b) or c is (a or c) and (b or c).
    for ors in product(*(option.parts for option in options)):
        docs: dict[Any, Doc] = {}
        for doc in chain.from_iterable(ors):
            docs.setdefault(doc.id if doc.id is not None else ("text", doc.text), doc)
        first, *rest = docs.values()
        now = [doc.id for doc in docs.values() if doc.id is not None]
        record = {MOVE: {"from": before, "to": now}} if is_whole and before else {}
        metadata = {**first.metadata, **record}
        golds.append(Gold(first.id, first.text, gold.grade, tuple(rest), metadata))
    return golds


def _by_chunk(items: Sequence[_Item]) -> list[list[_Item]]:
    """The items that stand in the same chunks now and did not before."""
    groups: defaultdict[frozenset[str], list[_Item]] = defaultdict(list)
    for item in items:
        ids = [item.gold.id, *(alternative.id for alternative in item.gold.alternatives)]
        is_named = item.option is not None and item.option.probe.doc.id is not None
        if is_named and None not in ids:
            groups[frozenset(map(str, ids))].append(item)
    return [
        group
        for group in groups.values()
        if len({item.option.probe.doc.id for item in group if item.option}) > 1
    ]


def _leave_irrelevant(items: list[_Item]) -> None:
    """Leave to a person what was judged as not relevant and is in a chunk of relevant gold now."""
    relevant = {
        name: item
        for item in items
        if item.gold.grade > 0
        for name in (item.gold.id, *(alternative.id for alternative in item.gold.alternatives))
        if name is not None
    }
    for item in [*items]:
        option, gold = item.option, item.gold
        if option is None or gold.grade > 0 or option.choice.verdict == "same":
            continue
        if not option.is_open:
            ids = {doc.id for ors in option.parts for doc in ors}
            shared = next((name for name in relevant if name in ids), None)
            if shared is None:
                continue
            option.give_up(
                phrase(
                    "it is not relevant, and {id} holds gold of grade {grade:g} as well",
                    id=shared,
                    grade=relevant[shared].gold.grade,
                )
            )
        if gold.id is not None:
            first = next(candidate for candidate in items if candidate.number == item.number)
            if item is first:
                (doc,) = option.parts[0]
                item.gold = replace(
                    gold, id=None, text=doc.text, alternatives=(), metadata=doc.metadata
                )
    given_up = {item.number for item in items if item.option is not None and item.option.is_open}
    items[:] = [item for item in items if item.gold.id is None or item.number not in given_up]


def _joined(items: list[_Item]) -> list[_Item]:
    """Relevant items that are in one chunk now count once, with the highest of their grades."""
    removed: list[_Item] = []
    for group in _by_chunk([item for item in items if item.gold.grade > 0]):
        grade = max(item.gold.grade for item in group)
        places = [
            next((end for end in item.option.ends if end[2].id == item.gold.id), None)
            for item in group
            if item.option is not None
        ]
        first, *rest = group
        stretches = [place for place in places if place is not None]
        if len(stretches) < len(group):  # one that has not moved has all of the chunk
            whole = next((n for n, place in enumerate(places) if place is None), 0)
            if group[whole].gold.text is not None:
                continue
            first, rest = group[whole], [*group[:whole], *group[whole + 1 :]]
            first.gold = replace(first.gold, grade=grade)
        else:
            text = (stretches[0][2].text or "")[
                min(begin for begin, *_ in stretches) : max(end for _, end, _ in stretches)
            ]
            of_one = (*_OF_A_PART, MOVE)
            metadata = {n: v for n, v in first.gold.metadata.items() if n not in of_one}
            first.gold = replace(first.gold, text=text, grade=grade, metadata=metadata)
        removed += rest
    return [item for item in items if not any(item is removed_item for removed_item in removed)]
