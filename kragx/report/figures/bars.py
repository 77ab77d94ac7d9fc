"""Bar charts of K-RAG's metrics: one set of values, or several retrievers side by side."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isnan
from typing import TYPE_CHECKING

from kragx.ground.errors import UsageError
from kragx.report.figures.drawing import (
    displayed,
    drawing,
    legend,
    name_rows,
    panels,
    rows_height,
    unit_axis,
)

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart in grey as well.
_AVERAGES = {
    "mean": ("#56B4E9", "mean over questions"),
    "micro": ("#0072B2", "micro: all questions pooled"),
    "macro": ("#E69F00", "macro: mean over questions"),
}


def metrics_figure(values: Mapping[str, Mapping[str, float | None]], k: int | None) -> Figure:
    """A bar for each value: micro and macro averages side by side, single values alone.

    The figure is shown where a window or a notebook can show it: in a script with windows until
    they are closed (as ``pyplot.show`` does), in a notebook once, below the cell.

    Args:
        values: for each label its values, by K-RAG's names: ``{"MRR": {"mrr": 0.5}, "Recall":
            {"micro_recall": 0.4, "macro_recall": 0.5}}``; None or nothing is drawn as a dash.
        k: the cut-off, for the title.

    Raises:
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed.
    """
    with drawing("visualize_results"):
        from matplotlib.patches import Patch

        figure, [axes] = panels(_title(k), 1, 1, 11, 4.3, is_interactive=True)
        heights: list[float | None] = []
        averages = []
        for position, of_metric in enumerate(values.values()):
            # A metric without values keeps its place: figures of two runs are laid side by side.
            bars = list(of_metric.items()) or [("", None)]
            width = 0.4 if len(bars) > 1 else 0.5
            for number, (name, value) in enumerate(bars):
                prefix = name.partition("_")[0]
                averages.append(prefix if prefix in _AVERAGES else "mean")
                heights.append(_finite_or_none(value))
                x = position + (number - (len(bars) - 1) / 2) * width
                axes.bar(x, heights[-1] or 0, width * 0.95, color=_AVERAGES[averages[-1]][0])
                _write(axes, heights[-1], x=x, y=heights[-1] or 0)
        axes.set_xticks(range(len(values)), list(values))
        axes.set(xlim=(-0.6, len(values) - 0.4), xlabel="metric", ylabel="value")
        unit_axis(axes, heights, "y", room=1.1)
        legend(
            figure,
            {
                text: Patch(color=colour)
                for average, (colour, text) in _AVERAGES.items()
                if average in averages
            },
        )
    return displayed(figure)


def comparison_figure(df_mean: pandas.DataFrame, k: int | None) -> Figure:
    """A panel for each metric, a bar for each retriever, shown as `metrics_figure` is.

    Args:
        df_mean: a row for each retriever; of its columns those that end with ``@k`` are drawn.
        k: the cut-off.

    Raises:
        UsageError: there is no retriever, or no column for this k.
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed.
    """
    ending = f"@{k}"
    columns = [name for name in map(str, df_mean.columns) if name.endswith(ending)]
    if not columns:
        cuts = sorted({name.partition("@")[2] for name in map(str, df_mean.columns) if "@" in name})
        raise UsageError(
            "k: no column of df_mean ends with {ending!r}",
            remedy="it has values for k = {cuts}"
            if cuts
            else "pass what evaluate_retrieval_at_K returns first",
            ending=ending,
            cuts=", ".join(cuts),
        )
    if not len(df_mean):
        raise UsageError("df_mean: it has no row; pass one row for each retriever")
    names = list(map(str, df_mean.index))
    # Bars lie, so that names of any length stand beside them without overlap.
    with drawing("visualize_retrieval_at_K"):
        across = ceil(len(columns) / ceil(len(columns) / 5))
        height = 0.75 + 1.2 * rows_height(names)
        figure, axes = panels(_title(k), len(columns), across, 3.1, height, is_interactive=True)
        for position, (panel, column) in enumerate(zip(axes, columns, strict=True)):
            heights = list(map(_finite_or_none, df_mean[column].tolist()))
            panel.barh(range(len(names)), [height or 0 for height in heights], color="#0072B2")
            for row, value in enumerate(heights):
                _write(panel, value, x=value or 0, y=row, beside=True)
            # Panels of a row share the names of the first.
            name_rows(panel, names, written=position % across == 0)
            panel.set_title(column.removesuffix(ending))
            unit_axis(panel, heights, "x", room=1.3)
        figure.supxlabel("value", fontsize="medium")
        figure.supylabel("retriever", fontsize="medium")
    return displayed(figure)


def _write(axes: Axes, value: float | None, *, x: float, y: float, beside: bool = False) -> None:
    """Write a value at the end of its bar, readable across a line."""
    axes.annotate(
        "-" if value is None else f"{value:.3f}",
        (x, y),
        xytext=(3, 0) if beside else (0, 3),
        textcoords="offset points",
        ha="left" if beside else "center",
        va="center" if beside else "bottom",
        bbox={"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.5},
    )


def _finite_or_none(value: float | None) -> float | None:
    return None if value is None or isnan(value) else float(value)


def _title(k: int | None) -> str:
    return "Retrieval metrics " + ("of whole lists" if k is None else f"at k = {k}")
