"""The figure of a study of thresholds.

A panel for each metric, a line for each retriever.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.comparison.threshold_study import Sweep
from kragx.ground.errors import UsageError
from kragx.ground.printing import in_language, phrase
from kragx.report.figures.drawing import (
    checked_path,
    colour,
    dashes,
    displayed,
    drawing,
    legend,
    panels,
    save,
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
        sweeps: one, or several of other matchers; their metrics are drawn side by side. Those of
            a grid have no thresholds and are not drawn.
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
        (sweep, retriever, values)
        for sweep in sweeps
        if sweep.thresholds
        for retriever, values in sweep.values.items()
    ]
    metrics = list(dict.fromkeys(name for _, _, values in lists for name in values))
    if not metrics:
        raise UsageError("sweeps: there is nothing to draw; name at least one metric")
    file = None if path is None else checked_path(path)
    several = len({sweep.match_name for sweep in sweeps}) > 1
    title = phrase(
        "Metrics against the threshold (dotted: the chosen one; shaded: the order holds)"
        if any(sweep.orders for sweep in sweeps)
        else "Metrics against the threshold (dotted: the chosen one)"
    )
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


def _line(panel: Axes, sweep: Sweep, means: Sequence[float | None], series: int) -> Any:
    """The means at thresholds, and where the chosen one is."""
    values = [float("nan") if mean is None else mean for mean in means]
    look: dict[str, Any] = {"color": colour(series), "linestyle": dashes(series)}
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
    varied = in_language(phrase("threshold"))
    panel.set(title=metric, xlabel=varied, ylabel=in_language(phrase("value")))
