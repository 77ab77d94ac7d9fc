"""The seam to whatever grades: a request, and the answer or the failure that comes of it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

from kragx.data.text import SurrogateRepair
from kragx.ground.errors import UsageError, inside
from kragx.ground.options import check_options

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
Counting = Literal["estimate", "most"]
FAILURE_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a call; None where nobody says.

    `cached` tokens are a part of `prompt` and `reasoning` tokens a part of `completion`. What is
    no count (a text, a negative number, more than 10^9) counts as not said. `counting` is how they
    were counted where the provider did not (`Judgement.counting`).
    """

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    counting: Counting | None = None

    def __post_init__(self) -> None:
        for name in ("prompt", "completion", "cached", "reasoning"):
            count = getattr(self, name)
            is_number = isinstance(count, (int, float)) and not isinstance(count, bool)
            is_count = is_number and 0 <= count <= _MOST_TOKENS and count == int(count)
            object.__setattr__(self, name, int(count) if is_count else None)
        if self.cached is not None and self.cached > (self.prompt or 0):
            object.__setattr__(self, "cached", None)


def words_of(text: object, limit: int | None = None) -> str | None:
    """Words from outside as every store takes them, cut to `limit` characters; None for no text.

    Lone surrogates and zero bytes become U+FFFD.
    """
    if not isinstance(text, str):
        return None
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]} [... {len(text) - limit} characters more]"
    text = text if text.isascii() else SurrogateRepair().text(text)
    return text.replace("\0", "\ufffd")


Message = tuple[str, str]
"""(role, content); roles are ``system`` and ``user``."""


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt to get an answer.

    Attributes:
        messages: what the model reads.
        schema: the JSON schema that the answer must fit.
        timeout: seconds after which the client should give up.
        about_output: how many tokens the answer has, roughly; for estimates only.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    timeout: float
    about_output: int = 60


class Token(NamedTuple):
    """A token of an answer, as bytes, with the chances of what is likeliest there, and its own."""

    text: bytes
    chances: Mapping[bytes, float]


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
        tokens: those of the text, where the client was told to ask for their probabilities, and
            the server gives any.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    fingerprint: str | None = None
    dialect: str | None = None
    tokens: tuple[Token, ...] = field(default=(), repr=False)

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

    Raises:
        UsageError: there is no such kind.
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
        with inside("Failure"):
            check_options(self)
        object.__setattr__(self, "detail", words_of(self.detail, _LONGEST) or "")
        _tidy(self)


def _tidy(answer: Answer | Failure) -> None:
    """Make what a server said such that it can be stored, whatever it is."""
    if not isinstance(answer.usage, Usage):
        raise UsageError(
            "{value} is no Usage; leave it out where nobody says",
            field=f"{type(answer).__name__}.usage",
            value=answer.usage,
        )
    object.__setattr__(answer, "text", words_of(answer.text))
    for name in ("model", "fingerprint"):
        object.__setattr__(answer, name, words_of(getattr(answer, name), _LONGEST) or None)


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


# By the client's identity: judges that differ may share one. Each event loop knows its own only.
_users: Counter[tuple[int, asyncio.AbstractEventLoop]] = Counter()


@asynccontextmanager
async def in_use(client: Any) -> AsyncIterator[None]:
    """Within, a client is asked; who leaves last in an event loop closes what it has open there."""
    user = id(client), asyncio.get_running_loop()
    _users[user] += 1
    try:
        yield
    finally:
        _users[user] -= 1
        if not _users[user]:
            del _users[user]
            close = getattr(client, "aclose", None)
            if close is not None:
                await close()
