"""A question that was made, and a file of them."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kragx.data.gold import GoldDataset, Query
from kragx.data.text import normalise
from kragx.ground.printing import Line, Part, Result, Table, percent, phrase
from kragx.workshop.questions.leak import mean_leak


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

    def describe(self) -> Iterator[Part]:
        """How many there are, of which kinds, and what they copy from their sources."""
        n_documents = len({source for question in self.questions for source in question.sources})
        yield Line(
            phrase(
                "{n} of {of} questions, made from {n_documents} documents",
                n=len(self.questions),
                of=self.n_wanted,
                n_documents=n_documents,
            )
        )
        if self.n_existing:
            yield Line(
                phrase("The shares are of these and of the {n} that there were.", n=self.n_existing)
            )
        rows = []
        for trait, shares in self.targets.items():
            new = Counter(getattr(question, trait) for question in self.questions)
            whole = sum(self.counts[trait].values())
            for value in dict.fromkeys([*shares, *self.counts[trait]]):
                share = self.counts[trait].get(value, 0) / whole if whole else None
                target = percent(shares[value], 0) if value in shares else ""
                rows.append([trait, value, str(new[value]), percent(share, 0), target])
        heads = ("by", phrase("value"), phrase("new"), phrase("share"), phrase("target"))
        yield Table(heads, rows, words=2)
        yield Line(
            phrase("mean word leak: {share} of the content words", share=percent(self.mean_leak, 0))
        )
        for note in self.notes:
            yield Line(note, "yellow")
        yield Line(
            phrase(
                "They have no gold yet: people say which documents answer them (kragx gold start)."
            )
        )
