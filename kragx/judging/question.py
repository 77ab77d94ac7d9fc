"""What is judged: a question, its key, and the judgement that answers it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from kragx.judging.rubric import Rubric

FailureKind = Literal[
    "refusal",  # the model declined
    "length",  # its answer was cut off
    "content_filter",  # the provider withheld it
    "invalid_json",  # not the object that was asked for
    "out_of_range",  # a grade that the rubric does not have
    "timeout",  # no answer in time
    "rate_limit",  # 429, after every attempt
    "connection",  # no connection, or closed by the server
    "api_error",  # any other error of the API
    "not_asked",  # the budget was used up, or it was a dry run
]
FAILURE_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)

# The same question would be answered the same way again; the others may succeed another time.
SETTLED: frozenset[FailureKind] = frozenset(
    {"refusal", "length", "content_filter", "invalid_json", "out_of_range"}
)


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to judge.

    Attributes:
        rubric: what is asked and the scale.
        document: the retrieved text.
        query: the query's text (relevance).
        gold: the gold text (support).
        reference: a reference answer, if there is one (relevance).
        query_id, document_id: where it came from; recorded, but no part of the key.
    """

    rubric: Rubric
    document: str
    query: str | None = None
    gold: str | None = None
    reference: str | None = None
    query_id: str | None = field(default=None, compare=False)
    document_id: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it does not say.

    `cached` tokens are a part of `prompt` and `reasoning` tokens a part of `completion`.
    """

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a question.

    Attributes:
        key: the question's key.
        grade: None if the judgement failed.
        reason: the judge's, in a few words.
        failure: why there is no grade.
        detail: what the provider or the check said about the failure.
        source: ``judge`` (asked in this run), ``store`` (asked before) or ``human``.
    """

    key: str
    grade: int | None = None
    reason: str | None = None
    failure: FailureKind | None = None
    detail: str | None = None
    source: Literal["judge", "store", "human"] = "judge"


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
    from kragx.judging.prompt import PROMPT_VERSION

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
