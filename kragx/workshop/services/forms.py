"""What a page may send: fields with their bounds; and how a service says what may be asked of it.

A method that `get` or `post` mark is all that a new question or button needs on the server: its
`form` says what it takes, and `person` is who asks.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)

MOST_NAME, MOST_ID = 100, 1000
_MOST_WORDS, _MOST_REFERENCE = 2000, 10_000
"""Characters."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _mended(value: str) -> str:
    """A text that every database holds: PostgreSQL has no place for NUL."""
    return value.replace("\x00", "\ufffd")


def _composed(value: str) -> str:
    return unicodedata.normalize("NFC", value)


_MENDED = AfterValidator(_mended)

Uid = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
"""The id of what is sent, made by the page: what is sent twice is stored once."""

Id = Annotated[str, StringConstraints(min_length=1, max_length=MOST_ID), _MENDED]
Words = Annotated[str, StringConstraints(max_length=_MOST_WORDS), _MENDED]
QuestionText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=_MOST_WORDS), _MENDED
]
Reference = Annotated[str, BeforeValidator(_mended), Field(max_length=_MOST_REFERENCE)]
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_NAME),
    _MENDED,
    AfterValidator(_composed),  # a keyboard may send Hangul in parts, and a name is looked up
]
Label = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=MOST_NAME),
    _MENDED,
    AfterValidator(lambda value: _composed(value) or None),
]


class RequestForm(BaseModel):
    """What came with a request; unknown fields are mistakes, and numbers are no texts."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True)
class ApiCall:
    """Something that the page may ask.

    Attributes:
        method, path: of HTTP, below /api/; a GET changes nothing.
        owner: whether only the owner may ask.
    """

    method: Literal["GET", "POST"]
    path: str
    owner: bool = False


def get(path: str, *, owner: bool = False) -> Callable[[_Method], _Method]:
    """Mark a method as what answers a GET of this path below /api/."""
    return _marking(ApiCall("GET", path, owner))


def post(path: str, *, owner: bool = False) -> Callable[[_Method], _Method]:
    """Mark a method as what answers a POST."""
    return _marking(ApiCall("POST", path, owner))


def _marking(call: ApiCall) -> Callable[[_Method], _Method]:
    def mark(method: _Method) -> _Method:
        vars(method)["call"] = call  # where `web.api` finds it; the method itself stays as it is
        return method

    return mark
