"""An evaluation's means as people read them, with what missing judgements leave open."""

from __future__ import annotations

from kragx.evaluation.evaluation import Evaluation
from kragx.printing import number


def mean_cell(evaluation: Evaluation, metric: str) -> str:
    """A mean as people read it, with its bounds where missing judgements leave it open."""
    maximum = evaluation.maximum.get(metric)
    of = "" if maximum is None else f" of {number(maximum)}"
    return number(evaluation.mean.get(metric)) + _range(evaluation.bounds.get(metric)) + of


def micro_cell(evaluation: Evaluation, metric: str) -> str:
    """The same for a micro average; empty for a metric that has none."""
    value = evaluation.micro.get(metric)
    return "" if value is None else number(value) + _range(evaluation.micro_bounds.get(metric))


def _range(low_high: tuple[float, float] | None) -> str:
    return "" if low_high is None else f" [{low_high[0]:.4f}, {low_high[1]:.4f}]"
