"""How a metric responds to each axis of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kragx.comparison.tuning.grid import Setting, value_label
from kragx.comparison.tuning.rules import Rules
from kragx.ground.printing import Cell, Table, joined, number, phrase, visible
from kragx.metrics import Floats


@dataclass(frozen=True)
class Point:
    """The mean over all settings with one value on an axis.

    Attributes:
        value: on the axis, as it is written.
        mean, low, high: over all questions.
        n_settings: over how many settings of each question the mean is.
        told_apart: of the whole axis, whether another value was told to be better.
    """

    value: str
    mean: float
    low: float | None
    high: float | None
    n_settings: int
    told_apart: bool = False


@dataclass(frozen=True)
class Curve:
    """How a metric responds to an axis.

    Attributes:
        of: whose grid.
        axis: which.
        points: in the grid's order.
    """

    of: str
    axis: str
    points: tuple[Point, ...]

    @property
    def label(self) -> str:
        """Whose axis it is."""
        return f"{self.of}: {self.axis}"

    def table(self, metric: str) -> Table:
        """The axis across, the metric's mean below it."""
        cells = [
            Cell(
                joined(" ", [number(point.mean), "▼" * point.told_apart]),
                below=interval_text(point.low, point.high),
            )
            for point in self.points
        ]
        n = self.points[0].n_settings
        return Table(
            [self.label, *(visible(point.value) for point in self.points)],
            [[metric, *cells]],
            note=phrase(
                "over all questions; ▼ another value was told to be better"
                if n == 1
                else "each the mean of {n} settings, over all questions; ▼ another value was told "
                "to be better",
                n=n,
            ),
        )


def interval_text(low: float | None, high: float | None) -> str:
    """The ends of an interval below its mean; nothing without one."""
    return "" if low is None or high is None else f"{low:.3f} {high:.3f}"


def curves_of(
    compared: Sequence[Setting], values: Floats, weights: Floats | None, rules: Rules
) -> Iterator[Curve]:
    """The curve of each axis with several values, over all settings.

    A point is the mean, over questions, of the mean of the settings with that value. Only settings
    whose counterparts at every other value of the axis are there too take part, so that points
    differ by the axis alone. Whether one value is told from the best is corrected for the number of
    axes (Bonferroni).

    Args:
        compared: the settings.
        values: (q, m) of each; none missing.
        weights: (q); None where all are alike.
        rules: how means are made and compared.
    """
    # By their labels: values may be lists or mappings, which are no keys.
    axes: dict[tuple[str, str], dict[str, int]] = {}
    for setting in compared:
        for place, (axis, value) in zip(setting.places, setting.values.items()):
            axes.setdefault((setting.of, axis), {})[value_label(value)] = place
    # As the grid has them, whichever setting came first.
    several = {
        key: sorted(place_of, key=place_of.__getitem__)
        for key, place_of in axes.items()
        if len(place_of) > 1
    }
    for (name, axis), labels in several.items() if len(values) else ():
        if not (matched := _matched(compared, name, axis, labels)):
            continue
        means = np.stack(
            [values[:, [columns[label] for columns in matched]].mean(axis=1) for label in labels],
            axis=1,
        )
        # Several axes are looked at: each is tested at its part of the level (Bonferroni).
        significant = rules.behind(means, weights).p <= (1 - rules.confidence) / len(several)
        rows = zip(labels, rules.means(means, weights), significant)
        points = (Point(label, *mean, len(matched), bool(differs)) for label, mean, differs in rows)
        yield Curve(name, axis, tuple(points))


def _matched(
    compared: Sequence[Setting], name: str, axis: str, labels: Sequence[str]
) -> list[Mapping[str, int]]:
    """For each choice of the other axes the columns by the value of this one, if all are there."""
    rest: dict[tuple[tuple[str, str], ...], dict[str, int]] = {}
    for column, setting in enumerate(compared):
        if setting.of == name:
            named = {name: value_label(value) for name, value in setting.values.items()}
            label = named.pop(axis)
            rest.setdefault(tuple(named.items()), {})[label] = column
    return [columns for columns in rest.values() if columns.keys() == {*labels}]
