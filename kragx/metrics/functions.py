"""A plain function as a metric: from what each rank finds, and the grades of the gold, to a value.

``def mine(relevances, gold_grades)`` is called once a question. ``relevances[i]`` is the largest
grade of what rank i + 1 matches first, 0 if that is nothing new, for the whole list;
``gold_grades`` are those of all gold, descending. None is no value.
"""

from collections.abc import Callable
from functools import partial
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

    Examples:
        >>> from kragx import evaluate
        >>> @measure(range=(0, 1))
        ... def best_in_two(relevances, gold_grades):
        ...     return max(relevances[:2], default=0) / gold_grades[0]
        >>> gold, run = {"q": {"a": 1, "b": 4}}, {"q": [{"id": "a"}, {"id": "x"}, {"id": "b"}]}
        >>> evaluate(gold, run, match="id", metrics=[best_in_two])["best_in_two"]
        0.25
    """
    if better not in ("higher", "lower", "neither"):
        raise UsageError(f"better: {better!r} is none of higher, lower, neither")
    least, greatest = range or (-inf, None)
    if greatest is not None and not least < greatest:
        raise UsageError(f"range: {range!r} has no least value below a greatest one")

    def described(function: Measured) -> Measured:
        metric = _metric(function, (float(least), greatest), better, rises_with_matches)
        function.metric = metric  # type: ignore[attr-defined]
        return function

    return described


def function_metric(function: Callable[..., Any]) -> Metric:
    """The metric that a function is, as `measure` describes it.

    Raises:
        UsageError: it has no name that could stand in a table.
    """
    described = getattr(function, "metric", None)
    return described if isinstance(described, Metric) else _metric(function)


def _metric(
    function: Callable[..., Any],
    limits: tuple[float, float | None] = (-inf, None),
    better: Literal["higher", "lower", "neither"] = "higher",
    rises_with_matches: bool = False,
) -> Metric:
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
        from_matches=partial(_values, function=function, limits=limits),
        range=limits,
        better=better,
        cuts=False,
        rises_with_matches=rises_with_matches,
        function=function,
    )


def _values(
    view: TableView,
    spec: MetricSpec,
    *,
    function: Callable[..., Any],
    limits: tuple[float, float | None],
) -> Floats:
    table, values = view.table, np.zeros(view.table.n_queries)
    queries, ranks, found = view.new_grades
    starts = np.searchsorted(queries, np.arange(table.n_queries + 1))
    for query in np.flatnonzero(~view.empty).tolist():
        relevances = np.zeros(table.n_docs[query])
        part = slice(starts[query], starts[query + 1])
        relevances[ranks[part] - 1] = found[part]
        items = slice(table.gold_start[query], table.gold_start[query + 1])
        grades = sorted(table.grade[items][view.is_gold[items]].tolist(), reverse=True)
        where = f"metric {str(spec)!r}, query number {query + 1}"
        try:
            value = function(relevances.tolist(), grades)
        except KragxError:
            raise
        except Exception as error:  # whatever it raises, one must learn where
            raise UsageError(f"{where}: {type(error).__name__}: {error}") from error
        values[query] = np.nan if value is None else _checked(value, limits, where)
    return np.broadcast_to(values, (len(view.cuts), len(values)))


def _checked(value: object, limits: tuple[float, float | None], where: str) -> float:
    """A value as a number.

    Raises:
        UsageError: it is none, or beyond the range.
    """
    if not isinstance(value, (Real, np.bool_)) or not isfinite(number := float(value)):
        raise UsageError(f"{where}: {shorten(value)} is neither a number nor None")
    least, greatest = limits[0], inf if limits[1] is None else limits[1]
    if not least - _ROUNDING <= number <= greatest + _ROUNDING:
        raise UsageError(f"{where}: {number} is beyond its range, {least:g} to {greatest:g}")
    return min(max(number, least), greatest)
