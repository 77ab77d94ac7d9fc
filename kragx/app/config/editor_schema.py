"""The config file as JSON Schema, for editors."""

from collections.abc import Mapping
from typing import Any

from kragx.app.config.models import BESIDE as OF_RUN, RunConfig
from kragx.app.config.retrievers import BESIDE, GIVEN_BY_US, SERVICES, RetrieverConfig
from kragx.app.config.sections import said_of, schema_of
from kragx.comparison.tuning import GRID
from kragx.data.formats import format_names
from kragx.data.validation import SLICES
from kragx.evaluation.answers import Asking
from kragx.ground.entry_points import plugins
from kragx.judging import Judge, OpenAIClient, Panel
from kragx.judging.reading import JUDGE_FIELDS
from kragx.matchers import METHODS, option_names
from kragx.matchers.combine import KINDS
from kragx.matchers.registry import method_class, method_names

_JUDGE = {
    name: {"description": said}
    for name, said in {
        "client": "import path of a client or a LangChain chat model, instead of model",
        "args": "of client; ${NAME} in them is an environment variable",
        "panel": "several judges whose votes decide together: models, clients or mappings",
        "repeats": "how often one judge is asked each question, as a panel of itself",
    }.items()
}
"""What no class has as an attribute of its own."""


def config_schema() -> dict[str, Any]:
    """The JSON Schema of a config file, short forms included."""
    schema = schema_of(RunConfig, (*OF_RUN, "retrievers"))
    properties, nothing = schema["properties"], {"type": "null"}
    # What the types of a gold set's fields do not say.
    dataset = properties["dataset"]["anyOf"][0]["properties"]
    dataset["targets"]["propertyNames"] = {"enum": list(SLICES)}
    dataset["version"]["anyOf"].append({"type": "number"})
    dataset["format"]["anyOf"][0]["enum"] = format_names()
    properties["engine"]["anyOf"][0]["propertyNames"] = {"enum": [*plugins("engines")]}
    for name in ("metrics", "slices"):
        properties[name]["anyOf"].append({"type": "string", "description": "one of them"})
        properties[name]["anyOf"][0]["minItems"] = 1
    for name in ("runs", "workers"):
        properties[name]["anyOf"][0]["minimum"] = 1
    for name in ("matchers", "engine"):
        properties[name]["anyOf"][0]["minProperties"] = 1
    properties["max_failed"] |= {"minimum": 0, "maximum": 1}
    # Any value for Python; editors are told a little more.
    tokenizers = [{"type": kind} for kind in ("string", "object", "null")]
    properties["budget_tokenizer"]["anyOf"] = tokenizers
    retriever = {"$ref": "#/$defs/RetrieverConfig"}
    text = {"type": "string", "description": "an import path, or the path of a results file"}
    properties["retrievers"] = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"anyOf": [retriever, text]},
        **said_of(RunConfig)["retrievers"],
    }
    match, with_grid = {"$ref": "#/$defs/match"}, {"$ref": "#/$defs/match_with_grid"}
    for name in ("facts_match", "relevance_match"):
        properties[name]["anyOf"] = [match, nothing]
    properties["match"]["anyOf"] = [with_grid, nothing]
    properties["matchers"]["anyOf"][0]["additionalProperties"] = with_grid
    judge = properties["judge"]["anyOf"][0]
    options = said_of(Panel, OpenAIClient, Judge) | _JUDGE
    judge["properties"] = {name: options.get(name, {}) for name in JUDGE_FIELDS}
    judge["additionalProperties"] = False
    properties["judge"]["anyOf"].append({"type": "string", "description": "its model"})
    services = {kind.__name__: schema_of(kind) for kind in SERVICES.values()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "required": [*schema["required"], "retrievers"],
        "title": "kragx run",
        "$defs": {"RetrieverConfig": _retriever(), **services, **_matchers()},
    }


def _retriever() -> dict[str, Any]:
    """A retriever, how it is asked, and the forms of servers and programs."""
    schema = schema_of(RetrieverConfig, BESIDE)
    schema["properties"] |= schema_of(Asking, GIVEN_BY_US)["properties"]
    short: dict[str, Any] = {
        "http": {"type": "string"},
        "command": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    }
    for key, kind in SERVICES.items():
        forms = [{"$ref": f"#/$defs/{kind.__name__}"}, {"type": "null"}]
        schema["properties"][key]["anyOf"] = [*forms, short[key]]
    return schema


_IMPORT_PATH = {
    "type": "string",
    "pattern": ".:.",
    "description": "import path 'package.module:name'",
}


def _matchers() -> dict[str, Any]:
    """What a matcher may be: a method with its options, an import path, or a combination."""
    lists = {"type": "array", "minItems": 1}
    grid = {GRID: {"type": "object", "minProperties": 1, "additionalProperties": lists}}
    limits = {name: {"type": "number"} for name in ("accept", "reject")}
    combinations = [
        {
            "type": "object",
            "properties": {
                kind: {
                    "type": "array",
                    "minItems": 2,
                    "items": {"$ref": f"#/$defs/{'step' if kind == 'cascade' else 'match'}"},
                }
            },
            "required": [kind],
            "additionalProperties": False,
        }
        for kind in KINDS
    ]
    return {
        "match": {"anyOf": [*_methods({}), *combinations]},
        "match_with_grid": {
            "description": "a matcher; a grid of its options makes a setting of each combination",
            "anyOf": [*_methods(grid), *combinations],
        },
        "step": {
            "description": "a matcher of a cascade, with the scores that decide at once",
            "anyOf": [*_methods(limits), *combinations],
        },
    }


def _methods(beside: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The forms of a matcher that is no combination; `beside` stands among the options of each."""
    own = [
        _method({"const": name}, {option: known.get(option, {}) for option in option_names(name)})
        for name in METHODS
        for known in [said_of(method_class(name))]
    ]
    forms = [*own, _method(_IMPORT_PATH, {"args": {"type": "object"}})]
    # Made anew at each call, so that what stands beside one kind is not in the others.
    for form in forms:
        form["properties"] |= beside
    return [{"enum": method_names()}, _IMPORT_PATH, *forms]


def _method(name: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"method": name, **options},
        "required": ["method"],
        "additionalProperties": False,
    }
