"""What a run found out, as a person reads it in a terminal: one screen of it, or all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from kragx.comparison import Change, Comparison, GateResult, failed, gates_parts
from kragx.comparison.recommendations import FEW
from kragx.comparison.side_by_side import remarks_on
from kragx.comparison.view import STANDING
from kragx.data import GoldDataset
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import parse
from kragx.printing import Line, Part, Table, number, visible, warning

METRICS = 8
"""How many metrics the screen shows, the first ones; of many retrievers fewer."""

SIDE_BY_SIDE = 4
"""So many retrievers stand side by side with their intervals; more stand below one another."""

LINES = 4
"""How many lines of each kind the screen shows: gates, remarks, advice, slices."""


class Findings(Protocol):
    """What a run found out, as far as it is shown here."""

    @property
    def dataset(self) -> GoldDataset:
        """The gold set."""

    @property
    def evaluations(self) -> Sequence[Evaluation]:
        """By matcher, then retriever."""

    @property
    def comparisons(self) -> Sequence[Comparison]:
        """One for each matcher."""

    @property
    def changes(self) -> Sequence[Change]:
        """What became of each retriever since an earlier run."""

    @property
    def gates(self) -> Sequence[GateResult]:
        """What the numbers were held against."""


def screen(report: Findings) -> Iterator[Part]:
    """What one needs to decide what to do next.

    What failed, who is best and whether that is decided, the means, the gates that failed, what to
    look at. Slices, times and each pair stand in `whole`, and in the report's files.
    """
    yield _dataset(report)
    groups = _by_matcher(report.evaluations)
    comparison, evaluations = report.comparisons[0], groups[0]
    verdict, *advice = comparison.recommendations
    yield Line(
        f"match: {evaluations[0].match_label}; profile: {evaluations[0].profile_label}", "dim"
    )
    failures = [result for result in report.evaluations if result.counts["n_failed"]]
    yield from (warning(line) for line in _first(_remarks(failures)))
    yield from (replace(line, style="bold") for line in verdict.describe())
    yield _means(comparison, evaluations)
    if len(groups) > 1:
        yield _first_metric(report.comparisons)
    yield from _gates(report.gates)
    yield from (Line(line) for line in _first([*map(_change, report.changes)]))
    rest = [visible(advised.text) for advised in advice if advised.supported]
    yield from (Line(line, item="-") for line in _first(rest))
    for field in comparison.fields[:LINES]:
        yield Line(_slices(comparison, field), item="-")
    others = [result for result in report.evaluations if not result.counts["n_failed"]]
    compared = [comparison, *(change.comparison for change in report.changes)]
    cautions = dict.fromkeys(caution for comparison in compared for caution in comparison.cautions)
    yield from (warning(line) for line in _first([*cautions, *_remarks(others)]))


def whole(report: Findings) -> Iterator[Part]:
    """All that a run found, matcher by matcher: also pairs, slices and every remark."""
    yield _dataset(report)
    groups = _by_matcher(report.evaluations)
    for comparison, evaluations in zip(report.comparisons, groups):
        yield from evaluations[0].heading()
        yield from comparison.describe(evaluations)
        yield from remarks_on(evaluations)
    for change in report.changes:
        yield from change.describe(matchers=len(groups) > 1)
    yield from gates_parts(report.gates)


def _dataset(report: Findings) -> Line:
    """Which gold set was used: name, version and the beginning of its hash."""
    settings, counts = report.dataset.settings, report.evaluations[0].counts
    version = "" if settings["version"] is None else f" version {settings['version']}"
    return Line(
        f"dataset: {settings['name']}{version}, {counts['n_scored']} of {counts['n_queries']} "
        f"queries scored, sha256 {settings['hash'][:12]}"
    )


def _by_matcher(evaluations: Iterable[Evaluation]) -> list[list[Evaluation]]:
    return [
        list(group) for _, group in groupby(evaluations, lambda evaluation: evaluation.match_name)
    ]


def _first(lines: Sequence[str]) -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - LINES
    return [*lines[:LINES], *([f"and {more} more: --full"] if more > 0 else [])]


def _remarks(evaluations: Sequence[Evaluation]) -> list[str]:
    """What was left out, each remark once, with the retrievers that it is about."""
    names: dict[str, dict[str, None]] = {}
    for evaluation in evaluations:
        for remark in evaluation.remarks:
            names.setdefault(remark, {})[evaluation.name] = None
    return [f"{', '.join(retrievers)}: {remark}" for remark, retrievers in names.items()]


def _means(comparison: Comparison, evaluations: Sequence[Evaluation]) -> Table:
    """The first metrics: of a few retrievers with intervals, of many a row for each retriever."""
    few = len(comparison.retrievers) <= SIDE_BY_SIDE
    names, profile = comparison.metrics, evaluations[0].profile
    untimed = [
        number
        for number, name in enumerate(names)
        if number == 0 or "second" not in parse(name, profile).metric.unit
    ]
    shown = untimed[: METRICS if few else METRICS // 2]
    more = len(names) - len(shown)
    note = f"; {more} more metrics: --full" if more else ""
    table = comparison.means_table(evaluations)
    narrow = table.narrow or table
    narrow = replace(narrow, rows=[narrow.rows[number] for number in shown])
    if few:
        rows = [table.rows[number] for number in shown]
        narrow = replace(narrow, note=narrow.note + note)
        return replace(table, rows=rows, narrow=narrow, note=table.note + note)
    columns = zip(narrow.columns, zip(*narrow.rows))  # the same cells, turned about
    heads = [names[number] for number in shown]
    turned = [[retriever, *cells] for retriever, cells in columns][1:]
    return Table(["retriever", *heads], turned, note=f"{STANDING}{note}")


def _first_metric(comparisons: Sequence[Comparison]) -> Table:
    """The first metric under each matcher."""
    tables = [comparison.means_table() for comparison in comparisons]
    rows = [
        [comparison.match, *(table.narrow or table).rows[0][1:]]
        for comparison, table in zip(comparisons, tables)
    ]
    return Table([f"{comparisons[0].primary} by match", *comparisons[0].retrievers], rows)


def _gates(results: Sequence[GateResult]) -> Iterator[Line]:
    """How many gates passed, and those that failed, a line each."""
    bad = failed(results)
    if bad:
        yield Line(f"gates: {len(bad)} of {len(results)} failed", "bold red")
        lines = [line.text for result in bad for line in result.describe()]
        yield from (Line(line, item="-") for line in _first(lines))
    elif results:
        yield Line(f"gates: all {len(results)} passed", "green")


def _change(change: Change) -> str:
    """What became of a retriever in the first metric, and of how many queries."""
    first = change.comparison.overall.differences[0]
    return (
        f"{change.retriever}: {' '.join(line.text for line in first.describe())}; queries: "
        f"{len(change.better)} better, {len(change.worse)} worse"
    )


def _slices(comparison: Comparison, field: str) -> str:
    """How the leading retriever does in each slice by a field, the worst first."""
    metric = comparison.primary
    leader = comparison.overall.leaders.get(metric)
    name = leader.best if leader else comparison.retrievers[0]
    sign = -1 if comparison.better[metric] == "lower" else 1
    slices = [
        (sign * value, f"{visible(part.label)} {number(value)} (n = {part.n})")
        for part in comparison.by(field)
        if part.n >= FEW and (value := part.means[name][metric].value) is not None
    ]
    small = len(comparison.by(field)) - len(slices)
    shown = [text for _, text in sorted(slices)[:LINES]]
    if len(slices) > LINES:
        shown.append(f"{len(slices) - LINES} more")
    if small:
        shown.append(f"{small} of fewer than {FEW} queries")
    return f"{metric} of {name} by {field}: {', '.join(shown)}"


def judging_plan(evaluations: Iterable[Evaluation]) -> Iterator[Line]:
    """A line for each judged evaluation of a dry run: calls, tokens and cost."""
    for evaluation in evaluations:
        judging = evaluation.counts.get("judging")
        if judging is None:
            continue
        plan = judging["plan"]
        cost = (
            f"about {plan['cost']:.4f} {judging['currency']}"
            if plan["cost"] is not None
            else f"no price of {judging['model']!r} is given"
        )
        yield Line(
            f"{evaluation.match_name}, {evaluation.name}: {plan['n_calls']} calls to make, "
            f"{judging['n_stored']} judgements stored; about {plan['prompt_tokens']} tokens "
            f"to send and {plan['completion_tokens']} to get; {cost}"
        )
    yield Line("a dry run: nothing was asked; what retrievers share is counted for each")
