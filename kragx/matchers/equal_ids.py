"""Equal ids straight from qrels and runs as mappings, without a document object in between.

Only the ranks of the gold documents matter, so a run of a million scores is never sorted: a gold
document's rank is one more than the number of documents of its query that stand before it.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any, TypeGuard

import numpy as np

from kragx.errors import DataError
from kragx.matchers.matching import starts
from kragx.metrics.table import Bools, Floats, Ints, MatchTable

Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class IdArrays:
    """Qrels and a run as arrays, for q queries with d documents and g gold items.

    Attributes:
        qrels, run: the mappings that they are made of.
        doc_start: (q + 1) where each query's documents begin.
        gold_start: (q + 1) the same for gold items.
        score: (d) the documents' scores, as they stand in the run.
        gold: for each query the ids of its gold items.
        grade: (g) their grades.
        own: (g) the score of each gold item's document; NaN where it was not retrieved.
        answered: (q) whether the run has the query.
    """

    qrels: Scores
    run: Scores
    doc_start: Ints
    gold_start: Ints
    score: Floats
    gold: tuple[tuple[str, ...], ...]
    grade: Floats
    own: Floats
    answered: Bools


def read_id_arrays(qrels: object, run: object) -> IdArrays | None:
    """Read ``{query: {document: grade}}`` and ``{query: {document: score}}``.

    Everything about a query is read at once, while it is near: a million scores lie scattered in
    memory, and to come back to them costs more than to look at them.

    Returns:
        The arrays; None if these are no such mappings, or some key is not a string.

    Raises:
        DataError: a grade or score is not a finite number.
    """
    if not (_nested(qrels) and _nested(run)):
        return None
    scores, grades, ids, own = [], [], [], array("d")
    unknown = repeat(np.nan)
    empty: Mapping[str, float] = {}
    try:
        # The fastest way to see that all keys are strings.
        "".join(qrels)
        "".join(run)
        for query, golds in qrels.items():
            ranking = run.get(query, empty)
            ids.append(tuple(golds))
            "".join(ids[-1])
            "".join(ranking)
            scores.append(struct.pack(f"{len(ranking)}d", *ranking.values()))
            grades.append(struct.pack(f"{len(golds)}d", *golds.values()))
            own.extend(map(ranking.get, golds, unknown))
    except TypeError:
        return None
    except (struct.error, OverflowError):
        _refuse(qrels)
        _refuse(run)
        raise DataError("the numbers of a run or qrels must be finite and fit a float") from None
    read = IdArrays(
        qrels=qrels,
        run=run,
        doc_start=starts([len(packed) // 8 for packed in scores]),
        gold_start=starts([len(packed) // 8 for packed in grades]),
        score=np.frombuffer(b"".join(scores)),
        gold=tuple(ids),
        grade=np.frombuffer(b"".join(grades)),
        own=np.array(own),
        answered=np.fromiter(map(run.__contains__, qrels), bool, len(qrels)),
    )
    # True and False have passed for 1 and 0.
    kinds = set(map(type, chain.from_iterable(golds.values() for golds in qrels.values())))
    kinds.update(_kinds_near_bools(read))
    finite = np.isfinite(read.grade).all() and np.isfinite(read.score).all()
    if not finite or kinds & {bool, np.bool_}:
        _refuse(qrels)
        _refuse(run)
    return read


def _nested(value: Any) -> TypeGuard[Scores]:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(issubclass(kind, Mapping) for kind in set(map(type, value.values())))
    )


def _kinds_near_bools(read: IdArrays) -> set[type]:
    """The types of each query's scores from the first 0 or 1 to the last; no bool is elsewhere."""
    near = np.flatnonzero((read.score == 0) | (read.score == 1))
    first = np.searchsorted(near, read.doc_start)
    rows = np.flatnonzero(first[1:] > first[:-1])
    begin = near[first[rows]] - read.doc_start[rows]
    end = near[first[rows + 1] - 1] + 1 - read.doc_start[rows]
    queries = list(read.qrels)
    kinds: set[type] = set()
    for row, start, stop in zip(rows.tolist(), begin.tolist(), end.tolist()):
        kinds.update(map(type, islice(read.run[queries[row]].values(), start, stop)))
    return kinds


def _refuse(source: Scores) -> None:
    """Raise a `DataError` about the first value that is no finite number, if there is one."""
    for query, of_query in source.items():
        for document, value in of_query.items():
            number = not isinstance(value, (bool, np.bool_)) and isinstance(
                value, (int, float, np.integer, np.floating)
            )
            if not number or value - value:
                raise DataError(
                    f"query {query!r}: the number of {document!r} must be finite, not {value!r}"
                )


def match_id_arrays(read: IdArrays) -> MatchTable:
    """The match table of qrels and a run; a pair with equal ids is a match.

    A query's documents are ranked by score, ties by id descending (as UTF-8 bytes). The rows of the
    table are the queries of the qrels, in their order.
    """
    gold = np.flatnonzero(~np.isnan(read.own))
    n_queries = len(read.qrels)
    query = np.repeat(np.arange(n_queries), np.diff(read.gold_start))[gold]
    before, tied = _before(read.score, read.doc_start, query, read.own[gold])
    if tied.any():
        queries = list(read.qrels)
        documents = list(chain.from_iterable(read.gold))
        for pair in np.flatnonzero(tied):
            before[pair] += _tied_before(read.run[queries[query[pair]]], documents[gold[pair]])
    doc = read.doc_start[query] + before
    order = np.lexsort((gold, doc))
    return MatchTable(
        doc_start=read.doc_start,
        gold_start=read.gold_start,
        grade=read.grade,
        answered=read.answered,
        repeated=np.zeros(len(read.score), bool),
        pair_doc=doc[order].astype(np.int32),
        pair_gold=gold[order].astype(np.int32),
        pair_score=np.ones(len(gold)),
        threshold=1.0,
    )


def _before(scores: Floats, doc_start: Ints, query: Ints, own: Floats) -> tuple[Ints, Bools]:
    """How many of its query's scores are greater than each score `own`, and whether one ties."""
    ascending = -scores  # so that the best score stands first, and a row can be searched
    falls = np.zeros(len(scores) + 1, np.int64)  # how often scores rose, up to each document
    np.cumsum(ascending[1:] < ascending[:-1], out=falls[2:])
    # A row's first document is compared with the row before, which says nothing.
    starts = np.minimum(doc_start[:-1] + 1, doc_start[1:])
    for row in np.flatnonzero(falls[doc_start[1:]] > falls[starts]):
        ascending[doc_start[row] : doc_start[row + 1]].sort()
    first, last = doc_start[query], doc_start[query + 1]
    place = _bisect(ascending, first, last, -own)
    behind = np.minimum(place + 1, len(scores) - 1)
    return place - first, (place + 1 < last) & (ascending[behind] == -own)


def _bisect(values: Floats, first: Ints, last: Ints, own: Floats) -> Ints:
    """Where each `own` belongs in its sorted stretch of `values`: binary searches, all at once."""
    first, last = first.copy(), last.copy()
    while (first < last).any():
        middle = (first + last) // 2
        # Where a search has ended (first == last), the middle may lie beyond the last value.
        right = (first < last) & (values[np.minimum(middle, len(values) - 1)] < own)
        first = np.where(right, middle + 1, first)
        last = np.where(right, last, middle)
    return first


def _tied_before(ranking: Mapping[str, float], document: str) -> int:
    own = document.encode("utf-8", "surrogatepass")
    score = ranking[document]
    return sum(
        other == score and name.encode("utf-8", "surrogatepass") > own
        for name, other in ranking.items()
        if name != document
    )
