"""From a stream of queries and a matcher to the match table."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np

from kragx.data import NO_CORPUS, Lacking, Retrieved
from kragx.data.batch import Batch
from kragx.data.lists import starts
from kragx.data.tokens import of_pairs, pairs_at
from kragx.ground.errors import DataError, UsageError
from kragx.matchers.base import Matcher, OnMatch, Trace, adapted
from kragx.matchers.items import (
    MatchItem,
    TextlessError,
    batch_of,
    every_pair,
    items_of,
    n_of_golds,
    repeated,
    shapes,
)
from kragx.matchers.notes import Notes
from kragx.metrics import Floats, MatchTable, Votes
from kragx.metrics.threshold import matches


def match(
    items: Iterable[MatchItem], matcher: Matcher, notes: Notes, on_match: OnMatch | None = None
) -> MatchTable:
    """Match all queries that there are, asked for together: `match_batches`, then `conclude`."""
    table = match_batches([batch_of([*items])], matcher, notes, on_match)
    conclude(matcher, notes)
    return table


def conclude(matcher: Matcher, notes: Notes) -> None:
    """Say what all questions together show, after the last of them.

    Raises:
        JudgingError: more judgements are missing than the matcher's judge allows.
    """
    notes.warn()
    adapted(matcher).check(notes)


def match_batches(
    batches: Iterable[Batch],
    matcher: Matcher,
    notes: Notes,
    on_match: OnMatch | None = None,
) -> MatchTable:
    """Match queries that others may follow; no text is kept.

    Args:
        batches: the queries with their documents, in the order of the table's rows.
        matcher: scores them.
        notes: the matcher adds its counts and findings here.
        on_match: is told of each query what the matcher, and of a combination each member, said.

    Raises:
        DataError: what the matcher gave does not fit the items, or it compares texts and ids have
            none; these are counted.
    """
    matcher = adapted(matcher)
    if not 0 < matcher.threshold < np.inf:
        raise UsageError(
            f"{matcher.class_name}.threshold: {matcher.threshold!r} must be a number above 0"
        )
    tables = list[MatchTable]()
    stream = iter(batches)
    for batch in stream:
        try:
            trace = matcher.score_batch(batch, notes, every_pair(batch))
        except TextlessError as error:
            # All that follows is looked through: the error counts every id without a text.
            items = chain.from_iterable(map(items_of, chain([batch], stream)))
            raise missing_ids_error(items, error, uses_gold=matcher.uses_gold) from None
        _check(trace, batch)
        if on_match is not None:
            for item, of_item in zip(items_of(batch), trace.of_queries(*shapes(batch))):
                on_match(item, of_item)
        tables.append(_table(batch, trace))
    nothing = Trace(matcher, np.empty(0), np.empty(0, bool))
    return MatchTable.joined(tables or [_table(Batch.of([]), nothing)])


def _table(batch: Batch, trace: Trace) -> MatchTable:
    """The match table of the queries of a batch."""
    matcher, n_docs, n_golds = trace.matcher, batch.docs.texts.n_texts, batch.golds.texts.n_texts
    scores = low = high = _by_gold(trace.scores, batch, matcher.threshold)
    if trace.reach is not None:
        low, high = (_by_gold(votes, batch, matcher.threshold) for votes in trace.reach)
    # NaN is not 0: what is not known stays, and so does what one judge alone has voted for.
    place = ((scores != 0) | (high != 0)).nonzero()[0]
    doc, gold = pairs_at(place, n_docs, n_golds)
    grade = batch.grades
    return MatchTable(
        doc_start=np.append(0, np.cumsum(n_docs)),
        gold_start=np.append(0, np.cumsum(n_golds)),
        grade=grade,
        answered=batch.answered,
        repeated=repeated(batch.docs),
        pair_doc=doc.astype(np.int32),
        pair_gold=gold.astype(np.int32),
        pair_score=scores[place],
        threshold=matcher.threshold,
        top=1.0 if matcher.top is None else float(matcher.top),
        unanswerable=batch.unanswerable,
        votes=Votes(low[place], high[place], grade, grade) if matcher.votes else None,
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
            f"{matcher.class_name}.scores, query {query_id!r}: "
            f"{'a score is NaN; ' if is_unknown[pair] else ''}scores must be finite and not below 0"
        )


def _by_gold(scores: Floats, batch: Batch, threshold: float) -> Floats:
    """From targets to gold items: the best of a gold item's alternatives.

    Not known (NaN) if one of them is not and no other one matches.
    """
    if batch.golds.alternatives is None or not len(scores):
        return scores
    _, gold = of_pairs(batch.docs.texts.n_texts, batch.golds.texts.n_texts)
    first = starts(n_of_golds(batch.golds)[gold])
    # `fmax` passes over NaN, as one alternative that matches is enough.
    best: Floats = np.fmax.reduceat(scores, first)
    unknown = np.logical_or.reduceat(np.isnan(scores), first)
    best[unknown & ~matches(best, threshold)] = np.nan
    return best
