"""The judge: an LLM that grades questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from kragx.ground.event_loop import run_sync
from kragx.ground.json_values import plain
from kragx.judging.budget import Plan
from kragx.judging.client import in_use
from kragx.judging.question import Judgement, Question
from kragx.judging.queue import PendingQuestions
from kragx.judging.rubric import Asks, Rubric, canonical_json
from kragx.judging.run import Judged, judge_all
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import NoStoreError, Store
from kragx.judging.tally import Tally


class Grader(ABC):
    """Whoever is asked for grades: a `Judge`, or a `Panel` of several with common settings."""

    @property
    @abstractmethod
    def members(self) -> tuple[Judge, ...]:
        """The judges that are asked; of a judge itself."""

    @property
    @abstractmethod
    def model(self) -> str:
        """Who decides, in results."""

    @abstractmethod
    async def ajudge(self, questions: Sequence[Question]) -> Judged:
        """Judge each question; what is stored is not asked again."""

    @abstractmethod
    def stored(self, questions: Sequence[Question]) -> list[Judgement | None]:
        """What is stored of each question; nothing is asked."""

    @abstractmethod
    def with_options(self, **options: Any) -> Self:
        """The same with these options; itself where it has them."""

    @abstractmethod
    def summary(self, tally: Tally) -> dict[str, Any]:
        """What judging took, as results record it."""

    def judge(self, questions: Sequence[Question]) -> Judged:
        """`ajudge` for synchronous code; works inside a running event loop (a notebook) too."""
        return run_sync(lambda: self.ajudge(questions))

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What dry runs would have asked, by judge."""
        return tuple(judge.plan for judge in self.members)

    def planned(self, tally: Tally) -> dict[str, Any]:
        """What a dry run would ask, for its summary; nothing of another run."""
        plan, names = tally.planned, ("n_calls", "prompt_tokens", "completion_tokens")
        return {"plan": {name: getattr(plan, name) for name in names}} if self.dry_run else {}

    # -- what all its judges share, as `Judge` says ----------------------------------------------

    store: Any
    rubric: Any
    examples: Any
    budget: Any
    max_missing: float
    dry_run: bool

    @property
    def asks(self) -> Asks | None:
        """The one question that its rubric or prompt is for; None if it has neither."""
        return self.members[0].asks

    def rubric_for(self, asks: Asks, text: str) -> Rubric:
        """The rubric of a question about a text."""
        return self.members[0].rubric_for(asks, text)

    def rubric_id(self, asks: str) -> str:
        """What names the wording of a question in results."""
        return self.members[0].rubric_id(asks)


@dataclass(frozen=True)
class Judge(JudgeSettings, Grader):
    """An LLM that grades; its options are those of `JudgeSettings`."""

    async def ajudge(self, questions: Sequence[Question]) -> Judged:
        """Judge each question; a question asked twice, or stored before, is not asked again.

        Raises:
            JudgingError: the budget is used up, or the service refuses everything (a wrong key);
                what was judged is stored.
            DataError: the store cannot be used.
        """
        pending = PendingQuestions(self, questions)
        with pending.secrets.guarding():
            async with in_use(self.client):
                return await judge_all(self, pending)

    def stored(self, questions: Sequence[Question]) -> list[Judgement | None]:
        """What the store has for each question; None for one without an answer. Nothing is asked.

        Raises:
            DataError: the store cannot be used.
        """
        pending = PendingQuestions(self, questions)
        try:
            with Store(self.store, make=False) as store:
                judgements = store.settled([*pending.wanted])
        except NoStoreError:
            return [None] * len(questions)
        return [judgements.get(key) for key in pending.keys]

    @property
    def decides_by(self) -> str:
        """What its grades depend on beside the questions, as canonical JSON: for itself alone.

        The client's settings, the repeat, and what people have graded in the store.
        """
        people = 0
        with suppress(NoStoreError), Store(self.store, make=False) as store:
            people = store.last_label()
        client = self.all_secrets().masked(dict(self.client.settings))
        return canonical_json([client, self.repeat, people])

    @property
    def members(self) -> tuple[Judge, ...]:
        """Itself alone."""
        return (self,)

    def with_options(self, **options: Any) -> Self:
        """The same with these options; itself where it has them, to share it."""
        if all(getattr(self, name) == value for name, value in options.items()):
            return self
        return replace(self, **options)

    def summary(self, tally: Tally) -> dict[str, Any]:
        """What judging took, for a result: coverage, failures by kind, calls, tokens and cost."""
        return {
            **plain(tally),
            "cost": None if self.price is None else self.price.of(tally),
            "currency": self.currency if self.price else None,
            "model": self.model,
            "store": str(self.store),
            **self.planned(tally),
        }
