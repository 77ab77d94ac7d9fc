"""What a metric is: its name, its question, its options, and how to compute it from a view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kragx.metrics.spec import MetricSpec
from kragx.metrics.table import Floats
from kragx.metrics.view import View


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        name: as in metric strings.
        question: what it answers, in one line.
        formula: per query, in one line; docs/metrics.md says more.
        compute: from a view and a spec to its values per query and cut-off, shape (c, q); NaN
            where it is undefined.
        options: the options that a metric string may set.
        fixed: further fields of `MetricSpec` that only a profile sets.
        range: its least and greatest value.
        higher_is_better: its direction.
        pooled: whether it has a micro average.
    """

    name: str
    question: str
    formula: str
    compute: Callable[[View, MetricSpec], Floats]
    options: tuple[str, ...] = ("rel",)
    fixed: tuple[str, ...] = ()
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    pooled: bool = False


def ratio(numerator: Floats, denominator: Floats, empty: float = 0.0) -> Floats:
    """`numerator / denominator`, and `empty` where the denominator is 0."""
    zero = denominator == 0
    if not zero.any():
        return numerator / denominator
    result = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), empty)
    np.divide(numerator, denominator, out=result, where=~zero)
    return result
