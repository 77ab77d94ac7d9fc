"""The judge: an LLM that grades, with everything about how it is asked and what it may cost."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from kragx.errors import DataError, UsageError, nearest
from kragx.judging.client import Client
from kragx.judging.ledger import Ledger, Price, read_budget, read_prices
from kragx.judging.question import Judgement, Question
from kragx.judging.rubric import Asks, Language, Rubric, built_in, read_rubric
from kragx.judging.runner import Judged, Run
from kragx.judging.store import Store
from kragx.judging.traffic import Flights, Gate, run_sync

DEFAULT_STORE = Path(".kragx/judgements.sqlite")
AskAgain = Literal["transient", "all", "none"]


@dataclass(frozen=True)
class Judge:
    """An LLM that grades, with everything about how it is asked and what it may cost.

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
    language: Language | Literal["auto"] = "auto"
    concurrency: int = 8
    rpm: float | None = None
    timeout: float = 60.0
    attempts: int = 5
    max_missing: float = 0.0
    budget: Any = None
    prices: Any = None
    currency: str = "USD"
    ask_again: AskAgain = "transient"
    repeat: int = 0
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
        for name, least in (("concurrency", 1), ("attempts", 1), ("repeat", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"judge.{name}: {value!r} is not a whole number from {least} on")
        for name in ("timeout", "rpm"):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and value > 0):
                raise UsageError(f"judge.{name}: {value!r} is not a number above 0")
        if not (_is_number(self.max_missing) and 0 <= self.max_missing <= 1):
            raise UsageError(f"judge.max_missing: {self.max_missing!r} is no share from 0 to 1")
        for name, valid in (
            ("ask_again", get_args(AskAgain)),
            ("language", ("auto", *get_args(Language))),
        ):
            value = getattr(self, name)
            if value not in valid:
                hint = nearest(str(value), valid)
                raise UsageError(f"judge.{name}: unknown value {value!r}; {hint}")
        rubric = None if self.rubric is None else read_rubric(self.rubric)
        object.__setattr__(self, "rubric", rubric)
        object.__setattr__(self, "prices", read_prices(self.prices or {}))
        object.__setattr__(self, "budget", read_budget(self.budget))
        if self.budget.cost is not None and self.price is None:
            raise UsageError(
                f"judge.budget: no price of {self.model!r} is known, so no cost can be kept to; "
                f"add judge.prices.{self.model}: {{input: ..., output: ...}} (per million tokens), "
                "or give the budget in calls or tokens"
            )

    # -- what it is --------------------------------------------------------------------------

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

    # -- judging -----------------------------------------------------------------------------

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
        try:
            return await Run(self, questions).run()
        except sqlite3.Error as error:
            raise DataError(f"{self.store}: the judgement store failed: {error}") from error

    def stored(self, questions: Sequence[Question]) -> list[Judgement | None]:
        """What the store has for each question; None for one without an answer. Nothing is asked.

        Raises:
            DataError: the store cannot be used.
        """
        if not Path(self.store).is_file():
            return [None] * len(questions)
        run = Run(self, questions)
        try:
            with Store(self.store) as store:
                settled = store.settled(list(run.asked))
        except sqlite3.Error as error:
            raise DataError(f"{self.store}: the judgement store failed: {error}") from error
        return [
            None
            if (found := settled.get(key)) is None
            else Judgement(key, found.grade, found.reason, detail=found.detail, source="store")
            for key in run.keys
        ]

    @cached_property
    def gate(self) -> Gate:
        """When this judge's next request may start, over all runs with it."""
        return Gate(self.rpm, self.clock, self.sleep)

    @cached_property
    def flights(self) -> Flights:
        """What this judge is asking right now, over all runs with it."""
        return Flights()


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
