"""Prediction-powered means: a judge's numbers on all queries, put right by people on some.

The judge scores every query, people score n of them. What people say of those n tells how far off
the judge is, so the mean over all queries is corrected by it, and its interval says how sure that
is. A query is one observation, whatever the number of documents behind it: documents of one query
resemble each other, and counting each as an observation of its own gives intervals that are far
too narrow.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from kragx.agreement import scoring
from kragx.agreement.labels import Labels, Scale, other_forms, read_sides
from kragx.comparison.statistics import (
    CONFIDENCE,
    Interval,
    check_confidence,
    score_interval,
    student_t,
)
from kragx.data import Run
from kragx.errors import DataError, UsageError
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import Floats
from kragx.printing import Line, Part, Result, Table, joined, number, percent, phrase, warning

LEAST_QUERIES = 20
"""The fewest labelled queries from which a correction is made, unless more are asked for."""


@dataclass(frozen=True)
class CorrectedMean:
    """One mean, corrected.

    Attributes:
        value: the prediction-powered estimate.
        interval: of the mean over the population that the queries are a sample of; None where
            all human values are the same, unless that is the least or the greatest there can be.
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


def prediction_powered(
    human: Floats,
    judge: Floats,
    rest: Floats,
    confidence: float = CONFIDENCE,
    bounds: Interval = (-inf, inf),
) -> CorrectedMean:
    """Estimate a mean from n human values, the judge's for the same units, and for other units.

    With f the judge's values and y the human ones the estimate is
    ``mean(y) + w * (mean of f over the rest - mean of f over the labelled)``, where the weight w is
    the one that makes its variance least, cut to [0, 1] (power tuning, PPI++). Its variance is
    ``var(y - w f) / n + w^2 var(f) / N``; the interval uses Student's t with n - 1 degrees of
    freedom, and n - 2 in the variance, as w is estimated from the same values. Between bounds it is
    Wilson's of as many hits and misses as would be that sure (`score_intervals`): one around the
    estimate would end beyond the bounds, and hold the truth too seldom where most queries are hits.

    Args:
        human: (n) the human value of each labelled unit.
        judge: (n) the judge's value of the same.
        rest: (N) the judge's value of each unit that people did not label; may be empty, and the
            estimate is then the human mean.
        confidence: between 0 and 1.
        bounds: between what the values lie; an estimate beyond is cut off.

    Raises:
        UsageError: fewer than three labelled units, or human and judge differ in number.

    Source: A. Angelopoulos, J. Duchi, T. Zrnic, PPI++: Efficient Prediction-Powered Inference,
    2023.
    """
    n, more = len(human), len(rest)
    if n < 3 or len(judge) != n:
        raise UsageError(f"{n} labelled and {len(judge)} judged units: at least 3 of each needed")
    check_confidence(confidence)
    mean = value = float(human.mean())
    everything = np.concatenate([judge, rest])
    spread = float(everything.var(ddof=1)) if more >= 2 else 0.0
    weight = 0.0
    if spread > 0:
        covariance = float(((human - human.mean()) * (judge - judge.mean())).sum() / (n - 1))
        weight = min(1.0, max(0.0, covariance / (spread * (1 + n / more))))
        value = float(human.mean() + weight * (rest.mean() - judge.mean()))
    rectified = human - weight * judge
    residual = float(((rectified - rectified.mean()) ** 2).sum()) / (n - 2 if weight else n - 1)
    variance = residual / n + (weight**2 * spread / more if weight else 0.0)

    low, width = bounds[0], bounds[1] - bounds[0]
    between = int(min((human > bounds[0]).sum(), (human < bounds[1]).sum()))

    def around(mean: float, variance: float) -> Interval | None:
        if between and variance <= 1e-24 * max(1, mean**2):  # equal, but for their last digits
            return None
        if not isfinite(width):
            margin = student_t((1 + confidence) / 2, n - 1) * sqrt(variance)
            return mean - margin, mean + margin
        ends = score_interval((mean - low) / width, variance / width**2, n, between, confidence)
        return low + width * ends[0], low + width * ends[1]

    value = min(bounds[1], max(bounds[0], value))
    return CorrectedMean(
        value=value,
        interval=around(value, variance),
        plain=float(everything.mean()),
        human=mean,
        human_interval=around(mean, float(human.var(ddof=1)) / n),
        weight=weight,
        n_labelled=n,
        n_queries=n + more,
    )


@dataclass(frozen=True)
class CorrectedSystem:
    """Corrected metrics of one system.

    Attributes:
        metrics: each metric's `CorrectedMean`.
        labelled: the queries that people have labelled down to the deepest cut.
        n_partly_labelled: how many queries people have labelled in part; they are not used.
        n_unscored: how many of its queries have no label by the judge; no mean has them.
        judged: judged@k of the judge's labels at the deepest cut; what it has not labelled counts
            as not relevant in its values.
        depth: the deepest cut.
    """

    metrics: Mapping[str, CorrectedMean]
    labelled: tuple[str, ...]
    n_partly_labelled: int
    n_unscored: int
    judged: float | None
    depth: int

    def remarks(self) -> Iterator[str]:
        """What is not used, or missing."""
        if self.n_partly_labelled:
            yield phrase(
                "{n} queries labelled in part, not used for the correction",
                n=self.n_partly_labelled,
            )
        if self.n_unscored:
            yield phrase("{n} queries without a label by the judge, in no mean", n=self.n_unscored)
        if self.judged is not None and self.judged < 1:
            yield phrase(
                "judged@{k} {share}: what the judge has not labelled counts as not relevant in its "
                "values",
                k=self.depth,
                share=percent(self.judged),
            )
        if any(mean.interval is None for mean in self.metrics.values()):
            yield phrase("no interval where people's values are all the same: nothing varies")


@dataclass(frozen=True)
class Corrected(Result):
    """Corrected metrics of some systems.

    Attributes:
        systems: by name.
        n_human_only: queries with human labels but none by the judge; they are not used.
        n_out_of_scale: labels of either side that are not on the scale, and not used.
        scale: of the labels.
        notes: what a reader must know.
        settings: confidence, the least number of queries, names.
    """

    systems: Mapping[str, CorrectedSystem]
    n_human_only: int
    n_out_of_scale: int
    scale: Scale
    notes: tuple[str, ...]
    settings: Mapping[str, Any]

    def __getitem__(self, system: str) -> Mapping[str, CorrectedMean]:
        return self.systems[system].metrics

    def describe(self) -> Iterator[Part]:
        """The judge's means beside the corrected and the human ones."""
        confidence = scoring.level(self.settings["confidence"])
        judged = (phrase("judge alone"), phrase("corrected"), confidence)
        people = (phrase("people alone"), confidence)
        yield Table(
            (phrase("system"), phrase("metric"), *judged, *people, phrase("labelled")),
            [
                (
                    name,
                    metric,
                    number(mean.plain),
                    number(mean.value),
                    scoring.ends(mean.interval),
                    number(mean.human),
                    scoring.ends(mean.human_interval),
                    phrase("{n} of {of}", n=mean.n_labelled, of=mean.n_queries),
                )
                for name, system in self.systems.items()
                for metric, mean in system.metrics.items()
            ],
            words=2,
        )
        for name, system in self.systems.items():
            yield from (warning(joined(": ", [name, remark])) for remark in system.remarks())
        if self.n_human_only:
            yield warning(
                phrase(
                    "{n} queries with human labels have none by the judge, and are not used",
                    n=self.n_human_only,
                )
            )
        yield from map(warning, self.notes)
        yield Line(
            phrase(
                "judge alone, people alone: uncorrected means over all, and over the labelled "
                "queries. The labelled queries must be a random part of all."
            )
        )


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
    examples: str | None = None,
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
        examples: the same.

    Raises:
        DataError: too few queries are labelled, or the judge has labels for none of a run's.
        UsageError: an argument is wrong.
    """
    if isinstance(least, bool) or least < 3:
        raise UsageError(f"least: {least!r} is below 3, and two queries have hardly a spread")
    runs = scoring.systems(runs)
    people, machine, labels = read_sides(human, judge, scale, asks, model, rubric, examples)
    alike = tuple(other_forms(people.grades, machine.grades))
    queries = list(machine.queries)
    gold = scoring.as_gold(machine, labels, queries)
    corrected = {}
    for run in runs:
        by_judge = scoring.scored_by(gold, run, metrics)
        depth = depth_of(by_judge)
        whole, n_part = labelled_whole(people, labels, queries, run, depth)
        if len(whole) < least:
            raise DataError(
                f"{run.name}: people have labelled {len(whole)} queries down to rank {depth} "
                f"({n_part} in part), and a correction needs at least {least}",
                remedy="; ".join(
                    alike or ["label more (kragx judge label --queries), or take a smaller cut"]
                ),
            )
        results = {query: run.results[query] for query in whole if query in run.results}
        by_people = scoring.scored_by(
            scoring.as_gold(people, labels, whole), replace(run, results=results), metrics
        )
        known = np.isin(queries, whole)  # and `whole` has the order of `queries`
        corrected[run.name] = CorrectedSystem(
            metrics={
                str(judged.spec): prediction_powered(
                    labelled.values, judged.values[known], judged.values[~known], confidence, (0, 1)
                )
                for judged, labelled in zip(by_judge.scores, by_people.scores, strict=True)
            },
            labelled=tuple(whole),
            n_partly_labelled=n_part,
            n_unscored=sum(query not in machine.queries for query in run.results),
            judged=scoring.judged_share(by_judge),
            depth=depth,
        )
    n_out_of_scale = sum(
        grade not in labels for side in (people, machine) for grade in side.grades.values()
    )
    return Corrected(
        systems=corrected,
        n_human_only=sum(query not in machine.queries for query in people.queries),
        n_out_of_scale=n_out_of_scale,
        scale=labels,
        notes=(*scoring.scale_notes(labels, n_out_of_scale), *alike),
        settings={
            "human": people.name,
            "judge": machine.name,
            "confidence": confidence,
            "least_queries": least,
            "unit": "query",
            "method": "prediction-powered mean with power tuning (PPI++)",
        },
    )


def depth_of(evaluation: Evaluation) -> int:
    """The deepest cut; a `UsageError` where a metric has none, or no value for some query."""
    for score in evaluation.scores:
        if not isinstance(score.spec.k, int):
            raise UsageError(
                f"metric {str(score.spec)!r} looks at whole lists, which people would have to "
                f"label to the end; cut it, for example {score.spec.name}@10"
            )
        if np.isnan(score.values).any():
            raise UsageError(
                f"metric {str(score.spec)!r} has no value for some queries, and a corrected "
                "mean needs one for each; name another, such as ndcg@10"
            )
    return scoring.deepest(evaluation) or 0


def labelled_whole(
    human: Labels, scale: Scale, queries: Sequence[str], run: Run, depth: int
) -> tuple[list[str], int]:
    """The queries whose top documents all have a human label, and how many have some."""
    touched = [query for query in queries if human.queries.get(query)]

    def to_the_depth(query: str) -> bool:
        result = run.results.get(query)
        docs = () if result is None else result.documents[:depth]
        return all(human.queries[query].get(str(doc.id)) in scale for doc in docs)

    whole = list(filter(to_the_depth, touched))
    return whole, len(touched) - len(whole)
