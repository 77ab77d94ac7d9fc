"""`tune`: a grid that is tried from Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from kragx.comparison import Failures, Settings, direction
from kragx.comparison.statistics import CONFIDENCE, RESAMPLES, SEED
from kragx.data import GoldDataset, Query, Run, read_dataset
from kragx.errors import UsageError, nearest
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate import evaluate_run
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.pools import pooled
from kragx.evaluation.retrieve import Asking, retrieve
from kragx.matchers import MatchItem
from kragx.metrics import Floats, MetricSpec, Profile, parse_all, profile_for
from kragx.tuning.choosing import Tried, tuned
from kragx.tuning.costs import Sizes, median_seconds
from kragx.tuning.grid import MAX_SETTINGS, Setting, read_grid, settings, size
from kragx.tuning.halves import drawn, halved
from kragx.tuning.halving import Halving, halve
from kragx.tuning.rules import Rules
from kragx.tuning.tuning import Drop, Tuning


def tune(
    dataset: object,
    make: Callable[..., Any],
    grid: Mapping[str, Sequence[Any]],
    *,
    name: str | None = None,
    metric: str | None = None,
    match: object = None,
    profile: str | Profile | None = None,
    corpus: object = None,
    halving: bool | Halving = False,
    max_settings: int = MAX_SETTINGS,
    max_failed: float = 0.0,
    budget_tokenizer: object = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: bool | None = None,
    **asking: Any,
) -> Tuning:
    """Try every combination of a grid and say which to take, and how sure that is.

    Args:
        dataset: the gold set, as for `evaluate`; its questions need texts.
        make: makes a retriever of a combination: ``make(chunk_size=300, k=5)``. A class will do.
        grid: for each argument the list of its values; the one that is preferred stands first.
        name: what the retriever is called; None for the name of `make`.
        metric: by which settings are compared; None for the first of the profile's.
        match: as for `evaluate`.
        profile: as for `evaluate`.
        corpus: as for `evaluate`.
        halving: ask settings no further that are told from the best; `Halving` says when it is
            looked. Not with a judge, which is asked about all answers.
        max_settings: more combinations are an error.
        max_failed: the share of questions that a setting may fail on and be compared.
        budget_tokenizer: what a token of context is; None for ``unicode``.
        confidence: of all that is said.
        resamples: how many random flips.
        seed: of flips, and of the lot by which half of the questions is held out.
        progress: whether to show progress; None for only on a terminal or in a notebook.
        asking: how retrievers are asked, as for `retrieve`: ``concurrency=8``, ``timeout=30``.

    Raises:
        UsageError: the grid or an argument is wrong, there are too many settings, or one of them
            cannot be made or asked.
        DataError: the gold set is bad.

    Examples:
        >>> from kragx import GoldDataset, tune
        >>> texts = ["Seoul is the capital.", "It began in 1919.", "Gift cards do not expire."]
        >>> golds = [[text] for text in texts * 4]
        >>> gold = GoldDataset.from_documents(golds, queries=["Which?"] * 12)
        >>> def first(k):
        ...     return lambda question: texts[:k]
        >>> tune(gold, first, {"k": [1, 3]}, metric="hit_rate@5", progress=False).take
        'first[k=3]'
    """
    axes = read_grid(grid)
    Settings(confidence, resamples, seed, max_failed=max_failed)  # which says what is wrong
    _check_options(asking, halving)
    every = settings(str(name or getattr(make, "__name__", type(make).__name__)), axes)
    if len(every) > max_settings:
        raise UsageError(
            f"{size(axes)}, more than {max_settings}; leave values out", field="max_settings"
        )
    gold = read_dataset(dataset)
    spec = _metric(metric, profile)
    criteria = Criteria.of(match=match, metrics=[spec], profile=profile)
    tries = _Tries(gold, make, every, progress, asking)
    if criteria.matcher.judges and halving:
        raise UsageError(
            "a judge is asked about all answers", field="halving", remedy="leave out one of the two"
        )
    if criteria.matcher.needs_pool(MatchItem(query, ()) for query in gold):
        # Each in a pool of its own would be measured by what it found itself.
        runs = [tries.run(own.name, gold.queries) for own in every]
        judge, named = criteria.matcher, criteria.named
        pool = pooled(gold, runs, match=judge, profile=named, corpus=corpus)
        criteria = replace(criteria, matcher=pool)

    def measured(run: Run, queries: GoldDataset) -> Evaluation:
        return evaluate_run(queries, run, criteria, corpus=corpus)

    questions = list(gold)
    choosing, held = halved(drawn([None] * len(gold), seed), [None] * len(gold))
    rounds = Halving() if halving is True else halving or None
    rules = Rules(
        str(spec),
        "",
        "lower" if direction(str(spec)) == "lower" else "higher",
        spec.metric.limits,
        confidence,
        resamples,
        seed,
        rounds.looks(len(choosing)) if rounds is not None else 1,
    )
    drops: tuple[Drop, ...] = ()
    if rounds is not None:

        def values(names: Sequence[str], rows: np.ndarray) -> dict[str, Floats | None]:
            part = replace(gold, queries=tuple(questions[row] for row in rows.tolist()))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the whole says them
                results = [measured(tries.run(own, part.queries), part) for own in names]
            return {
                result.name: result.scores[0].values
                if Failures.of(result, max_failed).tolerated
                else None
                for result in results
            }

        drops = halve([own.name for own in every], choosing, rounds, values, rules)
    gone, sizes, tried = {drop.name for drop in drops}, Sizes(budget_tokenizer), []
    for setting in every:
        if setting.name not in gone:
            run = tries.run(setting.name, gold.queries)
            own = measured(run, gold)
            rules = replace(rules, match=own.match_name)
            failures = Failures.of(own, max_failed)
            tried.append(
                Tried(
                    setting,
                    setting.name,
                    _aligned(own, questions),
                    sizes.mean(run),
                    median_seconds(run),
                    "" if failures.tolerated else failures.text,
                )
            )
    return tuned(tried, rules, halves=(choosing, held), drops=drops)


def _check_options(asking: Mapping[str, Any], halving: object) -> None:
    """Refuse what neither `tune` nor `retrieve` takes, before anything is asked."""
    known = [*signature(Asking).parameters, *signature(tune).parameters]
    for name in asking:
        if name not in known:
            raise UsageError(f"tune: unknown argument {name!r}; {nearest(name, known)}")
    if not isinstance(halving, bool | Halving):
        raise UsageError(
            f"{halving!r} does not say when to look",
            field="halving",
            remedy="pass True, or Halving(start=50, factor=2)",
        )


def _metric(text: str | None, profile: str | Profile | None) -> MetricSpec:
    """The metric by which settings are compared."""
    named = profile_for(profile, None if text is None else [text])
    specs = parse_all(None if text is None else [text], named)
    fit = [spec for spec in specs if spec.metric.is_mean and spec.metric.better != "neither"]
    if not fit:
        problem = f"{text!r} has no value of each question that is better or worse"
        raise UsageError(problem, field="metric", remedy="name another one, as ndcg@10")
    return fit[0]


def _aligned(evaluation: Evaluation, questions: Iterable[Query]) -> Floats:
    """(q) the values in the gold set's order."""
    values = dict(zip(evaluation.query_ids, evaluation.scores[0].values.tolist()))
    return np.array([values.get(query.id, np.nan) for query in questions], np.float64)


class _Tries:
    """Makes each setting's retriever once, and asks it each question once."""

    def __init__(
        self,
        gold: GoldDataset,
        make: Callable[..., Any],
        every: Sequence[Setting],
        progress: bool | None,
        asking: Mapping[str, Any],
    ) -> None:
        self._gold, self._make, self._progress = gold, make, progress
        self._asking = dict(asking)
        self._settings = {own.name: own for own in every}
        self._made: dict[str, Any] = {}
        self._runs: dict[str, Run] = {}

    def run(self, name: str, queries: Sequence[Query]) -> Run:
        """What a setting returns to these questions; only those that are new are asked."""
        known = dict(self._runs[name].results) if name in self._runs else {}
        new = tuple(query for query in queries if query.id not in known)
        if new or name not in self._runs:
            run = retrieve(
                self._retriever(name),
                replace(self._gold, queries=new),
                name=name,
                progress=self._progress,
                **self._asking,
            )
            self._runs[name] = replace(run, results={**known, **run.results})
        results = self._runs[name].results
        return replace(self._runs[name], results={own.id: results[own.id] for own in queries})

    def _retriever(self, name: str) -> Any:
        if name not in self._made:
            try:
                self._made[name] = self._make(**self._settings[name].values)
            except Exception as error:  # whatever foreign code raises, the user must learn where
                problem = f"{type(error).__name__}: {error}"
                raise UsageError(problem, field=name) from error
        return self._made[name]
