"""Pools: the judged documents of all retrievers under comparison, as the gold of each of them.

Without gold, what is relevant is what was judged relevant in the union of what the retrievers
found. Numbers of a pool are relative to it: a document that no retriever found is not missed by
anyone. So they carry the pool's hash, and numbers of different pools are not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kragx.data import Gold, normalise
from kragx.data.batch import Batch
from kragx.ground.errors import UsageError
from kragx.matchers.base import BaseMatcher, OnMatch, Trace
from kragx.matchers.items import MatchItem, every_pair, items_of
from kragx.matchers.matching import match
from kragx.matchers.notes import Notes
from kragx.metrics import MatchTable, Votes

if TYPE_CHECKING:
    from kragx.judging import Judgement
    from kragx.judging.tally import Tally


def _nothing() -> Tally:
    from kragx.judging.tally import Tally

    return Tally()


@dataclass(frozen=True)
class Pool:
    """Judged documents by query id and text.

    Attributes:
        judgements: for each query id, the judgement of each document text (normalised).
        depth: how many documents of each list were pooled; None for all of them.
        cut: the least grade that binary metrics count as relevant.
        top: the highest grade of the scale.
        votes: whether several judges have decided.
        tally: what judging took.
        hash: of the queries, documents and grades; two pools with the same hash are the same.
    """

    judgements: Mapping[str, Mapping[str, Judgement]]
    depth: int | None
    cut: int
    top: int
    votes: bool = False
    tally: Tally = field(default_factory=_nothing, compare=False)
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        from kragx.judging.rubric import canonical_json, key_of

        content = [
            [
                query_id,
                sorted([key_of(text), judgement.grade] for text, judgement in of_query.items()),
            ]
            for query_id, of_query in sorted(self.judgements.items())
        ]
        object.__setattr__(self, "hash", key_of(canonical_json([content, self.cut]))[:16])

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records of the pool, the provenance of its labels included."""
        sources = Counter(
            judgement.source if judgement.failure is None else "missing"
            for of_query in self.judgements.values()
            for judgement in of_query.values()
        )
        return {
            "hash": self.hash,
            "depth": self.depth,
            "rel": self.cut,
            "documents": sources.total(),
            "labels": {
                "human": sources["human"],
                "judge": sources["judge"] + sources["store"],
                "missing": sources["missing"],
            },
        }


def pool_trace(matcher: BaseMatcher, pool: Pool, batch: Batch, notes: Notes) -> Trace:
    """1 for a document and its own judgement in a pool, NaN if that one is missing, else 0."""
    notes.judging.add(pool.tally)
    scores = [np.empty(0)]
    for item in items_of(batch):
        judgements = pool.judgements[item.query.id] if item.targets else {}
        texts = np.array([normalise(doc.text or "") for doc in item.docs], object)
        is_missing = [judgement.grade is None for judgement in judgements.values()]
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
