"""Facts that an answer needs: whether the context holds each, whatever matches texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kragx import matchers
from kragx.data.gold import Gold, Query
from kragx.errors import DataError, UsageError, shorten
from kragx.evaluation.pooling import judging_counts
from kragx.matchers import MatchItem
from kragx.matchers.matching import match as match_items
from kragx.metrics import MetricSpec, Profile
from kragx.metrics.evidence import RankedList
from kragx.metrics.table import Floats, Ints, MatchTable

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
    of_facts = matcher if spec is None else matchers.matcher(spec, named.match_options)
    if of_facts.reads == "ids":
        raise UsageError(f"facts_match: {FACTS_HAVE_NO_IDS}")
    return of_facts.against_gold()


def facts_depth(specs: Sequence[MetricSpec]) -> int | None:
    """How far down a list facts are looked for; None for to its end."""
    cuts = [spec.k for spec in specs if spec.metric.reads_facts]
    known = [k for k in cuts if isinstance(k, int)]
    return max(known) if known and len(known) == len(cuts) else None


@dataclass(frozen=True)
class Facts:
    """Which facts the documents of each query hold; matched once, for every k.

    Attributes:
        rows: (f) the evaluation's row of each query that has facts.
        matches: the matches of these queries, whose facts stand as its gold.
        follows: whether gold and facts have one matcher, and so one threshold.
        judging: what judging took, as counts hold it.
    """

    rows: Ints
    matches: MatchTable
    follows: bool
    judging: Mapping[str, Any]

    @classmethod
    def matched(
        cls,
        lists: Sequence[RankedList],
        matcher: matchers.BaseMatcher,
        depth: int | None,
        *,
        follows: bool,
    ) -> Facts:
        """Match the facts with the first `depth` documents; None for all of them."""
        rows, items = [], []
        for row, ranked in enumerate(lists):
            gold = tuple(Gold(text=fact) for fact in facts_of(ranked.query))
            if gold:
                query = replace(ranked.query, gold=gold)
                items.append(MatchItem(query, ranked.top(depth), ranked.status))
                rows.append(row)
        notes = matchers.Notes()
        table = match_items(items, matcher, notes)
        counts = judging_counts(matcher, notes)
        judging = {f"{name}_facts": count for name, count in counts.items()}
        return cls(np.array(rows, np.int64), table, follows, judging)

    def at_threshold(self, threshold: float) -> Facts:
        """The same scores, decided at another threshold."""
        return replace(self, matches=self.matches.at_threshold(threshold))

    def shares(self, depths: Ints) -> Floats:
        """(q) the share of each query's facts in its first documents, so many of each list.

        NaN for a query without facts, or with a fact that a judge could not rate.
        """
        table = self.matches.first(depths[self.rows])
        held, open_ = np.zeros((2, len(table.grade)), bool)
        held[table.pair_gold[table.matched]] = True
        # A fact that was found is held, whatever could not be said of other documents.
        open_[table.pair_gold[np.isnan(table.pair_score)]] = True
        shares = np.full(len(depths), np.nan)
        shares[self.rows] = np.bincount(table.gold_query, held, table.n_queries) / table.n_gold
        shares[self.rows[table.gold_query[open_ & ~held]]] = np.nan
        return shares


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
