"""What is judged and how it is asked: questions, judgements, and the client in between."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args, runtime_checkable

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


Counting = Literal["estimate", "most"]


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
    """What became of a question: one attempt at it, as a row of the store keeps it.

    A client's `Failure` becomes a judgement without a grade; the match table holds NaN for it.

    Attributes:
        key: the question's key.
        grade: None if the judgement failed.
        reason: the judge's, in a few words.
        failure: why there is no grade.
        detail: what the provider or the check said about the failure.
        source: ``judge`` (asked in this run), ``store`` (asked before) or ``human`` (a grade that
            a person gave to this very question, or to its query and document).
        uid: of this attempt, so that a file imported twice adds nothing the second time; empty
            where nothing was asked.
        at: when, in UTC (ISO 8601).
        raw: what the model said, word for word.
        prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens: as `Usage` counts them.
        seconds: that the answer took.
        model, fingerprint: what served it.
        dialect: how its server had to be asked, as `Answer` says it.
        output_limit: the most tokens that the answer might have; None where the client set none.
        counting: how the tokens were counted where the provider did not: ``estimate``, by kragx
            from the texts; ``most``, no answer came, and these are the most it can have taken.
    """

    key: str
    grade: int | None = None
    reason: str | None = None
    failure: FailureKind | None = None
    detail: str | None = None
    source: Literal["judge", "store", "human"] = "judge"
    uid: str = ""
    at: str = ""
    raw: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    seconds: float | None = None
    model: str | None = None
    fingerprint: str | None = None
    dialect: str | None = None
    output_limit: int | None = None
    counting: Counting | None = None

    @property
    def score(self) -> float:
        """The grade; NaN if the judgement failed."""
        return math.nan if self.grade is None else self.grade

    @property
    def text(self) -> str:
        """The judge's reason; without a grade what went wrong."""
        return self.reason or self.detail or self.failure or ""


# -- asking -----------------------------------------------------------------------------------

Message = tuple[str, str]
"""(role, content); roles are ``system`` and ``user``."""


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt to get an answer.

    Attributes:
        messages: what the model reads.
        schema: the JSON schema that the answer must fit.
        timeout: seconds after which the client should give up.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    timeout: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said.

    Attributes:
        text: its words; the runner reads the JSON in them.
        usage: what it cost.
        model: the model that served the answer, which may differ from the one asked for.
        fingerprint: of the system behind it, if the provider tells.
        dialect: how its server had to be asked where it does not take a request as it is first
            made, for example ``json_object, no temperature``; None as usual.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    fingerprint: str | None = None
    dialect: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer.

    Attributes:
        kind: one of `FAILURE_KINDS`.
        detail: the provider's words.
        text: what the model said all the same.
        usage: what it cost all the same.
        again: whether another attempt may succeed.
        retry_after: seconds to wait before it, if the server says.
        fatal: nothing else can succeed either (a wrong key, an unknown model): stop asking.
        model, fingerprint, dialect: as for `Answer`.
    """

    kind: FailureKind
    detail: str = ""
    text: str | None = None
    usage: Usage = field(default_factory=Usage)
    again: bool = False
    retry_after: float | None = None
    fatal: bool = False
    model: str | None = None
    fingerprint: str | None = None
    dialect: str | None = None


_ENDINGS: Mapping[str, tuple[FailureKind, str]] = {
    "refusal": ("refusal", "the model declined"),
    "content_filter": ("content_filter", "withheld by the content filter"),
    "length": ("length", "cut off: raise the most output tokens (max_output_tokens)"),
    "max_tokens": ("length", "cut off: raise the model's limit of output tokens"),
}


def outcome(
    text: str | None,
    finish: str | None,
    refusal: object,
    usage: Usage,
    model: str | None,
    fingerprint: str | None,
) -> Answer | Failure:
    """What a model's answer is, from why it ended.

    Args:
        text: the answer, if there is one.
        finish: the provider's word for why it ended.
        refusal: what the model said instead of an answer, if it refused.
        usage: what it cost.
        model: what served it.
        fingerprint: of the system behind it.
    """
    kind, detail = _ENDINGS.get("refusal" if refusal else finish or "", (None, ""))
    if kind is None and text is None:
        kind, detail = "invalid_json", f"no content (finish_reason {finish})"
    if kind is None:
        return Answer(text or "", usage, model, fingerprint)
    detail = str(refusal or detail)
    return Failure(kind, detail, text, usage, model=model, fingerprint=fingerprint)


@runtime_checkable
class Client(Protocol):
    """Asks a model. Expected failures are values; an exception is a mistake and ends the run.

    A client that also has ``async def aclose()`` is closed at the end of each batch, in the event
    loop that used it; it must open again by itself. One that also has `secrets`, the values of
    keys, headers and passwords that it sends, finds them masked wherever a server says them again.
    """

    @property
    def settings(self) -> Mapping[str, Any]:
        """What an answer depends on: provider, base_url, model, sampling; part of every key."""
        ...

    async def ask(self, request: Request) -> Answer | Failure:
        """Ask once, without retrying."""
        ...
