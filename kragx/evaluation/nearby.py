"""A retriever's means at thresholds around the chosen one, and which thresholds can be chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from kragx.ground.errors import UsageError
from kragx.matchers import check_threshold

_NEIGHBOURHOOD = 0.1
"""How far from the chosen threshold a conclusion should hold."""

_STEPS = 4  # thresholds on either side of the chosen one: few, as they take time


@dataclass(frozen=True)
class Nearby:
    """A retriever's means at thresholds around the chosen one.

    Attributes:
        chosen: the threshold of the evaluation.
        thresholds: (t) where, ascending; the chosen one is among them.
        means: for each metric its mean at each of them; None where it has none.
    """

    chosen: float
    thresholds: tuple[float, ...]
    means: Mapping[str, tuple[float | None, ...]]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Nearby:
        """From its plain values."""
        thresholds = tuple(record["thresholds"])
        means = {name: tuple(values) for name, values in record["means"].items()}
        if any(len(values) != len(thresholds) for values in means.values()):
            raise ValueError("there is not a mean at each threshold")
        return cls(record["chosen"], thresholds, means)


def thresholds_near(threshold: float, top: int | None) -> list[float]:
    """The chosen threshold and those near it, ascending; of grades up to a top those next to it."""
    grid = threshold + np.linspace(-_NEIGHBOURHOOD, _NEIGHBOURHOOD, 2 * _STEPS + 1)
    # Rounded, lest people read 0.44999999999999996; the threshold itself stays to the last bit.
    near = {round(float(step), 6) for step in grid if 0 < step <= 1} | {threshold}
    if top is not None:
        near = {grade for grade in (threshold - 1, threshold, threshold + 1) if 1 <= grade <= top}
    return sorted(near)


def check_decides(threshold: float, settings: Mapping[str, Any]) -> float:
    """A threshold at which scores can be decided that were made with these settings.

    Raises:
        UsageError: it is out of range, or there is none to choose.
    """
    match = settings["match"]
    if "threshold" not in match:
        raise UsageError(
            "{method!r} decides yes or no and has no threshold",
            field="match",
            remedy="to vary a threshold, match by one that has it, such as 'overlap'",
            method=str(match["method"]),
        )
    if "pool" in settings:
        raise UsageError(
            "threshold: in a pool the grade from which a document is relevant made the gold, "
            "so another one is another evaluation; evaluate again with it"
        )
    if "top" not in match:
        return check_threshold(threshold)
    value: object = threshold
    is_number = isinstance(value, Real) and not isinstance(value, bool)  # numpy's too
    if not (is_number and 0 < threshold <= match["top"]):
        raise UsageError(
            "threshold: {threshold!r} is no grade from 1 to {match}",
            threshold=threshold,
            match=match["top"],
        )
    return threshold
