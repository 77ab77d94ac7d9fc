"""Lists that a model writes: the facts of an answer, and questions about passages.

Facts are after the nuggets of TREC 2024 RAG (Pradeep et al., arXiv:2411.09607): short, each vital
or okay. There a model goes through the passages time and again, rates the importance in a second
question, and stops at 30 facts of which 20 are kept; here one question asks for both.

Of questions `kragx.workshop.questions` chooses the passages and drops what is no good; how far
questions need documents at all is asked here too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from kragx.data import Fact, GoldDataset, Query, facts_of
from kragx.data.korean import is_korean
from kragx.ground.errors import DataError, UsageError
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Part, Result, message, warning
from kragx.judging.judge import Grader, Judged
from kragx.judging.judgement_counts import Tally, check_missing
from kragx.judging.question import Judgement, Question, gold_texts
from kragx.judging.rubric import built_in, words_around


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
    questions: dict[str, Question] = {}
    n_kept = sum(bool(facts_of(query)) for query in dataset)
    for query in dataset:
        of_query = (texts or dataset)[query.id]
        reference = (of_query.reference or "").strip() and of_query.reference
        # One text may be gold by two ids, and would have its facts twice.
        text = reference or "\n\n".join(dict.fromkeys(gold_texts(of_query)))
        if query.text and text and not facts_of(query):
            questions[query.id] = Question(
                judge.rubric_for("nuggets", query.text),
                text,
                query=query.text,
                most=most,
                query_id=query.id,
                document_id="reference" if reference else "gold",
            )
    if not questions and not n_kept:
        raise DataError(
            "{name}: no question has both a text and a reference answer or gold text",
            name=dataset.name,
        )
    judged = judge.judge([*questions.values()])
    judgements, tally = dict(zip(questions, judged.judgements, strict=True)), judged.tally
    check_missing(
        tally,
        judge,
        lambda: message(
            "What was judged is in {store}: run again to ask for what is missing",
            store=judge.store,
        ),
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
        n_without=len(dataset) - n_kept - len(questions) + entries.count(0),
        cost=None if judge.price is None else judge.price.of(tally),
        currency=judge.currency,
        judging=tally,
    )


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


# -- questions ------------------------------------------------------------------------------------

Difficulty = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
"""By the grade that stands for each."""
_EXPLAINED = ("general_inquiry", "legal_interpretation", "similar_case")
PARTED = "\n\n***\n\n"
"""Between the passages of a text that a question is to need together."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a question that is to be written should be like.

    Attributes:
        query_type: a word of the user's, or one of those that kragx explains to the model; None
            for any.
        difficulty: how difficult; None where the text answers nothing, and so nothing is.
        answerable: whether the text answers it; without, it nearly does.
        several: whether it needs several passages.
        number: which question about its text of this kind it is; from the second on the model is
            told to look further, as it would write the same again.
    """

    query_type: str | None = None
    difficulty: Difficulty | None = None
    answerable: bool = True
    several: bool = False
    number: int = 1


@dataclass(frozen=True, slots=True)
class Draft:
    """A question as a model wrote it.

    Attributes:
        text: the question.
        answer: its answer; of one that is to have none, what is missing. May be empty.
        difficulty: which the model gave it, whichever it was asked for.
    """

    text: str
    answer: str
    difficulty: Difficulty

    @classmethod
    def of(cls, grade: float, entry: str) -> "Draft":
        """As an answer has it: the question, and from the second line on its answer."""
        text, _, answer = entry.partition("\n")
        return cls(text, answer, DIFFICULTIES[int(grade)])


def asked_for(judge: Grader, text: str, kind: Kind, source: str | None = None) -> Question:
    """The question to a model that asks for a question about a text.

    Args:
        judge: of a panel the first judge is asked, as questions have no median.
        text: the passage, or several with `PARTED` between them; its language is the question's,
            unless the judge's is another.
        kind: what it should be like.
        source: the id of the text; recorded.

    Raises:
        UsageError: the judge's rubric asks something else, or has another scale.
    """
    # A passage that quotes a word of Korean is not Korean.
    rubric = judge.members[0].rubric_for("questions", text if is_korean(text) else "")
    if rubric.top + 1 != len(DIFFICULTIES):
        names = ", ".join(f"{grade}: {name}" for grade, name in enumerate(DIFFICULTIES))
        raise UsageError(
            "rubric {id!r} has grades up to {top}",
            field="grades",
            remedy="explain the difficulties {names}",
            id=rubric.id,
            top=rubric.top,
            names=names,
        )
    words: Mapping[str, str] = words_around(rubric)["kinds"]
    name = kind.query_type
    phrases = [words["any"] if name is None else words["other"].format(name=name)]
    if name in _EXPLAINED:
        phrases = [words[name]]
    if kind.difficulty is not None:
        # In the rubric's own words, so that no model need guess which difficulty is which.
        meaning = rubric.grades[DIFFICULTIES.index(kind.difficulty)].rstrip(".")
        phrases.append(words["difficulty"].format(name=meaning))
    if kind.several:
        phrases.append(words["several"])
    if not kind.answerable:
        phrases.append(words["unanswerable"])
    if kind.number > 1:
        phrases.append(words["further"].format(number=kind.number))
    return Question(rubric, text, kind=" ".join(phrases), document_id=source)


def drafts(judge: Grader, questions: Sequence[Question]) -> tuple[list[Draft | None], Judged]:
    """What a model wrote for each question of `asked_for`; None where it found nothing to ask.

    Whether that is so, or the judgement failed, is in the second of the pair.

    Raises:
        JudgingError: as `Judge.judge`; what was written is stored.
    """
    judged = judge.members[0].judge(questions)
    written = [
        next((Draft.of(*entry) for entry in judgement.entries), None)
        for judgement in judged.judgements
    ]
    return written, judged


def need_of(judge: Grader, draft: Draft, *, answerable: bool = True) -> Question:
    """The question how far a draft needs documents; its answer is shown if it has one."""
    # A rubric of the judge's own asks about documents, and this does not.
    rubric = judge.rubric_for("need", draft.text)
    return Question(rubric, draft.text, reference=(answerable and draft.answer) or None)


def relevance_of(judge: Grader, draft: Draft, text: str, query_id: str | None = None) -> Question:
    """The question how far a text answers a draft.

    Raises:
        UsageError: the judge shows examples of something else.
    """
    rubric = (
        built_in("relevance", draft.text, judge.members[0].language)
        if judge.asks == "support"  # a rubric for runs with gold, which says nothing of answers
        else judge.rubric_for("relevance", draft.text)
    )
    question = Question(rubric, text, query=draft.text, query_id=query_id)
    if judge.examples is not None:  # for its error alone, before anything is asked
        judge.examples.shown_with(question)
    return question
