"""What waits to be committed to the judgement store, and where it goes if the store fails."""

import asyncio
import json
import tempfile

from kragx.errors import JudgingError
from kragx.judging.agenda import Agenda
from kragx.judging.docket import Docket
from kragx.judging.question import Judgement
from kragx.judging.store import Store, StoreFailedError, record

_TOGETHER = 0.002  # seconds; one commit for what arrives within them costs as much as for one row
_FULL = 16  # attempts of one commit to a file; where all wait for all, all ask at the same moment


class Writer:
    """Commits attempts as they come, together with those of the next few milliseconds.

    Attributes:
        error: why the store takes no more; None while it does.
    """

    def __init__(self, store: Store, docket: Docket, agenda: Agenda) -> None:
        self.error: StoreFailedError | None = None
        self._store, self._docket, self._agenda = store, docket, agenda
        self._attempts: list[Judgement] = []  # not yet committed
        self._finished: list[str] = []
        self._next: asyncio.Task[None] | None = None  # commits them
        self._commits: set[asyncio.Task[None]] = set()  # under way

    def keep(self, attempt: Judgement) -> None:
        """Have an attempt committed, in a few milliseconds."""
        self._attempts.append(attempt)
        if self._next is None:
            self._next = asyncio.create_task(self._commit_soon())
            self._commits.add(self._next)
            self._next.add_done_callback(self._commits.discard)

    def finish(self, key: str) -> None:
        """Let others know, after the next commit, that nothing more is asked for a key."""
        self._finished.append(key)

    async def kept(self) -> None:
        """Wait until what was kept last is committed; who asks on before can lose more."""
        if self._next is None:
            return
        if len(self._attempts) < _FULL or self._store.address.path is None:
            await asyncio.shield(self._next)
        else:
            self._next = None
            await self._commit()

    async def close(self) -> None:
        """Commit what is left.

        Raises:
            JudgingError: the store took or takes no more; what it lacks is in a file to import.
        """
        if self._commits:
            await asyncio.wait(self._commits)
        await self._commit()
        if self.error is not None:
            raise JudgingError(
                f"{self.error}; {self._rescued()}, and nothing more was asked"
            ) from self.error

    async def _commit_soon(self) -> None:
        await asyncio.sleep(_TOGETHER)
        if self._next is asyncio.current_task():
            self._next = None
        if self.error is None:  # else `close` tries once more
            await self._commit()

    async def _commit(self) -> None:
        attempts, finished = self._attempts, self._finished
        if not attempts:
            return
        self._attempts, self._finished = [], []
        try:
            await self._store.aside(self._store.add, attempts, finished)
        except StoreFailedError as error:
            self._attempts = attempts + self._attempts
            self.error = error
            self._agenda.closed = True  # what cannot be kept is not asked for

    def _rescued(self) -> str:
        """Keep the attempts that the store lacks in a file that it can import, and say so."""
        if not self._attempts:
            return "all that was judged is stored"
        pairs: dict[str, list[list[str]]] = {}
        for key, *pair in self._docket.pairs():
            pairs.setdefault(key, []).append(pair)
        lines = (
            json.dumps(record(attempt, json.loads(self._docket.wanted[attempt.key][1]), pairs))
            for attempt in self._attempts
        )
        n_lost = len(self._attempts)
        try:
            with tempfile.NamedTemporaryFile(
                "w", prefix="kragx-judged-", suffix=".jsonl", delete=False, encoding="utf-8"
            ) as file:
                file.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            return f"{n_lost} answers are lost, as no other file could be written ({error})"
        return (
            f"{n_lost} answers that it did not take are in {file.name} (once there is room: kragx "
            f"judge store import {file.name} --store {self._store.address})"
        )
