"""What judging may cost: prices, budgets, and the ledger that keeps to them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from kragx.errors import UsageError, inside
from kragx.judging.question import Message, Usage
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
            if self._exceeds(self.spent + self._reserved + call):
                return None
            self._reserved.add(call)
        return call

    def _exceeds(self, spent: Spent) -> bool:
        budget, price = self._budget, self._price
        used_of_limits = (
            (spent.n_calls, budget.calls),
            (spent.prompt_tokens + spent.completion_tokens, budget.tokens),
            (price.of(spent) if price else 0.0, budget.cost),
        )
        return any(limit is not None and used > limit for used, limit in used_of_limits)

    def settle(self, reserved: Spent, usage: Usage | None) -> Spent:
        """Replace a reservation by what was used, which is returned; None if no call was made.

        A call whose usage is unknown counts as a call; its tokens cannot be counted.
        """
        used = Spent() if usage is None else Spent.of(usage)
        with self._lock:
            self._reserved.add(-reserved)
            self.spent.add(used)
        return used


def about_tokens(messages: tuple[Message, ...]) -> int:
    """Roughly how many tokens messages have, for a dry run: 4 Latin characters or 1 other each."""
    text = "".join(content for _, content in messages)
    latin = sum(character < "\u0250" for character in text)
    return round(latin / 4 + (len(text) - latin) * 0.8) + 10
