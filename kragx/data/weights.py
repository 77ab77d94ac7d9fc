"""What a question stands for: how many asks, and its chance of having been drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kragx.data.documents import clean_number
from kragx.data.lists import Floats
from kragx.ground.errors import DataError, shorten
from kragx.ground.printing import phrase

WEIGHT, INCLUSION = "weight", "inclusion"
"""The fields of a question."""

MOST = 1e50
"""The largest weight; weight over inclusion is at most its square, which can be squared in turn."""

REMEDIES = {
    WEIGHT: "write how many asks it stands for, or leave it out, which is 1",
    INCLUSION: "write a share such as 0.25, or leave it out where all were taken",
}
"""What to write instead of what is none."""

_ROUNDING = 1e-9


def clean_weight(value: object) -> float:
    """How many asks a question stands for; 1 where nobody says.

    Raises:
        DataError: it is no finite number, below 0, or above `MOST`.
    """
    weight = _number(value, WEIGHT)
    if weight < 0:
        raise _refused(WEIGHT, "must be how often the question is asked, 0 or more, not", value)
    if weight > MOST:
        raise _refused(WEIGHT, f"must be at most {MOST:g}, not", value)
    return weight


def clean_inclusion(value: object) -> float:
    """The chance with which a question was drawn; 1 where nobody says.

    Raises:
        DataError: it is no number above 0 and at most 1, or below 1 / `MOST`.
    """
    inclusion = _number(value, INCLUSION)
    if 0 < inclusion < 1 / MOST:
        raise _refused(INCLUSION, f"must be at least {1 / MOST:g}, not", value)
    if not 0 < inclusion <= 1:
        problem = "must be the chance with which the question was drawn, above 0 and at most 1, not"
        raise _refused(INCLUSION, problem, value)
    return inclusion


def _number(value: object, field: str) -> float:
    try:
        number = clean_number(value, field)
    except DataError:
        raise _refused(field, "must be a finite number, not", value) from None
    return 1.0 if number is None else number


def _refused(field: str, problem: str, value: object) -> DataError:
    return DataError(
        phrase("{why} {value}", why=problem, value=shorten(value)),
        field=field,
        remedy=REMEDIES[field],
    )


def weights_said(asks: ArrayLike, inclusion: ArrayLike) -> Floats | None:
    """(q) asks over inclusion; None where all are 1, as where nobody says."""
    weights: Floats = np.asarray(asks, np.float64) / np.asarray(inclusion, np.float64)
    return weights if (weights != 1).any() else None


def weights_of(queries: Iterable[Any]) -> Floats | None:
    """The same of questions, by their weights and inclusions."""
    pairs = [(query.weight, query.inclusion) for query in queries]
    return weights_said(*zip(*pairs)) if pairs else None


def unequal(weights: Floats | None, place: str) -> Floats | None:
    """Weights by which questions count; None where all are alike, as where nobody says.

    So every number is the one without weights, to the last bit.

    Args:
        weights: (q) of a whole gold set.
        place: names it.

    Raises:
        DataError: all are 0, or their sum is no number.
    """
    if weights is None or not weights.size:
        return None
    if not np.isfinite(weights.sum()):
        raise DataError(
            "{place}: the weights are too large to be added up", field=WEIGHT, place=place
        )
    if not weights.any():
        raise DataError(
            "{place}: every question has weight 0, so nothing counts",
            field=WEIGHT,
            remedy="say how often each is asked, or leave the field out",
            place=place,
        )
    # Asks over a chance in proportion to them are one number but for its last digits.
    return weights if np.ptp(weights) > _ROUNDING * weights.max() else None
