"""From a stream of queries and a matcher to the match table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

import numpy as np

from kragx.data import NO_CORPUS, Gold, Lacking, Retrieved, normalise
from kragx.data.batch import Batch
from kragx.data.lists import starts
from kragx.data.tokens import of_pairs, pairs_at
from kragx.ground.errors import DataError, UsageError
from kragx.matchers.base import BaseMatcher, Trace
from kragx.matchers.items import (
    Diagnostics,
    MatchItem,
    Pool,
    TextlessError,
    batch_of,
    every_pair,
    items_of,
    n_of_golds,
    shapes,
)
from kragx.metrics import Floats, MatchTable, Votes
from kragx.metrics.threshold import matches


def match(items: Iterable[MatchItem], matcher: BaseMatcher, diagnostics: Diagnostics) -> MatchTable:
    """Match all queries that there are, asked for together: `match_batches`, then `conclude`."""
    table = match_batches([batch_of([*items])], matcher, diagnostics)
    conclude(matcher, diagnostics)
    return table


def conclude(matcher: BaseMatcher, diagnostics: Diagnostics) -> None:
    """Say what all questions together show, after the last of them.

    Raises:
        JudgingError: more judgements are missing than the matcher's judge allows.
    """
    diagnostics.warn()
    matcher.check(diagnostics)


def match_batches(
    batches: Iterable[Batch], matcher: BaseMatcher, diagnostics: Diagnostics
) -> MatchTable:
    """Match queries that others may follow; no text is kept.

    Args:
        batches: the queries with their documents, in the order of the table's rows.
        matcher: scores them.
        diagnostics: the matcher adds its counts and findings here.

    Raises:
        DataError: what the matcher gave does not fit the items, or it compares texts and ids have
            none; these are counted.
    """
    if not 0 < matcher.threshold < np.inf:
        raise UsageError(
            "{matcher}.threshold: {threshold!r} must be a number above 0",
            matcher=matcher.class_name,
            threshold=matcher.threshold,
        )
    tables = list[MatchTable]()
    stream = iter(batches)
    for batch in stream:
        try:
            trace = matcher.score_batch(batch, diagnostics, every_pair(batch))
        except TextlessError as error:
            # All that follows is looked through: the error counts every id without a text.
            items = chain.from_iterable(map(items_of, chain([batch], stream)))
            raise missing_ids_error(items, error, uses_gold=matcher.uses_gold) from None
        _check(trace, batch)
        tables.append(_table(batch, trace))
    nothing = Trace(matcher, np.empty(0), np.empty(0, bool))
    return MatchTable.joined(tables or [_table(Batch.of([]), nothing)])


def _table(batch: Batch, trace: Trace) -> MatchTable:
    """The match table of the queries of a batch."""
    matcher, n_docs, n_golds = trace.matcher, batch.docs.texts.n_texts, batch.golds.texts.n_texts
    columns = [trace.scores, *(trace.reach or (trace.scores, trace.scores))]
    if batch.golds.alternatives is not None and len(trace.scores):
        columns = [_by_gold(scores, batch, matcher.threshold) for scores in columns]
    scores, low, high = columns
    # NaN is not 0: what is not known stays, and so does what one judge alone has voted for.
    place = ((scores != 0) | (high != 0)).nonzero()[0]
    doc, gold = pairs_at(place, n_docs, n_golds)
    return MatchTable(
        doc_start=np.append(0, np.cumsum(n_docs)),
        gold_start=np.append(0, np.cumsum(n_golds)),
        grade=batch.grades,
        answered=batch.answered,
        repeated=matcher.repeated(batch),
        pair_doc=doc.astype(np.int32),
        pair_gold=gold.astype(np.int32),
        pair_score=scores[place],
        threshold=matcher.threshold,
        top=1.0 if matcher.top is None else float(matcher.top),
        unanswerable=batch.unanswerable,
        votes=Votes(low[place], high[place], batch.grades, batch.grades) if matcher.votes else None,
        weights=batch.weights,
    )


def missing_ids_error(
    items: Iterable[MatchItem], error: TextlessError, *, uses_gold: bool
) -> DataError:
    """The error that counts the ids without text of all queries, for that of the first one."""
    ids = Lacking(NO_CORPUS)
    rows = ((None, item.query, Retrieved(item.docs)) for item in items)
    ids.note(rows, ("gold", "retrieved") if uses_gold else ("retrieved",))
    return ids.error(error.method) if ids else error


def _check(trace: Trace, batch: Batch) -> None:
    """Refuse scores below 0, infinite ones, and those that are not known where all have to be."""
    scores, matcher = trace.scores, trace.matcher
    is_unknown = np.isnan(scores)
    is_wrong = (scores < 0) | np.isinf(scores) | (is_unknown & (not matcher.may_not_know))
    if is_wrong.any():
        pair = int(is_wrong.argmax())
        doc, _ = of_pairs(*shapes(batch))
        query_id = batch.query_ids[batch.docs.texts.of_text[doc[pair]]]
        raise DataError(
            "{matcher}.scores, query {query_id!r}: {value}scores must be finite and not below 0",
            matcher=matcher.class_name,
            query_id=query_id,
            value="a score is NaN; " if is_unknown[pair] else "",
        )


def _by_gold(scores: Floats, batch: Batch, threshold: float) -> Floats:
    """From targets to gold items: the best of a gold item's alternatives.

    Not known (NaN) if one of them is not and no other one matches.
    """
    _, gold = of_pairs(batch.docs.texts.n_texts, batch.golds.texts.n_texts)
    first = starts(n_of_golds(batch.golds)[gold])
    # `fmax` passes over NaN, as one alternative that matches is enough.
    best: Floats = np.fmax.reduceat(scores, first)
    unknown = np.logical_or.reduceat(np.isnan(scores), first)
    best[unknown & ~matches(best, threshold)] = np.nan
    return best


def pool_trace(matcher: BaseMatcher, pool: Pool, batch: Batch, diagnostics: Diagnostics) -> Trace:
    """1 for a document and its own judgement in a pool, NaN if that one is missing, else 0."""
    if pool.tally is not None:
        diagnostics.judging.add(pool.tally)
    scores = [np.empty(0)]
    for item in items_of(batch):
        judgements = pool.judgements[item.query.id] if item.targets else {}
        texts = np.array([normalise(doc.text or "") for doc in item.docs], object)
        is_missing = [judgement.grade is None for judgement in judgements.values()]
        # As objects: an array of texts takes for each the room of the longest.
        is_same = np.equal.outer(texts, np.array([*judgements], object))
        scores.append(np.where(is_same, np.where(is_missing, np.nan, 1.0), 0.0).ravel())
    return Trace(matcher, np.concatenate(scores), every_pair(batch))


def match_in_pool(
    items: Iterable[MatchItem], matcher: BaseMatcher, diagnostics: Diagnostics
) -> MatchTable:
    """The match table of queries whose gold is a pool's documents, with the pool's grades.

    A grade is not known (NaN) where a judgement is missing. A gold item's own grade must be a
    number, so the grades come into the table at last.

    Raises:
        UsageError: what was retrieved is not in the pool.
    """
    pool = matcher.pool
    assert pool is not None  # whoever has none matches by `match`
    items = [_with_gold(item, pool) for item in items]
    # A document scores 1 with its own judgement, whose grade says how good it is.
    table = replace(match(items, matcher, diagnostics), threshold=1.0)
    judged = (pool.judgements.get(item.query.id, {}) for item in items if item.query.gold)
    grades = [(judgement.score, *judgement.reach) for of in judged for judgement in of.values()]
    grade, low, high = np.array(grades, np.float64).reshape(-1, 3).T
    scores = table.pair_score
    votes = Votes(scores, scores, low, high) if pool.votes else None
    return replace(table, grade=grade, votes=votes)


def _with_gold(item: MatchItem, pool: Pool) -> MatchItem:
    """The query with the pool's documents as its gold."""
    docs, judgements = item.docs[: pool.depth], pool.judgements.get(item.query.id, {})
    if item.query.answerable is False:
        judgements = {}
    elif outside := {normalise(doc.text or "") for doc in docs} - judgements.keys():
        raise UsageError(
            "query {id!r}: {n_outside} retrieved documents are not in the pool; "
            "a run is scored in a pool that it is a part of (kragx.pooled)",
            id=item.query.id,
            n_outside=len(outside),
        )
    gold = tuple(Gold(text=text) for text in judgements)
    return replace(item, query=replace(item.query, gold=gold), docs=docs)
