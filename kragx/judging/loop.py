"""Coroutines run from synchronous code, in notebooks too."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

_Result = TypeVar("_Result")


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
