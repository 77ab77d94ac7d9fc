"""Whether a call of a judge may begin: how many at once, how many a minute, pauses, and budgets.

All calls take one road. `Limits.enter` stands in line until there is a place and every budget has
room for the most that the call can use, and then waits for pauses and pace; `Limits.leave` puts
what it used in the place of what was reserved. What is submitted in a batch gets its room by
`Limits.submit`, from the same budgets.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import replace
from typing import Any

from kragx.ground.errors import UsageError
from kragx.ground.printing import joined, message
from kragx.judging.budget import Budget, Price, Used, in_words, most_tokens, spent_of
from kragx.judging.client import Request, Usage
from kragx.judging.judgement_counts import Spent
from kragx.judging.store import Store

_OFTEN = 1.0  # seconds between two looks at what others have used


def credible_pause(retry_after: float | None, longest: float) -> float:
    """Seconds that a server wants a pause for; 0 where it does not say, or nothing credible.

    Args:
        retry_after: what it says; any number, NaN and infinity included.
        longest: seconds; more is taken for a mistake, and the server is asked when it suits us.
    """
    return retry_after if retry_after is not None and 0 < retry_after <= longest else 0.0


class Limits:
    """When the next call of a judge may begin, over all its runs, in whichever thread.

    No more run at once than the server takes. How many that is is found out as TCP finds it
    (additive increase, multiplicative decrease): a refusal (429) halves it, an answer adds 1/limit,
    one more for each full round, up to `concurrency`. What was sent before the limit last fell says
    nothing about the new one. Calls start `rpm` apart, and not while the server wants a pause.

    Before a call the most that it can use is reserved, so that budgets hold whatever the answers
    turn out to be; where there is no room for that, the call waits for others to end. What a call
    without an answer can have used stays reserved.

    Args:
        settings: of the judge, a `kragx.judging.settings.JudgeSettings`.

    Attributes:
        limit: how many calls may run at once.
        answered: when the last answer came, by the clock; None before the first.
        spent: what was used so far.
        unknown: the most that calls without an answer can have used.
        shortage: why there was no room for a call; None if there always was.
        submitted: the most that may be used by what was submitted in batches.
        fellows: of the other judges of a panel, which share its budget of a run. They ask one after
            the other: nothing of theirs is on its way while this one asks.
        name: what the ids of attempts begin with that are counted here.
    """

    def __init__(self, settings: Any) -> None:
        self.limit: float = float(settings.concurrency)
        self.answered: float | None = None
        self.spent: Spent = Spent()
        self.unknown: Spent = Spent()
        self.shortage: str | None = None
        self.submitted: Used = Used()
        self.fellows: Sequence[Limits] = ()
        self.name: str = os.urandom(6).hex()
        self._settings = settings
        self._price: Price | None = settings.price
        self._budgets: tuple[Budget, ...] = settings.budget
        self._total = next((budget for budget in self._budgets if budget.per == "total"), None)
        # By the store, for budgets in total: what others used, and the most that open batches may.
        self._stored, self._last_row = Used(), 0
        self._waiting_in_batches = Used()
        self._clock: Callable[[], float] = settings.clock
        self._sleep: Callable[[float], Awaitable[None]] = settings.sleep
        self._interval = 0.0 if settings.rpm is None else 60.0 / settings.rpm
        self._next = self._paused_until = self._lowered = self._read_at = float("-inf")
        self._reserved = Spent()  # for the calls that run
        # Where a call used more than a call can use, the next one can, too.
        self._excess = Spent()
        # Of calls that wait for their turn: the most that each can use, by what it is told then.
        self._waiting: dict[Future[Spent | None], Spent] = {}
        self._lock = threading.RLock()

    @property
    def cost(self) -> float | None:
        """What was spent so far; None without a price."""
        return None if self._price is None else self._price.of(self.spent)

    @property
    def used(self) -> Used:
        """What was spent so far, and the most that calls without an answer, or in batches, can."""
        return Used.of(self.spent + self.unknown, self._price) + self.submitted

    def used_of(self, budget: Budget) -> Used:
        """What all who share a budget have used of it; in total as of the last `look`."""
        if budget.per == "total":
            return self.used + self._stored + self._waiting_in_batches
        return sum((fellow.used for fellow in self.fellows), self.used)

    def look(self, store: Store) -> None:
        """Count what others have used meanwhile, where a budget is in total.

        Raises:
            UsageError: a budget of a cost, and a price that it needs is not known.
        """
        if self._total is None:
            return
        # What is collected in between counts twice for a moment, rather than not at all.
        waiting = (batch.most for batch in store.batches.batches() if batch.is_open)
        self._waiting_in_batches = sum(waiting, Used())
        self._last_row, groups = store.spent(after=self._last_row, but=self.name)
        for (model, is_batch), spent in groups.items():
            price = None if self._total.cost is None else self._settings.prices.get(model)
            is_priceless = self._total.cost is not None and price is None
            if is_priceless and spent.prompt_tokens + spent.completion_tokens:
                raise UsageError(
                    "judge.budget: of a cost per total all counts that the store has, and "
                    "the price of {model!r} is not known",
                    remedy="add judge.prices.{model}: {{input: ..., output: ...}}",
                    model=model,
                )
            of_batch = price.of_batches if is_batch and price is not None else None
            self._stored += Used.of(spent, of_batch or price)
        self._read_at = time.monotonic()

    def submit(self, at_most: Used) -> bool:
        """Keep room for a question in a batch; False where a budget has none for it."""
        if self._lacking(at_most) is not None:
            return False
        self.submitted += at_most
        return True

    async def enter(self, request: Request, store: Store | None) -> Spent | None:
        """Wait for one's turn; `leave` must follow.

        Args:
            request: what is asked.
            store: whose rows count against a budget in total.

        Returns:
            the most that the call, which may begin now, can use, and is reserved for it; None if a
            budget has no room for it, and no call is on its way that could make some.

        Raises:
            UsageError: a budget of a cost, and a price that it needs is not known.
        """
        waiter: Future[Spent | None] = Future()
        most = most_tokens(request, self._settings.output_limit)
        with self._lock:
            if store is not None and time.monotonic() - self._read_at >= _OFTEN:
                self.look(store)
            # One after the other: whoever was refused and comes again stands behind the others.
            self._waiting[waiter] = most
            self._admit()
        try:
            room = await asyncio.wrap_future(waiter)
            if room is None:
                return None
            while (pause := self._paused_until - self._clock()) > 0:
                await self._sleep(pause)
            with self._lock:
                now = self._clock()
                start = max(now, self._next)
                self._next = start + self._interval
            if start > now:
                await self._sleep(start - now)
            return room
        except BaseException:
            with self._lock:
                if self._waiting.pop(waiter, None) is not None:
                    self._admit()
                elif not waiter.cancelled() and (room := waiter.result()) is not None:
                    self.leave(room, None)
            raise

    def _admit(self) -> None:
        """Reserve room for those who wait, in their order, as long as there is any."""
        while self._waiting and self._reserved.n_calls < max(1, int(self.limit)):
            waiter, most = next(iter(self._waiting.items()))
            room = most + self._excess
            shortage = self._missing_room(room)
            if shortage is not None and self._reserved.n_calls:
                return
            del self._waiting[waiter]
            with suppress(InvalidStateError):  # it is just cancelled
                waiter.set_result(None if shortage else room)
                self.shortage = shortage or self.shortage
                if shortage is None:
                    self._reserved.add(room)

    def leave(self, room: Spent, usage: Usage | None) -> Spent:
        """Replace what was reserved by what was used, which is returned; whoever waits looks."""
        spent = spent_of(usage)
        with self._lock:
            self._reserved.add(-room)
            self.spent.add(spent)
            if usage is not None and usage.counting == "most":
                self.unknown.add(replace(room, n_calls=0, n_calls_without_usage=1))
            elif usage is not None and usage.counting is None:
                beyond_prompt = spent.prompt_tokens - room.prompt_tokens
                beyond_answer = spent.completion_tokens - room.completion_tokens
                self._excess.prompt_tokens += max(0, beyond_prompt)
                self._excess.completion_tokens += max(0, beyond_answer)
            self._admit()
        return spent

    def answer(self) -> None:
        """An answer came."""
        with self._lock:
            self.answered = self._clock()
            self.limit = min(self._settings.concurrency, self.limit + 1 / self.limit)

    def refusal(self, started: float, pause: float = 0.0) -> None:
        """The server had no room for a call that started then; nothing starts for `pause` s."""
        with self._lock:
            if started > self._lowered:
                self.limit = max(1.0, self.limit / 2)
                self._lowered = self._clock()
            self._paused_until = max(self._paused_until, self._clock() + pause)

    def _lacking(self, at_most: Used) -> tuple[Budget, str] | None:
        """The first budget without room for what may be used now, and which of its limits it is."""
        for budget in self._budgets:
            name = budget.lacking(self.used_of(budget) + at_most)
            if name is not None:
                return budget, name
        return None

    def _missing_room(self, room: Spent) -> str | None:
        """What has no room for a call beside those that run, in words; None if there is room."""
        lacking = self._lacking(Used.of(self._reserved + room, self._price))
        if lacking is None:
            return None
        budget, name = lacking
        spent = [budget.says(name, self.used_of(budget), self._settings.currency)]
        if budget.per == "total" and (n := self._waiting_in_batches.calls):
            spent.append(message("({n} questions in open batches are counted at their most)", n=n))
        if n := self.unknown.n_calls_without_usage:
            spent.append(
                message("({n} calls without an answer are counted as the most they are)", n=n)
            )
        most = message(
            "and another call can take {amount}", amount=in_words(name, Used.of(room, self._price))
        )
        return joined(", ", [joined(" ", spent), "" if name == "calls" else most])
