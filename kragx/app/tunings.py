"""What the grids of a config come to, from the evaluations of its settings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from kragx.app.config import RunConfig
from kragx.app.screen import by_matcher
from kragx.comparison import Comparison, direction, sliced
from kragx.data import GoldDataset, Run
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import parse, parse_all
from kragx.tuning import (
    MatcherSettings,
    Rules,
    Setting,
    Sizes,
    Tried,
    Tuning,
    drawn,
    halved,
    matcher_settings,
    median_seconds,
    tuned,
)


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
    if not config.has_grid:
        return ()
    sizes = Sizes(config.budget_tokenizer)
    costs = {name: (sizes.mean(run), median_seconds(run)) for name, run in runs.items()}
    sides = halves_of(config, dataset, slices)
    metric = metric_of(config)
    results = []
    for comparison, group in zip(comparisons, by_matcher(evaluations)):
        if metric is None:
            break
        failures = {
            failure.retriever: failure.text
            for failure in comparison.failures
            if not failure.tolerated
        }
        ids = group[0].query_ids
        own_metric = _as_measured(metric, group[0])
        tried = [
            _tried(
                evaluation,
                own_metric,
                config.settings[evaluation.name],
                costs[evaluation.name],
                failures,
                ids,
            )
            for evaluation in group
        ]
        rules = rules_of(config, own_metric, comparison.match)
        places = {query_id: place for place, query_id in enumerate(ids)}
        choosing, held = (
            np.array([places[own] for own in side if own in places], np.intp) for side in sides
        )
        results.append(tuned(tried, rules, halves=(choosing, held)))
    return tuple(results)


def matcher_grids(
    config: RunConfig, evaluations: Sequence[Evaluation], comparisons: Sequence[Comparison]
) -> tuple[MatcherSettings, ...]:
    """How the order of retrievers depends on the settings of each matcher that has a grid.

    Args:
        config: has the matchers.
        evaluations: by matcher, then retriever.
        comparisons: one for each matcher.
    """
    of_grid: dict[str, list[tuple[Setting, dict[str, float], bool]]] = {}
    metric = metric_of(config)
    settings = {setting.name: setting for setting, _ in config.matcher_settings}
    if metric is None:
        return ()
    for comparison, group in zip(comparisons, by_matcher(evaluations)):
        setting = settings[comparison.match]
        lost = comparison.not_comparable
        own_metric = _as_measured(metric, group[0])
        means = {
            evaluation.name: evaluation.mean[own_metric]
            for evaluation in group
            if evaluation.name not in lost
        }
        scored = {name: mean for name, mean in means.items() if mean is not None}
        leader = comparison.overall.leaders.get(own_metric)
        certain = leader is not None and leader.decided and len(scored) > 1
        if setting.values:
            of_grid.setdefault(setting.of, []).append((setting, scored, certain))
    sign = -1.0 if direction(metric) == "lower" else 1.0
    return tuple(matcher_settings(of, metric, sign, under) for of, under in of_grid.items())


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
    return next(
        name for name, spec_of_name in names.items() if spec_of_name.with_options(rel=rel) == spec
    )


def rules_of(config: RunConfig, metric: str, match: str) -> Rules:
    """How the settings of a config are held against each other."""
    return Rules(
        metric,
        match,
        "lower" if direction(metric) == "lower" else "higher",
        parse(metric).metric.limits,
        config.statistics.confidence,
        config.statistics.resamples,
        config.statistics.seed,
    )


def halves_of(
    config: RunConfig, dataset: GoldDataset, slices: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The ids of the questions that choose, in the order in which they are asked, and of others."""
    ids = [query.id for query in dataset]
    of_query = strata(dataset, slices)
    lot = [of_query.get(query_id) for query_id in ids]
    choosing, held = halved(drawn(lot, config.statistics.seed), lot)
    return [ids[row] for row in choosing.tolist()], [ids[row] for row in held.tolist()]


def strata(dataset: GoldDataset, slices: Sequence[str]) -> dict[str, Hashable]:
    """By query id the value of the first field to slice by; nothing without one."""
    queries = list(dataset)
    return {
        queries[row].id: value
        for _, value, rows in (sliced(queries, slices[:1]) if slices else ())
        for row in rows
    }


def _tried(
    evaluation: Evaluation,
    metric: str,
    setting: Setting,
    costs: tuple[float | None, float | None],
    failures: Mapping[str, str],
    ids: Sequence[str],
) -> Tried:
    (scores,) = (score for score in evaluation.scores if str(score.spec) == metric)
    by_id = dict(zip(evaluation.query_ids, scores.values.tolist()))
    values = [by_id.get(query_id, float("nan")) for query_id in ids]
    name = evaluation.name
    return Tried(setting, name, np.array(values), *costs, failures.get(name, ""))
