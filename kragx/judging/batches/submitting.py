"""What a judge would ask, put into the provider's batches instead."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kragx.errors import JudgingError, UsageError
from kragx.judging.batches.files import MOST_BYTES, MOST_REQUESTS, in_files, request_line
from kragx.judging.batches.service import BatchService, RefusedError
from kragx.judging.budget import Price, Used
from kragx.judging.counting import about_prompt, about_spent, most_tokens
from kragx.judging.keys import digest
from kragx.judging.outbox import Parcel
from kragx.judging.prompt import messages
from kragx.judging.store import NoStoreError, Store
from kragx.judging.store.batch import Batch
from kragx.judging.store.spending import used_of
from kragx.judging.tally import Spent
from kragx.printing import Line, Part, Result, phrase, warning

if TYPE_CHECKING:
    from kragx.judging.store.batches import Register

_SOON = 60.0  # seconds within which a batch that was asked for may not be listed yet


@dataclass(frozen=True)
class Submitted(Result):
    """What became of a parcel.

    Attributes:
        model: who is to grade.
        batches: the provider's ids of the new batches, with the number of questions in each.
        n_questions: how many are in them; of a dry run, how many would be.
        n_stored: how many the store has answers for.
        n_pending: how many are in earlier batches.
        n_taken: how many somebody else was asking, had submitted, or had got a grade for meanwhile.
        n_left: how many were left out, as the budget has no room for the most that they may take.
        about: roughly what asking takes.
        cost: of that, at the price of batches; None where it is not known.
        currency: of the cost.
        dry_run: whether nothing was sent.
    """

    model: str
    batches: tuple[tuple[str, int], ...]
    n_questions: int
    n_stored: int
    n_pending: int
    n_left: int
    about: Spent
    cost: float | None
    currency: str
    n_taken: int = 0
    dry_run: bool = False

    def describe(self) -> Iterator[Part]:
        """What was submitted, what it may cost, what comes next."""
        yield Line(
            phrase(
                "{model}: {n} questions to submit, {n_stored} stored already, {n_pending} pending "
                "in earlier batches"
                if self.dry_run
                else "{model}: {n} questions submitted, {n_stored} stored already, {n_pending} "
                "pending in earlier batches",
                model=self.model,
                n=self.n_questions,
                n_stored=self.n_stored,
                n_pending=self.n_pending,
            )
        )
        for batch, n_questions in self.batches:
            yield Line(phrase("{value}: {n} questions", value=batch, n=n_questions), item="-")
        if self.n_questions:
            cost = (
                phrase(
                    "no price of batches of {model!r} is given (judge.prices: batch)",
                    model=self.model,
                )
                if self.cost is None
                else phrase(
                    "about {cost:.4f} {currency} at the price of batches",
                    cost=self.cost,
                    currency=self.currency,
                )
            )
            yield Line(
                phrase(
                    "about {sent} tokens to send and {got} to get; {cost}",
                    sent=self.about.prompt_tokens,
                    got=self.about.completion_tokens,
                    cost=cost,
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
        elif self.n_questions or self.n_pending:
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
    client: Any = settings.client
    amounts, about = _within_budget(parcel, price)
    lines = [
        (key, request_line(key, client.batch_endpoint, client.body(parcel.request(key))))
        for key in amounts
    ]
    result = Submitted(
        model=settings.model,
        batches=(),
        n_questions=len(lines),
        n_stored=len(parcel.stored),
        n_pending=len(parcel.pending),
        n_left=len(parcel.wanted) - len(lines),
        about=about,
        cost=None if price is None else price.of(about),
        currency=settings.currency,
        dry_run=dry_run,
    )
    if dry_run or not lines:
        return result
    batches: list[tuple[str, int]] = []
    service = BatchService(client.connected(), parcel.secrets)
    try:
        with Store(settings.store) as store:
            questions = parcel.wanted.items()
            store.note(((key, canonical) for key, (_, canonical) in questions), parcel.pairs)
            for file in in_files(lines, most_requests, most_bytes):
                batch = await _send(
                    parcel, file, sum((amounts[key] for key in file), Used()), store, service
                )
                batches += [batch] if batch else []
    finally:
        await service.aclose()
    n_questions = sum(n for _, n in batches)
    return replace(
        result,
        batches=tuple(batches),
        n_questions=n_questions,
        n_taken=result.n_questions - n_questions,
    )


def _within_budget(parcel: Parcel, price: Price | None) -> tuple[dict[str, Used], Spent]:
    """The most that each question may take, as many as fit, and about what all of them do."""
    settings = parcel.settings
    try:
        with Store(settings.store, make=False) as store:
            limits = used_of(settings.budget, store, settings.prices)
    except NoStoreError:
        limits = used_of(settings.budget, None, settings.prices)
    # The judges of a panel share the budget of a run; of all runs the store tells.
    fellows = sum((fellow.submitted for fellow in settings.ledger.fellows), Used())
    amounts: dict[str, Used] = {}
    about, total = Spent(), Used()
    for key in parcel.wanted:
        request = parcel.request(key)
        at_most = Used.of(most_tokens(request, settings.output_limit), price)
        total = total + at_most
        if any(
            budget.lacking(used + total + (fellows if budget.per == "run" else Used()))
            for budget, used in limits
        ):
            break
        settings.ledger.submitted = total
        amounts[key] = at_most
        about.add(about_spent(request))
    return amounts, about


async def _send(
    parcel: Parcel, file: Mapping[str, bytes], most: Used, store: Store, service: BatchService
) -> tuple[str, int] | None:
    """Have the lines of a file run, but for those that are in another batch meanwhile."""
    uid, register = uuid.uuid4().hex, store.batches
    asked = {key: parcel.wanted[key][0] for key in file}
    rubrics = {id(question.rubric): question.rubric for question in asked.values()}
    digests = {number: digest(rubric)["digest"] for number, rubric in rubrics.items()}
    questions = {
        key: (digests[id(question.rubric)], about_prompt(messages(question, key)))
        for key, question in asked.items()
    }
    client: Any = parcel.settings.client
    about = {
        "client": parcel.secrets.masked(dict(client.settings)),
        "reach": client.reach,
        "dialect": str(client.dialect),
        "rubrics": {digests[number]: asdict(rubric) for number, rubric in rubrics.items()},
        "most": asdict(most),
    }
    keys = register.plan(uid, about, questions, again=parcel.settings.ask_pending)
    if not keys:
        return None
    content = b"".join(line for key, line in file.items() if key in keys)
    try:
        name = await service.upload(f"kragx-{uid}.jsonl", content)
    except JudgingError as error:  # nothing can run
        register.move(uid, "planned", "given up", problems=[error.problem])
        raise
    # From here on a batch may have been made, whatever becomes of this process.
    if not register.move(uid, "planned", "uploaded", file=name):
        await service.delete(name)
        raise _taken_over(len(keys))
    try:
        remote = await service.create(name, client.batch_endpoint, uid)
    except RefusedError as error:
        register.move(uid, "uploaded", "given up", problems=[error.problem])
        raise
    if not register.move(uid, "uploaded", "submitted", id=remote.id):
        await service.cancel(remote.id)
        raise _taken_over(len(keys))
    return remote.id, len(keys)


def _taken_over(n_questions: int) -> JudgingError:
    return JudgingError(
        f"judge: another submit has taken over {n_questions} questions meanwhile; they are not "
        "asked twice",
        remedy="see: kragx judge status",
    )


def give_up(register: Register, batch: Batch) -> None:
    """Let go of the questions of a submit that was interrupted before anything could run.

    Should it be at work yet, it notices, and makes no batch.
    """
    register.move(batch.uid, "planned", "given up", problems=["interrupted before it began"])


async def find_again(register: Register, batch: Batch, service: BatchService) -> None:
    """Find out whether a submit that was interrupted, if it was, has made its batch.

    Raises:
        JudgingError: the provider cannot be asked.
    """
    if batch.state != "uploaded":
        return
    made, since = (datetime.fromisoformat(at) for at in (batch.made, batch.since))
    remote = await service.find(batch.uid, made.timestamp())
    if remote is not None:
        register.move(batch.uid, "uploaded", "submitted", id=remote.id)
    elif (datetime.now(UTC) - since).total_seconds() > _SOON:
        problems = ["interrupted; the provider knows no such batch"]
        register.move(batch.uid, "uploaded", "given up", problems=problems)
