"""What an answer to each kind of question must look like, and what is read in it.

What a rubric asks for decides it: `FORMS` has a form for each of `Asks`. Whoever asks, counts,
submits or reads goes through `kragx.judging.prompt`, which looks the form up; no one else needs to
know what kinds of questions there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kragx.data.text import normalise
from kragx.errors import shorten
from kragx.judging.client import Failure, words_of
from kragx.judging.question import Question
from kragx.judging.rubric import Asks, words_around

_LONGEST_FACT = 1000  # characters of a fact, or of the reason for one
_LONGEST = 20_000  # characters of a reason, of which less is kept once secrets are masked


@dataclass(frozen=True, slots=True)
class AnswerReading:
    """What an answer says.

    Attributes:
        grade: on the rubric's scale.
        reason: for it, in the judge's words.
        entries: grade and text of each thing, of an answer that is a list; the grade is then how
            many have the top one.
    """

    grade: int
    reason: str
    entries: tuple[tuple[int, str], ...] | None = None


class Form:
    """What answers to one kind of question look like."""

    about_output: ClassVar[int]
    """How many tokens an answer has, roughly; for estimates only."""

    def schema(self, question: Question) -> dict[str, Any]:
        """The JSON schema of an answer: an object with fields that are all required."""
        raise NotImplementedError

    def read(self, answer: Mapping[str, Any], question: Question) -> AnswerReading | Failure:
        """What an object with just the schema's fields says; the values may be anything."""
        raise NotImplementedError


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with just these fields."""
    return {
        "type": "object",
        "properties": {**properties},
        "required": [*properties],
        "additionalProperties": False,
    }


class Graded(Form):
    """A grade with its reason, which comes first, so that it is thought of first."""

    about_output = 60

    def schema(self, question: Question) -> dict[str, Any]:
        """See `Form`."""
        reason = {"type": "string", "description": words_around(question.rubric)["reason"]}
        return _object({"reason": reason, "grade": _grades(question)})

    def read(self, answer: Mapping[str, Any], question: Question) -> AnswerReading | Failure:
        """See `Form`; a grade that the rubric does not have is none."""
        rubric = question.rubric
        reason, grade = words_of(answer["reason"], _LONGEST), answer["grade"]
        if reason is None:
            return Failure("invalid_json", "'reason' is no string")
        if isinstance(grade, bool) or not isinstance(grade, int):
            return Failure("invalid_json", f"'grade' is no whole number but {grade!r}")
        if grade not in rubric.grades:
            problem = f"grade {shorten(grade)} is not on the scale {rubric.low} to {rubric.top}"
            return Failure("out_of_range", problem)
        return AnswerReading(grade, reason)


def _grades(question: Question) -> dict[str, Any]:
    return {"type": "integer", "enum": sorted(question.rubric.grades)}


class _Listed(Form):
    """A list of things that are graded, as the only field."""

    fields: ClassVar[Mapping[str, str]]  # of each thing, with their types
    name: ClassVar[str] = "facts"  # of the list

    def schema(self, question: Question) -> dict[str, Any]:
        """See `Form`."""
        fields: dict[str, Any] = {name: {"type": kind} for name, kind in self.fields.items()}
        things = {"type": "array", "items": _object(fields | {"grade": _grades(question)})}
        whole = _object({self.name: things})
        # What is sent keeps its order, by which recorded requests are known again.
        return {"type": "object", "description": words_around(question.rubric)["answer"]} | whole

    def _things(
        self, answer: Mapping[str, Any], question: Question
    ) -> list[Mapping[str, Any]] | Failure:
        """The things of an answer, each with what the schema asks for and nothing else."""
        things = answer[self.name]
        if not isinstance(things, list):
            return Failure("invalid_json", f"{self.name!r} is no list")
        for thing in things:
            if not isinstance(thing, dict) or set(thing) != {*self.fields, "grade"}:
                return Failure("invalid_json", f"{shorten(thing)} in {self.name!r}")
            graded = GRADED.read({"reason": "", "grade": thing["grade"]}, question)
            if isinstance(graded, Failure):
                return graded
            for name, kind in self.fields.items():
                if type(thing[name]) is not {"string": str, "integer": int}[kind]:
                    return Failure("invalid_json", f"{name!r} is {shorten(thing[name])}")
        return things


class Extracted(_Listed):
    """Facts with their importance: each once, the most important where there are too many."""

    about_output = 400
    fields: ClassVar[Mapping[str, str]] = {"fact": "string"}

    def read(self, answer: Mapping[str, Any], question: Question) -> AnswerReading | Failure:
        """See `Form`."""
        things = self._things(answer, question)
        if isinstance(things, Failure):
            return things
        facts: dict[str, tuple[int, str]] = {}
        for thing in sorted(things, key=lambda thing: -thing["grade"]):
            if text := _line(thing["fact"]):
                facts.setdefault(normalise(text).casefold(), (thing["grade"], text))
        entries = tuple(facts.values())[: question.most]
        n_top = sum(grade == question.rubric.top for grade, _ in entries)
        return AnswerReading(n_top, "", entries)


class Assigned(_Listed):
    """Of each numbered fact, in whatever order, how far it is held, the reason first."""

    about_output = 350
    fields: ClassVar[Mapping[str, str]] = {"number": "integer", "reason": "string"}

    def read(self, answer: Mapping[str, Any], question: Question) -> AnswerReading | Failure:
        """See `Form`; an answer that leaves a fact out, or has one twice, is none."""
        things = self._things(answer, question)
        if isinstance(things, Failure):
            return things
        by_number = {thing["number"]: thing for thing in things}
        numbers_expected = range(1, len(question.facts) + 1)
        if len(things) != len(numbers_expected) or by_number.keys() != {*numbers_expected}:
            numbers = [thing["number"] for thing in things]
            return Failure(
                "invalid_json", f"facts {shorten(numbers)} instead of 1 to {numbers_expected[-1]}"
            )
        entries = tuple(
            (by_number[number]["grade"], words_of(by_number[number]["reason"], _LONGEST_FACT) or "")
            for number in numbers_expected
        )
        return AnswerReading(sum(grade == question.rubric.top for grade, _ in entries), "", entries)


class Written(_Listed):
    """A question with its answer, which is the text from the second line on; or none at all."""

    about_output = 120
    fields: ClassVar[Mapping[str, str]] = {"question": "string", "answer": "string"}
    name: ClassVar[str] = "questions"

    def read(self, answer: Mapping[str, Any], question: Question) -> AnswerReading | Failure:
        """See `Form`; of several the first is taken, and one without words is none."""
        things = self._things(answer, question)
        if isinstance(things, Failure):
            return things
        entries = tuple(
            (thing["grade"], f"{text}\n{_line(thing['answer'])}")
            for thing in things
            if (text := _line(thing["question"]))
        )[:1]
        return AnswerReading(sum(grade == question.rubric.top for grade, _ in entries), "", entries)


def _line(text: str) -> str:
    """A text in one line."""
    return " ".join((words_of(text, _LONGEST_FACT) or "").split())


GRADED = Graded()
FORMS: Mapping[Asks, Form] = {
    "relevance": GRADED,
    "support": GRADED,
    "nuggets": Extracted(),
    "holds": Assigned(),
    "questions": Written(),
    "need": GRADED,
}
"""The form of the answers to each kind of question."""
