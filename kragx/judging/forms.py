"""What an answer to each kind of question must look like, and what is read in it.

What a rubric asks for decides it: `FORMS` has a form for each of `Asks`, and nobody else needs to
know what kinds of questions there are. No grade is ever read out of prose: an answer is a JSON
object that fits the schema, or the judgement failed.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kragx.data.formats.jsonl import foreign_json
from kragx.data.text import normalise
from kragx.ground.errors import shorten
from kragx.judging.client import Failure, Token, words_of
from kragx.judging.question import Question
from kragx.judging.rubric import Asks, words_around

_LONGEST_FACT = 1000  # characters of a fact, or of the reason for one
_LONGEST = 20_000  # characters of a reason, of which less is kept once secrets are masked
_LEAST = 0.5  # of all probability; where less of it is on grades, they say too little
_TYPES = {"string": str, "integer": int}
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

Entries = tuple[tuple[int, str], ...]
"""Grade and text of each thing in a list."""


@dataclass(frozen=True, slots=True)
class AnswerReading:
    """What an answer says.

    Attributes:
        grade: on the rubric's scale.
        reason: for it, in the judge's words.
        entries: of an answer that is a list; the grade is then how many have the top one.
    """

    grade: int
    reason: str
    entries: Entries | None = None


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with just these fields."""
    return {
        "type": "object",
        "properties": {**properties},
        "required": [*properties],
        "additionalProperties": False,
    }


class Form:
    """A grade with its reason, which comes first, so that it is thought of first.

    Attributes:
        about_output: how many tokens an answer has, roughly; for estimates only.
    """

    about_output: int = 60

    def schema(self, question: Question) -> dict[str, Any]:
        """The JSON schema of an answer: an object with fields that are all required."""
        reason = {"type": "string", "description": words_around(question.rubric)["reason"]}
        grade = {"type": "integer", "enum": sorted(question.rubric.grades)}
        return _object({"reason": reason, "grade": grade})

    def read(self, answer: Mapping[str, Any], question: Question) -> AnswerReading | Failure:
        """What an object with just the schema's fields says; the values may be anything.

        A grade that the rubric does not have is none.
        """
        reason = words_of(answer["reason"], _LONGEST)
        if reason is None:
            return Failure("invalid_json", "'reason' is no string")
        return _problem_of(answer["grade"], question) or AnswerReading(answer["grade"], reason)


def _problem_of(grade: object, question: Question) -> Failure | None:
    """Why a grade is none of the rubric's, if so."""
    rubric = question.rubric
    if isinstance(grade, bool) or not isinstance(grade, int):
        return Failure("invalid_json", f"'grade' is no whole number but {grade!r}")
    if grade not in rubric.grades:
        problem = f"grade {shorten(grade)} is not on the scale 0 to {rubric.top}"
        return Failure("out_of_range", problem)
    return None


@dataclass(frozen=True)
class ListForm(Form):
    """A list of things that are graded, as the only field.

    Attributes:
        name: of the list.
        fields: of each thing beside its grade, with their types.
        entries: what the things come to.
    """

    name: str
    fields: Mapping[str, str]
    entries: Callable[[Sequence[Mapping[str, Any]], Question], Entries | Failure]
    about_output: int = 0

    def schema(self, question: Question) -> dict[str, Any]:
        """See `Form`."""
        fields: dict[str, Any] = {name: {"type": kind} for name, kind in self.fields.items()}
        fields["grade"] = {"type": "integer", "enum": sorted(question.rubric.grades)}
        things = {"type": "array", "items": _object(fields)}
        whole = _object({self.name: things})
        # What is sent keeps its order, by which recorded requests are known again.
        return {"type": "object", "description": words_around(question.rubric)["answer"]} | whole

    def read(self, answer: Mapping[str, Any], question: Question) -> AnswerReading | Failure:
        """See `Form`; each thing has what the schema asks for and nothing else."""
        things = answer[self.name]
        if not isinstance(things, list):
            return Failure("invalid_json", f"{self.name!r} is no list")
        for thing in things:
            if not isinstance(thing, dict) or set(thing) != {*self.fields, "grade"}:
                return Failure("invalid_json", f"{shorten(thing)} in {self.name!r}")
            if problem := _problem_of(thing["grade"], question):
                return problem
            for name, kind in self.fields.items():
                if type(thing[name]) is not _TYPES[kind]:
                    return Failure("invalid_json", f"{name!r} is {shorten(thing[name])}")
        entries = self.entries(things, question)
        if isinstance(entries, Failure):
            return entries
        return AnswerReading(sum(g == question.rubric.top for g, _ in entries), "", entries)


def _extracted(things: Sequence[Mapping[str, Any]], question: Question) -> Entries:
    """Facts with their importance: each once, the most important where there are too many."""
    facts: dict[str, tuple[int, str]] = {}
    for thing in sorted(things, key=lambda thing: -thing["grade"]):
        if text := _line(thing["fact"]):
            facts.setdefault(normalise(text).casefold(), (thing["grade"], text))
    return tuple(facts.values())[: question.most]


def _assigned(things: Sequence[Mapping[str, Any]], question: Question) -> Entries | Failure:
    """Of each numbered fact, in whatever order, how far it is held, the reason first.

    An answer that leaves a fact out, or has one twice, is none.
    """
    by_number = {thing["number"]: thing for thing in things}
    expected = range(1, len(question.facts) + 1)
    if len(things) != len(expected) or by_number.keys() != {*expected}:
        numbers = shorten([thing["number"] for thing in things])
        return Failure("invalid_json", f"facts {numbers} instead of 1 to {expected[-1]}")
    reasons = {number: words_of(by_number[number]["reason"], _LONGEST_FACT) for number in expected}
    return tuple((by_number[number]["grade"], reasons[number] or "") for number in expected)


def _written(things: Sequence[Mapping[str, Any]], question: Question) -> Entries:
    """A question with its answer, which is the text from the second line on; or none at all.

    Of several the first is taken, and one without words is none.
    """
    return tuple(
        (thing["grade"], f"{text}\n{_line(thing['answer'])}")
        for thing in things
        if (text := _line(thing["question"]))
    )[:1]


def _line(text: str) -> str:
    """A text in one line, without what controls a terminal or turns a text's direction."""
    return " ".join(_STEERING.sub(" ", words_of(text, _LONGEST_FACT) or "").split())


GRADED = Form()
FORMS: Mapping[Asks, Form] = {
    "relevance": GRADED,
    "support": GRADED,
    "nuggets": ListForm("facts", {"fact": "string"}, _extracted, 400),
    "holds": ListForm("facts", {"number": "integer", "reason": "string"}, _assigned, 350),
    "questions": ListForm(
        "questions", {"question": "string", "answer": "string"}, _written, about_output=120
    ),
    "need": GRADED,
}
"""The form of the answers to each kind of question."""


# -- what answers say ------------------------------------------------------------------------------


def read_answer(text: str, question: Question) -> AnswerReading | Failure:
    """What an answer says that is the JSON object asked for, and nothing else."""
    form = FORMS[question.rubric.asks]
    answer = answer_object(text, form.schema(question)["required"])
    return answer if isinstance(answer, Failure) else form.read(answer, question)


def answer_object(text: str, names: Collection[str]) -> Mapping[str, Any] | Failure:
    """The object with just these names that an answer is.

    A byte order mark, and a code fence around the whole of it, are no part of the answer.
    """
    bare = text.strip().removeprefix("\ufeff").strip()
    first, _, rest = bare.partition("\n")
    if first.strip().lower() in ("```", "```json") and rest.endswith("```"):
        bare = rest.removesuffix("```")
    try:
        answer = foreign_json(bare, strict=True)
    except ValueError as error:
        return Failure("invalid_json", f"not the JSON object asked for ({error}): {bare}")
    if not isinstance(answer, dict) or set(answer) != set(names):
        problem = f"not an object with {' and '.join(map(repr, names))} alone"
        return Failure("invalid_json", f"{problem}: {bare}")
    return answer


def expected_grade(
    reading: AnswerReading, tokens: Sequence[Token], question: Question
) -> float | None:
    """The mean of a rubric's grades by the model's probabilities at the place of the grade.

    A judge that says 2 may have been as near to 3 as to 1. The token that is the grade is found by
    trying: what stands for it must make the same answer with another grade of the rubric, so no
    text is searched. After Y. Liu et al., G-Eval: NLG evaluation using GPT-4 with better human
    alignment, 2023.

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
    if reading.entries is not None or grades[-1] > 9:
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
        if [_grade_with(place, spelling, reading, question) for spelling in alternatives] != grades:
            continue
        graded = [
            (grade, chance)
            for spelling, chance in token.chances.items()
            if (grade := _grade_with(place, spelling, reading, question)) is not None
        ]
        total = sum(chance for _, chance in graded)
        return sum(grade * chance for grade, chance in graded) / total if total >= _LEAST else None
    return None


def _grade_with(
    place: tuple[bytes, bytes], token: bytes, reading: AnswerReading, question: Question
) -> float | None:
    """The grade of the answer with a token at this place, if only the grade is another one."""
    answer = read_answer(token.join(place).decode("utf-8", "replace"), question)
    if isinstance(answer, Failure) or answer.reason != reading.reason:
        return None
    return answer.grade
