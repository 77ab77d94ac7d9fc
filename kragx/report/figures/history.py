"""Metrics over time: a panel for each metric, a line for each retriever, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.comparison import Estimate
from kragx.comparison.history import History, Series
from kragx.ground.printing import phrase, visible
from kragx.report.figures.drawing import (
    checked_path,
    colour,
    dashes,
    drawing,
    legend,
    marker,
    panels,
    save,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_LABELS = 10
_SIGNS = {"better": ("▲", "#007A53"), "worse": ("▼", "#B04A00")}


def history_figure(
    history: History,
    path: str | Path,
    metrics: Sequence[str] | None = None,
    *,
    language: str | None = None,
) -> Figure:
    """Each metric against the runs; ▲ and ▼ where it is better or worse than in the run before.

    Args:
        history: the runs.
        path: where to write it (.png, .svg or .pdf).
        metrics: to draw; None for all of the history.
        language: of the title: ``en`` or ``ko``; None for the one that results are shown in
            (KRAGX_LANG).

    Raises:
        UsageError: there is no such language, or the path has another ending or cannot be written.
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed.
    """
    file = checked_path(path)
    title = phrase(
        "Metrics over time (95% intervals; a line is broken where numbers mean something else)"
    )
    names, n = history.metrics if metrics is None else metrics, len(history.runs)
    labelled = range(0, n, max(-(-n // _MOST_LABELS), 1))
    with drawing("history", language):
        figure, axes = panels(title, len(names), 1, 8.5, 3.3)
        lines: dict[str, Any] = {}
        for place, (panel, metric) in enumerate(zip(axes, names, strict=True), start=1):
            for number, series in enumerate(history.series):
                look: dict[str, Any] = {"color": colour(number), "linestyle": dashes(number)}
                name = visible(series.retriever)
                label = name if history.is_one_match else f"{name} ({visible(series.match)})"
                for piece, points in enumerate(_pieces(series, metric)):
                    runs = [run for run, _ in points]
                    gid = f"history-{place}-{number}-{piece}"
                    values = [estimate.value or 0.0 for _, estimate in points]
                    [line] = panel.plot(runs, values, marker=marker(number), gid=gid, **look)
                    low, high = (
                        [
                            value if end is None or isinf(end) else end
                            for end, value in zip(ends, values)
                        ]
                        for ends in zip(*((point.low, point.high) for _, point in points))
                    )
                    panel.fill_between(runs, low, high, color=look["color"], alpha=0.12, lw=0)
                    lines.setdefault(wrapped(label), line)
                    for run, value in zip(runs, values):
                        step = series.steps[run]
                        test = None if step is None else step.tests.get(metric)
                        if test is not None and test.verdict in _SIGNS:
                            sign, ink = _SIGNS[test.verdict]
                            panel.annotate(
                                sign, (run, value), (0, 6), "data", "offset points", color=ink
                            )
            panel.set(title=metric, xlim=(-0.5, n - 0.5))
            panel.set_xticks(labelled, [history.runs[run].date[:10] for run in labelled])
            panel.grid(axis="y")
        if lines:
            legend(figure, lines)
        save(figure, file)
    return figure


def _pieces(series: Series, metric: str) -> list[list[tuple[int, Estimate]]]:
    """The runs that have a finite value, in pieces whose numbers mean the same."""
    pieces: list[list[tuple[int, Estimate]]] = [[]]
    for run, (point, step) in enumerate(zip(series.points, series.steps, strict=True)):
        if step is not None and not step.joined:
            pieces.append([])
        estimate = None if point is None or point.failed else point.estimates.get(metric)
        if estimate is not None and estimate.value is not None and isfinite(estimate.value):
            pieces[-1].append((run, estimate))
    return [piece for piece in pieces if piece]
