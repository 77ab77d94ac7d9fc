"""What a model is asked for questions of a gold set, and what about each that it wrote."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from kragx.data.korean import is_korean
from kragx.ground.errors import UsageError
from kragx.judging.judge import Grader
from kragx.judging.question import Question
from kragx.judging.rubric import built_in, words_around
from kragx.workshop.questions.question import NewQuestion

Difficulty = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
"""By the grade that stands for each."""
_EXPLAINED = ("general_inquiry", "legal_interpretation", "similar_case")


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


def writing_request(judge: Grader, text: str, kind: Kind, source: str | None = None) -> Question:
    """The question to a model that asks for a question about a text.

    Args:
        judge: of a panel the first judge is asked, as questions have no median.
        text: the passage, or several, parted as `Passage.text` is; its language is the question's,
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


def need_check(judge: Grader, question: NewQuestion) -> Question:
    """The question how far one needs documents; its answer is shown if it has one."""
    # A rubric of the judge's own asks about documents, and this does not.
    rubric = judge.rubric_for("need", question.text)
    return Question(rubric, question.text, reference=question.reference)


def relevance_check(judge: Grader, question: NewQuestion, text: str) -> Question:
    """The question how far a text answers one.

    Raises:
        UsageError: the judge shows examples of something else.
    """
    rubric = (
        built_in("relevance", question.text, judge.members[0].language)
        if judge.asks == "support"  # a rubric for runs with gold, which says nothing of answers
        else judge.rubric_for("relevance", question.text)
    )
    check = Question(rubric, text, query=question.text, query_id=question.uid)
    if judge.examples is not None:  # for its error alone, before anything is asked
        judge.examples.shown_with(check)
    return check
