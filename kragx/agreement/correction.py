"""Prediction-powered means: a judge's numbers on all queries, put right by people on some.

The judge scores every query, people score n of them. What people say of those n tells how far off
the judge is, so the mean over all queries is corrected by it, and its interval says how sure that
is. A query is one observation, whatever the number of documents behind it: documents of one query
resemble each other, and counting each as an observation of its own gives intervals that are far
too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from kragx.agreement.intervals import Interval, check_confidence, student_t
from kragx.agreement.labels import Labels, Scale, document_name, read_labels, read_scale
from kragx.agreement.systems import as_gold, judged_share, lowest_is_zero, named, scored_by
from kragx.comparison.statistics import CONFIDENCE
from kragx.data.runs import Run
from kragx.errors import DataError, UsageError
from kragx.metrics.table import Floats

LEAST_QUERIES = 20
"""The fewest labelled queries from which a correction is made, unless more are asked for."""


@dataclass(frozen=True)
class Estimate:
    """One mean, corrected.

    Attributes:
        value: the prediction-powered estimate.
        interval: of the mean over the population that the queries are a sample of; None where
            nothing varies: an interval without width would say that nothing is uncertain.
        plain: the judge's mean over all queries, uncorrected.
        human: the human mean over the labelled queries alone.
        human_interval: of that one.
        weight: how much of the judge was used, from 0 (people alone) to 1.
        n_labelled, n_queries: how many queries people, and the judge, scored.
    """

    value: float
    interval: Interval | None
    plain: float
    human: float
    human_interval: Interval | None
    weight: float
    n_labelled: int
    n_queries: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "corrected": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "plain": self.plain,
            "human": self.human,
            "human_interval": (None if self.human_interval is None else list(self.human_interval)),
            "weight": self.weight,
            "n_labelled": self.n_labelled,
            "n_queries": self.n_queries,
        }


def prediction_powered(
    human: Floats, judge: Floats, rest: Floats, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate a mean from n human values, the judge's for the same units, and for other units.

    With f the judge's values and y the human ones the estimate is
    ``mean(y) + w * (mean of f over the rest - mean of f over the labelled)``, where the weight w is
    the one that makes its variance least, cut to [0, 1] (power tuning, PPI++). Its variance is
    ``var(y - w f) / n + w^2 var(f) / N``; the interval uses Student's t with n - 1 degrees of
    freedom, and n - 2 in the variance, as w is estimated from the same values.

    Args:
        human: (n) the human value of each labelled unit.
        judge: (n) the judge's value of the same.
        rest: (N) the judge's value of each unit that people did not label; may be empty, and the
            estimate is then the human mean.
        confidence: between 0 and 1.

    Raises:
        UsageError: fewer than three labelled units, or human and judge differ in number.

    Source: A. Angelopoulos, J. Duchi, T. Zrnic, PPI++: Efficient Prediction-Powered Inference,
    2023.
    """
    n, more = len(human), len(rest)
    if n < 3 or len(judge) != n:
        raise UsageError(f"{n} labelled and {len(judge)} judged units: at least 3 of each needed")
    reach = student_t((1 + check_confidence(confidence)) / 2, n - 1)
    weight, value, variance = 0.0, float(human.mean()), float(human.var(ddof=1)) / n
    alone = variance
    if more >= 2:
        everything = np.concatenate([judge, rest])
        spread = float(everything.var(ddof=1))
        if spread > 0:
            covariance = float(((human - human.mean()) * (judge - judge.mean())).sum() / (n - 1))
            weight = min(1.0, max(0.0, covariance / (spread * (1 + n / more))))
        value = float(human.mean() + weight * (rest.mean() - judge.mean()))
        left = human - weight * judge
        residual = float(((left - left.mean()) ** 2).sum()) / (n - 2 if weight else n - 1)
        variance = residual / n + weight**2 * spread / more
    margin, margin_alone = reach * sqrt(variance), reach * sqrt(alone)
    mean = float(human.mean())
    return Estimate(
        value=value,
        interval=_around(value, margin),
        plain=float(np.concatenate([judge, rest]).mean()),
        human=mean,
        human_interval=_around(mean, margin_alone),
        weight=weight,
        n_labelled=n,
        n_queries=n + more,
    )


def _around(value: float, margin: float) -> Interval | None:
    # Equal values may vary in their last digits.
    return (value - margin, value + margin) if margin > 1e-12 * max(1, abs(value)) else None


@dataclass(frozen=True)
class Corrected:
    """Corrected metrics of some systems.

    Attributes:
        estimates: by system, then metric.
        labelled: by system, the queries that people have labelled down to the deepest cut.
        partly: by system, how many queries people have labelled in part; they are not used.
        unscored: by system, how many of its queries have no label by the judge; no mean has them.
        judged: by system, judged@k of the judge's labels at the deepest cut; what it has not
            labelled counts as not relevant in its values.
        depths: by system, the deepest cut.
        n_human_only: queries with human labels but none by the judge; they are not used.
        n_out_of_scale: labels of either side that are not on the scale, and not used.
        scale: of the labels.
        settings: confidence, the least number of queries, names.
    """

    estimates: dict[str, dict[str, Estimate]]
    labelled: dict[str, tuple[str, ...]]
    partly: dict[str, int]
    unscored: dict[str, int]
    judged: dict[str, float | None]
    depths: dict[str, int]
    n_human_only: int
    n_out_of_scale: int
    scale: Scale
    settings: dict[str, Any]

    def __getitem__(self, system: str) -> dict[str, Estimate]:
        return self.estimates[system]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return lowest_is_zero(self.scale)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "systems": {
                system: {
                    "metrics": {name: each.to_dict() for name, each in of_system.items()},
                    "labelled": list(self.labelled[system]),
                    "n_partly_labelled": self.partly[system],
                    "n_unscored": self.unscored[system],
                    f"judged@{self.depths[system]}": self.judged[system],
                }
                for system, of_system in self.estimates.items()
            },
            "n_human_only": self.n_human_only,
            "n_out_of_scale": self.n_out_of_scale,
            "notes": list(self.notes),
            "settings": dict(self.settings),
        }

    def print(self) -> None:
        """Print plain and corrected means side by side."""
        from kragx.report.agreement import print_corrected

        print_corrected(self)


def correct(
    human: object,
    judge: object,
    runs: Sequence[Run],
    *,
    metrics: Sequence[str] = ("ndcg@10",),
    scale: object = None,
    least: int = LEAST_QUERIES,
    confidence: float = CONFIDENCE,
    asks: str | None = None,
    model: str | None = None,
    rubric: str | None = None,
) -> Corrected:
    """Correct the means that a judge's labels give by people's labels of some queries.

    A query is labelled when people have labelled every document that its metrics look at. The
    labelled queries must be a random part of all (``kragx judge label --queries 30`` draws one); a
    query without a relevant label scores 0, for people and judge alike.

    Args:
        human: labels of some queries, as for `read_labels`.
        judge: labels of all queries.
        runs: the systems.
        metrics: metric strings; each needs a cut (``@10``).
        scale: of the labels; None for that of the human labels.
        least: fewer labelled queries than this are refused; not below 3.
        confidence: of the intervals.
        asks: of a judge's store, as for `agree`.
        model: the same.
        rubric: the same.

    Raises:
        DataError: too few queries are labelled, or the judge has labels for none of a run's.
        UsageError: an argument is wrong.
    """
    if isinstance(least, bool) or least < 3:
        raise UsageError(f"least: {least!r} is below 3, and two queries have hardly a spread")
    if not runs:
        raise UsageError("runs: there is no system to score; name at least one")
    if len({run.name for run in runs}) != len(runs):
        raise UsageError("runs: two have the same name; name each differently")
    theirs = read_labels(human, "human")
    ours = read_labels(judge, "judge", asks=asks, model=model, rubric=rubric)
    chosen = read_scale(scale, theirs)
    queries = list(ours.queries)
    estimates: dict[str, dict[str, Estimate]] = {}
    labelled: dict[str, tuple[str, ...]] = {}
    partly: dict[str, int] = {}
    unscored: dict[str, int] = {}
    judged_by: dict[str, float | None] = {}
    depths: dict[str, int] = {}
    for run in map(named, runs):
        by_judge = scored_by(as_gold(ours, chosen, queries), run, metrics)
        depth = 0
        for each in by_judge.scores:
            if not isinstance(each.spec.k, int):
                raise UsageError(
                    f"metric {str(each.spec)!r} looks at whole lists, which people would have to "
                    f"label to the end; cut it, for example {each.spec.name}@10"
                )
            depth = max(depth, each.spec.k)
            if np.isnan(each.values).any():
                raise UsageError(
                    f"metric {str(each.spec)!r} has no value for some queries, and a corrected "
                    "mean needs one for each; name another, such as ndcg@10"
                )
        whole, part = _labelled(theirs, chosen, queries, run, depth)
        if len(whole) < least:
            raise DataError(
                f"{run.name}: people have labelled {len(whole)} queries down to rank {depth} "
                f"({part} in part), and a correction needs at least {least}; label more "
                "(kragx judge label --queries), or take a smaller cut"
            )
        by_people = scored_by(as_gold(theirs, chosen, whole), _only(run, whole), metrics)
        inside = set(whole)  # and `whole` has the order of `queries`
        known = np.array([query in inside for query in queries])
        estimates[run.name] = {
            str(judged.spec): _within(
                prediction_powered(
                    said.values, judged.values[known], judged.values[~known], confidence
                )
            )
            for judged, said in zip(by_judge.scores, by_people.scores, strict=True)
        }
        labelled[run.name], partly[run.name] = tuple(whole), part
        unscored[run.name] = sum(query not in ours.queries for query in run.results)
        judged_by[run.name], depths[run.name] = judged_share(by_judge), depth
    return Corrected(
        estimates,
        labelled,
        partly,
        unscored,
        judged_by,
        depths,
        sum(query not in ours.queries for query in theirs.queries),
        sum(grade not in chosen for each in (theirs, ours) for grade in each.grades.values()),
        chosen,
        {
            "human": theirs.name,
            "judge": ours.name,
            "confidence": confidence,
            "least_queries": least,
            "unit": "query",
            "method": "prediction-powered mean with power tuning (PPI++)",
        },
    )


def _within(found: Estimate) -> Estimate:
    """The same, cut to [0, 1]: every metric lies there."""
    return replace(
        found,
        value=_cut(found.value),
        interval=_cut_ends(found.interval),
        human_interval=_cut_ends(found.human_interval),
    )


def _cut(value: float) -> float:
    return min(1.0, max(0.0, value))


def _cut_ends(ends: Interval | None) -> Interval | None:
    return None if ends is None else (_cut(ends[0]), _cut(ends[1]))


def _labelled(
    human: Labels, scale: Scale, queries: Sequence[str], run: Run, depth: int
) -> tuple[list[str], int]:
    """The queries whose top documents all have a human label, and how many have some."""
    whole, part = [], 0
    for query in queries:
        found = human.queries.get(query)
        if not found:
            continue
        result = run.results.get(query)
        docs = () if result is None else result.documents[:depth]
        if all(found.get(document_name(doc)) in scale for doc in docs):
            whole.append(query)
        else:
            part += 1
    return whole, part


def _only(run: Run, queries: Sequence[str]) -> Run:
    wanted = set(queries)
    return Run(
        {query: found for query, found in run.results.items() if query in wanted}, name=run.name
    )
