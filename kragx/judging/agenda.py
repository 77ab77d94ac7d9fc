"""What is still to be asked in a run, whose turn it is to ask it, and whether anything more is."""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import islice

from kragx.judging.question import Judgement
from kragx.judging.store import Store, StoreFailedError

_FEW = 16  # workers; more of them claim what they ask in two rounds, as that costs as much
_RENEWAL = 10.0  # seconds; a third of what a claim lasts
_WAITS = (0.02, 1.0)  # seconds between two looks at what others are asking: the first, the longest


def pending_in(store: Store, keys: Iterable[str]) -> dict[str, Judgement]:
    """What stands for the answers that batches are to give."""
    return {
        key: Judgement(key, failure="pending", detail=f"in {batch.id}, submitted {batch.made}")
        for key, batch in store.batches.pending(keys).items()
    }


@dataclass(frozen=True)
class Turn:
    """A question that is one's own to ask, or that others have got an answer to meanwhile.

    Attributes:
        key: the question's.
        answered: what others have got, or submitted.
        is_joined: whether they were asking when its turn came.
    """

    key: str
    answered: Judgement | None = None
    is_joined: bool = False


class Agenda:
    """Keys that wait to be asked, in their order, each claimed in the store before it is.

    What others are asking comes last: their answers are waited for, and what they leave is asked.

    Args:
        keys: in the order in which they are asked.
        store: where others, in this process too, may be asking the same.
        known: what it had before, where that was no answer.
        at_once: how many are asked at the same time.
        ask_pending: whether also what a batch will answer is asked.

    Attributes:
        closed: nothing more is asked.
    """

    def __init__(
        self,
        keys: Sequence[str],
        store: Store,
        known: Mapping[str, Judgement],
        at_once: int,
        *,
        ask_pending: bool,
    ) -> None:
        self.closed = False
        self._keys = deque(keys)
        self._store, self._known, self._at_once = store, known, at_once
        self._ask_pending = ask_pending
        self._own: dict[str, Turn] = {}  # claimed, and not handed out yet
        self._held: set[str] = set()  # by others, when one last looked
        self._lock = asyncio.Lock()

    def __len__(self) -> int:
        return 0 if self.closed else len(self._keys)

    async def next(self, *, elsewhere: bool = False) -> Turn | None:
        """The next one, or one from anywhere; None if nothing more is asked.

        Raises:
            StoreFailedError: the store takes no claims.
        """
        async with self._lock:
            wait, longest = _WAITS
            if elsewhere and self:
                position = random.randrange(len(self._keys))
                self._keys.appendleft(self._keys[position])
                del self._keys[position + 1]
            while self:
                turn = self._own.pop(self._keys[0], None)
                if turn is not None:
                    self._keys.popleft()
                    return turn
                if not await self._claim() and len(self._held) == len(self._keys):
                    await asyncio.sleep(wait)
                    wait = min(longest, 2 * wait)
            return None

    async def _claim(self) -> bool:
        """Claim the next keys, and put those that others hold last; whether one has a turn."""
        block = self._at_once * (1 if self._at_once < _FEW else 2)
        keys = [key for key in islice(self._keys, block) if key not in self._own]
        store = self._store
        claimed = await store.aside(store.claim, keys)
        # Whoever submits leaves out what is claimed, and what was submitted before is seen here.
        pending = {} if self._ask_pending else await store.aside(pending_in, store, claimed.keys)
        settled = await store.aside(store.settled, keys)
        for key in keys:
            answer, before = settled.get(key), self._known.get(key)
            if answer is not None and answer.grade is None:
                # Who is still asking, or was killed, has not done with it.
                is_over = key in claimed.keys and key not in claimed.inherited
                is_new = before is None or before.uid != answer.uid
                answer = answer if is_over and is_new else None
            answer = answer or pending.get(key)
            if key not in claimed.keys and answer is None:
                self._held.add(key)
                self._keys.remove(key)
                self._keys.append(key)
                continue
            self._own[key] = Turn(key, answer, key in self._held)
            self._held.discard(key)
        return bool(self._own)

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
