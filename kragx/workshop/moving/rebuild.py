"""A query's gold after the move: ands of ors again, with the words of the new corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, product
from math import prod
from typing import Any, TypeGuard

import numpy as np

from kragx.data import Doc, Forbidden, Gold, Query, normalise
from kragx.data.gold_changes import MOVE
from kragx.data.words import unspaced
from kragx.ground.printing import message
from kragx.workshop.folder.places import origin_of
from kragx.workshop.moving.blocks import Bools, Characters, letters
from kragx.workshop.moving.choosing import SLIVER, GoldPart, MoveOption
from kragx.workshop.moving.places import Piece

_MOST_PARTS = 8
"""Items that the alternatives of one gold item may become."""

_OPENING = "([{<\"'“‘《「『【"
_PLACES = ("start", "start_index", "end", "end_index")
_EVIDENCE = ("evidence", "spans")
_OF_A_PART = (*_PLACES, *_EVIDENCE, "share")
_MARKS = ("moved", "old_id", MOVE)


def finished(option: MoveOption) -> MoveOption:
    """What a gold item or an alternative becomes, in the words of the chunks where it is."""
    probe, text = option.probe, option.probe.text or ""
    if option.verdict == "same":
        return replace(option, parts=[GoldPart([probe.doc])], edited=0.0)
    if option.is_open:
        return given_up(option, option.reason)
    if probe.apart and len(option.pieces) > 1:
        split = message("its chunk is split, and its text is in other words than the chunk's")
        return given_up(option, split)
    # Where each letter of the gold text stands in it; in other words than the chunk's it is none.
    in_text = letters([text]).place
    characters = None if probe.apart or len(in_text) != len(option.equal) else in_text
    parts = [_part(option, piece, characters) for piece in option.pieces]
    option = replace(option, parts=[part for part in parts if part is not None])
    option = replace(option, edited=_edited(text, characters, option.equal))
    return option if option.parts else given_up(option, message("its parts are many and small"))


def given_up(option: MoveOption, reason: str) -> MoveOption:
    """Left to a person: its text stays in the gold set, without an id."""
    if option.verdict != "lost":
        candidates = dict(option.candidates)
        for piece in option.pieces if not candidates else ():
            for chunk in piece.chunks:
                candidates.setdefault(chunk.id, piece.share)
        option = replace(option, verdict="unsure", reason=reason, candidates=candidates)
    doc = option.probe.doc
    marks = {"moved": option.verdict} | ({} if doc.id is None else {"old_id": doc.id})
    left = Doc(None, option.probe.text, {**doc.metadata, **marks})
    return replace(option, parts=[GoldPart([left])])


def _part(option: MoveOption, piece: Piece, characters: Characters | None) -> GoldPart | None:
    """The item that a piece becomes; None if it is too small to be one."""
    probe, doc, chunk = option.probe, option.probe.doc, piece.chunks[0]
    is_equal, is_split = bool(option.equal.all()), len(option.pieces) > 1
    # The source in which its characters are counted now, and where the chunk begins in it.
    is_in_chunk = str(doc.metadata.get("source")) == doc.id
    source, start = (chunk.id, 0) if is_in_chunk else origin_of(chunk.doc)
    base = 0 if source is None or start is None else start
    evidence = {} if characters is None else _evidence(piece, characters, base)
    if is_split and piece.share < SLIVER and not any(evidence.values()):
        return None
    begin, end = _ends(piece)
    text: str = probe.text or ""
    part_text: str | None = chunk.text[begin:end]
    is_there = is_equal and not is_split and normalise(text) in normalise(chunk.text)
    if probe.apart or (is_there and doc.text is not None):
        part_text = doc.text
        offset = chunk.text.find(text, max(0, begin - len(text)))
        if offset >= 0 and not probe.apart:
            begin, end = offset, offset + len(text)
    elif is_there and len(option.equal) == chunk.end - chunk.begin:
        part_text = None  # the chunk's own, as before
    places = {name: doc.metadata[name] for name in _PLACES if name in doc.metadata}
    if places and source is not None and start is not None:
        places = {n: base + (begin if "start" in n else end) for n in places}
        places["source"] = source
    elif not is_equal or is_split:
        places = {}
    metadata = {n: v for n, v in doc.metadata.items() if n not in (*_MARKS, *_OF_A_PART)}
    metadata |= places | evidence | ({"share": round(piece.share, 4)} if is_split else {})
    others = dict.fromkeys(other.id for other in piece.chunks if other.id != chunk.id)
    docs = [Doc(chunk.id, part_text, metadata), *(Doc(name, part_text) for name in others)]
    return GoldPart(docs, chunk.text, begin, end)


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
    first = max(piece.place.begin, chunk.begin)
    begin, end = chunk.characters(first, max(first, min(piece.place.end, chunk.end) - 1))
    end += 1
    while begin and text[begin - 1] in _OPENING:
        begin -= 1
    while end < len(text) and not text[end].isspace() and not text[end].isalnum():
        end += 1
    return begin, end


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


def rebuilt(query: Query, options: Sequence[list[MoveOption]]) -> tuple[Gold, ...]:
    """The gold of a query where it is now.

    Args:
        query: as it was.
        options: for each gold item itself, if it has an id or a text, and its alternatives; those
            that the others make unsure are replaced.
    """
    for of_gold in options:
        if len(of_gold) > 1 and prod(len(option.parts) for option in of_gold) > _MOST_PARTS:
            reason = message("it has alternatives, and they are split in too many ways")
            of_gold[:] = [
                given_up(option, reason) if len(option.parts) > 1 else option for option in of_gold
            ]
    _leave_irrelevant(query, options)
    golds = [_golds(gold, of_gold) for gold, of_gold in zip(query.gold, options)]
    alone = [of_gold[0] if len(of_gold) == 1 else None for of_gold in options]
    return _joined([(gold, option) for items, option in zip(golds, alone) for gold in items])


def _leave_irrelevant(query: Query, options: Sequence[list[MoveOption]]) -> None:
    """Leave to a person what was judged as not relevant and is in a chunk of relevant gold now."""
    relevant = {
        doc.id: gold.grade
        for gold, of_gold in zip(query.gold, options)
        for doc in _docs_of(of_gold)
        if gold.grade > 0 and doc.id is not None
    }
    for gold, of_gold in zip(query.gold, options):
        if gold.grade > 0 or len(of_gold) != 1 or of_gold[0].verdict == "same":
            continue
        ids = {doc.id for doc in _docs_of(of_gold)}
        if (shared := next((name for name in relevant if name in ids), None)) is not None:
            holds = message(
                "it is not relevant, and {id} holds gold of grade {grade:g} as well",
                id=shared,
                grade=relevant[shared],
            )
            of_gold[0] = given_up(of_gold[0], holds)


def _docs_of(options: Iterable[MoveOption]) -> Iterator[Doc]:
    return (doc for option in options for part in option.parts for doc in part.docs)


def _golds(gold: Gold, options: Sequence[MoveOption]) -> list[Gold]:
    """What a gold item becomes: itself, if all of it is as it was."""
    if all(option.verdict == "same" for option in options):
        return [gold]
    # Then results of before and after are about the same text; see `kragx.data.gold_changes`.
    is_whole = all(
        option.verdict in ("same", "moved", "merged") and option.edited == 0 for option in options
    )
    before = [option.probe.doc.id for option in options if option.probe.doc.id is not None]
    golds = []
    # (a and b) or c is (a or c) and (b or c).
    for ors in product(*(option.parts for option in options)):
        docs: dict[Any, Doc] = {}
        for doc in chain.from_iterable(part.docs for part in ors):
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
    golds = {number: gold for number, (gold, _) in enumerate(items)}
    for number, (gold, option) in enumerate(items):
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
        number = group[0][0] if whole is None else whole
        gold = replace(golds[number], grade=max(golds[n].grade for n, _ in group))
        if whole is None:
            parts = [p for _, option in group for p in option.parts if p.docs[0].id == gold.id]
            text = parts[0].chunk_text[min(p.begin for p in parts) : max(p.end for p in parts)]
            metadata = {n: v for n, v in gold.metadata.items() if n not in (*_OF_A_PART, MOVE)}
            gold = replace(gold, text=text, metadata=metadata)
        for n, _ in group:
            del golds[n]
        golds[number] = gold
    return tuple(golds[number] for number in sorted(golds))


def forbidden_docs(item: Forbidden) -> tuple[Doc | None, Doc | None]:
    """The document that an item forbids, and the one that has taken its place, if it names them.

    An item of a source alone stays as it is.
    """
    places = {"source": item.source, "start": item.start, "end": item.end}
    metadata = {name: value for name, value in places.items() if value is not None}
    is_named = item.id is not None or item.text is not None
    doc = Doc(item.id, item.text, metadata) if is_named else None
    return doc, None if item.superseded_by is None else Doc(item.superseded_by)


def forbidden_moved(
    item: Forbidden, option: MoveOption | None, newer: MoveOption | None
) -> Forbidden:
    """What is forbidden after the move: what is not the same chunk, by its text.

    Args:
        item: as it was.
        option: what became of the first of its `forbidden_docs`.
        newer: the same of the second.
    """
    if option and option.verdict != "same" and option.probe.text is not None:
        item = replace(item, id=None, text=option.probe.text)
    if newer and newer.verdict != "same" and newer.probe.text is not None:
        newer_id = newer.parts[0].docs[0].id
        # A chunk that holds both is not superseded by itself.
        is_itself = newer_id in {doc.id for doc in _docs_of([option] if option else [])}
        item = replace(item, superseded_by=None if is_itself else newer_id)
    return item
