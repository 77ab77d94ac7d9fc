"""A query after the move: its gold, ands of ors again, and what must not be found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from math import prod
from typing import Any, TypeGuard

import numpy as np

from kragx.data import Doc, Forbidden, Gold, Query, normalise
from kragx.data.gold_changes import MOVE
from kragx.data.lists import Ints
from kragx.data.words import unspaced
from kragx.ground.printing import phrase
from kragx.workshop.moving.choosing import SLIVER, Outcome, Piece
from kragx.workshop.moving.letters import letters
from kragx.workshop.moving.places import Chunk

_MOST_PARTS = 8  # items that the alternatives of one gold item may become
_OPENING = "([{<\"'“‘《「『【"
_PLACES = ("start", "start_index", "end", "end_index")
_EVIDENCE = ("evidence", "spans")
_OF_A_PART = (*_PLACES, *_EVIDENCE, "share")
_MARKS = ("moved", "old_id", MOVE)


def set_parts(outcome: Outcome) -> None:
    """Say what takes the place of a gold item or an alternative."""
    if outcome.verdict == "same":
        outcome.parts, outcome.edited = [[outcome.probe.doc]], 0.0
    elif outcome.is_open:
        _give_up(outcome, outcome.reason)
    elif outcome.probe.apart and len(outcome.pieces) > 1:
        reason = phrase("its chunk is split, and its text is in other words than the chunk's")
        _give_up(outcome, reason)
    else:
        _set_pieces(outcome)


def _give_up(outcome: Outcome, reason: str) -> None:
    """Leave it to a person: its text stays in the gold set, without an id."""
    if outcome.verdict != "lost":
        candidates = [(chunk, piece.share) for piece in outcome.pieces for chunk in piece.chunks]
        outcome.verdict, outcome.reason = "unsure", reason
        outcome.candidates = outcome.candidates or candidates
    doc, marks = outcome.probe.doc, {"moved": outcome.verdict}
    old_id = {} if doc.id is None else {"old_id": doc.id}
    outcome.parts = [[Doc(None, outcome.probe.text, {**doc.metadata, **marks, **old_id})]]
    outcome.ends = []


def _set_pieces(outcome: Outcome) -> None:
    """Make an item of each piece, in the words of its chunk."""
    probe, doc = outcome.probe, outcome.probe.doc
    text = probe.text or ""
    # Where each letter of the gold text stands in it; in other words than the chunk's it is none.
    characters: Ints | None = letters([text]).place
    if probe.apart or characters is None or len(characters) != len(outcome.equal):
        characters = None
    is_equal, is_split = bool(outcome.equal.all()), len(outcome.pieces) > 1
    outcome.edited = 0.0 if is_equal else _edited(text, characters, outcome)
    metadata = {n: v for n, v in doc.metadata.items() if n not in (*_MARKS, *_OF_A_PART)}
    for piece in outcome.pieces:
        chunk = piece.chunks[0]
        source = _source_of(doc, chunk)
        evidence = _evidence(piece, characters, 0 if source is None else source[1])
        if is_split and piece.share < SLIVER and not any(evidence.values()):
            outcome.left_out += 1
            continue
        begin, end = _ends(piece)
        part_text: str | None = chunk.text[begin:end]
        is_there = is_equal and not is_split and normalise(text) in normalise(chunk.text)
        if probe.apart or (is_there and doc.text is not None):
            part_text = doc.text
            offset = chunk.text.find(text, max(0, begin - len(text)))
            if offset >= 0 and not probe.apart:
                begin, end = offset, offset + len(text)
        elif is_there and len(outcome.equal) == chunk.end - chunk.place:
            part_text = None  # the chunk's own, as before
        named = {name: doc.metadata[name] for name in _PLACES if name in doc.metadata}
        if named and source is not None:
            named = {n: source[1] + (begin if "start" in n else end) for n in named}
            named["source"] = source[0]
        elif not is_equal or is_split:
            named = {}
        share = {"share": round(piece.share, 4)} if is_split else {}
        ids = dict.fromkeys(c.id for c in piece.chunks if c.id != chunk.id)
        first = Doc(chunk.id, part_text, {**metadata, **named, **evidence, **share})
        outcome.parts.append([first, *(Doc(name, part_text) for name in ids)])
        outcome.ends.append((begin, end, chunk))
    if not outcome.parts:
        _give_up(outcome, phrase("its parts are many and small"))


def _edited(text: str, characters: Ints | None, outcome: Outcome) -> float:
    """The share of a text's words of which some letter is not there."""
    if characters is None:
        return float(1 - outcome.equal.mean())
    # A word ends where letters do not stand side by side, a character of some scripts at once.
    begins = np.concatenate(([True], np.diff(characters) > 1))
    if scripts := {char for char in set(text) if unspaced(char)}:
        alone = np.array([text[place] in scripts for place in characters.tolist()], bool)
        begins[1:] |= alone[1:] | alone[:-1]
    is_gone = np.logical_or.reduceat(~outcome.equal, np.flatnonzero(begins))
    return float(is_gone.mean())


def _ends(piece: Piece) -> tuple[int, int]:
    """Where a part stands in its first chunk, in characters, with the signs beside it."""
    chunk, text = piece.chunks[0], piece.chunks[0].text
    first, last = max(piece.place.begin, chunk.place), min(piece.place.end, chunk.end)
    begin, end = chunk.characters(first, max(first, last - 1))
    end += 1
    while begin and text[begin - 1] in _OPENING:
        begin -= 1
    while end < len(text) and not text[end].isspace() and not text[end].isalnum():
        end += 1
    return begin, end


def _source_of(doc: Doc, chunk: Chunk) -> tuple[str, int] | None:
    """The source in which the places of an item are counted in a chunk, and its first character."""
    if str(doc.metadata.get("source")) == doc.id:  # in the chunk's own text
        return chunk.id, 0
    return None if chunk.start is None or chunk.source is None else (chunk.source, chunk.start)


def _evidence(piece: Piece, characters: Ints | None, base: int) -> dict[str, list[list[int]]]:
    """The evidence of an item, pairs of characters of its source, in the new chunk's.

    `base` is where the new chunk begins in it. Where no source is known, and of a chunk that is its
    own, pairs are counted in the chunk.
    """
    moved: dict[str, list[list[int]]] = {}
    probe, chunk = piece.place.probe, piece.chunks[0]
    for name in _EVIDENCE:
        pairs = probe.doc.metadata.get(name)
        if characters is None or not _are_pairs(pairs):
            continue
        in_source = characters - characters[0] + probe.begin
        if probe.start is not None and str(probe.doc.metadata.get("source")) == probe.source:
            in_source += probe.start - probe.begin
        moved[name] = []
        for pair in pairs:
            # Characters to letters: marks and spaces between have none, so an end goes to the next
            # letter.
            low, high = np.clip(np.searchsorted(in_source, pair), piece.low, piece.high).tolist()
            positions = piece.place.positions[low:high]
            if len(positions := positions[(positions >= chunk.place) & (positions < chunk.end)]):
                begin, end = chunk.characters(positions[0], positions[-1])
                moved[name].append([base + begin, base + end + 1])
    return moved


def _are_pairs(value: object) -> TypeGuard[Sequence[Sequence[int]]]:
    return isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(n, int) for n in pair)
        for pair in value
    )


def rebuilt(query: Query, outcomes: Sequence[Sequence[Outcome]]) -> tuple[Query, int]:
    """A query with its gold where it is now, and how many items became one with another.

    Args:
        query: as it was.
        outcomes: for each gold item itself, if it has an id or a text, and its alternatives.
    """
    for of_item in outcomes:
        if len(of_item) > 1 and prod(len(outcome.parts) for outcome in of_item) > _MOST_PARTS:
            for outcome in of_item:
                if len(outcome.parts) > 1:
                    reason = phrase("it has alternatives, and they are split in too many ways")
                    _give_up(outcome, reason)
    _leave_irrelevant(query, outcomes)
    items = [
        (item, of_item[0] if len(of_item) == 1 else None)
        for gold, of_item in zip(query.gold, outcomes)
        for item in _golds(gold, of_item)
    ]
    joined = _joined(items)
    return replace(query, gold=joined), len(items) - len(joined)


def _leave_irrelevant(query: Query, outcomes: Sequence[Sequence[Outcome]]) -> None:
    """Leave to a person what was judged as not relevant and is in a chunk of relevant gold now."""
    relevant = {
        doc.id: gold.grade
        for gold, of_item in zip(query.gold, outcomes)
        for outcome in of_item
        for doc in chain.from_iterable(outcome.parts)
        if gold.grade > 0 and doc.id is not None
    }
    for gold, of_item in zip(query.gold, outcomes):
        if gold.grade > 0 or len(of_item) != 1 or of_item[0].verdict == "same":
            continue
        ids = {doc.id for ors in of_item[0].parts for doc in ors}
        if (shared := next((name for name in relevant if name in ids), None)) is not None:
            reason = phrase(
                "it is not relevant, and {id} holds gold of grade {grade:g} as well",
                id=shared,
                grade=relevant[shared],
            )
            _give_up(of_item[0], reason)


def _golds(gold: Gold, outcomes: Sequence[Outcome]) -> list[Gold]:
    """What a gold item becomes: itself, if all of it is as it was."""
    if all(outcome.verdict == "same" for outcome in outcomes):
        return [gold]
    # Then results of before and after are about the same text; see `kragx.data.gold_changes`.
    is_whole = all(
        len(outcome.parts) == 1 and outcome.edited == 0 and not outcome.left_out
        for outcome in outcomes
    )
    before = [outcome.probe.doc.id for outcome in outcomes if outcome.probe.doc.id is not None]
    golds = []
    # (a and b) or c is (a or c) and (b or c).
    for ors in product(*(outcome.parts for outcome in outcomes)):
        docs: dict[Any, Doc] = {}
        for doc in chain.from_iterable(ors):
            docs.setdefault(doc.id if doc.id is not None else ("text", doc.text), doc)
        first, *rest = docs.values()
        now = [doc.id for doc in docs.values() if doc.id is not None]
        record = {MOVE: {"from": before, "to": now}} if is_whole and before else {}
        metadata = {**first.metadata, **record}
        golds.append(Gold(first.id, first.text, gold.grade, tuple(rest), metadata))
    return golds


def _joined(items: Sequence[tuple[Gold, Outcome | None]]) -> tuple[Gold, ...]:
    """Relevant items that are in one chunk now count once, with the highest of their grades."""
    groups: defaultdict[object, list[tuple[int, Outcome]]] = defaultdict(list)
    golds = {number: gold for number, (gold, _) in enumerate(items)}
    for number, (gold, outcome) in enumerate(items):
        ids = frozenset([gold.id, *(alternative.id for alternative in gold.alternatives)])
        if gold.grade > 0 and None not in ids and outcome and outcome.probe.doc.id is not None:
            groups[ids].append((number, outcome))
    for group in groups.values():
        if len({outcome.probe.doc.id for _, outcome in group}) == 1:
            continue
        # One that has not moved has all of the chunk.
        whole = next((n for n, outcome in group if outcome.verdict == "same"), None)
        if whole is not None and golds[whole].text is not None:
            continue
        first = group[0][0] if whole is None else whole
        gold = replace(golds[first], grade=max(golds[n].grade for n, _ in group))
        if whole is None:
            ends = [end for _, outcome in group for end in outcome.ends if end[2].id == gold.id]
            text = ends[0][2].text[min(end[0] for end in ends) : max(end[1] for end in ends)]
            of_one = (*_OF_A_PART, MOVE)
            metadata = {n: v for n, v in gold.metadata.items() if n not in of_one}
            gold = replace(gold, text=text, metadata=metadata)
        for number, _ in group:
            del golds[number]
        golds[first] = gold
    return tuple(golds[number] for number in sorted(golds))


def forbidden_docs(query: Query) -> Iterator[tuple[int, str, Doc]]:
    """The documents that items of a query forbid, and those that have taken their place.

    Each with the number of its item and its field. An item of a source alone stays as it is.
    """
    for number, item in enumerate(query.forbidden or ()):
        if item.id is not None or item.text is not None:
            places = {"source": item.source, "start": item.start, "end": item.end}
            metadata = {name: value for name, value in places.items() if value is not None}
            yield number, f"forbidden[{number}]", Doc(item.id, item.text, metadata)
        if item.superseded_by is not None:
            yield number, f"forbidden[{number}].superseded_by", Doc(item.superseded_by)


def forbidden_moved(query: Query, outcomes: Mapping[str, Outcome]) -> tuple[Forbidden, ...]:
    """What is forbidden for a query after the move.

    A text that is split is forbidden in each of its parts, and one that several chunks hold in all
    of them. What is lost, or nobody knows where, stays with its text and without an id.

    Args:
        query: as it was.
        outcomes: what became of `forbidden_docs`, by field.
    """
    moved: dict[Forbidden, None] = {}
    for number, item in enumerate(query.forbidden or ()):
        outcome = outcomes.get(f"forbidden[{number}]")
        newer_id = _id(outcomes.get(f"forbidden[{number}].superseded_by"))
        bare = replace(item, superseded_by=None)
        for new_item in [bare] if outcome is None else _items(bare, outcome):
            # A chunk that holds both is not superseded by itself.
            is_itself = new_item.id == newer_id
            moved[new_item if is_itself else replace(new_item, superseded_by=newer_id)] = None
    return tuple(moved)


def _items(item: Forbidden, outcome: Outcome) -> list[Forbidden]:
    if outcome.verdict == "same":
        return [item]
    if outcome.is_open:
        text = outcome.probe.text
        return [replace(item, id=None, text=text)] if text is not None else [item]
    items: list[Forbidden] = []
    for ors in outcome.parts:
        source, start, end = map(ors[0].metadata.get, ("source", "start", "end"))
        place = replace(item, source=None if start is None else source, start=start, end=end)
        items += [replace(place, id=doc.id, text=doc.text) for doc in ors]
    return items


def _id(outcome: Outcome | None) -> str | None:
    """The id of what has taken a document's place; none where nobody knows it any more."""
    if outcome is None:
        return None
    if outcome.verdict == "same" or outcome.probe.text is None:
        return outcome.probe.doc.id  # of no document of the old corpus nothing is known
    return outcome.parts[0][0].id
