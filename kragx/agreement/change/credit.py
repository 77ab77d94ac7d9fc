"""What two lists of a question can differ by, as far as relevant documents are known."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Self

import numpy as np

from kragx.ground.errors import UsageError, nearest
from kragx.metrics import parse

Labels = Mapping[str, bool]
"""Whether documents are relevant, by their names; who is missing is not known."""

_FIRST = ("hit_rate", "mrr")  # of the first relevant document alone
_POOLED = ("recall", "map", "ndcg")  # over all that is relevant: of what is known, that is
LABELLED = ("precision", *_FIRST, *_POOLED)
"""Metrics whose differences people can label, in which a document is relevant or is not."""

_TRIED = 12  # of so many unknown documents all labels are tried out, for `map`


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

    def __str__(self) -> str:
        return f"{self.name}@{self.k}"


@dataclass(frozen=True)
class TwoLists:
    """What two versions retrieved for a question.

    Attributes:
        metric: what they are compared by.
        old, new: the names of their documents; the same name is the same document. One that is
            repeated keeps its rank and counts once.
        beyond: how many relevant documents are known that neither has.
    """

    metric: LabelledMetric
    old: tuple[str, ...]
    new: tuple[str, ...]
    beyond: int = 0

    @cached_property
    def documents(self) -> tuple[str, ...]:
        """Those within the cut-off, by the better of their ranks."""
        best: dict[str, int] = {}
        for ranks in self._ranks:
            best |= {doc: min(rank, best.get(doc, rank)) for doc, rank in ranks.items()}
        return tuple(sorted(best, key=lambda doc: (best[doc], doc)))

    @cached_property
    def _ranks(self) -> tuple[dict[str, int], dict[str, int]]:
        """The first rank of each document, in the old list and in the new."""
        lists = (self.old[: self.metric.k], self.new[: self.metric.k])
        old, new = ({doc: rank for rank, doc in reversed([*enumerate(of, 1)])} for of in lists)
        return old, new

    def wanted(self, labels: Labels) -> tuple[str, ...]:
        """The documents to be labelled next; none where no label can change the difference.

        What came or went comes first; what stayed follows where that leaves the difference open.
        Where the first relevant document decides alone they are asked for one by one.
        """
        low, high = self.bounds(labels)
        if low == high:
            return ()
        unknown = [doc for doc in self.documents if doc not in labels]
        if self.metric.name not in _FIRST:
            changed = [doc for doc in unknown if self._credits(doc)[0] != self._credits(doc)[1]]
            return tuple(changed or unknown)
        best = self._best(labels)
        telling = [doc for doc in unknown if any(map(operator.gt, self._credits(doc), best))]
        if self.metric.name == "mrr":
            return tuple(telling[:1])
        return tuple([doc for doc in telling if 0.0 in self._credits(doc)] or telling[:1])

    def _credits(self, doc: str) -> tuple[float, float]:
        old, new = self._ranks
        return self.credit(old.get(doc)), self.credit(new.get(doc))

    def _best(self, labels: Labels) -> tuple[float, float]:
        """The credit of the first relevant document that is known, in either list."""
        known = [self._credits(doc) for doc in self.documents if labels.get(doc)]
        old, new = (max((pair[side] for pair in known), default=0.0) for side in (0, 1))
        return old, new

    def credit(self, rank: int | None) -> float:
        """What a document at a rank adds, or for `hit_rate` and `mrr` is worth as the first."""
        if rank is None:
            return 0.0
        match self.metric.name:
            case "precision":
                return 1.0 / self.metric.k
            case "mrr":
                return 1.0 / rank
            case "ndcg":
                return float(1.0 / np.log2(1.0 + rank))
        return 1.0

    def bounds(self, labels: Labels) -> tuple[float, float]:
        """The least and the greatest difference, new minus old, that the unknown labels leave.

        They are alike where no label can change it. For `map` with more than twelve unknown
        documents they are -1 and 1.
        """
        old, new = self._ranks
        if old == new:
            return 0.0, 0.0
        if self.metric.name in _FIRST:
            return self._of_first(labels)
        low, high = self._of_map(labels) if self.metric.name == "map" else self._of_sum(labels)
        return (low, high) if high - low > 1e-12 else (low, low)

    def _of_first(self, labels: Labels) -> tuple[float, float]:
        # One relevant document more is enough for either extreme: the one that is a list's first.
        best_old, best_new = self._best(labels)
        unknown = (self._credits(doc) for doc in self.documents if doc not in labels)
        values = [max(best_new, new) - max(best_old, old) for old, new in [(0.0, 0.0), *unknown]]
        return min(values), max(values)

    def _of_sum(self, labels: Labels) -> tuple[float, float]:
        gains = {doc: new - old for doc in self.documents for old, new in [self._credits(doc)]}
        known = sum(gain for doc, gain in gains.items() if labels.get(doc))
        unknown = sorted(gain for doc, gain in gains.items() if doc not in labels)
        return self._over_totals(
            labels,
            [known + total for total in accumulate(unknown, initial=0.0)],
            [known + total for total in accumulate(reversed(unknown), initial=0.0)],
        )

    def _over_totals(
        self, labels: Labels, least: Sequence[float], most: Sequence[float]
    ) -> tuple[float, float]:
        """The extremes over how many of the unknown documents are relevant, from 0 on."""
        n = self.beyond + sum(bool(labels.get(doc)) for doc in self.documents)
        wholes = [self._whole(n + more) for more in range(len(most))]
        return (
            min(value / whole for value, whole in zip(least, wholes)),
            max(value / whole for value, whole in zip(most, wholes)),
        )

    def _whole(self, n_relevant: int) -> float:
        """What the sums are divided by, of so many relevant documents."""
        match self.metric.name:
            case "precision":
                return 1.0
            case "ndcg":
                ranks = range(1, 1 + min(n_relevant, self.metric.k))
                return sum(map(self.credit, ranks)) or 1.0
        return float(n_relevant or 1)

    def _of_map(self, labels: Labels) -> tuple[float, float]:
        old, new = (tuple(ranks.get(doc, 0) for doc in self.documents) for ranks in self._ranks)
        return _of_map(old, new, tuple(map(labels.get, self.documents)), self.beyond)


@lru_cache(maxsize=1 << 14)  # many questions change alike
def _of_map(
    old: tuple[int, ...], new: tuple[int, ...], labels: tuple[bool | None, ...], beyond: int
) -> tuple[float, float]:
    """The extremes of `map`, of the ranks of documents in either list, 0 where it has them not."""
    unknown = [place for place, label in enumerate(labels) if label is None]
    if len(unknown) > _TRIED:
        return -1.0, 1.0
    # (2^u, d): each row has other labels for the u that are not known.
    tried = np.tile([float(bool(label)) for label in labels], (1 << len(unknown), 1))
    for bit, place in enumerate(unknown):
        tried[:, place] = np.arange(len(tried)) >> bit & 1
    sums = [np.zeros(len(tried)), np.zeros(len(tried))]
    for side, ranks in enumerate((old, new)):
        n_relevant = np.zeros(len(tried))
        for rank, place in sorted((rank, place) for place, rank in enumerate(ranks) if rank):
            n_relevant += tried[:, place]
            sums[side] += tried[:, place] * n_relevant / rank
    values = (sums[1] - sums[0]) / np.maximum(1, beyond + tried.sum(axis=1))
    return float(values.min()), float(values.max())
