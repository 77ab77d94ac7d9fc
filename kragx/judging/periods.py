"""The calendar periods of budgets, in UTC, and what a store says was used in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kragx.errors import UsageError
from kragx.judging.budget import Budget, Budgets, Per, Price, Used
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
    """What others than a ledger have used since a calendar period began, by a store.

    Attributes:
        per: which kind of period.
        start: of the current one; None before the store was read.
        end: when the next one begins; None for never.
        waiting: the most that open batches may take yet.
        before: what the ledger had spent when it began.
    """

    per: Per
    start: datetime | None = None
    end: datetime | None = None
    waiting: Used = field(default_factory=Used)
    before: Spent = field(default_factory=Spent)
    _stored: Used = field(default_factory=Used)
    _last: int = -1
    _own: set[str] = field(default_factory=set)

    @property
    def others(self) -> Used:
        """What others used, and open batches may."""
        return self._stored + self.waiting

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
            self._stored, self._last, self._own = Used(), -1, set()
        # What is collected in between counts twice for a moment, rather than not at all.
        open_ = [batch for batch in store.batches.batches() if batch.is_open]
        self.waiting = sum((batch.most for batch in open_), Used())
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
            self._stored = self._stored + Used.of(one, price)


def used_of(
    budgets: Budgets, store: Store | None, prices: Mapping[str, Price]
) -> list[tuple[Budget, Used]]:
    """Each limit with what others have used of it by now, open batches included.

    Args:
        budgets: the limits.
        store: what everybody shares; None if there is none yet.
        prices: of models.

    Raises:
        UsageError: a limit of a cost, and somebody asked a model whose price is not known.
    """
    used: list[tuple[Budget, Used]] = []
    for budget in budgets.limits:
        period = Period(budget.per)
        if store is not None and budget.per != "run":
            period.read(store, datetime.now(UTC), Spent(), None if budget.cost is None else prices)
        used.append((budget, period.others))
    return used
