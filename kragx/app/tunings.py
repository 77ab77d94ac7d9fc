"""What the grids of a config come to, from the evaluations of its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kragx.app.config import RunConfig
from kragx.comparison import Comparison
from kragx.comparison.threshold_study import Sweep, sweep_of_grid
from kragx.comparison.tuning import (
    Tuning,
    as_measured,
    costs_of,
    first_that_chooses,
    tuning_of,
)
from kragx.data import GoldDataset, Run
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import parse_all
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
    metric = metric_of(config)
    if not config.has_grid or metric is None:
        return ()
    costs = costs_of(runs, config.budget_tokenizer)
    settings, statistics = config.settings, config.comparing
    return tuple(
        tuning_of(group, settings, costs, comparison.failures, metric, statistics, dataset, slices)
        for comparison, group in zip(comparisons, by_matcher(evaluations))
    )


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
    of_grid: dict[str, list[tuple[str, dict[str, float]]]] = {}
    settings = {setting.name: setting for setting, _ in config.matcher_settings if setting.values}
    for comparison, group in zip(comparisons, by_matcher(evaluations)):
        if setting := settings.get(comparison.match):
            measured = as_measured(metric, group[0])
            means = {
                evaluation.name: mean
                for evaluation in group
                if evaluation.name not in comparison.not_comparable
                and (mean := evaluation.mean[measured]) is not None
            }
            of_grid.setdefault(setting.of, []).append((setting.name, means))
    return tuple(sweep_of_grid(name, metric, under) for name, under in of_grid.items())


def metric_of(config: RunConfig) -> str | None:
    """The metric by which settings are compared: the config's, or else the first that may."""
    if config.tuning_metric is not None:
        return config.tuning_metric
    specs = parse_all(config.metrics, config.resolved_profile)
    return None if (spec := first_that_chooses(specs)) is None else str(spec)
