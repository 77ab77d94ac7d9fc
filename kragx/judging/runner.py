"""One run of a judge: questions in, judgements out, each asked once and kept at once.

A key that the store has is not asked again. What is left is asked by `concurrency` workers, none
faster than `rpm` allows, each with its own attempts and waits; every answer is committed when it
arrives. The order of the judgements is that of the questions, whatever comes first.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kragx.errors import DataError, JudgingError
from kragx.judging.client import Answer, Failure, Request
from kragx.judging.ledger import Reservation, about_tokens, cost_of, usage_counts
from kragx.judging.prompt import Graded, messages, read_answer, schema
from kragx.judging.question import (
    SETTLED,
    FailureKind,
    Judgement,
    Question,
    Usage,
    canonical_json,
    digest,
    key_of,
    material,
)
from kragx.judging.rubric import Rubric
from kragx.judging.store import Attempt, Store, new_uid, now
from kragx.judging.traffic import wait_before
from kragx.printing import progress_bar

if TYPE_CHECKING:
    from kragx.judging.judge import Judge

_LONGEST_WAIT = 300.0  # seconds; a server that asks for more is not waited for
_TOGETHER = 0.005  # seconds; one commit for what arrives within them costs as much as for one row
_GRACE = 5.0  # seconds beyond the timeout that a client gets to notice it by itself
_ABOUT_OUTPUT = 60  # tokens of a short reason and a grade, for estimates only


class JudgeWarning(UserWarning):
    """Something about the judgements changes what they mean; said once per run."""


@dataclass(frozen=True)
class Judged:
    """What became of some questions.

    Attributes:
        judgements: in the order of the questions.
        counts: what it took: calls, retries, stored, joined, tokens, failures by kind, ...
    """

    judgements: tuple[Judgement, ...]
    counts: Counter[str]


class Run:
    """One `ajudge`: its questions by key, what the store has, and what is asked."""

    def __init__(self, judge: Judge, questions: Sequence[Question]) -> None:
        self.judge = judge
        self.counts: Counter[str] = Counter(questions=len(questions))
        settings = dict(judge.client.settings)
        digests: dict[int, dict[str, str]] = {}  # by rubric: they are few, and questions many
        self.keys: list[str] = []
        self.asked: dict[str, tuple[Question, str]] = {}
        for question in questions:
            rubric = digests.get(id(question.rubric))
            if rubric is None:
                rubric = digests[id(question.rubric)] = digest(question.rubric)
            canonical = canonical_json(material(question, settings, judge.repeat, rubric))
            key = key_of(canonical)
            self.keys.append(key)
            self.asked.setdefault(key, (question, canonical))
        self.questions = questions
        self.done: dict[str, Judgement] = {}
        self.served: Counter[tuple[str | None, str | None]] = Counter()
        self.over_budget = False
        self.rows: list[Attempt] = []  # not yet committed
        self.write_error: sqlite3.Error | None = None
        self.others_write = False

    async def run(self) -> Judged:
        """Judge; see `Judge.ajudge`."""
        judge = self.judge
        with Store(judge.store) as self.store:
            self.store.changed_by_others()  # from here on it is noticed
            labels = self._labels()
            for key, attempt in self.store.settled(list(self.asked)).items():
                self._take_stored(key, attempt)
            todo = [key for key in self.asked if key not in self.done]
            self.counts["stored"] += len(self.done)
            if judge.dry_run:
                self._plan(todo)
            else:
                self.store.note(((key, self.asked[key][1]) for key in todo), self._pairs())
                await self._ask_all(todo)
        self._report_changes()
        for key in self.asked:
            failure = self.done[key].failure
            if failure is not None:
                self.counts[f"failed.{failure}"] += 1
        if self.over_budget:
            left = sum(each.failure == "not_asked" for each in self.done.values())
            raise JudgingError(
                f"judge.budget: used up after {judge.ledger.counts['calls']} calls"
                f"{_spent(judge)}; {left} of {len(self.asked)} questions were not asked. What was "
                f"judged is in {judge.store}: raise the budget and run again to go on"
            )
        found = [
            labels[position] if position in labels else self.done[key]
            for position, key in enumerate(self.keys)
        ]
        self.counts["human"] += sum(each.source == "human" for each in found)
        return Judged(tuple(found), self.counts)

    # -- before asking -----------------------------------------------------------------------

    def _labels(self) -> dict[int, Judgement]:
        """Human labels of the questions' queries and documents, by position: they win."""
        positions: dict[tuple[str, str], list[int]] = {}
        for position, question in enumerate(self.questions):
            if question.rubric.asks == "relevance" and question.query_id and question.document_id:
                pair = (question.query_id, question.document_id)
                positions.setdefault(pair, []).append(position)
        labels = self.store.labels(list(dict.fromkeys(query for query, _ in positions)))
        found: dict[int, Judgement] = {}
        for pair, grade in labels.items():
            for position in positions.get(pair, ()):
                top = self.questions[position].rubric.top
                if grade > top:
                    raise DataError(
                        f"{self.judge.store}: the imported label {grade} of query {pair[0]!r}, "
                        f"document {pair[1]!r} is not on the rubric's scale of 0 to {top}"
                    )
                found[position] = Judgement(
                    self.keys[position], grade=max(0, grade), source="human"
                )
        # A question that is asked for labelled documents only needs no judge.
        needed = {key for at, key in enumerate(self.keys) if at not in found}
        self.asked = {key: asked for key, asked in self.asked.items() if key in needed}
        self.counts["distinct"] = len(self.asked)
        return found

    def _pairs(self) -> Iterator[tuple[str, str, str]]:
        for key, question in zip(self.keys, self.questions, strict=True):
            if question.query_id is not None and key in self.asked:
                document = question.document_id or f"text-{key_of(question.document)[:16]}"
                yield key, question.query_id, document

    def _take_stored(self, key: str, attempt: Attempt) -> bool:
        """Use what the store has, unless it is a failure that is to be asked again."""
        if attempt.failure is not None:
            again = self.judge.ask_again
            if again == "all" or (again == "transient" and attempt.failure not in SETTLED):
                return False
        if attempt.model or attempt.fingerprint:
            self.served[attempt.model, attempt.fingerprint] += 1
        self.done[key] = Judgement(
            key,
            grade=attempt.grade,
            reason=attempt.reason,
            failure=attempt.failure,  # type: ignore[arg-type]  # only these kinds are stored
            detail=attempt.detail,
            source="human" if attempt.source == "human" else "store",
        )
        return True

    def _plan(self, todo: Sequence[str]) -> None:
        for key in todo:
            question, _ = self.asked[key]
            self.counts["planned_calls"] += 1
            self.counts["planned_prompt_tokens"] += about_tokens(messages(question, key))
            self.counts["planned_completion_tokens"] += _ABOUT_OUTPUT
            self.done[key] = Judgement(key, failure="not_asked", detail="a dry run")

    # -- asking ------------------------------------------------------------------------------

    async def _ask_all(self, todo: Sequence[str]) -> None:
        if not todo:
            return
        keys = iter(todo)
        task = f"judging with {self.judge.model}"
        with progress_bar(
            task, len(todo), self.judge.progress, lambda: _spent(self.judge).removeprefix(" and ")
        ) as advance:

            async def work() -> None:
                for key in keys:
                    self.done[key] = await self._joined(key)
                    advance()

            workers = [
                asyncio.create_task(work()) for _ in range(min(self.judge.concurrency, len(todo)))
            ]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
                self._commit()
                close = getattr(self.judge.client, "aclose", None)
                if close is not None:
                    await close()

    async def _joined(self, key: str) -> Judgement:
        """Ask, or wait for somebody else who is asking the same."""
        flight, mine = self.judge.flights.board(key)
        if not mine:
            found = await asyncio.wrap_future(flight)
            if found is not None:
                self.counts["joined"] += 1
                return found
            return await self._joined(key)  # the other one was broken off
        found = None
        try:
            found = await self._ask(key)
        finally:
            self.judge.flights.land(key, found)
        return found

    async def _ask(self, key: str) -> Judgement:
        judge = self.judge
        question, _ = self.asked[key]
        if self._asked_elsewhere(key):
            self.counts["stored"] += 1
            return self.done[key]
        request = Request(messages(question, key), schema(question.rubric), judge.timeout)
        for attempt in range(1, judge.attempts + 1):
            room = None if self.over_budget else judge.ledger.reserve(request.messages)
            if room is None:
                self.over_budget = True
                return Judgement(key, failure="not_asked", detail="the budget is used up")
            answer, seconds = await self._once(request, room)
            if attempt > 1:
                self.counts["retries"] += 1
            row = _row(key, answer, question.rubric, seconds)
            self._keep(row)
            if isinstance(answer, Failure) and answer.fatal:
                raise JudgingError(
                    f"judge: {answer.detail}. Every further question would fail the same way, so "
                    f"judging stopped; what was judged is in {judge.store}"
                )
            again = isinstance(answer, Failure) and answer.again and attempt < judge.attempts
            if not again:
                break
            assert isinstance(answer, Failure)
            wait = wait_before(key, attempt, answer.retry_after)
            if wait > _LONGEST_WAIT:
                break
            if answer.kind == "rate_limit":
                judge.gate.pause(wait)
            await judge.sleep(wait)
        if row.model or row.fingerprint:
            self.served[row.model, row.fingerprint] += 1
        return Judgement(
            key,
            grade=row.grade,
            reason=row.reason,
            failure=row.failure,  # type: ignore[arg-type]  # a FailureKind, as the row's column
            detail=row.detail,
        )

    def _keep(self, row: Attempt) -> None:
        """Commit an attempt, together with those that arrive in the next few milliseconds."""
        if self.write_error is not None:  # what cannot be kept is not asked for
            raise self.write_error
        self.rows.append(row)
        if len(self.rows) == 1:
            asyncio.get_running_loop().call_later(_TOGETHER, self._commit_soon)

    def _commit_soon(self) -> None:
        try:
            self._commit()
        except sqlite3.Error as error:  # nobody waits for this call, so the next answer tells
            self.write_error = error

    def _commit(self) -> None:
        if self.rows:
            self.store.add(self.rows)
            self.rows = []

    def _asked_elsewhere(self, key: str) -> bool:
        """Whether another process has got this judgement meanwhile."""
        if self.store.changed_by_others():
            self.others_write = True
        if not self.others_write:
            return False
        stored = self.store.settled([key]).get(key)
        return stored is not None and stored.grade is not None and self._take_stored(key, stored)

    async def _once(self, request: Request, room: Reservation) -> tuple[Answer | Failure, float]:
        judge = self.judge
        sent = False
        try:
            await judge.gate.pass_through()
            started = time.perf_counter()
            sent = True
            try:
                async with asyncio.timeout(judge.timeout + _GRACE):
                    answer = await judge.client.ask(request)
            except TimeoutError:
                answer = Failure("timeout", f"no answer in {judge.timeout:g} s", again=True)
            seconds = time.perf_counter() - started
        except BaseException:
            if sent:
                judge.ledger.settle(room, Usage())
                self.counts.update(calls=1, calls_without_usage=1)
            else:
                judge.ledger.release(room)
            raise
        judge.ledger.settle(room, answer.usage)
        self._count(answer.usage)
        return answer, seconds

    def _count(self, usage: Usage) -> None:
        for name, count in usage_counts(usage).items():
            self.counts[name] += count

    # -- after asking ------------------------------------------------------------------------

    def _report_changes(self) -> None:
        models = {model for model, _ in self.served if model}
        prints = {fingerprint for _, fingerprint in self.served if fingerprint}
        changed = [
            f"{what} ({', '.join(sorted(found))})"
            for what, found in (("models", models), ("system fingerprints", prints))
            if len(found) > 1
        ]
        self.counts["served_models"] = len(models)
        self.counts["served_fingerprints"] = len(prints)
        if changed:
            warnings.warn(
                f"{self.judge.model!r} was served by different {' and '.join(changed)}: the stored "
                "and the new grades may not be alike; another 'repeat' asks everything anew "
                "(see: kragx judge store stats)",
                JudgeWarning,
                stacklevel=2,
            )


def _row(key: str, answer: Answer | Failure, rubric: Rubric, seconds: float) -> Attempt:
    usage = answer.usage
    grade: int | None = None
    reason: str | None = None
    kind: FailureKind | None = None
    detail: str | None = None
    if isinstance(answer, Failure):
        kind, detail = answer.kind, answer.detail
    else:
        read = read_answer(answer.text, rubric)
        if isinstance(read, Graded):
            grade, reason = read.grade, read.reason
        else:
            kind, detail = read.kind, read.detail
    return Attempt(
        key=key,
        uid=new_uid(),
        at=now(),
        grade=grade,
        reason=reason,
        failure=kind,
        detail=detail,
        raw=answer.text,
        prompt_tokens=usage.prompt,
        completion_tokens=usage.completion,
        cached_tokens=usage.cached,
        reasoning_tokens=usage.reasoning,
        seconds=round(seconds, 4),
        model=answer.model,
        fingerprint=answer.fingerprint,
    )


def _spent(judge: Judge) -> str:
    cost = cost_of(judge.ledger.counts, judge.price)
    return "" if cost is None else f" and {cost:.4f} {judge.currency}"
