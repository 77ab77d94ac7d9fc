"""`compare`: from evaluations of several retrievers to a `Comparison`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from kragx.comparison.comparable import REMEDY, check_comparable
from kragx.comparison.model import (
    Comparison,
    Difference,
    Estimate,
    Leader,
    Settings,
    Slice,
    Verdict,
    View,
)
from kragx.comparison.scored import Scored
from kragx.comparison.slices import sliced
from kragx.dataset import GoldDataset, Query
from kragx.errors import UsageError, nearest
from kragx.evaluation import Evaluation
from kragx.measures import parse
from kragx.metrics import MetricSpec, Profile
from kragx.sources import as_dataset
from kragx.statistics import (
    CONFIDENCE,
    RESAMPLES,
    SEED,
    effect_sizes,
    holm,
    mean_intervals,
    sign_flip_p,
    tally,
)
from kragx.table import Floats


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
    aligned = _Aligned.of(scored, chosen, cautions)
    first = names[0] if baseline is None else baseline
    view = aligned.view(first, settings, means={each.name: each.means for each in scored})
    n_tests = sum(each.p is not None for each in view.differences)
    if settings.correction == "holm" and n_tests > settings.alpha * (settings.resamples + 1):
        cautions.append(
            f"{n_tests} tests are corrected together: with {settings.resamples} resamples no p "
            "can be small enough; raise 'resamples' or name fewer metrics"
        )
    parts = _slices(aligned, slices, dataset, scored[0], first, settings) if slices else ()
    return Comparison(
        match=scored[0].match,
        retrievers=tuple(names),
        baseline=first,
        metrics=tuple(chosen),
        better={name: scored[0].better[name] for name in chosen},
        run_level=tuple(name for name in chosen if name not in aligned.tested),
        query_ids=aligned.query_ids,
        settings=settings,
        overall=view,
        slices=parts,
        cautions=tuple(cautions),
    )


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
    aligned: _Aligned,
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
    return tuple(
        Slice(
            field,
            value,
            tuple(aligned.query_ids[row] for row in rows),
            aligned.rows(rows).view(baseline, settings),
        )
        for field, value, rows in sliced(queries, fields)
    )


@dataclass(frozen=True)
class _Aligned:
    """Values of several retrievers, row by row for the same queries.

    Attributes:
        query_ids: (q).
        metrics: (c) all of them.
        tested: those whose number is the mean of the queries' values.
        better: for each metric its direction.
        values: for each retriever (q, c).
    """

    query_ids: tuple[str, ...]
    metrics: tuple[str, ...]
    tested: frozenset[str]
    better: Mapping[str, str]
    values: Mapping[str, Floats]

    @classmethod
    def of(cls, scored: Sequence[Scored], metrics: Sequence[str], cautions: list[str]) -> _Aligned:
        rows = [{query_id: row for row, query_id in enumerate(s.query_ids)} for s in scored]
        shared = tuple(each for each in rows[0] if all(each in other for other in rows[1:]))
        if not shared:
            raise UsageError(f"the evaluations have no query in common; {REMEDY} cannot help")
        left_out = max(map(len, rows)) - len(shared)
        if left_out:
            cautions.append(f"queries that not all have, left out of the comparison: {left_out}")
        values = {
            each.name: np.stack([each.values[name] for name in metrics], axis=1)[
                [at[query_id] for query_id in shared]
            ]
            for each, at in zip(scored, rows)
        }
        tested = frozenset(name for name in metrics if all(s.is_mean(name) for s in scored))
        better = {name: scored[0].better[name] for name in metrics}
        return cls(shared, tuple(metrics), tested, better, values)

    def rows(self, rows: Sequence[int]) -> _Aligned:
        """The same for some of the queries."""
        return replace(
            self,
            query_ids=tuple(self.query_ids[row] for row in rows),
            values={name: values[list(rows)] for name, values in self.values.items()},
        )

    def view(
        self,
        baseline: str,
        settings: Settings,
        means: Mapping[str, Mapping[str, float | None]] | None = None,
    ) -> View:
        """Compare on these rows.

        Args:
            baseline: a retriever.
            settings: of the statistics.
            means: the numbers that the evaluations show; None where they do not hold, in a slice.
        """
        estimates = self._estimates(settings, means)
        best = self._best(estimates)
        others = [name for name in self.values if name != baseline]
        against_baseline = [(m, name, baseline) for m in self.metrics for name in others]
        against_best = [
            (m, top, name) for m, top in best.items() for name in self.values if name != top
        ]
        asked = dict.fromkeys(against_baseline + against_best)
        found = self._differences(list(asked), estimates, settings)
        return View(
            n=len(self.query_ids),
            means=estimates,
            leaders=self._leaders(
                best, self._decided([found[each] for each in against_best], settings), estimates
            ),
            differences=self._decided([found[each] for each in against_baseline], settings),
        )

    def _estimates(
        self, settings: Settings, means: Mapping[str, Mapping[str, float | None]] | None
    ) -> dict[str, dict[str, Estimate]]:
        stacked = np.hstack(list(self.values.values()))
        n = (~np.isnan(stacked)).sum(axis=0)
        ends = mean_intervals(stacked, settings.confidence, settings.resamples, settings.seed)
        found: dict[str, dict[str, Estimate]] = {}
        for number, (name, values) in enumerate(self.values.items()):
            of_run = found.setdefault(name, {})
            for column, metric in enumerate(self.metrics):
                at = number * len(self.metrics) + column
                own = metric in self.tested
                if means is not None:
                    value = means[name][metric]
                else:
                    value = _mean(values[:, column]) if own else None
                low, high = (_known(end[at]) for end in ends) if own else (None, None)
                of_run[metric] = Estimate(value, low, high, int(n[at]))
        return found

    def _best(self, estimates: Mapping[str, Mapping[str, Estimate]]) -> dict[str, str]:
        """For each metric the first retriever with the best value."""
        best: dict[str, str] = {}
        for metric in self.metrics:
            shown = {name: each[metric].value for name, each in estimates.items()}
            known = {name: value for name, value in shown.items() if value is not None}
            if len(known) > 1 and self.better[metric] != "neither":
                top = max if self.better[metric] == "higher" else min
                best[metric] = top(known, key=lambda name: known[name])
        return best

    def _differences(
        self,
        asked: Sequence[tuple[str, str, str]],
        estimates: Mapping[str, Mapping[str, Estimate]],
        settings: Settings,
    ) -> dict[tuple[str, str, str], Difference]:
        """Each (metric, retriever, against), before any correction."""
        tested = [each for each in asked if each[0] in self.tested]
        found = {each: _untested(*each, estimates) for each in asked if each not in set(tested)}
        if not tested:
            return found
        at = {metric: column for column, metric in enumerate(self.metrics)}
        columns = np.stack(
            [self.values[a][:, at[m]] - self.values[b][:, at[m]] for m, a, b in tested], axis=1
        )
        low, high = mean_intervals(columns, settings.confidence, settings.resamples, settings.seed)
        p = sign_flip_p(columns, settings.resamples, settings.seed)
        effects = effect_sizes(columns)
        above, equal, below = tally(columns)
        for j, (metric, retriever, against) in enumerate(tested):
            n = int(above[j] + equal[j] + below[j])
            wins, losses = int(above[j]), int(below[j])
            if self.better[metric] == "lower":
                wins, losses = losses, wins
            found[tested[j]] = Difference(
                metric=metric,
                retriever=retriever,
                against=against,
                value=_mean(columns[:, j]),
                low=_known(low[j]),
                high=_known(high[j]),
                n=n,
                p=float(p[j]) if n else None,
                p_adjusted=None,
                effect=_known(effects[j]),
                wins=wins,
                ties=int(equal[j]),
                losses=losses,
                verdict="undecided" if n else "untested",
            )
        return found

    def _decided(
        self, differences: Sequence[Difference], settings: Settings
    ) -> tuple[Difference, ...]:
        """A family of differences with p corrected and what each says."""
        p = np.array([np.nan if each.p is None else each.p for each in differences])
        adjusted = map(_known, holm(p) if settings.correction == "holm" else p)
        return tuple(
            replace(each, p_adjusted=own, verdict=self._verdict(each, own, settings))
            for each, own in zip(differences, adjusted)
        )

    def _verdict(self, found: Difference, p: float | None, settings: Settings) -> Verdict:
        if p is None:
            return "untested"
        if p > settings.alpha or found.low is None or found.high is None:
            return "undecided"
        if found.low <= 0 <= found.high:
            return "undecided"
        if self.better[found.metric] == "neither":
            return "different"
        return "better" if (found.low > 0) == (self.better[found.metric] == "higher") else "worse"

    def _leaders(
        self,
        best: Mapping[str, str],
        differences: Sequence[Difference],
        estimates: Mapping[str, Mapping[str, Estimate]],
    ) -> dict[str, Leader]:
        leaders = {}
        for metric, top in best.items():
            own = tuple(each for each in differences if each.metric == metric)
            tested = metric in self.tested
            if tested:
                tied = [each.against for each in own if not each.decided]
            else:
                values = {name: each[metric].value for name, each in estimates.items()}
                tied = [each.against for each in own if values[each.against] == values[top]]
            leaders[metric] = Leader(metric, top, tuple(tied), own, tested)
        return leaders


def _untested(
    metric: str,
    retriever: str,
    against: str,
    estimates: Mapping[str, Mapping[str, Estimate]],
) -> Difference:
    """Two numbers of runs, which are compared as they stand."""
    one, other = estimates[retriever][metric], estimates[against][metric]
    known = one.value is not None and other.value is not None
    return Difference(
        metric=metric,
        retriever=retriever,
        against=against,
        value=one.value - other.value if known else None,  # type: ignore[operator]
        low=None,
        high=None,
        n=min(one.n, other.n),
        p=None,
        p_adjusted=None,
        effect=None,
        wins=0,
        ties=0,
        losses=0,
        verdict="untested",
    )


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _known(value: float) -> float | None:
    return None if isnan(value) else float(value)
