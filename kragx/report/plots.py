"""Bar charts of K-RAG's metrics: one set of values, or several retrievers side by side.

Matplotlib's settings and pyplot's figures stay as the user left them, save for a window that shows
a chart. Korean needs no font of the system: NanumGothic comes with the package
koreanize-matplotlib, of which only the font file is used (importing the package would fail on
Python 3.12 and change settings).
"""

from __future__ import annotations

import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from math import ceil, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kragx.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FONT = "NanumGothic"
SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#6B7280", "#332288")
"""Okabe and Ito's colours for colour-blind readers, without the two that are too light."""

# Of the same palette, and told apart in grey as well.
_COLOURS = {
    "mean": ("#56B4E9", "mean over questions"),
    "micro": ("#0072B2", "micro: all questions pooled"),
    "macro": ("#E69F00", "macro: mean over questions"),
}
_LINE = "#D55E00"


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
        figure = new_figure(11, 5)
        axes = figure.add_subplot()
        heights: list[float | None] = []
        drawn: set[str] = set()
        for at, of_metric in enumerate(values.values()):
            shown = list(of_metric.items()) or [("", None)]
            width = 0.4 if len(shown) > 1 else 0.5
            for number, (name, value) in enumerate(shown):
                prefix = name.partition("_")[0]
                kind = prefix if prefix in ("micro", "macro") else "mean"
                drawn.add(kind)
                heights.append(_known(value))
                x = at + (number - (len(shown) - 1) / 2) * width
                axes.bar(x, heights[-1] or 0.0, width * 0.95, color=_COLOURS[kind][0], zorder=2)
                _write(axes, heights[-1], x=x, y=heights[-1] or 0.0)
        axes.set_xticks(range(len(values)), list(values))
        axes.set_xlim(-0.6, len(values) - 0.4)
        axes.set_xlabel("metric")
        axes.set_ylabel("value")
        _scale(axes, heights, "y")
        axes.set_title(f"Retrieval metrics {_cut(k)}")
        from matplotlib.patches import Patch

        patches = [
            Patch(color=colour, label=text)
            for kind, (colour, text) in _COLOURS.items()
            if kind in drawn
        ]
        figure.legend(handles=patches, loc="outside lower center", ncols=3, frameon=False)
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
            f"k: no column of df_mean ends with {ending!r}; "
            + (
                f"it has values for k = {', '.join(cuts)}"
                if cuts
                else "pass what evaluate_retrieval_at_K returns first"
            )
        )
    if not len(df_mean):
        raise UsageError("df_mean: it has no row; pass one row for each retriever")
    names = [_wrapped(str(name)) for name in df_mean.index]
    colour, _ = _COLOURS["micro"]
    # Bars lie, so that names of any length stand beside them without overlap.
    with drawing("visualize_retrieval_at_K"):
        lines = sum(max(1.4, name.count("\n") + 1.2) for name in names)
        down = ceil(len(columns) / 5)
        across = ceil(len(columns) / down)
        figure = new_figure(2.2 + 2.7 * across, 0.8 + down * (0.75 + 0.24 * lines))
        for at, column in enumerate(columns):
            axes = figure.add_subplot(down, across, at + 1)
            heights = [_known(value) for value in df_mean[column].tolist()]
            places = range(len(names))
            axes.barh(places, [height or 0.0 for height in heights], color=colour, zorder=2)
            for place, height in zip(places, heights):
                _write(axes, height, x=height or 0.0, y=place, beside=True)
            # Panels of a row share the names of the first.
            axes.set_yticks(places, names if at % across == 0 else [""] * len(names))
            for label in axes.get_yticklabels():
                label.set_parse_math(False)  # a name may hold dollar signs
            axes.set_ylim(len(names) - 0.4, -0.6)
            axes.set_title(column.removesuffix(ending))
            _scale(axes, heights, "x")
        figure.supxlabel("value", fontsize="medium")
        figure.supylabel("retriever", fontsize="medium")
        figure.suptitle(f"Retrieval metrics {_cut(k)}")
    return displayed(figure)


@contextmanager
def drawing(what: str) -> Iterator[None]:
    """Settings for the texts made meanwhile; a text keeps the fonts that it was made with."""
    try:
        import matplotlib
        from matplotlib import font_manager
    except ImportError:
        raise MissingExtraError(what, "plot") from None
    font = str(font_file(what))
    # By its file, so that a second call does not list the font twice.
    if all(each.fname != font for each in font_manager.fontManager.ttflist):
        font_manager.fontManager.addfont(font)
    # DejaVu Sans comes with matplotlib; what it lacks is taken from the next of the list.
    with matplotlib.rc_context({"font.family": ["DejaVu Sans", _FONT], "text.usetex": False}):
        yield


def font_file(what: str) -> Path:
    """Where the Korean font of koreanize-matplotlib lies.

    Raises:
        MissingExtraError: it is not installed; `what` needs it.
    """
    spec = find_spec("koreanize_matplotlib")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, "fonts", f"{_FONT}.ttf")
        if path.is_file():
            return path
    raise MissingExtraError(what, "plot")


def new_figure(width: float, height: float) -> Figure:
    """A figure that pyplot knows only if its backend has windows."""
    from matplotlib.figure import Figure

    size = (width, height)
    if _screen() == "none":
        return Figure(figsize=size, layout="constrained")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=size, layout="constrained")
    if _screen() == "cell":
        # Making it has told IPython how to show figures; else pyplot would show it once more.
        pyplot.close(figure)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the file's ending chooses its format, and the same data give the same bytes.

    Letters become outlines in SVG, so that Korean shows where no font has it.

    Raises:
        UsageError: the file cannot be written.
    """
    import matplotlib

    metadata = {".png": {"Software": None}, ".svg": {"Date": None}}.get(path.suffix.lower())
    settings = {"svg.hashsalt": "kragx", "svg.fonttype": "path"}
    with matplotlib.rc_context(settings):  # type: ignore[arg-type]
        try:
            figure.savefig(path, dpi=150, metadata=metadata, facecolor="white")
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


def displayed(figure: Figure) -> Figure:
    """The figure, shown where there is a window or a notebook's cell to show it in."""
    if _screen() == "cell":
        _show_below_cell(figure)
    elif _screen() == "window":
        from matplotlib import pyplot

        pyplot.show()
    return figure


def _screen() -> str:
    """Where a figure can be shown: a ``window``, a notebook's ``cell``, or ``none``."""
    import matplotlib
    from matplotlib.backends.registry import BackendFilter, backend_registry

    backend = matplotlib.get_backend().lower()
    if "inline" in backend:
        return "cell" if _shell() else "none"
    silent = backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE)  # type: ignore[no-untyped-call]
    return "none" if backend in silent else "window"


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def _show_below_cell(figure: Figure) -> None:
    """Show a figure when the cell ends, unless it is the cell's value, which IPython shows."""
    display = import_module("IPython.display").display
    events = _shell().events

    def show(result: Any) -> None:
        events.unregister("post_run_cell", show)
        if result.result is not figure:
            display(figure)

    events.register("post_run_cell", show)


def _scale(axes: Axes, values: Sequence[float | None], along: Literal["x", "y"]) -> None:
    """From 0 to 1 with room for a number above; further, with a line at 1, if a value is."""
    upright = along == "y"
    top = max((value for value in values if value is not None), default=0.0)
    limit = max(1.0, top)
    set_limits = axes.set_ylim if upright else axes.set_xlim
    set_limits(0, limit * (1.1 if upright else 1.3))
    if top <= 1:
        ticks = [0, 0.2, 0.4, 0.6, 0.8, 1] if upright else [0, 0.5, 1]
    else:
        mark = axes.axhline if upright else axes.axvline
        mark(1.0, color=_LINE, linestyle="--", linewidth=1.2, zorder=2.5)
        found = axes.get_yticks() if upright else axes.get_xticks()
        ticks = [tick for tick in found if 0 <= tick <= limit]
    set_ticks: Callable[[Sequence[float]], Any] = axes.set_yticks if upright else axes.set_xticks
    set_ticks(ticks)
    axes.grid(axis=along, color="0.5", alpha=0.25, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)


def _write(axes: Axes, value: float | None, *, x: float, y: float, beside: bool = False) -> None:
    """Write a value at the end of its bar, readable across a line."""
    axes.annotate(
        "-" if value is None else f"{value:.3f}",
        (x, y),
        xytext=(3, 0) if beside else (0, 3),
        textcoords="offset points",
        ha="left" if beside else "center",
        va="center" if beside else "bottom",
        fontsize=9,
        bbox={"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.5},
        zorder=3,
    )


def _known(value: float | None) -> float | None:
    return None if value is None or isnan(value) else float(value)


def _cut(k: int | None) -> str:
    return "of whole lists" if k is None else f"at k = {k}"


def _wrapped(name: str) -> str:
    """A name in lines of about the same width, whatever its script."""
    wide = any(unicodedata.east_asian_width(letter) in "WF" for letter in name)
    return textwrap.fill(name, 14 if wide else 24) or " "
