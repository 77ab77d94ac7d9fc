"""From the evaluations of a grid's settings to what is said of them: `tuning_of`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean, median

import numpy as np

from kragx.comparison import Failures, Settings, sliced
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import (
    LEAST,
    TOLERANCE,
    Rows,
    behind_best,
    deciding,
    sign_flip_p,
)
from kragx.comparison.statistics.evidence import linearised, of_rows, signed, weighted_means
from kragx.comparison.tuning.grid import Setting, value_label
from kragx.comparison.tuning.rules import Rules, drawn, excess, halved
from kragx.comparison.tuning.tuning import Curve, HeldOut, Point, SettingResult, Tuning, Verdict
from kragx.data import GoldDataset, Run, tokenizer
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import Bools, Floats, MetricSpec, parse

_ALIKE = 0.05
"""Sizes and times that differ by less, as a share of the smaller, are equal."""

_LEAST_SECONDS = 0.001
"""Times that differ by less are equal."""


Costs = tuple[float | None, float | None]
"""The tokens of a question's documents, and what it took in seconds; None where not known."""


def costs_of(runs: Mapping[str, Run], spec: object = None) -> dict[str, Costs]:
    """By name the tokens of a question's documents, their mean, and the median of what it took.

    None of what is not known: the text of a document, or any time.

    Args:
        runs: what each setting returned.
        spec: says what a token is, as for a match; None for ``unicode``.
    """
    counting = tokenizer(spec or "unicode", field="budget_tokenizer")
    size = cache(lambda text: len(next(counting.tokens([text]))))  # of each distinct text once
    costs: dict[str, Costs] = {}
    for name, run in runs.items():
        answers = run.results.values()
        times = [answer.seconds for answer in answers if answer.seconds is not None]
        texts = [[doc.text for doc in answer.documents] for answer in answers if not answer.error]
        is_known = bool(texts) and not any(None in of_question for of_question in texts)
        sizes = (sum(map(size, of_question)) for of_question in texts if is_known)
        costs[name] = fmean(sizes) if is_known else None, median(times) if times else None
    return costs


@dataclass(frozen=True)
class Tried:
    """A setting and what it came to.

    Attributes:
        setting: which.
        name: as results call it.
        values: (q) the metric of each question; NaN where there is none.
        tokens: of the retrieved texts of a question, their mean; None where texts are not known.
        seconds: the median of what a question took; None where that was not measured.
        failed: why it is not compared; empty where it is.
    """

    setting: Setting
    name: str
    values: Floats
    tokens: float | None = None
    seconds: float | None = None
    failed: str = ""

    @property
    def result(self) -> SettingResult:
        """What is known of it without the others."""
        has_value = not np.isnan(self.values).all()
        return SettingResult(
            self.name,
            self.setting.of,
            dict(self.setting.values),
            tokens=self.tokens,
            seconds=self.seconds,
            failed=self.failed or ("" if has_value else "no question has a value"),
        )


def tuning_of(
    evaluations: Sequence[Evaluation],
    settings: Mapping[str, Setting],
    costs: Mapping[str, Costs],
    failures: Iterable[Failures],
    metric: str,
    statistics: Settings,
    dataset: GoldDataset,
    slices: Sequence[str] = (),
) -> Tuning:
    """Which setting to take under one matcher, from the evaluations of a grid's settings.

    Args:
        evaluations: one for each setting.
        settings: by the evaluation's name.
        costs: likewise (`costs_of`).
        failures: of those that failed.
        metric: by which settings are compared.
        statistics: confidence, resamples and seed.
        dataset: the gold set.
        slices: fields of a query; both halves of the questions have their share of the first one's.
    """
    first = evaluations[0]
    measured = as_measured(metric, first)
    failed = {failure.retriever: failure.text for failure in failures if not failure.tolerated}
    tried = []
    for scores in map(RetrieverScores.of, evaluations):
        by_id = dict(zip(scores.query_ids, scores.values[measured].tolist()))
        values = np.array([by_id.get(query_id, np.nan) for query_id in first.query_ids])
        why, name = failed.get(scores.name, ""), scores.name
        tried.append(Tried(settings[name], name, values, *costs[name], why))
    rules = Rules.of(measured, first.match_name, *statistics.resampling)
    halves = _halves(dataset, slices, first.query_ids, statistics.seed)
    return tuned(tried, rules, halves=halves, weights=first.weights)


def as_measured(metric: str, evaluation: Evaluation) -> str:
    """How an evaluation calls a metric: where a pool is gold, its `rel` is the pool's."""
    spec = parse(metric)
    rel = spec.options.get("rel")
    specs = [scores.spec for scores in evaluation.scores]
    pooled = (of for of in specs if of.with_options(rel=rel) == spec.with_options(rel=rel))
    return metric if metric in map(str, specs) else str(next(pooled))


def _halves(
    dataset: GoldDataset, slices: Sequence[str], ids: Sequence[str], seed: int
) -> tuple[Rows, Rows]:
    """Where the questions that choose stand, and the others, by the first field to slice by."""
    queries = list(dataset)
    value_of = {
        row: value
        for _, value, rows in (sliced(queries, slices[:1]) if slices else ())
        for row in rows
    }
    # The lot is drawn over the whole gold set, so a part of it falls into the same halves.
    lot = [value_of.get(row) for row in range(len(queries))]
    place = {query_id: row for row, query_id in enumerate(ids)}
    # Without those that were not asked.
    choosing, validating = (
        np.array([place[queries[row].id] for row in side if queries[row].id in place], np.intp)
        for side in halved(drawn(lot, seed), lot)
    )
    return choosing, validating


def first_that_chooses(specs: Iterable[MetricSpec]) -> MetricSpec | None:
    """The first metric by which settings may be compared: it is a mean and has a direction."""
    means = (spec for spec in specs if spec.metric.is_mean)
    return next((spec for spec in means if spec.metric.better != "neither"), None)


def tuned(
    tried: Sequence[Tried],
    rules: Rules,
    *,
    halves: tuple[Rows, Rows] | None = None,
    weights: Floats | None = None,
) -> Tuning:
    """Which setting to take, and how sure that is.

    On half of the questions, drawn by lot, the settings that cannot be told from the best are found
    (`kragx.comparison.statistics.behind_best`), and the simplest of them is chosen: that with the
    fewest tokens of context, then the least time, then the earliest values on the grid's axes;
    sizes and times within 5 % (times within 1 ms) are equal. The other half says what the chosen
    one is worth, and tests it once against the one that was best: where it is told to be worse,
    that one is taken instead, and in either case the mean there is shrunk by what the test adds to
    it (`excess`). Questions without a value under some setting are left out.

    Args:
        tried: the settings; those that failed are named and not compared: nothing is told of them.
        rules: how they are compared.
        halves: the questions that choose and those that are held out; None to draw them.
        weights: (q) for how many asks each question stands; None where all are alike.
    """
    compared = [trial for trial in tried if not trial.result.failed]
    n = max((len(trial.values) for trial in tried), default=0)
    values = np.array([trial.values for trial in compared]).reshape(len(compared), n).T.copy()
    # A setting that has no value somewhere would be compared on easier questions.
    whole: Bools = np.asarray(~np.isnan(values).any(axis=1))
    lot = [None] * n
    first, second = halved(drawn(lot, rules.seed), lot) if halves is None else halves
    choosing, held_out, every = (
        (values[rows], of_rows(weights, rows))
        for rows in (first[whole[first]], second[whole[second]], np.flatnonzero(whole))
    )
    base = Tuning(
        match=rules.match,
        metric=rules.metric,
        better=rules.better,
        confidence=rules.confidence,
        seed=rules.seed,
        n_choosing=len(choosing[0]) if compared else 0,
        n_held_out=len(held_out[0]) if compared else 0,
        verdict="none",
        take=None,
        best=None,
        settings=tuple(trial.result for trial in tried if trial.result.failed),
        held_out=None,
        curves=(),
    )
    if not compared or not base.n_choosing:
        return base
    results = _results(compared, rules, choosing, held_out, every)
    means = weighted_means(rules.sign * choosing[0], choosing[1])
    best = int(np.argmax(means))
    ranked = sorted(range(len(results)), key=lambda place: -means[place])
    base = replace(
        base,
        settings=(*(results[place] for place in ranked), *base.settings),
        best=compared[best].name,
        curves=tuple(curves_of([trial.setting for trial in compared], *every, rules)),
    )
    n_needed = max(deciding(rules.alpha, rules.resamples) or 0, LEAST)
    if len(compared) > 1 and (base.n_choosing < n_needed or not base.n_held_out):
        return replace(base, verdict="too_few")
    return _chosen(base, compared, means, best, held_out, rules)


Questions = tuple[Floats, Floats | None]
"""(n, m) the values of some questions under each setting, and (n) what the questions weigh."""


def _chosen(
    base: Tuning,
    compared: Sequence[Tried],
    means: Floats,
    best: int,
    held_out: Questions,
    rules: Rules,
) -> Tuning:
    """The simplest of those that cannot be told from the best, unless those held out refute it."""
    # Uncorrected on purpose: the best is tested too, and stays with the level for itself.
    apart = {result.name for result in base.settings if result.told_apart}
    alike = [place for place, trial in enumerate(compared) if trial.name not in apart]
    choice, n = _simplest(alike, compared, means), len(compared)
    worth, is_refuted = None, False
    if base.n_held_out:
        worth, is_refuted = _held_out(held_out, choice, best, compared[choice].name, rules)
    verdict: Verdict = (
        "refuted"
        if is_refuted
        else "only"
        if n == 1
        else "open"
        if len(alike) == n
        else "best"
        if choice == best
        else "simplest"
    )
    take = compared[best if is_refuted else choice].name
    return replace(base, verdict=verdict, take=take, held_out=worth)


def _results(
    compared: Sequence[Tried],
    rules: Rules,
    choosing: Questions,
    held_out: Questions,
    every: Questions,
) -> list[SettingResult]:
    """What each setting came to, held against the others."""
    front = _front(weighted_means(rules.sign * every[0], every[1]), compared)
    behind = behind_best(
        rules.sign * choosing[0], rules.resamples, rules.seed, weights=choosing[1]
    ).tolist()
    held_means: list[float | None] = [None] * len(compared)
    if len(held_out[0]):
        held_means = weighted_means(*held_out).tolist()
    return [
        replace(
            trial.result,
            mean=mean,
            low=low,
            high=high,
            held_out=held_means[place],
            p=behind[place] if len(compared) > 1 else None,
            told_apart=behind[place] <= rules.alpha,
            on_front=front[place],
        )
        for place, (trial, (mean, low, high)) in enumerate(zip(compared, rules.means(*choosing)))
    ]


def _held_out(
    questions: Questions, choice: int, best: int, name: str, rules: Rules
) -> tuple[HeldOut, bool]:
    """What the setting to take is worth on questions that had no part in choosing it.

    A simpler one than the best, of this name, is tested there; and whether that refutes it.
    """
    values, weights = questions
    lead = rules.sign * (values[:, choice] - values[:, best])
    (by,) = weighted_means(lead[:, None], weights).tolist()
    terms = np.stack([*signed([lead], weights)], axis=1)
    (p,) = sign_flip_p(terms, rules.resamples, rules.seed).tolist()
    # The half that had no part in choosing says that the simpler one is worse: then the best is
    # taken after all.
    is_refuted = bool(by < 0 and p <= rules.alpha)
    column = values[:, [best if is_refuted else choice]]
    ((mean, low, high),) = rules.means(column, weights)
    if choice == best:
        return HeldOut(mean, low, high), False
    pair = linearised(np.stack([rules.sign * column[:, 0], lead], axis=1), weights)
    by_test = excess(pair[:, 0], pair[:, 1], rules.confidence, kept=not is_refuted)
    # The end on the flattering side stays, so that both means lie between.
    lowest, greatest = rules.range or (-np.inf, np.inf)
    if rules.better == "higher":
        low = None if low is None else max(low - by_test, lowest)
    else:
        high = None if high is None else min(high + by_test, greatest)
    mean, difference = mean - rules.sign * by_test, rules.sign * by
    return HeldOut(mean, low, high, name, difference, p, by_test), is_refuted


def _costs(compared: Sequence[Tried]) -> list[tuple[list[float], float]]:
    """Context and times, as far as they are known of all, with what makes no difference."""
    sizes = (
        ([trial.tokens for trial in compared], TOLERANCE),
        ([trial.seconds for trial in compared], _LEAST_SECONDS),
    )
    complete = (([size for size in costs if size is not None], slack) for costs, slack in sizes)
    return [(costs, slack) for costs, slack in complete if len(costs) == len(compared)]


def _simplest(alike: Sequence[int], compared: Sequence[Tried], means: Floats) -> int:
    """Which of some settings is the simplest; of what is equal in all, the better one."""
    places = list(alike)
    # Each cost narrows the choice further; what is larger by no more than `_ALIKE` stays.
    for sizes, slack in _costs([compared[place] for place in alike]):
        size_of = dict(zip(alike, sizes))
        smallest = min(size_of[place] for place in places)
        limit = max(smallest * (1 + _ALIKE), smallest + slack)
        places = [place for place in places if size_of[place] <= limit]
    return min(places, key=lambda place: (compared[place].setting.places, -means[place]))


def _front(quality: Floats, compared: Sequence[Tried]) -> list[bool]:
    """Which settings no other is at least as good as in all, and better in something.

    What is not known of all counts for nothing; times within a millisecond are equal.
    """
    goods = [
        (quality, TOLERANCE),
        *((-np.array(values), slack) for values, slack in _costs(compared)),
    ]
    # (goods, m, m): how far each setting is ahead of each other one in each good.
    leads = np.stack([values[:, None] - values for values, _ in goods])
    slack = np.array([slack for _, slack in goods])[:, None, None]
    # Not worse in anything by more than what makes no difference, and better in something by more.
    dominates = np.all(leads >= -slack, axis=0) & np.any(leads > slack, axis=0)
    return list(map(bool, ~np.any(dominates, axis=0)))


def curves_of(
    compared: Sequence[Setting], values: Floats, weights: Floats | None, rules: Rules
) -> Iterator[Curve]:
    """The curve of each axis with several values, over all settings.

    A point is the mean, over questions, of the mean of the settings with that value. Only settings
    whose counterparts at every other value of the axis are there too take part, so that points
    differ by the axis alone.

    Args:
        compared: the settings.
        values: (q, m) of each; none missing.
        weights: (q); None where all are alike.
        rules: how means are made.
    """
    # By their labels: values may be lists or mappings, which are no keys.
    axes: dict[tuple[str, str], dict[str, int]] = {}
    for setting in compared:
        for place, (axis, value) in zip(setting.places, setting.values.items()):
            axes.setdefault((setting.of, axis), {})[value_label(value)] = place
    for (name, axis), place_of in axes.items():
        # As the grid has them, whichever setting came first.
        labels = sorted(place_of, key=place_of.__getitem__)
        matched = _matched(compared, name, axis, labels)
        if len(labels) < 2 or not len(values) or not matched:
            continue
        columns = ([columns[label] for columns in matched] for label in labels)
        means = np.stack([values[:, places].mean(axis=1) for places in columns], axis=1)
        rows = zip(labels, rules.means(means, weights))
        points = (Point(label, *mean, len(matched)) for label, mean in rows)
        yield Curve(name, axis, tuple(points))


def _matched(
    compared: Sequence[Setting], name: str, axis: str, labels: Sequence[str]
) -> list[Mapping[str, int]]:
    """For each choice of the other axes the columns by the value of this one, if all are there."""
    rest: dict[tuple[tuple[str, str], ...], dict[str, int]] = {}
    for column, setting in enumerate(compared):
        named = {name: value_label(value) for name, value in setting.values.items()}
        if setting.of == name and (label := named.pop(axis, None)) is not None:
            rest.setdefault(tuple(named.items()), {})[label] = column
    return [columns for columns in rest.values() if columns.keys() == {*labels}]
