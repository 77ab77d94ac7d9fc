"""When requests may start, and how long to wait before another attempt."""

import random
import threading
from collections.abc import Awaitable, Callable

_FIRST_WAIT = 1.0


def wait_before(key: str, attempt: int, retry_after: float | None) -> float:
    """Seconds before the next attempt: what the server says, else doubling, never in step."""
    spread = random.Random(f"{key}{attempt}").random()
    if retry_after is not None:
        return retry_after + 0.1 * spread
    return float(min(60.0, _FIRST_WAIT * 2 ** (attempt - 1)) * (0.5 + 0.5 * spread))


class Pace:
    """When the next request may start: `rpm` apart, and not while the server wants a pause."""

    def __init__(
        self,
        rpm: float | None,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._interval = 0.0 if rpm is None else 60.0 / rpm
        self._next = float("-inf")
        self._paused_until = float("-inf")
        self._lock = threading.Lock()

    async def pass_through(self) -> None:
        """Wait for one's turn."""
        while (pause := self._paused_until - self._clock()) > 0:
            await self._sleep(pause)
        with self._lock:
            now_ = self._clock()
            start = max(now_, self._next)
            self._next = start + self._interval
        if start > now_:
            await self._sleep(start - now_)

    def pause(self, seconds: float) -> None:
        """Let nothing start for so long."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)
