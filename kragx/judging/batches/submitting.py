"""What judges would ask, kept instead of asked, and put into the provider's batches."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kragx.ground.errors import JudgingError, UsageError
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Part, Result, phrase, warning
from kragx.judging.batches.service import BatchRefusedError, BatchService
from kragx.judging.budget import Price, Used, about_spent, most_tokens
from kragx.judging.client import Client, Request
from kragx.judging.prompt import request_for
from kragx.judging.question import Judgement, Question
from kragx.judging.rubric import canonical_json, digest
from kragx.judging.store import NoStoreError, Store
from kragx.judging.store.batches import Register, SubmittedBatch
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

    def request(self, key: str) -> Request:
        """With which a question is asked."""
        return request_for(self.wanted[key][0], key, self.settings.timeout)


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
            pending = judgement.failure == "pending"
            (parcel.pending if pending else parcel.stored).add(judgement.key)


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
            cost = "" if self.price is None else f"{self.price.of(self.about):.4f}"
            yield Line(
                phrase(
                    "about {sent} tokens to send and {got} to get, cost {cost}",
                    sent=self.about.prompt_tokens,
                    got=self.about.completion_tokens,
                    cost=f"{cost} {settings.currency}" if cost else phrase("unknown"),
                )
            )
        if self.n_taken:
            yield Line(
                phrase(
                    "{n} questions left to others, who are asking them right now or have just done "
                    "so; should they leave any, submit again",
                    n=self.n_taken,
                )
            )
        if self.n_left:
            yield warning(
                phrase(
                    "{n} questions left out: the budget has no room for the most that they may "
                    "take; collect, then submit again, or raise the budget",
                    n=self.n_left,
                )
            )
        if self.dry_run:
            yield Line(phrase("a dry run: nothing was sent"))
        elif self.n_questions or n_pending:
            yield Line(
                phrase(
                    "answers come within 24 hours: kragx judge status says how far they are, kragx "
                    "judge collect stores them, and then kragx run finds them"
                )
            )


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
    estimates = _within_budget(parcel, price)
    batches: list[tuple[str, int]] = []
    if estimates and not dry_run:
        client: Any = settings.client
        service = BatchService(client.connected(), parcel.secrets)
        try:
            with Store(settings.store) as store:
                texts = ((key, canonical) for key, (_, canonical) in parcel.wanted.items())
                store.note(texts, parcel.pairs)
                for lines in _files(parcel, estimates, most_requests, most_bytes):
                    batch = await _send(parcel, lines, estimates, store.batches, service)
                    batches += [batch] if batch else []
        finally:
            await service.aclose()
    n_questions = len(estimates) if dry_run else sum(n for _, n in batches)
    return Submitted(
        parcel,
        tuple(batches),
        n_questions,
        n_left=len(parcel.wanted) - len(estimates),
        n_taken=len(estimates) - n_questions,
        about=sum((about for _, about in estimates.values()), Spent()),
        price=price,
        dry_run=dry_run,
    )


def _within_budget(parcel: Parcel, price: Price | None) -> dict[str, tuple[Used, Spent]]:
    """The most that each question may take, and about what it does; as many as fit."""
    settings = parcel.settings
    limits = settings.limits
    with suppress(NoStoreError), Store(settings.store, make=False) as store:
        limits.look(store)
    limits.submitted = Used()
    estimates: dict[str, tuple[Used, Spent]] = {}
    for key in parcel.wanted:
        request = parcel.request(key)
        most = Used.of(most_tokens(request, settings.output_limit), price)
        if any(budget.lacking(limits.used_of(budget) + most) for budget in settings.budget.limits):
            break
        limits.submitted = limits.submitted + most
        estimates[key] = most, about_spent(request)
    return estimates


def _files(
    parcel: Parcel, keys: Iterable[str], most_requests: int, most_bytes: int
) -> Iterator[dict[str, bytes]]:
    """The lines of requests by key, as many together as one file may hold."""
    client: Any = parcel.settings.client
    lines: dict[str, bytes] = {}
    size = 0
    for key in keys:
        body = client.body(parcel.request(key))
        record = {"custom_id": key, "method": "POST", "url": client.batch_endpoint, "body": body}
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if lines and (len(lines) == most_requests or size + len(line) > most_bytes):
            yield lines
            lines, size = {}, 0
        lines[key] = line
        size += len(line)
    if lines:
        yield lines


async def _send(
    parcel: Parcel,
    lines: Mapping[str, bytes],
    estimates: Mapping[str, tuple[Used, Spent]],
    register: Register,
    service: BatchService,
) -> tuple[str, int] | None:
    """Have the lines of a file run, but for those that are in another batch meanwhile."""
    client: Any = parcel.settings.client
    uid = uuid.uuid4().hex
    rubrics = {key: parcel.wanted[key][0].rubric for key in lines}
    digests = {key: digest(rubric)["digest"] for key, rubric in rubrics.items()}
    about = {
        "client": parcel.secrets.masked(dict(client.settings)),
        "dialect": str(client.dialect),
        "rubrics": {name: asdict(rubrics[key]) for key, name in digests.items()},
        "most": asdict(sum((estimates[key][0] for key in lines), Used())),
    }
    questions = {key: (name, estimates[key][1].prompt_tokens) for key, name in digests.items()}
    keys = register.plan(uid, about, questions, again=parcel.settings.ask_pending)
    if not keys:
        return None
    taken_over = JudgingError(
        f"judge: another submit has taken over {len(keys)} questions meanwhile; they are not asked "
        "twice",
        remedy="see: kragx judge status",
    )
    state = "planned"
    try:
        content = b"".join(line for key, line in lines.items() if key in keys)
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
    register: Register, batch: SubmittedBatch, service_of: Callable[[SubmittedBatch], BatchService]
) -> SubmittedBatch:
    """Find out whether a submit that was interrupted, if it was, has made its batch.

    Should it be at work yet and have uploaded nothing, it notices, and makes none.

    Raises:
        JudgingError: the provider cannot be asked.
    """
    if batch.state == "planned":
        register.move(batch.uid, "planned", "given up", problems=["interrupted before it began"])
    elif batch.state == "uploaded":
        created, since = (datetime.fromisoformat(time) for time in (batch.made, batch.since))
        remote = await service_of(batch).find(batch.uid, created.timestamp())
        if remote is not None:
            register.move(batch.uid, "uploaded", "submitted", id=remote.id)
        elif (datetime.now(UTC) - since).total_seconds() > _SOON:
            problems = ["interrupted; the provider knows no such batch"]
            register.move(batch.uid, "uploaded", "given up", problems=problems)
    return next(entry for entry in register.batches() if entry.uid == batch.uid)
