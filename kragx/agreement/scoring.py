"""Systems scored by labels, and whether two label sets rank them alike."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from kragx.agreement.label_files import document_name
from kragx.agreement.labels import Labels, Scale, Sides
from kragx.comparison.statistics import CONFIDENCE, Interval
from kragx.data import Doc, Gold, GoldDataset, Query, Run
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import evaluate_run
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    Table,
    interval,
    message,
    number,
    warning,
)
from kragx.matchers import MatchWarning
from kragx.metrics import DEFAULT_METRICS, Floats, MetricLike, MetricSpec

LEVEL = f"{CONFIDENCE * 100:g} %"
"""The head of a column of intervals."""


def ends(pair: Interval | None) -> str:
    """An interval as people read it; a dash where there is none."""
    return "-" if pair is None else interval(*pair)


def rough(n: int, few: int) -> str:
    """That intervals of so many queries are no sharp ones."""
    return message(
        "{n} labelled queries are few: intervals are rough below {few} queries", n=n, few=few
    )


def systems(runs: Sequence[Run]) -> list[Run]:
    """The runs with a name for each document that has no id, as labels call it.

    Raises:
        UsageError: there is no run, two have one name, or one was asked several times.
    """
    if any(run.reruns for run in runs):
        raise UsageError("runs: labels are of the documents of single runs; pass each of run.every")
    if not runs:
        raise UsageError("runs: no results to score; name at least one (--runs)")
    if len({run.name for run in runs}) != len(runs):
        raise UsageError("runs: two have the same name; name each differently")

    def named(doc: Doc) -> Doc:
        return doc if doc.id is not None else replace(doc, id=document_name(doc))

    return [
        replace(run, results={q: result.with_docs(named) for q, result in run.results.items()})
        for run in runs
    ]


def scale_notes(scale: Scale) -> Iterator[str]:
    """What a reader must know of metrics made of labels: what grade 0 is."""
    if scale.low > 0:  # as `scored_by` makes grades of labels
        yield message(
            "in metrics the labels {scale} count as grades 0 to {high}: the lowest is no "
            "relevance, and rel=2 means a label of {least} or more",
            scale=str(scale),
            high=scale.high - scale.low,
            least=scale.low + 2,
        )


def made_of_labels(metrics: MetricLike | Iterable[MetricLike]) -> tuple[MetricSpec, ...]:
    """The metrics that are named.

    Raises:
        UsageError: a metric does not exist, or is not made of labels.
    """
    specs = Criteria.of(match="id", metrics=metrics).specs
    if unfit := next((spec for spec in specs if spec.needs_evidence), None):
        raise UsageError(
            "metric {spec!r} is not made of labels; name one that is, such as ndcg@10",
            spec=str(unfit),
        )
    return specs


def scored_by(
    labels: Labels, scale: Scale, queries: Sequence[str], run: Run, specs: Sequence[MetricSpec]
) -> Evaluation:
    """An evaluation by ids in which every query counts: one without a relevant label scores 0.

    Args:
        labels: on a scale; from 1 on, its lowest label becomes grade 0.
        scale: of the labels.
        queries: in this order; one without labels has no gold.
        run: with names for its documents, as of `systems`.
        specs: the metrics.

    Raises:
        DataError: no document of the run has a label.
    """
    gold = {
        query: [Gold(id=doc, grade=grade - max(0, scale.low)) for doc, grade in of_query.items()]
        for query, of_query in labels.queries.items()
    }
    asked = tuple(Query(query, gold=tuple(gold.get(query, ()))) for query in queries)
    criteria = Criteria.of(match="id", metrics=specs, no_gold="zero")
    with warnings.catch_warnings():
        # Of ids that never meet, which speaks of other matchers; here it is an error.
        warnings.simplefilter("ignore", MatchWarning)
        evaluation = evaluate_run(GoldDataset(asked, name=labels.name), run, criteria).answered()
    table = evaluation.table
    if table.n_docs.any() and not table.matched.any():
        raise DataError(
            "none of its documents has a label of {labels} on these questions",
            field=run.name,
            remedy="both name documents by id; see that they are the same",
            labels=labels.name,
        )
    return evaluation


METRIC: str = DEFAULT_METRICS[0]
"""What systems are ranked by, unless told otherwise."""


@dataclass(frozen=True)
class SystemAgreement(Result):
    """How alike two label sets rank systems.

    Attributes:
        metric: what they are ranked by.
        human, judge: each system's mean under either label set, the best by the human labels first.
        n_queries: the queries that both sides have labels for.
        tau: Kendall's tau-b over all systems; None where one side scores all of them the same.
        top: the names of the best systems by the human labels: half of them, ten at most, and
            those that are as good as the last of these.
        tau_top: tau-b among those.
        kappa: of the labels: whoever takes only this part takes it with the tau.
    """

    metric: str
    human: Mapping[str, float]
    judge: Mapping[str, float]
    n_queries: int
    tau: float | None
    top: tuple[str, ...]
    tau_top: float | None
    kappa: float | None

    def describe(self) -> Iterator[Part]:
        """Each system's means, and the taus with the kappa."""
        yield Line(message("{metric} over {n} queries", metric=self.metric, n=self.n_queries))
        yield Table(
            (message("system"), message("human"), message("judge")),
            [(name, number(mean), number(self.judge[name])) for name, mean in self.human.items()],
        )
        # A high tau says little by itself: many wrong labels can rank systems alike.
        yield Line(
            message(
                "Kendall's tau-b of {n} systems: {tau}; of the top {n_top}: {tau_top}; "
                "with kappa {kappa}",
                n=len(self.human),
                tau=number(self.tau),
                n_top=len(self.top),
                tau_top=number(self.tau_top),
                kappa=number(self.kappa),
            )
        )
        if self.tau is None or self.tau_top is None:
            yield warning(message("no tau-b where one side scores all systems the same"))


def rank_systems(
    sides: Sides,
    runs: Sequence[Run],
    kappa: float | None,
    *,
    metric: str = METRIC,
) -> SystemAgreement:
    """Score every run under both label sets, over the queries that both have labels for.

    Args:
        sides: whose labels on the scale are used in full, not only common pairs.
        runs: at least two, with different names.
        kappa: of the labels.
        metric: a metric string.

    Raises:
        UsageError: fewer than two runs, names that are equal, or a metric that does not exist.
        DataError: no query has labels from both sides.
    """
    runs, specs = systems(runs), made_of_labels(metric)
    if len(runs) < 2:
        raise UsageError("runs: one system has no ranking; give at least two")
    common = [query for query in sides.human.queries if query in sides.judge.queries]
    if not common:
        raise DataError("runs: no query has labels from both sides")
    evaluations = [
        [scored_by(labels, sides.scale, common, run, specs) for run in runs]
        for labels in (sides.human.on(sides.scale), sides.judge.on(sides.scale))
    ]
    means = np.array([[*map(_mean, side)] for side in evaluations])
    # The same values, summed in another order, differ in their last digits: no ranking in that.
    human, judge = np.round(means, 12)
    size = max(2, min(10, ceil(len(runs) / 2)))
    # Those that are as good as the last of the top are in it as well.
    in_top = human >= np.sort(human)[::-1][size - 1]
    order = np.argsort(-human, kind="stable")
    by_people, by_judge = ({runs[row].name: float(side[row]) for row in order} for side in means)
    return SystemAgreement(
        metric=next(iter(evaluations[0][0].mean)),
        human=by_people,
        judge=by_judge,
        n_queries=len(common),
        tau=kendall_tau_b(human, judge),
        top=tuple(runs[row].name for row in order if in_top[row]),
        tau_top=kendall_tau_b(human[in_top], judge[in_top]),
        kappa=kappa,
    )


def kendall_tau_b(first: Floats, second: Floats) -> float | None:
    """Kendall's tau-b of two lists of scores, ties corrected for; None where one is all ties.

    Source: M. Kendall, The treatment of ties in ranking problems, 1945.
    """
    upper = np.triu_indices(len(first), 1)
    signs = [np.sign(np.subtract.outer(scores, scores))[upper] for scores in (first, second)]
    untied = np.sqrt(np.prod([np.count_nonzero(side) for side in signs], dtype=float))
    return float(np.dot(*signs) / untied) if untied else None


def _mean(evaluation: Evaluation) -> float:
    metric, mean = next(iter(evaluation.mean.items()))
    if mean is None:
        raise UsageError(
            "metric {metric!r} has no value for {name!r} on any query",
            metric=metric,
            name=evaluation.name,
        )
    return mean
