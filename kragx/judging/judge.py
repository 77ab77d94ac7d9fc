"""The judge: an LLM that grades questions, and what stands for one."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from kragx import plugins
from kragx.errors import UsageError, nearest
from kragx.judging.client import Client
from kragx.judging.clients.langchain import LangChainClient
from kragx.judging.clients.lifetime import in_use
from kragx.judging.clients.openai import OpenAIClient
from kragx.judging.docket import Docket
from kragx.judging.loop import run_sync
from kragx.judging.question import Judgement, Question
from kragx.judging.runner import Judged, Runner
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import NoStoreError, Store
from kragx.judging.store.batch import waiting


@dataclass(frozen=True)
class Judge(JudgeSettings):
    """An LLM that grades; its options are those of `JudgeSettings`."""

    def judge(self, questions: Sequence[Question]) -> Judged:
        """`ajudge` for synchronous code; works inside a running event loop (a notebook) too."""
        return run_sync(lambda: self.ajudge(questions))

    async def ajudge(self, questions: Sequence[Question]) -> Judged:
        """Judge each question; a question asked twice, or stored before, is not asked again.

        Raises:
            JudgingError: the budget is used up, or the service refuses everything (a wrong key);
                what was judged is stored.
            DataError: the store cannot be used.
        """
        docket = Docket(self, questions)
        with docket.secrets.guarding_errors():
            async with in_use(self.client):
                return await Runner(self, docket).judge()

    def waiting(self) -> str:
        """How many batches are open in the store, and since when.

        Raises:
            DataError: the store cannot be used.
        """
        with Store(self.store) as store:
            return waiting(store.batches.batches())

    def stored(self, questions: Sequence[Question]) -> list[Judgement | None]:
        """What the store has for each question; None for one without an answer. Nothing is asked.

        Raises:
            DataError: the store cannot be used.
        """
        docket = Docket(self, questions)
        try:
            with Store(self.store, make=False) as store:
                settled = docket.look_up(store)
        except NoStoreError:
            return [None] * len(questions)
        return [settled.get(key) for key in docket.keys]


# -- what stands for a judge -------------------------------------------------------------------

_CLIENT = tuple(field.name for field in fields(OpenAIClient) if field.init)
_INNER = ("client", "secrets", "outbox", "clock", "sleep")
_JUDGE = tuple(field.name for field in fields(Judge) if field.name not in _INNER)
JUDGE_FIELDS = ("client", "args", *_CLIENT, *_JUDGE)
"""What a mapping for `judge` may hold."""

HOW = """no judge is named. Name one, in Python:

    from kragx.judging import Judge, OpenAIClient
    ...(match_method="llm", judge=Judge(OpenAIClient("gpt-4.1-mini")))

in a config file:

    judge: {model: gpt-4.1-mini}

or in the environment:

    export KRAGX_JUDGE_MODEL=gpt-4.1-mini OPENAI_API_KEY=...   # and OPENAI_BASE_URL, if need be"""


def read_judge(value: object = None) -> Judge:
    """The judge that a value stands for.

    Args:
        value: a `Judge`; a client; a LangChain chat model; a model's name; a mapping of the
            options of `OpenAIClient` and `Judge` (or ``client``, an import path, with ``args``);
            None for the environment's KRAGX_JUDGE_MODEL.

    Raises:
        UsageError: it is none of these, or an option is wrong.
    """
    match value:
        case None:
            return Judge(OpenAIClient(_model_of_environment("judge")))
        case Judge():
            return value
        case str():
            return Judge(OpenAIClient(value))
        case Mapping():
            options = {str(name): option for name, option in value.items()}
            for name in options:
                if name not in JUDGE_FIELDS:
                    hint = nearest(name, JUDGE_FIELDS)
                    raise UsageError(f"judge.{name}: unknown option; {hint}")
            own = {name: option for name, option in options.items() if name in _JUDGE}
            return Judge(_client(options), **own)
        case Client():
            return Judge(value)
        case _ if hasattr(value, "with_structured_output"):
            return Judge(LangChainClient(value))
    raise UsageError(
        f"judge: {type(value).__name__} is no judge; pass a Judge, a client, a LangChain chat "
        "model, or a model's name"
    )


def _model_of_environment(field: str) -> str:
    model = os.environ.get("KRAGX_JUDGE_MODEL")
    if not model:
        raise UsageError(HOW, field=field)
    return model


def _client(options: Mapping[str, Any]) -> Any:
    named = options.get("client", "openai")
    if named == "openai":
        if "args" in options:
            raise UsageError("judge.args: belongs to a client with an import path")
        own = {name: options[name] for name in _CLIENT if name in options}
        if "model" not in own:
            own["model"] = _model_of_environment("judge.model")
        return OpenAIClient(**own)
    for name in _CLIENT:
        if name in options:
            raise UsageError(f"judge.{name}: what {named!r} takes belongs under 'args'")
    if not isinstance(named, str):
        return named if isinstance(named, Client) else LangChainClient(named)
    args = options.get("args") or {}
    client = plugins.build(named, args)
    return client if isinstance(client, Client) else LangChainClient(client, args=args)


def adjusted(judge: Judge, **options: Any) -> Judge:
    """The judge with the options that are not None; its client and store stay the same."""
    changes = {name: value for name, value in options.items() if value is not None}
    return replace(judge, **changes) if changes else judge
