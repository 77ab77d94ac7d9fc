"""What a judge would ask, put into the provider's batches instead."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from kragx.errors import JudgingError, UsageError
from kragx.judging.batches.reports import Submitted
from kragx.judging.batches.service import BatchRefusedError, BatchService
from kragx.judging.budget import (
    Price,
    Used,
    about_prompt,
    about_spent,
    most_tokens,
)
from kragx.judging.keys import digest
from kragx.judging.outbox import Parcel
from kragx.judging.prompt import messages
from kragx.judging.store import NoStoreError, Store
from kragx.judging.store.batches import Register, SubmittedBatch
from kragx.judging.tally import Spent

MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000
"""What OpenAI takes in one file is 200 MB."""
_SOON = 60.0  # seconds within which a batch that was asked for may not be listed yet


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
    amounts, about = _within_budget(parcel, price)
    result = Submitted(
        model=settings.model,
        batches=(),
        n_questions=len(amounts),
        n_stored=len(parcel.stored),
        n_pending=len(parcel.pending),
        n_left=len(parcel.wanted) - len(amounts),
        about=about,
        cost=None if price is None else price.of(about),
        currency=settings.currency,
        dry_run=dry_run,
    )
    if dry_run or not amounts:
        return result
    batches: list[tuple[str, int]] = []
    client: Any = settings.client
    service = BatchService(client.connected(), parcel.secrets)
    try:
        with Store(settings.store) as store:
            questions = parcel.wanted.items()
            store.note(((key, canonical) for key, (_, canonical) in questions), parcel.pairs)
            for file in _files(parcel, amounts, most_requests, most_bytes):
                upper = sum((amounts[key] for key in file), Used())
                batch = await _send(parcel, file, upper, store.batches, service)
                batches += [batch] if batch else []
    finally:
        await service.aclose()
    n_questions = sum(n for _, n in batches)
    n_taken = result.n_questions - n_questions
    return replace(result, batches=tuple(batches), n_questions=n_questions, n_taken=n_taken)


def _within_budget(parcel: Parcel, price: Price | None) -> tuple[dict[str, Used], Spent]:
    """The most that each question may take, as many as fit, and about what all of them do."""
    settings = parcel.settings
    limits = settings.limits
    with suppress(NoStoreError), Store(settings.store, make=False) as store:
        limits.look(store)
    limits.submitted = Used()
    amounts: dict[str, Used] = {}
    about = Spent()
    for key in parcel.wanted:
        request = parcel.request(key)
        amount = Used.of(most_tokens(request, settings.output_limit), price)
        if any(
            budget.lacking(limits.used_of(budget) + amount) for budget in settings.budget.limits
        ):
            break
        limits.submitted = limits.submitted + amount
        amounts[key] = amount
        about.add(about_spent(request))
    return amounts, about


def _files(
    parcel: Parcel, amounts: Mapping[str, Used], most_requests: int, most_bytes: int
) -> Iterator[dict[str, bytes]]:
    """The lines of requests by key, as many together as one file may hold."""
    client: Any = parcel.settings.client
    file: dict[str, bytes] = {}
    size = 0
    for key in amounts:
        body = client.body(parcel.request(key))
        record = {"custom_id": key, "method": "POST", "url": client.batch_endpoint, "body": body}
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if file and (len(file) == most_requests or size + len(line) > most_bytes):
            yield file
            file, size = {}, 0
        file[key] = line
        size += len(line)
    if file:
        yield file


async def _send(
    parcel: Parcel,
    file: Mapping[str, bytes],
    upper: Used,
    register: Register,
    service: BatchService,
) -> tuple[str, int] | None:
    """Have the lines of a file run, but for those that are in another batch meanwhile."""
    uid = uuid.uuid4().hex
    client: Any = parcel.settings.client
    questions_of: dict[str, tuple[str, int]] = {}
    rubrics: dict[str, dict[str, Any]] = {}
    digests: dict[int, str] = {}  # of rubrics, which are few
    for key in file:
        question = parcel.wanted[key][0]
        rubric = question.rubric
        if id(rubric) not in digests:
            digests[id(rubric)] = digest(rubric)["digest"]
            rubrics[digests[id(rubric)]] = asdict(rubric)
        questions_of[key] = digests[id(rubric)], about_prompt(messages(question, key))
    about = {
        "client": parcel.secrets.masked(dict(client.settings)),
        "reach": client.reach,
        "dialect": str(client.dialect),
        "rubrics": rubrics,
        "most": asdict(upper),
    }
    keys = register.plan(uid, about, questions_of, again=parcel.settings.ask_pending)
    if not keys:
        return None
    taken_over = JudgingError(
        f"judge: another submit has taken over {len(keys)} questions meanwhile; they are not asked "
        "twice",
        remedy="see: kragx judge status",
    )
    state = "planned"
    try:
        content = b"".join(line for key, line in file.items() if key in keys)
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
