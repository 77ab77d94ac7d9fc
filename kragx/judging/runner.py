"""One run of a judge: questions in, judgements out, each asked once and kept at once.

A key that the store has is not asked again. What is left is asked by `concurrency` workers, none
faster than `rpm` allows, each with its own attempts and waits; every answer is committed when it
arrives. The order of the judgements is that of the questions, whatever comes first.
"""

import asyncio
import json
import sqlite3
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from kragx.errors import DataError, JudgingError
from kragx.judging.budget import about_tokens
from kragx.judging.keys import canonical_json, digest, key_of, material
from kragx.judging.pace import wait_before
from kragx.judging.prompt import (
    messages,
    read_answer,
    schema,
)
from kragx.judging.question import SETTLED, Answer, Failure, Judgement, Question, Request, Usage
from kragx.judging.rubric import Rubric
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import Store, now, record
from kragx.judging.tally import Spent, Tally
from kragx.printing import progress_bar

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
        tally: what it took: calls, retries, stored, joined, tokens, failures by kind, ...
    """

    judgements: tuple[Judgement, ...]
    tally: Tally


class Batch:
    """Questions that are judged together: their keys, what the store has, and what is asked."""

    def __init__(self, settings: JudgeSettings, questions: Sequence[Question]) -> None:
        self.settings = settings
        self.tally = Tally()
        client = settings.mask(dict(settings.client.settings))
        # Questions are many, and rubrics few: each of them is digested once.
        rubrics = {id(question.rubric): question.rubric for question in questions}
        digests = {rubric: digest(rubrics[rubric]) for rubric in rubrics}
        self.keys: list[str] = []
        self.wanted: dict[str, tuple[Question, str]] = {}
        for question in questions:
            rubric = digests[id(question.rubric)]
            canonical = canonical_json(material(question, client, settings.repeat, rubric))
            key = key_of(canonical)
            self.keys.append(key)
            self.wanted.setdefault(key, (question, canonical))
        self.questions = questions
        self.done: dict[str, Judgement] = {}
        self.over_budget = False
        self.attempts: list[Judgement] = []  # not yet committed
        self.write_error: sqlite3.Error | None = None
        self.others_write = False

    async def judge(self) -> Judged:
        """Judge; see `Judge.ajudge`."""
        settings = self.settings
        with Store(settings.store) as self.store:
            self.store.changed_by_others()  # from here on it is noticed
            labels = self._labels()
            stored = self.store.settled(list(self.wanted))
            self.done = {
                key: stored[key] for key in stored if not self._is_asked_again(stored[key])
            }
            todo = [key for key in self.wanted if key not in self.done]
            self.tally.n_stored += len(self.done)
            if settings.dry_run:
                self._plan(todo)
            else:
                self.store.note(((key, self.wanted[key][1]) for key in todo), self._pairs())
                await self._ask_all(todo)
        self._warn_of_changes()
        if self.over_budget:
            n_left = sum(judgement.failure == "not_asked" for judgement in self.done.values())
            raise JudgingError(
                f"judge.budget: used up after {settings.ledger.spent.n_calls} calls"
                f"{' and '.join(['', *self._cost()])}; {n_left} of {len(self.wanted)} questions "
                f"were not asked. What was judged is in {settings.store}: raise the budget and "
                "run again to go on"
            )
        judgements = tuple(
            labels[position] if position in labels else self.done[key]
            for position, key in enumerate(self.keys)
        )
        self.tally.count(judgements)
        return Judged(judgements, self.tally)

    def _cost(self) -> list[str]:
        """What was spent so far, where there is a price."""
        cost = self.settings.ledger.cost
        return [] if cost is None else [f"{cost:.4f} {self.settings.currency}"]

    # -- before asking -----------------------------------------------------------------------

    def _labels(self) -> dict[int, Judgement]:
        """Human labels of the questions' queries and documents, by position: they win."""
        pairs = {
            position: (question.query_id, question.document_id)
            for position, question in enumerate(self.questions)
            if question.rubric.asks == "relevance" and question.query_id and question.document_id
        }
        labels = self.store.labels(list(dict.fromkeys(query for query, _ in pairs.values())))
        judgements: dict[int, Judgement] = {}
        for position, pair in pairs.items():
            if pair not in labels:
                continue
            grade, top = labels[pair], self.questions[position].rubric.top
            if grade > top:
                raise DataError(
                    f"{self.settings.store}: the imported label {grade} of query {pair[0]!r}, "
                    f"document {pair[1]!r} is not on the rubric's scale of 0 to {top}"
                )
            judgements[position] = Judgement(
                self.keys[position], grade=max(0, grade), source="human"
            )
        # A question that is asked for labelled documents only needs no judge.
        needed = {key for position, key in enumerate(self.keys) if position not in judgements}
        self.wanted = {key: entry for key, entry in self.wanted.items() if key in needed}
        self.tally.n_distinct = len(self.wanted)
        return judgements

    def _pairs(self) -> Iterator[tuple[str, str, str]]:
        for key, question in zip(self.keys, self.questions, strict=True):
            if question.query_id is not None and key in self.wanted:
                document = question.document_id or f"text-{key_of(question.document)[:16]}"
                yield key, question.query_id, document

    def _is_asked_again(self, stored: Judgement) -> bool:
        again = self.settings.ask_again
        return stored.failure is not None and (
            again == "all" or (again == "transient" and stored.failure not in SETTLED)
        )

    def _plan(self, todo: Sequence[str]) -> None:
        for key in todo:
            tokens = about_tokens(messages(self.wanted[key][0], key))
            self.tally.planned.add(Spent(1, prompt_tokens=tokens, completion_tokens=_ABOUT_OUTPUT))
            self.done[key] = Judgement(key, failure="not_asked", detail="a dry run")

    # -- asking ------------------------------------------------------------------------------

    async def _ask_all(self, todo: Sequence[str]) -> None:
        if not todo:
            return
        settings = self.settings
        keys = iter(todo)
        with progress_bar(
            f"judging with {settings.model}",
            len(todo),
            settings.progress,
            lambda: "".join(self._cost()),
        ) as advance:

            async def work() -> None:
                for key in keys:
                    if self.write_error is not None:  # what cannot be kept is not asked for
                        return
                    self.done[key] = await self._joined(key)
                    advance()

            workers = [
                asyncio.create_task(work()) for _ in range(min(settings.concurrency, len(todo)))
            ]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
                self._commit_last()
                close = getattr(settings.client, "aclose", None)
                if close is not None:
                    await close()

    async def _joined(self, key: str) -> Judgement:
        """Ask, or wait for somebody else who is asking the same."""
        flight, is_mine = self.settings.flights.board(key)
        if not is_mine:
            judgement = await asyncio.wrap_future(flight)
            if judgement is None:  # the other one was broken off
                return await self._joined(key)
            self.tally.n_joined += 1
            return judgement
        judgement = None
        try:
            judgement = await self._ask(key)
        finally:
            self.settings.flights.land(key, judgement)
        return judgement

    async def _ask(self, key: str) -> Judgement:
        settings = self.settings
        question, _ = self.wanted[key]
        stored = self._graded_elsewhere(key)
        if stored is not None:
            self.tally.n_stored += 1
            return stored
        request = Request(messages(question, key), schema(question.rubric), settings.timeout)
        for number in range(1, settings.attempts + 1):
            room = None if self.over_budget else settings.ledger.reserve(request.messages)
            if room is None:
                self.over_budget = True
                return Judgement(key, failure="not_asked", detail="the budget is used up")
            answer, seconds = await self._once(request, room)
            self.tally.n_retries += number > 1
            judgement = _judgement(key, answer, question.rubric, seconds)
            self._keep(judgement)
            if not isinstance(answer, Failure):
                break
            if answer.fatal:
                raise JudgingError(
                    f"judge: {answer.detail}. Every further question would fail the same way, so "
                    f"judging stopped; what was judged is in {settings.store}"
                )
            wait = wait_before(key, number, answer.retry_after)
            if (
                self.write_error is not None
                or not answer.again
                or number == settings.attempts
                or wait > _LONGEST_WAIT
            ):
                break
            if answer.kind == "rate_limit":
                settings.pace.pause(wait)
            await settings.sleep(wait)
        return judgement

    def _keep(self, attempt: Judgement) -> None:
        """Commit an attempt, together with those that arrive in the next few milliseconds."""
        self.attempts.append(attempt)
        if len(self.attempts) == 1:
            asyncio.get_running_loop().call_later(_TOGETHER, self._commit_soon)

    def _commit_soon(self) -> None:
        try:
            self._commit()
        except sqlite3.Error as error:  # nobody waits for this call; what is asked for comes in yet
            self.write_error = error

    def _commit_last(self) -> None:
        """Commit what is left.

        Raises:
            JudgingError: the store took or takes no more; what it lacks is in a file to import.
        """
        try:
            self._commit()
        except sqlite3.Error as error:
            self.write_error = error
        if self.write_error is not None:
            raise JudgingError(
                f"{self.settings.store}: the judgement store failed: {self.write_error}; "
                f"{self._rescued()}, and nothing more was asked"
            ) from self.write_error

    def _rescued(self) -> str:
        """Keep the attempts that the store lacks in a file that it can import, and say so."""
        if not self.attempts:
            return "all that was judged is stored"
        pairs: dict[str, list[list[str]]] = {}
        for key, *pair in self._pairs():
            pairs.setdefault(key, []).append(pair)
        lines = (
            json.dumps(record(attempt, json.loads(self.wanted[attempt.key][1]), pairs))
            for attempt in self.attempts
        )
        n_lost = len(self.attempts)
        try:
            with tempfile.NamedTemporaryFile(
                "w", prefix="kragx-judged-", suffix=".jsonl", delete=False, encoding="utf-8"
            ) as file:
                file.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            return f"{n_lost} answers are lost, as no other file could be written ({error})"
        return (
            f"{n_lost} answers that it did not take are in {file.name} (once there is room: kragx "
            f"judge store import {file.name} --store {self.settings.store})"
        )

    def _commit(self) -> None:
        if self.attempts:
            self.store.add(self.attempts)
            self.attempts = []

    def _graded_elsewhere(self, key: str) -> Judgement | None:
        """The judgement, if another process has got a grade meanwhile."""
        self.others_write = self.others_write or self.store.changed_by_others()
        stored = self.store.settled([key]).get(key) if self.others_write else None
        return None if stored is None or stored.grade is None else stored

    async def _once(self, request: Request, room: Spent) -> tuple[Answer | Failure, float]:
        settings = self.settings
        usage = None
        try:
            await settings.pace.pass_through()
            started = time.perf_counter()
            usage = Usage()  # whatever ends the call, it was made
            try:
                async with asyncio.timeout(settings.timeout + _GRACE):
                    answer = await settings.client.ask(request)
                if isinstance(answer, Failure):
                    answer = replace(answer, detail=settings.mask(answer.detail))
            except TimeoutError:
                answer = Failure("timeout", f"no answer in {settings.timeout:g} s", again=True)
            usage = answer.usage
            return answer, time.perf_counter() - started
        finally:
            self.tally.add(settings.ledger.settle(room, usage))

    # -- after asking ------------------------------------------------------------------------

    def _warn_of_changes(self) -> None:
        served = {
            "models": {judgement.model for judgement in self.done.values()},
            "system fingerprints": {judgement.fingerprint for judgement in self.done.values()},
        }
        changed = [
            f"{what} ({', '.join(sorted(filter(None, names)))})"
            for what, names in served.items()
            if len(names - {None}) > 1
        ]
        if changed:
            warnings.warn(
                f"{self.settings.model!r} was served by different {' and '.join(changed)}: the "
                "stored and the new grades may not be alike; another 'repeat' asks everything anew "
                "(see: kragx judge store stats)",
                JudgeWarning,
                stacklevel=2,
            )


def _judgement(key: str, answer: Answer | Failure, rubric: Rubric, seconds: float) -> Judgement:
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
        **{f"{kind}_tokens": count for kind, count in asdict(answer.usage).items()},
        seconds=round(seconds, 4),
        model=answer.model,
        fingerprint=answer.fingerprint,
    )
