"""What a question stands for: how many asks, and its chance of having been drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kragx.data.documents import clean_number
from kragx.data.lists import Floats
from kragx.ground.errors import DataError, shorten
from kragx.ground.printing import message

WEIGHT, INCLUSION = "weight", "inclusion"
"""The fields of a question."""

MOST = 1e50
"""The largest weight; weight over inclusion is at most its square, which can be squared in turn."""

REMEDIES = {
    WEIGHT: message("write how many asks it stands for, or leave it out, which is 1"),
    INCLUSION: message("write a share such as 0.25, or leave it out where all were taken"),
}
"""What to write instead of what is none."""

_ROUNDING = 1e-9


_KINDS = {
    WEIGHT: message("a finite number, how often the question is asked, 0 to {most:g}", most=MOST),
    INCLUSION: message("the chance with which the question was drawn, above 0 and at most 1"),
}
_BOUNDS = {WEIGHT: (0, MOST), INCLUSION: (1 / MOST, 1)}


def clean_asks(field: str, value: object) -> float:
    """How many asks a question stands for, or its chance of having been drawn; 1 where unsaid.

    Raises:
        DataError: it is no finite number, or out of bounds: a weight from 0 to `MOST`, a chance
            from 1 / `MOST` to 1.
    """
    number, (least, most) = math.nan, _BOUNDS[field]
    with suppress(DataError):
        number = 1.0 if value is None else clean_number(value, field) or 0.0
    if not least <= number <= most:
        problem = message("must be {kind}, not {value}", kind=_KINDS[field], value=shorten(value))
        raise DataError(problem, field=field, remedy=REMEDIES[field])
    return number


ASKS: Mapping[str, Callable[[object], float]] = {
    field: partial(clean_asks, field) for field in _BOUNDS
}
"""The fields of a question that say what it stands for, and what reads them."""


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
        DataError: all are 0.
    """
    if weights is None or not weights.size:
        return None
    if not weights.any():
        raise DataError(
            "{place}: every question has weight 0, so nothing counts",
            field=WEIGHT,
            remedy="say how often each is asked, or leave the field out",
            place=place,
        )
    # Asks over a chance in proportion to them are one number but for its last digits.
    return weights if np.ptp(weights) > _ROUNDING * weights.max() else None
