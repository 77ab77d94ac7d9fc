"""What stands for a judge: a model's name, a client, a mapping of options, a panel of these."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from kragx.ground import plugins
from kragx.ground.entry_points import import_path
from kragx.ground.errors import UsageError, inside, nearest
from kragx.ground.options import a_mapping, whole
from kragx.ground.printing import message
from kragx.judging.client import Client
from kragx.judging.clients.langchain import LangChainClient
from kragx.judging.clients.openai import OpenAIClient
from kragx.judging.judge import Grader, Judge
from kragx.judging.panel import OF_ONE, Panel, repeated

_CLIENT = tuple(field.name for field in fields(OpenAIClient) if field.init)
_INNER = ("client", "secrets", "outbox", "clock", "sleep")
_JUDGE = tuple(field.name for field in fields(Judge) if field.name not in _INNER)
_VOTING = ("decide", "ask")
_PANEL = ("panel", "repeats", *_VOTING)
JUDGE_FIELDS = ("client", "args", *_CLIENT, *_JUDGE, *_PANEL)
"""What a mapping for `judge` may hold."""

HOW = message(
    """no judge is named. Name one, in Python:

    evaluate(..., match={{"method": "llm", "judge": "gpt-4.1-mini"}})
    RAGEvaluator(match_method="llm", judge="gpt-4.1-mini")

in a config file:

    judge: {{model: gpt-4.1-mini}}

or in the environment:

    export KRAGX_JUDGE_MODEL=gpt-4.1-mini OPENAI_API_KEY=...   # and OPENAI_BASE_URL, if need be"""
)


def read_judge(value: object = None) -> Grader:
    """The judge, or the panel, that a value stands for.

    Args:
        value: a `Judge` or `Panel`; a client; a LangChain chat model; a model's name; a mapping of
            the options of `OpenAIClient` and `Judge` (or ``client``, an import path, with
            ``args``), with ``repeats``, or with ``panel``, a list of any of these, in place of a
            client; None for the environment's KRAGX_JUDGE_MODEL.

    Raises:
        UsageError: it is none of these, or an option is wrong.
    """
    match value:
        case None:
            return Judge(OpenAIClient(_model_of_environment("judge")))
        case Judge() | Panel():
            return value
        case Mapping():
            return _of_mapping({str(name): option for name, option in value.items()})
    return Judge(value)


def _of_mapping(options: Mapping[str, Any]) -> Grader:
    for name in options:
        if name not in JUDGE_FIELDS:
            raise UsageError(
                "judge.{name}: unknown option; {hint}", name=name, hint=nearest(name, JUDGE_FIELDS)
            )
    common = {name: options[name] for name in _JUDGE if name in options}
    voting = {name: options[name] for name in _VOTING if name in options}
    if "panel" in options:
        _refuse(
            options,
            ("repeats", "repeat", "client", "args", *_CLIENT),
            message("belongs to a judge of the panel"),
            remedy="panel: [{{model: ..., {name}: ...}}, ...]",
        )
        judges = options["panel"]
        if isinstance(judges, (list, tuple)):
            judges = [_member(place, entry, common) for place, entry in enumerate(judges)]
        with inside("judge"):
            return Panel(judges, **voting)
    judge = Judge(_client(options), **common)
    with inside("judge"):
        with inside("repeats"):
            repeats = whole(1)(options.get("repeats", 1))
        if repeats > 1:
            return repeated(judge, repeats, **voting)
    _refuse(voting, _VOTING, message("belongs to several votes: 'panel' or 'repeats'"))
    return judge


def _refuse(options: Mapping[str, Any], names: Iterable[str], why: str, remedy: str = "") -> None:
    """Refuse the options of these names, which belong elsewhere."""
    for name in names:
        if name in options:
            raise UsageError(
                message("judge.{name}: {why}", name=name, why=why), remedy=remedy.format(name=name)
            )


def _member(place: int, entry: object, common: Mapping[str, Any]) -> Judge:
    """A judge of a panel, with the options of the panel's mapping besides its own."""
    with inside(f"judge.panel[{place}]"):
        if isinstance(entry, Panel):
            raise UsageError("judge: a panel within a panel", remedy="list its judges")
        if isinstance(entry, Judge):
            return entry.with_options(**common)
        options = {"model" if isinstance(entry, str) else "client": entry}
        if isinstance(entry, Mapping):
            options = {str(name): option for name, option in entry.items()}
        shared = (*_PANEL, *(name for name in _JUDGE if name not in OF_ONE))
        problem = message("belongs to the panel, beside 'panel'; its judges share it")
        _refuse(options, shared, problem)
        # Repeats were refused above, so it is one judge.
        return read_judge({**common, **options}).members[0]


def _model_of_environment(field: str) -> str:
    model = os.environ.get("KRAGX_JUDGE_MODEL")
    if not model:
        raise UsageError(HOW, field=field)
    return model


def _client(options: Mapping[str, Any]) -> Client:
    named = options.get("client", "openai")
    if named == "openai":
        _refuse(options, ["args"], message("belongs to a client with an import path"))
        given = {name: options[name] for name in _CLIENT if name in options}
        if "model" not in given:
            given["model"] = _model_of_environment("judge.model")
        return OpenAIClient(**given)
    _refuse(options, _CLIENT, message("what {client!r} takes belongs under 'args'", client=named))
    client, args = named, None
    if isinstance(named, str):
        with inside("judge.args"):
            args = a_mapping(options.get("args") or {})
        client = plugins.build(import_path("judges", named), args)
    is_chat = hasattr(client, "with_structured_output")
    return LangChainClient(client, args=args) if is_chat else client


def adjusted(judge: Grader, **options: Any) -> Grader:
    """The judge with the options that are not None; its client and store stay the same."""
    changes = {name: value for name, value in options.items() if value is not None}
    return judge.with_options(**changes) if changes else judge
