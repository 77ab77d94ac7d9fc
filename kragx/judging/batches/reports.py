"""What became of batches, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kragx.judging.batches.service import Remote
from kragx.judging.remedies import failure_lines
from kragx.judging.store.batches import SubmittedBatch
from kragx.judging.tally import Spent, Tally
from kragx.plain import plain
from kragx.printing import Line, Part, Result, Table, joined, phrase, visible, warning

ELSEWHERE = "go to the folder of the submit, or name its config or store"
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
