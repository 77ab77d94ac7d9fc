"""`compare`: from evaluations of several retrievers to a `Comparison`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kragx.comparison.comparable import check_comparable
from kragx.comparison.comparison import Comparison, Settings
from kragx.comparison.flips import Flips, flips_between, flips_warning
from kragx.comparison.scored import Scored
from kragx.comparison.slices import sliced
from kragx.comparison.statistics import CONFIDENCE, RESAMPLES, SEED
from kragx.comparison.view import Slice
from kragx.comparison.views import Aligned
from kragx.data.gold import GoldDataset, Query
from kragx.errors import UsageError, nearest
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.source import as_dataset
from kragx.metrics import MetricSpec, Profile
from kragx.metrics.measures import parse


def compare(
    evaluations: Iterable[Evaluation] | Mapping[str, Evaluation],
    *,
    baseline: str | None = None,
    metrics: Iterable[str | MetricSpec] | None = None,
    slices: Iterable[str] = (),
    dataset: object = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    correction: str = "holm",
    anyway: bool = False,
) -> Comparison:
    """Compare retrievers: means with intervals, paired tests, slices.

    Queries are joined by id. Each difference is over the queries where both have a value, and says
    how many.

    Args:
        evaluations: of several retrievers on one gold set under one matcher; a mapping gives them
            names of its own.
        baseline: the name of the one that the others are set against; None for the first.
        metrics: which to compare; None for all that the evaluations share.
        slices: fields of a query to compare within, for example ``metadata.difficulty``.
        dataset: the gold set that the fields are read from, if the evaluations did not keep it (as
            those of a results file do not).
        confidence: of intervals; differences are decided at a level of 1 - confidence.
        resamples: how many bootstrap resamples and random sign flips.
        seed: of both; the same seed gives the same bits.
        correction: of p, over the retrievers and metrics of a view: ``holm`` or ``none``.
        anyway: compare what cannot be compared, and say so in `cautions`.

    Raises:
        UsageError: the evaluations cannot be compared, or an argument is wrong.
    """
    if isinstance(evaluations, Mapping):
        given = [replace(each, name=str(name)) for name, each in evaluations.items()]
    else:
        given = list(evaluations)
    if not given:
        raise UsageError("evaluations: none is given; pass at least one")
    kept = [each.dataset for each in given if each.dataset is not None]
    found = as_dataset(dataset) if dataset is not None else kept[0] if kept else None
    return compare_scored(
        [Scored.of(each) for each in given],
        Settings(confidence, resamples, seed, correction),
        baseline=baseline,
        metrics=None if metrics is None else _canonical(metrics, given[0].profile),
        slices=tuple(slices),
        dataset=found,
        anyway=anyway,
    )


def _canonical(metrics: Iterable[str | MetricSpec], profile: Profile) -> list[str]:
    listed = [metrics] if isinstance(metrics, str) else metrics
    return [str(parse(each, profile)) for each in listed]


def compare_scored(
    scored: Sequence[Scored],
    settings: Settings,
    *,
    baseline: str | None = None,
    metrics: Sequence[str] | None = None,
    slices: Sequence[str] = (),
    dataset: GoldDataset | None = None,
    anyway: bool = False,
) -> Comparison:
    """`compare` for scores that may come from an earlier report."""
    names = [each.name for each in scored]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(
            f"evaluations: two are called {twice!r}; pass a mapping that names each: "
            "compare({'a': first, 'b': second})"
        )
    if baseline is not None and baseline not in names:
        raise UsageError(f"baseline: {baseline!r} is not compared; {nearest(baseline, names)}")
    cautions = list(check_comparable(scored, anyway=anyway))
    chosen = _metrics(scored, metrics, cautions)
    aligned = Aligned.of(scored, chosen, cautions)
    first = names[0] if baseline is None else baseline
    # Over the queries that all have, so that differences are those of the means.
    shared, whole = aligned.means(), len(aligned.query_ids)
    means = {s.name: s.means if len(s.query_ids) == whole else shared[s.name] for s in scored}
    view = aligned.view(first, settings, means)
    n_tests = sum(each.p is not None for each in view.differences)
    if settings.correction == "holm" and n_tests > settings.alpha * (settings.resamples + 1):
        cautions.append(
            f"{n_tests} tests are corrected together: with {settings.resamples} resamples no p "
            "can be small enough; raise 'resamples' or name fewer metrics"
        )
    flipping = flips_warning(flips_of(scored, chosen))
    if flipping is not None:
        cautions.append(flipping)
    parts = _slices(aligned, slices, dataset, scored[0], first, settings) if slices else ()
    return Comparison(
        match=scored[0].match,
        retrievers=tuple(names),
        baseline=first,
        metrics=tuple(chosen),
        better={name: scored[0].better[name] for name in chosen},
        run_level=tuple(name for name in chosen if name not in aligned.tested),
        query_ids=aligned.query_ids,
        statistics=settings,
        overall=view,
        slices=parts,
        cautions=tuple(cautions),
    )


def flips_of(scored: Sequence[Scored], metrics: Sequence[str]) -> tuple[Flips, ...]:
    """Where the order is another at a threshold near the chosen one, metric by metric."""
    if any(each.settings["match"] != scored[0].settings["match"] for each in scored):
        return ()
    better = scored[0].better
    higher = {name: better[name] == "higher" for name in metrics if better[name] != "neither"}
    names, nearby = [each.name for each in scored], [each.nearby for each in scored]
    return tuple(flips_between(names, nearby, higher).values())


def _metrics(
    scored: Sequence[Scored], asked: Sequence[str] | None, cautions: list[str]
) -> list[str]:
    """The metrics to compare: those asked for, else those that all have."""
    if asked is not None:
        for name in asked:
            for each in scored:
                if name not in each.means:
                    hint = nearest(name, each.means)
                    raise UsageError(f"metric {name!r} was not computed for {each.name!r}; {hint}")
        return list(dict.fromkeys(asked))
    shared = [name for name in scored[0].means if all(name in each.means for each in scored)]
    if not shared:
        raise UsageError(
            "the evaluations have no metric in common; compute the same metrics for each, for "
            "example with .with_metrics([...])"
        )
    left_out = dict.fromkeys(name for each in scored for name in each.means if name not in shared)
    if left_out:
        cautions.append(f"not compared, as not all have it: {', '.join(left_out)}")
    return shared


def _slices(
    aligned: Aligned,
    fields: Sequence[str],
    dataset: GoldDataset | None,
    scored: Scored,
    baseline: str,
    settings: Settings,
) -> tuple[Slice, ...]:
    if dataset is None:
        raise UsageError(
            "slices: the evaluations did not keep the gold set that the fields are read from; "
            "pass it as dataset=..."
        )
    unknown = [query_id for query_id in aligned.query_ids if query_id not in dataset]
    if unknown:
        raise UsageError(
            f"dataset: query {unknown[0]!r} of the evaluations is not in {dataset.name!r}; pass "
            f"the gold set {scored.settings['dataset']['name']!r} that they were made with"
        )
    queries: list[Query] = [dataset[query_id] for query_id in aligned.query_ids]
    parts = []
    for field, value, rows in sliced(queries, fields):
        part = aligned.rows(rows)
        view = part.view(baseline, settings, part.means())
        parts.append(Slice(**vars(view), field=field, value=value, query_ids=part.query_ids))
    return tuple(parts)
