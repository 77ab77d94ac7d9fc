"""From labels to the pairs of a retrieved document and a gold item that they are of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kragx.agreement.label_files import Label, shares_half
from kragx.data.text import normalise
from kragx.errors import DataError
from kragx.matchers import MatchItem
from kragx.metrics.table import Bools, Ints

_Place = tuple[int, int, int]  # query, document, gold item
_Stretch = tuple[str, int, int]  # source, start, end


def resolved(
    items: Sequence[MatchItem], labels: Sequence[Label], positive: float
) -> tuple[Ints, Bools, int]:
    """The labelled pairs, whether each is a match, and how many labels are of none of them.

    Returns:
        (u, 3) query, document and gold item, by position, -1 for any gold item; (u) whether the
        label says that they match; the number of labels that are of no pair.

    Raises:
        DataError: two labels of a pair differ, or none is of a pair.
    """
    rows = {item.query.id: row for row, item in enumerate(items)}
    by_texts = _by_texts(items) if any(label.query_id is None for label in labels) else {}
    known: dict[_Place, bool] = {}
    n_unused = 0
    for label in labels:
        match = label.grade >= positive
        if label.query_id is None:
            places = by_texts.get((_normalised(label.doc_text), _normalised(label.gold_text)), [])
            for place in places:  # a gold item and its alternatives: one that matches is enough
                known[place] = known.get(place, False) or match
        else:
            row = rows.get(label.query_id)
            places = [] if row is None else _places(items[row], row, label)
            for place in places:
                if known.setdefault(place, match) != match:
                    raise DataError(
                        f"labels: query {label.query_id!r}, rank {place[1] + 1} is labelled "
                        "twice, and the labels differ; keep one"
                    )
        n_unused += not places
    if not known:
        raise DataError(
            f"labels: none of the {len(labels)} labels is of a retrieved document and a gold item "
            "of the results; check query ids, document ids and ranks"
        )
    ordered = sorted(known)
    return np.array(ordered, np.int64), np.array([known[place] for place in ordered]), n_unused


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


def _places(item: MatchItem, row: int, label: Label) -> list[_Place]:
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
        for position, one in enumerate(gold)
        if label.gold in (None, position + 1) and label.gold_id in (None, one.id)
    ]
    if label.gold is None and label.gold_id is None:
        golds = [-1] if any(one.grade > 0 for one in gold) else []
    return [(row, doc, position) for doc in docs for position in golds]


def of_metadata(items: Iterable[MatchItem]) -> Iterator[Label]:
    """Labels of the pairs whose places in their sources are both known."""
    for item in items:
        golds = [_stretch(gold.text, gold.metadata) for gold in item.query.gold]
        for rank, doc in enumerate(item.docs, start=1):
            chunk = _stretch(doc.text, doc.metadata)
            for number, gold in enumerate(golds, start=1):
                if chunk is not None and gold is not None:
                    match = float(_match(chunk, gold))
                    yield Label(match, item.query.id, rank=rank, gold=number)


def _match(chunk: _Stretch, gold: _Stretch) -> bool:
    (source, start, end), (gold_source, gold_start, gold_end) = chunk, gold
    shared = min(end, gold_end) - max(start, gold_start)
    return source == gold_source and shares_half(shared, end - start, gold_end - gold_start)


def _stretch(text: str | None, metadata: Mapping[str, Any]) -> _Stretch | None:
    source, start = metadata.get("source"), metadata.get("start_index")
    end = metadata.get("end_index", None if text is None or start is None else start + len(text))
    if source is None or not isinstance(start, int) or not isinstance(end, int) or end <= start:
        return None
    return str(source), start, end
