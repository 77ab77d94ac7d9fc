"""How a metric responds to each axis of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kragx.comparison.tuning.grid import Setting, value_label
from kragx.comparison.tuning.rules import Rules
from kragx.comparison.tuning.tuning import Curve, Point
from kragx.metrics import Floats


def curves_of(
    compared: Sequence[Setting], values: Floats, rules: Rules, weights: Floats | None = None
) -> Iterator[Curve]:
    """The curve of each axis with several values, over all settings.

    A point is the mean, over questions, of the mean of the settings with that value. Only settings
    whose counterparts at every other value of the axis are there too take part, so that points
    differ by the axis alone. Whether one value is told from the best is corrected for the number of
    axes (Bonferroni).

    Args:
        compared: the settings.
        values: (q, m) of each; none missing.
        rules: how means are made and compared.
        weights: (q); None where all are alike.
    """
    axes: dict[tuple[str, str], dict[str, int]] = {}
    for setting in compared:
        for place, (axis, value) in zip(setting.places, setting.values.items()):
            axes.setdefault((setting.of, axis), {})[value_label(value)] = place
    # As the grid has them, whichever setting came first.
    listed = {key: sorted(labels, key=labels.__getitem__) for key, labels in axes.items()}
    several = {key: labels for key, labels in listed.items() if len(labels) > 1}
    for (name, axis), labels in several.items() if len(values) else ():
        matched = _matched(compared, name, axis, labels)
        if not matched:
            continue
        means = np.stack(
            [values[:, [columns[label] for columns in matched]].mean(axis=1) for label in labels],
            axis=1,
        )
        # Several axes are looked at: each is tested at its part of the level (Bonferroni).
        significant = rules.behind(means, weights).p <= (1 - rules.confidence) / len(several)
        points = (
            Point(label, mean, low, high, len(matched), bool(differs))
            for label, (mean, low, high), differs in zip(
                labels, rules.means(means, weights), significant
            )
        )
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
