"""Comparisons as tables for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from kragx.comparison import (
    Change,
    Comparison,
    Difference,
    Estimate,
    GateResult,
    QueryChange,
    Recommendation,
    Slice,
    View,
)
from kragx.comparison import failed as failing
from kragx.evaluation.evaluation import Evaluation
from kragx.report.rows import (
    MARKS,
    STANDING,
    interval,
    mean_cell,
    micro_cell,
    number,
    probability,
    signed,
    standing,
    visible,
)
from kragx.report.text import right

SHOWN = 5
"""How many of the queries that changed most are shown."""

_STYLES = {"better": "green", "worse": "red", "different": "yellow"}


def print_comparison(
    comparison: Comparison, out: Console, evaluations: Sequence[Evaluation] = ()
) -> None:
    """Print means, differences from the baseline, and slices.

    Args:
        comparison: what to print.
        out: where.
        evaluations: of the same retrievers, for what their means say besides (bounds, maxima).
    """
    _print_means(comparison, out, evaluations)
    if len(comparison.retrievers) > 1:
        print_differences(comparison, out)
    for field in comparison.fields:
        _print_slices(comparison, field, out)
    for line in comparison.cautions:
        out.print(Text(line, style="yellow"))


def _print_means(
    comparison: Comparison, out: Console, evaluations: Sequence[Evaluation] = ()
) -> None:
    names = comparison.retrievers
    table = _means(comparison, names, evaluations)
    if _fits(table, out):
        out.print(table)
        legend = f"below each mean its {comparison.settings.confidence:.0%} interval"
    else:
        _print_fitting(
            names, lambda some: _means(comparison, some, evaluations, intervals=False), out
        )
        legend = "intervals: in a wider window, or in the report's files"
    if len(names) > 1:
        legend += f"; {STANDING}"
    out.print(Text(legend, style="dim"))


Some = TypeVar("Some")


def _print_fitting(
    columns: Sequence[Some], build: Callable[[Sequence[Some]], Table], out: Console
) -> None:
    """Print a table of these columns, or several of as many columns as fit."""
    rest = list(columns)
    while rest:
        counts = range(len(rest), 1, -1)
        fitting = next((count for count in counts if _fits(build(rest[:count]), out)), 1)
        out.print(build(rest[:fitting]))
        rest = rest[fitting:]


def _fits(table: Table, out: Console) -> bool:
    return Measurement.get(out, out.options.update(width=10_000), table).maximum <= out.width


def _means(
    comparison: Comparison,
    names: Sequence[str],
    evaluations: Sequence[Evaluation],
    *,
    intervals: bool = True,
) -> Table:
    evaluated = {each.name: each for each in evaluations}
    only = evaluations[0] if len(evaluations) == 1 and evaluations[0].micro else None
    table = Table("metric", *map(right, names), *([right("micro")] if only else []))
    for metric in comparison.metrics:
        cells = []
        for name in names:
            found = comparison.overall.means[name][metric]
            shown = mean_cell(evaluated[name], metric) if name in evaluated else number(found.value)
            mark = standing(comparison.overall, metric, name)
            style = {"*": "bold green", "=": "bold"}.get(mark, "")
            cells.append(_two_lines(f"{shown} {mark}".rstrip(), style, found, intervals=intervals))
        if only:
            cells.append(Text(micro_cell(only, metric)))
        table.add_row(Text(metric), *cells)
    return table


def _two_lines(first: str, style: str, found: Estimate, *, intervals: bool = True) -> Text:
    cell = Text(first, style=style)
    ends = interval(found.low, found.high) if intervals else ""
    return cell.append(f"\n{ends}", style="not bold dim") if ends else cell


def print_differences(comparison: Comparison, out: Console) -> None:
    """Print each retriever against the baseline: in full for two, else a cell for each."""
    others = [name for name in comparison.retrievers if name != comparison.baseline]
    if len(others) == 1:
        out.print(Text(f"{others[0]} against {comparison.baseline}:"))
        _print_pair(comparison, out)
    else:
        out.print(Text(f"difference from {comparison.baseline}, and p:"))
        _print_fitting(others, lambda some: _differences(comparison, some), out)
    out.print(Text(differences_legend(comparison), style="dim"))


def _differences(comparison: Comparison, names: Sequence[str]) -> Table:
    table = Table("metric", *map(right, names))
    for metric in comparison.metrics:
        found = [comparison.overall.difference(metric, name) for name in names]
        table.add_row(Text(metric), *map(_cell, found))
    return table


def differences_legend(comparison: Comparison) -> str:
    """What stands in a table of differences."""
    corrected = ", corrected after Holm" if comparison.settings.correction == "holm" else ""
    return (
        f"▲ better, ▼ worse at {comparison.settings.confidence:.0%}: p of the paired randomisation "
        f"test{corrected}, and an interval without 0"
    )


def _cell(found: Difference | None) -> Text:
    if found is None or found.value is None:
        return Text("-")
    p = "" if found.p_adjusted is None else f" {probability(found.p_adjusted)}"
    mark = MARKS[found.verdict]
    return Text(f"{signed(found.value)}{p} {mark or ' '}", style=_STYLES.get(found.verdict, ""))


def _print_pair(comparison: Comparison, out: Console, *, means: bool = False) -> None:
    """Print one retriever against another in full; in a narrow window what decides comes first."""
    view = comparison.overall
    columns = [_mean_column(view, name) for name in (comparison.retrievers if means else ())]
    columns += [_DIFFERENCE, *_SURE, _VERDICT]
    if not _fits(_pair(comparison, columns), out):
        columns = [*columns[: columns.index(_DIFFERENCE)], _DIFFERENCE, _VERDICT, *_SURE]
    _print_fitting(columns, lambda some: _pair(comparison, some), out)


_Cell = tuple[str, Callable[[Difference], Text]]


def _mean_column(view: View, name: str) -> _Cell:
    return name, lambda found: Text(number(view.means[name][found.metric].value))


_DIFFERENCE: _Cell = ("difference", lambda found: Text(signed(found.value)))
_SURE: tuple[_Cell, ...] = (
    (
        "interval",
        lambda found: Text(interval(found.low, found.high, plus=True) or "-"),
    ),
    ("p", lambda found: Text(probability(found.p_adjusted))),
    ("d_z", lambda found: Text("-" if found.effect is None else f"{found.effect:+.2f}")),
    (
        "win/tie/loss",
        lambda found: Text("-" if found.p is None else f"{found.wins}/{found.ties}/{found.losses}"),
    ),
    ("n", lambda found: Text(str(found.n))),
)
_VERDICT: _Cell = (
    "",
    lambda found: Text(
        f"{MARKS[found.verdict]} {found.verdict}".strip(), style=_STYLES.get(found.verdict, "")
    ),
)


def _pair(comparison: Comparison, columns: Sequence[_Cell]) -> Table:
    table = Table("metric", *(right(head) if head else "" for head, _ in columns))
    for found in comparison.overall.differences:
        table.add_row(Text(found.metric), *(cell(found) for _, cell in columns))
    return table


def _print_slices(comparison: Comparison, field: str, out: Console) -> None:
    """Print who is best in each slice: metrics down, slices across."""
    out.print(Text(f"by {field}:"))
    _print_fitting(comparison.by(field), lambda some: _slices(comparison, some), out)


def _slice_differences(comparison: Comparison, parts: Sequence[Slice]) -> Table:
    """Of two retrievers: metrics down, slices across."""
    table = Table("metric", *map(right, map(_slice_head, parts)))
    name = next(each for each in comparison.retrievers if each != comparison.baseline)
    for metric in comparison.metrics:
        if any(comparison.is_in(metric, each.view) for each in parts):
            cells = (_cell(each.view.difference(metric, name)) for each in parts)
            table.add_row(Text(metric), *cells)
    return table


def _slice_head(part: Slice) -> str:
    return f"{visible(part.label)} (n = {part.view.n})"


def _slices(comparison: Comparison, parts: Sequence[Slice]) -> Table:
    table = Table("metric", *map(right, map(_slice_head, parts)))
    for metric in comparison.metrics:
        if any(comparison.is_in(metric, each.view) for each in parts):
            table.add_row(Text(metric), *(_best(comparison, metric, each.view) for each in parts))
    return table


def _best(comparison: Comparison, metric: str, view: View) -> Text:
    leader = view.leaders.get(metric)
    if leader is None:
        name = comparison.retrievers[0]
        first = number(view.means[name][metric].value) if len(comparison.retrievers) == 1 else "-"
        return Text(first) if first == "-" else _two_lines(first, "", view.means[name][metric])
    found = view.means[leader.best][metric]
    shown = f"{leader.best} {number(found.value)}"
    if leader.decided:
        return _two_lines(f"{shown} *", "bold green", found)
    return _two_lines(f"not decided, {shown}" if leader.tested else shown, "", found)


def print_recommendations(advice: Iterable[Recommendation], out: Console) -> None:
    """Print what follows from the numbers, and what does not."""
    for each in advice:
        mark = "-" if each.supported else "?"
        out.print(Text(f"{mark} {visible(each.text)}"), soft_wrap=out.width >= 200)


def print_change(change: Change, out: Console, *, matchers: bool = False) -> None:
    """Print what became of a retriever, metric by metric, and the queries that changed most."""
    comparison = change.comparison
    before, after = comparison.retrievers
    under = f", match {comparison.match}" if matchers else ""
    out.print(Text(f"{change.retriever}: {after} against {before}{under}", style="bold"))
    _print_pair(comparison, out, means=True)
    out.print(Text(differences_legend(comparison), style="dim"))
    for field in comparison.fields:
        out.print(Text(f"difference by {field}, and p:"))
        _print_fitting(comparison.by(field), lambda some: _slice_differences(comparison, some), out)
    for line in comparison.cautions:
        out.print(Text(line, style="yellow"))
    if not change.better and not change.worse:
        out.print(Text(f"no query got better or worse, of {len(comparison.query_ids)}"))
        return
    print_queries_changed(change, out)


def print_queries_changed(change: Change, out: Console) -> None:
    """Print the queries that changed most, with their texts."""
    unchanged = len(change.comparison.query_ids) - len(change.better) - len(change.worse)
    out.print(
        Text(
            f"queries: {len(change.better)} better, {len(change.worse)} worse, {unchanged} as "
            "before or mixed"
        )
    )
    for title, found in (("worse", change.worse), ("better", change.better)):
        if not found:
            continue
        table = Table(title, "question", "what changed", title_justify="left")
        for each in found[:SHOWN]:
            table.add_row(
                Text(visible(each.query_id)),
                Text("" if each.text is None else visible(each.text)),
                Text(changed_values(each)),
            )
        out.print(table)
        if len(found) > SHOWN:
            out.print(Text(f"and {len(found) - SHOWN} more"))


def changed_values(change: QueryChange, most: int = 3) -> str:
    """The first metrics of a query that changed, before and after."""
    shown = [
        f"{metric} {number(change.before[metric])} → {number(change.after[metric])}"
        for metric in list(change.before)[:most]
    ]
    return ", ".join(shown)


def print_gates(results: Sequence[GateResult], out: Console) -> None:
    """Print the gates that failed as a table; one line if all passed."""
    bad = failing(results)
    if not bad:
        if results:
            out.print(Text(f"gates: all {len(results)} passed", style="green"))
        return
    out.print(Text(f"gates: {len(bad)} of {len(results)} failed", style="bold red"))
    out.print(_gates(bad))


def _gates(bad: Sequence[GateResult]) -> Table:
    several = len({each.match for each in bad}) > 1
    slices = any(each.where for each in bad)
    table = Table(
        "gate",
        "retriever",
        *(["match"] if several else []),
        *(["slice"] if slices else []),
        "found",
    )
    for each in bad:
        table.add_row(
            Text(f"{each.gate.metric} {each.gate.condition}"),
            Text(each.retriever),
            *([Text(each.match)] if several else []),
            *([Text(visible(each.where))] if slices else []),
            Text(each.said),
        )
    return table


def gates_text(results: Sequence[GateResult]) -> str:
    """The gates that failed as plain lines, for an assertion."""
    lines = []
    for each in failing(results):
        where = f", {each.where}" if each.where else ""
        name = f"{each.retriever} ({each.match}{where})"
        lines.append(f"{each.gate.metric} {each.gate.condition}: {name}: {each.said}")
    return "\n".join(lines)
