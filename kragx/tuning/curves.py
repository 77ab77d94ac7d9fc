"""How a metric responds to each axis of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from kragx.metrics import Floats
from kragx.tuning.grid import Setting, value_label
from kragx.tuning.rules import Rules
from kragx.tuning.tuning import Curve, Point


class _OfSetting(Protocol):
    @property
    def setting(self) -> Setting: ...


def curves_of(compared: Sequence[_OfSetting], values: Floats, rules: Rules) -> tuple[Curve, ...]:
    """The curve of each axis with several values, over all settings and with each other axis held.

    A point is the mean, over questions, of the mean of the settings with that value. Only settings
    whose counterparts at every other value of the axis are there too take part, so that points
    differ by the axis alone. Whether one value is told from the best is corrected for the number of
    axes (Bonferroni).

    Args:
        compared: the settings.
        values: (q, m) of each; none missing.
        rules: how means are made and compared.
    """
    return tuple(_curves(compared, values, rules)) if len(values) else ()


def _curves(compared: Sequence[_OfSetting], values: Floats, rules: Rules) -> Iterator[Curve]:
    labels = [
        (own.setting.of, {axis: value_label(value) for axis, value in own.setting.values.items()})
        for own in compared
    ]
    axes: dict[tuple[str, str], dict[str, int]] = {}
    for own, (of, labelled) in zip(compared, labels):
        for place, (axis, label) in zip(own.setting.places, labelled.items()):
            axes.setdefault((of, axis), {})[label] = place
    for listed in axes.values():  # as the grid has them, whichever setting came first
        ordered = sorted(listed.items(), key=lambda item: item[1])
        listed.clear()
        listed.update(ordered)
    several = {key: listed for key, listed in axes.items() if len(listed) > 1}
    alpha = (1 - rules.confidence) / max(len(several), 1)
    for (of, axis), listed in several.items():
        yield from _curve(of, axis, {}, listed, labels, values, rules, alpha)
        for (whose, other), held in several.items():
            for label in held if whose == of and other != axis else ():
                yield from _curve(of, axis, {other: label}, listed, labels, values, rules, None)


def _curve(
    of: str,
    axis: str,
    among: Mapping[str, str],
    listed: Mapping[str, int],
    labels: Sequence[tuple[str, Mapping[str, str]]],
    values: Floats,
    rules: Rules,
    alpha: float | None,
) -> Iterator[Curve]:
    rest: dict[tuple[tuple[str, str], ...], dict[str, int]] = {}
    for column, (whose, labelled) in enumerate(labels):
        if whose == of and among.items() <= labelled.items():
            key = tuple(item for item in labelled.items() if item[0] != axis)
            rest.setdefault(key, {})[labelled[axis]] = column
    matched = [columns for columns in rest.values() if columns.keys() == listed.keys()]
    if not matched:
        return
    of_values = np.stack(
        [values[:, [columns[label] for columns in matched]].mean(axis=1) for label in listed],
        axis=1,
    )
    told = np.zeros(len(listed), bool) if alpha is None else rules.behind(of_values).p <= alpha
    points = tuple(
        Point(label, mean, low, high, len(matched), bool(apart))
        for label, (mean, low, high), apart in zip(listed, rules.means(of_values), told)
    )
    yield Curve(of, axis, among, points)
