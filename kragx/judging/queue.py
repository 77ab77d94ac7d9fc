"""What is still to be asked in a run, each claimed before it is, and what waits to be stored."""

import asyncio
import json
import random
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import islice

from kragx.ground.errors import JudgingError
from kragx.judging.question import Judgement, Question
from kragx.judging.store import Store, StoreFailedError, record

_FEW = 16  # workers; more of them claim what they ask in two rounds, as that costs as much
_RENEWAL = 10.0  # seconds; a third of what a claim lasts
_TOGETHER = 0.002  # seconds; one commit for what arrives within them costs as much as for one row
_FULL = 16  # attempts of one commit to a file; where all wait for all, all ask at the same moment
_WAITS = (0.02, 1.0)  # seconds between two looks at what others are asking: the first, the longest


@dataclass(frozen=True)
class QueuedQuestion:
    """A question that is one's own to ask, or that others have got an answer to meanwhile.

    Attributes:
        key: the question's.
        answered: what others have got, or submitted.
        is_joined: whether they were asking when its turn came.
    """

    key: str
    answered: Judgement | None = None
    is_joined: bool = False


class WorkQueue:
    """Keys that wait to be asked, in their order, each claimed in the store before it is.

    What others are asking comes last: their answers are waited for, and what they leave is asked.

    Args:
        keys: in the order in which they are asked.
        store: where others, in this process too, may be asking the same.
        before: what it had before, where that was no answer.
        at_once: how many are asked at the same time.
        ask_pending: whether also what a batch will answer is asked.

    Attributes:
        closed: nothing more is asked.
    """

    def __init__(
        self,
        keys: Sequence[str],
        store: Store,
        before: Mapping[str, Judgement],
        at_once: int,
        *,
        ask_pending: bool,
    ) -> None:
        self.closed = False
        self._keys = deque(keys)
        self._store, self._before, self._at_once = store, before, at_once
        self._ask_pending = ask_pending
        self._turns: dict[str, QueuedQuestion] = {}  # claimed, and not handed out yet
        self._foreign: set[str] = set()  # claimed by others, when one last looked
        self._lock = asyncio.Lock()

    def __len__(self) -> int:
        return 0 if self.closed else len(self._keys)

    async def next(self, *, scattered: bool = False) -> QueuedQuestion | None:
        """The next one, or one at random; None if nothing more is asked.

        Raises:
            StoreFailedError: the store takes no claims.
        """
        async with self._lock:
            wait, longest = _WAITS
            if scattered and self:
                position = random.randrange(len(self._keys))
                self._keys.appendleft(self._keys[position])
                del self._keys[position + 1]
            while self:
                turn = self._turns.pop(self._keys[0], None)
                if turn is not None:
                    self._keys.popleft()
                    return turn
                if not await self._claim() and len(self._foreign) == len(self._keys):
                    await asyncio.sleep(wait)
                    wait = min(longest, 2 * wait)
            return None

    async def _claim(self) -> bool:
        """Claim the next keys, and put those that others hold last; whether one has a turn."""
        block = self._at_once * (1 if self._at_once < _FEW else 2)
        keys = [key for key in islice(self._keys, block) if key not in self._turns]
        store = self._store
        claimed = await store.aside(store.claim, keys)
        # Whoever submits leaves out what is claimed, and what was submitted before is seen here.
        batches = store.batches
        pending = {} if self._ask_pending else await store.aside(batches.pending, claimed.keys)
        answered = await store.aside(store.settled, keys)
        for key in keys:
            answer, before = answered.get(key), self._before.get(key)
            if answer is not None and answer.grade is None:
                # Who is still asking, or was killed, has not done with it.
                is_over = key in claimed.keys and key not in claimed.inherited
                is_new = before is None or before.uid != answer.uid
                answer = answer if is_over and is_new else None
            answer = answer or pending.get(key)
            if key not in claimed.keys and answer is None:
                self._foreign.add(key)
                self._keys.remove(key)
                self._keys.append(key)
                continue
            self._turns[key] = QueuedQuestion(key, answer, key in self._foreign)
            self._foreign.discard(key)
        return bool(self._turns)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Around the asking: claims are renewed as long as it takes."""
        renewal = asyncio.create_task(self._renew())
        try:
            yield
        finally:
            renewal.cancel()
            with suppress(asyncio.CancelledError):
                await renewal

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEWAL)
            with suppress(StoreFailedError):
                await self._store.aside(self._store.renew)


class Writer:
    """Commits attempts as they come, together with those of the next few milliseconds.

    Args:
        store: that gets them.
        wanted: the questions, each with its canonical JSON, by key.
        pairs: gives their (key, query id, document id).
        queue: is closed when the store takes no more.

    Attributes:
        error: why the store takes no more; None while it does.
    """

    def __init__(
        self,
        store: Store,
        wanted: Mapping[str, tuple[Question, str]],
        pairs: Callable[[], Iterable[tuple[str, str, str]]],
        queue: WorkQueue,
    ) -> None:
        self.error: StoreFailedError | None = None
        self._store, self._wanted, self._pairs, self._queue = store, wanted, pairs, queue
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
            self._queue.closed = True  # what cannot be kept is not asked for

    def _rescued(self) -> str:
        """Keep the attempts that the store lacks in a file that it can import, and say so."""
        if not self._attempts:
            return "all that was judged is stored"
        pairs: dict[str, list[list[str]]] = {}
        for key, *pair in self._pairs():
            pairs.setdefault(key, []).append(pair)
        lines = (
            json.dumps(record(attempt, json.loads(self._wanted[attempt.key][1]), pairs))
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
