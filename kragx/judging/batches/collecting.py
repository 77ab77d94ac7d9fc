"""How far batches are, and what came of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from kragx.errors import JudgingError
from kragx.judging.asking import judged, shown
from kragx.judging.batches.files import ResultLines
from kragx.judging.batches.service import ENDED, BatchService, GoneError, Remote
from kragx.judging.batches.submitting import find_again, give_up
from kragx.judging.client import Answer, Failure, Usage
from kragx.judging.clients.completion import read_response
from kragx.judging.clients.dialect import Dialect
from kragx.judging.clients.openai import OpenAIClient
from kragx.judging.counting import counted, spent_of
from kragx.judging.keys import output_limit, question_of
from kragx.judging.question import Judgement, Question
from kragx.judging.remedies import failure_lines
from kragx.judging.rubric import as_asked
from kragx.judging.store import Address, NoStoreError, Store
from kragx.judging.store.batch import Batch
from kragx.judging.tally import Spent, Tally
from kragx.plain import plain
from kragx.printing import Line, Part, Result, Table, joined, phrase, visible, warning
from kragx.secrets import Secrets

_TOGETHER = 1000  # rows in a commit
_DOWNLOADS = 3  # of a file that comes in half
_NOTHING = Spent()  # is reserved for a call that has ended
ELSEWHERE = "go to the folder of the submit, or name its config or store"
_STATES: Mapping[str, str] = {
    "planned": phrase("being made, or interrupted: a minute later it is known"),
    "uploaded": phrase("being made, or interrupted: a minute later it is known"),
    "submitted": phrase("submitted"),
    "collected": phrase("collected"),
    "failed": phrase("failed"),
    "given up": phrase("given up"),
}


@dataclass(frozen=True)
class BatchStatus:
    """How far a batch is.

    Attributes:
        batch: as the store knows it.
        n_questions: how many are in it.
        remote: as the provider saw it just now, if it was asked.
        tally: of what was collected just now: what the answers used, and which are no grades.
        odd: how much of what was collected is not as it should be, by what is odd.
    """

    batch: Batch
    n_questions: int
    remote: Remote | None = None
    tally: Tally | None = None
    odd: Mapping[str, int] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """The same in words."""
        if self.batch.state != "submitted" or self.remote is None:
            return _STATES[self.batch.state]
        return phrase(
            "{status}, {n} of {of} answered",
            status=self.remote.status,
            n=self.remote.n_answered,
            of=self.remote.n_requests,
        )

    def remarks(self) -> Iterator[Part]:
        """What came of it, and what is wrong."""
        name = visible(self.batch.id)
        for problem in self.batch.detail.get("problems", ()):
            yield warning(f"{name}: {visible(problem)}")
        if self.tally is None:
            return
        grades = phrase(
            "{batch}: {n} grades, {sent} + {got} tokens",
            batch=name,
            n=self.tally.n_judgements - self.tally.n_missing,
            sent=self.tally.prompt_tokens,
            got=self.tally.completion_tokens,
        )
        yield Line(grades, item="-")
        odd = (joined(": ", [what, str(n)]) for what, n in self.odd.items() if n)
        for remark in [*failure_lines(plain(self.tally)), *odd]:
            yield warning(joined(": ", [name, visible(remark)]))


@dataclass(frozen=True)
class Overview(Result):
    """The batches of a store.

    Attributes:
        store: which.
        batches: oldest first.
        problems: what could not be found out, and why.
        is_there: whether there is such a store.
        n_pending: how many questions are in batches whose answers are to come.
    """

    store: str
    batches: tuple[BatchStatus, ...]
    problems: tuple[str, ...] = ()
    is_there: bool = True

    also_plain: ClassVar[tuple[str, ...]] = ("n_pending",)

    @property
    def n_pending(self) -> int:
        """How many questions are in batches whose answers are to come."""
        return sum(entry.n_questions for entry in self.batches if entry.batch.is_open)

    def describe(self) -> Iterator[Part]:
        """A row for each batch, what came in, and what to do next."""
        if not self.is_there:
            sentence = phrase(
                "{store}: there is no such store; {remedy}", remedy=ELSEWHERE, store=self.store
            )
            yield Line(sentence)
            return
        if not self.batches:
            yield Line(phrase("{store}: no batch was ever submitted", store=self.store))
            return
        columns = (
            phrase("batch"),
            phrase("model"),
            phrase("submitted"),
            phrase("questions"),
            phrase("state"),
        )
        yield Table(
            columns,
            [
                (
                    visible(entry.batch.id),
                    visible(str(entry.batch.about["client"].get("model"))),
                    entry.batch.made[:16].replace("T", " "),
                    str(entry.n_questions),
                    visible(entry.status),
                )
                for entry in self.batches
            ],
            words=3,
            note=phrase("times in UTC"),
        )
        for entry in self.batches:
            yield from entry.remarks()
        yield from (warning(visible(problem)) for problem in self.problems)
        if self.n_pending:
            sentence = phrase(
                "{n} questions are pending; kragx judge collect stores what has been answered",
                n=self.n_pending,
            )
        else:
            sentence = phrase("nothing is pending; kragx run finds the grades in the store")
        yield Line(sentence)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the rubrics of the batches."""
        overview = super().to_dict()
        for entry in overview["batches"]:
            del entry["batch"]["about"]["rubrics"]
        return overview


# -- asking the provider -----------------------------------------------------------------------


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
        clients: reach the provider; a batch of another address is asked for by what it says itself.
        secrets: what nothing that is kept may show; None for those of the environment.
        collect: whether the answers of batches that have ended are stored.

    Raises:
        DataError: the store cannot be used.
    """
    secrets = Secrets.of() if secrets is None else secrets
    for client in clients:
        secrets = secrets.also(getattr(client, "secrets", ()))
    entries: dict[str, BatchStatus] = {}
    problems: list[str] = []
    try:
        with Store(address, make=False) as store:
            register = store.batches
            async with _services(clients, secrets) as service_of:
                for batch in register.batches():
                    if batch.state == "planned":
                        give_up(register, batch)
                    elif batch.is_open:
                        try:
                            service = service_of(batch)
                            await find_again(register, batch, service)
                            entries[batch.uid] = await _look(
                                store, batch.uid, service, collect, secrets
                            )
                        except JudgingError as error:
                            # One that cannot be asked after keeps no other from being collected.
                            problems.append(f"{batch.id}: {error}")
            batches = []
            for batch in register.batches():
                entry = entries.get(batch.uid) or BatchStatus(batch, 0)
                n_questions = len(register.questions(batch))
                batches.append(replace(entry, batch=batch, n_questions=n_questions))
    except NoStoreError:
        return Overview(str(address), (), is_there=False)
    return Overview(str(address), tuple(batches), tuple(problems))


async def _look(
    store: Store, uid: str, service: BatchService, collect: bool, secrets: Secrets
) -> BatchStatus:
    """How far an open batch is; if it has ended, and that is wanted, with its answers stored."""
    register = store.batches
    batch = next(batch for batch in register.batches() if batch.uid == uid)
    entry = BatchStatus(batch, 0)
    if batch.state != "submitted":
        return entry
    remote = await service.look(batch.id)
    entry = replace(entry, remote=remote)
    if remote.status == "failed":
        register.move(uid, "submitted", "failed", problems=list(remote.problems))
    if remote.status not in ENDED or not collect:
        return entry
    questions = register.questions(batch)
    try:
        lines, problems = await _downloaded(service, remote, questions.keys())
    except JudgingError:
        judgements = store.settled([*questions]).values()
        if sum(judgement.grade is not None for judgement in judgements) < len(questions):
            raise
        problem = "never whole, and all of it has been asked anew meanwhile"
        register.move(uid, "submitted", "given up", problems=[problem])
        return entry
    tally = _stored(store, batch, questions, lines, secrets)
    register.move(uid, "submitted", "collected", status=remote.status, problems=problems)
    odd = {
        phrase("not run before it ended"): len(lines.not_run),
        phrase("no answer came for"): len(questions) - len(lines.answers) - len(lines.not_run),
    }
    return replace(entry, tally=tally, odd=odd | lines.odd)


async def _downloaded(
    service: BatchService, remote: Remote, keys: Set[str]
) -> tuple[ResultLines, list[str]]:
    """The lines of a batch that has ended, and which files are gone.

    Raises:
        JudgingError: a file came in half, time and again.
    """
    for _ in range(_DOWNLOADS):
        lines, problems = ResultLines(), []
        for file in remote.files:
            try:
                lines.read(await service.download(file), keys)
            except GoneError as error:
                problems.append(error.problem)
        if problems or not (lines.is_cut or lines.n_lines < remote.n_answered):
            return lines, problems
    wrong = "a file of it ends within a line" if lines.is_cut else "it has fewer lines than it says"
    raise JudgingError(
        f"{wrong}: {lines.n_lines} of {remote.n_answered} lines came; nothing of it counts as "
        "collected",
        remedy="collect again later; if it stays so, kragx run CONFIG.yaml --ask-pending asks its "
        "questions anew and pays for them again",
    )


def _stored(
    store: Store,
    batch: Batch,
    questions: Mapping[str, tuple[str, int]],
    lines: ResultLines,
    secrets: Secrets,
) -> Tally:
    """Store the answers; those that an interrupted collect has stored are not stored twice."""
    rubrics = {name: as_asked(rubric) for name, rubric in batch.about["rubrics"].items()}
    client, dialect = batch.about["client"], str(batch.about.get("dialect", ""))
    limit, model = output_limit(client), str(client.get("model"))
    has_tool = Dialect.of(dialect).answer_format == "tool"
    materials = store.questions(lines.answers.keys())
    attempts: list[Judgement] = []
    asked: list[Question] = []
    tally = Tally()
    for key, entries in lines.answers.items():
        digest, tokens = questions[key]
        question = question_of(materials.get(key, {}), rubrics[digest])
        answers = [
            replace(
                read_response(status, {}, json.dumps(body).encode(), has_tool=has_tool),
                dialect=dialect or None,
            )
            for status, body in entries
        ]
        answer, usage = _agreed(answers, tokens, question)
        tally.add(spent_of(usage))
        attempt = judged(key, answer, usage, question, None, limit, model)
        uid = hashlib.sha256(f"{batch.uid} {key} {entries[0][0]}".encode()).hexdigest()[:32]
        attempts.append(shown(replace(attempt, uid=uid, source="batch"), secrets))
        asked.append(question)
    for start in range(0, len(attempts), _TOGETHER):
        store.add(attempts[start : start + _TOGETHER])
    tally.count(asked, attempts)
    return tally


def _agreed(
    answers: Sequence[Answer | Failure], tokens: int, question: Question
) -> tuple[Answer | Failure, Usage | None]:
    """The answer of lines that say the same, with its usage; what they say otherwise is none."""
    usages = [counted(answer, tokens, _NOTHING) for answer in answers]
    attempts = [
        judged("", answer, usage, question, None, None, None)
        for answer, usage in zip(answers, usages, strict=True)
    ]
    if len({(attempt.grade, attempt.answer, attempt.failure) for attempt in attempts}) == 1:
        return answers[0], usages[0]
    said = ", ".join(attempt.failure or f"grade {attempt.grade}" for attempt in attempts)
    problem = f"{len(answers)} lines of the batch that contradict each other: {said}"
    names = ("prompt", "completion", "cached", "reasoning")
    total: dict[str, Any] = {
        name: sum(getattr(usage, name, 0) or 0 for usage in usages) for name in names
    }
    total["counting"] = getattr(usages[0], "counting", None)
    return Failure("api_error", problem, again=True), Usage(**total)


# -- reaching the provider -----------------------------------------------------------------------


@asynccontextmanager
async def _services(
    clients: Sequence[Any], secrets: Secrets
) -> AsyncIterator[Callable[[Batch], BatchService]]:
    """What reaches the provider of a batch, or raises a `JudgingError`."""
    by_address = {_address(secrets.masked(dict(client.settings))): client for client in clients}
    services: dict[str, BatchService] = {}

    def service_of(batch: Batch) -> BatchService:
        address = _address(batch.about["client"])
        if address not in by_address:
            if not _is_reached_by_default(batch.about.get("reach")):
                raise JudgingError(
                    f"it is not known how to reach {address}; name the config that it was "
                    "submitted with"
                )
            by_address[address] = OpenAIClient(**batch.about["reach"])
        if address not in services:
            client = by_address[address]
            services[address] = BatchService(client.connected(), secrets.also(client.secrets))
        return services[address]

    try:
        yield service_of
    finally:
        for service in services.values():
            await service.aclose()


def _is_reached_by_default(reach: Mapping[str, Any] | None) -> bool:
    """Whether a server is reached as the environment says.

    A store is data, and may be somebody else's: no key goes to a server because it says so.
    """
    if not reach or reach.get("api_key_env") != "OPENAI_API_KEY":
        return False
    usual = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    return str(reach.get("base_url") or usual).rstrip("/") == usual.rstrip("/")


def _address(settings: Mapping[str, Any]) -> str:
    return str(settings.get("base_url"))
