"""Figures of a comparison as PNG and SVG: metrics, curves over k, scores, query times.

    metrics     each metric by retriever with its interval      scores   gold beside the threshold
    metric_at_k each metric at growing k, a line a retriever    seconds  the time that queries took

The same data give the same SVG: it carries no date, and its ids do not change. Letters are drawn
as shapes, with the font of koreanize-matplotlib, so Korean shows on a machine without any font.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from kragx.comparison import Comparison, Estimate
from kragx.data.formats.jsonl import make_folder
from kragx.data.gold import GoldDataset
from kragx.data.runs import Run
from kragx.data.text import file_names
from kragx.errors import UsageError, nearest
from kragx.evaluation.answers import answers, found, kept_answers
from kragx.evaluation.curves import Curve, Histogram, Times, curves, histogram, is_share, times
from kragx.evaluation.evaluation import Evaluation
from kragx.report.plots import SERIES, drawing, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = ("o", "s", "^", "D", "X", "v", "P", "*")
_MATCH, _BELOW, _NOTHING = "#009E73", "#E69F00", "#9AA3AF"
_INK, _GRID = "#2B3440", "#DDE2E8"
_LINES = 3

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
        "threshold": "threshold {}",
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
        "threshold": "임계값 {}",
        "seconds": "질문당 걸린 시간",
        "axis": "초 (선 5~95 %, 상자 25~75 %, 굵은 선 중앙값)",
    },
}


@dataclass(frozen=True)
class _Shown:
    """What figures show of the retrievers of one matcher, in the same order throughout."""

    names: tuple[str, ...]
    words: Mapping[str, str]
    confidence: float
    means: Mapping[str, Sequence[Estimate]]
    curves: Sequence[Sequence[Curve]]
    histograms: Sequence[Histogram | None]
    times: Sequence[Times | None]


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
    written: list[Path] = []
    with drawing("figures"):
        for comparison, name in zip(
            comparisons, file_names(each.match for each in comparisons), strict=True
        ):
            own = Path(folder) if len(comparisons) == 1 else Path(folder) / name
            make_folder(own)
            shown = _shown(comparison, evaluations, dataset, runs or {}, _WORDS[language])
            for figure_name, draw in _FIGURES.items():
                figure = draw(shown)
                if figure is not None:
                    written += _save(figure, own / figure_name)
    return written


def _shown(
    comparison: Comparison,
    evaluations: Sequence[Evaluation],
    dataset: GoldDataset | None,
    runs: Mapping[str, Run],
    words: Mapping[str, str],
) -> _Shown:
    own = [each for each in evaluations if each.match_name == comparison.match]
    answered = [
        answers(each, dataset, runs[each.name])
        if dataset is not None and each.name in runs
        else kept_answers(each)
        for each in own
    ]
    bounded = [name for name in comparison.metrics if is_share(name)]
    return _Shown(
        names=tuple(each.name for each in own),
        words=words,
        confidence=comparison.statistics.confidence,
        means={
            metric: [comparison.overall.means[each.name][metric] for each in own]
            for metric in bounded
        },
        curves=curves(own),
        histograms=[histogram(each, found(each.table, each.profile.rel)) for each in own],
        times=[None if rows is None else times(rows) for rows in answered],
    )


def _save(figure: Figure, path: Path) -> list[Path]:
    files = [path.with_suffix(suffix) for suffix in (".png", ".svg")]
    for file in files:
        save_figure(figure, file)
    return files


def _grid(title: str, panels: int, across: int, width: float, height: float) -> tuple[Figure, Any]:
    """A figure of some panels in rows; each is `width` x `height` inches."""
    from matplotlib.figure import Figure

    across = min(across, panels)
    down = -(-panels // across)
    figure = Figure(figsize=(max(5.5, width * across), height * down + 0.7))
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.08)
    figure.suptitle(title, fontsize=14, color=_INK, x=0.02, ha="left")
    axes = [figure.add_subplot(down, across, at + 1) for at in range(panels)]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.spines[["left", "bottom"]].set_color(_GRID)
        each.tick_params(colors=_INK, labelsize=9, length=0)
    return figure, axes


def _names(axes: Axes, names: Sequence[str], *, written: bool = True) -> None:
    """Names of retrievers along the upright axis, from the top down; dollar signs as they are."""
    labels = [_wrapped(name) for name in names] if written else [""] * len(names)
    axes.set_yticks(range(len(names)), labels)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _wrapped(name: str) -> str:
    """A name in at most three lines."""
    lines = textwrap.wrap(name, 18 if _width(name) > len(name) else 24) or [" "]
    if len(lines) > _LINES:  # names often differ at their end
        lines = [*lines[: _LINES - 1], f"…{lines[-1]}"]
    return "\n".join(lines)


def _width(text: str) -> float:
    """About how many letters wide a text is; those of East Asia are wider."""
    return sum(1.8 if east_asian_width(letter) in "WF" else 1.0 for letter in text)


def _metrics(shown: _Shown) -> Figure | None:
    known = {
        metric: own
        for metric, own in shown.means.items()
        if any(each.value is not None for each in own)
    }
    if not known:
        return None
    across = 4 if len(known) > 4 else len(known)
    figure, panels = _grid(
        shown.words["metrics"], len(known), across, 3.0, 1.0 + sum(map(_height, shown.names))
    )
    # Credited document by document, as other tools do it, a value may be above 1.
    highest = max((each.high or each.value or 0.0) for own in known.values() for each in own)
    for at, (axes, (metric, own)) in enumerate(zip(panels, known.items())):
        for row, each in enumerate(own):
            colour = SERIES[row % len(SERIES)]
            if each.value is None:
                axes.text(0.02, row, "–", va="center", color=_INK)
                continue
            if each.low is not None and each.high is not None:
                axes.plot([each.low, each.high], [row, row], color=colour, linewidth=2.5, alpha=0.5)
            axes.plot(
                each.value,
                row,
                _MARKERS[row % len(_MARKERS)],
                color=colour,
                markersize=7,
                clip_on=False,
            )
            axes.text(
                1.04,
                row,
                f"{each.value:.3f}",
                va="center",
                fontsize=9,
                color=_INK,
                transform=axes.get_yaxis_transform(),
            )
        axes.set_title(metric, fontsize=11, color=_INK, loc="left")
        axes.set_xlim(0, max(1.0, highest))
        if highest <= 1:
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        axes.grid(axis="x", color=_GRID)
        axes.set_axisbelow(True)
        _names(axes, shown.names, written=at % across == 0)
    figure.supxlabel(
        shown.words["mean"].format(round(100 * shown.confidence)), fontsize=9, color=_INK
    )
    return figure


def _height(name: str) -> float:
    """Inches that a row needs for a name."""
    return 0.3 if "\n" not in (lines := _wrapped(name)) else 0.18 * (lines.count("\n") + 1)


def _columns(inches: float, names: Sequence[str]) -> int:
    """How many of these names stand side by side in a legend."""
    widest = max(_width(line) for name in names for line in _wrapped(name).split("\n"))
    return max(1, min(6, len(names), int(inches / (0.085 * widest + 0.6))))


def _metric_at_k(shown: _Shown) -> Figure | None:
    known = [of_run for of_run in shown.curves if of_run]
    if not known:
        return None
    kinds = [each.metric for each in known[0]]
    across = 2 if len(kinds) == 4 else min(3, len(kinds))
    figure, panels = _grid(shown.words["at_k"], len(kinds), across, 4.2, 3.2)
    for at, (axes, kind) in enumerate(zip(panels, kinds)):
        for row, (name, of_run) in enumerate(zip(shown.names, shown.curves)):
            curve = of_run[at]
            axes.plot(
                range(len(curve.ks)),
                [float("nan") if value is None else value for value in curve.values],
                color=SERIES[row % len(SERIES)],
                marker=_MARKERS[row % len(_MARKERS)],
                markersize=4.5,
                linewidth=1.8,
                alpha=0.85,
                clip_on=False,
                label=_wrapped(name) if not name.startswith("_") else f" {_wrapped(name)}",
            )
        ks = known[0][at].ks
        axes.set_xticks(range(len(ks)), [str(k) for k in ks])
        axes.set_ylim(0, None if axes.get_ylim()[1] > 1.05 else 1)
        axes.set_title(kind, fontsize=11, color=_INK, loc="left")
        axes.grid(axis="y", color=_GRID)
        axes.set_xlabel(shown.words["k"], fontsize=9, color=_INK)
    legend = figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=_columns(figure.get_figwidth(), shown.names),
        frameon=False,
        fontsize=9,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def _scores(shown: _Shown) -> Figure | None:
    known = [(name, each) for name, each in zip(shown.names, shown.histograms) if each is not None]
    if not known:
        return None
    figure, panels = _grid(shown.words["scores"], len(known), 3, 3.6, 2.4)
    most = max(max((*each.counts, each.nothing)) for _, each in known)
    grades = known[0][1].top > 1
    for axes, (name, each) in zip(panels, known):
        width = each.top / len(each.counts)
        lefts = [at * width for at in range(len(each.counts))]
        # A grade's bar stands over the grade; a score's bar to the right of where it begins.
        offset = width if grades else width / 2
        matched = [left + (width if grades else 0) >= each.threshold - 1e-9 for left in lefts]
        axes.bar(
            [left + offset for left in lefts],
            each.counts,
            width * (0.7 if grades else 0.9),
            color=[_MATCH if match else _BELOW for match in matched],
        )
        axes.bar(
            0 if grades else -1.5 * width,
            each.nothing,
            width * 0.7 if grades else width,
            color=_NOTHING,
        )
        line = each.threshold - width / 2 if grades else each.threshold
        axes.axvline(line, color=_INK, linestyle="--", linewidth=1.2)
        axes.annotate(
            shown.words["threshold"].format(f"{each.threshold:g}"),
            (line, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -2),
            textcoords="offset points",
            va="top",
            fontsize=8.5,
            color=_INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
        )
        if grades:
            axes.set_xticks(range(int(each.top) + 1))
        else:
            marks = [0.25 * at * each.top for at in range(1, 5)]
            axes.set_xticks([-1.5 * width, *marks], ["0", *(f"{mark:g}" for mark in marks)])
        axes.set_ylim(0, most * 1.12)
        axes.set_title(
            textwrap.shorten(name, 34, placeholder="…"), fontsize=11, color=_INK, loc="left"
        ).set_parse_math(False)
        axes.grid(axis="y", color=_GRID)
        axes.set_axisbelow(True)
    figure.supxlabel(shown.words["grade" if grades else "score"], fontsize=9, color=_INK)
    figure.supylabel(shown.words["items"], fontsize=9, color=_INK)
    return figure


def _seconds(shown: _Shown) -> Figure | None:
    known = [
        (row, name, each)
        for row, (name, each) in enumerate(zip(shown.names, shown.times))
        if each is not None
    ]
    if not known:
        return None
    figure, panels = _grid(shown.words["seconds"], 1, 1, 8.0, 1.2 + 0.42 * len(known))
    axes = panels[0]
    for at, (row, _, each) in enumerate(known):
        colour = SERIES[row % len(SERIES)]
        least = max(each.p5, 1e-6)
        axes.plot([least, max(each.p95, 1e-6)], [at, at], color=colour, linewidth=2.5, alpha=0.5)
        left = max(each.p25, 1e-6)
        axes.barh(at, max(each.p75, 1e-6) - left, 0.46, left=left, color=colour, alpha=0.6)
        axes.plot([max(each.p50, 1e-6)] * 2, [at - 0.3, at + 0.3], color=_INK, linewidth=2)
        axes.text(
            1.02,
            at,
            _duration(each.p50),
            va="center",
            fontsize=9,
            color=_INK,
            transform=axes.get_yaxis_transform(),
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")
    _names(axes, [name for _, name, _ in known])
    axes.grid(axis="x", color=_GRID)
    axes.set_axisbelow(True)
    axes.set_xlabel(shown.words["axis"], fontsize=9, color=_INK)
    return figure


def _duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


_FIGURES: Mapping[str, Callable[[_Shown], Figure | None]] = {
    "metrics": _metrics,
    "metric_at_k": _metric_at_k,
    "scores": _scores,
    "seconds": _seconds,
}
