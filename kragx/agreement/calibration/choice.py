"""Choosing: folds of whole queries, the threshold of each candidate, and ties.

A candidate's threshold is chosen on the other folds and its decisions are scored on the fold left
out, so what is reported was never chosen on. Choosing among candidates is optimistic as well:
`Chooser.honest` repeats the whole choice, candidate and threshold, inside the other folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kragx.agreement.calibration.candidate import By, Candidate
from kragx.agreement.calibration.trials import Trial
from kragx.agreement.coefficients import binary_f1, binary_kappa
from kragx.comparison import Estimate
from kragx.comparison.statistics import percentile_interval, resampled
from kragx.metrics.table import Bools, Floats, Ints

_RESAMPLES = 2_000
_MARGIN = 0.01


@dataclass(frozen=True)
class Choice:
    """What was chosen on some pairs.

    Attributes:
        chosen: the position of the candidate.
        tied: those that cannot be told from the best.
        best: the position of the best.
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
    """Cross-validated choice among candidates, on any part of the labelled pairs.

    Args:
        trials: the candidates with their scores, simplest first.
        truth: (u) whether each labelled pair is a match.
        query_of: (u) the query of each, by position.
        by: what is to be greatest.
        folds: how many, at most as many as there are queries.
        seed: of folds and resamples.
    """

    def __init__(
        self,
        trials: Sequence[Trial],
        truth: Bools,
        query_of: Ints,
        by: By,
        folds: int,
        seed: int,
    ) -> None:
        self.trials = trials
        self.truth = truth
        self.query_of = query_of
        self.agreement: Callable[..., Floats] = binary_kappa if by == "kappa" else binary_f1
        self.folds = folds
        self.seed = seed
        self.all = np.ones(len(truth), bool)

    def choose(self, part: Bools) -> Choice:
        """The simplest candidate that cannot be told from the best, on the pairs of `part`."""
        fold = self._fold(part)
        decided = np.zeros((len(self.trials), len(self.truth)), bool)
        spans = []
        for row, trial in enumerate(self.trials):
            thresholds = []
            for number in range(fold.max(initial=0) + 1):
                held_out = part & (fold == number)
                thresholds.append(self.threshold(row, part & ~held_out))
                decided[row, held_out] = trial.scores[held_out] >= thresholds[-1]
            spans.append((min(thresholds), max(thresholds)))
        values = self._values(decided[:, part], self.truth[part])
        best = int(np.argmax(np.nan_to_num(values, nan=-np.inf)))
        sampled = self._sampled(decided, part)
        tied = frozenset({best}) | {
            row
            for row in range(len(values))
            if _is_tied(values[best] - values[row], sampled[best] - sampled[row])
        }
        return Choice(min(tied), tied, best, decided, spans, sampled)

    def threshold(self, candidate: int, part: Bools) -> float:
        """The threshold of greatest agreement on these pairs; of several the safest.

        It lies between two neighbouring scores; of equally good places that with the widest room,
        and in it a round number near the middle. A candidate without one to choose keeps its own.
        """
        trial = self.trials[candidate]
        if trial.fixed is not None:
            return trial.fixed
        scores, truth = trial.scores[part], self.truth[part]
        order = np.argsort(-scores, kind="stable")
        scores, hits = scores[order], np.cumsum(truth[order])
        # Deciding for everything down to the last of several equal scores, at each such place.
        last = np.flatnonzero(np.append(scores[1:] < scores[:-1], True) & (scores > 0))
        if not last.size:
            return 0.5
        tp = hits[last]
        fp, fn = last + 1 - tp, hits[-1] - tp
        values = self.agreement(tp, fp, fn, len(scores) - tp - fp - fn)
        values = np.nan_to_num(values, nan=-np.inf)
        high = np.minimum(scores[last], 1.0)
        low = np.append(scores, 0.0)[last + 1]
        good = np.flatnonzero(values >= values.max() - 1e-12)
        place = good[np.argmax((high - low)[good])]
        return _round_between(float(low[place]), float(high[place]))

    def candidates(self) -> tuple[list[Candidate], Candidate]:
        """How every candidate does on all pairs, and the one that is chosen."""
        choice = self.choose(self.all)
        values = self._values(choice.decided, self.truth)
        best = choice.best
        rows = []
        for row, (trial, decided) in enumerate(zip(self.trials, choice.decided)):
            tp, fp, fn, tn = _counts(decided, self.truth)
            threshold = self.threshold(row, self.all)
            fitted = self._values(trial.scores >= threshold, self.truth)
            rows.append(
                Candidate(
                    match=trial.spec_with(threshold),
                    agreement=self._estimate(values[row], choice.sampled[row]),
                    apparent=_known(fitted),
                    kappa=_known(binary_kappa(tp, fp, fn, tn)),
                    f1=_known(binary_f1(tp, fp, fn, tn)),
                    precision=float(tp / (tp + fp)) if tp + fp else None,
                    recall=float(tp / (tp + fn)) if tp + fn else None,
                    thresholds=None if trial.fixed is not None else choice.spans[row],
                    behind=self._estimate(
                        values[best] - values[row], choice.sampled[best] - choice.sampled[row]
                    ),
                    tied=row in choice.tied,
                )
            )
        return rows, rows[choice.chosen]

    def honest(self) -> Estimate:
        """The agreement of the whole choice, repeated without each fold and scored on it."""
        fold = self._fold(self.all)
        decided = np.zeros(len(self.truth), bool)
        for number in range(self.folds):
            held_out = fold == number
            part = ~held_out
            # Where what is left is of one query, there is nothing to choose a candidate on.
            chosen = self.choose(part).chosen if len(np.unique(self.query_of[part])) > 1 else 0
            threshold = self.threshold(chosen, part)
            decided[held_out] = self.trials[chosen].scores[held_out] >= threshold
        sampled = self._sampled(decided[None, :], self.all)
        return self._estimate(self._values(decided, self.truth), sampled[0])

    def _fold(self, part: Bools) -> Ints:
        """The fold of each pair; those of one query are in one, and folds are of like size."""
        queries = np.unique(self.query_of[part])
        shuffled = np.random.default_rng(self.seed).permutation(queries)
        fold = np.full(self.query_of.max() + 1, -1)
        fold[shuffled] = np.arange(len(shuffled)) % min(self.folds, len(shuffled))
        return np.where(part, fold[self.query_of], -1)

    def _values(self, decided: Bools, truth: Bools) -> Floats:
        """(...) the agreement of decisions of shape (..., pairs)."""
        return self.agreement(*_counts(decided, truth))

    def _sampled(self, decided: Bools, part: Bools) -> Floats:
        """(candidates, resamples) the agreement in resamples of the queries."""
        queries, row_of = np.unique(self.query_of[part], return_inverse=True)
        terms = np.array(
            [
                [np.bincount(row_of, kind, len(queries)) for kind in _kinds(own, self.truth[part])]
                for own in decided[:, part]
            ]
        )
        return resampled(
            terms.transpose(2, 0, 1),
            lambda sums: self.agreement(*np.moveaxis(sums, -1, 0)),
            _RESAMPLES,
            self.seed,
        ).T

    def _estimate(self, value: Floats | float, sampled: Floats) -> Estimate:
        interval = percentile_interval(sampled)
        low, high = (None, None) if interval is None or np.isnan(value) else interval
        return Estimate(_known(value), low, high, len(np.unique(self.query_of)))


def _is_tied(behind: float, differences: Floats) -> bool:
    # The one-standard-error rule (Breiman et al., Classification and Regression Trees, 1984,
    # section 3.4.3), of the paired difference. With many labels a standard error is next to
    # nothing, and so is a difference below the margin.
    interval = percentile_interval(differences)
    if interval is None or np.isnan(behind):
        return False
    return interval[0] <= 0 and behind <= max(float(np.nanstd(differences)), _MARGIN) + 1e-12


def _kinds(decided: Bools, truth: Bools) -> tuple[Bools, Bools, Bools, Bools]:
    """Decided and true; decided, not true; true, not decided; neither."""
    return decided & truth, decided & ~truth, ~decided & truth, ~decided & ~truth


def _counts(decided: Bools, truth: Bools) -> list[Ints]:
    """How many of each of `_kinds`, over the last axis."""
    return [kind.sum(-1) for kind in _kinds(decided, truth)]


def _known(value: Floats | float) -> float | None:
    return None if np.isnan(value) else float(value)


def _round_between(low: float, high: float) -> float:
    """The number of fewest decimals in (low, high], the nearest to the middle of those."""
    middle = (low + high) / 2
    for decimals in range(1, 16):
        nearby = round(middle, decimals)
        step = 10.0**-decimals
        for candidate in (nearby, nearby + step, nearby - step):
            number = round(candidate, decimals)
            if low < number <= high:
                return number
    return high
