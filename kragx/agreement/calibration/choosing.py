"""Choosing: folds of whole queries, the threshold of each candidate, and ties.

A candidate's threshold is chosen on the other folds and its decisions are scored on the fold left
out, so what is reported was never chosen on. Choosing among candidates is optimistic as well:
`Chooser.honest` repeats the whole choice, candidate and threshold, inside the other folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kragx.agreement.calibration.model import By, Estimate
from kragx.agreement.calibration.trying import Tried
from kragx.agreement.coefficients import binary_f1, binary_kappa
from kragx.comparison.statistics import percentile_interval, resamples
from kragx.metrics.table import Bools, Floats, Ints

_RESAMPLES = 2_000
_MARGIN = 0.01


@dataclass(frozen=True)
class Choice:
    """What was chosen on some pairs.

    Attributes:
        chosen: the position of the candidate.
        tied: those that cannot be told from the best.
        decided: (candidates, pairs) decisions of each on pairs that its threshold did not see.
        spans: for each candidate the least and greatest threshold of its folds.
        sampled: (candidates, resamples) the agreement of each in every resample of the queries.
    """

    chosen: int
    tied: frozenset[int]
    best: int
    decided: Bools
    spans: list[tuple[float, float]]
    sampled: Floats


class Chooser:
    """Cross-validated choice among candidates, on any part of the labelled pairs."""

    def __init__(
        self, tried: Sequence[Tried], truth: Bools, query: Ints, by: By, folds: int, seed: int
    ) -> None:
        self.scores = [each.scores for each in tried]
        self.fixed = [each.fixed for each in tried]
        self.truth = truth
        self.query = query
        self.agreement: Callable[..., Floats] = binary_kappa if by == "kappa" else binary_f1
        self.folds = folds
        self.seed = seed

    def choose(self, part: Bools) -> Choice:
        """The simplest candidate that cannot be told from the best, on the pairs of `part`."""
        fold = self._fold(part)
        decided = np.zeros((len(self.scores), len(self.truth)), bool)
        spans = []
        for at, scores in enumerate(self.scores):
            chosen = []
            for number in range(fold.max(initial=0) + 1):
                held_out = part & (fold == number)
                threshold = self.threshold(at, part & ~held_out)
                decided[at, held_out] = scores[held_out] >= threshold
                chosen.append(threshold)
            spans.append((min(chosen), max(chosen)))
        values = np.array([self._value(each[part], self.truth[part]) for each in decided])
        best = int(np.argmax(np.where(np.isnan(values), -np.inf, values)))
        sampled = self._sampled(decided, part)
        behind = values[best] - values
        differences = sampled[best] - sampled
        tied = frozenset({best}) | {
            at for at in range(len(values)) if _is_tied(behind[at], differences[at])
        }
        return Choice(min(tied), tied, best, decided, spans, sampled)

    def threshold(self, candidate: int, part: Bools) -> float:
        """The threshold of greatest agreement on these pairs; of several the safest.

        It lies between two neighbouring scores; of equally good places that with the widest room,
        and in it a round number near the middle. A candidate without one to choose keeps its own.
        """
        fixed = self.fixed[candidate]
        if fixed is not None:
            return fixed
        scores, truth = self.scores[candidate][part], self.truth[part]
        order = np.argsort(-scores, kind="stable")
        scores, hits = scores[order], np.cumsum(truth[order])
        said = np.arange(1, len(scores) + 1)
        last = np.flatnonzero(np.append(scores[1:] < scores[:-1], True) & (scores > 0))
        if not last.size:
            return 0.5
        tp, fp = hits[last], said[last] - hits[last]
        fn, tn = hits[-1] - tp, len(scores) - hits[-1] - fp
        values = self.agreement(tp, fp, fn, tn)
        values = np.where(np.isnan(values), -np.inf, values)
        high = np.minimum(scores[last], 1.0)
        low = np.append(scores, 0.0)[last + 1]
        good = np.flatnonzero(values >= values.max() - 1e-12)
        at = good[np.argmax((high - low)[good])]
        return _round_between(float(low[at]), float(high[at]))

    def estimates(self, choice: Choice) -> list[dict[str, Any]]:
        """What is reported of each candidate."""
        everything = np.ones(len(self.truth), bool)
        found = []
        for at, decided in enumerate(choice.decided):
            counts = _counts(decided, self.truth)
            tp, fp, fn, _ = counts
            fitted = self.scores[at] >= self.threshold(at, everything)
            value = _plain(self._value(decided, self.truth))
            best = _plain(self._value(choice.decided[choice.best], self.truth))
            behind = None if value is None or best is None else best - value
            found.append(
                {
                    "agreement": _estimate(value, choice.sampled[at]),
                    "apparent": _plain(self._value(fitted, self.truth)),
                    "kappa": _plain(binary_kappa(*counts)),
                    "f1": _plain(binary_f1(*counts)),
                    "precision": float(tp / (tp + fp)) if tp + fp else None,
                    "recall": float(tp / (tp + fn)) if tp + fn else None,
                    "thresholds": None if self.fixed[at] is not None else choice.spans[at],
                    "behind": _estimate(behind, choice.sampled[choice.best] - choice.sampled[at]),
                }
            )
        return found

    def honest(self) -> Estimate:
        """The agreement of the whole choice, repeated without each fold and scored on it."""
        everything = np.ones(len(self.truth), bool)
        fold = self._fold(everything)
        decided = np.zeros(len(self.truth), bool)
        for number in range(self.folds):
            held_out = fold == number
            part = ~held_out
            # Where what is left is of one query, there is nothing to choose a candidate on.
            chosen = self.choose(part).chosen if len(np.unique(self.query[part])) > 1 else 0
            threshold = self.threshold(chosen, part)
            decided[held_out] = self.scores[chosen][held_out] >= threshold
        sampled = self._sampled(decided[None, :], everything)
        return _estimate(_plain(self._value(decided, self.truth)), sampled[0])

    def _fold(self, part: Bools) -> Ints:
        """The fold of each pair; those of one query are in one, and folds are of like size."""
        queries = np.unique(self.query[part])
        shuffled = np.random.default_rng(self.seed).permutation(queries)
        fold = np.full(self.query.max() + 1, -1)
        fold[shuffled] = np.arange(len(shuffled)) % min(self.folds, len(shuffled))
        return np.where(part, fold[self.query], -1)

    def _value(self, decided: Bools, truth: Bools) -> float:
        return float(self.agreement(*_counts(decided, truth)))

    def _sampled(self, decided: Bools, part: Bools) -> Floats:
        """(candidates, resamples) the agreement in resamples of the queries."""
        queries, of_query = np.unique(self.query[part], return_inverse=True)
        truth, n = self.truth[part], len(queries)
        terms = np.empty((len(decided), 4, n))
        for at, each in enumerate(decided[:, part]):
            kinds = (each & truth, each & ~truth, ~each & truth, ~each & ~truth)
            for kind, of_kind in enumerate(kinds):
                terms[at, kind] = np.bincount(of_query, of_kind, minlength=n)
        blocks = []
        for weights in resamples(n, _RESAMPLES, self.seed):
            sums = terms.reshape(-1, n) @ weights.T
            blocks.append(self.agreement(*sums.reshape(len(decided), 4, -1).transpose(1, 0, 2)))
        return np.concatenate(blocks, axis=1)


def _is_tied(behind: float, differences: Floats) -> bool:
    # The one-standard-error rule (Breiman et al., Classification and Regression Trees, 1984,
    # section 3.4.3), of the paired difference. With many labels a standard error is next to
    # nothing, and so is a difference below the margin.
    interval = percentile_interval(differences)
    if interval is None or np.isnan(behind):
        return False
    return interval[0] <= 0 and behind <= max(float(np.nanstd(differences)), _MARGIN) + 1e-12


def _counts(decided: Bools, truth: Bools) -> tuple[int, int, int, int]:
    return (
        int((decided & truth).sum()),
        int((decided & ~truth).sum()),
        int((~decided & truth).sum()),
        int((~decided & ~truth).sum()),
    )


def _estimate(value: float | None, sampled: Floats) -> Estimate:
    interval = percentile_interval(sampled)
    low, high = (None, None) if interval is None or value is None else interval
    return Estimate(value, low, high)


def _plain(value: Floats | float) -> float | None:
    return None if np.isnan(value) else float(value)


def _round_between(low: float, high: float) -> float:
    """The number of fewest decimals in (low, high], the nearest to the middle of those."""
    middle = (low + high) / 2
    for decimals in range(1, 16):
        nearby = round(middle, decimals)
        step = 10.0**-decimals
        for each in (nearby, nearby + step, nearby - step):
            number = round(each, decimals)
            if low < number <= high:
                return number
    return high
