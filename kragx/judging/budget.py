"""What judging may cost: prices, budgets, and how many tokens a call takes.

That is the most that it can before it is made, and after it an estimate where nobody says.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from kragx.ground.errors import UsageError, inside
from kragx.ground.options import check_options, from_options, number, optional
from kragx.ground.printing import message
from kragx.judging.client import Request, Usage
from kragx.judging.judgement_counts import Spent

Per = Literal["run", "total"]
# Neither NaN nor infinity: nothing is ever more than these.
_amount = number(lambda value: 0 <= value < 1e300, "{value!r} is not a number of at least 0")
_share = number(lambda value: 0 <= value <= 1, "{value!r} is not a share from 0 to 1")

_ASSUMED_OUTPUT = 4096  # tokens of an answer, where the client has no limit
_ADDED = 512  # tokens of a chat template, and of what providers say to the model about a schema


@dataclass(frozen=True)
class Price:
    """What a million tokens cost.

    Attributes:
        input: of a prompt.
        output: of an answer, thinking included.
        cached_input: of the part of a prompt that the provider had cached; None for `input`.
        batch: the share of these prices that a batch's tokens cost (.5 for half); None if that is
            not known.

    Raises:
        UsageError: an amount is no number of at least 0.
    """

    input: Annotated[float, _amount]
    output: Annotated[float, _amount]
    cached_input: Annotated[float | None, optional(_amount)] = None
    batch: Annotated[float | None, optional(_share)] = None

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def of_batches(self) -> Price | None:
        """What a million tokens of a batch cost; None if that is not known."""
        if self.batch is None:
            return None
        cached = self.cached_input and self.cached_input * self.batch
        return Price(self.input * self.batch, self.output * self.batch, cached)

    def of(self, spent: Spent) -> float:
        """The cost of what was spent."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        # What was cached is a part of the prompt, and is not paid for twice.
        return (
            (spent.prompt_tokens - spent.cached_tokens) * self.input
            + spent.cached_tokens * cached_price
            + spent.completion_tokens * self.output
        ) / 1_000_000


@dataclass
class Used:
    """What counts against a limit: an amount of each kind."""

    cost: float = 0.0
    calls: int = 0
    tokens: int = 0

    @classmethod
    def of(cls, spent: Spent, price: Price | None) -> Used:
        """What was spent, at a price; without one it costs nothing."""
        tokens = spent.prompt_tokens + spent.completion_tokens
        return cls(price.of(spent) if price else 0.0, spent.n_calls, tokens)

    def __add__(self, addend: Used) -> Used:
        return Used(self.cost + addend.cost, self.calls + addend.calls, self.tokens + addend.tokens)


@dataclass(frozen=True)
class Budget:
    """What may not be exceeded; None is no limit.

    Attributes:
        cost: in the currency of the price table.
        calls: requests, retries included.
        tokens: of prompts and answers together.
        per: ``run``, that is whatever one judge asks; or ``total``, all that the store has.

    Raises:
        UsageError: an amount is no number of at least 0.
    """

    cost: Annotated[float | None, optional(_amount)] = None
    calls: Annotated[int | None, optional(_amount)] = None
    tokens: Annotated[int | None, optional(_amount)] = None
    per: Per = "run"

    def __post_init__(self) -> None:
        check_options(self)

    def lacking(self, used: Used) -> str | None:
        """Which limit is less than what is used; None if none is."""
        for name, amount in vars(used).items():
            limit = getattr(self, name)
            if limit is not None and amount > limit:
                return name
        return None

    def says(self, name: str, used: Used, currency: str) -> str:
        """How much is used of the limit of this name, in words."""
        units = {"cost": currency, "calls": message("calls"), "tokens": message("tokens")}
        return message(
            "{amount} of {limit} {unit} are used"
            if self.per == "run"
            else "{amount} of {limit} {unit} in all are used by all who share the store",
            amount=in_words(name, used),
            limit=in_words(name, self),
            unit=units[name],
        )


def in_words(name: str, amounts: Used | Budget) -> str:
    """An amount of a kind."""
    amount = getattr(amounts, name)
    return f"{amount:.4f}" if name == "cost" else f"{amount:g}"


def read_prices(prices: Any) -> dict[str, Price]:
    """A price table from ``{model: {input, output, cached_input?, batch?}}``, per million tokens.

    Raises:
        UsageError: a price is missing or no number of at least 0.
    """
    with inside("prices"):
        if not isinstance(prices or {}, Mapping):
            raise UsageError("a mapping {model: {input: 0.4, output: 1.6}} is expected")
        table: dict[str, Price] = {}
        for model, options in (prices or {}).items():
            with inside(str(model)):
                price = from_options(Price, options) if isinstance(options, Mapping) else options
                if not isinstance(price, Price):
                    raise UsageError("write {input: 0.4, output: 1.6}, per million tokens")
                table[str(model)] = price
        return table


def read_budget(budget: Any) -> tuple[Budget, ...]:
    """Budgets that hold side by side: of a number (cost), ``{cost, calls, tokens, per}``, or more.

    Raises:
        UsageError: an option is wrong, or two are of the same ``per``.
    """
    several = isinstance(budget, (list, tuple))
    limits: list[Budget] = []
    for number_, entry in enumerate(budget if several else [budget]):
        options = entry if isinstance(entry, Mapping) else {"cost": entry}
        with inside("budget"), inside(str(number_)) if several else nullcontext():
            limits.append(entry if isinstance(entry, Budget) else from_options(Budget, options))
            if limits[-1].per in [limit.per for limit in limits[:-1]]:
                raise UsageError(
                    "a second one per {per}", remedy="make them one", per=limits[-1].per
                )
    return tuple(limits)


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
        at_most: whether the judge is asked only where those before it may still be outvoted.
    """

    model: str
    price: Price | None
    currency: str
    keys: set[str] = field(default_factory=set)
    about: Spent = field(default_factory=Spent)
    most: Spent = field(default_factory=Spent)
    at_most: bool = False


def most_tokens(request: Request, output_limit: int | None) -> Spent:
    """The most that a call can use, its answer included.

    Tokenizers that fall back to bytes make no more tokens than there are bytes, and nothing
    better holds for all of them, in any language; those that normalise first (NFKC) read another
    text, which may be longer.

    Args:
        request: what would be asked.
        output_limit: the most tokens of the answer; None for a guess, which is no bound.
    """
    texts = [content for _, content in request.messages]
    texts.append(json.dumps(request.schema, ensure_ascii=False))
    n_prompt = _ADDED
    for text in texts:
        forms = {text} if text.isascii() else {text, unicodedata.normalize("NFKC", text)}
        # A lone surrogate has no UTF-8; it is counted all the same, not refused.
        n_prompt += max(len(form.encode("utf-8", "surrogatepass")) for form in forms)
    return Spent(1, prompt_tokens=n_prompt, completion_tokens=output_limit or _ASSUMED_OUTPUT)


def about_tokens(*texts: str) -> int:
    """Roughly how many tokens texts have: one for 4 Latin characters, and .8 for any other."""
    text = "".join(texts)
    latin = sum(character < "\u0250" for character in text)
    return round(latin / 4 + (len(text) - latin) * 0.8)


def about_spent(request: Request) -> Spent:
    """Roughly what a call uses."""
    prompt = about_tokens(*(content for _, content in request.messages)) + 10
    return Spent(1, prompt_tokens=prompt, completion_tokens=request.about_output)


def spent_of(usage: Usage | None) -> Spent:
    """What a call used as it is counted; of one without an answer that is unknown.

    Args:
        usage: None of a call that was not made, or not taken by the server.
    """
    if usage is None:
        return Spent()
    if usage.counting == "most":
        # Its tokens stay reserved (`Limits.unknown`), and stand in no total that is read as used.
        return Spent(1, n_calls_without_usage=1)
    return Spent(
        1,
        n_calls_estimated=int(usage.counting is not None),
        prompt_tokens=usage.prompt or 0,
        completion_tokens=usage.completion or 0,
        cached_tokens=usage.cached or 0,
    )


def at_most(room: Spent) -> Usage:
    """What a call used that nobody answered: perhaps all that was reserved for it."""
    return Usage(room.prompt_tokens, room.completion_tokens, counting="most")
