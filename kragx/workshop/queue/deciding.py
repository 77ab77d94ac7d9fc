"""What the grades that are left can do to a comparison: nothing, or so much.

A retriever's value for a question depends on the grades of the question's documents. Those that are
left may be anything on the scale, so the difference of two retrievers lies between two bounds, for
each question by itself (`Rule.bounds`). From the bounds of all questions follows what the verdict
can become (`verdict`), without trying grades:

- The mean difference is at least the mean of the lower bounds, and at most that of the upper ones.
- The paired randomisation test flips signs. For differences d with a sum D > 0, a flip of the set F
  makes D - 2 sum_F d of it, which is as far from 0 as D if sum_F d <= 0, or if the sum over the
  others is; the two go together and exclude each other, so p = 2 P(sum_F d <= 0) over random F.
  Raising any d_q never makes sum_F d smaller: p never rises with a difference while D > 0. So the
  largest p that the grades left can bring about is that of the lower bounds, and the least is that
  of the upper ones; seen from the other retriever likewise. (Of more questions than can be flipped
  in every way the test draws its flips; with the same flips the same holds.)

The verdict is that of `kragx.comparison`: the two-sided paired randomisation test, its level
divided by the number of pairs of retrievers (Bonferroni), which for two retrievers and one metric
is its p as it stands. The interval that a comparison looks at besides is not looked at here.

A question in which nothing is relevant is in no mean; here its difference is 0, which changes
neither the sign of a mean nor p.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from kragx.comparison.statistics import sign_flip_p
from kragx.errors import UsageError
from kragx.metrics import DEFAULT_METRICS, Bools, Floats, Ints, MetricSpec, parse

ALPHA = 0.05
RESAMPLES = 2_000
_TINY = 1e-12

Verdict = Literal["better", "worse", "undecided", "open"]
"""Of one retriever against another whatever the grades left; "open" if that is not certain."""


@dataclass(frozen=True)
class Rule:
    """A metric as arithmetic on the grades of a question's documents.

    ndcg, precision and recall are a weighted sum of gains over what could be had of them
    (``ideal``: the best order; ``one``: nothing to divide by; ``count``: their sum). mrr and
    hit_rate are the ``best`` of the weights of relevant documents.

    Attributes:
        kind: of these four.
        k: the cut-off.
        rel: the least grade that counts; None for grades as they are.
        exp2: whether a gain is 2^grade - 1.
        top: the highest grade.
        flat: whether ranks within the cut-off do not matter.
    """

    kind: Literal["ideal", "one", "count", "best"]
    k: int
    rel: float | None
    exp2: bool
    top: int
    flat: bool = False

    @classmethod
    def of(cls, spec: MetricSpec, top: int) -> Rule | None:
        """The rule of a metric; None for one that has none."""
        kinds: dict[str, Literal["ideal", "one", "count", "best"]] = {
            "ndcg": "ideal",
            "precision": "one",
            "recall": "count",
            "mrr": "best",
            "hit_rate": "best",
        }
        others = {"over": "k", "need": "any", "gain_from": "gold", "ideal": "gold"}
        if (
            spec.name not in kinds
            or not isinstance(spec.k, int)
            or any(spec[name] not in (None, usual) for name, usual in others.items())
            or spec["gain"] not in (None, "linear", "exp2")
        ):
            return None
        rel = None if spec.name == "ndcg" else float(spec["rel"] or _TINY)
        flat = spec.name == "hit_rate"
        return cls(kinds[spec.name], spec.k, rel, spec["gain"] == "exp2", top, flat)

    def gains(self, grades: Floats) -> Floats:
        """What documents of these grades are worth."""
        if self.rel is not None:
            return (grades >= self.rel).astype(np.float64)
        return 2.0**grades - 1 if self.exp2 else np.maximum(grades, 0.0)

    @property
    def most(self) -> float:
        """The greatest gain."""
        return float(self.gains(np.array([float(self.top)]))[0])

    def weights(self, ranks: Ints, counts: Ints) -> Floats:
        """(r, d) what a gain of 1 at each document is worth to each retriever."""
        within = (ranks > 0) & (ranks <= self.k)
        places = np.where(within, ranks, 1).astype(np.float64)
        match self.kind:
            case "ideal":
                return within / np.log2(1 + places)
            case "one":
                return counts / self.k
            case "count":
                return within.astype(np.float64)
        return within / (1.0 if self.flat else places)

    def values(self, weights: Floats, gains: Floats) -> Floats:
        """The metric of one retriever: weights and gains (..., d) to values (...)."""
        if self.kind == "best":
            best: Floats = (weights * gains).max(axis=-1, initial=0.0)
            return best
        return _over((weights * gains).sum(axis=-1), self._whole(gains))

    def _whole(self, gains: Floats) -> Floats:
        """(...) what could be had of gains (..., d) in the best order."""
        match self.kind:
            case "one":
                return np.ones(gains.shape[:-1])
            case "count":
                return np.asarray(gains.sum(axis=-1))
        best = -np.sort(-gains, axis=-1)[..., : self.k]
        return np.asarray((best * _discounts(best.shape[-1])).sum(axis=-1))

    def bounds(
        self, one: Floats, other: Floats, gains: Floats, left: Bools
    ) -> tuple[Floats, Floats]:
        """Between what the difference of two retrievers lies, whatever is left.

        Exact for mrr, hit_rate and precision; for ndcg and recall the true ends lie within.

        Args:
            one: (q, d) the weights of the one.
            other: (q, d) those of the other.
            gains: (q, d); of what is left it does not matter.
            left: (q, d) what has no grade yet.

        Returns:
            (q) each.
        """
        known = np.where(left, 0.0, gains)
        most = self._most_of_best if self.kind == "best" else self._most_of_sums
        return -most(other, one, known, left), most(one, other, known, left)

    def _most_of_best(self, one: Floats, other: Floats, known: Floats, left: Bools) -> Floats:
        """The greatest difference of the best weights: one document more at most makes it.

        Of several it is the one that is best for `one`; the others can only help `other`.
        """
        own, others = self.values(one, known), self.values(other, known)
        more = np.maximum(own[:, None], one) - np.maximum(others[:, None], other)
        most: Floats = np.where(left, more, -1.0).max(axis=-1, initial=-1.0)
        return np.maximum(most, own - others)

    def _most_of_sums(self, one: Floats, other: Floats, known: Floats, left: Bools) -> Floats:
        """At least the greatest of sum((one - other) x) / whole(x), x anything where it is left.

        The sum and the whole are taken apart, each at its worst: exact where the whole is one.
        """
        w = one - other
        greatest = (w * np.where(left & (w > 0), self.most, known)).sum(axis=-1)
        least, most = (self._whole(np.where(left, gain, known)) for gain in (0.0, self.most))
        above = np.where(least > 0, _over(greatest, least), 1.0)
        return np.where(greatest > 0, np.minimum(above, 1.0), _over(greatest, most))


def deciding_metric(names: Iterable[str | MetricSpec], top: int = 3) -> MetricSpec:
    """The first of some metrics whose change by a grade is known; else the default."""
    for name in names:
        try:
            spec = parse(name)
        except UsageError:
            continue
        if Rule.of(spec, top) is not None:
            return spec
    return parse(DEFAULT_METRICS[0])


@dataclass(frozen=True)
class Field:
    """All questions that retrievers are compared by, one after the other.

    Attributes:
        rule: the metric.
        weights: (r, q, d) of each retriever; documents that a question does not have weigh 0.
        gains: (q, d); 0 where it is left.
        left: (q, d) what has no grade.
    """

    rule: Rule
    weights: Floats
    gains: Floats
    left: Bools

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Each two retrievers."""
        return list(combinations(range(len(self.weights)), 2))

    def means(self) -> Floats:
        """(r) the mean values, what is left counted as nothing."""
        values = self.rule.values(self.weights, self.gains)
        return np.asarray(values.mean(axis=-1))

    def verdicts(self) -> dict[tuple[int, int], Verdict]:
        """Of each two retrievers what is certain."""
        alpha = ALPHA / max(1, len(self.pairs))
        return {
            (one, other): verdict(
                *self.rule.bounds(self.weights[one], self.weights[other], self.gains, self.left),
                alpha,
            )
            for one, other in self.pairs
        }


def verdict(low: Floats, high: Floats, alpha: float = ALPHA) -> Verdict:
    """What the verdict is, whatever the differences are within their bounds.

    Args:
        low: (q) the lower bound of each question's difference.
        high: (q) the upper one.
        alpha: the level of the test.
    """
    is_low, is_high = sign_flip_p(np.stack([low, high], axis=1), RESAMPLES) <= alpha
    if is_low and low.sum() > 0:
        return "better"
    if is_high and high.sum() < 0:
        return "worse"
    may_differ = (is_high and high.sum() > 0) or (is_low and low.sum() < 0)
    return "open" if may_differ else "undecided"


def contenders(certain: dict[tuple[int, int], Verdict], count: int) -> set[int]:
    """The retrievers that are not certainly worse than another."""
    worse = {one for (one, _), own in certain.items() if own == "worse"}
    return (
        set(range(count))
        - worse
        - {other for (_, other), own in certain.items() if own == "better"}
    )


def open_pairs(certain: dict[tuple[int, int], Verdict], count: int) -> list[tuple[int, int]]:
    """The two retrievers, each of which may be the best, between which it is not decided."""
    best = contenders(certain, count)
    return [pair for pair, own in certain.items() if own == "open" and best.issuperset(pair)]


def _over(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=below > 0)


def _discounts(count: int) -> Floats:
    return np.asarray(1 / np.log2(np.arange(2, count + 2)), np.float64)
