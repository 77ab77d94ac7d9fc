"""`kragx schema`: the config file as JSON Schema, for editors; and the report that a run writes."""

from __future__ import annotations

from typing import Any

from kragx.app.config import RunConfig
from kragx.comparison import CORRECTIONS
from kragx.data.validation import SLICES
from kragx.judging.setup import JUDGE_FIELDS
from kragx.matchers import METHODS, option_names
from kragx.matchers.combine import KINDS


def config_schema() -> dict[str, Any]:
    """The JSON Schema of a config file, short forms included."""
    schema = RunConfig.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    properties = schema["properties"]
    # The short forms that the models take before they check.
    properties["dataset"] = _or_text(properties["dataset"], "the path of a gold set")
    retriever = properties["retrievers"]["additionalProperties"]
    properties["retrievers"]["additionalProperties"] = _or_text(
        retriever, "an import path, or the path of a results file"
    )
    properties["metrics"]["anyOf"].append({"type": "string", "description": "one metric"})
    properties["slices"]["anyOf"].append({"type": "string", "description": "one field"})
    version = definitions["DatasetConfig"]["properties"]["version"]
    version["anyOf"] += [{"type": "number"}]
    definitions["DatasetConfig"]["properties"]["targets"]["propertyNames"] = {"enum": list(SLICES)}
    tokens = [{"type": "string"}, {"type": "object"}, {"type": "null"}]
    properties["budget_tokenizer"]["anyOf"] = tokens
    definitions |= _matchers()
    match = {"$ref": "#/$defs/match"}
    for name in ("match", "facts_match"):
        properties[name]["anyOf"] = [match, {"type": "null"}]
    properties["matchers"]["anyOf"][0]["additionalProperties"] = match
    judge = properties["judge"]["anyOf"][0]
    judge |= {"properties": {name: {} for name in JUDGE_FIELDS}, "additionalProperties": False}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "kragx run",
    }


def _matchers() -> dict[str, Any]:
    """What a matcher may be: a method with its options, an import path, or a combination."""
    own = {"type": "string", "pattern": ".:.", "description": "import path 'package.module:name'"}

    def of(properties: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": ["method"],
            "additionalProperties": False,
        }

    def methods(more: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"enum": list(METHODS)},
            own,
            *(
                of({"method": {"const": name}, **{each: {} for each in option_names(name)}, **more})
                for name in METHODS
            ),
            of({"method": own, "args": {"type": "object"}, **more}),
        ]

    limits = {name: {"type": "number"} for name in ("accept", "reject")}
    steps = {kind: "step" if kind == "cascade" else "match" for kind in KINDS}
    combinations = [
        {
            "type": "object",
            "properties": {
                kind: {"type": "array", "minItems": 2, "items": {"$ref": f"#/$defs/{step}"}}
            },
            "required": [kind],
            "additionalProperties": False,
        }
        for kind, step in steps.items()
    ]
    return {
        "match": {"anyOf": [*methods({}), *combinations]},
        "step": {
            "description": "a matcher of a cascade, with the scores that decide at once",
            "anyOf": [*methods(limits), *combinations],
        },
    }


def _or_text(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "string", "description": description}]}


def report_schema() -> dict[str, Any]:
    """The JSON Schema of report.json.

    What a comparison, a change and a gate hold is closed: another key is a mistake. Settings and
    counts are open, as they depend on matcher, profile and judge.
    """
    number, count, text = {"type": ["number", "null"]}, {"type": "integer"}, {"type": "string"}
    texts = {"type": "array", "items": text}
    per_metric = {"type": "object", "additionalProperties": number}
    pair = {"type": "array", "items": number, "minItems": 2, "maxItems": 2}
    pairs = {"type": "object", "additionalProperties": pair}
    yes = {"type": "boolean"}
    view = {
        "n": count,
        "means": _by_name(_by_name({"$ref": "#/$defs/estimate"})),
        "leaders": _by_name({"$ref": "#/$defs/leader"}),
        "differences": _list_of("difference"),
    }
    comparison = {
        "match": text,
        "retrievers": texts,
        "baseline": text,
        "metrics": texts,
        "better": _by_name({"enum": ["higher", "lower", "neither"]}),
        "run_level": texts,
        "n_queries": count,
        "statistics": _closed(
            {
                "confidence": {"type": "number"},
                "resamples": count,
                "seed": count,
                "correction": {"enum": list(CORRECTIONS)},
            }
        ),
        "cautions": texts,
        "overall": {"$ref": "#/$defs/view"},
        "slices": _list_of("slice"),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kragx report.json",
        "type": "object",
        "required": ["config", "versions", "evaluations", "comparisons", "changes", "gates"],
        "properties": {
            "config": {"type": "object", "description": "with every default filled in"},
            "versions": _by_name(text),
            "evaluations": _list_of("evaluation"),
            "comparisons": _list_of("advised", "one for each matcher"),
            "changes": _list_of("change", "each retriever against the earlier results"),
            "gates": _list_of("gate"),
        },
        "$defs": {
            "evaluation": {
                "type": "object",
                "description": "one retriever under one matcher",
                "required": ["retriever", "match", "settings", "counts", "mean", "micro"],
                "properties": {
                    "retriever": text,
                    "match": text,
                    "settings": {"type": "object"},
                    "counts": {"type": "object"},
                    "mean": {**per_metric, "description": "macro averages; null: no value"},
                    "micro": per_metric,
                    "bounds": {**pairs, "description": "what missing judgements leave open"},
                    "micro_bounds": pairs,
                    "maximum": per_metric,
                    "queries": _by_name(per_metric),
                    "nearby": {"anyOf": [{"$ref": "#/$defs/nearby"}, {"type": "null"}]},
                },
            },
            "nearby": _closed(
                {
                    "chosen": {"type": "number"},
                    "neighbourhood": {"type": "number"},
                    "thresholds": {"type": "array", "items": {"type": "number"}},
                    "means": _by_name({"type": "array", "items": number}),
                },
                "means at thresholds near the chosen one; null: there is no threshold to vary",
            ),
            "estimate": _closed(
                {"value": number, "low": number, "high": number, "n": count},
                "a mean with its bootstrap interval",
            ),
            "difference": _closed(
                {
                    "metric": text,
                    "retriever": text,
                    "against": text,
                    "value": number,
                    "low": number,
                    "high": number,
                    "n": count,
                    "p": {**number, "minimum": 0, "maximum": 1},
                    "p_adjusted": {**number, "minimum": 0, "maximum": 1},
                    "effect": {**number, "description": "Cohen's d_z"},
                    "wins": count,
                    "ties": count,
                    "losses": count,
                    "verdict": {"enum": ["better", "worse", "different", "undecided", "untested"]},
                },
                "over the queries where both have a value",
            ),
            "leader": _closed(
                {
                    "best": text,
                    "tied": texts,
                    "decided": yes,
                    "tested": yes,
                    "differences": _list_of("difference"),
                }
            ),
            "view": _closed(view),
            "slice": _closed(
                {
                    "field": text,
                    "value": {"type": ["string", "null"]},
                    "query_ids": texts,
                    **view,
                },
                "the queries with one value of a field; null: those without a value",
            ),
            "comparison": _closed(comparison),
            "advised": _closed({**comparison, "recommendations": _list_of("recommendation")}),
            "recommendation": _closed(
                {"kind": text, "text": text, "supported": yes, "values": {"type": "object"}}
            ),
            "change": _closed(
                {
                    "retriever": text,
                    "comparison": {"$ref": "#/$defs/comparison"},
                    "better": _list_of("query"),
                    "worse": _list_of("query"),
                }
            ),
            "query": _closed(
                {
                    "query_id": text,
                    "text": {"type": ["string", "null"]},
                    "before": per_metric,
                    "after": per_metric,
                    "by": {"type": "number"},
                }
            ),
            "gate": _closed(
                {
                    "path": text,
                    "metric": text,
                    "condition": text,
                    "match": text,
                    "retriever": text,
                    "slice": {"anyOf": [{"type": "null"}, _closed({"field": text, "value": text})]},
                    "value": number,
                    "passed": yes,
                    "said": text,
                }
            ),
        },
    }


def _closed(properties: dict[str, Any], description: str | None = None) -> dict[str, Any]:
    """An object that has these properties, all of them and no others."""
    return {
        "type": "object",
        **({} if description is None else {"description": description}),
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _by_name(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": of}


def _list_of(definition: str, description: str | None = None) -> dict[str, Any]:
    said = {} if description is None else {"description": description}
    return {"type": "array", "items": {"$ref": f"#/$defs/{definition}"}, **said}
