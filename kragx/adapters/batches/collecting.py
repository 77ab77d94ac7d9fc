"""Looking after batches: what became of each, and storing the answers of those that have ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from kragx.adapters.batches.service import BatchService, GoneError, Remote
from kragx.ground.errors import JudgingError
from kragx.ground.json_values import plain
from kragx.ground.printing import Line, Part, Result, Table, joined, phrase, visible, warning
from kragx.ground.secrets import Secrets
from kragx.judging.budget import spent_of
from kragx.judging.calls import judged, usage_of_answer
from kragx.judging.clients.responses import read_response
from kragx.judging.judgement_counts import Spent, Tally, failure_lines
from kragx.judging.question import Judgement, Question, output_limit, question_of
from kragx.judging.rubric import as_asked
from kragx.judging.store import Address, Store
from kragx.judging.store.pending import Register, SubmittedBatch

_ENDED = ("completed", "expired", "cancelled")
"""Statuses of batches whose answers are there, as many as there are."""
_NOT_RUN = ("batch_expired", "batch_cancelled")
_TOGETHER = 1000  # rows in a commit
_SOON = 60.0  # seconds within which a batch that was asked for may not be listed yet
_GOOD = 200
_BEING_MADE = phrase("being made, or interrupted: a minute later it is known")
_STATES: Mapping[str, str] = {
    "planned": _BEING_MADE,
    "uploaded": _BEING_MADE,
    "submitted": phrase("submitted"),
    "collected": phrase("collected"),
    "failed": phrase("failed"),
    "given up": phrase("given up"),
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
        remote: as the provider saw it just now, if it was asked.
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
        for remark in remarks:
            yield warning(joined(": ", [name, visible(remark)]))


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


async def look_after(
    address: Address,
    clients: Sequence[Any] = (),
    *,
    secrets: Secrets | None = None,
    collect: bool = False,
) -> Overview:
    """The batches of a store, as the provider sees them.

    What an interrupted submit has left is found again, or given up where it surely never ran.

    Args:
        address: of the store.
        clients: reach their providers; no batch of another address is asked for, as a store may be
            somebody else's, and no key goes where it says.
        secrets: what nothing that is kept may show; None for those of the environment.
        collect: whether the answers of batches that have ended are stored.

    Raises:
        NoStoreError: there is no such store.
        DataError: the store cannot be used.
    """
    secrets = Secrets.of() if secrets is None else secrets
    for client in clients:
        secrets = secrets.also(getattr(client, "secrets", ()))
    # As the store names them: without a login, and masked.
    by_address = {secrets.masked(dict(c.settings)).get("base_url"): c for c in clients}
    entries: list[BatchStatus] = []
    problems: list[str] = []
    with Store(address, make=False) as store:
        for batch in store.batches.batches():
            keys = store.batches.keys(batch)
            entry = BatchStatus(batch, len(keys))
            try:
                if batch.is_open:
                    client = _client_of(batch, by_address)
                    async with aclosing(BatchService(client, secrets)) as service:
                        entry = replace(entry, remote=await _found(batch, store.batches, service))
                        if collect and entry.remote and entry.remote.status in _ENDED:
                            entry = await _collected(entry, keys, store, service, secrets)
            except JudgingError as error:
                # One that cannot be asked after keeps no other from being collected.
                problems.append(f"{batch.id}: {error}")
            entries.append(entry)
        # Read again, as looking has moved some of them on.
        current = {batch.uid: batch for batch in store.batches.batches()}
    batches = tuple(replace(entry, batch=current[entry.batch.uid]) for entry in entries)
    return Overview(str(address), batches, tuple(problems))


def _client_of(batch: SubmittedBatch, by_address: Mapping[Any, Any]) -> Any:
    address = batch.about["client"].get("base_url")
    if address not in by_address:
        problem = f"it is not known how to reach {address}"
        raise JudgingError(f"{problem}; name the config that it was submitted with")
    return by_address[address]


async def _found(batch: SubmittedBatch, register: Register, service: BatchService) -> Remote | None:
    """An open batch as the provider has it; None where a submit was interrupted and made none.

    Should the submit be at work yet and have uploaded nothing, it notices, and makes none.

    Raises:
        JudgingError: the provider cannot be asked.
    """
    if batch.state == "planned":
        register.move(batch.uid, "planned", "given up", problems=["interrupted before it began"])
        return None
    remote_id = batch.id
    if batch.state == "uploaded":
        planned, since = map(datetime.fromisoformat, (batch.planned_at, batch.since))
        orphan = await service.find(batch.uid, planned.timestamp())
        if orphan is None:
            if (datetime.now(UTC) - since).total_seconds() > _SOON:
                problems = ["interrupted; the provider knows no such batch"]
                register.move(batch.uid, "uploaded", "given up", problems=problems)
            return None
        remote_id = orphan.id
        register.move(batch.uid, "uploaded", "submitted", id=remote_id)
    remote = await service.look(remote_id)
    if remote.status == "failed":
        register.move(batch.uid, "submitted", "failed", problems=_problems(remote))
    return remote


def _problems(remote: Remote) -> list[str]:
    """Why a batch failed."""
    return [
        f"{error.get('code')}: {error.get('message')}"
        + (f" (line {error['line']})" if error.get("line") else "")
        for error in (remote.errors and remote.errors.data) or ()
    ]


async def _collected(
    entry: BatchStatus, keys: Set[str], store: Store, service: BatchService, secrets: Secrets
) -> BatchStatus:
    """A batch that has ended, with its answers stored.

    Raises:
        JudgingError: a file came in half, and not all of it has been asked anew meanwhile.
    """
    batch, remote = entry.batch, entry.remote
    assert remote is not None  # it has ended
    lines, problems = _Lines(), []
    for file in filter(None, (remote.output_file_id, remote.error_file_id)):
        try:
            lines.read(await service.download(file), keys)
        except GoneError as error:
            problems.append(error.problem)
    graded = (judgement.grade is not None for judgement in store.settled([*keys]).values())
    if not problems and lines.n < remote.n_answered and sum(graded) < len(keys):
        raise JudgingError(
            f"it has fewer lines than it says: {lines.n} of {remote.n_answered} lines came; "
            "nothing of it counts as collected",
            remedy="collect again later; if it stays so, kragx run CONFIG.yaml --ask-pending asks "
            "its questions anew and pays for them again",
        )
    answers = {key: result for key, result in lines.results.items() if result is not None}
    tally = _stored(batch, answers, store, secrets)
    # Last of all: one that is killed before collects it again, and stores nothing twice.
    store.batches.move(batch.uid, "submitted", "collected", status=remote.status, problems=problems)
    odd: dict[str, int] = {
        phrase("not run before it ended"): len(lines.results) - len(answers),
        phrase("no answer came for"): len(keys) - len(lines.results),
        phrase("lines that cannot be read, or are about what was not asked"): lines.n_odd,
    }
    return replace(entry, tally=tally, odd=odd)


def _stored(
    batch: SubmittedBatch, answers: Mapping[str, tuple[int, Any]], store: Store, secrets: Secrets
) -> Tally:
    """Store the answers; those that an interrupted collect has stored are not stored twice."""
    rubrics = {name: as_asked(rubric) for name, rubric in batch.about["rubrics"].items()}
    dialect, client = str(batch.about.get("dialect", "")), batch.about["client"]
    has_tool = "tool" in dialect.split(", ")
    common = {"source": "batch", "asked_model": batch.model, "output_limit": output_limit(client)}
    materials = store.questions(answers.keys())
    attempts: list[Judgement] = []
    questions: list[Question] = []
    tally = Tally()
    for key, (status, body) in answers.items():
        question = question_of(materials[key], rubrics[materials[key]["rubric"]["digest"]])
        answer = read_response(status, {}, json.dumps(body).encode(), has_tool=has_tool)
        answer = replace(answer, dialect=dialect or None)
        # Nothing is reserved for a call that has ended.
        usage = usage_of_answer(answer, int(batch.about["prompt_tokens"]), Spent())
        tally.add(spent_of(usage))
        # An answer has the same id whenever it is collected, and a store takes an id once.
        uid = hashlib.sha256(f"{batch.uid} {key} {status}".encode()).hexdigest()[:32]
        attempts.append(judged(key, question, answer, usage, secrets, uid=uid, **common))
        questions.append(question)
    for start in range(0, len(attempts), _TOGETHER):
        store.add(attempts[start : start + _TOGETHER])
    tally.count(questions, attempts)
    return tally


@dataclass
class _Lines:
    """What the files of a batch say, whatever their order.

    Attributes:
        results: status and body of what each request came to, by its key: of several the first
            with status 200, else the last; None for one that was not run before the batch ended.
        n_odd: how many lines are none, or about what was not asked.
        n: how many lines can be read.
    """

    results: dict[str, tuple[int, Any] | None] = field(default_factory=dict)
    n_odd: int = 0
    n: int = 0

    def read(self, content: bytes, keys: Set[str]) -> None:
        """Take in a file of a batch that asks for these keys."""
        # Only a line feed ends a line: texts may hold whatever else ends one.
        for line in filter(bytes.strip, content.split(b"\n")):
            try:
                record = json.loads(line)
                key, result = str(record["custom_id"]), _result(record)
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
                self.n_odd += 1
                continue
            self.n += 1
            before = self.results.get(key)
            if key not in keys:
                self.n_odd += 1
            elif before is None or (result is not None and before[0] != _GOOD):
                self.results[key] = result


def _result(record: Mapping[str, Any]) -> tuple[int, Any] | None:
    """Status and body of a line; None for a request that was not run."""
    error = record.get("error")
    if error is not None:
        return None if error.get("code") in _NOT_RUN else (0, {"error": error})
    response = record["response"]
    return int(response["status_code"]), response["body"]
