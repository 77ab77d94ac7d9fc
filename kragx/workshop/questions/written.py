"""Questions that a model wrote, and those that a filter took out."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from kragx.data.gold import GoldDataset, Query
from kragx.ground.json_values import HIDDEN, plain
from kragx.ground.printing import Line, Part, Table, counted, phrase, warning
from kragx.judging.tally import Tally, failure_lines
from kragx.workshop.questions.question import NewQuestion, QuestionSet

LONGEST = 300
"""Characters of a question; nobody asks for more at once."""
Why = Literal[
    "too long", "wrong language", "points at its passage", "asked already", "copies",
    "vague", "common sense", "not answered", "answered",
]  # fmt: skip
MEANS: Mapping[Why, str] = {
    "too long": phrase("of more than {n} characters", n=LONGEST),
    "wrong language": phrase("not in the passage's language"),
    "points at its passage": phrase('means nothing without it ("this text", "위 조항")'),
    "asked already": phrase("asks what another question asks"),
    "copies": phrase("its word leak is above the target"),
    "vague": phrase("cannot be understood alone, or nearly any document would do"),
    "common sense": phrase("answered without looking anything up"),
    "not answered": phrase("its passage does not answer it"),
    "answered": phrase("to have no answer, and a passage has one"),
}
"""The filters, in the order in which they are tried; the last four by the model."""


@dataclass(frozen=True)
class Dropped:
    """A question that was written, and is not used.

    Attributes:
        question: the question.
        why: the filter.
        detail: what it said.
    """

    question: NewQuestion
    why: Why
    detail: str

    @property
    def query(self) -> Query:
        """As a gold set would hold it, the reason in its metadata."""
        query = self.question.query
        return replace(query, metadata={**query.metadata, "dropped": [self.why, self.detail]})


@dataclass(frozen=True)
class WrittenQuestions(QuestionSet):
    """Questions that a model wrote, and those that fell.

    Attributes:
        model: who wrote them.
        dropped: what a filter took out, in the order in which it was written.
        n_unknown: passages of whose question nothing is known, since a call failed; another run
            asks again.
        n_refused: questions that the model, or its provider, refuses to write or to check.
        n_without: passages about which it found nothing to ask.
        n_waiting: passages of whose question it is known later: of a dry run, or of a batch.
        cost: of all calls; None where no price is known.
        currency: of the cost.
        writing, checking: what it took.
    """

    model: str = ""
    dropped: tuple[Dropped, ...] = field(default=(), metadata=HIDDEN)
    n_unknown: int = 0
    n_refused: int = 0
    n_without: int = 0
    n_waiting: int = 0
    cost: float | None = None
    currency: str = ""
    writing: Tally = field(default_factory=Tally)
    checking: Tally = field(default_factory=Tally)

    also_plain: ClassVar[tuple[str, ...]] = (*QuestionSet.also_plain, "fell")

    @property
    def fell(self) -> dict[Why, int]:
        """How many questions each filter took out."""
        counts = Counter(dropped.why for dropped in self.dropped)
        return {why: counts[why] for why in MEANS if counts[why]}

    @property
    def dropped_dataset(self) -> GoldDataset:
        """What was taken out, with the reasons; a question written twice stands once.

        Raises:
            DataError: there is nothing.
        """
        queries = {dropped.question.uid: dropped.query for dropped in self.dropped}
        return GoldDataset((*queries.values(),), name="dropped questions")

    def describe(self) -> Iterator[Part]:
        """What there is, what fell by which filter, what is not known, and what it cost."""
        yield from super().describe()
        unanswerable = sum(question.answerable is False for question in self.questions)
        several = sum(len(question.sources) > 1 for question in self.questions)
        yield from _counts(
            {
                phrase("questions to have no answer"): unanswerable,
                phrase("of several documents"): several,
            }
        )
        if self.dropped:
            rows = [[why, MEANS[why], str(n)] for why, n in self.fell.items()]
            yield Table((phrase("filter"), phrase("question"), phrase("fell")), rows, words=2)
        yield from _counts(
            {
                phrase("passages with nothing to ask"): self.n_without,
                phrase("questions that the model refuses to write or to check"): self.n_refused,
            }
        )
        total = self.writing + self.checking
        if self.n_unknown:
            yield warning(phrase("not known, as a call failed: {n} questions", n=self.n_unknown))
            yield from (replace(warning(line), indent=2) for line in failure_lines(plain(total)))
        cost = phrase("unknown") if self.cost is None else f"{self.cost:.4f} {self.currency}"
        yield Line(
            phrase(
                "{model}: {n} calls to write and {n_checks} to check; from the store: {n_stored} "
                "of {of}; {sent} + {got} tokens, cost {cost}",
                model=self.model,
                n=self.writing.n_calls,
                n_checks=self.checking.n_calls,
                n_stored=total.n_stored,
                of=total.n_distinct,
                sent=total.prompt_tokens,
                got=total.completion_tokens,
                cost=cost,
            )
        )


def _counts(counts: Mapping[str, int]) -> Iterator[Part]:
    """A line of what there is any of."""
    if some := {what: n for what, n in counts.items() if n}:
        yield Line(counted(some))
