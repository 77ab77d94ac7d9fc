"""Labels as decisions on documents and gold items of results, and those that nobody gives.

Pairs whose places in their sources are both known match or do not, without a person.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from kragx.agreement.label_files import Key, document_name, text_name
from kragx.agreement.labels import Labels, read_labels
from kragx.data import Doc, Gold
from kragx.ground.errors import DataError, UsageError
from kragx.matchers import MatchItem
from kragx.metrics import Bools, Ints
from kragx.metrics.spans.offsets import is_place, value_of
from kragx.metrics.spans.reading import SpanOptions


def labelled(
    items: Sequence[MatchItem], labels: object, positive: float | None
) -> tuple[Ints, Bools, int]:
    """The labelled pairs, whether each is a match, and how many labels are of none of them.

    Args:
        items: the documents and gold of queries.
        labels: what `read_labels` takes; None for those that metadata give (`of_metadata`).
        positive: the least grade that is a match; None for that of the labels.

    Returns:
        (u, 3) query, document and gold item, by position, -1 for any gold item; (u) whether the
        label says that they match; the number of labels that are of no pair.

    Raises:
        UsageError: there is no label, or nobody knows which grades are a match.
        DataError: two labels of a pair differ, none is of a pair, or all are alike or of one query.
    """
    labels = of_metadata(items) if labels is None else read_labels(labels)
    positive = labels.positive if positive is None else positive
    if positive is None:
        raise UsageError(
            "which grades of {name} are a match is not known, as they are not by kragx's rubrics",
            field="positive",
            remedy="name the least one (--positive 3), or the rubric's file (--rubric FILE.yaml)",
            name=labels.name,
        )
    by_gold = labels.of_gold or {(*pair, None): grade for pair, grade in labels.grades.items()}
    pairs, truth, n_unused = _resolved(items, by_gold, positive)
    if len(np.unique(pairs[:, 0])) < 2:
        raise DataError("labels: all are of one query; at least two are needed, to choose on some")
    if truth.all() or not truth.any():
        kind = "a match" if truth.all() else "no match"
        raise DataError("labels: every pair is labelled {kind}; both kinds are needed", kind=kind)
    return pairs, truth, n_unused


def _resolved(
    items: Sequence[MatchItem], labels: Mapping[Key, float], positive: float
) -> tuple[Ints, Bools, int]:
    """The pairs of some labels, whether each is a match, and how many labels are of none.

    A document that a list repeats, or a gold item, is one pair, not several; but the same words
    without an id may stand in two places of a source, and answer in one of them.
    """
    rows = {item.query.id: row for row, item in enumerate(items)}
    # Once each, and only of queries that have a label, which are few.
    named = cache(lambda row: _named(items[row]))
    decisions: dict[tuple[tuple[int, int, int], bool], bool] = {}
    n_unused = 0
    for (query_id, doc_name, gold_name), grade in labels.items():
        match, row = grade >= positive, rows.get(query_id, -1)
        docs, golds = named(row) if row >= 0 else ({}, {})
        places = [*product((row,), docs.get(doc_name, ()), golds.get(gold_name, ()))]
        n_unused += not places
        is_of_alternative = isinstance(gold_name, str)
        for place in places:
            is_apart = items[row].docs[place[1]].id is None and not is_of_alternative
            pair = place, is_apart and match
            decision = decisions.setdefault(pair, match)
            if decision != match and not is_of_alternative:
                raise DataError(
                    "labels: query {query_id!r}, rank {rank} is labelled twice (it repeats "
                    "rank {first}), and the labels differ; keep one",
                    query_id=query_id,
                    rank=doc_name if isinstance(doc_name, int) else place[1] + 1,
                    first=place[1] + 1,
                )
            decisions[pair] = decision or match  # of alternatives one match is enough
    if not decisions:
        raise DataError(
            "labels: none of the {n_labels} labels is of a retrieved document and a gold item "
            "of the results",
            remedy="check query ids, document ids and ranks",
            n_labels=len(labels),
        )
    pairs, truth = zip(*sorted((place, decision) for (place, _), decision in decisions.items()))
    return np.array(pairs, np.int64), np.array(truth), n_unused


_Places = dict[str | int | None, list[int]]


def _named(item: MatchItem) -> tuple[_Places, _Places]:
    """Where an item's documents, and its gold, stand by all that a label may call them."""
    docs = [
        ((doc.id, text_name(doc.text)), {document_name(doc), text_name(doc.text)})
        for doc in item.docs
    ]
    golds: list[tuple[object, set[str | None]]] = []
    for gold in item.query.gold:
        targets: tuple[Gold | Doc, ...] = (gold, *gold.alternatives)
        texts = [text_name(target.text) for target in targets]
        golds.append(((gold.grade, *(target.id for target in targets), *texts), {gold.id, *texts}))
    places = _places(golds)
    # A label without a gold item is of any of them: the document answers, whatever it matches.
    places[None] = [-1] if any(gold.grade > 0 for gold in item.query.gold) else []
    return _places(docs), places


def _places(named: Sequence[tuple[object, Set[str | None]]]) -> _Places:
    """By name and by place from 1 on; what has the identity of another stands where that does."""
    places: defaultdict[str | int | None, list[int]] = defaultdict(list)
    first: dict[object, int] = {}
    for place, (identity, names) in enumerate(named):
        for name in {place + 1, *names}:
            if first.setdefault(identity, place) not in places[name]:
                places[name].append(first[identity])
    return places


_Stretch = tuple[str, int, int]  # source, start, end


def of_metadata(items: Iterable[MatchItem]) -> Labels:
    """A label of each pair of document and gold item both of which say where they were taken from.

    They say it in metadata, as coverage reads them (`SpanOptions`): ``source``, ``start`` and, if
    it is not where the text ends, ``end``. A match shares at least half of the characters of
    either.

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
            "'source' and 'start' where they were taken from; name a file with --labels"
        )
    return Labels({}, of_gold=labels)


def _match(chunk: _Stretch, gold: _Stretch) -> bool:
    (source, start, end), (gold_source, gold_start, gold_end) = chunk, gold
    shared = min(end, gold_end) - max(start, gold_start)
    # Of the shorter one: a long chunk with the whole answer is a match, and so is half an answer.
    shorter = min(end - start, gold_end - gold_start)
    return source == gold_source and shared > 0 and 2 * shared >= shorter


def _stretch(text: str | None, metadata: Mapping[str, Any]) -> _Stretch | None:
    keys = SpanOptions()
    source, start, end = (value_of(metadata, key) for key in (keys.source, keys.start, keys.end))
    if source is None or not is_place(start):
        return None
    end = start + len(text or "") if end is None else end
    return (str(source), start, end) if is_place(end) and end > start else None
