"""What the grids of a config come to, from the evaluations of its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kragx.app.config import RunConfig
from kragx.comparison import Comparison, sliced
from kragx.comparison.statistics import Rows
from kragx.comparison.thresholds import Sweep, sweep_of_grid
from kragx.comparison.tuning import (
    Rules,
    Setting,
    Sizes,
    Tried,
    Tuning,
    drawn,
    halved,
    tuned,
)
from kragx.data import GoldDataset, Run
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import parse, parse_all
from kragx.report.findings import by_matcher


def tunings(
    config: RunConfig,
    dataset: GoldDataset,
    runs: Mapping[str, Run],
    evaluations: Sequence[Evaluation],
    comparisons: Sequence[Comparison],
    slices: Sequence[str] = (),
) -> tuple[Tuning, ...]:
    """Which setting to take, under each matcher; nothing without a grid, or without a metric.

    Args:
        config: has the grids.
        dataset: the gold set.
        runs: what each setting returned.
        evaluations: by matcher, then setting.
        comparisons: one for each matcher; they say who failed.
        slices: fields of a query; both halves of the questions have their share of the first one's.
    """
    named, statistics, results = metric_of(config), config.comparing, []
    if not config.has_grid or named is None:
        return ()
    sizes = Sizes(config.budget_tokenizer)
    costs = {name: sizes.costs(run) for name, run in runs.items()}
    for comparison, group in zip(comparisons, by_matcher(evaluations)):
        failed = {
            failure.retriever: failure.text
            for failure in comparison.failures
            if not failure.tolerated
        }
        ids, metric = group[0].query_ids, _as_measured(named, group[0])
        tried = [
            Tried.of(
                evaluation,
                config.settings[evaluation.name],
                metric,
                ids,
                costs[evaluation.name],
                failed.get(evaluation.name, ""),
            )
            for evaluation in group
        ]
        resampling = statistics.confidence, statistics.resamples, statistics.seed
        rules = Rules.of(metric, comparison.match, *resampling)
        halves = _halves(config, dataset, slices, ids)
        results.append(tuned(tried, rules, halves=halves, weights=group[0].weights))
    return tuple(results)


def _halves(
    config: RunConfig, dataset: GoldDataset, slices: Sequence[str], ids: Sequence[str]
) -> tuple[Rows, Rows]:
    """Where the questions that choose stand, and the others, by the first field to slice by."""
    queries = list(dataset)
    value_of = {
        row: value
        for _, value, rows in (sliced(queries, slices[:1]) if slices else ())
        for row in rows
    }
    lot = [value_of.get(row) for row in range(len(queries))]
    place = {query_id: row for row, query_id in enumerate(ids)}
    # Without those that were not asked.
    choosing, validating = (
        np.array([place[queries[row].id] for row in side if queries[row].id in place], np.intp)
        for side in halved(drawn(lot, config.comparing.seed), lot)
    )
    return choosing, validating


def matcher_grids(
    config: RunConfig, evaluations: Sequence[Evaluation], comparisons: Sequence[Comparison]
) -> tuple[Sweep, ...]:
    """How the order of retrievers depends on the settings of each matcher that has a grid.

    Args:
        config: has the matchers.
        evaluations: by matcher, then retriever.
        comparisons: one for each matcher.
    """
    metric = metric_of(config)
    if metric is None:
        return ()
    of_grid: dict[str, list[tuple[Setting, dict[str, float], bool]]] = {}
    settings = {setting.name: setting for setting, _ in config.matcher_settings if setting.values}
    for comparison, group in zip(comparisons, by_matcher(evaluations)):
        if setting := settings.get(comparison.match):
            measured = _as_measured(metric, group[0])
            means = {
                evaluation.name: mean
                for evaluation in group
                if evaluation.name not in comparison.not_comparable
                and (mean := evaluation.mean[measured]) is not None
            }
            leader = comparison.overall.leaders.get(measured)
            is_certain = leader is not None and leader.decided and len(means) > 1
            of_grid.setdefault(setting.of, []).append((setting, means, is_certain))
    return tuple(sweep_of_grid(name, metric, under) for name, under in of_grid.items())


def metric_of(config: RunConfig) -> str | None:
    """The metric by which settings are compared: the first that is a mean and has a direction."""
    if config.tuning_metric is not None:
        return config.tuning_metric
    specs = parse_all(config.metrics, config.resolved_profile)
    return next(
        (str(spec) for spec in specs if spec.metric.is_mean and spec.metric.better != "neither"),
        None,
    )


def _as_measured(metric: str, evaluation: Evaluation) -> str:
    """How an evaluation calls a metric: where a pool is gold, its `rel` is the pool's."""
    spec = parse(metric)
    names = {str(score.spec): score.spec for score in evaluation.scores}
    if metric in names:
        return metric
    rel = spec.options.get("rel")
    same = spec.with_options(rel=rel)
    return next(name for name, of in names.items() if of.with_options(rel=rel) == same)
