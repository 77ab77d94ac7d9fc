"""Looking after batches: what became of each, and storing the answers of those that have ended."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from kragx.errors import JudgingError
from kragx.judging.batches.reports import BatchStatus, Overview
from kragx.judging.batches.service import ENDED, BatchService, GoneError, Remote
from kragx.judging.batches.submitting import find_again
from kragx.judging.budget import spent_of, usage_of_answer
from kragx.judging.calls import judged, masked_judgement
from kragx.judging.clients.completion import read_response
from kragx.judging.clients.dialect import Dialect
from kragx.judging.clients.openai import OpenAIClient
from kragx.judging.keys import output_limit, question_of
from kragx.judging.question import Judgement, Question
from kragx.judging.rubric import as_asked
from kragx.judging.store import Address, NoStoreError, Store
from kragx.judging.store.batches import SubmittedBatch
from kragx.judging.tally import Spent, Tally
from kragx.printing import phrase
from kragx.secrets import Secrets

_TOGETHER = 1000  # rows in a commit
_DOWNLOADS = 3  # of a file that comes in half
_NOTHING = Spent()  # is reserved for a call that has ended
_GOOD = 200
_NOT_RUN = ("batch_expired", "batch_cancelled")
_BROKEN = phrase("lines that cannot be read")
_UNKNOWN = phrase("lines about what was not asked")


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
    entries: list[BatchStatus] = []
    problems: list[str] = []
    try:
        with Store(address, make=False) as store:
            register = store.batches
            async with _services(clients, secrets) as service_of:
                for known in register.batches():
                    questions = register.questions(known)
                    entry = BatchStatus(known, len(questions))
                    try:
                        batch = await find_again(register, known, service_of)
                        if batch.state == "submitted":
                            look = _Look(store, batch, questions, service_of(batch), secrets)
                            entry = await look.entry(collect=collect)
                    except JudgingError as error:
                        # One that cannot be asked after keeps no other from being collected.
                        problems.append(f"{known.id}: {error}")
                    entries.append(entry)
            current = {batch.uid: batch for batch in register.batches()}
    except NoStoreError:
        return Overview(str(address), (), is_there=False)
    batches = tuple(replace(entry, batch=current[entry.batch.uid]) for entry in entries)
    return Overview(str(address), batches, tuple(problems))


@dataclass
class _Look:
    """A look at a batch that was submitted.

    Attributes:
        questions: of the batch, by key: the digest of each one's rubric, and about its tokens.
    """

    store: Store
    batch: SubmittedBatch
    questions: Mapping[str, tuple[str, int]]
    service: BatchService
    secrets: Secrets

    async def entry(self, *, collect: bool) -> BatchStatus:
        """How far it is; if it has ended, and that is wanted, with its answers stored."""
        remote = await self.service.look(self.batch.id)
        entry = BatchStatus(self.batch, len(self.questions), remote)
        if remote.status == "failed":
            self._move("failed", problems=list(remote.problems))
        if remote.status not in ENDED or not collect:
            return entry
        try:
            lines, problems = await self._downloaded(remote)
        except JudgingError:
            judgements = self.store.settled([*self.questions]).values()
            if sum(judgement.grade is not None for judgement in judgements) < len(self.questions):
                raise
            problem = "never whole, and all of it has been asked anew meanwhile"
            self._move("given up", problems=[problem])
            return entry
        tally = self._stored(lines)
        self._move("collected", status=remote.status, problems=problems)
        n_silent = len(self.questions) - len(lines.answers) - len(lines.not_run)
        odd = {
            phrase("not run before it ended"): len(lines.not_run),
            phrase("no answer came for"): n_silent,
        }
        return replace(entry, tally=tally, odd=odd | lines.odd)

    def _move(self, state: str, **detail: Any) -> None:
        self.store.batches.move(self.batch.uid, "submitted", state, **detail)

    async def _downloaded(self, remote: Remote) -> tuple[_Lines, list[str]]:
        """The lines of a batch that has ended, and which files are gone.

        Raises:
            JudgingError: a file came in half, time and again.
        """
        for _ in range(_DOWNLOADS):
            lines, problems = _Lines(), []
            for file in remote.files:
                try:
                    lines.read(await self.service.download(file), self.questions.keys())
                except GoneError as error:
                    problems.append(error.problem)
            if problems or lines.n >= remote.n_answered:
                return lines, problems
        raise JudgingError(
            f"it has fewer lines than it says: {lines.n} of {remote.n_answered} lines came; "
            "nothing of it counts as collected",
            remedy="collect again later; if it stays so, kragx run CONFIG.yaml --ask-pending asks "
            "its questions anew and pays for them again",
        )

    def _stored(self, lines: _Lines) -> Tally:
        """Store the answers; those that an interrupted collect has stored are not stored twice."""
        about = self.batch.about
        rubrics = {name: as_asked(rubric) for name, rubric in about["rubrics"].items()}
        dialect = str(about.get("dialect", ""))
        has_tool = Dialect.of(dialect).answer_format == "tool"
        materials = self.store.questions(lines.answers.keys())
        attempts: list[Judgement] = []
        open_questions: list[Question] = []
        tally = Tally()
        for key, (status, body) in lines.answers.items():
            digest, tokens = self.questions[key]
            question = question_of(materials.get(key, {}), rubrics[digest])
            answer = read_response(status, {}, json.dumps(body).encode(), has_tool=has_tool)
            answer = replace(answer, dialect=dialect or None)
            usage = usage_of_answer(answer, tokens, _NOTHING)
            tally.add(spent_of(usage))
            client = about["client"]
            limit, model = output_limit(client), str(client.get("model"))
            attempt = judged(key, answer, usage, question, None, limit, model)
            uid = hashlib.sha256(f"{self.batch.uid} {key} {status}".encode()).hexdigest()[:32]
            attempts.append(
                masked_judgement(replace(attempt, uid=uid, source="batch"), self.secrets)
            )
            open_questions.append(question)
        for start in range(0, len(attempts), _TOGETHER):
            self.store.add(attempts[start : start + _TOGETHER])
        tally.count(open_questions, attempts)
        return tally


@dataclass
class _Lines:
    """What the files of a batch say, whatever their order.

    Attributes:
        answers: status and body of each request that was answered, by its key: of several the
            first with status 200, else the last.
        not_run: the keys of those that were not run before the batch ended.
        odd: how many lines are `_BROKEN` or `_UNKNOWN`.
        n: how many lines can be read.
    """

    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    not_run: set[str] = field(default_factory=set)
    odd: Counter[str] = field(default_factory=Counter)
    n: int = 0

    def read(self, content: bytes, keys: Set[str]) -> None:
        """Take in a file of a batch that asks for these keys."""
        # Only a line feed ends a line: texts may hold whatever else ends one.
        for line in filter(bytes.strip, content.split(b"\n")):
            try:
                record = json.loads(line)
                key, entry = str(record["custom_id"]), _entry(record)
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
                self.odd[_BROKEN] += 1
                continue
            self.n += 1
            if key not in keys:
                self.odd[_UNKNOWN] += 1
            elif entry is None:
                self.not_run.add(key)
            elif self.answers.get(key, entry)[0] != _GOOD or key not in self.answers:
                self.answers[key] = entry
        self.not_run -= self.answers.keys()


def _entry(record: Mapping[str, Any]) -> tuple[int, Any] | None:
    """Status and body of a line; None for a request that was not run."""
    error = record.get("error")
    if error is not None:
        return None if error.get("code") in _NOT_RUN else (0, {"error": error})
    response = record["response"]
    return int(response["status_code"]), response["body"]


@asynccontextmanager
async def _services(
    clients: Sequence[Any], secrets: Secrets
) -> AsyncIterator[Callable[[SubmittedBatch], BatchService]]:
    """What reaches the provider of a batch, or raises a `JudgingError`."""
    by_address = {_address(secrets.masked(dict(client.settings))): client for client in clients}
    services: dict[str, BatchService] = {}

    def service_of(batch: SubmittedBatch) -> BatchService:
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
