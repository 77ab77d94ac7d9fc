"""The calendar periods of budgets, in UTC, and what a store says was used in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kragx.errors import UsageError
from kragx.judging.budget import Per, Price, Used
from kragx.judging.tally import Spent

if TYPE_CHECKING:
    from kragx.judging.store import Store

_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


def bounds_of(per: Per, time: datetime) -> tuple[datetime, datetime | None]:
    """When the period that a time is in began, and when the next one does; None for never.

    Weeks begin on Monday. A ``total`` is of all times.
    """
    day = time.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    match per:
        case "day":
            return day, day + timedelta(days=1)
        case "week":
            monday = day - timedelta(days=day.weekday())
            return monday, monday + timedelta(days=7)
        case "month":
            first = day.replace(day=1)
            return first, (first + timedelta(days=31)).replace(day=1)
        case "year":
            first = day.replace(month=1, day=1)
            return first, first.replace(year=first.year + 1)
    return _BEGINNING, None


@dataclass
class Period:
    """What others than a ledger have used since a calendar period began, by a store's rows.

    Attributes:
        per: which kind of period.
        start: of the current one; None before the store was read.
        end: when the next one begins; None for never.
        others: what others used.
        before: what the ledger had spent when it began.
    """

    per: Per
    start: datetime | None = None
    end: datetime | None = None
    others: Used = field(default_factory=Used)
    before: Spent = field(default_factory=Spent)
    _last: int = -1
    _own: set[str] = field(default_factory=set)

    def wrote(self, uid: str) -> None:
        """The store will have an attempt that the ledger has counted itself."""
        self._own.add(uid)

    def read(
        self, store: Store, time: datetime, spent: Spent, prices: Mapping[str, Price] | None
    ) -> None:
        """Count what the store got since it was last read.

        Args:
            store: that everybody shares who shares the budget.
            time: now.
            spent: what the ledger has spent so far.
            prices: of models; None where the budget is not of money.

        Raises:
            UsageError: somebody asked a model whose price is not known.
        """
        start, end = bounds_of(self.per, time)
        if start != self.start:
            self.start, self.end, self.before = start, end, spent
            self.others, self._last, self._own = Used(), -1, set()
        attempts = store.spent(start, after=self._last, models=prices is not None)
        for number, uid, model, is_batch, one in attempts:
            self._last = number
            if uid in self._own:
                self._own.remove(uid)
                continue
            price = None if prices is None else prices.get(model)
            if prices is not None and price is None and one.prompt_tokens + one.completion_tokens:
                raise UsageError(
                    f"judge.budget: of a cost per {self.per} all counts that the store has, and "
                    f"the price of {model!r} is not known",
                    remedy=f"add judge.prices.{model}: {{input: ..., output: ...}}",
                )
            if is_batch and price is not None:
                price = price.of_batches or price
            self.others = self.others + Used.of(one, price)
