"""When requests may start, how many at once, and how long to wait before another attempt."""

import asyncio
import random
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future

_FLOOR = 0.5  # seconds; no wait is shorter, whatever a server says
_CEILING = 60.0  # seconds that the random part of a wait grows to


def believed(retry_after: float | None, longest: float) -> float:
    """Seconds that a server wants a pause for; 0 where it does not say, or nothing credible.

    Args:
        retry_after: what it says; any number, NaN and infinity included.
        longest: seconds; more is taken for a mistake, and the server is asked when it suits us.
    """
    return retry_after if retry_after is not None and 0 < retry_after <= longest else 0.0


def wait_before(number: int, floor: float) -> float:
    """Seconds before another attempt: at least the floor and half a second, and full jitter on top.

    The jitter is drawn evenly from 0 to 1, 2, 4, ... 60 s, so that those who were refused together
    do not come back together.

    Args:
        number: of the attempt that failed, from 1.
        floor: seconds that the server asks for.
    """
    return max(_FLOOR, floor) + random.random() * min(_CEILING, 2.0 ** min(number - 1, 10))


class Pace:
    """When the next request may start, for all runs of a judge, in whichever thread.

    Requests start `rpm` apart, not while the server wants a pause, and no more at once than the
    server takes. How many that is is found out as TCP finds it (additive increase, multiplicative
    decrease): a refusal (429) halves it, an answer adds 1/limit, one more for each full round, up
    to `concurrency`. Answers that take ever longer are a sign of a queue in the server: where they
    take half the timeout on average, and three times as long as the fastest, it falls by a
    quarter. What was sent before the limit last fell says nothing about the new one.

    Attributes:
        limit: how many requests may run at once.
        answered: when the last answer came, by the clock; None before the first.
    """

    def __init__(
        self,
        concurrency: int,
        rpm: float | None,
        timeout: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.limit: float = float(concurrency)
        self.answered: float | None = None
        self._most, self._timeout = concurrency, timeout
        self._clock, self._sleep = clock, sleep
        self._interval = 0.0 if rpm is None else 60.0 / rpm
        self._next = self._paused_until = self._lowered = float("-inf")
        self._fastest = float("inf")
        self._usual: float | None = None  # seconds, smoothed over the last eight or so
        self._n_running = 0
        self._waiting: deque[Future[None]] = deque()
        self._lock = threading.Lock()

    async def enter(self) -> float:
        """Wait for one's turn; the time at which it begins. `leave` must follow."""
        waiting: Future[None] | None = None
        with self._lock:
            if self._waiting or self._n_running >= self._most_now:
                waiting = Future()
                self._waiting.append(waiting)
            else:
                self._n_running += 1
        try:
            if waiting is not None:
                await asyncio.wrap_future(waiting)
            while (pause := self._paused_until - self._clock()) > 0:
                await self._sleep(pause)
            with self._lock:
                now_ = self._clock()
                start = max(now_, self._next)
                self._next = start + self._interval
            if start > now_:
                await self._sleep(start - now_)
        except BaseException:
            if waiting is None or not waiting.cancel():  # it had its turn already
                self.leave()
            raise
        return self._clock()

    def leave(self) -> None:
        """Let the next one in."""
        with self._lock:
            self._n_running -= 1
            while self._waiting and self._n_running < self._most_now:
                waiting = self._waiting.popleft()
                if waiting.set_running_or_notify_cancel():
                    self._n_running += 1
                    waiting.set_result(None)

    @property
    def _most_now(self) -> int:
        return max(1, int(self.limit))

    def answer(self, started: float) -> None:
        """An answer came to a request that started then."""
        with self._lock:
            self.answered = self._clock()
            self.limit = min(self._most, self.limit + 1 / self.limit)
            self._took(started)

    def timeout(self, started: float) -> None:
        """No answer came in time to a request that started then."""
        with self._lock:
            self._took(started)

    def _took(self, started: float) -> None:
        seconds = self._clock() - started
        self._fastest = min(self._fastest, seconds)
        self._usual = seconds if self._usual is None else self._usual + (seconds - self._usual) / 8
        if self._usual > max(self._timeout / 2, 3 * self._fastest):
            self._lower(started, 0.75)

    def refusal(self, started: float, pause: float = 0.0) -> None:
        """The server had no room for a request that started then; nothing starts for `pause` s."""
        with self._lock:
            self._lower(started, 0.5)
            self._paused_until = max(self._paused_until, self._clock() + pause)

    def _lower(self, started: float, factor: float) -> None:
        if started > self._lowered:
            self.limit = max(1.0, self.limit * factor)
            self._lowered = self._clock()
