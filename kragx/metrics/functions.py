"""A plain function as a metric: from what each rank finds, and the grades of the gold, to a value.

``def mine(relevances, gold_grades)`` is called once a question. ``relevances[i]`` is the largest
grade of what rank i + 1 matches first, 0 if that is nothing new, for the whole list;
``gold_grades`` are those of all gold, descending. None is no value.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf, isfinite
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np

from kragx.errors import KragxError, UsageError, shorten
from kragx.metrics.match_table import Floats
from kragx.metrics.spec import Metric, MetricSpec
from kragx.metrics.table_view import TableView

_ROUNDING = 1e-9

Measured = TypeVar("Measured", bound=Callable[..., float | None])


def measure(
    *,
    range: tuple[float, float | None] | None = None,  # noqa: A002  # as of `Metric`
    better: Literal["higher", "lower", "neither"] = "higher",
    rises_with_matches: bool = False,
) -> Callable[[Measured], Measured]:
    """Say of a function that is a metric what it can give, and what is good; it stays as it is.

    Without it a higher value is better, and nothing is known to bound it: where judgements are
    missing there is then no mean.

    Args:
        range: its least and greatest value; None for the latter where nothing bounds it.
        better: its direction; ``neither`` where it depends on the purpose.
        rises_with_matches: whether it never falls when more pairs match; bounds rest on it.

    Raises:
        UsageError: the range is none, or there is no such direction.
    """
    if better not in ("higher", "lower", "neither"):
        raise UsageError(f"better: {better!r} is none of higher, lower, neither")
    least, greatest = range or (-inf, None)
    if greatest is not None and not least < greatest:
        raise UsageError(f"range: {range!r} has no least value below a greatest one")
    claims: dict[str, Any] = {"better": better, "rises_with_matches": rises_with_matches}

    def described(function: Measured) -> Measured:
        metric = replace(function_metric(function), range=(float(least), greatest), **claims)
        function.metric = metric  # type: ignore[attr-defined]
        return function

    return described


def function_metric(function: Callable[..., Any]) -> Metric:
    """The metric that a function is, as `measure` describes it.

    Raises:
        UsageError: it has no name that could stand in a table.
    """
    if isinstance(described := getattr(function, "metric", None), Metric):
        return described
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise UsageError(
            f"metric {shorten(function)}: a function without a name",
            remedy="write def mine(relevances, gold_grades): ...",
        )
    about = (function.__doc__ or "").strip().partition("\n")[0]
    return Metric(
        name=name,
        question=about or f"What does {name} say?",
        formula=f"{name}(relevances, gold_grades)",
        from_matches=_values,
        range=(-inf, None),
        cuts=False,
        function=function,
    )


def _values(view: TableView, spec: MetricSpec) -> Floats:
    table, values = view.table, np.zeros(view.table.n_queries)
    queries, ranks, found = view.new_grades
    starts = np.searchsorted(queries, np.arange(table.n_queries + 1))
    for query in np.flatnonzero(~view.empty).tolist():
        relevances = np.zeros(table.n_docs[query])
        part = slice(starts[query], starts[query + 1])
        relevances[ranks[part] - 1] = found[part]
        items = slice(table.gold_start[query], table.gold_start[query + 1])
        grades = np.sort(table.grade[items][view.is_gold[items]])[::-1]
        try:
            values[query] = _value(spec.metric, relevances.tolist(), grades.tolist())
        except KragxError as error:
            raise error.within(f"metric {spec.name!r}, query number {query + 1}") from error
    return np.broadcast_to(values, (len(view.cuts), len(values)))


def _value(metric: Metric, relevances: list[float], gold_grades: list[float]) -> float:
    """What a metric's function gives, NaN for None.

    Raises:
        UsageError: it raises an error, or gives no number, or one beyond its range.
    """
    assert metric.function is not None
    try:
        value = metric.function(relevances, gold_grades)
    except Exception as error:  # whatever it raises, one must learn where
        raise UsageError(f"{type(error).__name__}: {error}") from error
    if value is None:
        return float("nan")
    if not isinstance(value, (Real, np.bool_)) or not isfinite(number := float(value)):
        raise UsageError(f"{shorten(value)} is neither a number nor None")
    least, greatest = metric.range[0], inf if metric.range[1] is None else metric.range[1]
    if not least - _ROUNDING <= number <= greatest + _ROUNDING:
        raise UsageError(f"{number} is beyond its range, {least:g} to {greatest:g}")
    return min(max(number, least), greatest)
