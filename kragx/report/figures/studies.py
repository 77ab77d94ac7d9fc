"""Studies: metrics against the threshold or a grid's settings, what a grid came to, and over time.

A panel for each metric or axis, a line for each retriever.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from math import isfinite, isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.comparison import Estimate
from kragx.comparison.history import History, Series
from kragx.comparison.threshold_study import Sweep
from kragx.comparison.tuning import Curve, SettingResult, Tuning
from kragx.data import file_names
from kragx.ground.errors import UsageError
from kragx.ground.printing import in_language, phrase, visible
from kragx.report.figures.drawing import (
    INK,
    checked_path,
    colour,
    dashes,
    displayed,
    drawing,
    legend,
    marker,
    panels,
    save,
    save_all,
    unit_axis,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def sweep_figure(
    sweeps: Sweep | Sequence[Sweep], path: str | Path | None = None, *, language: str | None = None
) -> Figure:
    """A panel for each metric, a line for each retriever; the chosen threshold marked.

    Shaded are the thresholds around it at which several retrievers keep their order.

    Args:
        sweeps: one, or several of other matchers; their metrics are drawn side by side. Of a grid
            over something else than the threshold its settings stand side by side.
        path: where to write it (.png, .svg or .pdf). Without, it is shown where a window or a
            notebook can show it.
        language: of title and labels: ``en`` or ``ko``; None for the one that results are shown
            in (KRAGX_LANG).

    Raises:
        UsageError: there is no such language, the path has another ending or cannot be written, or
            there is nothing to draw.
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed.

    Examples:
        >>> from kragx import evaluate, sweep, sweep_figure
        >>> result = evaluate([["the old red door"]], [["an old red door"]], metrics=["mrr@5"])
        >>> sweep_figure(sweep(result), path="sweep.svg")
        <Figure size 550x400 with 1 Axes>
    """
    sweeps = [sweeps] if isinstance(sweeps, Sweep) else sweeps
    lists = [
        (sweep, retriever, values) for sweep in sweeps for retriever, values in sweep.values.items()
    ]
    metrics = list(dict.fromkeys(name for _, _, values in lists for name in values))
    if not metrics:
        raise UsageError("sweeps: there is nothing to draw; name at least one metric")
    file = None if path is None else checked_path(path)
    several = len({sweep.match_name for sweep in sweeps}) > 1
    title = _title(sweeps)
    with drawing("sweep", language):
        figure, axes = panels(title, len(metrics), 2, 5.2, 3.3, is_interactive=path is None)
        lines: dict[str, Any] = {}
        for place, (panel, metric) in enumerate(zip(axes, metrics, strict=True), start=1):
            for series, (sweep, retriever, values) in enumerate(lists):
                if metric in values:
                    line = _line(panel, sweep, values[metric], series)
                    line.set_gid(f"sweep-{place}-{series}")
                    label = f"{retriever}, {sweep.match_name}" if several else retriever
                    lines.setdefault(wrapped(label), line)
            _axes(panel, metric, sweeps)
            means = [mean for _, _, values in lists for mean in values.get(metric, ())]
            unit_axis(panel, means, "y", room=1.05)
        legend(figure, lines)
        if file is not None:
            save(figure, file)
            return figure
    return displayed(figure)


def _title(sweeps: Sequence[Sweep]) -> str:
    if all(sweep.chosen is None for sweep in sweeps):
        return phrase("Metrics under the settings of a matcher")
    return phrase(
        "Metrics against the threshold (dotted: the chosen one; shaded: the order holds)"
        if any(sweep.orders for sweep in sweeps)
        else "Metrics against the threshold (dotted: the chosen one)"
    )


def _line(panel: Axes, sweep: Sweep, means: Sequence[float | None], series: int) -> Any:
    """The means at thresholds, or side by side under a grid's other settings."""
    values = [float("nan") if mean is None else mean for mean in means]
    look: dict[str, Any] = {"color": colour(series), "linestyle": dashes(series)}
    if not sweep.thresholds:
        [line] = panel.plot(range(len(values)), values, marker=marker(series), **look)
        panel.set_xticks(range(len(values)), sweep.labels)
        return line
    # A score equal to the threshold matches, so a value holds up to its threshold.
    [line] = panel.step(sweep.thresholds, values, where="pre", **look)
    if sweep.chosen is not None:
        panel.axvline(sweep.chosen, color="0.35", linestyle=":", linewidth=1.2, zorder=1)
    return line


def _axes(panel: Axes, metric: str, sweeps: Sequence[Sweep]) -> None:
    """What they are called, and where the order holds."""
    for order in (sweep.orders.get(metric) for sweep in sweeps):
        if order is not None and len(order.tiers) > 1:
            panel.axvspan(order.low, order.high, color="0.5", alpha=0.15, linewidth=0)
    varied = phrase("threshold" if any(sweep.thresholds for sweep in sweeps) else "setting")
    panel.set(title=metric, xlabel=in_language(varied), ylabel=in_language(phrase("value")))


def tuning_figures(
    tunings: Sequence[Tuning], folder: str | Path, *, language: str | None = None
) -> list[Path]:
    """Draw what each grid came to, as PNG and SVG; nothing of one where nothing was compared.

    Args:
        tunings: one for each matcher.
        folder: where to write; with several matchers each has a folder of its own in it.
        language: of titles and labels: ``en`` or ``ko``; None for the one that results are shown
            in (KRAGX_LANG).

    Returns:
        The files.

    Raises:
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed.
        UsageError: there is no such language, or the folder cannot be made.
    """
    written: list[Path] = []
    names = file_names(tuning.match for tuning in tunings)
    with drawing("figures", language) if tunings else nullcontext():
        for tuning, name in zip(tunings, names, strict=True):
            if (figure := _figure(tuning)) is not None:
                place = Path(folder, name if len(tunings) > 1 else "")
                written += save_all({"tuning": figure}, place)
    return written


def _figure(tuning: Tuning) -> Figure | None:
    mains = tuning.curves
    sized = [
        setting
        for setting in tuning.settings
        if setting.tokens is not None and setting.mean is not None
    ]
    count = len(mains) + bool(sized)
    if not count:
        return None
    title = phrase(
        "{metric} along each axis, with {share} % intervals",
        metric=tuning.metric,
        share=round(100 * tuning.confidence),
    )
    figure, axes = panels(title, count, 2, 5.2, 3.3)
    for panel, curve in zip(axes, mains):
        _curve(panel, curve, tuning.metric)
    if sized:
        _context(axes[-1], sized, tuning)
    return figure


def _curve(panel: Axes, curve: Curve, metric: str) -> None:
    places = range(len(curve.points))
    means = [point.mean for point in curve.points]
    panel.plot(places, means, color=colour(0), linewidth=1, marker=marker(0))
    for place, point in zip(places, curve.points):
        if point.low is not None and point.high is not None:
            panel.vlines(place, point.low, point.high, color=colour(0), linewidth=2.5, alpha=0.5)
    labels = [f"{point.value}{' ▼' * point.told_apart}" for point in curve.points]
    panel.set_xticks(list(places), labels)
    panel.set(title=curve.label, ylabel=metric, xlim=(-0.5, len(labels) - 0.5))
    unit_axis(panel, means, "y", room=1.05)


def _context(panel: Axes, sized: Sequence[SettingResult], tuning: Tuning) -> None:
    for setting in sized:
        faint = 0.35 if setting.told_apart else 1.0
        shape = "D" if setting.on_front else "o"
        panel.scatter(
            [setting.tokens or 0], [setting.mean or 0], color=colour(0), marker=shape, alpha=faint
        )
        if setting.name == tuning.take:
            point = (setting.tokens or 0, setting.mean or 0)
            panel.annotate(
                in_language(phrase("take")),
                point,
                (0, 9),
                textcoords="offset points",
                ha="center",
                color=INK,
            )
    panel.set(
        title=in_language(phrase("Quality against context")),
        xlabel=in_language(phrase("tokens of context")),
        ylabel=in_language(phrase("{metric}, questions that choose", metric=tuning.metric)),
    )
    panel.set_xlim(left=0)
    unit_axis(panel, [setting.mean for setting in sized], "y", room=1.05)


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
