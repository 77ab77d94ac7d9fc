"""The calls for one question: attempts, waits between them, and when a run should stop."""

import asyncio
import json
import time
import uuid
from dataclasses import replace
from typing import Any

from kragx.ground.errors import JudgingError, UsageError, shorten
from kragx.ground.http import wait_before
from kragx.ground.printing import message, say
from kragx.ground.secrets import Secrets
from kragx.judging.budget import about_spent, about_tokens, at_most
from kragx.judging.client import Answer, Failure, FailureKind, Request, Usage, words_of
from kragx.judging.forms import expected_grade, read_answer
from kragx.judging.judgement_counts import Spent, remedy
from kragx.judging.limits import credible_pause
from kragx.judging.prompt import request_for
from kragx.judging.question import Judgement, Question, now
from kragx.judging.queue import WorkQueue

GRACE = 5.0  # seconds beyond the timeout that a client gets to notice it by itself
_SILENCE = 10.0  # seconds of waiting after which it is said what is waited for
# What whoever answered has said, with the most characters that are kept of it.
_SAID = {"reason": 2000, "detail": 1000, "raw": None, "model": 200, "fingerprint": 200}
_SERVICE: frozenset[FailureKind] = frozenset({"api_error", "connection", "timeout", "rate_limit"})
"""Kinds of failure that are no answer."""
# An error of the service is no answer and costs nothing; what a call that was given up took,
# nobody says.
_FREE: frozenset[FailureKind] = frozenset({"rate_limit", "api_error", "not_asked"})
_UNANSWERED: frozenset[FailureKind] = frozenset({"timeout", "connection"})

_FIRST = 5  # calls in a row without any answer, before anything was answered
_IN_A_ROW = 20  # failed judgements of one kind in a row, beside those that were under way
CLUSTER = 10  # failures in a row after which questions are taken from elsewhere
_AWAY = 3  # refused connections, before anything was answered


class Breaker:
    """Counts what fails in a row, over one run, and ends the run where that is no accident.

    * What the client calls fatal (a wrong key, a used-up quota) ends it at once.
    * Until a first answer has come, questions are asked one after the other, and five calls in a
      row without an answer end it, as do three refused connections.
    * Later, failed judgements of the same kind end it: 20 in a row and as many as two rounds of
      `concurrency`. Texts that a gateway blocks may stand side by side, so after ten the next
      questions are taken from elsewhere.
    * So does a server that has answered nobody for `patience`.

    Where nothing more waits to be asked, only the first holds.

    Attributes:
        in_a_row: how many have failed, the same way, since the last grade.
    """

    def __init__(self, queue: WorkQueue) -> None:
        self._settings, self._queue = queue.settings, queue
        self._begun = self._settings.clock()
        self._group: str | None = None
        self.in_a_row: int = 0
        self._n_away = 0

    @property
    def unproven(self) -> bool:
        """Whether the service has answered nothing yet: one question at a time is enough."""
        return self._settings.limits.answered is None

    def failure(self, failure: Failure, *, is_last: bool, since: float | None = None) -> None:
        """An attempt failed.

        Args:
            failure: of the attempt.
            is_last: whether it was the last one at its question.
            since: when the question began to wait, if it has waited in vain.

        Raises:
            JudgingError: no other one can be expected to succeed.
        """
        if failure.fatal:
            raise self._stop(failure, "Every further question would fail the same way")
        if not is_last and not self.unproven:
            return
        settings, is_service = self._settings, failure.kind in _SERVICE
        group = "service" if is_service else failure.kind
        self.in_a_row = self.in_a_row + 1 if group == self._group else 1
        self._group = group
        first = is_service and self.unproven
        limit = _FIRST if first else _IN_A_ROW + 2 * settings.concurrency
        if not self._queue:  # there is nothing to save
            return
        if self.in_a_row >= limit:
            calls = "calls, the first ones," if first else "questions"
            raise self._stop(failure, f"{self.in_a_row} {calls} in a row failed")
        answered = max(self._begun, settings.limits.answered or self._begun)
        silent = settings.clock() - answered
        is_vain = since is not None and answered <= since
        if is_vain or (is_service and silent > max(settings.patience, 3 * settings.timeout)):
            raise self._stop(failure, f"Nothing was answered for {silent:.0f} s")

    def away(self, failure: Failure) -> None:
        """No server took a question.

        Raises:
            JudgingError: none has answered before that could be coming back.
        """
        self._n_away += self.unproven
        if self._n_away >= _AWAY:
            raise self._stop(failure, message("No server answers there"))

    def _stop(self, failure: Failure, why: str) -> JudgingError:
        self._queue.closed = True
        detail = self._queue.questions.secrets.masked(failure.detail)
        words = words_of(detail, _SAID["detail"]) or failure.kind
        if failure.kind not in _SERVICE and failure.detail:
            words = f"{failure.kind}: {words}"  # a model's own words do not say so
        is_spent = failure.fatal and failure.kind == "rate_limit"
        advice = remedy(failure.kind, 402 if is_spent else failure.status)
        return JudgingError(
            message(
                "judge: {words}. {why}, so judging stopped; what was judged is in {store}",
                words=words,
                why=why,
                store=self._settings.store,
            ),
            remedy=message("{remedy}; a new run goes on from there", remedy=advice),
        )


class Caller:
    """Gets a judgement of one question at a time, for any number of workers at once.

    Attributes:
        calling: the workers (tasks) that wait for an answer.
        breaker: ends the run where nothing succeeds any more.
    """

    def __init__(self, queue: WorkQueue) -> None:
        self.calling: set[asyncio.Task[Any] | None] = set()
        self.breaker: Breaker = Breaker(queue)
        self._queue, self._settings = queue, queue.settings
        self._is_wait_said = self._settings.progress is False

    async def judgement(self, key: str) -> Judgement:
        """Ask a question to its end.

        Raises:
            JudgingError: the service refuses everything.
        """
        settings, limits, queue = self._settings, self._settings.limits, self._queue
        request = request_for(queue.questions.wanted[key][0], key, settings.timeout)
        number = n_refused = 0
        refused_at = float("-inf")  # when the attempt began that was last refused
        since: float | None = None  # when the server first had no room
        while attempt := await self._attempt(key, request):
            judgement, failure, started, is_refused = attempt
            pause = (failure and failure.retry_after) or 0.0
            if is_refused:  # no attempt: it waits
                since = started if since is None else since
                # While others are answered there is room now and then, and no wait is long.
                is_served = limits.answered is not None and limits.answered > refused_at
                n_refused = 1 + (min(n_refused, 1) if is_served else n_refused)
                refused_at, wait = started, wait_before(n_refused, pause)
                if queue.closed:
                    return judgement
                if not is_served and settings.clock() >= since + _SILENCE:
                    self._say_wait(judgement.detail)
                if settings.clock() + wait <= since + settings.patience:
                    await settings.sleep(wait)
                    continue
            number += 1
            queue.tally.n_retries += number > 1
            queue.keep(judgement)
            if failure is None:
                self.breaker.in_a_row = 0
                return judgement
            is_last = is_refused or not failure.again or number == settings.attempts
            self.breaker.failure(failure, is_last=is_last, since=since if is_refused else None)
            if is_last or queue.closed:
                return judgement
            await queue.committed(judgement)
            await settings.sleep(wait_before(number, pause))
        return Judgement(key, failure="not_asked", detail="the budget is used up")

    def _say_wait(self, detail: str | None) -> None:
        if not self._is_wait_said:
            self._is_wait_said = True
            say(
                message(
                    "kragx: waiting for the server of {model!r}, at most {seconds:g} s "
                    "(judge.patience); it says: {detail}",
                    model=self._settings.model,
                    seconds=self._settings.patience,
                    detail=detail,
                )
            )

    async def _attempt(
        self, key: str, request: Request
    ) -> tuple[Judgement, Failure | None, float, bool] | None:
        """What comes of a request once it may begin; None if no budget has room for it.

        A judgement, why it has no grade, when it began, and whether the server took no notice of
        the question, so that it was no call.
        """
        settings, limits, queue = self._settings, self._settings.limits, self._queue
        room = await limits.enter(request, queue.store)
        if room is None:
            return None
        usage: Usage | None = at_most(room)  # whatever ends the call, it was made
        started, began, is_refused = settings.clock(), time.perf_counter(), False
        try:
            answer = await self._answer(request)
            usage = usage_of_answer(answer, request, room)
            if isinstance(answer, Answer) or answer.kind not in _SERVICE:
                limits.answer()
            elif self._is_refused(answer, started):
                is_refused, usage = True, None
        finally:
            queue.tally.add(limits.leave(room, usage))
        judgement, failure = judged(
            *(key, queue.questions.wanted[key][0], answer, usage, queue.questions.secrets),
            uid=f"{limits.name}{uuid.uuid4().hex[len(limits.name) :]}",
            seconds=round(time.perf_counter() - began, 4),
            output_limit=settings.output_limit,
            asked_model=settings.model,
        )
        return judgement, failure, started, is_refused

    async def _answer(self, request: Request) -> Answer | Failure:
        """What the client gives, in time; a pause that a server asks for must be credible."""
        settings, task = self._settings, asyncio.current_task()
        self.calling.add(task)
        try:
            async with asyncio.timeout(settings.timeout + GRACE):
                answer: Answer | Failure = await settings.client.ask(request)
        except TimeoutError:
            return Failure("timeout", f"no answer in {settings.timeout:g} s", again=True)
        except SystemExit as end:  # which would end the process as if all were well
            raise UsageError(
                "{place}: {kind}: {error}", place="judge.client", kind="SystemExit", error=end
            ) from end
        finally:
            self.calling.discard(task)
        if not isinstance(answer, (Answer, Failure)):
            raise UsageError(
                "judge.client: {kind}.ask gave {value}, neither an Answer nor a Failure",
                kind=type(settings.client).__name__,
                value=shorten(answer),
            )
        if isinstance(answer, Failure) and answer.retry_after is not None:
            pause = credible_pause(answer.retry_after, settings.patience)
            answer = replace(answer, retry_after=pause)
        return answer

    def _is_refused(self, failure: Failure, started: float) -> bool:
        """Whether the server had no room, or was away, and took no notice of the question.

        Raises:
            JudgingError: no server can be expected to come.
        """
        limits = self._settings.limits
        if not failure.again:
            return False
        if failure.kind == "rate_limit":
            limits.refusal(started, failure.retry_after or 0.0)
        elif failure.away and (limits.answered is None or limits.answered <= started):
            # While it answers others it is there, and what is away is something behind a gateway.
            limits.refusal(started)
            if failure.kind == "connection":
                self.breaker.away(failure)
        else:
            return False
        self._queue.tally.n_refused += 1
        return True


def judged(
    key: str,
    question: Question,
    answer: Answer | Failure,
    usage: Usage | None,
    secrets: Secrets,
    **about: Any,
) -> tuple[Judgement, Failure | None]:
    """What is kept of an answer: its grade, or why it has none, which is given beside it.

    Args:
        key: of the question.
        question: what was asked.
        answer: what came.
        usage: what it used; None if it was no call.
        secrets: what nothing that is kept may show.
        about: what else is known of the attempt, as fields of the judgement.
    """
    usage = usage or Usage()
    read = answer if isinstance(answer, Failure) else read_answer(answer.text, question)
    outcome: dict[str, Any]
    if isinstance(read, Failure):
        outcome = {"failure": read.kind, "detail": read.detail}
    else:
        outcome = {"grade": read.grade, "reason": read.reason}
        outcome["expected"] = expected_grade(read, getattr(answer, "tokens", ()), question)
        if read.entries is not None:
            entries = [(grade, secrets.masked(text)) for grade, text in read.entries]
            outcome["answer"] = json.dumps(entries, ensure_ascii=False)
    attempt = Judgement(
        key=key,
        at=now(),
        raw=answer.text,
        **outcome,
        prompt_tokens=usage.prompt,
        completion_tokens=usage.completion,
        cached_tokens=usage.cached,
        reasoning_tokens=usage.reasoning,
        counting=usage.counting,
        model=answer.model,
        fingerprint=answer.fingerprint,
        dialect=answer.dialect,
        **about,
    )
    # Servers and gateways say keys again, models headers. What is cut is masked before: half a
    # secret may not be known as one.
    texts = {
        name: words_of(secrets.masked(getattr(attempt, name)), limit)
        for name, limit in _SAID.items()
    }
    attempt = replace(attempt, **texts)  # type: ignore[arg-type]  # the names of texts
    return attempt, read if isinstance(read, Failure) else None


def usage_of_answer(answer: Answer | Failure, request: Request, room: Spent) -> Usage | None:
    """What a call used: as the provider says, else estimated from the texts; None if it was none.

    Args:
        answer: what came of it.
        request: what was asked.
        room: the most that it can have used.
    """
    usage = answer.usage
    if usage.prompt is not None and usage.completion is not None:
        return usage
    if isinstance(answer, Failure) and usage.prompt is None and usage.completion is None:
        if answer.kind in _UNANSWERED:
            return None if answer.away else at_most(room)
        if answer.kind in _FREE:
            return None if answer.kind == "rate_limit" and answer.again else Usage()
    prompt, completion = usage.prompt, usage.completion
    if prompt is None:
        prompt = about_spent(request).prompt_tokens
    if completion is None:
        completion = about_tokens(answer.text or "")
    return replace(usage, prompt=prompt, completion=completion, counting="estimate")
