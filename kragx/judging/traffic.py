"""When requests start, who asks what right now, and how long to wait before asking again."""

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from kragx.judging.question import Judgement

_FIRST_WAIT = 1.0

_Result = TypeVar("_Result")


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
        while True:
            with self._lock:
                now_ = self._clock()
                start = max(now_, self._paused_until, self._next)
                if start <= now_:
                    self._next = now_ + self._interval
                    return
                has_turn = self._paused_until <= now_ and self._interval > 0
                if has_turn:
                    self._next = start + self._interval
            await self._sleep(start - now_)
            if has_turn:
                return

    def pause(self, seconds: float) -> None:
        """Let nothing start for so long."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)


class Flights:
    """Who is asking which key right now, in whichever thread or event loop."""

    def __init__(self) -> None:
        self._flights: dict[str, Future[Judgement | None]] = {}
        self._lock = threading.Lock()

    def board(self, key: str) -> tuple[Future[Judgement | None], bool]:
        """The flight of a key, and whether it is the caller who must fly it."""
        with self._lock:
            if key in self._flights:
                return self._flights[key], False
            self._flights[key] = Future()
            return self._flights[key], True

    def land(self, key: str, judgement: Judgement | None) -> None:
        """Tell everybody aboard; None if the flight was broken off."""
        with self._lock:
            flight = self._flights.pop(key)
        flight.set_result(judgement)


def run_sync(make: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """Run a coroutine to its end, in a thread of its own if an event loop is running here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    running: dict[str, Any] = {}
    started = threading.Event()

    async def known() -> _Result:
        running["task"], running["loop"] = asyncio.current_task(), asyncio.get_running_loop()
        started.set()
        return await make()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asyncio.run, known())
        try:
            return future.result()
        except KeyboardInterrupt:
            # The interrupt reaches this thread only; without this the other would go on asking.
            started.wait(1.0)
            with suppress(KeyError, RuntimeError):
                running["loop"].call_soon_threadsafe(running["task"].cancel)
            raise
