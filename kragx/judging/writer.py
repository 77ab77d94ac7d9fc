"""What waits to be committed to the judgement store, and where it goes if the store fails."""

import asyncio
import json
import tempfile

from kragx.errors import JudgingError
from kragx.judging.agenda import Agenda
from kragx.judging.docket import Docket
from kragx.judging.question import Judgement
from kragx.judging.store import Store, StoreFailedError, record

_TOGETHER = 0.005  # seconds; one commit for what arrives within them costs as much as for one row


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

    def keep(self, attempt: Judgement) -> None:
        """Have an attempt committed, in a few milliseconds."""
        self._attempts.append(attempt)
        if len(self._attempts) == 1:
            asyncio.get_running_loop().call_later(_TOGETHER, self._commit)

    def finish(self, key: str) -> None:
        """Let others know, after the next commit, that nothing more is asked for a key."""
        self._finished.append(key)

    def close(self) -> None:
        """Commit what is left.

        Raises:
            JudgingError: the store took or takes no more; what it lacks is in a file to import.
        """
        self._commit()
        if self.error is not None:
            raise JudgingError(
                f"{self.error}; {self._rescued()}, and nothing more was asked"
            ) from self.error

    def _commit(self) -> None:
        try:
            if self._attempts:
                self._store.add(self._attempts, self._finished)
                self._attempts, self._finished = [], []
        except StoreFailedError as error:
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
            json.dumps(record(attempt, json.loads(self._docket.material(attempt.key)), pairs))
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
