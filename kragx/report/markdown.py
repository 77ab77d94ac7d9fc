"""Markdown: the summary that a CI job shows, and what is said of folders."""

from collections.abc import Iterable, Sequence

from kragx.comparison import GateResult, failed, gates_table
from kragx.comparison.changes import changes_parts
from kragx.comparison.tuning import SHOWN
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.judging_remarks import missing_remarks, panel_remarks, votes_on
from kragx.evaluation.leaks import leak_parts
from kragx.ground.printing import Heading, Line, Part, as_markdown, joined, message, warning
from kragx.report.findings import Findings, gates_section


def compared_markdown(
    changes: Iterable[Part], gates: Sequence[GateResult] = (), records: Sequence[Line] = ()
) -> str:
    """What is said of folders, whose runs came about as `records` say."""
    parts = [Heading(message("Changes"), level=1), *records, *changes, *gates_section(gates)]
    return as_markdown(parts)


def summary_markdown(findings: Findings) -> str:
    """The gates, the numbers and what changed, short enough for the page of a CI job.

    Of evaluations it says which judgements are missing. Which setting of a grid to take stands in
    the place of means and verdict, as on the screen.
    """
    comparisons, gates = findings.comparisons, findings.gates
    bad = failed(gates)
    # Under several matchers the same retriever has failed only once.
    lost = dict.fromkeys(name for comparison in comparisons for name in comparison.not_comparable)
    verdicts: list[str] = []
    if lost:
        nothing = any(
            failures.nothing for comparison in comparisons for failures in comparison.failures
        )
        sentence = message(
            "❌ not comparable, as failed or without any result: {names}"
            if nothing
            else "❌ not comparable, as failed: {names}",
            names=", ".join(lost),
        )
        verdicts.append(sentence)
    if gates:
        passed = message(
            "❌ {n} of {of} gates failed" if bad else "✅ every gate passed",
            n=len(bad),
            of=len(gates),
        )
        verdicts.append(passed)
    parts: list[Part] = [Heading(joined(": ", ["kragx", joined("; ", verdicts)]))]
    parts += [gates_table(bad or gates)] if gates else []
    # Folders are compared by their numbers, without evaluations.
    groups = findings.groups or [[]] * len(comparisons)
    # Which questions fail is the same under each matcher.
    parts += [
        line
        for comparison in comparisons[:1]
        for failure in comparison.failures
        for line in failure.describe()
    ]
    for comparison, group in zip(comparisons, groups):
        if len(comparisons) > 1:
            heading = message("Match: {match}", match=comparison.match)
            parts.append(Heading(heading, level=3))
        parts += leak_parts([evaluation.leak_report for evaluation in group])
        if of_grid := [tuning for tuning in findings.tunings if tuning.match == comparison.match]:
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
    return as_markdown([*parts, *changes_parts(findings.changes)])


def _of(evaluation: Evaluation, remark: str) -> str:
    return message("{names}: {remark}", names=evaluation.name, remark=remark)
