"""Equal ids straight from qrels and runs as mappings, without a document object in between.

Only the ranks of the gold documents matter, so a run of a million scores is never sorted: a gold
document's rank is one more than the number of documents of its query that stand before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TypeGuard

import numpy as np

from kragx.errors import DataError
from kragx.table import Ints, MatchTable

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

    found: list[int] = []  # flat positions of the gold items that were retrieved
    found_scores: list[float] = []
    found_query: list[int] = []
    position = 0
    for number, (of_query, ranking) in enumerate(zip(golds, rankings)):
        if ranking:
            for document in of_query:
                score = ranking.get(document)
                if score is not None:
                    found.append(position)
                    found_scores.append(score)
                    found_query.append(number)
                position += 1
        else:
            position += len(of_query)
    gold = np.array(found, np.int64)
    query = np.array(found_query, np.int64)
    before = _before(scores, doc_start, query, np.array(found_scores, np.float64))
    documents = list(chain.from_iterable(golds))
    for at in np.flatnonzero(before[1] > 1):
        ranking = rankings[query[at]]
        assert ranking is not None  # its document was found in it
        before[0][at] += _tied_before(ranking, documents[gold[at]])
    doc = doc_start[query] + before[0]
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


def _before(
    scores: np.ndarray[tuple[int], np.dtype[np.float64]],
    doc_start: Ints,
    query: Ints,
    of: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[Ints, Ints]:
    """For each score `of` a query, how many of the query's scores are greater; how many equal."""
    greater = np.empty(len(of), np.int64)
    equal = np.empty(len(of), np.int64)
    lengths = (doc_start[1:] - doc_start[:-1])[query]
    first = 0
    while first < len(of):
        # As many as fit into a few megabytes, each with all scores of its query beside it.
        last = first + max(1, int(np.searchsorted(np.cumsum(lengths[first:]), 1 << 19)))
        span = lengths[first:last]
        owner = np.repeat(np.arange(last - first)[: len(span)], span)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(span) - span, span)
        theirs = scores[doc_start[query[first:last]][owner] + within]
        own = of[first:last][owner]
        greater[first:last] = np.bincount(owner[theirs > own], minlength=len(span))
        equal[first:last] = np.bincount(owner[theirs == own], minlength=len(span))
        first = last
    return greater, equal


def _tied_before(ranking: Mapping[str, float], document: str) -> int:
    own = document.encode()
    score = ranking[document]
    return sum(
        other == score and name.encode() > own
        for name, other in ranking.items()
        if name != document
    )


def _numbers(
    rows: list[Mapping[str, float] | None] | list[Mapping[str, float]], size: int, source: Scores
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """All values in a row; the slow search for a bad one happens only if there is one."""
    try:
        values = np.fromiter(
            chain.from_iterable(row.values() for row in rows if row), np.float64, size
        )
        if np.isfinite(values).all():
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
