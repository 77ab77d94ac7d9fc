"""Tables for a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from kragx.evaluation.evaluation import Evaluation
from kragx.report.rows import (
    best,
    match_label,
    mean_cell,
    metric_names,
    micro_cell,
    number,
    profile_label,
    remarks,
)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704  # rich calls this while it handles the error; it is ours to handle


def console(*, stderr: bool = False) -> Console:
    """A console that never cuts a table in a pipe or CI log, and obeys COLUMNS and NO_COLOR."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 200
    return _Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def print_evaluations(evaluations: Sequence[Evaluation], out: Console) -> None:
    """Print a table for each matcher: metrics down, retrievers across, the best in bold."""
    for _, group in groupby(evaluations, key=match_label):
        same = list(group)
        if len(same) > 1:
            from kragx.comparison import check_comparable

            check_comparable(same)
        print_heading(same[0], out)
        out.print(_single(same[0]) if len(same) == 1 else _compared(same))
        print_remarks(same, out)


def print_heading(evaluation: Evaluation, out: Console) -> None:
    """Print how matches were decided and what the numbers mean."""
    out.print(Text(f"match: {match_label(evaluation)}"))
    out.print(Text(f"profile: {profile_label(evaluation)}"))


def print_remarks(same: Sequence[Evaluation], out: Console) -> None:
    """Print what was left out of evaluations of one matcher."""
    if same:
        for each in same:
            prefix = f"{each.name}: " if len(same) > 1 else ""
            for line in remarks(each):
                out.print(Text(f"{prefix}{line}", style="yellow"))
        out.print(Text(_size(same)))


def _size(evaluations: Sequence[Evaluation]) -> str:
    counts = evaluations[0].counts
    return f"{counts['n_scored']} of {counts['n_queries']} queries scored"


def _single(evaluation: Evaluation) -> Table:
    micro = [right("micro")] if evaluation.micro else []
    table = Table("metric", right("mean"), *micro)
    for name in evaluation.mean:
        cells = [mean_cell(evaluation, name), micro_cell(evaluation, name)]
        table.add_row(Text(name), *map(Text, cells[: 1 + len(micro)]))
    return table


def _compared(evaluations: Sequence[Evaluation]) -> Table:
    table = Table("metric", *(right(each.name) for each in evaluations))
    for name in metric_names(evaluations):
        values = [each.mean.get(name) for each in evaluations]
        top = best(values, name)
        table.add_row(
            Text(name),
            *(
                Text(mean_cell(each, name), style="bold green" if position in top else "")
                for position, each in enumerate(evaluations)
            ),
        )
    return table


def right(title: str) -> Column:
    """A column of numbers."""
    return Column(Text(title), justify="right")


def print_queries(evaluation: Evaluation, out: Console) -> None:
    """Print a line for each query, metrics across."""
    table = Table("query_id", *(right(name) for name in evaluation.mean))
    for query_id, values in evaluation.queries.items():
        table.add_row(Text(query_id), *(number(value) for value in values.values()))
    out.print(table)
