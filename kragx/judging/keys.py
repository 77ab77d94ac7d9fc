"""A question's key: a hash of everything that the judgement depends on."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from kragx.judging.question import Question
from kragx.judging.rubric import Rubric

PROMPT_VERSION = 1
"""Part of every key; counts up with any change of words.yaml, or of the fences or the schema."""


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
