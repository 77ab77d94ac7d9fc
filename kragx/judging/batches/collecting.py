"""Looking after batches: what became of each, and storing the answers of those that have ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

from kragx.ground.errors import JudgingError
from kragx.ground.json_values import plain
from kragx.ground.printing import Line, Part, Result, Table, joined, phrase, visible, warning
from kragx.ground.secrets import Secrets
from kragx.judging.batches.service import ENDED, BatchService, GoneError, Remote
from kragx.judging.batches.submitting import find_again
from kragx.judging.budget import spent_of, usage_of_answer
from kragx.judging.calls import judged
from kragx.judging.clients.completion import read_response
from kragx.judging.question import Judgement, Question, output_limit, question_of
from kragx.judging.rubric import as_asked
from kragx.judging.store import Address, Store
from kragx.judging.store.batches import SubmittedBatch
from kragx.judging.tally import Spent, Tally, failure_lines

_TOGETHER = 1000  # rows in a commit
_NOTHING = Spent()  # is reserved for a call that has ended
_GOOD = 200
_NOT_RUN = ("batch_expired", "batch_cancelled")
_ODD = phrase("lines that cannot be read, or are about what was not asked")
_BEING_MADE = phrase("being made, or interrupted: a minute later it is known")
_STATES: Mapping[str, str] = {
    "planned": _BEING_MADE,
    "uploaded": _BEING_MADE,
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
        odd: how many lines are none, or missing, by what is odd.
    """

    batch: SubmittedBatch
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
        odd = (joined(": ", [label, str(n)]) for label, n in self.odd.items() if n)
        for remark in [*failure_lines(plain(self.tally)), *odd]:
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
        columns = (
            phrase("batch"),
            phrase("model"),
            phrase("submitted"),
            phrase("questions"),
            phrase("state"),
        )
        rows = [
            (
                visible(entry.batch.id),
                visible(str(entry.batch.about["client"].get("model"))),
                entry.batch.made[:16].replace("T", " "),
                str(entry.n_questions),
                visible(entry.status),
            )
            for entry in self.batches
        ]
        yield Table(columns, rows, words=3, note=phrase("times in UTC"))
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
    entries: list[BatchStatus] = []
    problems: list[str] = []
    with Store(address, make=False) as store:
        async with AsyncExitStack() as stack:
            service_of = _services(clients, secrets, stack)
            for planned in store.batches.batches():
                entry = BatchStatus(planned, len(store.batches.questions(planned)))
                try:
                    batch = await find_again(store.batches, planned, service_of)
                    if batch.state == "submitted":
                        collecting = _Collecting(store, batch, service_of(batch), secrets)
                        entry = await collecting.entry(entry, collect=collect)
                except JudgingError as error:
                    # One that cannot be asked after keeps no other from being collected.
                    problems.append(f"{planned.id}: {error}")
                entries.append(entry)
        current = {batch.uid: batch for batch in store.batches.batches()}
    batches = tuple(replace(entry, batch=current[entry.batch.uid]) for entry in entries)
    return Overview(str(address), batches, tuple(problems))


@dataclass
class _Collecting:
    """How a batch that was submitted comes to its end."""

    store: Store
    batch: SubmittedBatch
    service: BatchService
    secrets: Secrets

    async def entry(self, before: BatchStatus, *, collect: bool) -> BatchStatus:
        """How far it is; if it has ended, and that is wanted, with its answers stored."""
        remote = await self.service.look(self.batch.id)
        entry = replace(before, remote=remote)
        if remote.status == "failed":
            self._end("failed", problems=list(remote.problems))
        if remote.status not in ENDED or not collect:
            return entry
        questions = self.store.batches.questions(self.batch)
        lines, problems = await self._downloaded(remote, questions.keys())
        answers = {key: result for key, result in lines.results.items() if result is not None}
        tally = self._stored(answers, questions)
        self._end("collected", status=remote.status, problems=problems)
        odd: dict[str, int] = {
            phrase("not run before it ended"): len(lines.results) - len(answers),
            phrase("no answer came for"): len(questions) - len(lines.results),
        }
        return replace(entry, tally=tally, odd=odd | {_ODD: lines.n_odd})

    def _end(self, state: str, **detail: Any) -> None:
        self.store.batches.move(self.batch.uid, "submitted", state, **detail)

    async def _downloaded(self, remote: Remote, keys: Set[str]) -> tuple[_Lines, list[str]]:
        """The lines of a batch that has ended, and which files are gone.

        Raises:
            JudgingError: a file came in half, and not all of it has been asked anew meanwhile.
        """
        lines, problems = _Lines(), []
        for file in filter(None, (remote.answers, remote.errors)):
            try:
                lines.read(await self.service.download(file), keys)
            except GoneError as error:
                problems.append(error.problem)
        graded = (judgement.grade is not None for judgement in self.store.settled([*keys]).values())
        if problems or lines.n >= remote.n_answered or sum(graded) == len(keys):
            return lines, problems
        raise JudgingError(
            f"it has fewer lines than it says: {lines.n} of {remote.n_answered} lines came; "
            "nothing of it counts as collected",
            remedy="collect again later; if it stays so, kragx run CONFIG.yaml --ask-pending asks "
            "its questions anew and pays for them again",
        )

    def _stored(
        self, answers: Mapping[str, tuple[int, Any]], questions: Mapping[str, tuple[str, int]]
    ) -> Tally:
        """Store the answers; those that an interrupted collect has stored are not stored twice."""
        about = self.batch.about
        rubrics = {name: as_asked(rubric) for name, rubric in about["rubrics"].items()}
        dialect, client = str(about.get("dialect", "")), about["client"]
        has_tool = "tool" in dialect.split(", ")
        asked: dict[str, Any] = {
            "source": "batch",
            "output_limit": output_limit(client),
            "asked_model": str(client.get("model")),
        }
        materials = self.store.questions(answers.keys())
        attempts: list[Judgement] = []
        open_questions: list[Question] = []
        tally = Tally()
        for key, (status, body) in answers.items():
            digest, tokens = questions[key]
            question = question_of(materials.get(key, {}), rubrics[digest])
            answer = read_response(status, {}, json.dumps(body).encode(), has_tool=has_tool)
            answer = replace(answer, dialect=dialect or None)
            usage = usage_of_answer(answer, tokens, _NOTHING)
            tally.add(spent_of(usage))
            uid = hashlib.sha256(f"{self.batch.uid} {key} {status}".encode()).hexdigest()[:32]
            attempts.append(judged(key, question, answer, usage, self.secrets, uid=uid, **asked))
            open_questions.append(question)
        for start in range(0, len(attempts), _TOGETHER):
            self.store.add(attempts[start : start + _TOGETHER])
        tally.count(open_questions, attempts)
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


def _services(
    clients: Sequence[Any], secrets: Secrets, stack: AsyncExitStack
) -> Callable[[SubmittedBatch], BatchService]:
    """What reaches the provider of a batch, or raises a `JudgingError`; `stack` closes it."""
    by_address = {_address(secrets.masked(dict(client.settings))): client for client in clients}

    @cache
    def service_at(address: str) -> BatchService:
        if address not in by_address:
            problem = f"it is not known how to reach {address}"
            raise JudgingError(f"{problem}; name the config that it was submitted with")
        client = by_address[address]
        service = BatchService(client.connected(), secrets.also(client.secrets))
        stack.push_async_callback(service.aclose)
        return service

    return lambda batch: service_at(_address(batch.about["client"]))


def _address(settings: Mapping[str, Any]) -> str:
    return str(settings.get("base_url"))
