"""Facts that an answer needs: whether the context holds each, whatever matches texts."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from kragx import matchers
from kragx.data.gold import Gold, Query
from kragx.errors import DataError, UsageError, shorten
from kragx.evaluation.pooling import judging_counts
from kragx.matchers import MatchItem
from kragx.matchers.matching import match as match_items
from kragx.metrics import MetricSpec, Profile
from kragx.metrics.evidence import RankedList
from kragx.metrics.table import Floats, Ints

FACTS_HAVE_NO_IDS = (
    "facts are texts and have no ids, so context_completeness cannot match them by 'id'; name "
    "another matcher, for example facts_match: text"
)


def facts_matcher(
    specs: Sequence[MetricSpec],
    spec: object,
    matcher: matchers.BaseMatcher,
    named: Profile,
) -> matchers.BaseMatcher | None:
    """What matches facts; None where no metric reads them."""
    if not any(spec.metric.reads_facts for spec in specs):
        return None
    chosen = matcher if spec is None else matchers.matcher(spec, named.match_options)
    if chosen.reads == "ids":
        raise UsageError(f"facts_match: {FACTS_HAVE_NO_IDS}")
    return chosen.against_gold()


def facts_depth(specs: Sequence[MetricSpec]) -> int | None:
    """How far down a list facts are looked for; None for to its end."""
    cuts = [spec.k for spec in specs if spec.metric.reads_facts]
    known = [k for k in cuts if isinstance(k, int)]
    return max(known) if known and len(known) == len(cuts) else None


class Facts:
    """The share of each query's facts that its top k holds; matched once, for every k.

    Args:
        answers: what each query got.
        matcher: what matches facts.
        depth: how far down a list facts are looked for; None for to its end.
        follows: whether gold and facts have one matcher, and so one threshold.
    """

    def __init__(
        self,
        answers: Sequence[RankedList],
        matcher: matchers.BaseMatcher,
        depth: int | None,
        *,
        follows: bool = False,
    ) -> None:
        self.follows = follows
        self._n_queries = len(answers)
        rows, items = [], []
        for row, answer in enumerate(answers):
            facts = facts_of(answer.query)
            if facts:
                gold = tuple(Gold(text=fact) for fact in facts)
                items.append(
                    MatchItem(replace(answer.query, gold=gold), answer.top(depth), answer.status)
                )
                rows.append(row)
        notes = matchers.Notes()
        table = match_items(items, matcher, notes)
        judging = judging_counts(matcher, notes)
        self.judging = {f"{name}_facts": counts for name, counts in judging.items()}
        self._tables = {row: table.dense(position) for position, row in enumerate(rows)}
        self._threshold = table.threshold

    def at_threshold(self, threshold: float) -> Facts:
        """The same scores, decided at another threshold."""
        other = copy(self)
        other._threshold = threshold
        return other

    def shares(self, k: int | Ints | None) -> Floats:
        """(q) shares in the first k documents, k for all queries or for each.

        NaN for a query without facts, or with a fact that a judge could not rate.
        """
        values = np.full(self._n_queries, np.nan)
        for row, scores in self._tables.items():
            within = scores[: k[row] if isinstance(k, np.ndarray) else k]
            held = (within >= self._threshold).any(axis=0)
            # A fact that was found is held, whatever could not be said of other documents.
            if not (np.isnan(within).any(axis=0) & ~held).any():
                values[row] = held.mean()
        return values


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
