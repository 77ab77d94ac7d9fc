"""One question: its attempts, its waits, and what is kept of each answer."""

import asyncio
import time
import uuid
from dataclasses import asdict, replace
from typing import Any

from kragx.errors import JudgingError
from kragx.judging.counting import NO_CALL, Count, at_most, counted
from kragx.judging.docket import Docket
from kragx.judging.pace import wait_before
from kragx.judging.prompt import messages, read_answer, schema
from kragx.judging.question import Answer, Failure, Judgement, Request, words_of
from kragx.judging.rubric import Rubric
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import Store, now
from kragx.judging.tally import Spent, Tally
from kragx.judging.writer import Writer

_LONGEST_WAIT = 300.0  # seconds; a server that asks for more is not waited for
# What whoever answered has said, with the most characters that are kept of it.
_SAID = {"reason": 2000, "detail": 1000, "raw": None, "model": 200, "fingerprint": 200}
_GRACE = 5.0  # seconds beyond the timeout that a client gets to notice it by itself


class Asker:
    """Gets a judgement of one question at a time, for any number of workers at once.

    Attributes:
        over_budget: whether a question was not asked since the budget had no room for it.
        others_write: whether another process has written to the store meanwhile.
    """

    def __init__(
        self, settings: JudgeSettings, docket: Docket, store: Store, writer: Writer, tally: Tally
    ) -> None:
        self.over_budget = False
        self.others_write = False
        self._settings, self._docket, self._store = settings, docket, store
        self._writer, self._tally = writer, tally

    async def judgement(self, key: str) -> Judgement:
        """Ask, or wait for somebody else who is asking the same.

        Raises:
            JudgingError: the service refuses everything.
        """
        flight, is_mine = self._settings.flights.board(key)
        if not is_mine:
            judgement = await asyncio.wrap_future(flight)
            if judgement is None:  # the other one was broken off
                return await self.judgement(key)
            self._tally.n_joined += 1
            return judgement
        judgement = None
        try:
            judgement = await self._ask(key)
        finally:
            self._settings.flights.land(key, judgement)
        return judgement

    async def _ask(self, key: str) -> Judgement:
        settings = self._settings
        question, _ = self._docket.wanted[key]
        stored = self._graded_elsewhere(key)
        if stored is not None:
            self._tally.n_stored += 1
            return stored
        request = Request(messages(question, key), schema(question.rubric), settings.timeout)
        for number in range(1, settings.attempts + 1):
            room = await settings.ledger.reserve(request)
            if room is None:
                self.over_budget = True
                return Judgement(key, failure="not_asked", detail="the budget is used up")
            answer, count, seconds = await self._once(request, room)
            self._tally.n_retries += number > 1
            judgement = self._shown(
                _judgement(key, answer, count, question.rubric, seconds, settings.output_limit)
            )
            self._writer.keep(judgement)
            if not isinstance(answer, Failure):
                break
            if answer.fatal:
                raise JudgingError(
                    f"judge: {judgement.detail}. Every further question would fail the same way, "
                    f"so judging stopped; what was judged is in {settings.store}"
                )
            wait = wait_before(key, number, answer.retry_after)
            if (
                self._writer.error is not None
                or not answer.again
                or number == settings.attempts
                or wait > _LONGEST_WAIT
            ):
                break
            if answer.kind == "rate_limit":
                settings.pace.pause(wait)
            await settings.sleep(wait)
        return judgement

    def _graded_elsewhere(self, key: str) -> Judgement | None:
        """The judgement, if another process has got a grade meanwhile."""
        self.others_write = self.others_write or self._store.changed_by_others()
        stored = self._store.settled([key]).get(key) if self.others_write else None
        return None if stored is None or stored.grade is None else stored

    def _shown(self, judgement: Judgement) -> Judgement:
        """A judgement without secrets: servers and gateways say keys again, models headers."""
        masked = self._docket.secrets.masked
        # Masked first: half a secret may not be known as one.
        said = {name: masked(getattr(judgement, name)) for name in _SAID}
        texts: dict[str, Any] = {name: words_of(said[name], most) for name, most in _SAID.items()}
        return replace(judgement, **texts)

    async def _once(self, request: Request, room: Spent) -> tuple[Answer | Failure, Count, float]:
        """The answer, what it took, and how many seconds."""
        settings = self._settings
        count = NO_CALL
        try:
            await settings.pace.pass_through()
            started = time.perf_counter()
            count = at_most(room)  # whatever ends the call, it was made
            try:
                async with asyncio.timeout(settings.timeout + _GRACE):
                    answer = await settings.client.ask(request)
            except TimeoutError:
                answer = Failure("timeout", f"no answer in {settings.timeout:g} s", again=True)
            count = counted(answer, request, room)
            return answer, count, time.perf_counter() - started
        finally:
            self._tally.add(settings.ledger.settle(room, count))


def _judgement(
    key: str,
    answer: Answer | Failure,
    count: Count,
    rubric: Rubric,
    seconds: float,
    output_limit: int | None,
) -> Judgement:
    """What is kept of an answer: its grade, or why it has none."""
    read = answer if isinstance(answer, Failure) else read_answer(answer.text, rubric)
    outcome: dict[str, Any] = (
        {"failure": read.kind, "detail": read.detail}
        if isinstance(read, Failure)
        else {"grade": read[0], "reason": read[1]}
    )
    return Judgement(
        key=key,
        uid=uuid.uuid4().hex,
        at=now(),
        raw=answer.text,
        **outcome,
        **{f"{kind}_tokens": number for kind, number in asdict(count.usage).items()},
        counting=count.counting,
        seconds=round(seconds, 4),
        model=answer.model,
        fingerprint=answer.fingerprint,
        dialect=answer.dialect,
        output_limit=output_limit,
    )
