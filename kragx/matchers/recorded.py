"""A matcher that code or a model answered for, as it did in a run: its scores, read as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from kragx.data import normalise
from kragx.data.batch import Batch
from kragx.ground.errors import UntrustedError
from kragx.ground.json_values import plain
from kragx.ground.options import above_zero, check_options, optional
from kragx.matchers.base import BaseMatcher, Sayings, Trace
from kragx.matchers.items import MatchItem, Pool, items_of
from kragx.matchers.matching import pool_trace
from kragx.matchers.notes import Notes
from kragx.metrics import Bools, Floats, Profile

if TYPE_CHECKING:
    from kragx.matchers.vocabulary import Vocabulary

Key = tuple[str, tuple[tuple[str | None, str | None], ...]]
"""A query's id, with id and text of each target."""

_SAME = ("threshold", "top", "reads", "yes_or_no", "may_not_know", "judges", "votes", "of_context")
"""What a contract takes from a matcher, and gives to the one that stands for it."""


def key_of(item: MatchItem) -> Key:
    """Which answer is meant: of gold and of facts there are two."""
    return item.query.id, tuple((target.id, target.text) for target in item.targets)


@dataclass(frozen=True)
class Contract:
    """What results and combinations ask of a matcher besides its scores; as `BaseMatcher` has it.

    Attributes:
        graded: whether a profile's numbers mean another thing for it (`BaseMatcher.profile_for`).
        votes: whether several judges decided.
        by_vocabulary: whether it looked at the words of all texts.
    """

    settings: Mapping[str, Any]
    threshold: Annotated[float, above_zero]
    top: Annotated[float | None, optional(above_zero)]
    reads: Literal["ids", "texts"]
    yes_or_no: bool
    may_not_know: bool
    judges: bool
    graded: bool
    votes: bool = False
    of_context: bool = False
    by_vocabulary: bool = False

    def __post_init__(self) -> None:
        check_options(self)

    @classmethod
    def of(cls, matcher: BaseMatcher, profile: Profile) -> Self:
        """A matcher's, where this profile is asked for."""
        same: dict[str, Any] = {name: getattr(matcher, name) for name in _SAME}
        return cls(
            settings=plain(matcher.settings),
            graded=matcher.profile_for(profile) != profile,
            by_vocabulary=matcher.vocabulary is not None,
            **{**same, "threshold": float(matcher.threshold)},
        )


@dataclass(frozen=True)
class RecordedAnswer:
    """What was said of a query with n documents and t targets.

    Attributes:
        scores: (n x t).
        said: by document and target, grade and reason of a judge.
        votes: (n x t) the least and the greatest vote of several judges.
    """

    scores: Floats
    said: Mapping[tuple[int, int], tuple[float | None, str]] = field(default_factory=dict)
    votes: tuple[Floats, Floats] | None = None


@dataclass(frozen=True, eq=False)
class RecordedMatcher(BaseMatcher):
    """Gives the scores that were recorded in a run; asks nobody.

    Attributes:
        contract: of the matcher that answered.
        of_facts: of the same where it matched facts, which have no pool.
        answers: by the run's name and `key_of` a query.
        remarks: by gold text what `BaseMatcher.remark` said.
        pool: where relevance was judged.
        run: whose answers are given.
        vocabulary: the words of the texts, of which the scores are.
    """

    contract: Contract
    of_facts: Contract | None = None
    answers: Mapping[tuple[str, Key], RecordedAnswer] = field(default_factory=dict, repr=False)
    remarks: Mapping[str, str] = field(default_factory=dict, repr=False)
    pool: Pool | None = field(default=None, repr=False)
    run: str = ""
    vocabulary: Vocabulary | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        same = {name: getattr(self.contract, name) for name in _SAME}
        self._set(uses_gold=self.pool is None, graded=self.contract.graded, **same)

    @property
    def settings(self) -> dict[str, Any]:
        """As they were."""
        return dict(self.contract.settings)

    @property
    def needs_vocabulary(self) -> bool:
        """Whether it is to be recorded of which words the scores are."""
        return self.contract.by_vocabulary and self.vocabulary is None

    def knowing(self, vocabulary: Vocabulary) -> Self:
        """The same, which says of which words the scores are."""
        return replace(self, vocabulary=vocabulary) if self.contract.by_vocabulary else self

    def for_run(self, name: str) -> Self:
        """The same with the answers for this run."""
        return replace(self, run=name)

    def against_gold(self) -> Self:
        """As it matched what is no pool."""
        return replace(self, contract=self.of_facts or self.contract, pool=None)

    def of_relevance(self, depth: int | None) -> BaseMatcher:
        """As it judged that, if it did."""
        return super().of_relevance(depth) if self.pool is None else self

    def remark(self, gold: str) -> str:
        """As it was."""
        return self.remarks.get(gold, "")

    def score_batch(self, batch: Batch, notes: Notes, wanted: Bools) -> Trace:
        """The recorded scores, and the votes behind them.

        Raises:
            UntrustedError: there are none.
        """
        if self.pool is not None:
            return pool_trace(self, self.pool, batch, notes)
        kinds: list[list[Floats]] = [[np.empty(0)] for _ in range(3)]  # scores, lowest, highest
        for item in items_of(batch):
            answer = self._answer(item)
            votes = answer.votes or (answer.scores, answer.scores)
            for kind, values in zip(kinds, (answer.scores, *votes)):
                kind.append(values[: len(item.docs)].ravel())
        scores, low, high = map(np.concatenate, kinds)
        return Trace(self, scores, wanted, reach=(low, high) if self.votes else None)

    def _answer(self, item: MatchItem) -> RecordedAnswer:
        if 0 in item.shape:
            return RecordedAnswer(np.zeros(item.shape))
        answer = self.answers.get((self.run, key_of(item)))
        n_docs, n_known = len(item.docs), -1 if answer is None else len(answer.scores)
        # Of contexts there is one for each cut-off that a metric had.
        if answer is None or n_known < n_docs or (self.of_context and n_known > n_docs):
            raise UntrustedError(
                "no scores by {value!r} are recorded for query {id!r}",
                value=self.settings.get("method"),
                id=item.query.id,
            )
        return answer

    def needs_pool(self, items: Iterable[MatchItem]) -> bool:
        """Whether there was one."""
        return self.pool is not None

    def pooled(self, runs: Iterable[Iterable[MatchItem]]) -> BaseMatcher:
        """The matcher with the pool that there was."""
        return super().pooled(runs) if self.pool is None else self

    def said(self, items: Iterable[MatchItem]) -> Sayings:
        """What the judge had said of these pairs."""
        answers: Sayings = {}
        for item in items:
            query_id, docs = item.query.id, [doc.text or "" for doc in item.docs]
            if self.pool is not None:
                judgements = self.pool.judgements.get(query_id, {})
                for doc in docs:
                    if (judgement := judgements.get(normalise(doc))) is not None:
                        answers[query_id, doc, ""] = judgement.grade, judgement.text
                continue
            for (row, column), answer in self._answer(item).said.items():
                if row < len(docs):
                    answers[query_id, docs[row], item.targets[column].text or ""] = answer
        return answers
