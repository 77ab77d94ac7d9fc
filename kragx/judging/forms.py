"""What an answer to each kind of question must look like, and what is read in it.

What a rubric asks for decides it: `FORMS` has a form for each of `Asks`. Whoever asks, counts,
submits or reads goes through `kragx.judging.prompt`, which looks the form up; no one else needs to
know what kinds of questions there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kragx.errors import shorten
from kragx.judging.client import Failure, words_of
from kragx.judging.question import Question
from kragx.judging.rubric import Asks, words_around

_LONGEST = 20_000  # characters of a reason, of which less is kept once secrets are masked


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says.

    Attributes:
        grade: on the rubric's scale.
        reason: for it, in the judge's words.
    """

    grade: int
    reason: str


class Form(Protocol):
    """What answers to one kind of question look like."""

    @property
    def about_output(self) -> int:
        """How many tokens an answer has, roughly; for estimates only."""
        ...

    def schema(self, question: Question) -> dict[str, Any]:
        """The JSON schema of an answer: an object with fields that are all required."""
        ...

    def read(self, answer: Mapping[str, Any], question: Question) -> Reading | Failure:
        """What an object with just the schema's fields says; the values may be anything."""
        ...


@dataclass(frozen=True)
class Graded:
    """A grade with its reason, which comes first, so that it is thought of first."""

    about_output: int = 60

    def schema(self, question: Question) -> dict[str, Any]:
        """See `Form`."""
        rubric = question.rubric
        return {
            "type": "object",
            "properties": {
                "reason": {"type": "string", "description": words_around(rubric)["reason"]},
                "grade": {"type": "integer", "enum": sorted(rubric.grades)},
            },
            "required": ["reason", "grade"],
            "additionalProperties": False,
        }

    def read(self, answer: Mapping[str, Any], question: Question) -> Reading | Failure:
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
        return Reading(grade, reason)


FORMS: Mapping[Asks, Form] = {"relevance": Graded(), "support": Graded()}
"""The form of the answers to each kind of question."""
