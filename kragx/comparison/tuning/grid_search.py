"""`tune`: a grid that is tried from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

from kragx.comparison import Failures, Settings
from kragx.comparison.statistics import CONFIDENCE, RESAMPLES, SEED
from kragx.comparison.tuning.choosing import costs_of, tuning_of
from kragx.comparison.tuning.grid import MAX_SETTINGS, Setting, read_grid, settings, size
from kragx.comparison.tuning.tuning import Tuning
from kragx.data import GoldDataset, Run, as_corpus, read_dataset
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import evaluate_run, for_all
from kragx.evaluation.retrieve import Asking, retrieve
from kragx.ground.errors import UsageError, nearest
from kragx.metrics import MetricSpec, Profile, parse_all, profile_for


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
    statistics = Settings(confidence, resamples, seed, max_failed=max_failed)
    _check_options(asking)
    every = settings(str(name or getattr(make, "__name__", type(make).__name__)), axes)
    if len(every) > max_settings:
        raise UsageError(
            "{size}, more than {max_settings}; leave values out",
            field="max_settings",
            size=size(axes),
            max_settings=max_settings,
        )
    gold = read_dataset(dataset)
    spec = _metric(metric, profile)
    criteria = Criteria.of(match=match, metrics=[spec], profile=profile)
    runs = {setting.name: _ask_setting(gold, make, setting, progress, asking) for setting in every}
    corpus_texts = as_corpus(corpus)
    criteria = for_all(criteria, gold, runs.values(), corpus_texts)
    costs = costs_of(runs, budget_tokenizer)
    evaluations = [evaluate_run(gold, run, criteria, corpus=corpus_texts) for run in runs.values()]
    return tuning_of(
        evaluations,
        {setting.name: setting for setting in every},
        costs,
        [Failures.of(evaluation, max_failed) for evaluation in evaluations],
        str(spec),
        statistics,
        gold,
    )


def _check_options(asking: Mapping[str, Any]) -> None:
    """Refuse what neither `tune` nor `retrieve` takes, before anything is asked."""
    names = [*signature(Asking).parameters, *signature(tune).parameters]
    for name in asking:
        if name not in names:
            raise UsageError(
                "tune: unknown argument {name!r}; {hint}", name=name, hint=nearest(name, names)
            )


def first_that_chooses(specs: Iterable[MetricSpec]) -> MetricSpec | None:
    """The first metric by which settings may be compared: it is a mean and has a direction."""
    means = (spec for spec in specs if spec.metric.is_mean)
    return next((spec for spec in means if spec.metric.better != "neither"), None)


def _metric(text: str | None, profile: str | Profile | None) -> MetricSpec:
    """The metric by which settings are compared."""
    named = profile_for(profile, None if text is None else [text])
    specs = parse_all(None if text is None else [text], named)
    if (spec := first_that_chooses(specs)) is None:
        problem = f"{text!r} has no value of each question that is better or worse"
        raise UsageError(problem, field="metric", remedy="name another one, as ndcg@10")
    return spec


def _ask_setting(
    gold: GoldDataset,
    make: Callable[..., Any],
    setting: Setting,
    progress: bool | None,
    asking: Mapping[str, Any],
) -> Run:
    """What a setting's retriever, which is made for it, returns to the questions."""
    try:
        retriever = make(**setting.values)
    except Exception as error:  # whatever foreign code raises, the user must learn where
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(problem, field=setting.name) from error
    return retrieve(retriever, gold, name=setting.name, progress=progress, **asking)
