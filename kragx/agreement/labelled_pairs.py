"""Labels as decisions on documents and gold items of results, and those that nobody gives.

Pairs whose places in their sources are both known match or do not, without a person.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from kragx.agreement.label_files import Key, document_name, text_name
from kragx.agreement.labels import Labels
from kragx.data import Doc, Gold
from kragx.ground.errors import DataError, UsageError
from kragx.matchers import MatchItem
from kragx.metrics import Bools, Ints

_Places = Mapping[str | int | None, Sequence[int]]


def resolved(
    items: Sequence[MatchItem], labels: Mapping[Key, float], positive: float
) -> tuple[Ints, Bools, int]:
    """The labelled pairs, whether each is a match, and how many labels are of none of them.

    A document that a list repeats, or a gold item, is one pair, not several; but the same words
    without an id may stand in two places of a source, and answer in one of them.

    Returns:
        (u, 3) query, document and gold item, by position, -1 for any gold item; (u) whether the
        label says that they match; the number of labels that are of no pair.

    Raises:
        DataError: two labels of a pair differ, or none is of a pair.
    """
    rows = {item.query.id: row for row, item in enumerate(items)}
    # Once each, and only of queries that have a label, which are few.
    named = cache(lambda row: _named(items[row]))
    identities = cache(lambda row: _identities(items[row]))
    decisions: dict[object, tuple[tuple[int, int, int], bool]] = {}
    n_unused = 0
    for (query_id, doc_name, gold_name), grade in labels.items():
        match, row = grade >= positive, rows.get(query_id, -1)
        docs, golds = named(row) if row >= 0 else ({}, {})
        places = [*product((row,), docs.get(doc_name, ()), golds.get(gold_name, ()))]
        n_unused += not places
        for _, rank, gold in places:
            docs_of, golds_of = identities(row)
            is_of_alternative = isinstance(gold_name, str)
            is_apart = items[row].docs[rank].id is None and not is_of_alternative
            pair = row, docs_of[rank], golds_of[gold], is_apart and match
            # The first place stands for all of a pair; what is said of another place must agree.
            first, decision = decisions.setdefault(pair, ((row, rank, gold), match))
            if decision != match and not is_of_alternative:
                raise DataError(
                    "labels: query {query_id!r}, rank {rank} is labelled twice (it repeats "
                    "rank {first}), and the labels differ; keep one",
                    query_id=query_id,
                    rank=rank + 1,
                    first=first[1] + 1,
                )
            decisions[pair] = first, decision or match  # of alternatives one match is enough
    if not decisions:
        raise DataError(
            "labels: none of the {n_labels} labels is of a retrieved document and a gold item "
            "of the results",
            remedy="check query ids, document ids and ranks",
            n_labels=len(labels),
        )
    pairs, truth = zip(*sorted(decisions.values()), strict=True)
    return np.array(pairs, np.int64), np.array(truth), n_unused


def _named(item: MatchItem) -> tuple[_Places, _Places]:
    """Where an item's documents, and its gold, stand by all that a label may call them."""
    docs: defaultdict[str | int | None, list[int]] = defaultdict(list)
    golds: defaultdict[str | int | None, list[int]] = defaultdict(list)
    names: set[str | int | None]
    for place, doc in enumerate(item.docs):
        names = {place + 1, document_name(doc), text_name(doc.text)}
        for name in names:
            docs[name].append(place)
    for place, gold in enumerate(item.query.gold):
        names = {place + 1, gold.id, *(text_name(target.text) for target in _targets(gold))}
        for name in names:
            golds[name].append(place)
    # A label without a gold item is of any of them: the document answers, whatever it matches.
    golds[None] = [-1] if any(gold.grade > 0 for gold in item.query.gold) else []
    return docs, golds


def _identities(item: MatchItem) -> tuple[list[object], list[object]]:
    """What tells an item's documents from each other, and its gold; at -1 stands any gold."""
    golds: list[object] = [
        (gold.grade, *((target.id, text_name(target.text)) for target in _targets(gold)))
        for gold in item.query.gold
    ]
    return [(doc.id, text_name(doc.text)) for doc in item.docs], [*golds, None]


def _targets(gold: Gold) -> tuple[Gold | Doc, ...]:
    return gold, *gold.alternatives


_Stretch = tuple[str, int, int]  # source, start, end


def of_metadata(items: Iterable[MatchItem]) -> Labels:
    """A label of each pair of document and gold item both of which say where they were taken from.

    They say it in metadata: ``source``, ``start_index`` and, if it is not where the text ends,
    ``end_index``, in characters. A match shares at least half of the characters of either.

    Raises:
        UsageError: there is no such pair.
    """
    labels: dict[Key, float] = {}
    for item in items:
        golds = [_stretch(gold.text, gold.metadata) for gold in item.query.gold]
        for rank, doc in enumerate(item.docs, start=1):
            chunk = _stretch(doc.text, doc.metadata)
            for number, gold in enumerate(golds, start=1):
                if chunk is not None and gold is not None:
                    labels[item.query.id, rank, number] = float(_match(chunk, gold))
    if not labels:
        raise UsageError(
            "labels: none are given, and no document and gold item of a query say in metadata "
            "'source' and 'start_index' where they were taken from; name a file with --labels"
        )
    return Labels({}, of_gold=labels)


def _match(chunk: _Stretch, gold: _Stretch) -> bool:
    (source, start, end), (gold_source, gold_start, gold_end) = chunk, gold
    shared = min(end, gold_end) - max(start, gold_start)
    # Of the shorter one: a long chunk with the whole answer is a match, and so is half an answer.
    shorter = min(end - start, gold_end - gold_start)
    return source == gold_source and shared > 0 and 2 * shared >= shorter


def _stretch(text: str | None, metadata: Mapping[str, Any]) -> _Stretch | None:
    source, start = metadata.get("source"), metadata.get("start_index")
    end = metadata.get("end_index", None if text is None or start is None else start + len(text))
    if source is None or not isinstance(start, int) or not isinstance(end, int) or end <= start:
        return None
    return str(source), start, end
