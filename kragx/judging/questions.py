"""Questions that a model writes about passages, and how far questions need documents at all.

`kragx.workshop.questions` chooses the passages and drops what is no good.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from kragx.ground.errors import UsageError
from kragx.judging.judge import Grader
from kragx.judging.question import Question
from kragx.judging.rubric import HANGUL, Rubric, built_in, words_around
from kragx.judging.run import Judged

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


def asked_for(
    judge: Grader, text: str, kind: Kind, source: str | None = None, *, rubric: Rubric | None = None
) -> Question:
    """The question to a model that asks for a question about a text.

    Args:
        judge: of a panel the first judge is asked, as questions have no median.
        text: the passage, or several with `PARTED` between them; its language is the question's,
            unless the judge's is another.
        kind: what it should be like.
        source: the id of the text; recorded.
        rubric: one that asks ``questions``; None for the judge's own, or the built-in ones.

    Raises:
        UsageError: the rubric asks something else, or has another scale.
    """
    if rubric is None:
        # A passage that quotes a word of Korean is not Korean.
        rubric = judge.members[0].rubric_for("questions", text if is_korean(text) else "")
    if rubric.asks != "questions":
        raise UsageError(f"rubric {rubric.id!r} asks for {rubric.asks}", field="asks")
    if rubric.top + 1 != len(DIFFICULTIES):
        problem = f"rubric {rubric.id!r} has grades up to {rubric.top}"
        names = ", ".join(f"{grade}: {name}" for grade, name in enumerate(DIFFICULTIES))
        raise UsageError(problem, field="grades", remedy=f"explain the difficulties {names}")
    return Question(rubric, text, kind=_in_words(kind, rubric), document_id=source)


def _in_words(kind: Kind, rubric: Rubric) -> str:
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
    return " ".join(phrases)


def drafts(judge: Grader, questions: Sequence[Question]) -> tuple[list[Draft | None], Judged]:
    """What a model wrote for each question of `asked_for`; None where it found nothing to ask.

    Whether that is so, or the judgement failed, is in the second of the pair.

    Raises:
        JudgingError: as `Judge.judge`; what was written is stored.
    """
    judged = judge.members[0].judge(questions)
    written: list[Draft | None] = []
    for judgement in judged.judgements:
        draft = None
        for grade, entry in judgement.entries:
            text, _, answer = entry.partition("\n")
            draft = Draft(text, answer, DIFFICULTIES[int(grade)])
        written.append(draft)
    return written, judged


def need_of(judge: Grader, draft: Draft, *, answerable: bool = True) -> Question:
    """The question how far a draft needs documents; its answer is shown if it has one."""
    # A rubric of the judge's own asks about documents, and this does not.
    rubric = judge.rubric_for("need", draft.text)
    answer = draft.answer if answerable and draft.answer else None
    return Question(rubric, draft.text, reference=answer)


def relevance_of(
    judge: Grader,
    draft: Draft,
    text: str,
    query_id: str | None = None,
    document_id: str | None = None,
) -> Question:
    """The question how far a text answers a draft.

    Raises:
        UsageError: the judge shows examples of something else.
    """
    member = judge.members[0]
    if judge.asks == "support":  # a rubric for runs with gold, which says nothing of answers
        rubric = built_in("relevance", draft.text, member.language)
    else:
        rubric = judge.rubric_for("relevance", draft.text)
    question = Question(rubric, text, query=draft.text, query_id=query_id, document_id=document_id)
    if judge.examples is not None:
        judge.examples.shown_with(question)
    return question


_LETTER = re.compile(r"[^\W\d_]")


def is_korean(text: str) -> bool:
    """Whether at least a quarter of a text's letters are Hangul."""
    return 4 * len(HANGUL.findall(text)) >= max(len(_LETTER.findall(text)), 1)
