"""What judging took and what is missing.

Tokens are counted as providers count them, and estimated where they do not. A failed judgement is
counted here, nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from kragx.ground.json_values import HIDDEN, plain_fields
from kragx.judging.client import FailureKind
from kragx.judging.question import Judgement, Question
from kragx.judging.remedies import remedy

_LONGEST = 300

Pattern = tuple[int | str | None, ...]
"""The votes of some judges on one question: a grade, a kind of failure, None where not needed."""


@dataclass
class Spent:
    """What calls used, retries and failures included.

    Attributes:
        n_calls: requests.
        n_calls_without_usage: those that were given up without an answer; what they used, nobody
            knows, and no token of them is counted here.
        n_calls_estimated: those whose tokens are estimates, as the provider does not say.
        prompt_tokens, completion_tokens: as providers count them, estimates included.
        cached_tokens: the part of the prompts that the provider had cached.
    """

    n_calls: int = 0
    n_calls_without_usage: int = 0
    n_calls_estimated: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def add(self, other: Spent) -> None:
        """Count what another one counted, too."""
        # Field by field: several times for each call, and three times as fast as by their names.
        self.n_calls += other.n_calls
        self.n_calls_without_usage += other.n_calls_without_usage
        self.n_calls_estimated += other.n_calls_estimated
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.cached_tokens += other.cached_tokens

    def __neg__(self) -> Spent:
        """What takes this off where it is added."""
        return Spent(*(-count for count in vars(self).values()))

    def __add__(self, addend: Spent) -> Self:
        total = type(self)()
        total.add(self)
        total.add(addend)
        return total


@dataclass(frozen=True)
class FailureExample:
    """One of the questions that have no grade.

    Attributes:
        query_id, document_id: of the question, where they are known.
        detail: what the provider or the check said, in one line of at most 300 characters.
        remedy: what to do about failures of this kind.
    """

    query_id: str | None
    document_id: str | None
    detail: str
    remedy: str


class FailureExamples(dict[FailureKind, FailureExample]):
    """The first of each kind; added to others, they stay the first."""

    def __add__(self, addend: FailureExamples) -> FailureExamples:
        return FailureExamples({**addend, **self})


class Tallies(dict[str, "Tally"]):
    """What the judges of a panel took, by name."""

    def __add__(self, addend: Tallies) -> Tallies:
        total = Tallies(self)
        for name, tally in addend.items():
            total[name] = total.get(name, Tally()) + tally
        return total


@dataclass
class Tally(Spent):
    """What judging took, and what is missing.

    Attributes:
        n_judgements: how many were wanted.
        n_missing: those without a grade.
        failures: how many distinct questions have no grade, by what went wrong.
        failure_examples: the first of each kind, with what was said.
        n_distinct: distinct questions that a judge is needed for.
        n_stored: those that the store answered.
        n_joined: those that another run was asking just then.
        n_human: judgements that people's labels took the place of.
        n_retries: calls that were no first ones.
        n_refused: requests for which the server had no room (429) or was away; no calls.
        dialects: how servers had to be asked for how many grades, where not as usual.
        n_calls_saved: calls that cheaper matchers of a combination made unnecessary.
        planned: of a dry run, about what asking would take, for what no earlier evaluation with the
            same judge has counted.
        judges: of a panel what each judge took; `votes`: how many questions got each row of votes.
    """

    n_judgements: int = 0
    n_missing: int = 0
    failures: Counter[FailureKind] = field(default_factory=Counter)
    failure_examples: FailureExamples = field(default_factory=FailureExamples)
    n_distinct: int = 0
    n_stored: int = 0
    n_joined: int = 0
    n_human: int = 0
    n_retries: int = 0
    n_refused: int = 0
    dialects: Counter[str] = field(default_factory=Counter)
    n_calls_saved: int = field(default=0, metadata=HIDDEN)  # only combinations tell
    planned: Spent = field(default_factory=Spent, metadata=HIDDEN)
    judges: Tallies = field(default_factory=Tallies, metadata=HIDDEN)  # a panel's summary tells
    votes: Counter[Pattern] = field(default_factory=Counter, metadata=HIDDEN)

    also_plain: ClassVar[tuple[str, ...]] = ("coverage",)

    def add(self, other: Spent) -> None:
        """Count what a call, or another tally, counted, too."""
        if not isinstance(other, Tally):
            super().add(other)
            return
        counts = vars(self)
        for name, count in vars(other).items():
            counts[name] = counts[name] + count

    def kept(self) -> Tally:
        """The same of what was judged before and is not asked about again: no call is made."""
        return Tally(
            n_judgements=self.n_judgements,
            n_human=self.n_human,
            n_distinct=self.n_distinct,
            n_stored=self.n_distinct,
            dialects=self.dialects,
        )

    def calls(self) -> Tally:
        """What was asked and used alone, without what came of it."""
        nothing = Tally()
        results = ("n_judgements", "n_missing", "n_human", "failures", "failure_examples")
        return replace(self, **{name: getattr(nothing, name) for name in results})

    def count(self, questions: Sequence[Question], judgements: Iterable[Judgement]) -> None:
        """Count the judgements of questions; one asked for several of them fails once."""
        failed: dict[str, FailureKind] = {}
        for question, judgement in zip(questions, judgements, strict=True):
            self.n_judgements += 1
            self.n_human += judgement.source == "human"
            self.dialects.update(filter(None, [judgement.dialect]))
            if judgement.failure is not None:
                self.n_missing += 1
                failed[judgement.key] = judgement.failure
                if judgement.failure not in self.failure_examples:
                    words = " ".join((judgement.detail or "").split())[:_LONGEST]
                    ids = question.query_id, question.document_id
                    example = FailureExample(*ids, words, remedy(judgement.failure))
                    self.failure_examples[judgement.failure] = example
        self.failures.update(failed.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, failures by name."""
        return plain_fields(self)

    @property
    def coverage(self) -> float | None:
        """The share of the judgements that have a grade; None if none was wanted."""
        total = self.n_judgements
        return (total - self.n_missing) / total if total else None
