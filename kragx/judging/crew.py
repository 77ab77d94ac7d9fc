"""Workers that ask at once, and how they end well."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from kragx.judging.agenda import Agenda
from kragx.judging.asking import GRACE, Asker
from kragx.printing import phrase, say


class Crew:
    """Runs workers; whatever ends them, answers under way are waited for and kept.

    Whoever is cancelled (an interrupt, SIGTERM) asks nothing more and waits for what is under way,
    `timeout` seconds at most; cancelled once more, it breaks off.
    """

    def __init__(self, asker: Asker, agenda: Agenda, timeout: float) -> None:
        self._asker, self._agenda, self._timeout = asker, agenda, timeout

    async def run(self, workers: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Run workers to their end.

        Raises:
            Exception: what the first of them to fail raises.
        """
        tasks = [asyncio.create_task(worker) for worker in workers]
        if not tasks:
            return
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        except BaseException as end:
            if isinstance(end, (asyncio.CancelledError, KeyboardInterrupt)) and self._asker.calling:
                say(
                    phrase(
                        "kragx: interrupted; {n} answers under way are waited for, {seconds:g} s "
                        "at most, and kept (once more: at once)",
                        n=len(self._asker.calling),
                        seconds=self._timeout,
                    )
                )
            await self._drain(tasks)
            raise

    async def _drain(self, tasks: list[asyncio.Task[None]]) -> None:
        self._agenda.closed = True
        waiting = [task for task in tasks if task not in self._asker.calling]
        for task in waiting:
            task.cancel()
        try:
            await asyncio.wait(tasks, timeout=self._timeout + 2 * GRACE)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
