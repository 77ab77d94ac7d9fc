"""What is judged: a question, and the judgement that answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

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
    """What became of a question: the last of a failed judgement's three forms.

    A client's `Failure` is kept as a `kragx.judging.store.Attempt`, which becomes a judgement
    without a grade; the match table holds NaN for it.

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

    @property
    def text(self) -> str:
        """The judge's reason; without a grade what went wrong."""
        return self.reason or self.detail or self.failure or ""
