"""Questions that are made: what one is, which drafts fall by rules, and what came of them."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar, Literal

from kragx.data.gold import GoldDataset, Query
from kragx.data.text import normalise
from kragx.data.words import words
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import Line, Part, Result, Table, message, percent, warning
from kragx.judging.judgement_counts import Tally, failure_lines
from kragx.workshop.questions.words import content_words, mean_leak

Why = Literal[
    "wrong language", "asked already", "copies", "vague", "common sense", "not answered", "answered"
]  # fmt: skip
MEANS: Mapping[Why, str] = {
    "wrong language": message("not in the passage's language"),
    "asked already": message("asks what another question asks"),
    "copies": message("its word leak is above the target"),
    "vague": message("cannot be understood alone, or nearly any document would do"),
    "common sense": message("answered without looking anything up"),
    "not answered": message("its passage does not answer it"),
    "answered": message("to have no answer, and a passage has one"),
}
"""The filters, in the order in which they are tried; the last four by the model."""


@dataclass(frozen=True)
class NewQuestion:
    """A question that was made from documents; whether they answer it, people say.

    Attributes:
        text: the question.
        query_type, difficulty: what it was made as.
        sources: ids of the documents that it was made from.
        made_by: ``{"template": id}``, or what else made it.
        leak: the share of its content words that its sources have; None for none in it.
        answerable: False for one that nothing should answer.
        reference: an answer, if there is one.
    """

    text: str
    query_type: str | None
    difficulty: str | None
    sources: tuple[str, ...]
    made_by: Mapping[str, Any] = field(default_factory=dict)
    leak: float | None = None
    answerable: bool | None = None
    reference: str | None = None

    @property
    def uid(self) -> str:
        """Made from its text: the same question has the same one, whenever it is made."""
        digest = hashlib.sha256(normalise(self.text, casefold=True).encode()).hexdigest()
        return f"q-{digest[:12]}"

    @property
    def query(self) -> Query:
        """As a gold set holds it: without gold, its sources in the metadata."""
        metadata: dict[str, Any] = {
            "difficulty": self.difficulty,
            "sources": [*self.sources],
            "made_by": {**self.made_by},
            "leak": None if self.leak is None else round(self.leak, 4),
        }
        return Query(
            self.uid,
            self.text,
            query_type=self.query_type,
            answerable=self.answerable,
            reference=self.reference,
            metadata={name: value for name, value in metadata.items() if value is not None},
        )


@dataclass(frozen=True)
class QuestionSet(Result):
    """Questions that were made, and how near they come to what was asked for.

    Attributes:
        questions: in the order in which they were made.
        n_wanted: how many there should be.
        targets: for ``query_type`` and ``difficulty`` the share that each value should have, with
            the questions that existed before.
        counts: the same with how many of all these have it.
        n_existing: how many there were before.
        notes: what could not be done, and why.
    """

    questions: tuple[NewQuestion, ...]
    n_wanted: int
    targets: Mapping[str, Mapping[str, float]]
    counts: Mapping[str, Mapping[str, int]]
    n_existing: int = 0
    notes: tuple[str, ...] = ()

    also_plain: ClassVar[tuple[str, ...]] = ("mean_leak",)

    @property
    def mean_leak(self) -> float | None:
        """The mean word leak of the questions; None if none has one."""
        return mean_leak(question.leak for question in self.questions)

    @property
    def dataset(self) -> GoldDataset:
        """The questions as a gold set that has no gold yet.

        Raises:
            DataError: there is no question.
        """
        return GoldDataset(tuple(question.query for question in self.questions), name="questions")

    def _rows(self) -> Iterator[list[str]]:
        """The kinds, with their shares among all questions."""
        for trait, shares in self.targets.items():
            new = Counter(getattr(question, trait) for question in self.questions)
            whole = sum(self.counts[trait].values())
            for value in dict.fromkeys([*shares, *self.counts[trait]]):
                share = self.counts[trait].get(value, 0) / whole if whole else None
                target = percent(shares[value], 0) if value in shares else ""
                yield [trait, value, str(new[value]), percent(share, 0), target]

    def describe(self) -> Iterator[Part]:
        """How many there are, of which kinds, and what they copy from their sources."""
        n_documents = len({source for question in self.questions for source in question.sources})
        yield Line(
            message(
                "{n} of {of} questions, made from {n_documents} documents",
                n=len(self.questions),
                of=self.n_wanted,
                n_documents=n_documents,
            )
        )
        if self.n_existing:
            yield Line(
                message(
                    "The shares are of these and of the {n} that there were.", n=self.n_existing
                )
            )
        heads = message("by"), message("value"), message("new"), message("share"), message("target")
        yield Table(heads, [*self._rows()], words=2)
        yield Line(
            message(
                "mean word leak: {share} of the content words", share=percent(self.mean_leak, 0)
            )
        )
        for note in self.notes:
            yield Line(note, "yellow")
        yield Line(
            message(
                "They have no gold yet: people say which documents answer them (kragx gold start)."
            )
        )


@dataclass(frozen=True)
class WrittenQuestions(QuestionSet):
    """Questions that a model wrote, and those that fell.

    Attributes:
        model: who wrote them.
        fell: how many each filter took out.
        n_unknown: passages of whose question nothing is known, since a call failed; another run
            asks again.
        n_refused: questions that the model, or its provider, refuses to write or to check.
        cost: of all calls; None where no price is known.
        currency: of the cost.
        writing, checking: what it took.
    """

    model: str = ""
    fell: Mapping[Why, int] = field(default_factory=dict)
    n_unknown: int = 0
    n_refused: int = 0
    cost: float | None = None
    currency: str = ""
    writing: Tally = field(default_factory=Tally)
    checking: Tally = field(default_factory=Tally)

    def describe(self) -> Iterator[Part]:
        """What there is, what fell by which filter, what is not known, and what it cost."""
        yield from super().describe()
        if rows := [[why, MEANS[why], str(self.fell[why])] for why in MEANS if why in self.fell]:
            yield Table((message("filter"), message("question"), message("fell")), rows, words=2)
        if self.n_refused:
            refused = message("questions that the model refuses to write or to check")
            yield Line(f"{refused}: {self.n_refused}")
        total = self.writing + self.checking
        if self.n_unknown:
            yield warning(message("not known, as a call failed: {n} questions", n=self.n_unknown))
            yield from (
                replace(warning(line), indent=2) for line in failure_lines(to_jsonable(total))
            )
        cost = message("unknown") if self.cost is None else f"{self.cost:.4f} {self.currency}"
        yield Line(
            message(
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


ALIKE = 0.8
"""Questions of which one has all content words of the other, and at most this much is the larger
one's share of them, are told apart; above it they are one question asked twice."""


class Sieve:
    """Keeps drafts or drops them, whatever made them, by rules alone.

    Args:
        existing: the questions that there are.
        most_leak: the highest word leak; None for any.

    Attributes:
        fell: how many fell, and why.
    """

    def __init__(self, existing: Iterable[str], most_leak: float | None = None) -> None:
        self.fell: Counter[Why] = Counter()
        self._most_leak = most_leak
        # By the words as they stand those that have content.
        self._words = {" ".join(words(text)): content_words(text) for text in existing}

    def first(
        self, drafts: Iterable[NewQuestion], faults: Iterable[Why] = ()
    ) -> NewQuestion | None:
        """The first of some drafts that passes; None if none does.

        Args:
            drafts: none is made that is not needed.
            faults: what its maker has against the first one; goes before all else.
        """
        for draft in drafts:
            fault = next(chain(faults, self._faults(draft)), None)
            if fault is None:
                self._words[" ".join(words(draft.text))] = content_words(draft.text)
                return draft
            self.fell[fault] += 1
        return None

    def _faults(self, draft: NewQuestion) -> Iterator[Why]:
        if draft.text in self:
            yield "asked already"
        if self._most_leak is not None and (draft.leak or 0) > self._most_leak:
            yield "copies"

    def __contains__(self, text: str) -> bool:
        """Whether a question is there: in the same words, or in content words that are nearly all.

        Marks, case and Unicode's forms do not matter. Two that differ in what they are about, as
        those made of one template do, are two.
        """
        content = content_words(text)
        return " ".join(words(text)) in self._words or any(
            # No content at all is in any other's, and says nothing.
            content
            and (content <= existing or existing <= content)
            and len(content & existing) >= ALIKE * len(content | existing)
            for existing in self._words.values()
        )
