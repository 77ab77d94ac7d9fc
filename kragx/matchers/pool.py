"""Matching in a pool: what was judged is the gold where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kragx.data import Gold, normalise
from kragx.data.batch import Batch
from kragx.ground.errors import UsageError
from kragx.matchers.base import BaseMatcher, OnMatch, Trace
from kragx.matchers.items import MatchItem, Pool, every_pair, items_of
from kragx.matchers.matching import match
from kragx.matchers.notes import Notes
from kragx.metrics import MatchTable, Votes


def pool_trace(matcher: BaseMatcher, pool: Pool, batch: Batch, notes: Notes) -> Trace:
    """1 for a document and its own judgement in a pool, NaN if that one is missing, else 0."""
    notes.judging.add(pool.tally)
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
    items: Iterable[MatchItem], matcher: BaseMatcher, notes: Notes, on_match: OnMatch | None = None
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
    table = replace(match(items, matcher, notes, on_match), threshold=1.0)
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
            f"query {item.query.id!r}: {len(outside)} retrieved documents are not in the pool; "
            "a run is scored in a pool that it is a part of (kragx.pooled)"
        )
    gold = tuple(Gold(text=text) for text in judgements)
    return replace(item, query=replace(item.query, gold=gold), docs=docs)
