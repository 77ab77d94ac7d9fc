"""What judging costs: tokens as providers count them, priced by a table that the user gives."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kragx.errors import UsageError, nearest
from kragx.judging.prompt import Message
from kragx.judging.question import Usage

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

    def of(self, prompt: int, completion: int, cached: int = 0) -> float:
        """The cost of so many tokens; `cached` ones are a part of the prompt."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        return (
            (prompt - cached) * self.input + cached * cached_price + completion * self.output
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
    fields = ("input", "output", "cached_input")
    for name, value in price.items():
        if name not in fields:
            raise UsageError(f"{where}.{name}: unknown field; {nearest(str(name), fields)}")
        check_number(value, f"{where}.{name}")
    for name in fields[:2]:
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
    fields = ("cost", "calls", "tokens")
    for name, value in budget.items():
        if name not in fields:
            raise UsageError(f"judge.budget.{name}: unknown field; {nearest(str(name), fields)}")
        check_number(value, f"judge.budget.{name}")
    return Budget(**budget)


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
        self.counts: Counter[str] = Counter()
        self._budget = budget
        self._price = price
        self._max_output = max_output_tokens
        self._reserved: Counter[str] = Counter()
        self._lock = threading.Lock()

    def reserve(self, messages: tuple[Message, ...]) -> Reservation | None:
        """Room for one more call; None if the budget has none."""
        # No tokenizer makes more tokens than there are bytes, apart from the few around a message.
        prompt = sum(len(text.encode("utf-8")) + 8 for _, text in messages) + 16
        asked = Reservation(prompt, self._max_output)
        with self._lock:
            calls = self.counts["calls"] + self._reserved["calls"] + 1
            prompts = self.counts["prompt_tokens"] + self._reserved["prompt_tokens"] + prompt
            outputs = (
                self.counts["completion_tokens"]
                + self._reserved["completion_tokens"]
                + self._max_output
            )
            budget = self._budget
            if budget.calls is not None and calls > budget.calls:
                return None
            if budget.tokens is not None and prompts + outputs > budget.tokens:
                return None
            if budget.cost is not None and self._price is not None:
                # Cached prompts of earlier calls were cheaper than this sum takes them for.
                saved = self._price.of(self.counts["cached_tokens"], 0) - self._price.of(
                    self.counts["cached_tokens"], 0, self.counts["cached_tokens"]
                )
                if self._price.of(prompts, outputs) - saved > budget.cost:
                    return None
            for name, count in asked.counts.items():
                self._reserved[name] += count
        return asked

    def settle(self, reserved: Reservation, usage: Usage) -> None:
        """Replace a reservation by what was used.

        A call whose usage is unknown counts as a call; its tokens cannot be counted.
        """
        with self._lock:
            self._give_back(reserved)
            for name, count in usage_counts(usage).items():
                self.counts[name] += count

    def release(self, reserved: Reservation) -> None:
        """Give a reservation back: the call was not made, or was broken off by the user."""
        with self._lock:
            self._give_back(reserved)

    def _give_back(self, reserved: Reservation) -> None:
        for name, count in reserved.counts.items():
            self._reserved[name] -= count


@dataclass(frozen=True, slots=True)
class Reservation:
    """The most that one call can use."""

    prompt: int
    completion: int

    @property
    def counts(self) -> dict[str, int]:
        """As the ledger counts it."""
        return {
            "calls": 1,
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
        }


def usage_counts(usage: Usage) -> dict[str, int]:
    """One call as counts."""
    found = {
        "calls": 1,
        "prompt_tokens": usage.prompt or 0,
        "completion_tokens": usage.completion or 0,
        "cached_tokens": usage.cached or 0,
    }
    if usage.prompt is None and usage.completion is None:
        found["calls_without_usage"] = 1
    return found


def cost_of(counts: Mapping[str, Any], price: Price | None) -> float | None:
    """What counted tokens cost; None without a price."""
    if price is None:
        return None
    return price.of(
        counts.get("prompt_tokens", 0),
        counts.get("completion_tokens", 0),
        counts.get("cached_tokens", 0),
    )


def about_tokens(messages: tuple[Message, ...]) -> int:
    """Roughly how many tokens messages have, for a dry run: 4 Latin characters or 1 other each."""
    text = "".join(content for _, content in messages)
    latin = sum(character < "\u0250" for character in text)
    return round(latin / 4 + (len(text) - latin) * 0.8) + 10
