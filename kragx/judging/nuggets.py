"""Facts that an answer needs, taken by a model from reference answers or gold texts.

After the nuggets of TREC 2024 RAG (Pradeep et al., arXiv:2411.09607): short facts, each vital or
okay. There a model goes through the passages time and again, rates the importance in a second
question, and stops at 30 facts of which 20 are kept; here one question asks for both.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kragx.data import Fact, GoldDataset, Query, facts_of
from kragx.ground.errors import DataError
from kragx.ground.json_values import HIDDEN, plain
from kragx.ground.printing import Line, Part, Result, joined, phrase, warning
from kragx.judging.judge import Grader
from kragx.judging.question import Judgement, Question
from kragx.judging.remedies import too_many_missing
from kragx.judging.tally import Tally

Origin = Literal["auto", "reference", "gold"]


@dataclass(frozen=True)
class Nuggets(Result):
    """The facts of a gold set's questions.

    Attributes:
        dataset: the gold set with them.
        model: who wrote them.
        n_vital, n_okay: how many.
        n_questions: questions that got facts.
        n_kept: those that had facts before, and kept them.
        n_textless: those without anything that facts could be taken from.
        n_without: those for which the model found none.
        cost: of the calls; None where no price is known.
        currency: of the cost.
        judging: what it took.
    """

    dataset: GoldDataset = field(metadata=HIDDEN)
    model: str
    n_vital: int
    n_okay: int
    n_questions: int
    n_kept: int
    n_textless: int
    n_without: int
    cost: float | None
    currency: str
    judging: Tally

    def describe(self) -> Iterator[Part]:
        """What was found, for what there is none, what it cost, and what comes next."""
        yield Line(
            phrase(
                "{model}: {n_facts} facts for {n} questions, {n_vital} of them vital",
                model=self.model,
                n_facts=self.n_vital + self.n_okay,
                n=self.n_questions,
                n_vital=self.n_vital,
            )
        )
        counts = (
            (phrase("questions that had facts and keep them"), self.n_kept),
            (
                phrase("without a reference answer or gold text, and so without facts"),
                self.n_textless,
            ),
            (phrase("in whose text the model found no fact"), self.n_without),
        )
        if any(n for _, n in counts):
            phrases = (phrase("{noun}: {n}", noun=noun, n=n) for noun, n in counts if n)
            yield Line(joined(", ", phrases))
        spent = self.judging
        if n_missing := spent.n_missing:
            yield warning(phrase("questions without facts, as judging failed: {n}", n=n_missing))
        cost = "" if self.cost is None else f"{self.cost:.4f} {self.currency}"
        yield Line(
            phrase(
                "calls: {n}; from the store: {n_stored} of {of}; {sent} + {got} tokens, cost "
                "{cost}",
                n=spent.n_calls,
                n_stored=spent.n_stored,
                of=spent.n_distinct,
                sent=spent.prompt_tokens,
                got=spent.completion_tokens,
                cost=cost or phrase("unknown"),
            )
        )
        if self.n_questions:
            yield Line(
                phrase(
                    "go over them before they count: drop what no answer needs, mend importance, "
                    "and put your name into facts_from.reviewed_by"
                )
            )


def extract(
    dataset: GoldDataset,
    judge: Grader,
    *,
    most: int = 20,
    origin: Origin = "auto",
    texts: GoldDataset | None = None,
) -> Nuggets:
    """Have a model write the facts of every question that has none.

    Args:
        dataset: the gold set; questions with facts keep theirs.
        judge: who is asked; of a panel the first judge, as lists of facts have no median.
        most: facts of a question.
        origin: what they are taken from: the ``reference`` answer, the ``gold`` texts, or, with
            ``auto``, the gold texts where there is no reference.
        texts: the same gold set with the texts of its gold, if they stand elsewhere.

    Raises:
        DataError: there is no question whose facts could be taken from anything.
        JudgingError: more judgements are missing than `max_missing`; what was judged is stored.
    """
    judge = judge.members[0]
    filled = dataset if texts is None else texts
    questions: dict[str, Question] = {}
    n_kept = 0
    for query in dataset:
        n_kept += bool(facts_of(query))
        source, text = _source(filled[query.id], origin)
        if query.text and text and not facts_of(query):
            questions[query.id] = Question(
                judge.rubric_for("nuggets", query.text),
                text,
                query=query.text,
                most=most,
                query_id=query.id,
                document_id=source,
            )
    if not questions and not n_kept:
        what = "reference answer or gold text" if origin == "auto" else f"{origin} text"
        raise DataError(f"{dataset.name}: no question has both a text and a {what}")
    judged = judge.judge([*questions.values()])
    judgements = dict(zip(questions, judged.judgements, strict=True))
    tally = judged.tally
    if not judge.dry_run and tally.n_missing > judge.max_missing * tally.n_judgements:
        raise too_many_missing(
            plain(tally),
            judge.max_missing,
            f"What was judged is in {judge.store}: run again to ask for what is missing",
        )
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
        n_kept=n_kept,
        n_textless=len(dataset) - n_kept - len(questions),
        n_without=entries.count(0),
        cost=None if judge.price is None else judge.price.of(tally),
        currency=judge.currency,
        judging=tally,
    )


def _source(query: Query, origin: Origin) -> tuple[str, str]:
    """What facts are taken from, and its text; empty where there is none."""
    if origin != "gold" and query.reference and query.reference.strip():
        return "reference", query.reference
    if origin == "reference":
        return "reference", ""
    texts = [gold.text for gold in query.gold if gold.grade > 0 and gold.text]
    return "gold", "\n\n".join(dict.fromkeys(texts))


def _with_facts(query: Query, question: Question, judgement: Judgement, model: str) -> Query:
    """A query with the facts that were found, and where they come from; as it is without any."""
    if not judgement.entries:
        return query
    top = question.rubric.top
    facts = [Fact(text, grade == top).to_dict() for grade, text in judgement.entries]
    origin: Mapping[str, Any] = {
        "model": model,
        "rubric": question.rubric.id,
        "text": question.document_id,
        "reviewed_by": None,
    }
    return replace(query, metadata={**query.metadata, "facts": facts, "facts_from": origin})
