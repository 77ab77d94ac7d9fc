"""Figures of a comparison as PNG and SVG, each for one matcher.

metrics        each metric by retriever with its interval
metric_at_k    each metric at growing k, a line for each retriever
scores         the highest score of each gold item beside the threshold
seconds        the time that queries took

The same data give the same files.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kragx.comparison import Comparison, Estimate
from kragx.data import GoldDataset, Run, file_names
from kragx.data.formats.jsonl import make_folder
from kragx.errors import UsageError, nearest
from kragx.evaluation.curves import Curve, Histogram, Times, curves, histogram, times
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.ranked_lists import lists_behind
from kragx.metrics import metric as metric_named
from kragx.report.figures.drawing import (
    INK,
    colour,
    drawing,
    legend,
    marker,
    name_rows,
    panels,
    rows_height,
    save,
    unit_axis,
    wrapped,
    write_beside,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MATCH, _BELOW, _NOTHING = "#009E73", "#E69F00", "#9AA3AF"

_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "metrics": "Metrics by retriever",
        "mean": "mean over queries, with its {} % interval",
        "at_k": "Metrics against k",
        "k": "k (length of the list)",
        "scores": "Highest score of each gold item",
        "score": "score",
        "grade": "grade",
        "items": "gold items",
        "threshold": "threshold {:g}",
        "seconds": "Time a query takes",
        "axis": "seconds (line 5 to 95 %, box 25 to 75 %, stroke median)",
    },
    "ko": {
        "metrics": "검색기별 지표",
        "mean": "질문 평균과 {} % 구간",
        "at_k": "k에 따른 지표",
        "k": "k (목록 길이)",
        "scores": "정답 항목별 최고 점수",
        "score": "점수",
        "grade": "등급",
        "items": "정답 항목 수",
        "threshold": "임계값 {:g}",
        "seconds": "질문당 걸린 시간",
        "axis": "초 (선 5~95 %, 상자 25~75 %, 굵은 선 중앙값)",
    },
}


@dataclass(frozen=True)
class _Retriever:
    """What figures show of one retriever.

    Attributes:
        name: its name.
        series: its position, for its colour and marker.
        means: of each metric that is a share.
        curves: of each metric, by its name without ``@k``.
        histogram: of its highest scores; None where the matcher says yes or no.
        times: of its queries; None where none was timed.
    """

    name: str
    series: int
    means: Mapping[str, Estimate]
    curves: Mapping[str, Curve]
    histogram: Histogram | None
    times: Times | None


def write_figures(
    comparisons: Sequence[Comparison],
    evaluations: Sequence[Evaluation],
    folder: str | Path,
    *,
    dataset: GoldDataset | None = None,
    runs: Mapping[str, Run] | None = None,
    language: str = "en",
) -> list[Path]:
    """Draw each figure that there is something to show in, as PNG and SVG.

    Args:
        comparisons: one for each matcher.
        evaluations: that they compare.
        folder: where to write; with several matchers each has a folder of its own in it.
        dataset: the gold set, with `runs` for the times; without, the times that evaluations kept.
        runs: what each retriever returned, by its name.
        language: of titles and labels: ``en`` or ``ko``.

    Returns:
        The files. A matcher that says yes or no has no scores, and a run without times no times.

    Raises:
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed.
        UsageError: there is no such language, or the folder cannot be made.
    """
    if language not in _WORDS:
        raise UsageError(f"language: unknown value {language!r}; {nearest(language, _WORDS)}")
    words = _WORDS[language]
    written: list[Path] = []
    names = file_names(comparison.match for comparison in comparisons)
    with drawing("figures"):
        for comparison, name in zip(comparisons, names, strict=True):
            of_match = Path(folder) if len(comparisons) == 1 else Path(folder) / name
            make_folder(of_match)
            retrievers = _retrievers(comparison, evaluations, dataset, runs or {})
            interval = words["mean"].format(round(100 * comparison.statistics.confidence))
            figures = {
                "metrics": _metrics(retrievers, words, interval),
                "metric_at_k": _metric_at_k(retrievers, words),
                "scores": _scores(retrievers, words),
                "seconds": _seconds(retrievers, words),
            }
            for figure_name, figure in figures.items():
                if figure is not None:
                    for ending in (".png", ".svg"):
                        written.append(of_match / f"{figure_name}{ending}")
                        save(figure, written[-1])
    return written


def _retrievers(
    comparison: Comparison,
    evaluations: Sequence[Evaluation],
    dataset: GoldDataset | None,
    runs: Mapping[str, Run],
) -> list[_Retriever]:
    compared = [result for result in evaluations if result.match_name == comparison.match]
    shares = [name for name in comparison.metrics if metric_named(name).is_share]
    retrievers = []
    for series, (evaluation, of_metric) in enumerate(zip(compared, curves(compared), strict=True)):
        name = evaluation.name
        lists = lists_behind(evaluation, dataset, runs)
        means = comparison.overall.means[name]
        retrievers.append(
            _Retriever(
                name,
                series,
                {metric: means[metric] for metric in shares},
                {curve.metric: curve for curve in of_metric},
                histogram(evaluation),
                None if lists is None else times(lists),
            )
        )
    return retrievers


def _metrics(
    retrievers: Sequence[_Retriever], words: Mapping[str, str], interval: str
) -> Figure | None:
    metrics = [
        metric
        for metric in dict.fromkeys(name for retriever in retrievers for name in retriever.means)
        if any(retriever.means[metric].value is not None for retriever in retrievers)
    ]
    if not metrics:
        return None
    names = [retriever.name for retriever in retrievers]
    across = min(4, len(metrics))
    figure, axes = panels(words["metrics"], len(metrics), across, 3.0, 1.0 + rows_height(names))
    # Credited document by document, as other tools do it, a value may be above 1.
    highest = [
        mean.value if mean.high is None else mean.high
        for retriever in retrievers
        for mean in retriever.means.values()
    ]
    for position, (panel, metric) in enumerate(zip(axes, metrics, strict=True)):
        for row, retriever in enumerate(retrievers):
            mean, series = retriever.means[metric], retriever.series
            if mean.value is None:
                panel.text(0.02, row, "–", va="center")
                continue
            if mean.low is not None and mean.high is not None:
                panel.hlines(row, mean.low, mean.high, colour(series), linewidth=2.5, alpha=0.5)
            panel.plot(
                mean.value, row, marker(series), color=colour(series), markersize=7, clip_on=False
            )
            write_beside(panel, row, f"{mean.value:.3f}")
        panel.set_title(metric)
        unit_axis(panel, highest, "x")
        name_rows(panel, names, written=position % across == 0)
    figure.supxlabel(interval, fontsize="medium")
    return figure


def _metric_at_k(retrievers: Sequence[_Retriever], words: Mapping[str, str]) -> Figure | None:
    metrics = list(dict.fromkeys(name for retriever in retrievers for name in retriever.curves))
    if not metrics:
        return None
    figure, axes = panels(
        words["at_k"], len(metrics), 2 if len(metrics) == 4 else 3, width=4.2, height=3.2
    )
    for panel, metric in zip(axes, metrics, strict=True):
        curves_of_metric = [retriever.curves[metric] for retriever in retrievers]
        lines = {}
        for retriever, curve in zip(retrievers, curves_of_metric, strict=True):
            [lines[wrapped(retriever.name)]] = panel.plot(
                range(len(curve.ks)),
                [float("nan") if value is None else value for value in curve.values],
                color=colour(retriever.series),
                marker=marker(retriever.series),
                markersize=4.5,
                linewidth=1.8,
                alpha=0.85,
                clip_on=False,
            )
        ks = curves_of_metric[0].ks
        panel.set_xticks(range(len(ks)), list(map(str, ks)))
        panel.set(title=metric, xlabel=words["k"])
        unit_axis(panel, [value for curve in curves_of_metric for value in curve.values], "y")
    legend(figure, lines)
    return figure


def _scores(retrievers: Sequence[_Retriever], words: Mapping[str, str]) -> Figure | None:
    known = [(own.name, own.histogram) for own in retrievers if own.histogram is not None]
    if not known:
        return None
    figure, axes = panels(words["scores"], len(known), 3, 3.6, 2.4)
    most = max(max((*bars.counts, bars.nothing)) for _, bars in known)
    grades = known[0][1].top > 1
    for panel, (name, bars) in zip(axes, known, strict=True):
        width = bars.top / len(bars.counts)
        # A grade's bar stands over the grade; a score's bar to the right of where it begins.
        lefts = [place * width for place in range(len(bars.counts))]
        scores = [left + width if grades else left for left in lefts]
        panel.bar(
            [left + (width if grades else width / 2) for left in lefts],
            bars.counts,
            width * (0.7 if grades else 0.9),
            color=[_MATCH if score >= bars.threshold - 1e-9 else _BELOW for score in scores],
        )
        nothing = 0 if grades else -1.5 * width
        panel.bar(nothing, bars.nothing, width * (0.7 if grades else 1), color=_NOTHING)
        line = bars.threshold - width / 2 if grades else bars.threshold
        panel.axvline(line, color=INK, linestyle="--", linewidth=1.2)
        panel.annotate(
            words["threshold"].format(bars.threshold),
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
        panel.set_ylim(0, most * 1.12)
        panel.set_title(textwrap.shorten(name, 34, placeholder="…"))
        panel.grid(axis="y")
    figure.supxlabel(words["grade" if grades else "score"], fontsize="medium")
    figure.supylabel(words["items"], fontsize="medium")
    return figure


def _seconds(retrievers: Sequence[_Retriever], words: Mapping[str, str]) -> Figure | None:
    known = [(own, own.times) for own in retrievers if own.times is not None]
    if not known:
        return None
    figure, [axes] = panels(words["seconds"], 1, 1, 8.0, 1.2 + 0.42 * len(known))
    for row, (retriever, times_) in enumerate(known):
        own = colour(retriever.series)
        # On a logarithmic axis there is no 0.
        p5, p25, p50, p75, p95 = (
            max(seconds, 1e-6)
            for seconds in (times_.p5, times_.p25, times_.p50, times_.p75, times_.p95)
        )
        axes.hlines(row, p5, p95, own, linewidth=2.5, alpha=0.5)
        axes.barh(row, p75 - p25, 0.46, left=p25, color=own, alpha=0.6)
        axes.vlines(p50, row - 0.3, row + 0.3, INK, linewidth=2)
        write_beside(axes, row, _duration(times_.p50))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")
    name_rows(axes, [retriever.name for retriever, _ in known])
    axes.grid(axis="x")
    axes.set_xlabel(words["axis"])
    return figure


def _duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
