"""From a question to its key and its messages, and from the answer to a grade.

The key is a hash of everything that the judgement depends on.

Everything retrieved is data. It stands between fences that carry a token derived from the
question's key, so that a text cannot know the fence that will close it; should the token, or
anything that looks like a fence or like a chat template's control token, stand in a text all the
same, it is broken up first. No grade is ever read out of prose: the answer is a JSON object that
fits the schema, or the judgement failed.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from kragx.judging.question import Failure, Message, Question
from kragx.judging.rubric import Rubric

PROMPT_VERSION = 1
"""Part of every key; counts up with any change of words.yaml, or the fences or schema below."""

_WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))


def digest(rubric: Rubric) -> dict[str, str]:
    """A rubric as it enters the key: its id, and a digest of its words.

    A user may change a rubric's words and forget its id; the digest does not.
    """
    content = canonical_json([rubric.instruction, sorted(rubric.grades.items())])
    return {"id": rubric.id, "language": rubric.language, "digest": key_of(content)[:16]}


def material(
    question: Question, client: Mapping[str, Any], repeat: int, rubric: Mapping[str, str]
) -> dict[str, Any]:
    """Everything that a judgement depends on, and nothing else (no rank, retriever or id).

    Args:
        question: what is judged.
        client: the client's settings.
        repeat: which repeat it is.
        rubric: the `digest` of the question's rubric.
    """
    return {
        "asks": question.rubric.asks,
        "query": question.query,
        "document": question.document,
        "gold": question.gold,
        "reference": question.reference,
        "rubric": dict(rubric),
        "prompt": PROMPT_VERSION,
        "client": client,
        "repeat": repeat,
    }


def key_of(canonical: str) -> str:
    """The key of a question's canonical JSON: its SHA-256 in hexadecimal."""
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON in one form: keys sorted, no white space, Unicode as it is."""
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )


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


_FENCE = re.compile(r"<{3,}|>{3,}")
_CONTROL = re.compile(r"<\|(?=\w)|(?<=\w)\|>")


def neutralise(text: str, token: str) -> str:
    """`text` without anything that could pass for a fence or a control token.

    Fence marks become ‹‹‹ and ›››, the bar of ``<|name|>`` becomes ¦, and the token is cut in two.
    """
    if "<<<" in text or ">>>" in text:
        text = _FENCE.sub(lambda mark: ("‹" if mark[0][0] == "<" else "›") * len(mark[0]), text)
    if "<|" in text or "|>" in text:
        text = _CONTROL.sub(lambda mark: mark[0].replace("|", "¦"), text)
    if token not in text.lower():
        return text
    half = len(token) // 2
    return re.sub(re.escape(token), lambda t: f"{t[0][:half]}·{t[0][half:]}", text, flags=re.I)


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
    try:
        answer = json.loads(text)
    except ValueError as error:
        return Failure("invalid_json", str(error))
    if not isinstance(answer, dict) or set(answer) != {"reason", "grade"}:
        return Failure("invalid_json", "not an object with 'reason' and 'grade'")
    reason, grade = answer["reason"], answer["grade"]
    if not isinstance(reason, str):
        return Failure("invalid_json", "'reason' is no string")
    if isinstance(grade, bool) or not isinstance(grade, int):
        return Failure("invalid_json", f"'grade' is no whole number but {grade!r}")
    if grade not in rubric.grades:
        return Failure("out_of_range", f"grade {grade} is not on the scale 0 to {rubric.top}")
    return grade, reason
