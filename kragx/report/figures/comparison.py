"""Figures of a comparison as PNG and SVG, each for one matcher.

metrics        each metric by retriever with its interval
metric_at_k    each metric at growing k, a line for each retriever
scores         the highest score of each gold item beside the threshold
seconds        the time that queries took

The same data give the same files. `sweep_figure` draws a study of thresholds.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.comparison import Comparison, Estimate
from kragx.comparison.threshold_study import Sweep
from kragx.data import GoldDataset, Run, file_names
from kragx.evaluation.curves import (
    CutoffCurve,
    Histogram,
    Times,
    curves,
    histogram,
    times,
)
from kragx.evaluation.evaluation import EvaluationsLike, as_evaluations
from kragx.evaluation.ranked_lists import lists_behind
from kragx.ground.errors import UsageError
from kragx.ground.printing import in_language, message
from kragx.metrics import metric as metric_named
from kragx.report.figures.drawing import (
    DASHES,
    INK,
    checked_path,
    colour,
    displayed,
    drawing,
    legend,
    marker,
    name_rows,
    panels,
    rows_height,
    save,
    save_all,
    unit_axis,
    wrapped,
    write_beside,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_MATCH, _BELOW, _NOTHING = "#009E73", "#E69F00", "#9AA3AF"


def write_figures(
    comparisons: Sequence[Comparison],
    evaluations: EvaluationsLike,
    folder: str | Path,
    *,
    dataset: GoldDataset | None = None,
    runs: Mapping[str, Run] | None = None,
    language: str | None = None,
) -> list[Path]:
    """Draw each figure that there is something to show in, as PNG and SVG.

    Args:
        comparisons: one for each matcher.
        evaluations: that they compare; who is not comparable is left out.
        folder: where to write; with several matchers each has a folder of its own in it.
        dataset: the gold set, with `runs` for the times; without, the times that evaluations kept.
        runs: what each retriever returned, by its name.
        language: of titles and labels: ``en`` or ``ko``; None for the one that results are shown
            in (KRAGX_LANG).

    Returns:
        The files. A matcher that says yes or no has no scores, and a run without times no times.

    Raises:
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed.
        UsageError: there is no such language, or the folder cannot be made.

    Examples:
        >>> from kragx import evaluate, write_figures
        >>> gold, runs = [["Seoul"], ["Busan"]], {"one": [["Seoul"], []], "other": [["Busan"], []]}
        >>> results = evaluate(gold, runs, metrics=["mrr@5"])
        >>> files = write_figures([results.comparison], results, "figures")
        >>> sorted(file.name for file in files if file.suffix == ".svg")
        ['metric_at_k.svg', 'metrics.svg', 'scores.svg']
    """
    written, evaluations = list[Path](), as_evaluations(evaluations)
    folders = file_names(comparison.match for comparison in comparisons)
    with drawing("figures", language):
        for comparison, name in zip(comparisons, folders, strict=True):
            compared = [
                evaluation
                for evaluation in evaluations
                if evaluation.match_name == comparison.match
                and evaluation.name in comparison.retrievers
            ]
            # In all of them a retriever's position is its colour.
            names = [evaluation.name for evaluation in compared]
            lists = [lists_behind(evaluation, dataset, runs or {}) or () for evaluation in compared]
            figures = {
                "metrics": _metrics(comparison, names),
                "metric_at_k": _metric_at_k(names, curves(compared)),
                "scores": _scores(dict(zip(names, map(histogram, compared)))),
                "seconds": _seconds(dict(zip(names, map(times, lists)))),
            }
            written += save_all(figures, Path(folder, name if len(comparisons) > 1 else ""))
    return written


def _metrics(comparison: Comparison, names: Sequence[str]) -> Figure | None:
    by_name = comparison.overall.means
    # The metrics that are shares, and of which somebody has a value.
    means = {
        metric: [by_name[name][metric] for name in names]
        for metric in comparison.metrics
        if metric_named(metric).is_share
        and any(by_name[name][metric].value is not None for name in names)
    }
    if not means:
        return None
    across = min(4, len(means))
    figure, axes = panels(
        message("Metrics by retriever"), len(means), across, 3.0, 1.0 + rows_height(names)
    )
    # Credited document by document, as other tools do it, a value may be above 1.
    highest = [
        mean.value if mean.high is None else mean.high
        for of_metric in means.values()
        for mean in of_metric
    ]
    for position, (panel, metric) in enumerate(zip(axes, means, strict=True)):
        for series, mean in enumerate(means[metric]):
            _mark_mean(panel, series, mean)
        panel.set_title(metric)
        unit_axis(panel, highest, "x")
        name_rows(panel, names, written=position % across == 0)
    confidence = round(100 * comparison.statistics.confidence)
    figure.supxlabel(
        in_language(message("mean over queries, with its {share} % interval", share=confidence)),
        fontsize="medium",
    )
    return figure


def _mark_mean(panel: Axes, series: int, mean: Estimate) -> None:
    """A mean with its interval; of one that is not known between which values it lies."""
    if mean.value is None:
        panel.text(0.02, series, mean.number if mean.bounds else "–", va="center")
        return
    shade = colour(series)
    if mean.low is not None and mean.high is not None:
        panel.hlines(series, mean.low, mean.high, shade, linewidth=2.5, alpha=0.5)
    # A value of 0 or 1 is drawn whole, though half of it lies outside of the axes.
    panel.plot(mean.value, series, marker(series), color=shade, markersize=7, clip_on=False)
    write_beside(panel, series, f"{mean.value:.3f}")


def _metric_at_k(names: Sequence[str], of_names: Sequence[Sequence[CutoffCurve]]) -> Figure | None:
    by_name = [{curve.metric: curve for curve in of_name} for of_name in of_names]
    # Those that all have, in the order of the first.
    metrics = [m for m in chain(*by_name[:1]) if all(m in of_name for of_name in by_name)]
    if not metrics:
        return None
    # Four panels make a square rather than a row with one left over.
    across = 2 if len(metrics) == 4 else 3
    figure, axes = panels(message("Metrics against k"), len(metrics), across, width=4.2, height=3.2)
    for panel, metric in zip(axes, metrics, strict=True):
        lines: dict[str, Line2D] = {}
        for series, (name, by_metric) in enumerate(zip(names, by_name)):
            curve = by_metric[metric]
            [line] = panel.plot(
                range(len(curve.ks)),
                [float("nan") if value is None else value for value in curve.values],
                color=colour(series),
                marker=marker(series),
                markersize=4.5,
                linewidth=1.8,
                alpha=0.85,
                clip_on=False,
            )
            lines[wrapped(name)] = line
        panel.set_xticks(range(len(curve.ks)), list(map(str, curve.ks)))
        panel.set(title=metric, xlabel=in_language(message("k (length of the list)")))
        unit_axis(
            panel, [value for by_metric in by_name for value in by_metric[metric].values], "y"
        )
    legend(figure, lines)
    return figure


def _scores(histograms: Mapping[str, Histogram | None]) -> Figure | None:
    drawn = {name: bars for name, bars in histograms.items() if bars is not None}
    if not drawn:
        return None
    figure, axes = panels(message("Highest score of each gold item"), len(drawn), 3, 3.6, 2.4)
    highest = max(max(*bars.counts, bars.nothing) for bars in drawn.values())
    # A grade's bar stands over the grade; a score's bar to the right of where it begins.
    grades = any(bars.top > 1 for bars in drawn.values())
    for panel, (name, bars) in zip(axes, drawn.items(), strict=True):
        _bars(panel, bars, grades=grades)
        panel.set(ylim=(0, highest * 1.12), title=textwrap.shorten(name, 34, placeholder="…"))
        panel.grid(axis="y")
    figure.supxlabel(in_language(message("grade" if grades else "score")), fontsize="medium")
    figure.supylabel(in_language(message("gold items")), fontsize="medium")
    return figure


def _bars(panel: Axes, bars: Histogram, *, grades: bool) -> None:
    """How many gold items have which score, those without any apart, beside the threshold."""
    width = bars.top / len(bars.counts)
    lefts = [place * width for place in range(len(bars.counts))]
    scores = [left + width if grades else left for left in lefts]
    panel.bar(
        [left + (width if grades else width / 2) for left in lefts],
        bars.counts,
        width * (0.7 if grades else 0.9),
        color=[_MATCH if score >= bars.threshold - 1e-9 else _BELOW for score in scores],
    )
    # What matched nothing has no score; left of 0 it is not taken for a low one.
    nothing = 0 if grades else -1.5 * width
    panel.bar(nothing, bars.nothing, width * (0.7 if grades else 1), color=_NOTHING)
    line = bars.threshold - width / 2 if grades else bars.threshold
    panel.axvline(line, color=INK, linestyle="--", linewidth=1.2)
    panel.annotate(
        in_language(message("threshold {threshold:g}", threshold=bars.threshold)),
        (line, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4, -2),
        textcoords="offset points",
        va="top",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
    )
    if grades:
        panel.set_xticks(range(int(bars.top) + 1))
    else:
        ticks = [0.25 * quarter * bars.top for quarter in range(1, 5)]
        panel.set_xticks([nothing, *ticks], ["0", *(f"{tick:g}" for tick in ticks)])


def _seconds(of_names: Mapping[str, Times | None]) -> Figure | None:
    rows = [
        (name, colour(series), timed)
        for series, (name, timed) in enumerate(of_names.items())
        if timed is not None
    ]
    if not rows:
        return None
    figure, [axes] = panels(message("Time a query takes"), 1, 1, 8.0, 1.2 + 0.42 * len(rows))
    for row, (_, color, timed) in enumerate(rows):
        # On a logarithmic axis there is no 0.
        p5, p25, p50, p75, p95 = (
            max(seconds, 1e-6) for seconds in (timed.p5, timed.p25, timed.p50, timed.p75, timed.p95)
        )
        axes.hlines(row, p5, p95, color, linewidth=2.5, alpha=0.5)
        axes.barh(row, p75 - p25, 0.46, left=p25, color=color, alpha=0.6)
        axes.vlines(p50, row - 0.3, row + 0.3, INK, linewidth=2)
        median = timed.p50
        write_beside(axes, row, f"{median:.3g} s" if median >= 1 else f"{1000 * median:.3g} ms")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")
    name_rows(axes, [name for name, *_ in rows])
    axes.grid(axis="x")
    axes.set_xlabel(in_language(message("seconds (line 5 to 95 %, box 25 to 75 %, stroke median)")))
    return figure


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
    title = message(
        "Metrics against the threshold (dotted: the chosen one; shaded: the order holds)"
        if any(sweep.orders for sweep in sweeps)
        else "Metrics against the threshold (dotted: the chosen one)"
    )
    with drawing("sweep", language):
        figure, axes = panels(title, len(metrics), 2, 5.2, 3.3, is_interactive=path is None)
        lines: dict[str, Any] = {}
        for place, (panel, metric) in enumerate(zip(axes, metrics, strict=True), start=1):
            for series, (sweep, retriever, values) in enumerate(lists):
                if metric not in values:
                    continue
                # A score equal to the threshold matches, so a value holds up to its threshold.
                [line] = panel.step(
                    sweep.thresholds,
                    [float("nan") if mean is None else mean for mean in values[metric]],
                    where="pre",
                    color=colour(series),
                    linestyle=DASHES[series % len(DASHES)],
                )
                if sweep.chosen is not None:
                    panel.axvline(
                        sweep.chosen, color="0.35", linestyle=":", linewidth=1.2, zorder=1
                    )
                line.set_gid(f"sweep-{place}-{series}")
                label = f"{retriever}, {sweep.match_name}" if several else retriever
                lines.setdefault(wrapped(label), line)
            for order in (sweep.orders.get(metric) for sweep in sweeps):
                if order is not None and len(order.tiers) > 1:
                    panel.axvspan(order.low, order.high, color="0.5", alpha=0.15, linewidth=0)
            panel.set(title=metric, xlabel=in_language(message("threshold")))
            panel.set_ylabel(in_language(message("value")))
            means = [mean for _, _, values in lists for mean in values.get(metric, ())]
            unit_axis(panel, means, "y", room=1.05)
        legend(figure, lines)
        if file is not None:
            save(figure, file)
            return figure
    return displayed(figure)
