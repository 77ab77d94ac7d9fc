"""A small figure for notebooks: a value and its interval in each row, as SVG without a script."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from kragx.printing.numbers import number
from kragx.printing.parts import visible

_WIDTH, _LABEL, _ROW, _EDGE = 560, 170, 22, 14
"""Pixels: of the figure, of the names, of a row, and beside the scale."""

_LONGEST = 24
"""Characters of a name; the whole of it stands in a tooltip."""


@dataclass(frozen=True)
class Dot:
    """A row: a name, its value, and the ends of its interval, where there is one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    best: bool = False


def dots(title: str, rows: Sequence[Dot]) -> str:
    """The figure; nothing without rows.

    It takes the page's own colour of texts, so that it can be read on dark pages too.
    """
    if not rows:
        return ""
    ends = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    first, last = min(ends), max(ends)
    if first >= 0 and last <= 1:
        first, last = 0.0, 1.0
    width = _WIDTH - _LABEL - 2 * _EDGE

    def place(value: float) -> str:
        share = (value - first) / (last - first) if last > first else 0.5
        return f"{_LABEL + _EDGE + share * width:.1f}"

    height = _ROW * (len(rows) + 2)
    bottom = _ROW * (len(rows) + 1)
    pieces = [f"<text x='0' y='15' font-weight='bold'>{escape(visible(title))}</text>"]
    for line, row in enumerate(rows, 1):
        middle = line * _ROW + _ROW // 2
        name = visible(row.name)
        short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        weight = " font-weight='bold'" if row.best else ""
        pieces.append(f"<text x='0' y='{middle + 4}'{weight}>{escape(short)}</text>")
        if row.low is not None and row.high is not None:
            pieces.append(
                f"<line x1='{place(row.low)}' x2='{place(row.high)}' y1='{middle}' y2='{middle}' "
                "stroke='currentColor' stroke-width='2' opacity='.55'/>"
            )
        shape = f"<circle cx='{place(row.value)}' cy='{middle}' r='4.5'>"
        pieces.append(f"{shape}<title>{escape(name)}: {number(row.value)}</title></circle>")
    for value, anchor in ((first, "start"), (last, "end")):
        pieces.append(
            f"<text x='{place(value)}' y='{bottom + 16}' text-anchor='{anchor}' opacity='.75'>"
            f"{value:g}</text>"
        )
    scale = f"<line x1='{place(first)}' x2='{place(last)}' y1='{bottom}' y2='{bottom}'"
    pieces.append(f"{scale} stroke='currentColor' opacity='.4'/>")
    return svg(title, _WIDTH, height, pieces)


def svg(title: str, width: int, height: int, pieces: Sequence[str]) -> str:
    """A drawing in the colour of the texts around it, for eyes and for screen readers."""
    return (
        f"<svg role='img' aria-label='{escape(visible(title), quote=True)}' width='{width}' "
        f"height='{height}' viewBox='0 0 {width} {height}' fill='currentColor' "
        f"font-family='sans-serif' font-size='12'>{''.join(pieces)}</svg>"
    )
