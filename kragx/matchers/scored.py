"""Equal ids straight from qrels and runs as mappings, without a document object in between.

Only the ranks of the gold documents matter, so a run of a million scores is never sorted: a gold
document's rank is one more than the number of documents of its query that stand before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, TypeGuard

import numpy as np

from kragx.errors import DataError
from kragx.table import Floats, Ints, MatchTable

Scores = Mapping[str, Mapping[str, float]]


def is_scored(value: object) -> TypeGuard[Scores]:
    """Whether `value` is a mapping of mappings, all of whose keys are strings."""
    if not (isinstance(value, Mapping) and value):
        return False
    rows = list(value.values())
    if not all(isinstance(row, Mapping) for row in rows):
        return False
    return set(map(type, value)) == {str} and set(map(type, chain.from_iterable(rows))) <= {str}


def match_scored(qrels: Scores, run: Scores) -> MatchTable:
    """The match table of ``{query: {document: grade}}`` and ``{query: {document: score}}``.

    A query's documents are ranked by score, ties by id descending (as UTF-8 bytes). The rows of the
    table are the queries of `qrels`, in their order.

    Raises:
        DataError: a grade or score is not a finite number.
    """
    rankings = [run.get(query) for query in qrels]
    golds = list(qrels.values())
    n_docs = np.array([len(ranking or ()) for ranking in rankings], np.int64)
    doc_start = _starts(n_docs)
    scores = _numbers(rankings, int(doc_start[-1]), run)
    grade = _numbers(golds, sum(map(len, golds)), qrels)
    gold_start = _starts(np.array([len(of_query) for of_query in golds], np.int64))

    # NaN where a gold document was not retrieved.
    own = np.array(
        [
            score
            for of_query, ranking in zip(golds, rankings)
            for score in map((ranking or {}).get, of_query)
        ],
        np.float64,
    )
    gold = np.flatnonzero(~np.isnan(own))
    query = np.repeat(np.arange(len(golds)), np.diff(gold_start))[gold]
    before, equal = _before(scores, doc_start, query, own[gold])
    documents = list(chain.from_iterable(golds))
    for at in np.flatnonzero(equal > 1):
        ranking = rankings[query[at]]
        assert ranking is not None  # its document was found in it
        before[at] += _tied_before(ranking, documents[gold[at]])
    doc = doc_start[query] + before
    order = np.lexsort((gold, doc))
    return MatchTable(
        doc_start=doc_start,
        gold_start=gold_start,
        grade=grade,
        answered=np.array([ranking is not None for ranking in rankings], bool),
        repeated=np.zeros(len(scores), bool),
        pair_doc=doc[order].astype(np.int32),
        pair_gold=gold[order].astype(np.int32),
        pair_score=np.ones(len(gold)),
        threshold=1.0,
    )


def _before(scores: Floats, doc_start: Ints, query: Ints, own: Floats) -> tuple[Ints, Ints]:
    """How many of its query's scores are greater than each score `own`, and how many equal it."""
    ascending = -scores  # so that the best score stands first, and a row can be searched
    falls = np.zeros(len(scores) + 1, np.int64)  # how often scores rose, up to each document
    np.cumsum(ascending[1:] < ascending[:-1], out=falls[2:])
    # A row's first document is compared with the row before, which says nothing.
    starts = np.minimum(doc_start[:-1] + 1, doc_start[1:])
    for row in np.flatnonzero(falls[doc_start[1:]] > falls[starts]):
        ascending[doc_start[row] : doc_start[row + 1]].sort()
    first, last = doc_start[query], doc_start[query + 1]
    greater = _bisect(ascending, first, last, np.less, -own)
    return greater - first, _bisect(ascending, first, last, np.less_equal, -own) - greater


def _bisect(values: Floats, first: Ints, last: Ints, before: Any, own: Floats) -> Ints:
    """Where each `own` belongs in its sorted stretch of `values`: binary searches, all at once."""
    first, last = first.copy(), last.copy()
    while (first < last).any():
        middle = (first + last) // 2
        # Where a search has ended (first == last), the middle may lie beyond the last value.
        right = (first < last) & before(values[np.minimum(middle, len(values) - 1)], own)
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


def _numbers(
    rows: list[Mapping[str, float] | None] | list[Mapping[str, float]], size: int, source: Scores
) -> Floats:
    """All values in a row; the slow search for a bad one happens only if there is one."""
    try:
        kinds = set(map(type, chain.from_iterable(row.values() for row in rows if row)))
        values = np.fromiter(
            chain.from_iterable(row.values() for row in rows if row), np.float64, size
        )
        if np.isfinite(values).all() and not kinds & {str, bool, np.bool_, bytes}:
            return values
    except (TypeError, ValueError, OverflowError):
        pass
    for query, of_query in source.items():
        for document, value in of_query.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value:
                raise DataError(
                    f"query {query!r}: the number of {document!r} must be finite, not {value!r}"
                )
    raise DataError("the numbers of a run or qrels must be finite")


def _starts(lengths: Ints) -> Ints:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
