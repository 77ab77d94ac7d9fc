"""From what judges would ask to batches that run.

A file of questions is uploaded, the store is told that a batch may be made of it, it is made, and
the store is told its id. Wherever that ends, `kragx.adapters.batches.collecting` finds out what
became of it, and no question is in two batches that run.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from kragx.adapters.batches.collecting import look_after
from kragx.adapters.batches.service import BatchService, ServiceError
from kragx.ground.errors import JudgingError, UsageError
from kragx.ground.event_loop import run_sync
from kragx.ground.printing import Line, Part, phrase, show, warning
from kragx.ground.secrets import Secrets
from kragx.judging import Judge
from kragx.judging.budget import Used, about_spent, most_tokens
from kragx.judging.client import Client
from kragx.judging.judgement_counts import Spent
from kragx.judging.prompt import request_for
from kragx.judging.question import Judgement, Question, is_pending
from kragx.judging.queue import PendingQuestions
from kragx.judging.rubric import canonical_json, digest
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import NoStoreError, Store
from kragx.judging.store.pending import Register

MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000  # what OpenAI takes in one file is 200 MB


@dataclass
class Parcel:
    """What one judge would ask, with its (key, query id, document id).

    Of what it need not ask, `answered` says by key whether that is yet to come from a batch.
    """

    settings: JudgeSettings
    secrets: Secrets
    wanted: dict[str, tuple[Question, str]] = field(default_factory=dict)
    pairs: set[tuple[str, str, str]] = field(default_factory=set)
    answered: dict[str, bool] = field(default_factory=dict)


class Submission:
    """An outbox: gets what judges would ask, and submits it, or counts it in a dry run.

    Interrupted submits of its judges are finished first.

    Raises:
        UsageError: the provider of a judge has no batches that are known.
        JudgingError: it cannot be found out what became of an interrupted submit.
    """

    def __init__(
        self, judges: Sequence[Judge], secrets: Secrets | None = None, *, dry_run: bool = False
    ) -> None:
        self.parcels: dict[str, Parcel] = {}
        self._dry_run = dry_run
        for judge in judges:
            self.check(judge.client)
        stores = [] if dry_run else [judge.store for judge in judges]
        overviews = look_after(stores, judges, secrets)
        if problems := [problem for overview in overviews for problem in overview.problems]:
            raise JudgingError("\n".join(problems))

    def check(self, client: Client) -> None:
        """Refuse a client whose provider's batches are not known."""
        if not hasattr(client, "batch_endpoint"):
            name = client.settings.get("provider", type(client).__name__)
            raise UsageError(
                "judge: {name} cannot be asked in batches, only one question at a time",
                remedy="use kragx run; or name the model of a provider with OpenAI's batch files "
                "(judge: {{model: ..., base_url: ...}})",
                name=name,
            )

    def put(
        self,
        settings: JudgeSettings,
        questions: PendingQuestions,
        todo: Sequence[str],
        judgements: Iterable[Judgement],
    ) -> None:
        """Take in what a judge would ask, and what it need not ask for."""
        if questions.wanted:
            about = questions.secrets.masked(dict(settings.client.settings))
            judge = canonical_json([str(settings.store), about])
            parcel = self.parcels.setdefault(judge, Parcel(settings, questions.secrets))
            parcel.wanted |= {key: questions.wanted[key] for key in todo}
            parcel.pairs |= {pair for pair in questions.pairs() if pair[0] in parcel.wanted}
            parcel.answered |= {row.key: is_pending(row) for row in judgements}

    def send(self, most_requests: int = MOST_REQUESTS, most_bytes: int = MOST_BYTES) -> None:
        """Submit what is in it, in as many batches as it takes, and say what became of it.

        Raises:
            JudgingError: the provider cannot be reached, or refuses; what runs is recorded.
            UsageError: a budget in money, and the price of batches is not known.
            DataError: the store cannot be used.
        """
        if not self.parcels:
            show([Line(phrase("nothing to submit: nothing needs a judge"))])
        for parcel in self.parcels.values():
            lines = _within_budget(parcel)
            batches: dict[str, int] = {}
            if lines and not self._dry_run:
                files = _files(lines, most_requests, most_bytes)
                batches = run_sync(lambda of=parcel, files=files: _sent(of, files))  # type: ignore
            show(_described(parcel, lines, batches, dry_run=self._dry_run))


@dataclass(frozen=True)
class _Line:
    """A question as a file has it, the most that it takes, and about what."""

    content: bytes
    limit: Used
    about: Spent


def _within_budget(parcel: Parcel) -> dict[str, _Line]:
    """The lines of a parcel by key, as many as fit if each takes the most that it may."""
    settings, limits = parcel.settings, parcel.settings.limits
    client: Any = settings.client
    price = settings.price_of_batches
    with suppress(NoStoreError), Store(settings.store, make=False) as store:
        limits.look(store)
    limits.submitted = Used()
    lines: dict[str, _Line] = {}
    for key, (question, _) in parcel.wanted.items():
        request = request_for(question, key, settings.timeout)
        limit = Used.of(most_tokens(request, settings.output_limit), price)
        if not limits.submit(limit):
            break
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


async def _sent(parcel: Parcel, files: Iterable[dict[str, _Line]]) -> dict[str, int]:
    """Have files run; how many questions there are in each batch, by the provider's ids."""
    batches: dict[str, int] = {}
    async with aclosing(BatchService(parcel.settings.client, parcel.secrets)) as service:
        with Store(parcel.settings.store) as store:
            store.note(((key, text) for key, (_, text) in parcel.wanted.items()), parcel.pairs)
            for lines in files:
                batches |= await _send(parcel, lines, store.batches, service)
    return batches


async def _send(
    parcel: Parcel, lines: dict[str, _Line], register: Register, service: BatchService
) -> dict[str, int]:
    """Have the lines of a file run, but for those that somebody else has taken meanwhile."""
    client: Any = parcel.settings.client
    uid = uuid.uuid4().hex
    while lines:
        content = b"".join(line.content for line in lines.values())
        file = await service.upload(f"kragx-{uid}.jsonl", content)
        again = parcel.settings.ask_pending
        free = register.plan(uid, _about(parcel, lines), lines, again=again)
        if len(free) == len(lines):
            break
        lines = {key: line for key, line in lines.items() if key in free}
    else:
        return {}
    # From here on a batch may have been made, whatever becomes of this process.
    try:
        remote_id = await service.create(file, client.batch_endpoint, uid)
    except ServiceError as error:
        if error.is_final:
            register.move(uid, "planned", "failed", problems=[error.problem])
        raise
    if not register.move(uid, "planned", "submitted", id=remote_id):
        await service.cancel(remote_id)
        problem = f"judge: another submit has taken over {len(lines)} questions meanwhile"
        raise JudgingError(problem, remedy="see: kragx judge status")
    return {remote_id: len(lines)}


def _about(parcel: Parcel, lines: Mapping[str, _Line]) -> dict[str, Any]:
    """What has to be known where a batch is collected."""
    client: Any = parcel.settings.client
    # Rubrics are few, and cannot be hashed.
    rubrics = {id(rubric): rubric for key in lines for rubric in [parcel.wanted[key][0].rubric]}
    return {
        "client": parcel.secrets.masked({"model": parcel.settings.model, **client.settings}),
        "dialect": str(client.dialect),
        "rubrics": {digest(rubric)["digest"]: asdict(rubric) for rubric in rubrics.values()},
        "most": asdict(sum((line.limit for line in lines.values()), Used())),
        "prompt_tokens": sum(line.about.prompt_tokens for line in lines.values()) // len(lines),
    }


def _described(
    parcel: Parcel, lines: Mapping[str, _Line], batches: Mapping[str, int], *, dry_run: bool
) -> Iterator[Part]:
    """What was submitted, what it may cost, what comes next."""
    n_pending, price = sum(parcel.answered.values()), parcel.settings.price_of_batches
    values = {
        "model": parcel.settings.model,
        "n": len(lines) if dry_run else sum(batches.values()),
        "n_stored": len(parcel.answered) - n_pending,
        "n_pending": n_pending,
    }
    about = sum((line.about for line in lines.values()), Spent())
    yield Line(
        phrase(
            "{model}: {n} questions to submit, {n_stored} stored already, {n_pending} pending in "
            "earlier batches"
            if dry_run
            else "{model}: {n} questions submitted, {n_stored} stored already, {n_pending} "
            "pending in earlier batches",
            **values,
        )
    )
    for batch, n in batches.items():
        yield Line(phrase("{value}: {n} questions", value=batch, n=n), item="-")
    if lines:
        yield Line(
            phrase(
                "about {sent} tokens to send and {got} to get, cost {cost}",
                sent=about.prompt_tokens,
                got=about.completion_tokens,
                cost=f"{price.of(about):.4f} {parcel.settings.currency}"
                if price
                else phrase("unknown"),
            )
        )
    if n_left := len(parcel.wanted) - len(lines):
        yield warning(
            phrase(
                "{n} questions left out: the budget has no room for the most that they may take; "
                "collect, then submit again, or raise the budget",
                n=n_left,
            )
        )
    if dry_run:
        yield Line(phrase("a dry run: nothing was sent"))
    elif batches or n_pending:
        yield Line(
            phrase(
                "answers come within 24 hours: kragx judge status says how far they are, kragx "
                "judge collect stores them, and then kragx run finds them"
            )
        )
