"""`kragx schema`: the config file as JSON Schema, for editors that complete and check YAML."""

from __future__ import annotations

from typing import Any

from kragx.config import RunConfig


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
    version = definitions["DatasetConfig"]["properties"]["version"]
    version["anyOf"] += [{"type": "number"}]
    for name in ("match", "facts_match", "budget_tokenizer"):
        properties[name]["anyOf"] = [{"type": "string"}, {"type": "object"}, {"type": "null"}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "kragx run",
    }


def _or_text(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "string", "description": description}]}
