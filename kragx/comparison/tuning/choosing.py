"""From the evaluations of a grid's settings to what is said of them: `tuning_of`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from math import sqrt
from statistics import NormalDist, fmean, median

import numpy as np

from kragx.comparison import Failures, Settings, sliced
from kragx.comparison.estimates import definition_of
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import (
    LEAST,
    TOLERANCE,
    Rows,
    behind_best,
    deciding,
    mean_intervals,
    sign_flip_p,
)
from kragx.comparison.statistics.evidence import linearised, of_rows, signed, weighted_means
from kragx.comparison.tuning.grid import Setting, value_label
from kragx.comparison.tuning.tuning import Curve, HeldOut, Point, SettingResult, Tuning
from kragx.data import GoldDataset, Run, tokenizer
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.json_values import to_jsonable
from kragx.metrics import Bools, Floats, MetricSpec, parse
from kragx.metrics.intervals import student_t, with_exact_limits

_ALIKE = 0.05
"""Sizes and times that differ by less, as a share of the smaller, are equal."""

_LEAST_SECONDS = 0.001
"""Times that differ by less are equal."""

Costs = tuple[float | None, float | None]
"""The tokens of a question's documents, and what it took in seconds; None where not known."""

Questions = tuple[Floats, Floats | None]
"""(n, m) the values of some questions under each setting, and (n) what the questions weigh."""


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
        tried.append(SettingResult(settings[name], name, values, *costs[name], why))
    halves = _halves(dataset, slices, first.query_ids, statistics.seed)
    return tuned(
        tried, measured, statistics, first.match_name, halves=halves, weights=first.weights
    )


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
    tried: Sequence[SettingResult],
    metric: str,
    statistics: Settings,
    match: str = "",
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
        metric: by which they are compared.
        statistics: confidence, resamples and seed.
        match: names the matcher.
        halves: the questions that choose and those that are held out; None to draw them.
        weights: (q) for how many asks each question stands; None where all are alike.
    """
    tried = [
        replace(result, failed=result.failed or "no question has a value")
        if np.isnan(result.scores).all()
        else result
        for result in tried
    ]
    compared = [result for result in tried if not result.failed]
    failed = tuple(result for result in tried if result.failed)
    tuning = Tuning(match, metric, statistics, settings=failed)
    if not compared:
        return tuning
    values = np.stack([result.scores for result in compared], axis=1)
    # A setting that has no value somewhere would be compared on easier questions.
    whole: Bools = np.asarray(~np.isnan(values).any(axis=1))
    lot = [None] * len(values)
    first, second = halved(drawn(lot, statistics.seed), lot) if halves is None else halves
    choosing, held_out, every = (
        (values[rows], of_rows(weights, rows))
        for rows in (first[whole[first]], second[whole[second]], np.flatnonzero(whole))
    )
    tuning = replace(tuning, n_choosing=len(choosing[0]), n_held_out=len(held_out[0]))
    return _chosen(tuning, compared, choosing, held_out, every) if tuning.n_choosing else tuning


def _chosen(
    tuning: Tuning,
    compared: Sequence[SettingResult],
    choosing: Questions,
    held_out: Questions,
    every: Questions,
) -> Tuning:
    """The simplest of those that cannot be told from the best, unless those held out refute it."""
    statistics = tuning.statistics
    means = weighted_means(tuning.sign * choosing[0], choosing[1])
    results = _results(tuning, compared, choosing, held_out, every)
    best, n = int(np.argmax(means)), len(results)
    tuning = replace(
        tuning,
        settings=(*(results[row] for row in np.argsort(-means, kind="stable")), *tuning.settings),
        best=results[best].name,
        curves=tuple(_curves(tuning, compared, every)),
    )
    n_needed = max(deciding(statistics.alpha, statistics.resamples) or 0, LEAST)
    if n > 1 and (tuning.n_choosing < n_needed or not tuning.n_held_out):
        return replace(tuning, verdict="too_few")
    # Uncorrected on purpose: the best is tested too, and stays with the level for itself.
    alike = [row for row, result in enumerate(results) if not result.told_apart]
    choice = _simplest(alike, compared, means)
    worth, is_refuted = None, False
    if tuning.n_held_out:
        worth, is_refuted = _held_out(tuning, held_out, choice, best, compared[choice].name)
    return replace(
        tuning,
        verdict="refuted"
        if is_refuted
        else "only"
        if n == 1
        else "open"
        if len(alike) == n
        else "best"
        if choice == best
        else "simplest",
        take=compared[best if is_refuted else choice].name,
        held_out=worth,
    )


def _results(
    tuning: Tuning,
    compared: Sequence[SettingResult],
    choosing: Questions,
    held_out: Questions,
    every: Questions,
) -> list[SettingResult]:
    """What each setting came to, held against the others."""
    statistics, values = tuning.statistics, tuning.sign * choosing[0]
    front = _front(weighted_means(tuning.sign * every[0], every[1]), compared)
    behind = behind_best(values, statistics.resamples, statistics.seed, weights=choosing[1])
    held_out_means = weighted_means(*held_out) if tuning.n_held_out else [None] * len(compared)
    columns = zip(_means(tuning, *choosing), to_jsonable(held_out_means), behind.tolist(), front)
    return [
        replace(
            result,
            mean=mean,
            low=low,
            high=high,
            held_out=held_out_mean,
            p=p if len(compared) > 1 else None,
            told_apart=p <= statistics.alpha,
            on_front=bool(is_on_front),
        )
        for result, ((mean, low, high), held_out_mean, p, is_on_front) in zip(compared, columns)
    ]


def _means(
    tuning: Tuning, values: Floats, weights: Floats | None
) -> list[tuple[float, float | None, float | None]]:
    """Each column's mean with the ends of its interval, None without one."""
    definition, statistics, n = definition_of(tuning.metric), tuning.statistics, values.shape[1]
    ends = mean_intervals(values, [definition.limits] * n, *statistics.resampling, weights=weights)
    nothing = np.zeros(n, int), np.zeros((2, n))  # what is not known is no value here
    kinds = [definition.interval] * n
    ends = with_exact_limits(ends, values, kinds, *nothing, statistics.confidence, weights=weights)
    rows = to_jsonable(np.stack([weighted_means(values, weights), *ends], axis=1))
    return [(mean, low, high) for mean, low, high in rows]


def _held_out(
    tuning: Tuning, questions: Questions, choice: int, best: int, name: str
) -> tuple[HeldOut, bool]:
    """What the setting to take is worth on questions that had no part in choosing it.

    A simpler one than the best, of this name, is tested there; and whether that refutes it.
    """
    (values, weights), statistics, sign = questions, tuning.statistics, tuning.sign
    lead = sign * (values[:, choice] - values[:, best])
    (by,) = weighted_means(lead[:, None], weights).tolist()
    terms = np.stack([*signed([lead], weights)], axis=1)
    (p,) = sign_flip_p(terms, statistics.resamples, statistics.seed).tolist()
    # The half that had no part in choosing says that the simpler one is worse: then the best is
    # taken after all.
    is_refuted = bool(by < 0 and p <= statistics.alpha)
    column = values[:, [best if is_refuted else choice]]
    ((mean, low, high),) = _means(tuning, column, weights)
    if choice == best:
        return HeldOut(mean, low, high), False
    pair = linearised(np.stack([sign * column[:, 0], lead], axis=1), weights)
    by_test = excess(pair[:, 0], pair[:, 1], statistics.confidence, kept=not is_refuted)
    # The end on the flattering side stays, so that both means lie between.
    lowest, greatest = definition_of(tuning.metric).limits or (-np.inf, np.inf)
    if tuning.better == "higher":
        low = None if low is None else max(low - by_test, lowest)
    else:
        high = None if high is None else min(high + by_test, greatest)
    return HeldOut(mean - sign * by_test, low, high, name, sign * by, p, by_test), is_refuted


def _costs(compared: Sequence[SettingResult]) -> list[tuple[Floats, float]]:
    """(m) context and times, as far as they are known of all, with what makes no difference."""
    sizes = (
        ([result.tokens for result in compared], TOLERANCE),
        ([result.seconds for result in compared], _LEAST_SECONDS),
    )
    return [(np.array(costs, np.float64), slack) for costs, slack in sizes if None not in costs]


def _simplest(alike: Sequence[int], compared: Sequence[SettingResult], means: Floats) -> int:
    """Which of some settings is the simplest; of what is equal in all, the better one."""
    places = np.array(alike)
    # Each cost narrows the choice further; what is larger by no more than `_ALIKE` stays.
    for costs, slack in _costs([compared[place] for place in alike]):
        sizes = costs[np.isin(alike, places)]
        smallest = sizes.min()
        places = places[sizes <= max(smallest * (1 + _ALIKE), smallest + slack)]
    return int(min(places, key=lambda place: (compared[place].setting.places, -means[place])))


def _front(quality: Floats, compared: Sequence[SettingResult]) -> Bools:
    """(m) which settings no other is at least as good as in all, and better in something.

    What is not known of all counts for nothing; times within a millisecond are equal.
    """
    goods = [(quality, TOLERANCE), *((-costs, slack) for costs, slack in _costs(compared))]
    # (goods, m, m): how far each setting is ahead of each other one in each good.
    leads = np.stack([values[:, None] - values for values, _ in goods])
    slack = np.array([slack for _, slack in goods])[:, None, None]
    # Not worse in anything by more than what makes no difference, and better in something by more.
    dominates: Bools = np.all(leads >= -slack, axis=0) & np.any(leads > slack, axis=0)
    front: Bools = ~np.any(dominates, axis=0)
    return front


def _curves(tuning: Tuning, compared: Sequence[SettingResult], every: Questions) -> Iterator[Curve]:
    """The curve of each axis with several values, over all settings.

    A point is the mean, over questions, of the mean of the settings with that value. Only settings
    whose counterparts at every other value of the axis are there too take part, so that points
    differ by the axis alone.
    """
    # For each axis, by the places on the other ones, the columns by the place on this one.
    axes: dict[tuple[str, str], dict[tuple[int, ...], dict[int, int]]] = {}
    labels: dict[tuple[str, str], dict[int, str]] = {}
    for column, setting in enumerate(result.setting for result in compared):
        for number, (axis, value) in enumerate(setting.values.items()):
            key, place = (setting.of, axis), setting.places[number]
            rest = (*setting.places[:number], *setting.places[number + 1 :])
            axes.setdefault(key, {}).setdefault(rest, {})[place] = column
            labels.setdefault(key, {})[place] = value_label(value)
    for key, columns_of in axes.items():
        places = sorted(labels[key])  # as the grid has them, whichever setting came first
        matched = [columns for columns in columns_of.values() if len(columns) == len(places)]
        if len(places) < 2 or not matched:
            continue
        groups = ([columns[place] for columns in matched] for place in places)
        means = np.stack([every[0][:, group].mean(axis=1) for group in groups], axis=1)
        rows = zip(places, _means(tuning, means, every[1]))
        points = (Point(labels[key][place], *row, len(matched)) for place, row in rows)
        yield Curve(*key, tuple(points))


def drawn(strata: Sequence[Hashable], seed: int) -> Rows:
    """(q) the positions of questions in an order drawn by lot, each beginning of which is fair.

    However many are taken from its start, each stratum has about the share that it has of all.

    Args:
        strata: (q) what each question belongs to; all equal where there are no slices.
        seed: the same seed gives the same order.
    """
    # The lot does not depend on strata: with other slices each question keeps its number.
    rng = np.random.default_rng(seed)
    lot, share = rng.random(len(strata)), np.empty(len(strata))
    rows_of: dict[Hashable, list[int]] = {}
    for row, stratum in enumerate(strata):
        rows_of.setdefault(stratum, []).append(row)
    for rows in map(np.array, rows_of.values()):
        shift = rng.random()  # or small strata would all begin at the same place
        share[rows[np.argsort(lot[rows])]] = (np.arange(len(rows)) + shift) / len(rows)
    return np.lexsort((lot, share))


def halved(order: Rows, strata: Sequence[Hashable]) -> tuple[Rows, Rows]:
    """The questions that choose and those that are held out; of an odd number one more chooses.

    Within each stratum they take turns, and of odd ones the first gives one more to either side by
    turns: of two equal strata, which take turns in `order`, neither side would else see but one.
    """
    sizes = Counter(strata)
    odd = accumulate((size % 2 for size in sizes.values()), initial=0)
    turn = {stratum: before % 2 for stratum, before in zip(sizes, odd)}
    sides: tuple[list[int], list[int]] = ([], [])
    for row in order.tolist():
        sides[turn[strata[row]]].append(row)
        turn[strata[row]] ^= 1
    return np.array(sides[0], np.intp), np.array(sides[1], np.intp)


def excess(values: Floats, lead: Floats, confidence: float, *, kept: bool) -> float:
    """How much a setting's mean owes to having passed a test on the same questions.

    The simpler setting stays unless it is told to be worse, so where it stays it is likely to have
    been lucky, and where it goes the other was: leads are drawn from one side of a line only. The
    likeliest true lead, given that side, is nearer to it; the mean goes with the lead as their
    values do.

    Args:
        values: (n) of the setting that is taken, the higher the better.
        lead: (n) of the simpler setting over the best: their difference, the higher the better.
        confidence: of the test.
        kept: whether the simpler one stays.

    Returns:
        What to take off the mean, at least 0; 0 where the lead does not vary.

    Source: H. Zhong, R. Prentice, Bias-reduced estimators and confidence intervals for odds ratios
    in genome-wide association studies, Biostatistics 9, 2008 (the conditional likelihood of what
    passed a test).
    """
    n = len(lead)
    spread = float(lead.std(ddof=1)) / sqrt(n) if n > 1 else 0.0
    if spread <= TOLERANCE:
        return 0.0
    normal = NormalDist()
    line, observed = student_t((1 + confidence) / 2, n - 1), float(lead.mean()) / spread
    # One that stays is no further behind than the line; one that goes is behind, as the other was
    # best. Which lead is the likeliest is found by halving between these ends.
    low, high = (-line, max(observed, -line)) if kept else (min(observed, -line), 0.0)
    target, side = (high, 1) if kept else (low, -1)
    for _ in range(60):
        middle = (low + high) / 2
        beyond = side * normal.pdf(line + middle) / normal.cdf(side * (line + middle))
        low, high = (middle, high) if middle + beyond < target else (low, middle)
    slope = float(np.cov(values, lead)[0, 1]) / (n * spread**2)
    likeliest = low if kept else high
    return round(max(0.0, slope * spread * (observed - likeliest)), 12)
