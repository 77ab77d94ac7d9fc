"""The `nuggets` matcher: an LLM judge says which facts a context holds, several at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np

from kragx.data.batch import Batch
from kragx.errors import DataError
from kragx.matchers.base import Sayings, Trace
from kragx.matchers.items import MatchItem, items_of
from kragx.matchers.judge import JudgeMatcher
from kragx.matchers.notes import Notes
from kragx.metrics import Bools, Floats
from kragx.plugins import whole

if TYPE_CHECKING:
    from kragx.judging import Question

_AT_ONCE = 1024  # questions in one go: enough to keep every worker busy


@dataclass(frozen=True)
class NuggetMatcher(JudgeMatcher):
    """How far a whole context holds each fact, by an LLM judge: 1, in part .5, or 0.

    Facts are asked about `at_once`, in their order; each context of each question is asked about
    once, whatever retrievers found it.

    Attributes:
        judge: as of `llm`.
        at_once: the most facts in one question to the judge.
    """

    at_once: Annotated[int, whole(1)] = 10
    name = "nuggets"
    of_context = True

    @classmethod
    def methods(cls) -> Mapping[str, Mapping[str, Any]]:
        """Itself alone, with what is not asked here left as it is."""
        return {cls.name: {"mode": "support", "threshold": None, "depth": None}}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(threshold=1.0, top=1, votes=False)

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records: the model, the rubric, and how many facts are asked at once."""
        return {
            "method": self.name,
            "model": self.judge.model,
            "rubric": self.judge.rubric_id("holds"),
            "at_once": self.at_once,
        }

    def against_gold(self) -> Self:
        """Itself: what it judges is never a pool."""
        return self

    def needs_pool(self, items: Iterable[MatchItem]) -> bool:
        """Never."""
        return False

    def said(self, items: Iterable[MatchItem]) -> Sayings:
        """Nothing of single documents."""
        return {}

    def batch_trace(self, batch: Batch, notes: Notes, wanted: Bools) -> Trace:
        """How far each context holds each fact; NaN where a judgement failed.

        Raises:
            JudgingError: as of `llm`.
        """
        items = items_of(batch)
        grids = [np.zeros(item.shape) for item in items]
        places = [
            (grid, *place) for grid, item in zip(grids, items) for place in self._questions(item)
        ]
        for first in range(0, len(places), _AT_ONCE):
            part = places[first : first + _AT_ONCE]
            judgements = self._judge([question for *_, question in part], notes.judging)
            for (grid, row, start, question), judgement in zip(part, judgements, strict=True):
                share: Floats | float = np.nan
                if judgement.grade is not None:
                    grades = np.array([grade for grade, _ in judgement.entries])
                    if len(grades) != len(question.facts):
                        raise DataError(
                            "not the answer to its question", path=str(self.judge.store)
                        )
                    # On any scale: the top is all of a fact, and what lies below it a part.
                    share = np.where(grades >= question.rubric.top, 1.0, (grades > 0) / 2)
                grid[row, start : start + len(question.facts)] = share
        scores = np.concatenate([*map(np.ravel, grids), np.empty(0)])
        return Trace(self, scores, np.ones(len(scores), bool))

    def _questions(self, item: MatchItem) -> Iterator[tuple[int, int, Question]]:
        """Each question with the context's row and the first fact's column."""
        from kragx.judging import Question

        facts = [*item.target_texts(self.name).values()]
        rubric = self.judge.rubric_for("holds", " ".join(facts))
        for row, context in enumerate(item.doc_texts(self.name)):
            for start in range(0, len(facts), self.at_once):
                yield (
                    row,
                    start,
                    Question(
                        rubric,
                        context,
                        query=item.query.text,
                        facts=tuple(facts[start : start + self.at_once]),
                        query_id=item.query.id,
                        document_id=item.docs[row].id,
                    ),
                )
