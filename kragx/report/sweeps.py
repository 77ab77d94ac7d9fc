"""Sweeps for people: a table, CSV, and a figure with a panel for each metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from kragx.errors import UsageError
from kragx.evaluation.sweep import Sweep
from kragx.report.files import csv_text
from kragx.report.plots import SERIES, displayed, drawing, new_figure, save_figure
from kragx.report.rows import method_label, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS = 21
_SUFFIXES = (".png", ".svg", ".pdf")
# Lines are told apart by their dashes as well.
_DASHES = ("-", "--", "-.", ":")


def sweeps_csv(sweeps: Sequence[Sweep]) -> str:
    """A line for each retriever, matcher and threshold, a column for each metric."""
    metrics = _metrics(sweeps)

    def rows() -> Iterator[list[Any]]:
        for each in sweeps:
            for at, threshold in enumerate(each.thresholds):
                values = [
                    each.values[name][at] if name in each.values else None for name in metrics
                ]
                chosen = int(threshold == each.chosen)
                yield [
                    *(each.name, each.match_name, threshold, chosen, each.n_matches[at]),
                    *values,
                ]

    return csv_text(["retriever", "match", "threshold", "chosen", "n_matches", *metrics], rows())


def print_sweeps(sweeps: Sequence[Sweep], out: Console) -> None:
    """Print a table for each sweep: thresholds down, metrics across, the chosen one in bold."""
    for each in sweeps:
        out.print(Text(f"{each.name}, match: {method_label(each.match)}"))
        table = Table(
            Column("threshold", justify="right"),
            Column("matches", justify="right"),
            *(Column(Text(name), justify="right") for name in each.values),
        )
        for at in _shown_rows(each):
            threshold = each.thresholds[at]
            chosen = threshold == each.chosen
            cells = [f"{threshold:.4g}" + (" *" if chosen else ""), str(each.n_matches[at])]
            cells += [
                number(values[at])
                + (" |" if (found := each.plateaus[name]) and threshold in found else "  ")
                for name, values in each.values.items()
            ]
            table.add_row(*map(Text, cells), style="bold" if chosen else "")
        out.print(table)
        for name in each.plateaus:
            out.print(Text(f"{name}: {_plateau_line(each, name)}"), soft_wrap=True)
        out.print(Text("*: the chosen threshold; |: the plateau"))


def _plateau_line(sweep: Sweep, metric: str) -> str:
    found = sweep.plateaus[metric]
    if found is None:
        return f"no two neighbouring thresholds are within {sweep.tolerance:g} of each other"
    where = "inside" if sweep.chosen in found else "outside"
    return (
        f"between {number(found.least)} and {number(found.greatest)} from threshold "
        f"{found.low:.4g} to {found.high:.4g} (plateau, tolerance {sweep.tolerance:g}); the chosen "
        f"{sweep.chosen:g} is {where}"
    )


def _shown_rows(sweep: Sweep) -> list[int]:
    """Evenly spread rows, the chosen threshold always among them."""
    n = len(sweep.thresholds)
    if n <= _ROWS:
        return list(range(n))
    step = (n - 1) / (_ROWS - 1)
    rows = {round(at * step) for at in range(_ROWS)}
    if sweep.chosen in sweep.thresholds:
        rows.add(sweep.thresholds.index(sweep.chosen))
    return sorted(rows)


def sweep_figure(sweeps: Sequence[Sweep], path: str | Path | None = None) -> Figure:
    """A panel for each metric, a line for each sweep; the plateau shaded, the chosen one marked.

    Args:
        sweeps: of several retrievers or matchers; their metrics are drawn side by side.
        path: where to write it (.png, .svg or .pdf). Without, it is shown where a window or a
            notebook can show it.

    Raises:
        UsageError: the path has another ending, cannot be written, or there is nothing to draw.
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed.
    """
    metrics = _metrics(sweeps)
    if not metrics:
        raise UsageError("sweeps: there is nothing to draw; name at least one metric")
    if path is not None and Path(path).suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{path}: a figure is written as {', '.join(_SUFFIXES)}")
    names = {(each.name, each.match_name) for each in sweeps}
    several = len({match for _, match in names}) > 1
    with drawing("sweep"):
        across = min(2, len(metrics))
        down = -(-len(metrics) // across)
        figure = new_figure(1 + 5.2 * across, 0.9 + 3.3 * down)
        lines: dict[str, Any] = {}
        for place, metric in enumerate(metrics, start=1):
            axes = figure.add_subplot(down, across, place)
            tops = [1.0]
            for at, each in enumerate(sweeps):
                if metric not in each.values:
                    continue
                colour = SERIES[at % len(SERIES)]
                known = each.values[metric]
                values = [float("nan") if value is None else value for value in known]
                tops += [value for value in known if value is not None]
                label = f"{each.name}, {each.match_name}" if several else each.name
                # A score equal to the threshold matches, so a value holds up to its threshold.
                (line,) = axes.step(
                    each.thresholds,
                    values,
                    where="pre",
                    color=colour,
                    linestyle=_DASHES[at % len(_DASHES)],
                    label=label,
                    zorder=3,
                )
                line.set_gid(f"sweep-{place}-{at}")
                lines.setdefault(label, line)
                found = each.plateaus[metric]
                if found is not None:
                    axes.fill_between(
                        [found.low, found.high],
                        found.least - 0.012,
                        found.greatest + 0.012,
                        color=colour,
                        alpha=0.18,
                        linewidth=0,
                        zorder=2,
                    )
                axes.axvline(each.chosen, color="0.35", linestyle=":", linewidth=1.2, zorder=1)
            axes.set_title(metric, parse_math=False)
            axes.set_xlabel("threshold")
            axes.set_ylabel("value")
            axes.set_ylim(0, max(tops) * 1.05)
            axes.grid(color="0.5", alpha=0.25, zorder=0)
            axes.spines[["top", "right"]].set_visible(False)
        legend = figure.legend(
            lines.values(),
            lines,
            loc="outside lower center",
            ncols=min(3, len(lines)),
            frameon=False,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)  # a name may hold dollar signs
        figure.suptitle(
            "Metrics against the threshold (dotted: the chosen one; shaded: the plateau)",
            fontsize="medium",
        )
    if path is None:
        return displayed(figure)
    with drawing("sweep"):
        save_figure(figure, Path(path))
    return figure


def _metrics(sweeps: Sequence[Sweep]) -> list[str]:
    return list(dict.fromkeys(name for each in sweeps for name in each.values))
