"""Choosing: the scores of candidates, folds, the threshold of each, and ties.

A candidate's threshold is chosen on the other folds of whole queries and its decisions are scored
on the fold left out, so what is reported was never chosen on. Choosing among candidates is
optimistic as well: `Chooser.result` repeats the whole choice, candidate and threshold, inside the
other folds.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kragx import matchers
from kragx.agreement.coefficients import cohen_kappa, confusions, defined, f1, ratio
from kragx.comparison import Estimate
from kragx.comparison.statistics import LEAST
from kragx.data import TokenCorpus, Tokenizer
from kragx.evaluation.match_source import vocabulary_of_items
from kragx.ground.errors import UsageError
from kragx.matchers import BaseMatcher, Diagnostics, MatchItem, MatchWarning
from kragx.matchers.matching import match as match_items
from kragx.metrics import Bools, Floats, Ints, MatchTable
from kragx.metrics.intervals import percentile_interval, resampled, score_interval
from kragx.metrics.threshold import matches

By = Literal["kappa", "f1"]

AGREEMENTS: Mapping[By, Callable[[Floats], Floats]] = {"kappa": cohen_kappa, "f1": f1}
"""What may be made greatest: from confusion matrices (..., 2, 2) to values (...), at most 1."""

LEAST_LABELS = 30
"""Of fewer labels no interval is shown: it would hold the truth too seldom."""

_MARGIN = 0.01
_MIDDLE = 0.5  # of a threshold that nothing decides


def as_mapping(spec: object) -> dict[str, Any]:
    """A candidate's spec as a mapping; a threshold of its own is left to be chosen."""
    if isinstance(spec, str):
        return {"method": spec}
    if isinstance(spec, Mapping):
        return {name: value for name, value in spec.items() if name not in ("threshold", "cache")}
    raise UsageError("candidates: {spec!r} is neither a name nor a mapping", spec=spec)


@dataclass(frozen=True)
class Trial:
    """A candidate with the score of every labelled pair.

    Attributes:
        spec: what to match by.
        scores: (u) one for each pair.
        fixed: its threshold, where there is none to choose.
    """

    spec: dict[str, Any]
    scores: Floats
    fixed: float | None


def trials(items: Sequence[MatchItem], specs: Sequence[dict[str, Any]], pairs: Ints) -> list[Trial]:
    """The scores of each candidate; pairs are those of `labelled`.

    Raises:
        UsageError: a spec is wrong, or asks a judge, or there is none.
    """
    if not specs:
        raise UsageError("candidates: there is none")
    corpora: dict[Tokenizer, TokenCorpus] = {}
    tried = []
    vocabulary = vocabulary_of_items(items)
    for spec in specs:
        matcher, fixed = _matcher(spec)
        matcher = matcher.knowing(vocabulary)
        with warnings.catch_warnings():
            # Of texts that a candidate cannot match; its scores show it.
            warnings.simplefilter("ignore", MatchWarning)
            table = match_items(items, matcher.sharing(corpora), Diagnostics())
        tried.append(Trial(spec, _scores(items, table, pairs), fixed))
    return tried


def _scores(items: Sequence[MatchItem], table: MatchTable, pairs: Ints) -> Floats:
    """(u) the score of each pair; of one with any gold item, the best with a relevant one."""
    dense = {row: np.nan_to_num(table.dense(row)) for row in np.unique(pairs[:, 0])}
    relevant = {row: [gold.grade > 0 for gold in items[row].query.gold] for row in dense}
    return np.array(
        [
            dense[row][doc, relevant[row]].max() if gold < 0 else dense[row][doc, gold]
            for row, doc, gold in pairs.tolist()
        ]
    )


def _matcher(spec: dict[str, Any]) -> tuple[BaseMatcher, float | None]:
    """The matcher of a candidate, and its own threshold where there is none to choose."""
    try:
        matcher, threshold = matchers.matcher(with_threshold(spec, _MIDDLE)), _MIDDLE
    except UsageError:  # it takes no threshold, or is wrong without one too
        matcher, threshold = matchers.matcher(spec), None
    if matcher.judges:
        raise UsageError(
            "candidates: a judge's grades are what others are compared with; name it in --labels"
        )
    return matcher, None if matcher.threshold == threshold else matcher.threshold


def with_threshold(spec: Mapping[str, Any], threshold: float) -> dict[str, Any]:
    """A spec with this threshold, where the kind of matcher takes it.

    Of an import path it is an argument.
    """
    if ":" in str(spec.get("method")):
        return {**spec, "args": {**(spec.get("args") or {}), "threshold": threshold}}
    return {**spec, "threshold": threshold}


@dataclass(frozen=True)
class Candidate:
    """How one way to match did.

    Attributes:
        match: its spec, with the threshold that suits all labelled pairs best.
        agreement: kappa or F1 of decisions on queries that its threshold was not chosen on; its
            interval is of what new queries would give.
        apparent: the same with the final threshold on the pairs it was chosen on: optimistic.
        mistakes: how many labelled pairs the final threshold decides otherwise.
        precision, recall: of the decisions behind `agreement`.
        tied: whether it cannot be told from the best: the interval of how far it is behind holds 0,
            and it is behind by no more than one standard error of that difference, or .01.
    """

    match: dict[str, Any]
    agreement: Estimate
    apparent: float | None
    mistakes: int
    precision: float | None
    recall: float | None
    tied: bool

    @property
    def name(self) -> str:
        """The way to match, without its threshold and what changes no score."""
        if "method" not in self.match:
            return str(self.match)
        return " ".join(
            str(value) if name in ("method", "measure") else f"{name} {value}"
            for name, value in self.match.items()
            if name not in ("threshold", "cache")
        )


@dataclass(frozen=True)
class Chooser:
    """Cross-validated choice among candidates, on any part of the labelled pairs.

    Args:
        trials: the candidates with their scores, simplest first.
        truth: (u) whether each labelled pair is a match.
        query_of: (u) the query of each, by position.
        by: what is to be greatest.
        folds: how many, at most as many as there are queries.
        seed: of folds and resamples.
        resamples: how many.
    """

    trials: Sequence[Trial]
    truth: Bools
    query_of: Ints
    by: By
    folds: int
    seed: int
    resamples: int = 2_000

    def choose(self, part: Bools) -> int:
        """The simplest candidate that cannot be told from the best, on the pairs of `part`."""
        if len(np.unique(self.query_of[part])) < 2:
            return 0  # one query cannot be divided into folds
        return min(_tied(*self._measured(self._decided(part), part)))

    def _decided(self, part: Bools) -> Bools:
        """(candidates, u) decisions by thresholds that did not see the pair.

        Pairs outside `part` are decided in some way, which says nothing.
        """
        fold = self._fold(part)
        thresholds = [
            [self.threshold(row, part & (fold != number)) for number in range(fold.max() + 1)]
            for row in range(len(self.trials))
        ]
        scores = np.array([trial.scores for trial in self.trials])
        decided: Bools = matches(scores, np.array(thresholds)[:, fold])
        return decided

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
        scores = scores[order]
        # Deciding for everything down to the last of several equal scores, at each such place.
        last = np.flatnonzero(np.append(scores[1:] < scores[:-1], True) & (scores > 0))
        # Without a score above 0 nothing is found at any threshold.
        if not last.size:
            return _MIDDLE
        decided = np.cumsum(np.stack([~truth, truth], axis=-1)[order], axis=0, dtype=np.float64)
        confusion = np.stack([decided[-1] - decided[last], decided[last]], axis=-1)
        values = np.nan_to_num(AGREEMENTS[self.by](confusion), nan=-np.inf)
        high = np.minimum(scores[last], 1.0)
        # The next lower score, or 0 below the last: any threshold in between decides the same.
        low = np.append(scores, 0.0)[last + 1]
        # Sums in another order differ in their last digits: that makes no threshold better.
        good = np.flatnonzero(values >= values.max() - 1e-12)
        place = good[np.argmax((high - low)[good])]
        return _round_between(float(low[place]), float(high[place]))

    def result(self) -> tuple[list[Candidate], Candidate, Estimate]:
        """How every candidate does on all pairs, the one that is chosen, and what to expect of it.

        The last is the agreement of the whole choice, repeated without each fold and scored on it.
        """
        everything = np.ones(len(self.truth), bool)
        decided = self._decided(everything)
        values, sampled = self._measured(decided, everything)
        tied = _tied(values, sampled)
        candidates = [
            self._candidate(row, self._estimate(*measured), measured[2], tied=row in tied)
            for row, measured in enumerate(zip(values, sampled, decided))
        ]
        fold = self._fold(everything)
        choices = np.array([self.choose(fold != number) for number in range(self.folds)])
        # Thresholds did not see the fold either, so the decisions are those made above.
        whole = decided[choices[fold], np.arange(len(fold))]
        [value], [drawn] = self._measured(whole[None], everything)
        return candidates, candidates[min(tied)], self._estimate(value, drawn, whole)

    def _candidate(self, row: int, agreement: Estimate, decided: Bools, *, tied: bool) -> Candidate:
        trial, threshold = self.trials[row], self.threshold(row, np.ones(len(self.truth), bool))
        decisions = np.stack([decided, matches(trial.scores, threshold)])
        confusion, fitted = confusions(self.query_of, self.truth, decisions, 2).sum(0)
        return Candidate(
            match=with_threshold(trial.spec, threshold) if trial.fixed is None else trial.spec,
            agreement=agreement,
            apparent=defined(AGREEMENTS[self.by](fitted)),
            mistakes=int(fitted[0, 1] + fitted[1, 0]),
            precision=defined(ratio(confusion[1, 1], confusion[:, 1].sum())),
            recall=defined(ratio(confusion[1, 1], confusion[1].sum())),
            tied=tied,
        )

    def _fold(self, part: Bools) -> Ints:
        """The fold of each pair; those of one query are in one, and folds are of like size."""
        queries = np.unique(self.query_of[part])
        # Whole queries go into a fold: pairs of one are alike, and would tell what to choose for
        # themselves.
        shuffled = queries[np.random.default_rng(self.seed).permutation(len(queries))]
        fold = np.full(self.query_of.max() + 1, -1)
        fold[shuffled] = np.arange(len(queries)) % min(self.folds, len(queries))
        return np.where(part, fold[self.query_of], -1)

    def _measured(self, decided: Bools, part: Bools) -> tuple[Floats, Floats]:
        """(candidates) the agreement on `part`; (candidates, resamples) in resamples of queries."""
        terms = confusions(self.query_of[part], self.truth[part], decided[:, part], 2)
        agreements = AGREEMENTS[self.by]
        return agreements(terms.sum(0)), resampled(terms, agreements, self.resamples, self.seed).T

    def _estimate(self, value: float, sampled: Floats, decided: Bools) -> Estimate:
        """An agreement of these decisions on all pairs, and between what that of new queries lies.

        Resamples of the queries know how far an agreement varies with the queries that it is of,
        not with those that the choice was made on. Of k folds the latter are k - 1 times as many,
        which adds the (k - 1)th part to the variance (measured in docs/evidence/intervals.md).

        Source: C. Nadeau, Y. Bengio, Inference for the generalization error, Machine Learning
        52, 2003: the ratio of test to training set as what their correlation adds.
        """
        n = len(np.unique(self.query_of))
        values = sampled[~np.isnan(sampled)]
        if np.isnan(value) or n < LEAST or len(self.truth) < LEAST_LABELS or not values.size:
            return Estimate(defined(value), None, None, n)
        low = -1.0 if self.by == "kappa" else 0.0
        width = 1 - low
        variance = float(values.var()) / width**2 * n / (n - 1) * (1 + 1 / (self.folds - 1))
        n_wrong = len(np.unique(self.query_of[decided != self.truth]))
        ends = score_interval((float(value) - low) / width, variance, n, n_wrong)
        return Estimate(float(value), low + width * ends[0], low + width * ends[1], n)


def _tied(values: Floats, sampled: Floats) -> set[int]:
    """The best candidate, and those that cannot be told from it.

    The one-standard-error rule (Breiman et al., Classification and Regression Trees, 1984, section
    3.4.3), of the paired difference. With many labels a standard error is next to nothing, and so
    is a difference below the margin.
    """
    best = int(np.argmax(np.nan_to_num(values, nan=-np.inf)))
    return {best} | {
        row
        for row, differences in enumerate(sampled[best] - sampled)
        if (interval := percentile_interval(differences)) is not None
        and interval[0] <= 0
        and values[best] - values[row] <= max(float(np.nanstd(differences)), _MARGIN) + 1e-12
    }


def _round_between(low: float, high: float) -> float:
    """The number of fewest decimals in (low, high], the nearest to the middle of those."""
    # Of each number of decimals the nearest to the middle, then its neighbours, until one lies
    # inside.
    middle = (low + high) / 2
    numbers = (
        round(round(middle, decimals) + step * 10.0**-decimals, decimals)
        for decimals in range(1, 16)
        for step in (0, 1, -1)
    )
    return next((number for number in numbers if low < number <= high), high)
