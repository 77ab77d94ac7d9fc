"""A query's gold after the move: ands of ors again, with the words of the new corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from math import prod
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from kragx.data import Doc, Forbidden, Gold, Query, normalise
from kragx.data.gold_diff import MOVE
from kragx.data.words import unspaced
from kragx.ground.printing import message
from kragx.workshop.moving.blocks import Bools, letters
from kragx.workshop.moving.choosing import SLIVER, MoveOption, Piece
from kragx.workshop.moving.places import Chunk

_MOST_PARTS = 8
"""Items that the alternatives of one gold item may become."""

_OPENING = "([{<\"'“‘《「『【"
_PLACES = ("start", "start_index", "end", "end_index")
_EVIDENCE = ("evidence", "spans")
_OF_A_PART = (*_PLACES, *_EVIDENCE, "share")
_MARKS = ("moved", "old_id", MOVE)

Characters = NDArray[np.int32]


def option_of(choice: MoveOption) -> MoveOption:
    """What a gold item or an alternative becomes; the choice may be others', too."""
    option = replace(choice, parts=[], ends=[])
    if option.verdict == "same":
        option.parts, option.edited = [[option.probe.doc]], 0.0
    elif option.is_open:
        option.give_up(option.reason)
    elif option.probe.apart and len(option.pieces) > 1:
        option.give_up(
            message("its chunk is split, and its text is in other words than the chunk's")
        )
    else:
        _set_parts(option)
    return option


def _set_parts(option: MoveOption) -> None:
    """Make an item of each part, in the words of its chunk."""
    probe, doc = option.probe, option.probe.doc
    text = probe.text or ""
    # Where each letter of the gold text stands in it; in other words than the chunk's it is none.
    characters: Characters | None = letters([text]).place
    if probe.apart or characters is None or len(characters) != len(option.equal):
        characters = None
    is_equal, is_split = bool(option.equal.all()), len(option.pieces) > 1
    option.edited = 0.0 if is_equal else _edited(text, characters, option.equal)
    metadata = {n: v for n, v in doc.metadata.items() if n not in (*_MARKS, *_OF_A_PART)}
    for piece in option.pieces:
        chunk = piece.chunks[0]
        source = _source_of(doc, chunk)
        evidence = _evidence(piece, characters, 0 if source is None else source[1])
        if is_split and piece.share < SLIVER and not any(evidence.values()):
            option.left_out += 1
            continue
        begin, end = _ends(piece)
        own_text: str | None = chunk.text[begin:end]
        is_there = is_equal and not is_split and normalise(text) in normalise(chunk.text)
        if probe.apart or (is_there and doc.text is not None):
            own_text = doc.text
            offset = chunk.text.find(text, max(0, begin - len(text)))
            if offset >= 0 and not probe.apart:
                begin, end = offset, offset + len(text)
        elif is_there and len(option.equal) == chunk.size:
            own_text = None  # the chunk's own, as before
        named = {name: doc.metadata[name] for name in _PLACES if name in doc.metadata}
        if named and source is not None:
            named = {n: source[1] + (begin if "start" in n else end) for n in named}
            named["source"] = source[0]
        elif not is_equal or is_split:
            named = {}
        share = {"share": round(piece.share, 4)} if is_split else {}
        alternatives = {c.id: None for c in piece.chunks if c.id != chunk.id}
        new = Doc(chunk.id, own_text, {**metadata, **named, **evidence, **share})
        option.parts.append([new, *(Doc(name, own_text) for name in alternatives)])
        option.ends.append((begin, end, chunk))
    if not option.parts:
        option.give_up(message("its parts are many and small"))


def _edited(text: str, characters: Characters | None, equal: Bools) -> float:
    """The share of a text's words of which some letter is not there."""
    if characters is None:
        return float(1 - equal.mean())
    # A word ends where letters do not stand side by side, a character of some scripts at once.
    begins = np.concatenate(([True], np.diff(characters) > 1))
    if scripts := {char for char in set(text) if unspaced(char)}:
        alone = np.array([text[place] in scripts for place in characters.tolist()], bool)
        begins[1:] |= alone[1:] | alone[:-1]
    is_gone = np.logical_or.reduceat(~equal, np.flatnonzero(begins))
    return float(is_gone.mean())


def _ends(piece: Piece) -> tuple[int, int]:
    """Where a part stands in its first chunk, in characters, with the signs beside it."""
    chunk, text = piece.chunks[0], piece.chunks[0].text
    first, last = piece.place.inside(chunk)
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


def _evidence(piece: Piece, characters: Characters | None, base: int) -> dict[str, list[list[int]]]:
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


def rebuilt(query: Query, options: Sequence[Sequence[MoveOption]]) -> Query:
    """A query with its gold where it is now.

    Args:
        query: as it was.
        options: for each gold item itself, if it has an id or a text, and its alternatives.
    """
    for of_item in options:
        if len(of_item) > 1 and prod(len(option.parts) for option in of_item) > _MOST_PARTS:
            for option in of_item:
                if len(option.parts) > 1:
                    reason = message("it has alternatives, and they are split in too many ways")
                    option.give_up(reason)
    _leave_irrelevant(query, options)
    items = [
        (item, option[0] if len(option) == 1 else None)
        for gold, option in zip(query.gold, options)
        for item in _golds(gold, option)
    ]
    return replace(query, gold=_joined(items))


def _leave_irrelevant(query: Query, options: Sequence[Sequence[MoveOption]]) -> None:
    """Leave to a person what was judged as not relevant and is in a chunk of relevant gold now."""
    relevant = {
        doc.id: gold.grade
        for gold, of_item in zip(query.gold, options)
        for option in of_item
        for doc in chain.from_iterable(option.parts)
        if gold.grade > 0 and doc.id is not None
    }
    for gold, of_item in zip(query.gold, options):
        if gold.grade > 0 or len(of_item) != 1 or of_item[0].verdict == "same":
            continue
        ids = {doc.id for ors in of_item[0].parts for doc in ors}
        if (shared := next((name for name in relevant if name in ids), None)) is not None:
            of_item[0].give_up(
                message(
                    "it is not relevant, and {id} holds gold of grade {grade:g} as well",
                    id=shared,
                    grade=relevant[shared],
                )
            )


def _golds(gold: Gold, options: Sequence[MoveOption]) -> list[Gold]:
    """What a gold item becomes: itself, if all of it is as it was."""
    if all(option.verdict == "same" for option in options):
        return [gold]
    # Then results of before and after are about the same text; see `kragx.data.gold_diff`.
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


def _joined(items: Sequence[tuple[Gold, MoveOption | None]]) -> tuple[Gold, ...]:
    """Relevant items that are in one chunk now count once, with the highest of their grades."""
    groups: defaultdict[object, list[tuple[int, MoveOption]]] = defaultdict(list)
    golds: dict[int, Gold] = {}
    for number, (gold, option) in enumerate(items):
        golds[number] = gold
        ids = frozenset([gold.id, *(alternative.id for alternative in gold.alternatives)])
        if gold.grade > 0 and None not in ids and option and option.probe.doc.id is not None:
            groups[ids].append((number, option))
    for group in groups.values():
        if len({option.probe.doc.id for _, option in group}) == 1:
            continue
        # One that has not moved has all of the chunk.
        whole = next((n for n, option in group if option.verdict == "same"), None)
        if whole is not None and golds[whole].text is not None:
            continue
        first = group[0][0] if whole is None else whole
        gold = replace(golds[first], grade=max(golds[n].grade for n, _ in group))
        if whole is None:
            ends = [end for _, option in group for end in option.ends if end[2].id == gold.id]
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


def forbidden_moved(
    query: Query, options: Mapping[tuple[str, str], MoveOption]
) -> tuple[Forbidden, ...]:
    """What is forbidden for a query after the move: what is not the same chunk, by its text.

    Args:
        query: as it was.
        options: what became of `forbidden_docs`, by query and field.
    """
    moved: dict[Forbidden, None] = {}
    for number, item in enumerate(query.forbidden or ()):
        field = f"forbidden[{number}]"
        option = options.get((query.id, field))
        newer = options.get((query.id, f"{field}.superseded_by"))
        changes: dict[str, Any] = {}
        if _is_another(option):
            changes |= {"id": None, "text": option.probe.text}
        if _is_another(newer):
            newer_id, places = newer.parts[0][0].id, chain(*(option.parts if option else ()))
            # A chunk that holds both is not superseded by itself.
            is_itself = newer_id in {doc.id for doc in places}
            changes["superseded_by"] = None if is_itself else newer_id
        moved[replace(item, **changes)] = None
    return tuple(moved)


def _is_another(option: MoveOption | None) -> TypeGuard[MoveOption]:
    """Whether a document of the old corpus is not the same chunk in the new one."""
    return option is not None and option.verdict != "same" and option.probe.text is not None
