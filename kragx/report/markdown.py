"""Markdown: the report of a run, and the summary that a CI job shows."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from kragx.comparison import Change, Comparison, GateResult, failed, gates_table
from kragx.comparison.changes import changes_parts
from kragx.comparison.side_by_side import remarks_on
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.wording import missing_remarks, panel_remarks, votes_on
from kragx.printing import Heading, Line, Part, as_markdown, warning


def report_markdown(
    dataset: Mapping[str, Any],
    evaluations: Sequence[Evaluation],
    comparisons: Sequence[Comparison],
    changes: Sequence[Change],
    gates: Sequence[GateResult],
    record: Sequence[Line] = (),
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
    """
    version = "" if dataset["version"] is None else f" version {dataset['version']}"
    counts = evaluations[0].counts
    parts: list[Part] = [
        Heading(str(dataset["name"]), level=1),
        Line(
            f"Gold set {dataset['name']}{version}, sha256 {str(dataset['hash'])[:12]}; "
            f"{counts['n_scored']} of {counts['n_queries']} queries scored."
        ),
        *record,
    ]
    groups = _by_matcher(evaluations)
    several = len(groups) > 1
    for comparison, group in zip(comparisons, groups):
        if several:
            parts.append(Heading(f"Match: {comparison.match}"))
        parts += _comparison(comparison, group, level=3 if several else 2)
    if changes:
        parts += [Heading("Compared with the earlier results"), *changes_parts(changes)]
    return as_markdown([*parts, *_gates(gates)])


def changes_markdown(
    changes: Sequence[Change], gates: Sequence[GateResult] = (), records: Sequence[Line] = ()
) -> str:
    """What became of retrievers, between runs that came about as `records` say."""
    parts = [Heading("Changes", level=1), *records, *changes_parts(changes), *_gates(gates)]
    return as_markdown(parts)


def summary_markdown(
    comparisons: Sequence[Comparison],
    changes: Sequence[Change],
    gates: Sequence[GateResult],
    evaluations: Sequence[Evaluation] = (),
) -> str:
    """The gates, the numbers and what changed, short enough for the page of a CI job.

    Of the `evaluations` that the comparisons are of it says which judgements are missing.
    """
    bad = failed(gates)
    lost = dict.fromkeys(name for own in comparisons for name in own.not_comparable)
    verdicts = [f"❌ not comparable, as failed: {', '.join(lost)}"] if lost else []
    if gates:
        passed = f"❌ {len(bad)} of {len(gates)} gates failed" if bad else "✅ every gate passed"
        verdicts.append(passed)
    parts: list[Part] = [Heading(": ".join(filter(None, ("kragx", "; ".join(verdicts)))))]
    parts += [gates_table(bad or gates)] if gates else []
    groups = _by_matcher(evaluations) or [[]] * len(comparisons)
    # Which questions fail is the same under each matcher.
    parts += [line for own in comparisons[:1] for of in own.failures for line in of.describe()]
    for comparison, group in zip(comparisons, groups):
        if len(comparisons) > 1:
            parts.append(Heading(f"Match: {comparison.match}", level=3))
        parts += [comparison.means_table(group), *comparison.recommendations[0].describe()]
        for evaluation in group:
            for name in ("judging", "judging_relevance"):
                judging = evaluation.counts.get(name, {"n_missing": 0})
                missing = missing_remarks(judging)
                parts += [warning(f"{evaluation.name}: {remark}") for remark in missing]
                parts += [
                    Line(f"{evaluation.name}: {text}")
                    for text in panel_remarks(judging, votes_on(evaluation.vote_bounds, name))
                ]
    return as_markdown([*parts, *changes_parts(changes)])


def _by_matcher(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    groups = groupby(evaluations, lambda evaluation: evaluation.match_name)
    return [list(group) for _, group in groups]


def _comparison(
    comparison: Comparison, evaluations: Sequence[Evaluation], level: int
) -> Iterator[Part]:
    statistics = comparison.statistics
    yield Line(
        f"Match {evaluations[0].match_label}; profile {evaluations[0].profile_label}; "
        f"{statistics.confidence:.0%} intervals: Wilson's, of differences and times from "
        f"{statistics.resamples:,} resamples of the queries, seed {statistics.seed}; "
        f"max_failed {statistics.max_failed:g}."
    )
    for own in (*comparison.gold, *comparison.failures):
        yield from own.describe()
    yield Heading("Recommendations", level=level)
    for recommendation in comparison.recommendations:
        yield from recommendation.describe()
    yield Heading("Metrics by retriever", level=level)
    yield comparison.means_table(evaluations)
    yield from remarks_on(evaluations, failures=False)
    yield from map(warning, comparison.cautions)
    yield from comparison.against_baseline(level)
    for field in comparison.fields if comparison.retrievers else ():
        yield Heading(f"By {field}", level=level)
        yield comparison.slices_table(field)
        for part in comparison.by(field):
            yield Heading(f"{part.label}: {part.n} queries", level=level + 1)
            yield part.means_table(
                metric for metric in comparison.metrics if comparison.is_in(metric, part)
            )


def _gates(gates: Sequence[GateResult]) -> list[Part]:
    return [Heading("Gates"), gates_table(gates)] if gates else []
