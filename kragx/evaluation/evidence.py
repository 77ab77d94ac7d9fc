"""What metrics may look at beside the match table, gathered from one evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kragx.evaluation.facts import Facts
from kragx.evaluation.sizes import Sizes
from kragx.evaluation.spans import Reader
from kragx.metrics.evidence import RankedList
from kragx.metrics.spans.cover import Spread
from kragx.metrics.spans.options import SpanOptions
from kragx.metrics.syntax import Cut, TextBudget
from kragx.metrics.table import Floats, Ints, MatchTable


@dataclass(frozen=True)
class GatheredEvidence:
    """The `kragx.metrics.Evidence` of an evaluation.

    Attributes:
        lists: what each query got, in the order of the table's rows.
        table: the matches with the gold.
        concurrency: how many questions were asked at once.
        matched_facts: the facts that were found; None if no metric reads them.
        sizes: the lengths of the documents, for budgets.
    """

    lists: Sequence[RankedList]
    table: MatchTable
    concurrency: int = 1
    matched_facts: Facts | None = None
    sizes: Sizes = field(default_factory=Sizes, repr=False, compare=False)
    # Read once for each way of reading, for every metric and k.
    _spreads: dict[SpanOptions, tuple[Spread, dict[str, Any]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def within(self, budget: TextBudget) -> GatheredEvidence:
        """The same, each list cut after the documents that fit whole into a budget."""
        depths = self.sizes.depths(self.lists, budget)
        return replace(
            self,
            lists=[
                replace(ranked, docs=ranked.docs[:depth])
                for ranked, depth in zip(self.lists, depths)
            ],
            table=self.table.first(depths),
            sizes=Sizes(self.sizes.tokenizer),
            _spreads={},
        )

    def facts(self, k: Cut) -> Floats:
        """(q) the share of a query's facts that its first k documents hold; NaN without."""
        if self.matched_facts is None:
            return np.full(len(self.lists), np.nan)
        return self.matched_facts.shares(self._depths(k))

    def spread(self, options: SpanOptions) -> Spread:
        """Where the gold of every query stands in what was retrieved."""
        if options not in self._spreads:
            reader = Reader(self.lists, self.table, options)
            self._spreads[options] = Spread.of(reader.parts()), reader.settings()
            reader.warn()
        return self._spreads[options][0]

    def n_tokens(self, k: Cut, spread: Spread) -> Ints:
        """(q) how many tokens of each query's stream a cut-off holds."""
        if isinstance(k, TextBudget):
            return self.sizes.read(self.lists, k, spread)
        return spread.after(self._depths(k))

    def _depths(self, k: Cut) -> Ints:
        """(q) how many documents of each list a cut-off holds."""
        assert not isinstance(k, TextBudget)  # lists are cut there before
        lengths = np.array([len(ranked.docs) for ranked in self.lists], np.int64)
        return lengths if k is None else np.minimum(lengths, k)

    @property
    def follows(self) -> bool:
        """Whether facts are matched at the gold's threshold."""
        return self.matched_facts is not None and self.matched_facts.follows

    def decided(self, table: MatchTable) -> GatheredEvidence:
        """The same with these matches, and with facts at their threshold where they follow it."""
        facts = self.matched_facts
        if facts is not None and facts.follows:
            facts = facts.at_threshold(table.threshold)
        return replace(self, table=table, matched_facts=facts)

    def settings(self) -> dict[str, Any]:
        """How texts were read for spans, and what a budget's token is; nothing where none was."""
        spans = [settings for _, settings in self._spreads.values()]
        tokens = self.sizes.described()
        return {
            **({"spans": spans} if spans else {}),
            **({"budget_tokenizer": tokens} if tokens else {}),
        }
