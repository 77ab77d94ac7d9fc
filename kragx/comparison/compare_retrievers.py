"""`compare`: from evaluations, or several results, of retrievers to a `Comparison`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from typing import Literal

import numpy as np
from typing_extensions import TypedDict, Unpack

from kragx.comparison.advice import Failures, failed_names, failures_of
from kragx.comparison.aligned import Aligned
from kragx.comparison.comparison import Comparison, Slice
from kragx.comparison.estimates import Families, Settings
from kragx.comparison.pair_tests import PairTests
from kragx.comparison.recommendations import recommend, warnings_of
from kragx.comparison.scores import Results, RetrieverScores
from kragx.comparison.side_by_side import GoldVersions, check_comparable, gold_versions, left_out
from kragx.comparison.slices import sliced
from kragx.comparison.statistics import CONFIDENCE, RESAMPLES, SEED, Rows
from kragx.comparison.statistics.evidence import ids_at
from kragx.comparison.threshold_study import orders_near
from kragx.data import GoldDataset, read_dataset
from kragx.evaluation.evaluation import Evaluation, EvaluationsLike, as_evaluations
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import joined
from kragx.metrics import MetricLike, name_among, parse_all


def compare(
    evaluations: EvaluationsLike,
    *more: Evaluation,
    baseline: str | None = None,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    slices: Iterable[str] = (),
    dataset: object = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    correction: Literal["family", "none"] = "family",
    max_failed: float = 0.0,
    anyway: bool = False,
) -> Comparison:
    """Compare retrievers: means with intervals, paired tests, slices.

    Queries are joined by id. Each difference is over the queries where both have a value, and says
    how many. Of evaluations with different gold sets those questions are compared that are the same
    in all of them (`Comparison.gold`).

    Args:
        evaluations: of several retrievers on one gold set under one matcher, as `evaluate` gives
            them; a mapping gives them names of its own.
        more: further ones: ``compare(old, new)``.
        baseline: the name of the one that the others are set against; None for the first.
        metrics: which to compare; None for all that the evaluations share.
        slices: fields of a query to compare within, for example ``metadata.difficulty``; or one.
        dataset: the gold set that the fields are read from, if the evaluations did not keep it (as
            those of a results file do not).
        confidence: of intervals; differences are decided at a level of 1 - confidence.
        resamples: how many bootstrap resamples and random sign flips.
        seed: of both; the same seed gives the same bits.
        correction: of p: ``family``, the first metric's over every two retrievers, and apart from
            it that of all else that is looked at, and of times; or ``none``.
        max_failed: the share of questions on which a retriever may fail; whoever failed on more is
            not comparable, stands in `Comparison.failures` and in nothing else.
        anyway: compare what cannot be compared, and say so in `cautions`; also questions that are
            not the same in all gold sets.

    Raises:
        UsageError: the evaluations cannot be compared, or an argument is wrong.

    Examples:
        >>> from kragx import compare, evaluate
        >>> gold = [["the answer"]] * 20
        >>> one = evaluate(gold, [["the answer"]] * 20, name="one", metrics=["mrr@5"])
        >>> second = [["another text", "the answer"]] * 20
        >>> other = evaluate(gold, second, name="other", metrics=["mrr@5"])
        >>> [difference] = compare(one, other, resamples=500).overall.differences
        >>> difference.value, difference.verdict
        (-0.5, 'worse')
    """
    evaluations = [*as_evaluations(evaluations), *as_evaluations(more)]
    if not evaluations:
        raise UsageError("evaluations: none is given; pass at least one")
    datasets = (evaluation.dataset for evaluation in evaluations if evaluation.dataset is not None)
    return compare_scores(
        list(map(RetrieverScores.of, evaluations)),
        Settings(confidence, resamples, seed, correction, max_failed),
        baseline=baseline,
        metrics=(
            None
            if metrics is None
            else [
                name_among(spec, evaluations[0].mean, evaluations[0].profile)
                for spec in parse_all(metrics, evaluations[0].profile)
            ]
        ),
        slices=(slices,) if isinstance(slices, str) else tuple(slices),
        dataset=next(datasets, None) if dataset is None else read_dataset(dataset),
        anyway=anyway,
    )


class Options(TypedDict, total=False):
    """What is compared, as of `compare`."""

    baseline: str | None
    metrics: Sequence[str] | None
    slices: Sequence[str]
    dataset: GoldDataset | None
    anyway: bool


def compare_scores(
    scores: Sequence[RetrieverScores], settings: Settings, **options: Unpack[Options]
) -> Comparison:
    """`compare` for scores that may come from an earlier report."""
    return correct_together([ComparisonDraft.of(scores, settings, **options)])[0]


@dataclass(frozen=True)
class ComparisonDraft:
    """A comparison before its tests are held against those of the whole report."""

    scores: Sequence[RetrieverScores]
    every_metric: bool
    cautions: tuple[str, ...]
    parts: Sequence[tuple[str, str | None]]
    failures: tuple[Failures, ...]
    tests: PairTests
    gold: tuple[GoldVersions, ...] = ()

    @classmethod
    def of(
        cls, scores: Sequence[RetrieverScores], settings: Settings, **options: Unpack[Options]
    ) -> ComparisonDraft:
        """As for `compare_scores`."""
        baseline, metrics = options.get("baseline"), options.get("metrics")
        names, anyway = [score.name for score in scores], options.get("anyway", False)
        for repeated in (name for name in names if names.count(name) > 1):
            raise UsageError(
                "evaluations: two are called {repeated!r}; pass a mapping that names each: "
                "compare({{'a': first, 'b': second}})",
                repeated=repeated,
            )
        if baseline is not None and baseline not in names:
            raise UsageError(
                "baseline: {baseline!r} is not compared; {hint}",
                baseline=baseline,
                hint=nearest(baseline, names),
            )
        gold = _versions(scores, anyway=anyway)
        # Whoever stands alone is held against nobody.
        cautions = check_comparable(scores, anyway=anyway, versions=gold) if names[1:] else ()
        failures = failures_of(scores, settings.max_failed)
        failed = failed_names(failures)
        # Where nobody can be compared, metrics and questions are still those of all.
        scores = [score for score in scores if score.name not in failed] or scores
        # As the retriever's own name, which a page marks: an argument is a mere text.
        baseline = scores[0].name if baseline is None else names[names.index(baseline)]
        out = left_out(gold.values()) if gold else ()
        aligned = Aligned.of(scores, _metrics(scores, metrics), baseline, settings, out)
        if set(names) <= {*failed}:
            aligned = replace(aligned, retrievers=(), columns={})
        n = len(aligned.query_ids)
        # Over the queries that all have, so that differences are those of the means.
        whole = {score.name: score.means for score in scores if len(score.query_ids) == n}
        fields, dataset = options.get("slices", ()), options.get("dataset")
        parts = list(_slices(aligned, fields, dataset, scores))
        rows = tuple(np.array(positions) for _, _, positions in parts)
        return cls(
            scores,
            metrics is None,
            cautions,
            [(field, value) for field, value, _ in parts],
            failures,
            PairTests(aligned, {**aligned.means(), **whole}, rows),
            tuple({str(version.later["hash"]): version for version in gold.values()}.values()),
        )

    def comparison(self, families: Families) -> Comparison:
        """With each test as one of a family."""
        aligned, scores, tests = self.tests.aligned, self.scores, self.tests
        n, p_worse = len(aligned.query_ids), tests.p_worse(families) if self.parts else []
        orders = orders_near(scores, aligned.metrics) if len(scores) > 1 else {}
        slices = (
            Slice(
                **vars(tests.view(families, place)),
                field=field,
                value=value,
                query_ids=ids_at(aligned.query_ids, tests.slices[place - 1]),
                p_worse=p_worse[place - 1],
            )
            for place, (field, value) in enumerate(self.parts, 1)
        )
        comparison = Comparison(
            match=scores[0].match,
            retrievers=aligned.retrievers,
            baseline=aligned.baseline,
            metrics=aligned.metrics,
            better=aligned.better,
            run_level=tuple(metric for metric in aligned.metrics if metric not in aligned.tested),
            query_ids=aligned.query_ids,
            statistics=aligned.settings,
            n_tests=families.first.n_tests,
            n_tests_of_others=families.others.n_tests,
            n_tests_of_times=families.times.n_tests,
            least=families.first.least(aligned.settings.alpha) if len(scores) > 1 else inf,
            overall=tests.view(families),
            slices=tuple(slices),
            orders=tuple(order for order in orders.values() if order.swapped),
            failures=self.failures,
            gold=self.gold,
            runs={
                score.name: score.runs
                for score in scores
                if score.runs is not None and len(score.query_ids) == n
            },
            weights=aligned.weights,
            n_asks=None if aligned.weights is None else float(aligned.weights.sum()),
        )
        if len(scores) > 1:
            cautions = tuple(warnings_of(comparison, scores, every_metric=self.every_metric))
            comparison = replace(comparison, cautions=self.cautions + cautions)
        return replace(comparison, recommendations=recommend(comparison, scores))


def correct_together(drafts: Sequence[ComparisonDraft]) -> tuple[Comparison, ...]:
    """The comparisons of a report; each matcher's verdict is a question of its own.

    All else is looked at together, under whichever matcher.
    """
    families = [(draft.scores[0].match, draft.tests.families) for draft in drafts]
    joint = Families.joined(of_draft for _, of_draft in families)
    firsts = {
        match: Families.joined(of_draft for name, of_draft in families if name == match).first
        for match, _ in families
    }
    return tuple(
        draft.comparison(joint._replace(first=firsts[draft.scores[0].match])) for draft in drafts
    )


def by_match(scores: Iterable[RetrieverScores]) -> Iterable[list[RetrieverScores]]:
    """The scores under each matcher, in the order in which these come up."""
    of_match = defaultdict[str, list[RetrieverScores]](list)
    for score in scores:
        of_match[score.match].append(score)
    return of_match.values()


def compare_by_matcher(
    scores: Iterable[RetrieverScores], settings: Settings, **options: Unpack[Options]
) -> tuple[Comparison, ...]:
    """The retrievers compared, once for each matcher, in the order in which these come up.

    Each matcher's verdict is a question of its own; all else is one family.
    """
    return correct_together(
        [ComparisonDraft.of(group, settings, **options) for group in by_match(scores)]
    )


def _versions(scores: Sequence[RetrieverScores], *, anyway: bool) -> dict[str, GoldVersions]:
    """By the retriever's name what is not the same in its gold set and the first one's."""
    first, of_hash = scores[0], dict[str, GoldVersions | None]()
    versions = {}
    for score in scores[1:]:
        earlier, later = first.settings["dataset"], score.settings["dataset"]
        # Retrievers of one run share their gold set, and two of many questions are slow to compare.
        if (key := str(later["hash"])) not in of_hash:
            datasets, match = (first.dataset, score.dataset), first.settings["match"]
            of_hash[key] = gold_versions(earlier, later, datasets, match, anyway=anyway)
        if (version := of_hash[key]) is not None:
            versions[score.name] = version
    return versions


def _metrics(scores: Sequence[RetrieverScores], named: Sequence[str] | None) -> list[str]:
    """The metrics to compare: those that were named, else those that all have."""
    for metric, score in product(named or (), scores):
        if metric not in score.means:
            raise UsageError(
                "metric {metric!r} was not computed for {name!r}; {hint}",
                metric=metric,
                name=score.name,
                hint=nearest(metric, score.means),
            )
    metrics = _shared_metrics(scores) if named is None else list(dict.fromkeys(named))
    if named is None and not metrics:
        computed = (joined(": ", [score.name, ", ".join(score.means)]) for score in scores)
        raise UsageError(
            "the evaluations have no metric in common ({computed}); compute the same for each: "
            "'metrics' of the config, or .with_metrics([...])",
            computed=joined("; ", computed),
        )
    return metrics


def _shared_metrics(scores: Sequence[RetrieverScores]) -> list[str]:
    return [metric for metric in scores[0].means if all(metric in score.means for score in scores)]


def _slices(
    aligned: Aligned,
    fields: Sequence[str],
    dataset: GoldDataset | None,
    scores: Sequence[RetrieverScores],
) -> Iterator[tuple[str, str | None, Sequence[int] | Rows]]:
    """The slices with the rows of their queries."""
    groups = next((score.groups for score in scores if score.groups is not None), None)
    if fields and dataset is None and groups is not None:
        yield from groups.sliced(aligned.query_ids, fields)
    elif fields and dataset is None:
        raise UsageError(
            "slices: the evaluations did not keep the gold set that the fields are read from; "
            "pass it as dataset=..."
        )
    elif fields and dataset is not None:
        for unknown in (query_id for query_id in aligned.query_ids if query_id not in dataset):
            raise UsageError(
                "dataset: query {unknown!r} of the evaluations is not in {name!r}; pass "
                "the gold set {value!r} that they were made with",
                unknown=unknown,
                name=dataset.name,
                value=scores[0].settings["dataset"]["name"],
            )
        yield from sliced([dataset[query_id] for query_id in aligned.query_ids], fields)


def best_first(
    results: Sequence[Results],
    settings: Settings,
    *,
    retrievers: Sequence[str] = (),
    **options: Unpack[Options],
) -> tuple[Comparison, ...]:
    """Compare the retrievers of several results, matcher by matcher, the best one first.

    By the first metric that all have, as the last result has them. The baseline is the best one, so
    that each other one is set against it; who that is was picked by its values, and so every two
    retrievers are in the family that p is corrected over. A name that several results have is
    followed by that of the result.

    Args:
        results: two at least.
        settings: of the statistics.
        retrievers: the names of those to look at alone; none for all.
        options: as for `compare_scores`.

    Raises:
        UsageError: no result has a retriever of a name, no matcher is in several results, or they
            cannot be compared.
    """
    metrics = results[-1].scores[0].means
    scores = [score.with_first(metrics) for score in _named(results, retrievers)]
    if all(len({score.match for score in result.scores}) == 1 for result in results):
        # Of one matcher each they correspond, whatever it is called.
        scores = [replace(score, match=scores[0].match) for score in scores]
    datasets = (result.dataset for result in results if result.dataset is not None)
    options["dataset"] = next(datasets, None)
    drafts = [
        _from_the_best(ComparisonDraft.of(group, settings, **options))
        for group in by_match(scores)
        if len(group) > 1
    ]
    if not drafts:
        raise UsageError("no matcher is in several results; run them with the same 'matchers'")
    return correct_together(drafts)


def _named(results: Sequence[Results], retrievers: Sequence[str]) -> list[RetrieverScores]:
    """The scores to compare, each retriever with a name of its own."""
    times = Counter(name for result in results for name in result.retrievers)
    for name in retrievers:
        if name not in times:
            results[0].of(name)  # which says what there is
    return [
        score if times[score.name] == 1 else replace(score, name=f"{score.name} ({result.name})")
        for result in results
        for score in result.scores
        if not retrievers or score.name in retrievers
    ]


def _from_the_best(draft: ComparisonDraft) -> ComparisonDraft:
    """The same with the best by what is compared first, as the baseline; no value is last."""
    aligned, means, metric = draft.tests.aligned, draft.tests.whole, draft.tests.aligned.metrics[0]
    if not aligned.retrievers or aligned.better[metric] == "neither":
        return draft
    sign = -1.0 if aligned.better[metric] == "higher" else 1.0

    def place(name: str) -> float:
        mean = means[name][metric]
        return inf if mean is None else sign * mean

    # Sorting is stable, so equal ones stay in the order in which they were named.
    names = tuple(sorted(aligned.retrievers, key=place))
    aligned = replace(aligned, retrievers=names, baseline=names[0])
    return replace(draft, tests=replace(draft.tests, aligned=aligned))
