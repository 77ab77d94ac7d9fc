"""From labels to the pairs of a retrieved document and a gold item that they are of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kragx.agreement.labels import Label
from kragx.data.text import normalise
from kragx.errors import DataError
from kragx.matchers import MatchItem
from kragx.metrics.table import Bools, Ints

_Place = tuple[int, int, int]


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
    unused = 0
    for label in labels:
        match = label.grade >= positive
        if label.query_id is None:
            places = by_texts.get((_plain(label.doc_text), _plain(label.gold_text)), [])
            for place in places:  # a gold item and its alternatives: one that matches is enough
                known[place] = known.get(place, False) or match
        else:
            own = rows.get(label.query_id)
            places = [] if own is None else _places(items[own], own, label)
            for place in places:
                if known.setdefault(place, match) != match:
                    raise DataError(
                        f"labels: query {label.query_id!r}, rank {place[1] + 1} is labelled "
                        "twice, and the labels differ; keep one"
                    )
        unused += not places
    if not known:
        raise DataError(
            f"labels: none of the {len(labels)} labels is of a retrieved document and a gold item "
            "of the results; check query ids, document ids and ranks"
        )
    ordered = sorted(known)
    return np.array(ordered, np.int64), np.array([known[place] for place in ordered]), unused


def _by_texts(items: Iterable[MatchItem]) -> dict[tuple[str | None, str | None], list[_Place]]:
    found: dict[tuple[str | None, str | None], list[_Place]] = {}
    for row, item in enumerate(items):
        for doc, retrieved in enumerate(item.docs):
            for target in item.targets:
                texts = _plain(retrieved.text), _plain(target.text)
                found.setdefault(texts, []).append((row, doc, target.gold))
    return found


def _plain(text: str | None) -> str | None:
    return None if text is None else normalise(text)


def of_metadata(items: Iterable[MatchItem]) -> Iterator[Label]:
    """Labels of the pairs whose places in their sources are both known."""
    for item in items:
        golds = [_place(gold.text, gold.metadata) for gold in item.query.gold]
        for rank, doc in enumerate(item.docs, start=1):
            one = _place(doc.text, doc.metadata)
            for at, other in enumerate(golds, start=1):
                if one is None or other is None:
                    continue
                shared = min(one[2], other[2]) - max(one[1], other[1]) if one[0] == other[0] else 0
                least = min(one[2] - one[1], other[2] - other[1])
                match = shared > 0 and 2 * shared >= least
                yield Label(float(match), item.query.id, rank=rank, gold=at)


def _place(text: str | None, metadata: Mapping[str, Any]) -> tuple[str, int, int] | None:
    source, start = metadata.get("source"), metadata.get("start_index")
    end = metadata.get("end_index", None if text is None or start is None else start + len(text))
    if source is None or not isinstance(start, int) or not isinstance(end, int) or end <= start:
        return None
    return str(source), start, end


def _places(item: MatchItem, row: int, label: Label) -> list[_Place]:
    if label.rank is not None:
        docs = [label.rank - 1] if label.rank <= len(item.docs) else []
    elif label.doc_id is not None:
        docs = [at for at, doc in enumerate(item.docs) if doc.id == label.doc_id]
    else:
        text = _plain(label.doc_text)
        docs = [at for at, doc in enumerate(item.docs) if _plain(doc.text) == text]
    gold = item.query.gold
    if label.gold is not None:
        golds = [label.gold - 1] if label.gold <= len(gold) else []
    elif label.gold_id is not None:
        golds = [at for at, each in enumerate(gold) if each.id == label.gold_id]
    else:
        golds = [-1] if any(each.grade > 0 for each in gold) else []
    return [(row, doc, each) for doc in docs for each in golds]
