"""What two lists of a question can differ by, as far as relevant documents are known."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from kragx.ground.errors import UsageError, nearest
from kragx.metrics import parse

Relevance = Mapping[str, bool]
"""Whether documents are relevant, by their names; who is missing is not known."""

_FIRST = ("hit_rate", "mrr")  # of the first relevant document alone
_POOLED = ("recall", "ndcg")  # over all that is relevant: of what is known, that is
LABELLED = ("precision", *_FIRST, *_POOLED)
"""Metrics whose differences people can label, in which a document is relevant or is not."""


@dataclass(frozen=True)
class LabelledMetric:
    """A metric whose difference is labelled.

    Attributes:
        name: of the metric, one of `LABELLED`.
        k: its cut-off.
    """

    name: str
    k: int

    @classmethod
    def of(cls, text: str) -> Self:
        """The metric of a text.

        Raises:
            UsageError: it has no cut-off, options, or is made of more than relevant documents.
        """
        spec = parse(text)
        if spec.name not in LABELLED:
            problem = f"{text!r} does not follow from which documents are relevant"
            raise UsageError(problem, field="--metric", remedy=nearest(spec.name, LABELLED))
        if not isinstance(spec.k, int) or str(spec) != f"{spec.name}@{spec.k}":
            remedy = f"name it with a cut-off and without options, as in {spec.name}@5"
            raise UsageError(f"{text!r} cannot be labelled", field="--metric", remedy=remedy)
        return cls(spec.name, spec.k)

    @property
    def is_pooled(self) -> bool:
        """Whether it is a share of all relevant documents, of which the known ones are taken."""
        return self.name in _POOLED

    def credit(self, rank: int | None) -> float:
        """What a document at a rank adds, or for `hit_rate` and `mrr` is worth as the first."""
        if rank is None:
            return 0.0
        match self.name:
            case "precision":
                return 1.0 / self.k
            case "mrr":
                return 1.0 / rank
            case "ndcg":
                return float(1.0 / np.log2(1.0 + rank))
        return 1.0

    def whole(self, n_relevant: int) -> float:
        """What the sums of credits are divided by, of so many relevant documents."""
        if self.name == "precision":
            return 1.0
        if self.name == "ndcg":
            return sum(map(self.credit, range(1, 1 + min(n_relevant, self.k)))) or 1.0
        return float(n_relevant or 1)

    def __str__(self) -> str:
        return f"{self.name}@{self.k}"


@dataclass(frozen=True)
class TwoLists:
    """What two versions retrieved for a question.

    Attributes:
        metric: what they are compared by.
        old, new: the names of their documents; the same name is the same document. One that is
            repeated keeps its rank and counts once.
    """

    metric: LabelledMetric
    old: tuple[str, ...]
    new: tuple[str, ...]

    @cached_property
    def credits(self) -> dict[str, tuple[float, float]]:
        """What each document is worth in the old list and the new, by the better of its ranks."""
        k, credit = self.metric.k, self.metric.credit
        # Backwards, so that of a repeated document the first rank is left.
        old, new = (
            {doc: rank for rank, doc in reversed([*enumerate(docs[:k], 1)])}
            for docs in (self.old, self.new)
        )
        documents = sorted(old | new, key=lambda doc: (min(old.get(doc, k), new.get(doc, k)), doc))
        return {doc: (credit(old.get(doc)), credit(new.get(doc))) for doc in documents}

    @property
    def documents(self) -> tuple[str, ...]:
        """Those within the cut-off, by the better of their ranks."""
        return tuple(self.credits)

    def wanted(self, labels: Relevance) -> tuple[str, ...]:
        """The documents to be labelled next; none where no label can change the difference.

        What came or went comes first; what stayed follows where that leaves the difference open.
        Where the first relevant document decides alone they are asked for one by one.
        """
        low, high = self.bounds(labels)
        if low == high:
            return ()
        unknown = {doc: pair for doc, pair in self.credits.items() if doc not in labels}
        if self.metric.name not in _FIRST:
            return tuple(doc for doc, (old, new) in unknown.items() if old != new) or (*unknown,)
        best = self._best(labels)
        telling = [doc for doc, pair in unknown.items() if any(map(operator.gt, pair, best))]
        if self.metric.name == "mrr":
            return tuple(telling[:1])
        return tuple([doc for doc in telling if 0.0 in unknown[doc]] or telling[:1])

    def _best(self, labels: Relevance) -> tuple[float, float]:
        """The credit of the first relevant document that is known, in either list."""
        relevant = [pair for doc, pair in self.credits.items() if labels.get(doc)]
        old, new = map(max, zip((0.0, 0.0), *relevant))
        return old, new

    def bounds(self, labels: Relevance) -> tuple[float, float]:
        """The least and the greatest difference, new minus old, that the unknown labels leave.

        They are alike where no label can change it.
        """
        unknown = [pair for doc, pair in self.credits.items() if doc not in labels]
        if self.metric.name in _FIRST:
            # One relevant document more makes either extreme: the one that is a list's first.
            best_old, best_new = self._best(labels)
            values = [max(best_new, new) - max(best_old, old) for old, new in [(0, 0), *unknown]]
            return min(values), max(values)
        relevant = [new - old for doc, (old, new) in self.credits.items() if labels.get(doc)]
        gains = sorted(new - old for old, new in unknown)
        # However many of the unknown are relevant: at the worst those that gain least, at the best
        # those that gain most.
        n_relevant = range(len(relevant), len(relevant) + len(gains) + 1)
        wholes = [self.metric.whole(n) for n in n_relevant]
        sums = (sum(relevant) + np.cumsum([0.0, *order]) for order in (gains, gains[::-1]))
        least, most = (totals / wholes for totals in sums)
        low, high = float(least.min()), float(most.max())
        return (low, high) if high - low > 1e-12 else (low, low)
