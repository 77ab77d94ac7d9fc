"""What judging may cost: prices, budgets, and the ledger that keeps to them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from kragx.errors import UsageError, inside
from kragx.judging.counting import Count, most_tokens
from kragx.judging.question import Request
from kragx.judging.tally import Spent
from kragx.plugins import check_options, from_options, number, optional

_amount = number(lambda value: 0 <= value < 1e300, "number of at least 0")


@dataclass(frozen=True)
class Price:
    """What a million tokens cost.

    Attributes:
        input: of a prompt.
        output: of an answer, thinking included.
        cached_input: of the part of a prompt that the provider had cached; None for `input`.

    Raises:
        UsageError: an amount is no number of at least 0.
    """

    input: Annotated[float, _amount]
    output: Annotated[float, _amount]
    cached_input: Annotated[float | None, optional(_amount)] = None

    def __post_init__(self) -> None:
        check_options(self)

    def of(self, spent: Spent) -> float:
        """The cost of what was spent."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        return (
            (spent.prompt_tokens - spent.cached_tokens) * self.input
            + spent.cached_tokens * cached_price
            + spent.completion_tokens * self.output
        ) / 1_000_000


@dataclass(frozen=True)
class Budget:
    """What may not be exceeded; None is no limit.

    Attributes:
        cost: in the currency of the price table.
        calls: requests, retries included.
        tokens: of prompts and answers together.

    Raises:
        UsageError: an amount is no number of at least 0.
    """

    cost: Annotated[float | None, optional(_amount)] = None
    calls: Annotated[int | None, optional(_amount)] = None
    tokens: Annotated[int | None, optional(_amount)] = None

    def __post_init__(self) -> None:
        check_options(self)


def read_prices(prices: Any) -> dict[str, Price]:
    """A price table from ``{model: {input, output, cached_input?}}``, per million tokens.

    Raises:
        UsageError: a price is missing or no number of at least 0.
    """
    with inside("prices"):
        if not isinstance(prices or {}, Mapping):
            raise UsageError("a mapping {model: {input: 0.4, output: 1.6}} is expected")
        return {str(model): _price(model, price) for model, price in (prices or {}).items()}


def _price(model: object, price: object) -> Price:
    with inside(str(model)):
        if isinstance(price, Mapping):
            return from_options(Price, price)
        if isinstance(price, Price):
            return price
        raise UsageError("write {input: 0.4, output: 1.6}, per million tokens")


def read_budget(budget: Any) -> Budget:
    """A budget from a number (cost) or ``{cost, calls, tokens}``."""
    if isinstance(budget, Budget):
        return budget
    with inside("budget"):
        if isinstance(budget, Mapping):
            return from_options(Budget, budget)
        return Budget(cost=budget)


@dataclass
class Plan:
    """What dry runs of a judge found that it would have to ask, each question once.

    Attributes:
        model: that would be asked.
        price: of the model; None if it is not known.
        currency: what the price is in.
        keys: of the questions.
        about: roughly what asking them would take.
        most: the most it can, retries aside.
    """

    model: str
    price: Price | None
    currency: str
    keys: set[str] = field(default_factory=set)
    about: Spent = field(default_factory=Spent)
    most: Spent = field(default_factory=Spent)

    def add(self, key: str, about: Spent, most: Spent) -> None:
        """Count a question."""
        self.keys.add(key)
        self.about.add(about)
        self.most.add(most)


class Ledger:
    """Counts what was asked and what it used, and says when a budget would be exceeded.

    Before a call the most that it can use is reserved, so that the budget holds whatever the
    answers turn out to be; where there is no room for that, the call waits for others to be
    settled. What a call without an answer can have used stays reserved. Safe to use from several
    threads and event loops.

    Args:
        budget: what may not be exceeded.
        price: of the model; None if it is not known.
        output_limit: the most tokens of an answer; None if there is no limit.
    """

    def __init__(self, budget: Budget, price: Price | None, output_limit: int | None) -> None:
        self.spent = Spent()
        self._budget = budget
        self._price = price
        self._output_limit = output_limit
        self._reserved = Spent()
        self.unknown = Spent()
        # Where a call used more than a call can use, the next one can, too.
        self._excess = Spent()
        self._waiting: list[Future[None]] = []
        self._lock = threading.Lock()

    @property
    def cost(self) -> float | None:
        """What was spent so far; None without a price."""
        return None if self._price is None else self._price.of(self.spent)

    async def reserve(self, request: Request) -> Spent | None:
        """Room for a call, as soon as there is some.

        Returns:
            the most that the call can use, which must be settled; None if no call is on its way
            that could make room.
        """
        most = most_tokens(request, self._output_limit)
        while True:
            with self._lock:
                room = most + self._excess
                if self._fits(self.spent + self.unknown + self._reserved + room):
                    self._reserved.add(room)
                    return room
                if not self._reserved.n_calls:
                    return None
                turn: Future[None] = Future()
                self._waiting.append(turn)
            await asyncio.wrap_future(turn)

    def _fits(self, spent: Spent) -> bool:
        budget, price = self._budget, self._price
        used_of_limits = (
            (spent.n_calls, budget.calls),
            (spent.prompt_tokens + spent.completion_tokens, budget.tokens),
            (price.of(spent) if price else 0.0, budget.cost),
        )
        return all(limit is None or used <= limit for used, limit in used_of_limits)

    def settle(self, room: Spent, count: Count) -> Spent:
        """Replace what was reserved by what was used, which is returned."""
        spent = count.spent
        with self._lock:
            self._reserved.add(-room)
            self.spent.add(spent)
            if count.counting == "most":
                self.unknown.add(replace(room, n_calls=0))
            elif count.counting is None:
                self._learn(spent, room)
            waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if turn.set_running_or_notify_cancel():
                turn.set_result(None)
        return spent

    def _learn(self, spent: Spent, room: Spent) -> None:
        for name in ("prompt_tokens", "completion_tokens"):
            beyond = getattr(spent, name) - getattr(room, name)
            setattr(self._excess, name, getattr(self._excess, name) + max(0, beyond))
