"""One question: its attempts, its waits, and what is kept of each answer."""

import asyncio
import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from kragx.judging.agenda import Agenda
from kragx.judging.breaker import SERVICE, Breaker
from kragx.judging.client import Answer, Failure, Request, Usage, words_of
from kragx.judging.counting import at_most, counted
from kragx.judging.docket import Docket
from kragx.judging.expected import expected_grade
from kragx.judging.forms import Reading
from kragx.judging.pace import believed, wait_before
from kragx.judging.prompt import read_answer, request_for
from kragx.judging.question import Judgement, Question
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import Store, now
from kragx.judging.tally import Spent, Tally
from kragx.judging.writer import Writer
from kragx.printing import joined, phrase, say
from kragx.secrets import Secrets

# What whoever answered has said, with the most characters that are kept of it.
_SAID = {
    "reason": 2000,
    "detail": 1000,
    "raw": None,
    "model": 200,
    "fingerprint": 200,
    "asked_model": 200,
}
GRACE = 5.0  # seconds beyond the timeout that a client gets to notice it by itself

_SILENCE = 10.0  # seconds of waiting after which it is said what is waited for


class Asker:
    """Gets a judgement of one question at a time, for any number of workers at once.

    Attributes:
        over_budget: whether a question was not asked since the budget had no room for it.
        calling: the workers (tasks) that wait for an answer.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        docket: Docket,
        agenda: Agenda,
        store: Store,
        writer: Writer,
        tally: Tally,
    ) -> None:
        self.over_budget: bool = False
        self._said: set[str] = set()
        self.calling: set[asyncio.Task[Any] | None] = set()
        self.breaker: Breaker = Breaker(settings, agenda, docket.secrets)
        self._settings, self._docket, self._agenda = settings, docket, agenda
        self._store, self._writer, self._tally = store, writer, tally

    async def judgement(self, key: str) -> Judgement:
        """Ask a question to its end.

        Raises:
            JudgingError: the service refuses everything.
        """
        settings = self._settings
        question, _ = self._docket.wanted[key]
        request = request_for(question, key, settings.timeout)
        number = n_refused = 0
        since: float | None = None  # when the server first had no room
        while True:
            room = await settings.ledger.reserve(request, self._store)
            if room is None:
                self.over_budget = True
                return Judgement(key, failure="not_asked", detail="the budget is used up")
            reply = await self._once(request, room)
            answer, is_refused = reply.answer, reply.is_refused
            judgement = shown(
                judged(
                    key,
                    answer,
                    reply.usage,
                    question,
                    reply.seconds,
                    settings.output_limit,
                    settings.model,
                ),
                self._docket.secrets,
            )
            failure = answer if isinstance(answer, Failure) else _failure(judgement)
            if failure is not None and is_refused:  # no attempt: it waits
                n_refused += 1
                since = reply.started if since is None else since
                # While others are answered there is room now and then, and no wait is long.
                answered = settings.pace.answered
                is_served = answered is not None and answered > reply.started
                wait = self._wait(min(n_refused, 2) if is_served else n_refused, failure)
                if self._agenda.closed:
                    return judgement
                if not is_served and settings.clock() >= since + _SILENCE:
                    self._say_once(
                        "server",
                        phrase(
                            "waiting for the server of {model!r}, at most {seconds:g} s "
                            "(judge.patience); it says: {detail}",
                            model=settings.model,
                            seconds=settings.patience,
                            detail=judgement.detail,
                        ),
                    )
                if settings.clock() + wait <= since + settings.patience:
                    await settings.sleep(wait)
                    continue
            number += 1
            self._tally.n_retries += number > 1
            settings.ledger.wrote(judgement.uid)
            self._writer.keep(judgement)
            if failure is None:
                self.breaker.success()
                return judgement
            is_last = is_refused or not failure.again or number == settings.attempts
            self.breaker.failure(failure, is_last=is_last, since=since if is_refused else None)
            if is_last or self._agenda.closed:
                return judgement
            await settings.sleep(self._wait(number, failure))

    def _say_once(self, what: str, text: str) -> None:
        if self._settings.progress is not False and what not in self._said:
            self._said.add(what)
            say(joined(": ", ["kragx", text]))

    @contextmanager
    def _first_awaited(self) -> Iterator[None]:
        """Within, it is said after a while that no answer has come from this server yet."""
        settings = self._settings
        if not self.breaker.unproven:
            yield
            return
        timer = asyncio.get_running_loop().call_later(
            _SILENCE,
            self._say_once,
            "first",
            phrase(
                "waiting for the first answer of {model!r}, {seconds:g} s at each call "
                "(judge.timeout); its server keeps silent, or is loading the model",
                model=settings.model,
                seconds=settings.timeout,
            ),
        )
        try:
            yield
        finally:
            timer.cancel()

    def _is_refused(self, failure: Failure, started: float) -> bool:
        """Whether the server had no room, or was away, and took no notice of the question.

        Raises:
            JudgingError: no server can be expected to come.
        """
        if not failure.again:
            return False
        pace, settings = self._settings.pace, self._settings
        if failure.kind == "rate_limit":
            pace.refusal(started, believed(failure.retry_after, settings.patience))
        elif failure.away and (pace.answered is None or pace.answered <= started):
            # While it answers others it is there, and what is away is something behind a gateway.
            pace.refusal(started)
            if failure.kind == "connection":
                self.breaker.away(failure)
        else:
            return False
        self._tally.n_refused += 1
        return True

    def _wait(self, number: int, failure: Failure) -> float:
        return wait_before(number, believed(failure.retry_after, self._settings.patience))

    async def _once(self, request: Request, room: Spent) -> "_Reply":
        settings, task = self._settings, asyncio.current_task()
        usage: Usage | None = None
        try:
            started = await settings.pace.enter()
            began = time.perf_counter()
            usage = at_most(room)  # whatever ends the call, it was made
            self.calling.add(task)
            try:
                with self._first_awaited():
                    async with asyncio.timeout(settings.timeout + GRACE):
                        answer = await settings.client.ask(request)
            except TimeoutError:
                answer = Failure("timeout", f"no answer in {settings.timeout:g} s", again=True)
            finally:
                self.calling.discard(task)
                settings.pace.leave()
            seconds = time.perf_counter() - began
            usage = counted(answer, request, room)
            is_refused = False
            if isinstance(answer, Answer) or answer.kind not in SERVICE:
                settings.pace.answer(started)
            elif answer.kind == "timeout":
                settings.pace.timeout(started)
            elif self._is_refused(answer, started):
                is_refused, usage = True, None
            return _Reply(answer, usage, is_refused, started, seconds)
        finally:
            self._tally.add(settings.ledger.settle(room, usage))


@dataclass(frozen=True, slots=True)
class _Reply:
    """What one request came to.

    Attributes:
        answer: what came.
        usage: what it used; None if it was no call.
        is_refused: the server took no notice of the question, so it was no call.
        started: when it was asked, by the judge's clock.
        seconds: that it took.
    """

    answer: Answer | Failure
    usage: Usage | None
    is_refused: bool
    started: float
    seconds: float


def _failure(judgement: Judgement) -> Failure | None:
    """What an answer lacks that came, but gives no grade."""
    if judgement.failure is None:
        return None
    return Failure(judgement.failure, judgement.detail or "")


def shown(judgement: Judgement, secrets: Secrets) -> Judgement:
    """A judgement without secrets: servers and gateways say keys again, models headers."""
    # Masked first: half a secret may not be known as one.
    said = {name: getattr(judgement, name) for name in _SAID}
    raw, reason = secrets.masked(said["raw"]), said["reason"]
    # What stands in a text without secrets has none: so it is with nearly all reasons.
    is_clean = isinstance(raw, str) and isinstance(reason, str) and raw == said["raw"]
    if not (is_clean and reason in raw):
        said["reason"] = secrets.masked(reason)
    said |= {name: secrets.masked(said[name]) for name in ("detail", "model", "fingerprint")}
    said["raw"] = raw
    texts: dict[str, Any] = {name: words_of(said[name], most) for name, most in _SAID.items()}
    if judgement.answer is not None:
        masked = [(grade, secrets.masked(text)) for grade, text in judgement.entries]
        texts["answer"] = json.dumps(masked, ensure_ascii=False)
    changed = {name: text for name, text in texts.items() if text != getattr(judgement, name)}
    return replace(judgement, **changed) if changed else judgement


def _listed(read: Reading) -> str | None:
    """An answer that is a list, as it is kept."""
    if read.entries is None:
        return None
    return json.dumps(read.entries, ensure_ascii=False)


def judged(
    key: str,
    answer: Answer | Failure,
    usage: Usage | None,
    question: Question,
    seconds: float | None,
    output_limit: int | None,
    asked_model: str | None,
) -> Judgement:
    """What is kept of an answer: its grade, or why it has none."""
    usage = usage or Usage()
    read = answer if isinstance(answer, Failure) else read_answer(answer.text, question)
    outcome: dict[str, Any] = (
        {"failure": read.kind, "detail": read.detail}
        if isinstance(read, Failure)
        else {"grade": read.grade, "reason": read.reason, "answer": _listed(read)}
    )
    if isinstance(answer, Answer) and not isinstance(read, Failure):
        outcome["expected"] = expected_grade(read, answer.tokens, question)
    return Judgement(
        key=key,
        uid=uuid.uuid4().hex,
        at=now(),
        raw=answer.text,
        **outcome,
        prompt_tokens=usage.prompt,
        completion_tokens=usage.completion,
        cached_tokens=usage.cached,
        reasoning_tokens=usage.reasoning,
        counting=usage.counting,
        seconds=None if seconds is None else round(seconds, 4),
        model=answer.model,
        fingerprint=answer.fingerprint,
        dialect=answer.dialect,
        output_limit=output_limit,
        asked_model=asked_model,
    )
