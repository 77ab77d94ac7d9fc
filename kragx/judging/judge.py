"""The judge: an LLM that grades questions; how it asks, what it may cost, what stands for one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from kragx import plugins
from kragx.errors import UsageError, nearest
from kragx.judging.langchain import LangChainClient
from kragx.judging.openai import OpenAIClient
from kragx.judging.question import Client, Judgement, Question
from kragx.judging.rubric import Asks, Rubric, built_in, read_rubric
from kragx.judging.runner import Batch, Judged
from kragx.judging.store import Store
from kragx.judging.tally import Ledger, Price, read_budget, read_prices
from kragx.judging.traffic import Flights, Pace, run_sync
from kragx.plugins import above_zero, number, optional, whole

DEFAULT_STORE = Path(".kragx/judgements.sqlite")
AskAgain = Literal["transient", "all", "none"]


@dataclass(frozen=True)
class Judge:
    """An LLM that grades.

    Attributes:
        client: asks the model.
        store: the SQLite file that keeps every attempt.
        rubric: one of the user's own (`Rubric`, mapping or YAML file) instead of the built-in ones.
        language: of the built-in rubrics: ``en``, ``ko``, or ``auto`` by what is asked.
        concurrency: how many requests at once.
        rpm: the most requests a minute; None for no limit.
        timeout: seconds for one attempt.
        attempts: the most attempts at one question in one run.
        max_missing: the share of judgements that may be missing before a run ends with an error.
        budget: what may not be exceeded: a cost, or ``{cost, calls, tokens}``.
        prices: ``{model: {input, output, cached_input?}}``, per million tokens.
        currency: what the prices are in.
        ask_again: which stored failures are asked again in another run: ``transient`` ones
            (timeouts, rate limits, connections), ``all`` or ``none``.
        repeat: another number asks everything anew, beside what is stored.
        dry_run: count calls and tokens instead of asking.
        progress: whether to show progress on standard error; None for only on a terminal.
        clock, sleep: time, for tests.

    Raises:
        UsageError: an option is wrong.
    """

    client: Client
    store: str | Path = DEFAULT_STORE
    rubric: Any = None
    language: Literal["auto", "en", "ko"] = "auto"
    concurrency: Annotated[int, whole(1)] = 8
    rpm: Annotated[float | None, optional(above_zero)] = None
    timeout: Annotated[float, above_zero] = 60.0
    attempts: Annotated[int, whole(1)] = 5
    max_missing: Annotated[float, number(lambda share: 0 <= share <= 1, "share from 0 to 1")] = 0.0
    budget: Annotated[Any, read_budget] = None
    prices: Annotated[Any, read_prices] = None
    currency: str = "USD"
    ask_again: AskAgain = "transient"
    repeat: Annotated[int, whole(0)] = 0
    dry_run: bool = False
    progress: bool | None = None
    clock: Callable[[], float] = field(default=time.monotonic, repr=False, compare=False)
    sleep: Callable[[float], Awaitable[None]] = field(
        default=asyncio.sleep, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.client, Client):
            raise UsageError(
                f"judge.client: {type(self.client).__name__} has no 'settings' and 'ask'; "
                "pass an OpenAIClient, a LangChainClient, or one of your own"
            )
        try:
            plugins.check_options(self)
        except UsageError as error:
            raise error.within("judge") from None
        if self.rubric is not None:
            object.__setattr__(self, "rubric", read_rubric(self.rubric))
        if self.budget.cost is not None and self.price is None:
            raise UsageError(
                f"judge.budget: no price of {self.model!r} is known, so no cost can be kept to; "
                f"add judge.prices.{self.model}: {{input: ..., output: ...}} (per million tokens), "
                "or give the budget in calls or tokens"
            )

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.client.settings.get("model", type(self.client).__name__))

    @property
    def price(self) -> Price | None:
        """The price of the model; None if the table does not have it."""
        prices: Mapping[str, Price] = self.prices
        return prices.get(self.model)

    def rubric_for(self, asks: Asks, text: str) -> Rubric:
        """The rubric of a question about `text` (the query or the gold text).

        Raises:
            UsageError: the judge's own rubric asks something else.
        """
        own: Rubric | None = self.rubric
        if own is None:
            return built_in(asks, text, self.language)
        if own.asks != asks:
            raise UsageError(
                f"judge.rubric: {own.id!r} asks for {own.asks}, and here {asks} is judged; use "
                f"another rubric, or mode {own.asks!r}"
            )
        return own

    @cached_property
    def ledger(self) -> Ledger:
        """What this judge has used so far, over all runs with it."""
        limit = self.client.settings.get("max_completion_tokens", 4096)
        return Ledger(self.budget, self.price, int(limit))

    @cached_property
    def pace(self) -> Pace:
        """When this judge's next request may start, over all runs with it."""
        return Pace(self.rpm, self.clock, self.sleep)

    @cached_property
    def flights(self) -> Flights:
        """What this judge is asking right now, over all runs with it."""
        return Flights()

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
        return await Batch(self, questions).judge()

    def stored(self, questions: Sequence[Question]) -> list[Judgement | None]:
        """What the store has for each question; None for one without an answer. Nothing is asked.

        Raises:
            DataError: the store cannot be used.
        """
        if not Path(self.store).is_file():
            return [None] * len(questions)
        keys = Batch(self, questions).keys
        with Store(self.store) as store:
            settled = store.settled(list(dict.fromkeys(keys)))
        return [settled[key].judgement("store") if key in settled else None for key in keys]


# -- what stands for a judge -------------------------------------------------------------------

_CLIENT = tuple(field.name for field in fields(OpenAIClient) if field.init)
_JUDGE = tuple(
    field.name for field in fields(Judge) if field.name not in ("client", "clock", "sleep")
)
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
    client = plugins.build(named, options.get("args") or {}) if isinstance(named, str) else named
    return client if isinstance(client, Client) else LangChainClient(client)


def adjusted(judge: Judge, **options: Any) -> Judge:
    """The judge with the options that are not None; its client and store stay the same."""
    changes = {name: value for name, value in options.items() if value is not None}
    return replace(judge, **changes) if changes else judge
