"""What a report.json holds at those places that are read: one that was changed is none."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Required

from typing_extensions import TypedDict

from kragx.ground.errors import DataError, shorten

_Numbers = dict[str, float | None]


class _Dataset(TypedDict, total=False):
    name: Required[str]
    version: str | None
    hash: str | None


class _Pool(TypedDict, total=False):
    hash: str


class _Settings(TypedDict, total=False):
    profile: dict[str, Any]
    deviations: dict[str, Any]
    metrics: list[str] | None
    pool: _Pool | None
    versions: dict[str, Any]
    dataset: _Dataset | None
    match: dict[str, Any]
    run: dict[str, Any]


class _Nearby(TypedDict, total=False):
    chosen: float
    thresholds: list[float]
    means: dict[str, list[float | None]]


class _Siblings(TypedDict):
    cause: str
    n: int
    of: int
    n_questions: int
    example: dict[str, str]


class _OfMetric(TypedDict, total=False):
    n_scored: Required[int]
    n_no_gold: int


class _Counts(TypedDict, total=False):
    n_queries: int
    n_scored: int
    n_no_gold: int
    n_missing: int
    n_extra: int
    n_failed: int
    n_empty: int
    n_duplicates: int
    n_queries_ids_apart: int
    n_replaced_surrogates: int
    n_longer_lines: int
    judged_share: float | None
    first_failure: str
    siblings: _Siblings
    unanswerable: dict[str, int]
    metrics: dict[str, _OfMetric]
    pooled: dict[str, dict[str, int | float]]
    facts: dict[str, int]
    judging: dict[str, Any]
    judging_facts: dict[str, Any]
    judging_relevance: dict[str, Any]


class _Evaluation(TypedDict, total=False):
    retriever: str
    match: str
    settings: _Settings
    counts: _Counts
    mean: _Numbers
    queries: dict[str, _Numbers]
    nearby: _Nearby | None
    failures: dict[str, str]


class _Value(TypedDict, total=False):
    value: float | None
    low: float | None
    high: float | None


class _Overall(TypedDict, total=False):
    means: dict[str, dict[str, _Value]]


class _Comparison(TypedDict, total=False):
    better: dict[str, str]
    overall: _Overall


class _Report(TypedDict, total=False):
    evaluations: list[_Evaluation]
    comparisons: list[_Comparison]
    weights: dict[str, float]


def check_report(report: Mapping[str, Any], name: str) -> None:
    """See to it that what is there is of the right kind; what is missing others say.

    Args:
        report: what the file holds.
        name: what messages call it.

    Raises:
        DataError: something is of another kind.
    """
    from pydantic import ValidationError

    try:
        _adapter().validate_python(report, strict=True)
    except ValidationError as error:
        (first, *_) = error.errors()
        field = ".".join(map(str, first["loc"]))
        problem = f"not what kragx writes: {shorten(first['input'])}"
        raise DataError(problem, path=name, field=field) from None


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(_Report)
