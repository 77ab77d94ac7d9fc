"""A small figure for notebooks: values that hold up to a place, as SVG without a script."""

from collections.abc import Mapping, Sequence
from html import escape

from kragx.printing.dots import svg
from kragx.printing.parts import visible

_WIDTH, _LEFT, _RIGHT, _TOP, _HEIGHT, _BELOW = 560, 34, 190, 26, 150, 22
"""Pixels: of the figure, beside the scale of values, of the names, of the title, of the drawing, of
the scale below it."""

_APART = 15
"""Pixels between the names of two lines."""

_MOST = 8
"""Lines that can be told from each other."""

_DASHES = ("", "6 3", "2 3", "9 3 2 3", "12 3", "4 2 1 2", "1 2", "8 2 2 2 2 2")


def steps(
    title: str,
    places: Sequence[float],
    series: Mapping[str, Sequence[float | None]],
    marked: float | None = None,
) -> str:
    """The figure: a line of steps for each of the first `_MOST` series; nothing without a value.

    Args:
        title: what it shows.
        places: (t) where there is a value, ascending; each holds up to its place.
        series: by name (t) values; None where there is none.
        marked: a place that stands out.
    """
    lines = {
        name: [(place, value) for place, value in zip(places, values) if value is not None]
        for name, values in list(series.items())[:_MOST]
    }
    lines = {name: points for name, points in lines.items() if points}
    if not lines:
        return ""
    first, last = places[0], places[-1]
    values = [value for points in lines.values() for _, value in points]
    low, high = min(0.0, *values), max(1.0, *values)

    def x(at: float) -> float:
        share = (at - first) / (last - first) if last > first else 0.5
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + (high - value) / (high - low) * _HEIGHT

    bottom = _TOP + _HEIGHT
    pieces = [f"<text x='0' y='15' font-weight='bold'>{escape(visible(title))}</text>"]
    pieces += [
        f"<line x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{at}' y2='{at}' stroke='currentColor' "
        "opacity='.4'/>"
        for at in (_TOP, bottom)
    ]
    if marked is not None and first <= marked <= last:
        pieces.append(
            f"<line x1='{x(marked):.1f}' x2='{x(marked):.1f}' y1='{_TOP}' y2='{bottom}' "
            "stroke='currentColor' stroke-dasharray='1 3'/>"
        )
    for line, (name, points) in enumerate(lines.items()):
        path = f"M{x(points[0][0]):.1f} {y(points[0][1]):.1f}"
        path += "".join(f"V{y(value):.1f}H{x(at):.1f}" for at, value in points[1:])
        stroke = f"stroke='currentColor' stroke-width='1.6' stroke-dasharray='{_DASHES[line]}'"
        shown = escape(visible(name))
        pieces.append(f"<path d='{path}' fill='none' {stroke}><title>{shown}</title></path>")
        beside = _TOP + 6 + line * _APART
        start = _WIDTH - _RIGHT + 8
        pieces.append(
            f"<line x1='{start}' x2='{start + 26}' y1='{beside}' y2='{beside}' {stroke}/>"
            f"<text x='{start + 32}' y='{beside + 4}'>{shown}</text>"
        )
    for value, height in ((high, _TOP), (low, bottom)):
        pieces.append(
            f"<text x='{_LEFT - 6}' y='{height + 4}' text-anchor='end' opacity='.75'>"
            f"{value:g}</text>"
        )
    for at, anchor in ((first, "start"), (last, "end")):
        pieces.append(
            f"<text x='{x(at):.1f}' y='{bottom + 16}' text-anchor='{anchor}' opacity='.75'>"
            f"{at:g}</text>"
        )
    return svg(title, _WIDTH, bottom + _BELOW, pieces)
