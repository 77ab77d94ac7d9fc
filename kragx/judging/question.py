"""What is judged and how it is asked: questions, judgements, and the client in between."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from kragx.data.text import Mender
from kragx.judging.rubric import Rubric

_MOST_TOKENS = 10**9  # of one call; more is no count
_LONGEST = 20_000  # characters, of which less is kept once secrets are masked

FailureKind = Literal[
    "refusal",  # the model declined
    "length",  # its answer was cut off, or the prompt too long for it
    "content_filter",  # the provider withheld it
    "invalid_json",  # not the object that was asked for
    "out_of_range",  # a grade that the rubric does not have
    "timeout",  # no answer in time
    "rate_limit",  # 429, after every attempt
    "connection",  # no connection, or closed by the server
    "api_error",  # any other error of the API
    "not_asked",  # the budget was used up, or it was a dry run
    "pending",  # in a batch whose answers are not collected yet
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

    `cached` tokens are a part of `prompt` and `reasoning` tokens a part of `completion`. What is
    no count (a text, a negative number, more than 10^9) counts as not said.
    """

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    reasoning: int | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, _count(getattr(self, name)))
        if self.cached is not None and self.cached > (self.prompt or 0):
            object.__setattr__(self, "cached", None)


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
        source: ``judge`` (asked in this run), ``batch`` (collected from one), ``store`` (asked
            before) or ``human`` (a grade that a person gave to this very question, or to its query
            and document).
        uid: of this attempt, so that a file imported twice adds nothing the second time; empty
            where nothing was asked.
        at: when, in UTC (ISO 8601).
        raw: what the model said, word for word.
        prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens: as `Usage` counts them.
        seconds: that the answer took.
        model, fingerprint: what served it.
        dialect: how its server had to be asked, as `Answer` says it.
        asked_model: the model that was asked for.
        output_limit: the most tokens that the answer might have; None where the client set none.
        counting: how the tokens were counted where the provider did not: ``estimate``, by kragx
            from the texts; ``most``, no answer came, and these are the most it can have taken.
    """

    key: str
    grade: int | None = None
    reason: str | None = None
    failure: FailureKind | None = None
    detail: str | None = None
    source: Literal["judge", "batch", "store", "human"] = "judge"
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
    asked_model: str | None = None

    @property
    def score(self) -> float:
        """The grade; NaN if the judgement failed."""
        return math.nan if self.grade is None else self.grade

    @property
    def text(self) -> str:
        """The judge's reason; without a grade what went wrong."""
        return self.reason or self.detail or self.failure or ""


def _count(value: object) -> int | None:
    """A number of tokens, if it is one."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return int(value) if 0 <= value <= _MOST_TOKENS and value == int(value) else None


def words_of(text: object, most: int | None = None) -> str | None:
    """Words from outside as every store takes them, cut to `most` characters; None for no text.

    Lone surrogates and zero bytes become U+FFFD.
    """
    if not isinstance(text, str):
        return None
    if most is not None and len(text) > most:
        text = f"{text[:most]} [... {len(text) - most} characters more]"
    return Mender().mend(text).replace("\0", "\ufffd")


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

    def __post_init__(self) -> None:
        _tidy(self)


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
        status: of HTTP, if there is one.
        away: no server took the question (nothing listens, or a gateway has nothing behind it):
            as long as it answers nobody else either, it is waited for.
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
    status: int | None = None
    away: bool = False
    dialect: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", words_of(self.detail, _LONGEST) or "")
        _tidy(self)


def _tidy(answer: Answer | Failure) -> None:
    """Make what a server said such that it can be stored, whatever it is."""
    object.__setattr__(answer, "text", words_of(answer.text))
    for name in ("model", "fingerprint"):
        object.__setattr__(answer, name, words_of(getattr(answer, name), _LONGEST) or None)


_FILTERED = Failure("content_filter", "withheld by the content filter")
_CUT = Failure("length", "cut off: raise the most output tokens (max_output_tokens)")
_BROKEN = Failure("api_error", "the server broke the answer off", again=True)
_ENDINGS: Mapping[str, Failure] = {
    "refusal": Failure("refusal", "the model declined"),
    **dict.fromkeys(("content_filter", "safety", "prohibited_content", "sensitive"), _FILTERED),
    **dict.fromkeys(("length", "model_length"), _CUT),
    "max_tokens": Failure("length", "cut off: raise the model's limit of output tokens"),
    **dict.fromkeys(("error", "insufficient_system_resource"), _BROKEN),
}
"""What providers call the end of an answer that is none, in lower case."""


def outcome(
    text: str | None,
    finish: object,
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
    word = finish if isinstance(finish, str) else ""
    ending = _ENDINGS.get("refusal" if refusal else word.lower())
    if ending is None and (text is None or not text.strip()):
        # Servers that force a schema now and then say nothing, and then answer the next time.
        ending = Failure("api_error", f"no content (finish_reason {word or None})", again=True)
    served: dict[str, Any] = {"usage": usage, "model": model, "fingerprint": fingerprint}
    if ending is None:
        return Answer(text or "", **served)
    detail = refusal if isinstance(refusal, str) and refusal else ending.detail
    return replace(ending, detail=detail, text=text, **served)


@runtime_checkable
class Client(Protocol):
    """Asks a model. Expected failures are values; an exception is a mistake and ends the run.

    A client that also has ``async def aclose()`` is closed when nobody asks it any more, in each
    event loop that used it; it must open again by itself. One that also has `secrets`, the values
    of keys, headers and passwords that it sends, finds them masked wherever a server says them
    again.
    """

    @property
    def settings(self) -> Mapping[str, Any]:
        """What an answer depends on: provider, base_url, model, sampling; part of every key."""
        ...

    async def ask(self, request: Request) -> Answer | Failure:
        """Ask once, without retrying."""
        ...
