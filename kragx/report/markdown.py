"""Markdown: the report of a run, and the summary that a CI job shows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from kragx.comparison import Change, Comparison, GateResult, failed, gates_table
from kragx.comparison.changes import changes_parts
from kragx.comparison.side_by_side import remarks_on
from kragx.comparison.tuning import SHOWN, MatcherSettings, Tuning
from kragx.evaluation.evaluation import Evaluation, profile_label
from kragx.evaluation.judging_remarks import missing_remarks, panel_remarks, votes_on
from kragx.evaluation.leaks import leak_parts, leaks_table
from kragx.evaluation.stage_losses import StageLosses, losses_parts
from kragx.evaluation.wording import asks_label
from kragx.ground.printing import Heading, Line, Part, as_markdown, joined, phrase, warning


def report_markdown(
    dataset: Mapping[str, Any],
    evaluations: Sequence[Evaluation],
    comparisons: Sequence[Comparison],
    changes: Sequence[Change],
    gates: Sequence[GateResult],
    record: Sequence[Line] = (),
    losses: Sequence[StageLosses] = (),
    tunings: Sequence[Tuning | MatcherSettings] = (),
) -> str:
    """The whole report of a run, with a section for each matcher.

    Recommendations, metrics by retriever, against the baseline, by each slice, what changed since
    the earlier results, and gates.

    Args:
        dataset: settings of the gold set.
        evaluations: by matcher.
        comparisons: one for each matcher.
        changes: from the earlier results.
        gates: held against the numbers.
        record: how the run came about.
        losses: which stages of the retrievers lose the gold.
        tunings: which setting of a grid to take, and what depends on a matcher's.
    """
    counts = evaluations[0].counts
    parts: list[Part] = [
        Heading(str(dataset["name"]), level=1),
        Line(
            phrase(
                "Gold set {name}, sha256 {hash}; {n} of {of} queries scored."
                if dataset["version"] is None
                else "Gold set {name} version {version}, sha256 {hash}; {n} of {of} queries "
                "scored.",
                name=dataset["name"],
                version=dataset["version"],
                hash=str(dataset["hash"])[:12],
                n=counts["n_scored"],
                of=counts["n_queries"],
            )
        ),
        *record,
    ]
    groups = _by_matcher(evaluations)
    several = len(groups) > 1
    for group in groups:
        if leaks := [*leaks_table(group)]:
            match = group[0].match_name
            head = phrase("Leaks, match {match}", match=match) if several else phrase("Leaks")
            parts += [Heading(head), *leaks]
    for tuning in tunings:
        parts += tuning.full()
    for comparison, group in zip(comparisons, groups):
        if several:
            parts.append(Heading(phrase("Match: {match}", match=comparison.match)))
        level = 3 if several else 2
        parts += _comparison(comparison, group, level)
        parts += losses_parts([loss for loss in losses if loss.match == comparison.match], level)
    if changes:
        parts += [Heading(phrase("Compared with the earlier results")), *changes_parts(changes)]
    return as_markdown([*parts, *_gates(gates)])


def compared_markdown(
    changes: Iterable[Part], gates: Sequence[GateResult] = (), records: Sequence[Line] = ()
) -> str:
    """What is said of folders, whose runs came about as `records` say."""
    parts = [Heading(phrase("Changes"), level=1), *records, *changes, *_gates(gates)]
    return as_markdown(parts)


def summary_markdown(
    comparisons: Sequence[Comparison],
    changes: Sequence[Change],
    gates: Sequence[GateResult],
    evaluations: Sequence[Evaluation] = (),
    tunings: Sequence[Tuning] = (),
) -> str:
    """The gates, the numbers and what changed, short enough for the page of a CI job.

    Of the `evaluations` that the comparisons are of it says which judgements are missing. Which
    setting of a grid to take stands in the place of means and verdict, as on the screen.
    """
    bad = failed(gates)
    lost = dict.fromkeys(name for comparison in comparisons for name in comparison.not_comparable)
    verdicts: list[str] = []
    if lost:
        nothing = any(
            failures.nothing for comparison in comparisons for failures in comparison.failures
        )
        sentence = phrase(
            "❌ not comparable, as failed or without any result: {names}"
            if nothing
            else "❌ not comparable, as failed: {names}",
            names=", ".join(lost),
        )
        verdicts.append(sentence)
    if gates:
        passed = phrase(
            "❌ {n} of {of} gates failed" if bad else "✅ every gate passed",
            n=len(bad),
            of=len(gates),
        )
        verdicts.append(passed)
    parts: list[Part] = [Heading(joined(": ", ["kragx", joined("; ", verdicts)]))]
    parts += [gates_table(bad or gates)] if gates else []
    groups = _by_matcher(evaluations) or [[]] * len(comparisons)
    # Which questions fail is the same under each matcher.
    parts += [
        line
        for comparison in comparisons[:1]
        for failure in comparison.failures
        for line in failure.describe()
    ]
    for comparison, group in zip(comparisons, groups):
        if len(comparisons) > 1:
            heading = phrase("Match: {match}", match=comparison.match)
            parts.append(Heading(heading, level=3))
        parts += leak_parts(group)
        if of_grid := [tuning for tuning in tunings if tuning.match == comparison.match]:
            parts += [*of_grid[0].describe(SHOWN), *comparison.recommendations[0].caution_lines()]
        else:
            parts += [comparison.means_table(group), *comparison.recommendations[0].describe()]
        for evaluation in group:
            for name in ("judging", "judging_relevance"):
                judging = evaluation.counts.get(name, {"n_missing": 0})
                missing = missing_remarks(judging)
                votes = panel_remarks(judging, votes_on(evaluation.vote_bounds, name))
                parts += [warning(_of(evaluation, remark)) for remark in missing]
                parts += [Line(_of(evaluation, remark)) for remark in votes]
    return as_markdown([*parts, *changes_parts(changes)])


def _of(evaluation: Evaluation, remark: str) -> str:
    return phrase("{names}: {remark}", names=evaluation.name, remark=remark)


def _by_matcher(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    groups = groupby(evaluations, lambda evaluation: evaluation.match_name)
    return [list(group) for _, group in groups]


def _comparison(
    comparison: Comparison, evaluations: Sequence[Evaluation], level: int
) -> Iterator[Part]:
    statistics = comparison.statistics
    yield Line(
        phrase(
            "Match {match}; profile {profile}; {share:.0%} intervals: Wilson's, of differences and "
            "times from {n:,} resamples of the queries, seed {seed}; max_failed {max_failed:g}."
            if comparison.weights is None
            else "Match {match}; profile {profile}; {share:.0%} intervals: Wilson's, of "
            "differences and mean times by asks Student's of the ratio of sums, else from {n:,} "
            "resamples of the queries, seed {seed}; max_failed {max_failed:g}.",
            match=evaluations[0].match_label,
            profile=profile_label(evaluations[0]),
            share=statistics.confidence,
            n=statistics.resamples,
            seed=statistics.seed,
            max_failed=statistics.max_failed,
        )
    )
    if (asks := asks_label(evaluations[0].counts)) is not None:
        yield Line(asks)
    for remark in (*comparison.gold, *comparison.failures):
        yield from remark.describe()
    yield Heading(phrase("Recommendations"), level=level)
    for recommendation in comparison.recommendations:
        yield from recommendation.describe()
    yield Heading(phrase("Metrics by retriever"), level=level)
    yield comparison.means_table(evaluations)
    yield from remarks_on(evaluations, failures=False)
    yield from map(warning, comparison.further_cautions)
    yield from comparison.against_baseline(level)
    for field in comparison.fields_told:
        yield Heading(phrase("By {field}", field=field), level=level)
        yield comparison.slices_table(field)
        for part in comparison.large(field):
            n = part.scored(comparison.primary)
            heading = phrase(
                "{value}: {n} queries" if n == part.n else "{value}: {n} of {of} queries scored",
                value=part.label,
                n=n,
                of=part.n,
            )
            yield Heading(heading, level=level + 1)
            yield part.means_table(
                metric for metric in comparison.metrics if comparison.is_in(metric, part)
            )


def _gates(gates: Sequence[GateResult]) -> list[Part]:
    return [Heading(phrase("Gates")), gates_table(gates)] if gates else []
