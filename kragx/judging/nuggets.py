"""The facts of an answer, as a model writes them.

They are after the nuggets of TREC 2024 RAG (Pradeep et al., arXiv:2411.09607): short, each vital
or okay. There a model goes through the passages time and again, rates the importance in a second
question, and stops at 30 facts of which 20 are kept; here one question asks for both.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kragx.data import Fact, GoldDataset, Query, facts_of
from kragx.ground.errors import DataError
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Part, Result, message, warning
from kragx.judging.judge import Grader
from kragx.judging.judgement_counts import Tally, check_missing
from kragx.judging.question import Judgement, Question, gold_texts


@dataclass(frozen=True)
class Nuggets(Result):
    """The facts of a gold set's questions.

    Attributes:
        dataset: the gold set with them.
        model: who wrote them.
        n_vital, n_okay: how many.
        n_questions: questions that got facts.
        n_without: those that have none: there is no text, or the model found none in it.
        cost: of the calls; None where no price is known.
        currency: of the cost.
        judging: what it took.
    """

    dataset: GoldDataset = field(metadata=HIDDEN)
    model: str
    n_vital: int
    n_okay: int
    n_questions: int
    n_without: int
    cost: float | None
    currency: str
    judging: Tally

    def describe(self) -> Iterator[Part]:
        """What was found, for what there is none, what it cost, and what comes next."""
        yield Line(
            message(
                "{model}: {n_facts} facts for {n} questions, {n_vital} of them vital",
                model=self.model,
                n_facts=self.n_vital + self.n_okay,
                n=self.n_questions,
                n_vital=self.n_vital,
            )
        )
        if self.n_without:
            yield Line(
                message(
                    "questions without facts, as there is no text or no fact in it: {n}",
                    n=self.n_without,
                )
            )
        spent = self.judging
        if n_missing := spent.n_missing:
            yield warning(message("questions without facts, as judging failed: {n}", n=n_missing))
        cost = "" if self.cost is None else f"{self.cost:.4f} {self.currency}"
        yield Line(
            message(
                "calls: {n}; from the store: {n_stored} of {of}; {sent} + {got} tokens, cost "
                "{cost}",
                n=spent.n_calls,
                n_stored=spent.n_stored,
                of=spent.n_distinct,
                sent=spent.prompt_tokens,
                got=spent.completion_tokens,
                cost=cost or message("unknown"),
            )
        )
        if self.n_questions:
            yield Line(
                message(
                    "go over them before they count: drop what no answer needs, mend importance, "
                    "and put your name into facts_from.reviewed_by"
                )
            )


def extract(
    dataset: GoldDataset,
    judge: Grader,
    *,
    most: int = 20,
    texts: GoldDataset | None = None,
) -> Nuggets:
    """Have a model write the facts of every question that has none.

    They are taken from the reference answer, and where there is none from the gold texts.

    Args:
        dataset: the gold set; questions with facts keep theirs.
        judge: who is asked; of a panel the first judge, as lists of facts have no median.
        most: facts of a question.
        texts: the same gold set with the texts of its gold, if they stand elsewhere.

    Raises:
        DataError: there is no question whose facts could be taken from anything.
        JudgingError: more judgements are missing than `max_missing`; what was judged is stored.
    """
    judge = judge.members[0]
    questions = {
        query.id: question
        for query in dataset
        if (question := _question_about(query, (texts or dataset)[query.id], judge, most))
    }
    n_kept = sum(bool(facts_of(query)) for query in dataset)
    if not questions and not n_kept:
        raise DataError(
            "{name}: no question has both a text and a reference answer or gold text",
            name=dataset.name,
        )
    judged = judge.judge([*questions.values()])
    judgements, tally = dict(zip(questions, judged.judgements, strict=True)), judged.tally
    check_missing(tally, judge)
    queries = tuple(
        _with_facts(query, questions[query.id], judgements[query.id], judge.model)
        if query.id in questions
        else query
        for query in dataset
    )
    entries = [len(judgement.entries) for judgement in judgements.values() if judgement.answer]
    n_vital = sum(int(judgement.grade or 0) for judgement in judgements.values())
    return Nuggets(
        dataset=replace(dataset, queries=queries),
        model=judge.model,
        n_vital=n_vital,
        n_okay=sum(entries) - n_vital,
        n_questions=sum(map(bool, entries)),
        n_without=len(dataset) - n_kept - len(questions) + entries.count(0),
        cost=None if judge.price is None else judge.price.of(tally),
        currency=judge.currency,
        judging=tally,
    )


def _question_about(query: Query, of_query: Query, judge: Grader, most: int) -> Question | None:
    """The question for a query's facts, from the texts that `of_query` has; None without need."""
    reference = (of_query.reference or "").strip() and of_query.reference
    # One text may be gold by two ids, and would have its facts twice.
    text = reference or "\n\n".join(dict.fromkeys(gold_texts(of_query)))
    if not query.text or not text or facts_of(query):
        return None
    rubric = judge.rubric_for("nuggets", query.text)
    about: Any = {"query": query.text, "query_id": query.id, "most": most}
    return Question(rubric, text, document_id="reference" if reference else "gold", **about)


def _with_facts(query: Query, question: Question, judgement: Judgement, model: str) -> Query:
    """A query with the facts that were found, and where they come from; as it is without any."""
    if not judgement.entries:
        return query
    rubric = question.rubric
    origin = {
        "model": model,
        "rubric": rubric.id,
        "text": question.document_id,
        "reviewed_by": None,
    }
    facts = [Fact(text, grade == rubric.top).to_dict() for grade, text in judgement.entries]
    return replace(query, metadata={**query.metadata, "facts": facts, "facts_from": origin})
