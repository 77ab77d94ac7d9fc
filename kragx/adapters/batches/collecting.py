"""Looking after batches: what became of each, and storing the answers of those that have ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from kragx.adapters.batches.service import BatchService, Remote, ServiceError
from kragx.ground.errors import JudgingError
from kragx.ground.event_loop import run_sync
from kragx.ground.json_values import plain
from kragx.ground.printing import Line, Part, Result, Table, joined, phrase, visible, warning
from kragx.ground.secrets import Secrets
from kragx.judging import Judge, OpenAIClient
from kragx.judging.budget import spent_of
from kragx.judging.calls import judged, usage_of_answer
from kragx.judging.clients.responses import read_response
from kragx.judging.judgement_counts import Spent, Tally, failure_lines
from kragx.judging.question import Judgement, Question, output_limit, question_of
from kragx.judging.rubric import as_asked
from kragx.judging.store import Address, NoStoreError, Store
from kragx.judging.store.pending import SubmittedBatch

_ENDED = ("completed", "expired", "cancelled")
"""Statuses of batches whose answers are there, as many as there are."""
_NOT_RUN = ("batch_expired", "batch_cancelled")
_SOON = 60.0  # seconds within which a batch that was asked for may not be listed yet
_GOOD = 200
_GONE = 404
_STATES: Mapping[str, str] = {
    "planned": phrase("being made, or interrupted: a minute later it is known"),
    "submitted": phrase("submitted"),
    "collected": phrase("collected"),
    "failed": phrase("failed"),
}
_COLUMNS = (
    *(phrase("batch"), phrase("model"), phrase("submitted")),
    *(phrase("questions"), phrase("state")),
)


@dataclass(frozen=True)
class BatchStatus:
    """How far a batch is.

    Attributes:
        batch: as the store knows it.
        n_questions: how many are in it.
        remote: as the provider describes it just now, if it was asked.
        tally: of what was collected just now: what the answers used, and which are no grades.
        odd: how many lines are none, or missing, by what is odd.
    """

    batch: SubmittedBatch
    n_questions: int
    remote: Remote | None = None
    tally: Tally | None = None
    odd: Mapping[str, int] = field(default_factory=dict)

    def row(self) -> tuple[str, ...]:
        """As a table has it."""
        state = _STATES[self.batch.state]
        if self.batch.state == "submitted" and self.remote is not None:
            state = phrase(
                "{status}, {n} of {of} answered",
                status=self.remote.status,
                n=self.remote.n_answered,
                of=self.n_questions,
            )
        date = self.batch.planned_at[:16].replace("T", " ")
        names = visible(self.batch.id), visible(self.batch.model)
        return (*names, date, str(self.n_questions), visible(state))

    def remarks(self) -> Iterator[Part]:
        """What came of it, and what is wrong."""
        name = visible(self.batch.id)
        remarks = [*self.batch.detail.get("problems", ())]
        if self.tally is not None:
            grades = phrase(
                "{batch}: {n} grades, {sent} + {got} tokens",
                batch=name,
                n=self.tally.n_judgements - self.tally.n_missing,
                sent=self.tally.prompt_tokens,
                got=self.tally.completion_tokens,
            )
            yield Line(grades, item="-")
            odd = (joined(": ", [label, str(n)]) for label, n in self.odd.items() if n)
            remarks += [*failure_lines(plain(self.tally)), *odd]
        yield from (warning(joined(": ", [name, visible(remark)])) for remark in remarks)


@dataclass(frozen=True)
class Overview(Result):
    """The batches of a store.

    Attributes:
        store: which.
        batches: oldest first.
        problems: what could not be found out, and why.
    """

    store: str
    batches: tuple[BatchStatus, ...]
    problems: tuple[str, ...]

    also_plain: ClassVar[tuple[str, ...]] = ("n_pending",)

    @property
    def n_pending(self) -> int:
        """How many questions are in batches whose answers are to come."""
        return sum(entry.n_questions for entry in self.batches if entry.batch.is_open)

    def describe(self) -> Iterator[Part]:
        """A row for each batch, what came in, and what to do next."""
        if not self.batches:
            yield Line(phrase("{store}: no batch was ever submitted", store=self.store))
            return
        rows = [entry.row() for entry in self.batches]
        yield Table(_COLUMNS, rows, words=3, note=phrase("times in UTC"))
        for entry in self.batches:
            yield from entry.remarks()
        yield from (warning(visible(problem)) for problem in self.problems)
        yield Line(
            phrase(
                "{n} questions are pending; kragx judge collect stores what has been answered",
                n=self.n_pending,
            )
            if self.n_pending
            else phrase("nothing is pending; kragx run finds the grades in the store")
        )


def look_after(
    stores: Iterable[object],
    judges: Sequence[Judge] = (),
    secrets: Secrets | None = None,
    *,
    collect: bool = False,
) -> list[Overview]:
    """The batches of those of some stores that there are, as their providers see them.

    What an interrupted submit has left is found again, or given up where it surely never ran; with
    `collect` the answers of batches that have ended are stored. Providers are reached through the
    judges' clients, without any through the environment's: as a store may be somebody else's, no
    key goes where it says.

    Raises:
        DataError: a store cannot be used.
    """
    clients: list[Any] = [judge.client for judge in judges] or [OpenAIClient("of the environment")]
    secrets = Secrets.of() if secrets is None else secrets
    for client in clients:
        secrets = secrets.also(getattr(client, "secrets", ()))
    # As the store names them: without a login, and masked.
    by_address = {
        secrets.masked(dict(client.settings)).get("base_url"): client
        for client in clients
        if hasattr(client, "connected")
    }
    overviews: list[Overview] = []
    for address in dict.fromkeys(map(Address.of, stores)):
        with suppress(NoStoreError), Store(address, make=False) as store:
            keeper = _Keeper(store, by_address, secrets, collect)
            overviews.append(run_sync(keeper.overview))
    return overviews


@dataclass(frozen=True)
class _Keeper:
    """Looks after the batches of a store; `clients` reach providers, by their addresses."""

    store: Store
    clients: Mapping[Any, Any]
    secrets: Secrets
    collects: bool

    async def overview(self) -> Overview:
        """All of its batches."""
        entries: list[BatchStatus] = []
        problems: list[str] = []
        for batch in self.store.batches.batches():
            entry = BatchStatus(batch, len(self.store.batches.keys(batch)))
            try:
                entry = await self._visited(entry) if batch.is_open else entry
            except JudgingError as error:
                # One that cannot be asked after keeps no other from being collected.
                problems.append(f"{batch.id}: {error}")
            entries.append(entry)
        # Read again, as looking has moved some of them on.
        current = {batch.uid: batch for batch in self.store.batches.batches()}
        batches = tuple(replace(entry, batch=current[entry.batch.uid]) for entry in entries)
        return Overview(str(self.store.address), batches, tuple(problems))

    async def _visited(self, entry: BatchStatus) -> BatchStatus:
        """An open batch as the provider has it, collected if it has ended."""
        batch, move = entry.batch, self.store.batches.move
        address = batch.about["client"].get("base_url")
        if address not in self.clients:
            problem = f"it is not known how to reach {address}"
            raise JudgingError("{why}; name the config that it was submitted with", why=problem)
        async with aclosing(BatchService(self.clients[address], self.secrets)) as service:
            remote_id = batch.detail.get("id")
            if remote_id is None:  # a submit was interrupted, or is at it
                planned_at = datetime.fromisoformat(batch.planned_at)
                remote_id = await service.find(batch.uid, planned_at.timestamp())
                is_late = (datetime.now(UTC) - planned_at).total_seconds() > _SOON
                if remote_id is not None:
                    move(batch.uid, "planned", "submitted", id=remote_id)
                elif is_late:
                    problems = ["interrupted; the provider knows no such batch"]
                    move(batch.uid, "planned", "failed", problems=problems)
            if remote_id is None:
                return entry
            remote = await service.look(remote_id)
            entry = replace(entry, remote=remote)
            if remote.status == "failed":
                move(batch.uid, "submitted", "failed", problems=remote.problems)
            elif self.collects and remote.status in _ENDED:
                entry = await self._collected(entry, remote, service)
        return entry

    async def _collected(
        self, entry: BatchStatus, remote: Remote, service: BatchService
    ) -> BatchStatus:
        """A batch that has ended, with its answers stored."""
        batch, register = entry.batch, self.store.batches
        keys = register.keys(batch)
        lines: list[_Record | None] = []
        problems: list[str] = []
        for name in remote.files:
            try:
                lines += _records(await service.download(name))
            except ServiceError as error:
                if error.status != _GONE:
                    raise
                problems.append(error.problem)
        records = [record for record in lines if record is not None]
        graded = (judgement.grade is not None for judgement in self.store.settled([*keys]).values())
        if not problems and len(records) < remote.n_answered and sum(graded) < len(keys):
            raise JudgingError(
                "it has fewer lines than it says: {n} of {of} lines came; nothing of it counts as "
                "collected",
                remedy="collect again later; if it stays so, kragx run CONFIG.yaml --set "
                "judge.ask_pending=true asks its questions anew and pays for them again",
                n=len(records),
                of=remote.n_answered,
            )
        results = _results(record for record in records if record[0] in keys)
        answers = {key: (result[0], result[1]) for key, result in results.items() if result}
        tally = self._stored(batch, answers)
        # Last of all: one that is killed before collects it again, and stores nothing twice.
        done = {"status": remote.status, "problems": problems}
        register.move(batch.uid, "submitted", "collected", **done)
        odd: dict[str, int] = {
            phrase("not run before it ended"): len(results) - len(answers),
            phrase("no answer came for"): len(keys) - len(results),
            phrase("lines that cannot be read, or are about what was not asked"): len(lines)
            - sum(key in keys for key, _ in records),
        }
        return replace(entry, tally=tally, odd=odd)

    def _stored(self, batch: SubmittedBatch, answers: Mapping[str, tuple[int, Any]]) -> Tally:
        """Store the answers; those that an interrupted collect has stored are not stored twice."""
        rubrics = {name: as_asked(rubric) for name, rubric in batch.about["rubrics"].items()}
        dialect = str(batch.about.get("dialect", ""))
        materials = self.store.questions(answers.keys())
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
                *(key, question, answer, usage, self.secrets),
                # The same id whenever it is collected, and a store takes an id once.
                uid=hashlib.sha256(f"{batch.uid} {key} {status}".encode()).hexdigest()[:32],
                source="batch",
                asked_model=batch.model,
                output_limit=output_limit(batch.about["client"]),
            )
            attempts.append(attempt)
            questions.append(question)
        self.store.add(attempts)
        tally.count(questions, attempts)
        return tally


_Result = tuple[()] | tuple[int, Any]
"""Status and body that a request came to; neither if it was never run."""
_Record = tuple[str, _Result]


def _records(content: bytes) -> Iterator[_Record | None]:
    """What the lines of a file say; None for one that cannot be read."""
    # Only a line feed ends a line: texts may hold whatever else ends one.
    for line in filter(bytes.strip, content.split(b"\n")):
        try:
            record = json.loads(line)
            key, error = str(record["custom_id"]), record.get("error")
            if error is None:
                response = record["response"]
                yield key, (int(response["status_code"]), response["body"])
            else:
                yield key, () if error.get("code") in _NOT_RUN else (0, {"error": error})
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            yield None


def _results(records: Iterable[_Record]) -> dict[str, _Result]:
    """The result of each key: of several the first that is an answer, else the first of all."""
    results: dict[str, _Result] = {}
    for key, result in records:
        worth, before = ((bool(r), r[:1] == (_GOOD,)) for r in (result, results.get(key, ())))
        if key not in results or worth > before:
            results[key] = result
    return results
