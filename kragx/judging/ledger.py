"""What judging costs: tokens as providers count them, priced by a table that the user gives."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from kragx.errors import UsageError, nearest
from kragx.judging.client import Message
from kragx.judging.question import Usage
from kragx.judging.tally import Spent

_PER = 1_000_000


@dataclass(frozen=True)
class Price:
    """What a million tokens cost.

    Attributes:
        input: of a prompt.
        output: of an answer, thinking included.
        cached_input: of the part of a prompt that the provider had cached; None for `input`.
    """

    input: float
    output: float
    cached_input: float | None = None

    def of(self, spent: Spent) -> float:
        """The cost of what was spent."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        return (
            (spent.prompt_tokens - spent.cached_tokens) * self.input
            + spent.cached_tokens * cached_price
            + spent.completion_tokens * self.output
        ) / _PER


@dataclass(frozen=True)
class Budget:
    """What may not be exceeded; None is no limit.

    Attributes:
        cost: in the currency of the price table.
        calls: requests, retries included.
        tokens: of prompts and answers together.
    """

    cost: float | None = None
    calls: int | None = None
    tokens: int | None = None


def read_prices(prices: object) -> dict[str, Price]:
    """A price table from ``{model: {input, output, cached_input?}}``, per million tokens.

    Raises:
        UsageError: a price is missing or no number of at least 0.
    """
    if not isinstance(prices, Mapping):
        raise UsageError("judge.prices: a mapping {model: {input: 0.4, output: 1.6}} is expected")
    return {
        str(model): price if isinstance(price, Price) else _price(str(model), price)
        for model, price in prices.items()
    }


def _price(model: str, price: object) -> Price:
    where = f"judge.prices.{model}"
    if not isinstance(price, Mapping):
        raise UsageError(f"{where}: write {{input: 0.4, output: 1.6}}, per million tokens")
    _check_numbers(price, Price, where)
    for name in ("input", "output"):
        if name not in price:
            raise UsageError(f"{where}.{name}: missing; a price needs input and output")
    return Price(**price)


def read_budget(budget: object) -> Budget:
    """A budget from a number (cost) or ``{cost, calls, tokens}``."""
    if budget is None:
        return Budget()
    if isinstance(budget, Budget):
        return budget
    if not isinstance(budget, Mapping):
        return Budget(cost=check_number(budget, "judge.budget"))
    _check_numbers(budget, Budget, "judge.budget")
    return Budget(**budget)


def _check_numbers(numbers: Mapping[str, Any], kind: type[Budget | Price], where: str) -> None:
    names = [field.name for field in fields(kind)]
    for name, value in numbers.items():
        if name not in names:
            raise UsageError(f"{where}.{name}: unknown field; {nearest(str(name), names)}")
        check_number(value, f"{where}.{name}")


def check_number(value: object, where: str) -> float:
    """`value` if it is a finite number of at least 0; else a `UsageError`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e300:
        raise UsageError(f"{where}: {value!r} is not a number of at least 0")
    return float(value)


class Ledger:
    """Counts what was asked and what it used, and says when a budget would be exceeded.

    Before a call the most that it can use is reserved, so that the budget holds whatever the
    answers turn out to be. Safe to use from several threads.
    """

    def __init__(self, budget: Budget, price: Price | None, max_output_tokens: int) -> None:
        self.spent = Spent()
        self._budget = budget
        self._price = price
        self._max_output = max_output_tokens
        self._reserved = Spent()
        self._lock = threading.Lock()

    @property
    def cost(self) -> float | None:
        """What was spent so far; None without a price."""
        return None if self._price is None else self._price.of(self.spent)

    def reserve(self, messages: tuple[Message, ...]) -> Spent | None:
        """The most that one more call can use, kept free for it; None if the budget has no room."""
        # No tokenizer makes more tokens than there are bytes, apart from the few around a message.
        prompt = sum(len(text.encode("utf-8")) + 8 for _, text in messages) + 16
        call = Spent(1, prompt_tokens=prompt, completion_tokens=self._max_output)
        with self._lock:
            if self._budget != Budget() and self._exceeds(self.spent + self._reserved + call):
                return None
            self._reserved.add(call)
        return call

    def _exceeds(self, spent: Spent) -> bool:
        budget, price = self._budget, self._price
        tokens = spent.prompt_tokens + spent.completion_tokens
        return (
            (budget.calls is not None and spent.n_calls > budget.calls)
            or (budget.tokens is not None and tokens > budget.tokens)
            or (budget.cost is not None and price is not None and price.of(spent) > budget.cost)
        )

    def settle(self, reserved: Spent, usage: Usage) -> Spent:
        """Replace a reservation by what was used, which is returned.

        A call whose usage is unknown counts as a call; its tokens cannot be counted.
        """
        used = Spent.of(usage)
        with self._lock:
            self._reserved.take_off(reserved)
            self.spent.add(used)
        return used

    def release(self, reserved: Spent) -> None:
        """Give a reservation back: the call was not made, or was broken off by the user."""
        with self._lock:
            self._reserved.take_off(reserved)


def about_tokens(messages: tuple[Message, ...]) -> int:
    """Roughly how many tokens messages have, for a dry run: 4 Latin characters or 1 other each."""
    text = "".join(content for _, content in messages)
    latin = sum(character < "\u0250" for character in text)
    return round(latin / 4 + (len(text) - latin) * 0.8) + 10
