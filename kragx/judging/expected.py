"""The grade that a model's probabilities expect, where its server tells them.

A judge that says 2 may have been as near to 3 as to 1. The token that is the grade has
probabilities for what might have stood there, and their mean says so. It is found by trying: what
stands for it must make the same answer with another grade of the rubric, so no text is searched.

Source: Y. Liu et al., G-Eval: NLG evaluation using GPT-4 with better human alignment, 2023.
"""

from collections.abc import Sequence

from kragx.judging.client import Failure, Token
from kragx.judging.forms import AnswerReading
from kragx.judging.prompt import read_answer
from kragx.judging.question import Question

_LEAST = 0.5  # of all probability; where less of it is on grades, they say too little


def expected_grade(
    reading: AnswerReading, tokens: Sequence[Token], question: Question
) -> float | None:
    """The mean of a rubric's grades by their probabilities at the place of the grade.

    None without probabilities; where they are not of this answer, or less than half of them is on
    grades; for a scale beyond 9, whose grades may be several tokens; and for lists.

    Args:
        reading: what the answer says.
        tokens: that it is made of.
        question: what was asked.
    """
    grades = sorted(question.rubric.grades)
    # Some servers take a code fence off the text, and not off its tokens.
    whole = b"".join(token.text for token in tokens)
    is_one = tokens and reading.entries is None and grades[-1:] <= [9]
    if not is_one or _grade((whole, b""), b"", reading, question) is None:
        return None
    end = len(whole)
    for token in reversed(tokens):  # the grade is mostly the last of an answer
        start = end - len(token.text)
        place = whole[:start], whole[end:]
        end = start
        digits = str(reading.grade).encode()
        if digits not in token.text:
            continue
        alternatives = [token.text.replace(digits, str(grade).encode()) for grade in grades]
        if [_grade(place, spelling, reading, question) for spelling in alternatives] != grades:
            continue
        graded = [
            (grade, chance)
            for spelling, chance in token.chances.items()
            if (grade := _grade(place, spelling, reading, question)) is not None
        ]
        total = sum(chance for _, chance in graded)
        return sum(grade * chance for grade, chance in graded) / total if total >= _LEAST else None
    return None


def _grade(
    place: tuple[bytes, bytes], token: bytes, reading: AnswerReading, question: Question
) -> float | None:
    """The grade of the answer with a token at this place, if only the grade is another one."""
    answer = read_answer(token.join(place).decode("utf-8", "replace"), question)
    if isinstance(answer, Failure) or answer.reason != reading.reason:
        return None
    return answer.grade
