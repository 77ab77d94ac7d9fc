"""A query's gold after the move: ands of ors again, and what is forbidden."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, product
from math import prod
from typing import Any

from kragx.data import Doc, Forbidden, Gold, Query
from kragx.data.gold_changes import MOVE
from kragx.ground.printing import message
from kragx.workshop.moving.choosing import OF_A_PART, Moved

_MOST_PARTS = 8
"""Items that the alternatives of one gold item may become."""


def rebuilt(query: Query, options: Sequence[list[Moved]]) -> tuple[Gold, ...]:
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
                option.given_up(reason) if len(option.parts) > 1 else option for option in of_gold
            ]
    _leave_irrelevant(query, options)
    golds: list[tuple[Gold, Moved | None]] = []
    for gold, of_gold in zip(query.gold, options):
        alone = of_gold[0] if len(of_gold) == 1 else None
        golds += [(item, alone) for item in _golds(gold, of_gold)]
    return _joined(golds)


def _leave_irrelevant(query: Query, options: Sequence[list[Moved]]) -> None:
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
            of_gold[0] = of_gold[0].given_up(holds)


def _docs_of(options: Iterable[Moved]) -> Iterator[Doc]:
    return (doc for option in options for part in option.parts for doc in part.docs)


def _golds(gold: Gold, options: Sequence[Moved]) -> list[Gold]:
    """What a gold item becomes: itself, if all of it is as it was."""
    if all(option.verdict == "same" for option in options):
        return [gold]
    # Then results of before and after are about the same text; see `kragx.data.gold_changes`.
    is_whole = all(
        option.verdict in ("same", "moved", "merged") and option.edited == 0 for option in options
    )
    before = [option.before.id for option in options if option.before.id is not None]
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


def _joined(items: Sequence[tuple[Gold, Moved | None]]) -> tuple[Gold, ...]:
    """Relevant items that are in one chunk now count once, with the highest of their grades."""
    groups: defaultdict[object, list[tuple[int, Moved]]] = defaultdict(list)
    golds = {number: gold for number, (gold, _) in enumerate(items)}
    for number, (gold, option) in enumerate(items):
        ids = frozenset([gold.id, *(alternative.id for alternative in gold.alternatives)])
        if gold.grade > 0 and None not in ids and option and option.before.id is not None:
            groups[ids].append((number, option))
    for group in groups.values():
        if len({option.before.id for _, option in group}) == 1:
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
            metadata = {n: v for n, v in gold.metadata.items() if n not in (*OF_A_PART, MOVE)}
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


def forbidden_moved(item: Forbidden, option: Moved | None, newer: Moved | None) -> Forbidden:
    """What is forbidden after the move: what is not the same chunk, by its text.

    Args:
        item: as it was.
        option: what became of the first of its `forbidden_docs`.
        newer: the same of the second.
    """
    if option and option.verdict != "same" and option.before.text is not None:
        item = replace(item, id=None, text=option.before.text)
    if newer and newer.verdict != "same" and newer.before.text is not None:
        newer_id = newer.parts[0].docs[0].id
        # A chunk that holds both is not superseded by itself.
        is_itself = newer_id in {doc.id for doc in _docs_of([option] if option else [])}
        item = replace(item, superseded_by=None if is_itself else newer_id)
    return item
