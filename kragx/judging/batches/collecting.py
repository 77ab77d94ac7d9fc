"""How far batches are, and what came of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from kragx.errors import JudgingError, shorten
from kragx.judging.asking import judged, shown
from kragx.judging.batches.lines import ResultLines
from kragx.judging.batches.service import ENDED, BatchService, GoneError, Remote
from kragx.judging.batches.submitting import find_again, give_up
from kragx.judging.client import Answer, Failure, Usage
from kragx.judging.clients.completion import read_response
from kragx.judging.clients.dialect import Dialect
from kragx.judging.clients.openai import OpenAIClient
from kragx.judging.counting import Count, counted
from kragx.judging.keys import output_limit, question_of
from kragx.judging.question import Judgement, Question
from kragx.judging.remedies import remedy
from kragx.judging.rubric import as_asked
from kragx.judging.store import Address, NoStoreError, Store
from kragx.judging.store.batch import Batch
from kragx.judging.tally import Spent
from kragx.printing import Line, Part, Result, Table, counted as listed, phrase, visible, warning
from kragx.secrets import Secrets

_TOGETHER = 1000  # rows in a commit
_DOWNLOADS = 3  # of a file that comes in half
_NOTHING = Spent()  # is reserved for a call that has ended
ELSEWHERE = "go to the folder of the submit, or name its config or store"
_SHOWN = 5  # batches that are done


@dataclass(frozen=True)
class Collected:
    """What came of a batch.

    Attributes:
        n_grades: questions that have one now.
        failures: how many were answered and have none, by kind.
        examples: of each kind what the first says, and what to do.
        spent: what the answers used.
        n_not_run: questions that the batch ended before.
        n_without: questions that no line is about.
        n_broken: lines that cannot be read.
        n_unknown: lines about what was not asked.
    """

    n_grades: int
    failures: Counter[str]
    examples: Mapping[str, str]
    spent: Spent
    n_not_run: int
    n_without: int
    n_broken: int
    n_unknown: int

    @property
    def remarks(self) -> Iterator[str]:
        """What is not as it should be."""
        if self.failures:
            yield f"without a grade: {listed(self.failures)}"
        yield from (f"{kind}, such as {text}" for kind, text in self.examples.items())
        counts = {
            "not run before it ended": self.n_not_run,
            "no answer came for": self.n_without,
            "lines that cannot be read": self.n_broken,
            "lines about what was not asked": self.n_unknown,
        }
        yield from (f"{what}: {n}" for what, n in counts.items() if n)


@dataclass(frozen=True)
class Overview(Result):
    """The batches of a store.

    Attributes:
        store: which.
        batches: each with the number of its questions, oldest first.
        collected: what came of those that were collected just now, by the provider's id.
        problems: what could not be found out, and why.
        is_there: whether there is such a store.
        n_pending: how many questions are in batches whose answers are to come.
    """

    store: str
    batches: tuple[tuple[Batch, int], ...]
    collected: Mapping[str, Collected] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    is_there: bool = True

    also_plain: ClassVar[tuple[str, ...]] = ("n_pending",)

    @property
    def n_pending(self) -> int:
        """How many questions are in batches whose answers are to come."""
        return sum(n for batch, n in self.batches if batch.is_open)

    def describe(self) -> Iterator[Part]:
        """A row for each batch, what came in, and what to do next."""
        if not self.batches:
            yield Line(
                phrase("{store}: no batch was ever submitted", store=self.store)
                if self.is_there
                else phrase(
                    "{store}: there is no such store; {remedy}", store=self.store, remedy=ELSEWHERE
                )
            )
            return
        done = [entry for entry in self.batches if not entry[0].is_open]
        left_out = [batch.uid for batch, _ in done[: max(0, len(done) - _SHOWN)]]
        shown = [
            entry
            for entry in self.batches
            if entry[0].uid not in left_out or entry[0].id in self.collected
        ]
        yield Table(
            (
                phrase("batch"),
                phrase("model"),
                phrase("submitted"),
                phrase("questions"),
                phrase("state"),
            ),
            [
                (
                    visible(batch.id),
                    visible(str(batch.about["client"].get("model"))),
                    batch.made[:16].replace("T", " "),
                    str(n_questions),
                    visible(_state(batch)),
                )
                for batch, n_questions in shown
            ],
            words=3,
            note=phrase(
                "times in UTC; {n} earlier ones are not shown", n=len(self.batches) - len(shown)
            )
            if len(shown) < len(self.batches)
            else phrase("times in UTC"),
        )
        for batch, _ in shown:
            for problem in batch.detail.get("problems", ()):
                yield warning(f"{visible(batch.id)}: {visible(problem)}")
        for name, collected in self.collected.items():
            spent = collected.spent
            said = phrase(
                "{batch}: {n} grades, {sent} + {got} tokens",
                batch=visible(name),
                n=collected.n_grades,
                sent=spent.prompt_tokens,
                got=spent.completion_tokens,
            )
            yield Line(said, item="-")
            yield from (
                warning(f"{visible(name)}: {visible(remark)}") for remark in collected.remarks
            )
        if self.collected:
            yield self._cost()
        yield from (warning(visible(problem)) for problem in self.problems)
        if self.n_pending:
            yield Line(
                phrase(
                    "{n} questions are pending; kragx judge collect stores what has been answered",
                    n=self.n_pending,
                )
            )
        else:
            yield Line(phrase("nothing is pending; kragx run finds the grades in the store"))

    def _cost(self) -> Line:
        """Of what was collected, at the price of batches when it was submitted."""
        batches = [batch for batch, _ in self.batches if batch.id in self.collected]
        unpriced = {str(batch.about["client"].get("model")) for batch in batches if not batch.price}
        if unpriced:
            names = visible(", ".join(sorted(unpriced)))
            return Line(
                phrase(
                    "cost: unknown, no price of batches of {names} was given (judge.prices: batch)",
                    names=names,
                )
            )
        costs = [batch.price.of(self.collected[batch.id].spent) for batch in batches if batch.price]
        currency = batches[0].about.get("currency")
        return Line(phrase("cost: {cost:.4f} {currency}", cost=sum(costs), currency=currency))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the questions of each batch counted."""
        plain = super().to_dict()
        plain["batches"] = [
            {**batch, "n_questions": n, "about": {**batch["about"], "rubrics": None}}
            for batch, n in plain["batches"]
        ]
        return plain


def _state(batch: Batch) -> str:
    detail = batch.detail
    if batch.state == "uploaded":
        return "being made, or interrupted: a minute later it is known"
    if batch.state != "submitted":
        status = detail.get("status", "completed")
        return batch.state if status in ("completed", batch.state) else f"{batch.state} ({status})"
    status = detail.get("status", "submitted")
    if detail.get("n_requests"):
        answered = detail.get("n_completed", 0) + detail.get("n_failed", 0)
        return f"{status}, {answered} of {detail['n_requests']} answered"
    return str(status)


# -- asking the provider -----------------------------------------------------------------------


async def look_after(
    address: Address,
    clients: Sequence[Any] = (),
    *,
    secrets: Secrets | None = None,
    collect: bool = False,
    ask: bool = True,
) -> Overview:
    """The batches of a store, as the provider sees them.

    What an interrupted submit has left is found again, or given up where it surely never ran.

    Args:
        address: of the store.
        clients: reach the provider; a batch of another address is asked for by what it says itself.
        secrets: what nothing that is kept may show; None for those of the environment.
        collect: whether the answers of batches that have ended are stored.
        ask: whether anything is asked; else it is said what was last known.

    Raises:
        DataError: the store cannot be used.
    """
    secrets = Secrets.of() if secrets is None else secrets
    for client in clients:
        secrets = secrets.also(getattr(client, "secrets", ()))
    try:
        with Store(address, make=False) as store:
            async with _services(clients, secrets) as service_of:
                if ask:
                    collected, problems = await _asked(store, service_of, secrets, collect)
                else:
                    collected, problems = {}, []
            batches = [
                (batch, len(store.batches.questions(batch))) for batch in store.batches.batches()
            ]
    except NoStoreError:
        return Overview(str(address), (), is_there=False)
    return Overview(str(address), tuple(batches), collected, tuple(problems))


async def _asked(
    store: Store,
    service_of: Callable[[Batch], BatchService | None],
    secrets: Secrets,
    collect: bool,
) -> tuple[dict[str, Collected], list[str]]:
    """What came of the open batches, and what could not be found out."""
    register = store.batches
    problems: list[str] = []
    collected: dict[str, Collected] = {}
    for batch in register.batches():
        if batch.state == "planned":
            give_up(register, batch)
        elif batch.is_open and (service := service_of(batch)) is not None:
            try:
                await find_again(register, batch, service)
                looked = await _look(store, batch, service, collect, secrets)
            except JudgingError as error:
                # One batch that cannot be asked after keeps no other from being collected.
                problems.append(f"{batch.id}: {error}")
                continue
            if looked is not None:
                collected[batch.id] = looked
        elif batch.is_open:
            problems.append(
                f"{batch.id}: it is not known how to reach {_address(batch)}; name the config "
                "that it was submitted with"
            )
    return collected, problems


async def _look(
    store: Store, batch: Batch, service: BatchService, collect: bool, secrets: Secrets
) -> Collected | None:
    register = store.batches
    current = {own.uid: own for own in register.batches()}[batch.uid]
    if current.state != "submitted":
        return None
    remote = await service.look(current.id)
    learned = {
        "status": remote.status,
        "n_requests": remote.n_requests,
        "n_completed": remote.n_completed,
        "n_failed": remote.n_failed,
    }
    if remote.status == "failed":
        register.move(batch.uid, "submitted", "failed", **learned, problems=list(remote.problems))
        return None
    if remote.status not in ENDED or not collect:
        if learned != {name: current.detail.get(name) for name in learned}:
            register.move(batch.uid, "submitted", "submitted", **learned)
        return None
    questions = register.questions(current)
    try:
        lines, gone = await _downloaded(service, remote, questions.keys())
    except JudgingError:
        settled = store.settled([*questions]).values()
        if sum(judgement.grade is not None for judgement in settled) < len(questions):
            raise
        asked = "never whole, and all of it has been asked anew meanwhile"
        register.move(batch.uid, "submitted", "given up", **learned, problems=[asked])
        return None
    collected = _stored(store, current, questions, lines, secrets)
    register.move(batch.uid, "submitted", "collected", **learned, problems=gone)
    return collected


async def _downloaded(
    service: BatchService, remote: Remote, keys: Set[str]
) -> tuple[ResultLines, list[str]]:
    """The lines of a batch that has ended, and which files are gone.

    Raises:
        JudgingError: a file came in half, time and again.
    """
    for _ in range(_DOWNLOADS):
        lines, gone = ResultLines(), []
        for file in remote.files:
            try:
                lines.read(await service.download(file), keys)
            except GoneError as error:
                gone.append(error.problem)
        n_expected = remote.n_completed + remote.n_failed
        if gone or not (lines.is_cut or lines.n_lines < n_expected):
            return lines, gone
    wrong = "a file of it ends within a line" if lines.is_cut else "it has fewer lines than it says"
    raise JudgingError(
        f"{wrong}: {lines.n_lines} of {n_expected} lines came; nothing of it counts as collected",
        remedy="collect again later; if it stays so, kragx run CONFIG.yaml --ask-pending asks its "
        "questions anew and pays for them again",
    )


def _stored(
    store: Store,
    batch: Batch,
    questions: Mapping[str, tuple[str, int]],
    lines: ResultLines,
    secrets: Secrets,
) -> Collected:
    """Store the answers; those that an interrupted collect has stored are not stored twice."""
    rubrics = {name: as_asked(rubric) for name, rubric in batch.about["rubrics"].items()}
    client, dialect = batch.about["client"], str(batch.about.get("dialect", ""))
    limit, model = output_limit(client), str(client.get("model"))
    has_tool = Dialect.of(dialect).answer_format == "tool"
    attempts: list[Judgement] = []
    examples: dict[str, str] = {}
    spent = Spent()
    for key, entries, material in _with_material(store, lines.answers):
        digest, tokens = questions[key]
        question = question_of(material, rubrics[digest])
        answers = [
            replace(
                read_response(status, {}, json.dumps(body).encode(), has_tool=has_tool),
                dialect=dialect or None,
            )
            for status, body in entries
        ]
        answer, count = _agreed(answers, tokens, question)
        spent.add(count.spent)
        attempt = judged(key, answer, count, question, None, limit, model)
        status, _ = entries[0]
        uid = hashlib.sha256(f"{batch.uid} {key} {status}".encode()).hexdigest()[:32]
        attempt = shown(replace(attempt, uid=uid, source="batch"), secrets)
        attempts.append(attempt)
        if attempt.failure is not None and attempt.failure not in examples:
            words = shorten(attempt.detail or "no words", 200)
            examples[attempt.failure] = f"{words}; {remedy(attempt.failure, status)}"
    for start in range(0, len(attempts), _TOGETHER):
        store.add(attempts[start : start + _TOGETHER])
    return Collected(
        n_grades=sum(attempt.grade is not None for attempt in attempts),
        failures=Counter(attempt.failure for attempt in attempts if attempt.failure is not None),
        examples=examples,
        spent=spent,
        n_not_run=len(lines.not_run),
        n_without=len(questions) - len(lines.answers) - len(lines.not_run),
        n_broken=lines.n_broken,
        n_unknown=lines.n_unknown,
    )


def _agreed(
    answers: Sequence[Answer | Failure], tokens: int, question: Question
) -> tuple[Answer | Failure, Count]:
    """The answer of lines that say the same, with its count; what they say otherwise is none."""
    counts = [counted(answer, tokens, _NOTHING) for answer in answers]
    attempts = [
        judged("", answer, count, question, None, None, None)
        for answer, count in zip(answers, counts, strict=True)
    ]
    if len({(attempt.grade, attempt.answer, attempt.failure) for attempt in attempts}) == 1:
        return answers[0], counts[0]
    said = ", ".join(attempt.failure or f"grade {attempt.grade}" for attempt in attempts)
    problem = f"{len(answers)} lines of the batch that contradict each other: {said}"
    names = ("prompt", "completion", "cached", "reasoning")
    usage = Usage(*(sum(getattr(count.usage, name) or 0 for count in counts) for name in names))
    return Failure("api_error", problem, again=True), replace(counts[0], usage=usage)


def _with_material(
    store: Store, answers: Mapping[str, list[tuple[int, Any]]]
) -> Iterator[tuple[str, list[tuple[int, Any]], dict[str, Any]]]:
    """Each key with its answers and what its question is made of, as far as the store has it."""
    keys = list(answers)
    for start in range(0, len(keys), _TOGETHER):
        together = keys[start : start + _TOGETHER]
        materials = store.questions(together)
        for key in together:
            yield key, answers[key], materials.get(key, {})


# -- reaching the provider -----------------------------------------------------------------------


@asynccontextmanager
async def _services(
    clients: Sequence[Any], secrets: Secrets
) -> AsyncIterator[Callable[[Batch], BatchService | None]]:
    """What reaches the provider of a batch; None where that cannot be known."""
    known = {_address_of(secrets.masked(dict(client.settings))): client for client in clients}
    services: dict[str, BatchService] = {}

    def of(batch: Batch) -> BatchService | None:
        address = _address(batch)
        if address not in known and _is_own(batch.about.get("reach")):
            known[address] = OpenAIClient(**batch.about["reach"])
        if address not in services and address in known:
            services[address] = BatchService(
                known[address].connected(), secrets.also(known[address].secrets)
            )
        return services.get(address)

    try:
        yield of
    finally:
        for service in services.values():
            await service.aclose()


def _is_own(reach: Mapping[str, Any] | None) -> bool:
    """Whether a server is reached as the environment says.

    A store is data, and may be somebody else's: no key goes to a server because it says so.
    """
    if not reach or reach.get("api_key_env") != "OPENAI_API_KEY":
        return False
    own = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    return str(reach.get("base_url") or own).rstrip("/") == own.rstrip("/")


def _address(batch: Batch) -> str:
    return _address_of(batch.about["client"])


def _address_of(settings: Mapping[str, Any]) -> str:
    return str(settings.get("base_url"))
