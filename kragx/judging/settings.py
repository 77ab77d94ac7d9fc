"""How a judge asks and what it may cost."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from kragx.ground.errors import UsageError, inside
from kragx.ground.options import above_zero, check_options, number, optional, whole
from kragx.ground.secrets import Secrets
from kragx.judging.budget import Plan, Price, read_budget, read_prices
from kragx.judging.client import Client
from kragx.judging.clients.langchain import LangChainClient
from kragx.judging.clients.openai import OpenAIClient
from kragx.judging.examples import read_examples
from kragx.judging.limits import Limits
from kragx.judging.question import output_limit
from kragx.judging.rubric import Asks, Rubric, akin, built_in, canonical_json, read_rubric
from kragx.judging.store import Address


def _client(value: Any) -> Client:
    """Whoever asks the model: a client, or what one is made of."""
    client = OpenAIClient(value) if isinstance(value, str) else value
    if hasattr(client, "with_structured_output"):
        client = LangChainClient(client)
    if not isinstance(client, Client):
        raise UsageError(
            "{kind} is no client; pass a model's name, an object with 'settings' and 'ask', or a "
            "LangChain chat model",
            field="judge.client",
            kind=type(value).__name__,
        )
    try:
        canonical_json(dict(client.settings))
    except (TypeError, ValueError) as error:
        raise UsageError(
            "part of every key, and no plain values: {error}",
            field="judge.client.settings",
            error=error,
        ) from None
    return client


DEFAULT_STORE = Path(".kragx/judgements.sqlite")
AskAgain = Literal["transient", "all", "none"]


@dataclass(frozen=True)
class JudgeSettings:
    """How an LLM is asked to grade, and what that may cost.

    Attributes:
        client: asks the model; or its name, for `OpenAIClient`; or a LangChain chat model.
        store: the SQLite file that keeps every attempt, or the URL of a PostgreSQL database.
        rubric: one of the user's own (`Rubric`, mapping or YAML file) instead of the built-in ones.
        language: of the built-in rubrics: ``en``, ``ko``, or ``auto`` by what is asked.
        concurrency: how many requests at once, at most; fewer where the server has no room.
        rpm: the most requests a minute; None for no limit.
        timeout: seconds for one attempt.
        attempts: the most attempts at one question in one run.
        patience: seconds that a question waits for a server that has no room for it (429) or is
            away; such refusals are no attempts.
        max_missing: the share of judgements that may be missing before a run ends with an error.
        budget: what may not be exceeded: a cost, ``{cost, calls, tokens, per}``, or several of
            these.
        prices: ``{model: {input, output, cached_input?, batch?}}``, per million tokens.
        currency: what the prices are in.
        ask_again: which stored failures are asked again in another run: ``transient`` ones (all
            but refusals, content filters, and lengths at the same limit), ``all`` or ``none``.
        ask_pending: whether questions whose answers a batch has yet to give are asked all the same.
        repeat: another number asks everything anew, beside what is stored.
        dry_run: count calls and tokens instead of asking.
        progress: whether to show progress on standard error; None for only on a terminal.
        examples: pairs that people have graded, to be shown with each question: the path of their
            labels, or the options of `Examples`; None for no examples.
        secrets: what no kept text may show; None for those of the environment. Those that the
            client knows (`Client`) are always among them.
        outbox: gets what a dry run would ask; a `Submission`, which has it answered in batches.
        clock, sleep: time, for tests.

    Raises:
        UsageError: an option is wrong.
    """

    client: Any
    store: Annotated[Any, Address.of] = DEFAULT_STORE
    rubric: Annotated[Any, optional(read_rubric)] = None
    language: Literal["auto", "en", "ko"] = "auto"
    concurrency: Annotated[int, whole(1)] = 8
    rpm: Annotated[float | None, optional(above_zero)] = None
    timeout: Annotated[float, above_zero] = 60.0
    attempts: Annotated[int, whole(1)] = 5
    patience: Annotated[
        float, number(lambda value: value >= 0, "{value!r} is not a number of at least 0")
    ] = 600.0
    max_missing: Annotated[
        float, number(lambda share: 0 <= share <= 1, "{value!r} is not a share from 0 to 1")
    ] = 0.0
    budget: Annotated[Any, read_budget] = None
    prices: Annotated[Any, read_prices] = None
    currency: str = "USD"
    ask_again: AskAgain = "transient"
    ask_pending: bool = False
    repeat: Annotated[int, whole(0)] = 0
    dry_run: bool = False
    progress: bool | None = None
    examples: Annotated[Any, optional(read_examples)] = None
    secrets: Secrets | None = field(default=None, repr=False, compare=False)
    outbox: Any = field(default=None, repr=False, compare=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False, compare=False)
    sleep: Callable[[float], Awaitable[None]] = field(
        default=asyncio.sleep, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "client", _client(self.client))
        with inside("judge"):
            check_options(self)
        if self.price is None and any(limit.cost is not None for limit in self.budget):
            raise UsageError(
                "judge.budget: no price of {model!r} is known, so no cost can be kept to; "
                "add judge.prices.{model}: {{input: ..., output: ...}} (per million tokens; of "
                "batches, judge.prices.{model}.batch too), or give the budget in calls or tokens",
                model=self.model,
            )

    def all_secrets(self) -> Secrets:
        """What no text of a run may show: made for each run, as the environment may change."""
        secrets = Secrets.of() if self.secrets is None else self.secrets
        return secrets.also(getattr(self.client, "secrets", ()))

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.client.settings.get("model", type(self.client).__name__))

    @property
    def price(self) -> Price | None:
        """The price of the model, or of its batches; None if the table does not have it."""
        price: Price | None = self.prices.get(self.model)
        return price.of_batches if price is not None and self.outbox is not None else price

    def rubric_for(self, asks: Asks, text: str) -> Rubric:
        """The rubric of a question about `text` (the query or the gold text).

        Raises:
            UsageError: the judge's own rubric asks something else.
        """
        # One for documents leaves lists of facts alone, and the other way round.
        rubric: Rubric | None = self.rubric
        if rubric is None or not akin(asks, rubric.asks):
            return built_in(asks, text, self.language)
        if rubric.asks != asks:
            raise UsageError(
                "judge.rubric: {id!r} asks for {asks}, and here {asks_2} is judged; use "
                "another rubric, or mode {asks!r}",
                id=rubric.id,
                asks=rubric.asks,
                asks_2=asks,
            )
        return rubric

    def rubric_id(self, asks: str) -> str:
        """What names the wording of a question in results, whatever the texts' language."""
        rubric: Rubric | None = self.rubric
        if rubric is not None and akin(asks, rubric.asks):
            return rubric.id
        return f"{asks}-{self.language}-1"

    @cached_property
    def output_limit(self) -> int | None:
        """The most tokens that an answer may have; None if the client does not say."""
        return output_limit(self.client.settings)

    @cached_property
    def limits(self) -> Limits:
        """When this judge's next call may begin, and what it has used, over all runs with it."""
        return Limits(self)

    @cached_property
    def plan(self) -> Plan:
        """What dry runs of this judge would have asked so far."""
        return Plan(self.model, self.price, self.currency)
