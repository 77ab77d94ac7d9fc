"""From a question to its messages, and from the answer to a grade.

Everything retrieved is data. It stands between fences that carry a token derived from the
question's key, so that a text cannot know the fence that will close it; should the token, or
anything that looks like a fence or like a chat template's control token, stand in a text all the
same, it is broken up first. No grade is ever read out of prose: the answer is a JSON object that
fits the schema, or the judgement failed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from kragx.data.formats.jsonl import foreign_json
from kragx.errors import shorten
from kragx.judging.client import Failure, Message, words_of
from kragx.judging.neutralise import neutralise
from kragx.judging.question import Question
from kragx.judging.rubric import Rubric

_LONGEST = 20_000  # characters of a reason, of which less is kept once secrets are masked

_WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))


def messages(question: Question, key: str) -> tuple[Message, ...]:
    """The system message (rubric and rules) and the user message (the fenced texts)."""
    words = _WORDS[question.rubric.language]
    token = key[:16]
    grades = "\n".join(
        f"{grade}: {meaning}" for grade, meaning in sorted(question.rubric.grades.items())
    )
    system = "\n\n".join(
        (
            question.rubric.instruction.strip(),
            f"{words['grades']}\n{grades}",
            words["rules"].format(token=token),
        )
    )
    parts = [
        ("query", question.query),
        ("gold", question.gold),
        ("reference", question.reference),
        ("document", question.document),
    ]
    user = "\n\n".join(
        f"{words[name]}:\n<<<{name} {token}>>>\n{neutralise(text, token)}\n<<<end {token}>>>"
        for name, text in parts
        if text is not None
    )
    return ("system", system), ("user", user)


def schema(rubric: Rubric) -> dict[str, Any]:
    """The JSON schema of an answer: the reason first, so that it is thought of first."""
    return {
        "type": "object",
        "properties": {
            "reason": {"type": "string", "description": _WORDS[rubric.language]["reason"]},
            "grade": {"type": "integer", "enum": sorted(rubric.grades)},
        },
        "required": ["reason", "grade"],
        "additionalProperties": False,
    }


def read_answer(text: str, rubric: Rubric) -> tuple[int, str] | Failure:
    """The grade and reason in an answer that is the JSON object asked for, and nothing else."""
    answer = answer_object(text)
    if isinstance(answer, Failure):
        return answer
    reason, grade = words_of(answer["reason"], _LONGEST), answer["grade"]
    if reason is None:
        return Failure("invalid_json", "'reason' is no string")
    if isinstance(grade, bool) or not isinstance(grade, int):
        return Failure("invalid_json", f"'grade' is no whole number but {grade!r}")
    if grade not in rubric.grades:
        problem = f"grade {shorten(grade)} is not on the scale 0 to {rubric.top}"
        return Failure("out_of_range", problem)
    return grade, reason


def answer_object(text: str) -> Mapping[str, Any] | Failure:
    """The object with 'reason' and 'grade' that an answer is.

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
    if not isinstance(answer, dict) or set(answer) != {"reason", "grade"}:
        problem = "not an object with 'reason' and 'grade' alone"
        return Failure("invalid_json", f"{problem}: {bare}")
    return answer
