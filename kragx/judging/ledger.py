"""The ledger of a judge: what calls may take, what they took, and whether budgets have room."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kragx.judging.budget import Budget, Budgets, Price, Used, in_words
from kragx.judging.client import Request, Usage
from kragx.judging.counting import most_tokens, spent_of
from kragx.judging.store.spending import StoreSpending
from kragx.judging.tally import Spent

if TYPE_CHECKING:
    from kragx.judging.store import Store

_OFTEN = 1.0  # seconds between two looks at what others have used


@dataclass(frozen=True)
class Shortage:
    """Why a budget has no room for a call.

    Attributes:
        budget: which one.
        limit: which of its limits.
        used: what counts against it.
        call: the most that the call can use.
        n_unknown: calls without an answer, of which the most is counted.
        n_waiting: questions in open batches, of which the same is.
    """

    budget: Budget
    limit: str
    used: Used
    call: Used
    n_unknown: int
    n_waiting: int

    def says(self, currency: str) -> str:
        """The same in words."""
        whose = self.budget.says(self.limit, self.used, currency)
        if self.n_waiting:
            whose += f" ({self.n_waiting} questions in open batches are counted at their most)"
        if self.n_unknown:
            whose += f" ({self.n_unknown} calls without an answer are counted as the most they are)"
        call = in_words(self.limit, self.call)
        more = "" if self.limit == "calls" else f", and another call can take {call}"
        return f"{whose}{more}"


class Ledger:
    """Counts what was asked and what it used, and says when a budget would be exceeded.

    Before a call the most that it can use is reserved, so that the budget holds whatever the
    answers turn out to be; where there is no room for that, the call waits for others to be
    settled. What a call without an answer can have used stays reserved. Safe to use from several
    threads and event loops.

    Args:
        budgets: what may not be exceeded.
        model: that is asked.
        prices: of models.
        output_limit: the most tokens of an answer; None if there is no limit.

    Attributes:
        spent: what was used so far.
        unknown: the most that calls without an answer can have used.
        shortage: why there was no room for a call; None if there always was.
        submitted: the most that may be used by what was submitted in batches.
        fellows: of the other judges of a panel, which share its budget of a run. They ask one after
            the other: nothing of theirs is on its way while this one asks.
    """

    def __init__(
        self,
        budgets: Budgets,
        model: str,
        prices: Mapping[str, Price],
        output_limit: int | None,
    ) -> None:
        self.spent: Spent = Spent()
        self.unknown: Spent = Spent()
        self.shortage: Shortage | None = None
        self.submitted: Used = Used()
        self.fellows: Sequence[Ledger] = ()
        self._limits = [budget for budget in budgets.limits if not budget.is_boundless]
        self._total = next((limit for limit in self._limits if limit.per == "total"), None)
        self._stored = StoreSpending()  # by others than this ledger
        self._prices, self._price = prices, prices.get(model)
        self._output_limit = output_limit
        self._reserved = Spent()
        # Where a call used more than a call can use, the next one can, too.
        self._excess = Spent()
        self._waiting: list[Future[None]] = []
        self._read_at = float("-inf")
        self._lock = threading.Lock()

    @property
    def cost(self) -> float | None:
        """What was spent so far; None without a price."""
        return None if self._price is None else self._price.of(self.spent)

    @property
    def used(self) -> Used:
        """What was spent so far, and the most that calls without an answer can have."""
        return Used.of(self.spent + self.unknown, self._price)

    async def reserve(self, request: Request, store: Store) -> Spent | None:
        """Room for a call, as soon as there is some.

        Args:
            request: what would be asked.
            store: whose rows count against a budget in total.

        Returns:
            the most that the call can use, which must be settled; None if no call is on its way
            that could make room.

        Raises:
            UsageError: a budget of a cost, and a price that it needs is not known.
        """
        at_most = most_tokens(request, self._output_limit)
        while True:
            with self._lock:
                room = at_most + self._excess
                shortage = self._shortage(room, store)
                if shortage is None:
                    self._reserved.add(room)
                    return room
                if not self._reserved.n_calls:
                    self.shortage = shortage
                    return None
                turn: Future[None] = Future()
                self._waiting.append(turn)
            await asyncio.wrap_future(turn)

    def _shortage(self, room: Spent, store: Store) -> Shortage | None:
        """What has no room for a call; None if there is room."""
        if not self._limits:
            return None
        self._read(store)
        spent = Used.of(self.spent + self.unknown, self._price)
        reserved = Used.of(self._reserved + room, self._price)
        for budget in self._limits:
            if budget.per == "total":
                used = spent + self._stored.used
            else:
                used = sum((fellow.used for fellow in self.fellows), spent)
            if name := budget.lacking(used + reserved):
                n_unknown = self.unknown.n_calls_without_usage
                n_waiting = self._stored.waiting.calls if budget.per == "total" else 0
                call = Used.of(room, self._price)
                return Shortage(budget, name, used, call, n_unknown, n_waiting)
        return None

    def _read(self, store: Store) -> None:
        """Count what others have used meanwhile, unless that was done a moment ago."""
        if self._total is None or time.monotonic() - self._read_at < _OFTEN:
            return
        self._stored.read(store, None if self._total.cost is None else self._prices)
        self._read_at = time.monotonic()

    def settle(self, room: Spent, usage: Usage | None) -> Spent:
        """Replace what was reserved by what was used, which is returned."""
        spent = spent_of(usage)
        with self._lock:
            self._reserved.add(-room)
            self.spent.add(spent)
            if usage is not None and usage.counting == "most":
                self.unknown.add(replace(room, n_calls=0, n_calls_without_usage=1))
            elif usage is not None and usage.counting is None:
                self._learn(spent, room)
            waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if turn.set_running_or_notify_cancel():
                turn.set_result(None)
        return spent

    def wrote(self, uid: str) -> None:
        """The store will have this attempt, which is settled."""
        with self._lock:
            if self._total is not None:
                self._stored.ledgers.add(uid)

    def _learn(self, spent: Spent, room: Spent) -> None:
        for name in ("prompt_tokens", "completion_tokens"):
            beyond = getattr(spent, name) - getattr(room, name)
            setattr(self._excess, name, getattr(self._excess, name) + max(0, beyond))
