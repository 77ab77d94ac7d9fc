"""Labels as decisions on documents and gold items of results, and those that nobody gives.

Pairs whose places in their sources are both known match or do not, without a person.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from kragx.agreement.label_files import Label
from kragx.data import Doc, Gold, normalise
from kragx.ground.errors import DataError
from kragx.ground.printing import message
from kragx.matchers import MatchItem
from kragx.metrics import Bools, Ints

_Place = tuple[int, int, int]  # query, document, gold item


def resolved(
    items: Sequence[MatchItem], labels: Sequence[Label], positive: float
) -> tuple[Ints, Bools, list[Label]]:
    """The labelled pairs, whether each is a match, and the labels of none of them.

    A document that a list repeats, or a gold item, is one pair, not several; but the same words
    without an id may stand in two places of a source, and answer in one of them.

    Returns:
        (u, 3) query, document and gold item, by position, -1 for any gold item; (u) whether the
        label says that they match; the labels that are of no pair.

    Raises:
        DataError: two labels of a pair differ, or none is of a pair.
    """
    by_query = {item.query.id: row for row, item in enumerate(items)}
    by_texts = _by_texts(items) if any(label.query_id is None for label in labels) else {}
    # Once each, and only of queries that have a label, which are few.
    identities = cache(lambda row: _identities(items[row]))
    decisions: dict[object, tuple[_Place, bool]] = {}
    unused = []
    for label in labels:
        match = label.grade >= positive
        if label.query_id is None:
            places = by_texts.get((_normalised(label.doc_text), _normalised(label.gold_text)), [])
        elif label.query_id in by_query:
            row = by_query[label.query_id]
            places = _places(row, items[row], label)
        else:
            places = []
        for place in places:
            docs, golds = identities(place[0])
            doc, gold = docs[place[1]], golds[place[2]]
            # The first place stands for all of a pair; what is said of another place must agree.
            first, decision = decisions.setdefault((place[0], doc, gold), (place, match))
            if decision == match:
                continue
            if label.query_id is None:  # a gold item and its alternatives: one match is enough
                decisions[place[0], doc, gold] = first, True
            elif place != first and items[place[0]].docs[place[1]].id is None:
                decisions.setdefault((place[0], doc, gold, match), (place, match))
            else:
                raise DataError(
                    "labels: query {query_id!r}, rank {rank} is labelled twice, and the labels "
                    "differ; keep one"
                    if place[1] == first[1]
                    else "labels: query {query_id!r}, rank {rank} is labelled twice (it repeats "
                    "rank {first}), and the labels differ; keep one",
                    query_id=label.query_id,
                    rank=place[1] + 1,
                    first=first[1] + 1,
                )
        if not places:
            unused.append(label)
    if not decisions:
        raise DataError(
            message(
                "labels: none of the {n_labels} labels is of a retrieved document and a gold item "
                "of the results",
                n_labels=len(labels),
            ),
            remedy="check query ids, document ids and ranks",
        )
    pairs, truth = zip(*sorted(decisions.values()), strict=True)
    return np.array(pairs, np.int64), np.array(truth), unused


def _identities(item: MatchItem) -> tuple[list[object], list[object]]:
    """What tells an item's documents from each other, and its gold; at -1 stands any gold."""
    docs = [(doc.id, _normalised(doc.text)) for doc in item.docs]
    golds: list[object] = []
    for gold in item.query.gold:
        targets: tuple[Gold | Doc, ...] = (gold, *gold.alternatives)
        golds.append((gold.grade, *((target.id, _normalised(target.text)) for target in targets)))
    return [*docs], [*golds, None]


def _by_texts(items: Iterable[MatchItem]) -> dict[tuple[str | None, str | None], list[_Place]]:
    places: dict[tuple[str | None, str | None], list[_Place]] = defaultdict(list)
    for row, item in enumerate(items):
        for rank, doc in enumerate(item.docs):
            for target in item.targets:
                texts = _normalised(doc.text), _normalised(target.text)
                places[texts].append((row, rank, target.gold))
    return places


def _normalised(text: str | None) -> str | None:
    return None if text is None else normalise(text)


def _places(row: int, item: MatchItem, label: Label) -> list[_Place]:
    text, gold = _normalised(label.doc_text), item.query.gold
    docs = [
        position
        for position, doc in enumerate(item.docs)
        if label.rank in (None, position + 1)
        and label.doc_id in (None, doc.id)
        and (text is None or text == _normalised(doc.text))
    ]
    golds = [
        position
        for position, item_gold in enumerate(gold)
        if label.gold in (None, position + 1) and label.gold_id in (None, item_gold.id)
    ]
    # A label without a gold item is of any of them: the document answers, whatever it matches.
    if label.gold is None and label.gold_id is None:
        golds = [-1] if any(item_gold.grade > 0 for item_gold in gold) else []
    return [(row, doc, position) for doc in docs for position in golds]


_Stretch = tuple[str, int, int]  # source, start, end


def of_metadata(items: Iterable[MatchItem]) -> Iterator[Label]:
    """A label of each pair of document and gold item both of which say where they were taken from.

    They say it in metadata: ``source``, ``start_index`` and, if it is not where the text ends,
    ``end_index``, in characters. A match shares at least half of the characters of either.
    """
    for item in items:
        golds = [_stretch(gold.text, gold.metadata) for gold in item.query.gold]
        for rank, doc in enumerate(item.docs, start=1):
            chunk = _stretch(doc.text, doc.metadata)
            for number, gold in enumerate(golds, start=1):
                if chunk is not None and gold is not None:
                    yield Label(float(_match(chunk, gold)), item.query.id, rank=rank, gold=number)


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
