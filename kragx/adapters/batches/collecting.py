"""Looking after batches: what became of each, and storing the answers of those that have ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kragx.adapters.batches.service import BatchService, Remote, ServiceError
from kragx.ground.errors import JudgingError
from kragx.ground.event_loop import run_sync
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import Line, Part, joined, message, visible, warning
from kragx.ground.secrets import Secrets
from kragx.judging import Judge
from kragx.judging.budget import spent_of
from kragx.judging.calls import judged, usage_of_answer
from kragx.judging.clients.responses import read_response
from kragx.judging.judgement_counts import Spent, Tally, failure_lines
from kragx.judging.question import Judgement, Question, output_limit, question_of
from kragx.judging.rubric import as_asked
from kragx.judging.store import NoStoreError, Store
from kragx.judging.store.pending import SubmittedBatch

_ENDED = ("completed", "expired", "cancelled")
"""Statuses of batches whose answers are there, as many as there are."""
_NOT_RUN = ("batch_expired", "batch_cancelled")
_SOON = 60.0  # seconds within which a batch that was asked for may not be listed yet
_GOOD = 200
_GONE = 404
_STATES: Mapping[str, str] = {
    "planned": message("being made, or interrupted: a minute later it is known"),
    "submitted": message("submitted"),
    "collected": message("collected"),
    "failed": message("failed"),
}


@dataclass(frozen=True)
class BatchStatus:
    """How far a batch is.

    Attributes:
        batch: as the store knows it.
        n_questions: how many are in it.
        remote: as the provider describes it just now, if it was asked.
        tally: of what was collected just now: what the answers used, and which are no grades.
        n_unanswered: questions for which no answer came.
        problem: why it could not be looked at.
    """

    batch: SubmittedBatch
    n_questions: int
    remote: Remote | None = None
    tally: Tally | None = None
    n_unanswered: int = 0
    problem: str = ""

    def describe(self) -> Iterator[Part]:
        """Its state, what came of it, and what is wrong."""
        batch, tally, remote = self.batch, self.tally, self.remote
        state = _STATES[batch.state]
        if batch.state == "submitted" and remote is not None:
            words = {"status": visible(remote.status), "n": remote.n_answered}
            state = message("{status}, {n} of {of} answered", of=self.n_questions, **words)
        name = visible(batch.id)
        about = {"n": self.n_questions, "model": visible(batch.model), "state": state}
        yield Line(message("{batch}: {n} questions to {model}: {state}", batch=name, **about))
        remarks = [*batch.detail.get("problems", ()), *filter(None, [self.problem])]
        if tally is not None:
            grades = message(
                "{n} grades, {sent} + {got} tokens",
                n=tally.n_judgements - tally.n_missing,
                sent=tally.prompt_tokens,
                got=tally.completion_tokens,
            )
            yield Line(grades, item="-")
            remarks += failure_lines(to_jsonable(tally))
        if self.n_unanswered:
            remarks.append(message("no answer came for: {n}", n=self.n_unanswered))
        yield from (warning(joined(": ", [name, visible(remark)])) for remark in remarks)


def look_after(
    judges: Sequence[Judge], secrets: Secrets, *, collect: bool = False
) -> list[BatchStatus]:
    """The batches of some judges' stores as their providers see them, oldest first.

    What an interrupted submit has left is found again, or given up where it surely never ran; with
    `collect` the answers of batches that have ended are stored. Providers are reached through the
    judges' clients alone: as a store may be somebody else's, no key goes where it says.

    Raises:
        DataError: a store cannot be used.
    """
    for judge in judges:
        secrets = secrets.also(getattr(judge.client, "secrets", ()))
    # As the store names them: without a login, and masked.
    clients = {
        secrets.masked(dict(judge.client.settings)).get("base_url"): judge.client
        for judge in judges
        if hasattr(judge.client, "connected")
    }
    statuses: list[BatchStatus] = []
    for address in dict.fromkeys(judge.store for judge in judges):
        with suppress(NoStoreError), Store(address, make=False) as store:
            statuses += run_sync(lambda of=store: _statuses(of, clients, secrets, collect))  # type: ignore
    return statuses


async def _statuses(
    store: Store, clients: Mapping[Any, Any], secrets: Secrets, collect: bool
) -> list[BatchStatus]:
    """Of all batches of a store; `clients` reach providers, by their addresses."""
    register, statuses = store.batches, []
    for batch in register.batches():
        status = BatchStatus(batch, len(register.keys(batch)))
        address = batch.about["client"].get("base_url")
        try:
            if batch.is_open and address not in clients:
                problem = f"it is not known how to reach {address}"
                raise JudgingError("{why}; name the config that it was submitted with", why=problem)
            if batch.is_open:
                async with aclosing(BatchService(clients[address], secrets)) as service:
                    status = await _visited(status, store, service, secrets, collect)
        except JudgingError as error:
            # One that cannot be asked after keeps no other from being collected.
            status = replace(status, problem=str(error))
        statuses.append(status)
    # Read again, as looking has moved some of them on.
    current = {batch.uid: batch for batch in register.batches()}
    return [replace(status, batch=current[status.batch.uid]) for status in statuses]


async def _visited(
    status: BatchStatus, store: Store, service: BatchService, secrets: Secrets, collect: bool
) -> BatchStatus:
    """An open batch as the provider has it, collected if it has ended and that is wanted."""
    batch, move = status.batch, store.batches.move
    remote_id = batch.detail.get("id")
    if remote_id is None:  # a submit was interrupted, or is at it
        planned_at = datetime.fromisoformat(batch.planned_at)
        remote_id = await service.find(batch.uid, planned_at.timestamp())
        if remote_id is None:
            if (datetime.now(UTC) - planned_at).total_seconds() > _SOON:
                problems = ["interrupted; the provider knows no such batch"]
                move(batch.uid, "planned", "failed", problems=problems)
            return status
        move(batch.uid, "planned", "submitted", id=remote_id)
    remote = await service.look(remote_id)
    status = replace(status, remote=remote)
    if remote.status == "failed":
        move(batch.uid, "submitted", "failed", problems=remote.problems)
    elif collect and remote.status in _ENDED:
        status = await _collected(status, remote, store, service, secrets)
    return status


async def _collected(
    status: BatchStatus, remote: Remote, store: Store, service: BatchService, secrets: Secrets
) -> BatchStatus:
    """A batch that has ended, with its answers stored."""
    batch, register = status.batch, store.batches
    keys = register.keys(batch)
    records: list[_Record] = []
    problems: list[str] = []
    for name in remote.files:
        try:
            records += _records(await service.download(name))
        except ServiceError as error:
            if error.status != _GONE:
                raise
            problems.append(error.problem)
    n_graded = sum(row.grade is not None for row in store.stored_answers([*keys]).values())
    if not problems and len(records) < remote.n_answered and n_graded < len(keys):
        raise JudgingError(
            "it has fewer lines than it says: {n} of {of} lines came; nothing of it counts as "
            "collected",
            remedy="collect again later; if it stays so, kragx run CONFIG.yaml --set "
            "judge.ask_pending=true asks its questions anew and pays for them again",
            n=len(records),
            of=remote.n_answered,
        )
    answers = _answers(record for record in records if record[0] in keys)
    tally = _stored(batch, answers, store, secrets)
    # Last of all: one that is killed before collects it again, and stores nothing twice.
    done = {"status": remote.status, "problems": problems}
    register.move(batch.uid, "submitted", "collected", **done)
    return replace(status, tally=tally, n_unanswered=len(keys) - len(answers))


def _stored(
    batch: SubmittedBatch, answers: Mapping[str, _Reply], store: Store, secrets: Secrets
) -> Tally:
    """Store the answers; those that an interrupted collect has stored are not stored twice."""
    rubrics = {name: as_asked(rubric) for name, rubric in batch.about["rubrics"].items()}
    dialect = str(batch.about["dialect"])
    materials = store.questions(answers.keys())
    attempts: list[Judgement] = []
    questions: list[Question] = []
    tally = Tally()
    for key, (status, body) in answers.items():
        question = question_of(materials[key], rubrics[materials[key]["rubric"]["digest"]])
        content, has_tool = json.dumps(body).encode(), "tool" in dialect.split(", ")
        answer = read_response(status, {}, content, has_tool=has_tool)
        answer = replace(answer, dialect=dialect or None)
        # Nothing is reserved for a call that has ended.
        usage = usage_of_answer(answer, int(batch.about["prompt_tokens"]), Spent())
        tally.add(spent_of(usage))
        attempt = judged(
            *(key, question, answer, usage, secrets),
            # The same id whenever it is collected, and a store takes an id once.
            uid=hashlib.sha256(f"{batch.uid} {key} {status}".encode()).hexdigest()[:32],
            source="batch",
            asked_model=batch.model,
            output_limit=output_limit(batch.about["client"]),
        )
        attempts.append(attempt)
        questions.append(question)
    store.add(attempts)
    tally.count(questions, attempts)
    return tally


_Reply = tuple[int, Any]
"""Status and body that a request came to."""
_Record = tuple[str, _Reply | None]
"""The key of a question, and what its request came to; None if it was never run."""


def _records(content: bytes) -> Iterator[_Record]:
    """What the lines of a file say; one that cannot be read says nothing."""
    # Only a line feed ends a line: texts may hold whatever else ends one.
    for line in filter(bytes.strip, content.split(b"\n")):
        with suppress(ValueError, TypeError, LookupError, AttributeError, RecursionError):
            record = json.loads(line)
            key, error = str(record["custom_id"]), record.get("error")
            if error is None:
                response = record["response"]
                yield key, (int(response["status_code"]), response["body"])
            else:
                yield key, None if error.get("code") in _NOT_RUN else (0, {"error": error})


def _answers(records: Iterable[_Record]) -> dict[str, _Reply]:
    """What came for each key: of several the first that is an answer, else the first of all."""
    answers: dict[str, _Reply] = {}
    for key, reply in records:
        if reply and (key not in answers or reply[0] == _GOOD != answers[key][0]):
            answers[key] = reply
    return answers
