"""What judges would ask, kept instead of asked, and put into the provider's batches."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kragx.adapters.batches.service import BatchRefusedError, BatchService
from kragx.ground.errors import JudgingError, UsageError
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Part, Result, phrase, warning
from kragx.judging.budget import Price, Used, about_spent, most_tokens
from kragx.judging.client import Client
from kragx.judging.prompt import request_for
from kragx.judging.question import Judgement, Question
from kragx.judging.rubric import canonical_json, digest
from kragx.judging.store import NoStoreError, Store
from kragx.judging.store.pending import Register, SubmittedBatch
from kragx.judging.tally import Spent

if TYPE_CHECKING:
    from kragx.ground.secrets import Secrets
    from kragx.judging.queue import PendingQuestions
    from kragx.judging.settings import JudgeSettings

MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000
"""What OpenAI takes in one file is 200 MB."""
_SOON = 60.0  # seconds within which a batch that was asked for may not be listed yet


@dataclass
class Parcel:
    """What one judge would ask.

    Attributes:
        settings: the judge's.
        secrets: what nothing that is kept may show.
        wanted: the questions, each with its canonical JSON, by key.
        pairs: their (key, query id, document id).
        pending: the keys of those that are in a batch already.
        stored: the keys of those that the store has answers for.
    """

    settings: JudgeSettings
    secrets: Secrets
    wanted: dict[str, tuple[Question, str]] = field(default_factory=dict)
    pairs: set[tuple[str, str, str]] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)


class Outbox:
    """Questions that are to be submitted, by the judge that would be asked."""

    def __init__(self) -> None:
        self._parcels: dict[str, Parcel] = {}

    @property
    def parcels(self) -> list[Parcel]:
        """One for each judge."""
        return list(self._parcels.values())

    def check(self, client: Client) -> None:
        """Refuse a client whose provider's batches are not known, with a `UsageError`."""
        if not hasattr(client, "batch_endpoint"):
            name = client.settings.get("provider", type(client).__name__)
            raise UsageError(
                f"judge: {name} cannot be asked in batches, only one question at a time",
                remedy="use kragx run; or name the model of a provider with OpenAI's batch files "
                "(judge: {model: ..., base_url: ...})",
            )

    def put(
        self,
        settings: JudgeSettings,
        questions: PendingQuestions,
        todo: Sequence[str],
        judgements: Iterable[Judgement],
    ) -> None:
        """Take in what a judge would ask, and what it need not ask for."""
        if not questions.wanted:
            return
        about = questions.secrets.masked(dict(settings.client.settings))
        judge = canonical_json([str(settings.store), about])
        parcel = self._parcels.setdefault(judge, Parcel(settings, questions.secrets))
        parcel.wanted |= {key: questions.wanted[key] for key in todo}
        parcel.pairs |= {pair for pair in questions.pairs() if pair[0] in parcel.wanted}
        for judgement in judgements:
            keys = parcel.pending if judgement.failure == "pending" else parcel.stored
            keys.add(judgement.key)


@dataclass(frozen=True)
class _Line:
    """A question as it is submitted: a line of a file, the most that it takes, and about what."""

    content: bytes
    limit: Used
    about: Spent


@dataclass(frozen=True)
class Submitted(Result):
    """What became of a parcel.

    Attributes:
        parcel: what the judge would ask.
        batches: the provider's ids of the new batches, with the number of questions in each.
        n_questions: how many are in them; of a dry run, how many would be.
        n_left: how many were left out, as the budget has no room for the most that they may take.
        n_taken: how many somebody else was asking, had submitted, or had got a grade for meanwhile.
        about: roughly what asking takes.
        price: of batches; None where it is not known.
        dry_run: whether nothing was sent.
    """

    parcel: Parcel = field(metadata=HIDDEN, repr=False)
    batches: tuple[tuple[str, int], ...]
    n_questions: int
    n_left: int
    n_taken: int
    about: Spent
    price: Price | None
    dry_run: bool

    def describe(self) -> Iterator[Part]:
        """What was submitted, what it may cost, what comes next."""
        settings, n_pending = self.parcel.settings, len(self.parcel.pending)
        yield Line(
            phrase(
                "{model}: {n} questions to submit, {n_stored} stored already, {n_pending} pending "
                "in earlier batches"
                if self.dry_run
                else "{model}: {n} questions submitted, {n_stored} stored already, {n_pending} "
                "pending in earlier batches",
                model=settings.model,
                n=self.n_questions,
                n_stored=len(self.parcel.stored),
                n_pending=n_pending,
            )
        )
        for batch, n_questions in self.batches:
            yield Line(phrase("{value}: {n} questions", value=batch, n=n_questions), item="-")
        if self.n_questions:
            cost = self.price and f"{self.price.of(self.about):.4f} {settings.currency}"
            yield Line(
                phrase(
                    "about {sent} tokens to send and {got} to get, cost {cost}",
                    sent=self.about.prompt_tokens,
                    got=self.about.completion_tokens,
                    cost=cost or phrase("unknown"),
                )
            )
        if self.n_taken:
            sentence = phrase(
                "{n} questions left to others, who are asking them right now or have just done "
                "so; should they leave any, submit again",
                n=self.n_taken,
            )
            yield Line(sentence)
        if self.n_left:
            sentence = phrase(
                "{n} questions left out: the budget has no room for the most that they may "
                "take; collect, then submit again, or raise the budget",
                n=self.n_left,
            )
            yield warning(sentence)
        if self.dry_run:
            yield Line(phrase("a dry run: nothing was sent"))
        elif self.n_questions or n_pending:
            sentence = phrase(
                "answers come within 24 hours: kragx judge status says how far they are, kragx "
                "judge collect stores them, and then kragx run finds them"
            )
            yield Line(sentence)


async def submit(
    parcel: Parcel,
    *,
    most_requests: int = MOST_REQUESTS,
    most_bytes: int = MOST_BYTES,
    dry_run: bool = False,
) -> Submitted:
    """Submit the questions of a parcel, in as many batches as it takes.

    Args:
        parcel: what a judge would ask.
        most_requests: that one batch may hold.
        most_bytes: the same.
        dry_run: only count.

    Raises:
        JudgingError: the provider cannot be reached, or refuses; what was submitted is recorded.
        UsageError: a budget in money, and the price of batches is not known.
        DataError: the store cannot be used.
    """
    settings = parcel.settings
    price = settings.price and settings.price.of_batches
    if settings.budget.cost is not None and price is None:
        raise UsageError(
            f"judge.budget: no price of batches of {settings.model!r} is known, so no cost can be "
            "kept to",
            remedy=f"add judge.prices.{settings.model}.batch, the share of the price that a batch "
            "costs (0.5 for half), or give the budget in calls or tokens",
        )
    lines = _within_budget(parcel, price)
    batches: list[tuple[str, int]] = []
    if lines and not dry_run:
        client: Any = settings.client
        async with aclosing(BatchService(client.connected(), parcel.secrets)) as service:
            with Store(settings.store) as store:
                texts = ((key, canonical) for key, (_, canonical) in parcel.wanted.items())
                store.note(texts, parcel.pairs)
                for of_file in _files(lines, most_requests, most_bytes):
                    batch = await _send(parcel, of_file, store.batches, service)
                    batches += [batch] if batch else []
    n_questions = len(lines) if dry_run else sum(n for _, n in batches)
    return Submitted(
        parcel,
        tuple(batches),
        n_questions,
        n_left=len(parcel.wanted) - len(lines),
        n_taken=len(lines) - n_questions,
        about=sum((line.about for line in lines.values()), Spent()),
        price=price,
        dry_run=dry_run,
    )


def _within_budget(parcel: Parcel, price: Price | None) -> dict[str, _Line]:
    """The lines of a parcel by key, as many as fit if each takes the most that it may."""
    settings, limits = parcel.settings, parcel.settings.limits
    client: Any = settings.client
    with suppress(NoStoreError), Store(settings.store, make=False) as store:
        limits.look(store)
    limits.submitted = Used()
    lines: dict[str, _Line] = {}
    for key, (question, _) in parcel.wanted.items():
        request = request_for(question, key, settings.timeout)
        limit = Used.of(most_tokens(request, settings.output_limit), price)
        if any(budget.lacking(limits.used_of(budget) + limit) for budget in settings.budget.limits):
            break
        limits.submitted = limits.submitted + limit
        body, url = client.body(request), client.batch_endpoint
        record = {"custom_id": key, "method": "POST", "url": url, "body": body}
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        lines[key] = _Line(f"{text}\n".encode(), limit, about_spent(request))
    return lines


def _files(
    lines: Mapping[str, _Line], most_requests: int, most_bytes: int
) -> Iterator[dict[str, _Line]]:
    """As many lines together as one file may hold."""
    of_file: dict[str, _Line] = {}
    size = 0
    for key, line in lines.items():
        size += len(line.content)
        if of_file and (len(of_file) == most_requests or size > most_bytes):
            yield of_file
            of_file, size = {}, len(line.content)
        of_file[key] = line
    yield of_file


async def _send(
    parcel: Parcel, lines: Mapping[str, _Line], register: Register, service: BatchService
) -> tuple[str, int] | None:
    """Have the lines of a file run, but for those that are in another batch meanwhile."""
    client: Any = parcel.settings.client
    uid = uuid.uuid4().hex
    # Rubrics are few, and cannot be hashed.
    rubrics = {id(rubric): rubric for key in lines for rubric in [parcel.wanted[key][0].rubric]}
    about = {
        "client": parcel.secrets.masked({"model": parcel.settings.model, **client.settings}),
        "dialect": str(client.dialect),
        "rubrics": {digest(rubric)["digest"]: asdict(rubric) for rubric in rubrics.values()},
        "most": asdict(sum((line.limit for line in lines.values()), Used())),
        "prompt_tokens": sum(line.about.prompt_tokens for line in lines.values()) // len(lines),
    }
    keys = register.plan(uid, about, lines, again=parcel.settings.ask_pending)
    if not keys:
        return None
    taken_over = JudgingError(
        f"judge: another submit has taken over {len(keys)} questions meanwhile; they are not asked "
        "twice",
        remedy="see: kragx judge status",
    )
    state = "planned"
    try:
        content = b"".join(line.content for key, line in lines.items() if key in keys)
        name = await service.upload(f"kragx-{uid}.jsonl", content)
        # From here on a batch may have been made, whatever becomes of this process.
        if not register.move(uid, "planned", "uploaded", file=name):
            raise taken_over
        state = "uploaded"
        remote = await service.create(name, client.batch_endpoint, uid)
    except JudgingError as error:
        if state == "planned" or isinstance(error, BatchRefusedError):  # nothing can run
            register.move(uid, state, "given up", problems=[error.problem])
        raise
    if not register.move(uid, "uploaded", "submitted", id=remote.id):
        await service.cancel(remote.id)
        raise taken_over
    return remote.id, len(keys)


async def find_again(
    register: Register, batch: SubmittedBatch, service: BatchService
) -> SubmittedBatch:
    """Find out whether a submit that was interrupted, if it was, has made its batch.

    Should it be at work yet and have uploaded nothing, it notices, and makes none.

    Raises:
        JudgingError: the provider cannot be asked.
    """
    if batch.state == "planned":
        register.move(batch.uid, "planned", "given up", problems=["interrupted before it began"])
    elif batch.state == "uploaded":
        planned, since = map(datetime.fromisoformat, (batch.planned_at, batch.since))
        remote = await service.find(batch.uid, planned.timestamp())
        if remote is not None:
            register.move(batch.uid, "uploaded", "submitted", id=remote.id)
        elif (datetime.now(UTC) - since).total_seconds() > _SOON:
            problems = ["interrupted; the provider knows no such batch"]
            register.move(batch.uid, "uploaded", "given up", problems=problems)
    return next(entry for entry in register.batches() if entry.uid == batch.uid)
