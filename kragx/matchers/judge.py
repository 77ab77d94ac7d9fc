"""Matchers that ask an LLM judge: `llm` for grades of documents, `nuggets` for facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from kragx.data import normalise
from kragx.data.batch import Batch
from kragx.data.lists import starts
from kragx.ground.errors import DataError, UsageError
from kragx.ground.options import optional, whole
from kragx.ground.printing import message
from kragx.matchers.base import BaseMatcher, Sayings, Trace
from kragx.matchers.items import (
    Diagnostics,
    MatchItem,
    Pool,
    Targets,
    TextlessError,
    items_of,
    shapes,
)
from kragx.matchers.matching import missing_ids_error, pool_trace
from kragx.matchers.texts import with_texts
from kragx.metrics import Bools, Floats

if TYPE_CHECKING:
    from kragx.judging import Grader, Judge, Judgement, Question
    from kragx.judging.judgement_counts import Tally

Mode = Literal["auto", "support", "relevance"]

# Questions judged in one go: enough to keep every worker busy, few enough to hold in memory.
_BATCH = 4096


@dataclass(frozen=True)
class JudgeMatcher(BaseMatcher):
    """An LLM judge's grade, a match at or above the threshold.

    With gold the judge grades *support*: does the document carry the gold text's information?
    Without gold it grades *relevance* of the document to the query, and what it finds relevant
    among all that was retrieved (the pool) is the gold.

    Attributes:
        judge: a `Judge`, a `Panel`, a client, a chat model, a model's name, a mapping of options,
            or None for the environment's KRAGX_JUDGE_MODEL.
        mode: ``support``, ``relevance`` (also where there is gold, which is then not used), or
            ``auto``: support if any query has gold.
        threshold: the least grade that is a match; None for the rubric's (2 of 3).
        depth: of relevance, how many documents of each list are pooled; None for all.

    Raises:
        UsageError: no judge is named, or an option is wrong.
    """

    judge: Any = None
    mode: Mode = "auto"
    threshold: Any = None
    depth: Annotated[int | None, optional(whole(1))] = None
    top: int = field(init=False)
    name = "llm"
    asks = True
    judges = True
    may_not_know = True

    def __post_init__(self) -> None:
        from kragx.judging import read_judge

        super().__post_init__()
        judge = read_judge(self.judge)
        kind = judge.asks if judge.asks in ("relevance", "support") else None
        rubric = None if kind is None else judge.rubric
        mode = kind if kind and self.mode == "auto" else self.mode
        top, default = (3, 2) if rubric is None else (rubric.top, rubric.match_from)
        cut = default if self.threshold is None else self.threshold
        if isinstance(cut, bool) or not isinstance(cut, (int, float)) or not 0 < cut <= top:
            raise UsageError(
                "{cut!r} is no grade of the rubric",
                field="threshold",
                remedy="give one from 1 to {top}",
                cut=cut,
                top=top,
            )
        self._set(judge=judge, mode=mode, top=top, threshold=float(cut))
        self._set(uses_gold=mode != "relevance", votes=len(judge.members) > 1)

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records: the question, model, rubric, grade cut and scale."""
        from kragx.judging.rubric import digest

        judge: Grader = self.judge
        rubric = judge.rubric if judge.asks == self.mode else None
        return {
            "method": self.name,
            "judges": self.mode,
            "model": judge.model,
            "rubric": judge.rubric_id(self.mode),
            **({} if rubric is None else {"wording": digest(rubric)["digest"][:8]}),
            "threshold": self.threshold,
            "top": self.top,
            **({} if judge.examples is None else {"examples": judge.examples.settings}),
        }

    def judging(self, **options: Any) -> Self:
        """The same with these options of its judge; itself where it has them, to share it."""
        judge = self.judge.with_options(**options)
        return self if judge is self.judge else self._twin(judge=judge)  # which keeps the pool

    def against_gold(self) -> Self:
        """The same, judging support whatever there is."""
        return replace(self, mode="support")

    def score_batch(self, batch: Batch, diagnostics: Diagnostics, wanted: Bools) -> Trace:
        """Grades of the wanted pairs, and which of them a batch of the judge has yet to give.

        The others are 0. A grade is NaN where a judgement failed, and 0 for a target without text.

        Raises:
            JudgingError: judging had to stop; what was judged is stored.
        """
        if self.pool is not None:
            return pool_trace(self, self.pool, batch, diagnostics)
        if wanted.all():
            with_texts(self, batch, Targets.of(batch.golds))
        grades = np.zeros((3, len(wanted)))  # grade, lowest, highest
        pending = np.zeros(len(wanted), bool)
        first = starts(np.multiply(*shapes(batch))).tolist()
        questions = (
            (slice(start + pairs.start, start + pairs.stop), question)
            for start, item in zip(first, items_of(batch, wanted))
            if item.wanted.any()
            for pairs, question in self._questions(item)
        )
        while part := [*islice(questions, _BATCH)]:
            judgements = self._judge([question for _, question in part], diagnostics)
            for (pairs, question), judgement in zip(part, judgements, strict=True):
                grades[:, pairs] = self._grades(question, judgement)
                pending[pairs] = judgement.failure == "pending"
        reach = (grades[1], grades[2]) if self.votes else None
        return Trace(self, grades[0], wanted, pending=pending, reach=reach)

    def _judge(
        self, questions: Sequence[Question], diagnostics: Diagnostics
    ) -> Sequence[Judgement]:
        judged = self.judge.judge(questions)
        diagnostics.judging.add(judged.tally)
        return judged.judgements  # type: ignore[no-any-return]

    def _questions(self, item: MatchItem) -> Iterator[tuple[slice, Question]]:
        """The question about each wanted document and target that have a text, with its place."""
        from kragx.judging import Question

        docs, (_, width) = item.doc_texts(self.name), item.shape
        for column, gold in item.target_texts(self.name).items():
            rubric = self.judge.rubric_for("support", gold)
            for row in np.flatnonzero(item.wanted[:, column]).tolist():
                ids: dict[str, Any] = {"query_id": item.query.id, "document_id": item.docs[row].id}
                place = row * width + column
                yield slice(place, place + 1), Question(rubric, docs[row], gold=gold, **ids)

    def _grades(self, question: Question, judgement: Judgement) -> Floats:
        """Grade, least and greatest vote of the pairs of a question, NaN where there is none."""
        return np.array([[judgement.score], *([vote] for vote in judgement.reach)])

    def check(self, diagnostics: Diagnostics) -> None:
        """Refuse more missing judgements than `max_missing` allows."""
        from kragx.judging.judgement_counts import check_missing

        tally = diagnostics.judging
        n_pending = tally.failures["pending"]  # what a batch is yet to give is collected
        remedy = message(
            "{n} are in batches that were submitted: kragx judge collect stores what has been "
            "answered (kragx judge status says how much); --set judge.ask_pending=true asks all "
            "the same, and pays twice"
            if n_pending
            else "What was judged is in {store}: run again to ask for what is missing (ask_again: "
            "all also asks again what was refused, withheld or cut off), or allow it with "
            "max_missing and get bounds",
            n=n_pending,
            store=self.judge.store,
        )
        check_missing(tally, self.judge, remedy)

    def summary(self, tally: Tally) -> dict[str, Any]:
        """As its judge says it."""
        return self.judge.summary(tally)  # type: ignore[no-any-return]

    @property
    def graders(self) -> tuple[Judge, ...]:
        """The judge, or those of the panel."""
        return self.judge.members  # type: ignore[no-any-return]

    def said(self, items: Iterable[MatchItem]) -> Sayings:
        """What the judge has said of these pairs, from its store; see `Judging.said`."""
        questions_of = self._relevance if self.mode == "relevance" else self._questions
        questions = [question for item in items for _, question in questions_of(item)]
        return {
            (question.query_id or "", question.document, question.gold or ""): (
                judgement.grade,
                judgement.text,
            )
            for question, judgement in zip(questions, self.judge.stored(questions), strict=True)
            if judgement is not None
        }

    def _relevance(self, item: MatchItem) -> Iterator[tuple[str, Question]]:
        """The question about each document that is pooled, with its text."""
        from kragx.judging import Question

        query = item.query
        if not query.text:
            raise DataError(
                "query {id!r} has no text, and relevance to it cannot be judged; "
                "add 'query' to the gold file, or pass queries=[...]",
                id=query.id,
            )
        rubric = self.judge.rubric_for("relevance", query.text)
        about: Any = {"query": query.text, "reference": query.reference, "query_id": query.id}
        item = replace(item, docs=item.docs[: self.depth])
        for doc, text in zip(item.docs, item.doc_texts(self.name)):
            yield normalise(text), Question(rubric, text, document_id=doc.id, **about)

    def of_relevance(self, depth: int | None) -> Self:
        """The same, judging relevance whatever there is."""
        rubric = self.judge.rubric
        if rubric is not None and rubric.asks != "relevance":
            raise UsageError(
                "the judge's rubric {id!r} asks for {asks}",
                field="relevance_match",
                remedy="give it a judge of its own: {{method: llm, judge: {{...}}}}",
                id=rubric.id,
                asks=rubric.asks,
            )
        return replace(self, mode="relevance", depth=depth)

    def needs_pool(self, items: Iterable[MatchItem]) -> bool:
        """Whether these queries are judged for relevance, not against gold."""
        if self.pool is not None or self.mode == "support":
            return False
        return self.mode == "relevance" or not any(item.query.gold for item in items)

    def pooled(self, runs: Iterable[Iterable[MatchItem]]) -> Self:
        """The matcher with the pool of several runs over the same queries as gold.

        Raises:
            DataError: a query has no text, or documents have none; these are counted.
            JudgingError: judging had to stop; what was judged is stored.
        """
        # Whoever says that nothing answers has judged every document.
        items = [item for of_run in runs for item in of_run if item.query.answerable is not False]
        questions: dict[tuple[str, str], Question] = {}
        try:
            for item in items:
                for text, question in self._relevance(item):
                    questions.setdefault((item.query.id, text), question)
        except TextlessError as error:
            pooled = (replace(item, docs=item.docs[: self.depth]) for item in items)
            raise missing_ids_error(pooled, error, uses_gold=False) from None
        diagnostics = Diagnostics()
        judged: dict[str, dict[str, Judgement]] = {item.query.id: {} for item in items}
        judgements = self._judge([*questions.values()], diagnostics)
        for (query_id, text), judgement in zip(questions, judgements, strict=True):
            judged[query_id][text] = judgement
        self.check(diagnostics)
        pool = Pool(
            judged, self.depth, int(self.threshold), self.top, self.votes, diagnostics.judging
        )
        return replace(self, mode="relevance")._twin(pool=pool)


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

    def said(self, items: Iterable[MatchItem]) -> Sayings:
        """Nothing of single documents."""
        return {}

    def _questions(self, item: MatchItem) -> Iterator[tuple[slice, Question]]:
        """Each question with the places of its facts beside its context."""
        from kragx.judging import Question

        facts = [*item.target_texts(self.name).values()]
        rubric = self.judge.rubric_for("holds", " ".join(facts))
        about: Any = {"query": item.query.text, "query_id": item.query.id}
        for row, (context, doc) in enumerate(zip(item.doc_texts(self.name), item.docs)):
            for start in range(0, len(facts), self.at_once):
                part = tuple(facts[start : start + self.at_once])
                first = row * len(facts) + start
                question = Question(rubric, context, facts=part, document_id=doc.id, **about)
                yield slice(first, first + len(part)), question

    def _grades(self, question: Question, judgement: Judgement) -> Floats:
        """How far a context holds the facts of a question; NaN where the judgement failed."""
        if judgement.grade is None:
            return np.full(len(question.facts), np.nan)
        grades = np.array([grade for grade, _ in judgement.entries])
        if len(grades) != len(question.facts):
            raise DataError("not the answer to its question", path=str(self.judge.store))
        # On any scale: the top is all of a fact, and what lies below it a part.
        return np.where(grades >= question.rubric.top, 1.0, (grades > 0) / 2)
