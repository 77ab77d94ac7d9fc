"""A metric's lines: where each point, band and label of the drawing stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

from kragx.comparison.history import History, Series
from kragx.comparison.view import Estimate

WIDTH, HEIGHT = 960, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 14, 40

COLOURS = 8
SHAPES = ("circle", "square", "diamond", "up", "down")
"""With eight colours forty series before a mark repeats."""

_MOST_LABELS = 10


@dataclass(frozen=True)
class Mark:
    """A point of a line.

    Attributes:
        x, y: where it stands.
        run: the number of its run.
        estimate: its value.
        verdict: against the run before; empty for none.
        path: the outline of its shape.
    """

    x: float
    y: float
    run: int
    estimate: Estimate
    verdict: str
    path: str


@dataclass(frozen=True)
class Drawn:
    """A series: pieces of a line that are each joined, and a band for each."""

    colour: int
    marks: tuple[Mark, ...]
    lines: tuple[str, ...]
    bands: tuple[str, ...]


@dataclass(frozen=True)
class Chart:
    """The drawing of a metric.

    Attributes:
        metric: which.
        series: the lines, in the order of the history's; None for one without a value.
        levels: heights with the values there.
        dates: places below with the numbers of the runs there.
        breaks: places where all lines are broken.
    """

    metric: str
    series: tuple[Drawn | None, ...]
    levels: tuple[tuple[float, float], ...]
    dates: tuple[tuple[float, int], ...]
    breaks: tuple[float, ...]


def chart(history: History, metric: str) -> Chart:
    """The drawing of a metric."""
    known = [_known(own, metric) for own in history.series]
    every = [estimate for own in known for _, estimate in own]
    numbers = [
        value for own in every for value in (own.value, own.low, own.high) if value is not None
    ]
    low, high = _ends(numbers)
    n = len(history.runs)

    def across(run: int) -> float:
        inner = WIDTH - _LEFT - _RIGHT
        return round(_LEFT + inner * ((run + 0.5) / n), 1)

    def down(value: float) -> float:
        inner = HEIGHT - _TOP - _BOTTOM
        return round(_TOP + inner * (high - value) / (high - low), 1)

    series = []
    for number, (own, points) in enumerate(zip(history.series, known)):
        marks = []
        for run, estimate in points:
            x, y = across(run), down(estimate.value or 0.0)
            test = own.steps[run]
            verdict = test.tests[metric].verdict if test and metric in test.tests else ""
            size = 4.5 if n <= 60 else 2.5
            marks.append(Mark(x, y, run, estimate, verdict, outline(number, x, y, size)))
        pieces = list(_pieces(own, marks))
        lines = tuple(
            " ".join(f"{mark.x},{mark.y}" for mark in piece) for piece in pieces if len(piece) > 1
        )
        bands = tuple(band for piece in pieces if (band := _band(piece, down)))
        series.append(Drawn(number % COLOURS, tuple(marks), lines, bands) if marks else None)
    steps = _steps(low, high)
    every_nth = max(ceil(n / _MOST_LABELS), 1)
    return Chart(
        metric,
        tuple(series),
        tuple((down(level), level) for level in steps),
        tuple((across(run), run) for run in range(0, n, every_nth)),
        tuple(
            round((across(run - 1) + across(run)) / 2, 1)
            for run in range(1, n)
            if _is_broken(history, run)
        ),
    )


def _known(series: Series, metric: str) -> list[tuple[int, Estimate]]:
    return [
        (run, point.estimates[metric])
        for run, point in enumerate(series.points)
        if point is not None
        and not point.failed
        and metric in point.estimates
        and point.estimates[metric].value is not None
    ]


def _is_broken(history: History, run: int) -> bool:
    steps = [own.steps[run] for own in history.series]
    known = [step for step in steps if step is not None]
    return bool(known) and not any(own.joined for own in known)


def _pieces(series: Series, marks: Sequence[Mark]) -> Iterator[list[Mark]]:
    """Marks whose numbers mean the same, one after the other."""
    piece: list[Mark] = []
    for before, mark in pairwise((None, *marks)):
        assert mark is not None
        # A run without this metric lies between: what broke there breaks here.
        since = 0 if before is None else before.run + 1
        between = [step for step in series.steps[since : mark.run + 1] if step is not None]
        if piece and not all(own.joined for own in between):
            yield piece
            piece = []
        piece.append(mark)
    if piece:
        yield piece


def _band(piece: Sequence[Mark], down: Callable[[float], float]) -> str:
    """The outline of the intervals along a piece; of a single mark a bar."""
    known = [
        (mark.x, down(mark.estimate.low), down(mark.estimate.high))
        for mark in piece
        if mark.estimate.low is not None and mark.estimate.high is not None
    ]
    if not known:
        return ""
    if len(known) == 1:
        x, low, high = known[0]
        known = [(x - 3, low, high), (x + 3, low, high)]
    outline = [(x, high) for x, _, high in known] + [(x, low) for x, low, _ in reversed(known)]
    return " ".join(f"{x},{y}" for x, y in outline)


def outline(number: int, x: float, y: float, size: float) -> str:
    """The mark of a series by its number, around a place."""
    return _outline(SHAPES[number // COLOURS % len(SHAPES)], x, y, size)


def _outline(shape: str, x: float, y: float, r: float) -> str:
    corners = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        "up": ((0, -1.2), (1.2, 1), (-1.2, 1)),
        "down": ((0, 1.2), (1.2, -1), (-1.2, -1)),
    }
    if shape == "circle":
        return f"M{x - r:.1f},{y} a{r},{r} 0 1,0 {2 * r},0 a{r},{r} 0 1,0 {-2 * r},0z"
    points = [f"{x + r * right:.1f},{y + r * below:.1f}" for right, below in corners[shape]]
    return f"M{' L'.join(points)}z"


def _ends(numbers: Sequence[float]) -> tuple[float, float]:
    """Where the axis begins and ends: of shares within 0 and 1, with room around the values."""
    if not numbers:
        return 0.0, 1.0
    low, high = min(numbers), max(numbers)
    room = max((high - low) * 0.08, abs(high) * 0.02) or 1.0  # all are 0
    is_share = low >= 0 and high <= 1
    return (max(low - room, 0.0), min(high + room, 1.0)) if is_share else (low - room, high + room)


def _steps(low: float, high: float) -> list[float]:
    """About five round values between two."""
    rough = (high - low) / 5
    unit = 10.0 ** floor(log10(rough))
    size = next(unit * many for many in (1, 2, 5, 10) if unit * many >= rough * 0.999)
    first = ceil(low / size - 1e-9)
    return [round(at * size, 10) for at in range(first, floor(high / size + 1e-9) + 1)]
