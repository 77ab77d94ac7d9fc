"""The one look of every figure, and how a figure is written to a file or shown.

Matplotlib's settings and pyplot's figures stay as the user left them, save for a window that shows
a chart. Korean needs no font of the system: NanumGothic comes with the package
koreanize-matplotlib, of which only the font file is used (importing the package would fail on
Python 3.12 and change settings).
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import east_asian_width

from kragx.data.formats.jsonl import make_folder, write_bytes
from kragx.ground.errors import MissingExtraError, UsageError, needing
from kragx.ground.printing import in_language, speaking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FONT = "NanumGothic"
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#6B7280", "#332288")
"""Okabe and Ito's colours for colour-blind readers, without the two that are too light."""

# Series are told apart by more than colour.
_MARKERS = ("o", "s", "^", "D", "X", "v", "P", "*")
DASHES = ("-", "--", "-.", ":")

INK, FAINT = "#2B3440", "#DDE2E8"
"""Of letters and of lines that mark; of grid lines and axes."""

_LOOK: dict[str, Any] = {
    # DejaVu Sans comes with matplotlib; what it lacks is taken from the next of the list.
    "font.family": ["DejaVu Sans", _FONT],
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,  # a name may hold dollar signs
    "text.usetex": False,
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.labelsize": "medium",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.titlesize": 14,
    "grid.color": FAINT,
    "legend.fontsize": "medium",
    "legend.frameon": False,
    "savefig.dpi": 150,
    "savefig.facecolor": "white",
    # The same data give the same bytes; letters become outlines, so that Korean shows anywhere.
    "svg.fonttype": "path",
    "svg.hashsalt": "kragx",
}


ENDINGS = (".png", ".svg", ".pdf")
"""How files of figures may end."""


@contextmanager
def drawing(purpose: str, language: str | None = None) -> Iterator[None]:
    """The look of texts, axes and files made meanwhile, and their language; what is made keeps it.

    Raises:
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed; `purpose` needs it.
        UsageError: there is no such language.
    """
    with needing("plot", purpose):
        import matplotlib
        from matplotlib import font_manager
    font = str(font_file(purpose))
    # By its file, so that a second call does not list the font twice.
    if all(entry.fname != font for entry in font_manager.fontManager.ttflist):
        font_manager.fontManager.addfont(font)
    with speaking(language), matplotlib.rc_context(_LOOK):  # type: ignore[arg-type]  # of settings
        yield


def font_file(purpose: str) -> Path:
    """Where the Korean font of koreanize-matplotlib lies.

    Raises:
        MissingExtraError: it is not installed; `purpose` needs it.
    """
    spec = find_spec("koreanize_matplotlib")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, "fonts", f"{_FONT}.ttf")
        if path.is_file():
            return path
    raise MissingExtraError(purpose, "plot")


def panels(
    title: str,
    count: int,
    across: int,
    width: float,
    height: float,
    *,
    is_interactive: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A figure of panels in rows of `across`, each `width` x `height` inches.

    Args:
        title: of the whole.
        count: how many panels.
        across: how many of them stand in a row.
        width: of a panel.
        height: of a panel.
        is_interactive: whether the figure will be shown, so that pyplot knows it if it has windows.
    """
    across = min(across, count)
    down = -(-count // across)
    size = (max(5.5, width * across), height * down + 0.7)
    figure = _figure(size, is_interactive=is_interactive)
    figure.suptitle(in_language(title), x=0.02, ha="left")
    axes = [figure.add_subplot(down, across, place) for place in range(1, count + 1)]
    for panel in axes:
        # Matplotlib makes further ticks when it draws, after `drawing`; these hold for them too.
        panel.tick_params(colors=INK, labelsize=9, length=0)
    return figure, axes


def _figure(size: tuple[float, float], *, is_interactive: bool) -> Figure:
    """A figure, which pyplot knows only if it is to be shown and its backend has windows."""
    if not is_interactive or _screen() == "none":
        from matplotlib.figure import Figure

        figure = Figure(figsize=size)
        figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.08)
        return figure
    from matplotlib import pyplot

    shown = pyplot.figure(figsize=size, layout="constrained")
    if _screen() == "cell":
        # Making it has told IPython how to show figures; else pyplot would show it once more.
        pyplot.close(shown)
    return shown


def colour(series: int) -> str:
    """The colour of a series, by its position."""
    return _COLOURS[series % len(_COLOURS)]


def marker(series: int) -> str:
    """The marker of a series, by its position."""
    return _MARKERS[series % len(_MARKERS)]


def unit_axis(
    axes: Axes, values: Sequence[float | None], along: Literal["x", "y"], room: float = 1.0
) -> None:
    """From 0 to 1; further, with a line at 1, if a value is (a value that is credited twice).

    Args:
        axes: the panel.
        values: that it shows.
        along: the axis.
        room: how many times as long the axis is, so that a number fits behind the last value.
    """
    limit = max(1.0, *(value for value in values if value is not None), 0.0)
    upright = along == "y"
    axes.set(**{f"{along}lim": (0, limit * room)})
    if limit == 1:
        # In a narrow panel there is room for every other number.
        labels = ["0", "0.25", "0.5", "0.75", "1"] if upright else ["0", "", "0.5", "", "1"]
        axes.set(**{f"{along}ticks": [0, 0.25, 0.5, 0.75, 1], f"{along}ticklabels": labels})
    else:
        mark = axes.axhline if upright else axes.axvline
        mark(1.0, color="#D55E00", linestyle="--", linewidth=1.2)
        ticks = axes.get_yticks() if upright else axes.get_xticks()
        axes.set(**{f"{along}ticks": [tick for tick in ticks if 0 <= tick <= limit]})
    axes.grid(axis=along)


def name_rows(axes: Axes, names: Sequence[str], *, written: bool = True) -> None:
    """A row for each name, from the top down; `written` at the upright axis."""
    labels = [wrapped(name) if written else "" for name in names]
    axes.set_yticks(range(len(names)), labels)
    axes.set_ylim(len(names) - 0.4, -0.6)


def write_beside(axes: Axes, row: int, text: str) -> None:
    """Write at the right end of a row, outside of the panel."""
    axes.text(1.03, row, text, va="center", transform=axes.get_yaxis_transform())


def rows_height(names: Sequence[str]) -> float:
    """The inches that `name_rows` needs for these names."""
    return sum(max(0.3, 0.18 * (wrapped(name).count("\n") + 1)) for name in names)


def wrapped(name: str) -> str:
    """A name in lines of about the same width, whatever its script; never cut."""
    # Letters of East Asia are nearly twice as wide, so fewer of them fill a line.
    return textwrap.fill(name, 14 if _width(name) > len(name) else 24) or " "


def legend(figure: Figure, handles: Mapping[str, Any]) -> None:
    """The labels of lines or patches below the panels, as many side by side as fit."""
    # Of a label that begins with a line matplotlib believes that it is not to be shown.
    labels = [f" {label}" if label.startswith("_") else label for label in handles]
    widest = max(_width(line) for label in labels for line in label.split("\n"))
    fitting = int(figure.get_figwidth() / (0.085 * widest + 0.6))
    columns = max(1, min(6, len(labels), fitting))
    figure.legend(list(handles.values()), labels, loc="outside lower center", ncols=columns)


def _width(text: str) -> float:
    """About how many letters wide a text is; those of East Asia are wider."""
    return sum(1.8 if east_asian_width(letter) in "WF" else 1.0 for letter in text)


def checked_path(path: str | Path) -> Path:
    """The file of a figure.

    Raises:
        UsageError: it ends otherwise than figures do.
    """
    if Path(path).suffix.lower() not in ENDINGS:
        raise UsageError(
            "{place}: a figure is written as {names}", place=path, names=", ".join(ENDINGS)
        )
    return Path(path)


def save_all(figures: Mapping[str, Figure | None], folder: Path) -> list[Path]:
    """Write figures by name as PNG and SVG into a folder, within `drawing`; the files.

    Raises:
        UsageError: the folder, or a file, cannot be written.
    """
    make_folder(folder)
    paths = []
    drawn = {name: figure for name, figure in figures.items() if figure is not None}
    for name, figure in drawn.items():
        for ending in (".png", ".svg"):
            paths.append(folder / f"{name}{ending}")
            save(figure, paths[-1])
    return paths


def save(figure: Figure, path: Path) -> None:
    """Write a figure, within `drawing`; the file's ending chooses its format.

    Raises:
        UsageError: the file cannot be written.
    """
    undated = {".png": {"Software": None}, ".svg": {"Date": None}}.get(path.suffix.lower())
    drawn = BytesIO()
    figure.savefig(drawn, format=path.suffix[1:] or "png", metadata=undated)
    write_bytes(path, drawn.getvalue())


def displayed(figure: Figure) -> Figure:
    """The figure, shown where there is a window or a notebook's cell to show it in."""
    if _screen() == "window":
        from matplotlib import pyplot

        pyplot.show()
    elif _screen() == "cell":
        events = _shell().events

        def show(result: Any) -> None:
            # At the cell's end, unless it is the cell's value, which IPython shows.
            events.unregister("post_run_cell", show)
            if result.result is not figure:
                import_module("IPython.display").display(figure)

        events.register("post_run_cell", show)
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
    # Looked up and not imported: whoever is in a notebook has loaded it.
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None
