"""Facts that an answer needs: whether the context holds each, whatever matches texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kragx import matchers
from kragx.dataset import Gold, Query
from kragx.errors import DataError, UsageError, shorten
from kragx.matchers import MatchItem
from kragx.matchers.matching import match as match_items
from kragx.measures import Answer, MeasureSpec
from kragx.metrics import Profile
from kragx.pooling import judging_counts
from kragx.table import Floats, Ints


def facts_matcher(
    measured: Sequence[MeasureSpec],
    spec: object,
    matcher: matchers.Matcher,
    named: Profile,
) -> matchers.Matcher | None:
    """What matches facts; None where no measure needs it."""
    if all(each.name != "context_completeness" for each in measured):
        return None
    chosen = matcher if spec is None else matchers.matcher(spec, named.match_options)
    if isinstance(chosen, matchers.IdMatcher):
        raise UsageError(
            "facts_match: facts are texts and have no ids, so context_completeness cannot match "
            "them by 'id'; name another matcher, for example facts_match: text"
        )
    if isinstance(chosen, matchers.JudgeMatcher):
        return replace(chosen, mode="support")
    return chosen


def facts_depth(measured: Sequence[MeasureSpec]) -> int | None:
    """How far down a list facts are looked for; None for to its end."""
    cuts = [each.k for each in measured if each.name == "context_completeness"]
    known = [k for k in cuts if isinstance(k, int)]
    return max(known) if known and len(known) == len(cuts) else None


class Facts:
    """The share of each query's facts that its top k holds; matched once, for every k."""

    def __init__(
        self, answers: Sequence[Answer], matcher: matchers.Matcher | None, depth: int | None
    ) -> None:
        self._answers = answers
        self._matcher = matcher
        self._depth = depth
        self.judging: dict[str, Any] = {}
        self._ranks = self._first_ranks() if matcher is not None else {}

    def __call__(self, k: int | Ints | None) -> Floats:
        """(q) shares in the first k documents, k for all queries or for each.

        NaN for a query without facts, or with a fact that a judge could not rate.
        """
        values = np.full(len(self._answers), np.nan)
        depths = np.broadcast_to(np.inf if k is None else k, len(values))
        for row, ranks in self._ranks.items():
            held = np.isfinite(ranks) & (ranks <= depths[row])
            if not np.isnan(ranks).any():
                values[row] = held.mean()
        return values

    def _first_ranks(self) -> dict[int, Floats]:
        """The rank of the first document that holds each fact, infinity without one."""
        assert self._matcher is not None
        rows, items = [], []
        for row, answer in enumerate(self._answers):
            facts = facts_of(answer.query)
            if facts:
                gold = tuple(Gold(text=fact) for fact in facts)
                docs = answer.top(self._depth)
                items.append(MatchItem(replace(answer.query, gold=gold), docs, answer.status))
                rows.append(row)
        notes: Counter[str] = Counter()
        table = match_items(items, self._matcher, notes)
        judging = judging_counts(self._matcher, notes)
        self.judging = {"judging_facts": judging["judging"]} if judging else {}
        found = {}
        for at, row in enumerate(rows):
            scores = table.dense(at)
            matched = scores >= table.threshold
            ranks = np.where(matched.any(axis=0), 1.0, np.inf)
            if len(scores):
                first = np.where(matched.any(axis=0), matched.argmax(axis=0) + 1.0, np.inf)
                ranks = np.where(np.isnan(scores).any(axis=0) & np.isinf(first), np.nan, first)
            found[row] = ranks
        return found


def facts_of(query: Query) -> list[str]:
    """The facts that an answer to a query needs: its ``metadata.facts``.

    Raises:
        DataError: they are no list of texts.
    """
    facts = query.metadata.get("facts")
    if facts is None:
        return []
    if not isinstance(facts, (list, tuple)) or not all(
        isinstance(fact, str) and fact.strip() for fact in facts
    ):
        raise DataError(
            f"query {query.id!r}: metadata.facts must be a list of texts, not {shorten(facts)}"
        )
    return list(facts)
