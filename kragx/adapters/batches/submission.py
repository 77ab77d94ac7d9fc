"""From what judges would ask to batches that run.

A file of questions is uploaded, the store is told that a batch may be made of it, it is made, and
the store is told its id. Wherever that ends, `kragx.adapters.batches.collecting` finds out what
became of it, and no question is in two batches that run.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from kragx.adapters.batches.collecting import look_after
from kragx.adapters.batches.service import ENDPOINT, BatchService, ServiceError
from kragx.ground.errors import JudgingError, UsageError
from kragx.ground.event_loop import run_sync
from kragx.ground.printing import Line, Part, message, show, warning
from kragx.ground.secrets import Secrets
from kragx.judging import Judge
from kragx.judging.budget import Used, about_spent, most_tokens
from kragx.judging.client import Client
from kragx.judging.prompt import request_for
from kragx.judging.question import Question
from kragx.judging.queue import PendingQuestions
from kragx.judging.rubric import canonical_json, digest
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import NoStoreError, Store

MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000  # what OpenAI takes in one file is 200 MB


@dataclass
class Parcel:
    """What one judge would ask, with its (key, query id, document id)."""

    settings: JudgeSettings
    secrets: Secrets
    wanted: dict[str, tuple[Question, str]] = field(default_factory=dict)
    pairs: set[tuple[str, str, str]] = field(default_factory=set)


class _Request(NamedTuple):
    """A question as a file has it, the most that it takes, and about how many tokens it has."""

    line: bytes
    limit: Used
    prompt_tokens: int


class Submission:
    """An outbox: gets what judges would ask, and submits it.

    Interrupted submits of its judges are finished first.

    Raises:
        UsageError: the provider of a judge has no batches that are known.
        JudgingError: it cannot be found out what became of an interrupted submit.
    """

    def __init__(self, judges: Sequence[Judge], secrets: Secrets) -> None:
        self.parcels: dict[str, Parcel] = {}
        for judge in judges:
            self.check(judge.client)
        statuses = look_after(judges, secrets)
        if problems := [f"{s.batch.id}: {s.problem}" for s in statuses if s.problem]:
            raise JudgingError("\n".join(problems))

    def check(self, client: Client) -> None:
        """Refuse a client whose provider's batches are not known."""
        if not hasattr(client, "connected"):
            raise UsageError(
                "judge: {name} cannot be asked in batches, only one question at a time",
                remedy="use kragx run; or name the model of a provider with OpenAI's batch files "
                "(judge: {{model: ..., base_url: ...}})",
                name=client.settings.get("provider", type(client).__name__),
            )

    def put(
        self, settings: JudgeSettings, questions: PendingQuestions, todo: Sequence[str]
    ) -> None:
        """Take in what a judge would ask."""
        about = questions.secrets.masked(dict(settings.client.settings))
        judge = canonical_json([str(settings.store), about])
        parcel = self.parcels.setdefault(judge, Parcel(settings, questions.secrets))
        parcel.wanted |= {key: questions.wanted[key] for key in todo}
        parcel.pairs |= {pair for pair in questions.pairs() if pair[0] in parcel.wanted}

    def send(self, most_requests: int = MOST_REQUESTS, most_bytes: int = MOST_BYTES) -> None:
        """Submit what is in it, in as many batches as it takes, and say what became of it.

        Raises:
            JudgingError: the provider cannot be reached, or refuses; what runs is recorded.
            UsageError: a budget in money, and the price of batches is not known.
            DataError: the store cannot be used.
        """
        for parcel in self.parcels.values():
            files = [*_files(parcel, most_requests, most_bytes)]
            n = run_sync(lambda of=parcel, files=files: _sent(of, files))  # type: ignore
            model = parcel.settings.model
            parts: list[Part] = [
                Line(message("{model}: {n} questions submitted", model=model, n=n))
            ]
            if n_left := len(parcel.wanted) - sum(map(len, files)):
                left_out = message(
                    "{n} questions left out: the budget has no room for the most that they may "
                    "take; collect, then submit again, or raise the budget",
                    n=n_left,
                )
                parts.append(warning(left_out))
            show(parts)


def _files(parcel: Parcel, most_requests: int, most_bytes: int) -> Iterator[dict[str, _Request]]:
    """The requests of a parcel by key, as many together as one file may hold.

    All of them, or as many as the budget has room for if each takes the most that it may.
    """
    settings, limits = parcel.settings, parcel.settings.limits
    client: Any = settings.client
    price = settings.price and settings.price.of_batches
    if price is None and settings.keeps_to_cost:
        raise UsageError(
            "judge.budget: no price of batches of {model!r} is known, so no cost can be kept to",
            remedy="add judge.prices.{model}.batch, the share of the price that a batch "
            "costs (0.5 for half), or give the budget in calls or tokens",
            model=settings.model,
        )
    with suppress(NoStoreError), Store(settings.store, make=False) as store:
        limits.look(store)
    of_file: dict[str, _Request] = {}
    size = 0
    for key, (question, _) in parcel.wanted.items():
        request = request_for(question, key, settings.timeout)
        limit = Used.of(most_tokens(request, settings.output_limit), price)
        if not limits.submit(limit):
            break
        record = {"custom_id": key, "method": "POST", "url": ENDPOINT, "body": client.body(request)}
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        line = f"{text}\n".encode()
        if of_file and (len(of_file) == most_requests or size + len(line) > most_bytes):
            yield of_file
            of_file, size = {}, 0
        of_file[key] = _Request(line, limit, about_spent(request).prompt_tokens)
        size += len(line)
    if of_file:
        yield of_file


async def _sent(parcel: Parcel, files: Sequence[dict[str, _Request]]) -> int:
    """Have files run; how many questions are in their batches."""
    async with aclosing(BatchService(parcel.settings.client, parcel.secrets)) as service:
        with Store(parcel.settings.store) as store:
            store.note(((key, text) for key, (_, text) in parcel.wanted.items()), parcel.pairs)
            return sum([await _send(parcel, requests, store, service) for requests in files])


async def _send(
    parcel: Parcel, requests: dict[str, _Request], store: Store, service: BatchService
) -> int:
    """Have the requests of a file run, but for what somebody else has taken meanwhile."""
    uid, register = uuid.uuid4().hex, store.batches
    while requests:
        content = b"".join(request.line for request in requests.values())
        file = await service.upload(f"kragx-{uid}.jsonl", content)
        about, again = _about(parcel, requests), parcel.settings.ask_pending
        free = register.plan(uid, about, requests, again=again)
        if len(free) == len(requests):
            break
        requests = {key: request for key, request in requests.items() if key in free}
    else:
        return 0
    # From here on a batch may have been made, whatever becomes of this process.
    try:
        remote_id = await service.create(file, uid)
    except ServiceError as error:
        if error.is_final:
            register.move(uid, "planned", "failed", problems=[error.problem])
        raise
    if not register.move(uid, "planned", "submitted", id=remote_id):
        await service.cancel(remote_id)
        problem = message(
            "judge: another submit has taken over {n} questions meanwhile", n=len(requests)
        )
        raise JudgingError(problem, remedy="see: kragx judge status CONFIG.yaml")
    return len(requests)


def _about(parcel: Parcel, requests: Mapping[str, _Request]) -> dict[str, Any]:
    """What has to be known where a batch is collected."""
    client: Any = parcel.settings.client
    # Rubrics are few, and cannot be hashed.
    rubrics = {id(rubric): rubric for key in requests for rubric in [parcel.wanted[key][0].rubric]}
    tokens = sum(request.prompt_tokens for request in requests.values())
    return {
        "client": parcel.secrets.masked({"model": parcel.settings.model, **client.settings}),
        "dialect": str(client.dialect),
        "rubrics": {digest(rubric)["digest"]: asdict(rubric) for rubric in rubrics.values()},
        "most": asdict(sum((request.limit for request in requests.values()), Used())),
        "prompt_tokens": tokens // len(requests),
    }
