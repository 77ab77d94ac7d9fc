"""`correct`: a judge's means over all queries, put right by people's labels of some.

A query is one observation, whatever the number of documents behind it: documents of one query
resemble each other, and counting each as an observation of its own gives intervals that are far
too narrow.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from kragx.agreement import scoring
from kragx.agreement.label_files import label_format
from kragx.agreement.labels import Scale, Sides, read_sides
from kragx.agreement.prediction_powered import CorrectedMean, prediction_powered
from kragx.agreement.sample import drawing_of
from kragx.comparison.statistics import CONFIDENCE, Interval
from kragx.data import GoldDataset, Run, read_dataset
from kragx.data.source import kind_of_file
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    Table,
    joined,
    message,
    number,
    percent,
    warning,
)
from kragx.judging.rubric import canonical_json, key_of
from kragx.judging.store.qrels import Choice
from kragx.metrics import Floats, MetricSpec, parse
from kragx.metrics.weights import weighted_mean

LEAST_QUERIES = 20
"""The fewest labelled queries from which a correction is made, unless more are asked for."""

FEW_QUERIES = 50
"""Of fewer labelled queries intervals are said to be rough (docs/evidence/agreement.md has what was
measured)."""


@dataclass(frozen=True)
class CorrectedSystem:
    """Corrected metrics of one system.

    Attributes:
        metrics: each metric's `CorrectedMean`.
        differences: of each metric this system's mean minus the first system's, over queries that
            people have labelled for both; None of the first, and where these are too few.
        labelled: the queries that people have labelled down to the deepest cut.
        n_partly_labelled: how many queries people have labelled in part; they are not used.
        n_unscored: how many of its queries have no label by the judge; no mean has them.
        judged: judged@k of the judge's labels at the deepest cut; what it has not labelled counts
            as not relevant in its values.
        n_missing: how many judged queries its results lack; they are scored as empty lists.
        n_failed: how many it failed on; they are as well.
    """

    metrics: Mapping[str, CorrectedMean]
    differences: Mapping[str, CorrectedMean] | None
    labelled: tuple[str, ...]
    n_partly_labelled: int
    n_unscored: int
    judged: float | None
    n_missing: int = 0
    n_failed: int = 0

    def remarks(self) -> Iterator[str]:
        """What is not used, or missing."""
        remarks = {
            message(
                "{n} queries labelled in part, not used for the correction; they are hardly left "
                "out by lot, so label all that the compared lists have",
                n=self.n_partly_labelled,
            ): self.n_partly_labelled > 0,
            message(
                "{n} queries without a label by the judge, in no mean", n=self.n_unscored
            ): self.n_unscored > 0,
            message(
                "judged queries that its results lack: {n}, or failed on: {n_failed} (scored as "
                "empty lists)",
                n=self.n_missing,
                n_failed=self.n_failed,
            ): self.n_missing + self.n_failed > 0,
            message(
                "judged {share}: what the judge has not labelled counts as not relevant in its "
                "values",
                share=percent(self.judged),
            ): self.judged is not None and self.judged < 1,
            scoring.rough(len(self.labelled), FEW_QUERIES): len(self.labelled) < FEW_QUERIES,
        }
        return (text for text, holds in remarks.items() if holds)


@dataclass(frozen=True)
class Corrected(Result):
    """Corrected metrics of some systems.

    Attributes:
        systems: by name.
        n_out_of_scale: labels of either side that are not on the scale, and not used.
        scale: of the labels.
        notes: what a reader must know.
        settings: confidence, the least number of queries, names.
    """

    systems: Mapping[str, CorrectedSystem]
    n_out_of_scale: int
    scale: Scale
    notes: tuple[str, ...]
    settings: Mapping[str, Any]

    def __getitem__(self, system: str) -> Mapping[str, CorrectedMean]:
        return self.systems[system].metrics

    def describe(self) -> Iterator[Part]:
        """The judge's means beside the corrected and the human ones."""
        judged = (message("judge alone"), message("corrected"), scoring.LEVEL)
        people = (message("people alone"), scoring.LEVEL)
        head = (message("metric"), *judged, *people, message("labelled"))
        first, *rest = self.systems
        yield from self._of_traffic()
        means = {name: system.metrics for name, system in self.systems.items()}
        yield Table((message("system"), *head), _rows(means), words=2)
        if differences := _rows({name: self.systems[name].differences or {} for name in rest}):
            yield Table((message("minus {name}", name=first), *head), differences, words=2)
        for name, system in self.systems.items():
            yield from (warning(joined(": ", [name, remark])) for remark in system.remarks())
        yield from map(warning, self.notes)
        yield Line(
            message(
                "judge alone, people alone: uncorrected means over all, and over the labelled "
                "queries. The labelled queries must be a random part of all."
            )
        )

    def _of_traffic(self) -> Iterator[Line]:
        """Of weighted questions the first metric of each system, and by how many of whom."""
        if (n_asks := self.settings.get("asks")) is None:
            return
        for name, system in self.systems.items():
            metric, mean = next(iter(system.metrics.items()))
            yield Line(
                message(
                    "{name}: {metric} is {value} {ends} over {asks} asks, by people's labels of "
                    "{n} questions and the judge's of {of}",
                    name=name,
                    metric=metric,
                    value=number(mean.value),
                    ends=scoring.ends(mean.interval),
                    asks=f"{n_asks:,.0f}",
                    n=mean.n_labelled,
                    of=mean.n_queries,
                )
            )


def _rows(systems: Mapping[str, Mapping[str, CorrectedMean]]) -> list[tuple[str, ...]]:
    return [
        (
            name,
            metric,
            number(mean.plain),
            number(mean.value),
            scoring.ends(mean.interval),
            number(mean.human),
            scoring.ends(mean.human_interval),
            message("{n} of {of}", n=mean.n_labelled, of=mean.n_queries),
        )
        for name, means in systems.items()
        for metric, mean in means.items()
    ]


def correct(
    human: object,
    judge: object,
    runs: Sequence[Run],
    *,
    metrics: Sequence[str] = ("ndcg@10",),
    scale: object = None,
    least: int = LEAST_QUERIES,
    expected: bool = False,
    questions: object = None,
    **choice: Unpack[Choice],
) -> Corrected:
    """Correct the means that a judge's labels give by people's labels of some queries.

    A query is labelled when people have labelled every document that its metrics look at. The
    labelled queries must be a random part of all (``kragx judge label --queries 30`` draws one), by
    equal chances or by those that the sample beside the labels, or the ``inclusion`` of people's
    gold set, has. A query without a relevant label scores 0, for people and judge alike. Of a judge
    that was shown people's labels only the half that it never sees corrects it.

    Args:
        human: labels of some queries, as for `read_labels`.
        judge: labels of all queries; they may lie between those of the scale.
        runs: the systems.
        metrics: metric strings; each needs a cut (``@10``).
        scale: of the labels; None for that of the human labels.
        least: fewer labelled queries than this are refused; not below 3.
        expected: of a judge's store, whether to take the grades that the model's probabilities
            expect, and the mean of a panel that `model` names so, in place of whole ones.
        questions: a gold or results file, or a `GoldDataset`, whose ``weight`` and ``inclusion``
            say how many asks each query stands for; None for those by which the sample beside the
            labels was drawn, and else all are alike.
        choice: of a judge's store, which of its grades, as for `agree`.

    Raises:
        DataError: too few queries are labelled, or not at random, or the judge has labels for none
            of a run's.
        UsageError: an argument is wrong.
    """
    if isinstance(least, bool) or least < 3:
        raise UsageError(
            "least: {least!r} is below 3, and two queries have hardly a spread", least=least
        )
    runs = scoring.systems(runs)
    people = _dataset(human)  # read once, as it may be standard input
    sides = read_sides(people or human, judge, scale, expected=expected, **choice)
    notes: list[str] = []
    if sides.examples is not None:
        # The judge has seen the labels of the other half, and is nearer to people there.
        sides = replace(sides, human=sides.held_out().human)
        notes.append(message("the judge was shown labels: only the half that it never sees counts"))
    queries = [*sides.judge.queries]
    # After the half is taken, so that labels are counted as off the scale only where they count.
    n_out_of_scale, notes = (
        len(sides.out_of_scale(between=True)),
        [*sides.remarks(between=True), *notes],
    )
    sides = sides.on_scale(between=True)
    by_query, chances = _drawing(human, people, _dataset(questions))
    asks = None if by_query is None else _values_of(by_query, queries)
    graded = [
        sorted([*pair, grade] for pair, grade in labels.grades.items())
        for labels in (sides.human, sides.judge)
    ]
    pool = key_of(canonical_json(graded))[:16]
    specs = scoring.made_of_labels(metrics)
    depth = max(map(_cut, specs))
    scores = [_scored(sides, queries, run, specs, depth, least) for run in runs]
    if names := [str(spec) for spec in specs if spec.needs_all_gold]:
        notes.append(
            message(
                "{metrics}: relative to pool {hash}, as gold is known of labelled documents alone",
                metrics=", ".join(names),
                hash=pool,
            )
        )
    means = partial(_means, [*map(str, specs)], queries, asks, chances)
    systems: dict[str, CorrectedSystem] = {}
    for run, (values, of_run) in zip(runs, scores):
        # Of values, query by query: what both systems share falls out, and the interval is
        # narrower. Two means within 0 and 1 are at most 1 apart, whichever is greater.
        apart = values - scores[0][0]
        n_common = int((~np.isnan(apart[1, 0])).sum())
        if systems and n_common < least:
            notes.append(
                message(
                    "{name} and {first}: no difference, as {n} queries are labelled for both",
                    name=run.name,
                    first=runs[0].name,
                    n=n_common,
                )
            )
        is_compared = systems and n_common >= least
        systems[run.name] = CorrectedSystem(
            metrics=means(values, (0, 1)),
            differences=means(apart, (-1, 1)) if is_compared else None,
            labelled=tuple(compress(queries, ~np.isnan(values[1, 0]))),
            n_unscored=len(run.results.keys() - {*queries}),
            **of_run,
        )
    return Corrected(
        systems=systems,
        n_out_of_scale=n_out_of_scale,
        scale=sides.scale,
        notes=(*scoring.scale_notes(sides.scale), *notes),
        settings={
            "human": sides.human.name,
            "judge": sides.judge.name,
            "confidence": CONFIDENCE,
            "least_queries": least,
            "method": "prediction-powered mean with power tuning, cross-fitted (PPI++)",
            "pool": pool,
            **({} if asks is None else {"asks": float(asks.sum())}),
        },
    )


def _cut(spec: MetricSpec) -> int:
    """How deep a metric looks; a `UsageError` where it looks at whole lists."""
    if isinstance(spec.k, int):
        return spec.k
    raise UsageError(
        "metric {spec!r} looks at whole lists, which people would have to "
        "label to the end; cut it, for example {name}@10",
        spec=str(spec),
        name=spec.name,
    )


def _scored(
    sides: Sides,
    queries: Sequence[str],
    run: Run,
    specs: Sequence[MetricSpec],
    depth: int,
    least: int,
) -> tuple[Floats, dict[str, Any]]:
    """Score a system by labels that are on the scale, down to a depth.

    Returns:
        (2, m, q) the values by the judge's labels and by people's, NaN of a query that they have
        not labelled down to the depth; and what `CorrectedSystem` says of the run beside them.

    Raises:
        DataError: people have labelled fewer than `least` queries whole.
        UsageError: a metric has no value for some query.
    """
    by_judge, by_people = (
        scoring.scored_by(labels, sides.scale, queries, run, [*specs, parse(f"judged@{depth}")])
        for labels in (sides.judge, sides.human)
    )
    (*judge, judged), (*people, share) = (
        [score.values for score in evaluation.scores] for evaluation in (by_judge, by_people)
    )
    if unknown := next((spec for spec, row in zip(specs, judge) if np.isnan(row).any()), None):
        raise UsageError(
            "metric {spec!r} has no value for some queries, and a corrected "
            "mean needs one for each; name another, such as ndcg@10",
            spec=str(unknown),
        )
    touched = np.array([query in sides.human.queries for query in queries], bool)
    whole = touched & ~(share < 1)  # of an empty list there is nothing to label
    n_whole, n_partly = int(whole.sum()), int((touched & ~whole).sum())
    if n_whole < least:
        raise DataError(
            message(
                "{name}: people have labelled {n_whole} queries down to rank {depth} "
                "({n_partly} in part), and a correction needs at least {least}",
                name=run.name,
                n_whole=n_whole,
                depth=depth,
                n_partly=n_partly,
                least=least,
            ),
            remedy="label more (kragx judge label --queries), or take a smaller cut",
        )
    return np.stack([judge, np.where(whole, people, np.nan)]), {
        "n_partly_labelled": n_partly,
        "judged": weighted_mean(judged),
        "n_missing": by_judge.counts["n_missing"],
        "n_failed": by_judge.counts["n_failed"],
    }


def _drawing(
    human: object, of_people: GoldDataset | None, of_all: GoldDataset | None
) -> tuple[Mapping[str, float] | None, Mapping[str, float] | None]:
    """How labelled questions were drawn of all that the judge has graded.

    From the sample beside people's labels, or from what both say of how they were drawn.

    Args:
        human: people's labels, as for `read_labels`.
        of_people: the gold set that they are; None for others.
        of_all: all questions with ``weight`` and ``inclusion``; or None. Where it says no weights,
            those count by which the sample was drawn.

    Returns:
        How many asks each question stands for, None where all are alike; of each drawn one its
        chance to be, None where all had the same.

    Raises:
        DataError: the labels were drawn as stratified pairs, or a question's chance to be labelled
            is greater than that to be there.
    """
    sample = drawing_of(human)
    if sample.get("design") == "stratified":
        raise DataError(
            "{human}: a stratified sample, with as many pairs of rare grades as of frequent "
            "ones, says nothing of a retriever's lists as they are",
            remedy="label whole queries (kragx judge label --queries 30)",
            human=human,
        )
    chances: Mapping[str, float] = sample.get("chances", {})
    if "chances" not in sample and of_people is not None:
        inclusion = {query.id: query.inclusion for query in of_all or ()}
        chances = {q.id: q.inclusion / inclusion.get(q.id, 1.0) for q in of_people}
    # Of a label, given that the question is there: inclusion counts once, as a weight.
    if max(chances.values(), default=0) > 1 + 1e-9:
        raise DataError(
            "question {name!r}: people's labels have a greater chance of having been drawn "
            "than the question itself",
            field="inclusion",
            remedy="give both files the questions of one drawing",
            name=max(chances, key=chances.__getitem__),
        )
    asks = sample.get("weights")
    if of_all is not None and (weights := of_all.weights) is not None:
        asks = dict(zip([query.id for query in of_all], weights.tolist()))
    return asks, chances if len({*chances.values()}) > 1 else None


def _means(
    metrics: Sequence[str],
    queries: Sequence[str],
    asks: Floats | None,
    chances: Mapping[str, float] | None,
    values: Floats,
    bounds: Interval,
) -> dict[str, CorrectedMean]:
    """The corrected mean of each of m metrics.

    Of (2, m, q) values by the judge's labels and by people's, as of `_scored`, and q asks; a
    `DataError` where nothing says what the chance of a labelled question was.
    """
    labelled, of_labelled, weights = ~np.isnan(values[1, 0]), None, None
    if chances is not None:
        drawn = _values_of(chances, [*compress(queries, labelled)])
        # Where people have labelled fewer than were drawn, each had so much less of a chance.
        of_labelled = np.minimum(drawn, 1) * min(1, int(labelled.sum()) / len(chances))
    if asks is not None:
        weights = np.concatenate([asks[labelled], asks[~labelled]])
    options = {"weights": weights, "chances": of_labelled}
    return {
        metric: prediction_powered(
            people[labelled], judge[labelled], judge[~labelled], bounds, **options
        )
        for metric, judge, people in zip(metrics, *values, strict=True)
    }


def _values_of(values: Mapping[str, float], queries: Sequence[str]) -> Floats:
    if missing := next((query for query in queries if query not in values), None):
        raise DataError(
            "question {missing!r}: nothing says how many asks it stands for, or what its chance of "
            "having been drawn was",
            remedy="name the questions (--questions FILE) that were judged, and the labels of one "
            "drawing",
            missing=missing,
        )
    return np.array([values[query] for query in queries], np.float64)


def _dataset(source: object) -> GoldDataset | None:
    """The gold set that something is, or is the path of; None for other labels."""
    if not isinstance(source, (str, Path)) or label_format(source) != "gold":
        return source if isinstance(source, GoldDataset) else None
    # Qrels say nothing of how their questions were drawn.
    return read_dataset(source) if kind_of_file(source) != "qrels" else None
