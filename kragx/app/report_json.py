"""What report.json holds: its model, and the JSON Schema that follows from it."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from kragx.comparison import Change, Comparison, GateResult
from kragx.comparison.tuning import MatcherSettings, Tuning
from kragx.evaluation.evaluation import Nearby
from kragx.evaluation.leaks import Leak
from kragx.evaluation.runs import SeveralRuns
from kragx.evaluation.stage_losses import StageLosses
from kragx.report.record import Record

PerMetric = Mapping[str, float | None]
Bounds = Mapping[str, tuple[float | None, float | None]]


class EvaluationJson(TypedDict):
    """One retriever under one matcher; null: no value. Of failures the reason by query id."""

    retriever: str
    match: str
    settings: Mapping[str, Any]
    counts: Mapping[str, Any]
    mean: PerMetric
    micro: PerMetric
    bounds: NotRequired[Bounds]
    micro_bounds: NotRequired[Bounds]
    vote_bounds: NotRequired[Bounds]
    maximum: NotRequired[PerMetric]
    runs: NotRequired[SeveralRuns]
    queries: Mapping[str, PerMetric]
    relevance: NotRequired[Mapping[str, Sequence[float | None]]]
    leaks: NotRequired[Sequence[Leak]]
    nearby: Nearby | None
    failures: Mapping[str, str]


class ReportJson(TypedDict):
    """The report of a run: the config with every default filled in, versions, every number.

    ``weights``: by query id how many asks it stands for; absent where all are alike.
    """

    record: Record | None
    config: Mapping[str, Any]
    versions: Mapping[str, str]
    evaluations: Sequence[EvaluationJson]
    comparisons: Sequence[Comparison]
    tunings: Sequence[Tuning]
    matcher_grids: Sequence[MatcherSettings]
    changes: Sequence[Change]
    gates: Sequence[GateResult]
    losses: Sequence[StageLosses]
    weights: NotRequired[Mapping[str, float]]


def report_schema() -> dict[str, Any]:
    """The JSON Schema of report.json.

    Every object is closed: another key is a mistake. Settings and counts are open, as they depend
    on matcher, profile and judge.
    """
    definitions: dict[str, Any] = {}
    root = _schema(ReportJson, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kragx report.json",
        **root,
        "$defs": definitions,
    }


_PRIMITIVES: Mapping[Any, Mapping[str, Any]] = {
    Any: {},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    NoneType: {"type": "null"},
}


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:  # noqa: PLR0911
    """The schema of what `kragx.ground.json_values.plain` makes of a value of a type."""
    if kind in _PRIMITIVES:
        return dict(_PRIMITIVES[kind])
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(parts)}
    if is_dataclass(kind) or is_typeddict(kind):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # taken, in case it holds itself
            definitions[kind.__name__] = _object(kind, definitions)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    inner = [_schema(part, definitions) for part in parts if part is not Ellipsis]
    if origin in (Union, UnionType):
        return {"anyOf": inner}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": inner[1]}
    if origin is tuple and Ellipsis not in parts:
        sizes = {"minItems": len(inner), "maxItems": len(inner)}
        return {"type": "array", "prefixItems": inner, **sizes}
    return {"type": "array", "items": inner[0]}


def _object(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """An object that has a class's plain fields and properties, and no others."""
    hints = get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        shown = {field.name: field.metadata.get("plain", True) for field in fields(kind)}
        hints = {
            name: hints[name] if how is True else NotRequired[hints[name]]
            for name, how in shown.items()
            if how
        }
        for name in getattr(kind, "also_plain", ()):
            hints[name] = get_type_hints(getattr(kind, name).fget)["return"]
    optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
    return {
        "type": "object",
        "description": (kind.__doc__ or "").splitlines()[0],
        "properties": {
            name: _schema(get_args(hint)[0] if name in optional else hint, definitions)
            for name, hint in hints.items()
        },
        "required": [name for name in hints if name not in optional],
        "additionalProperties": False,
    }
