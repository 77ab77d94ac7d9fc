"""What a page may ask and send, and how things are shown.

A function that `get` or `post` mark is all that a new question or button needs on the server: its
parameters say what it takes, with their bounds; `desk` is the workshop, and `person` who asks.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, Field, StringConstraints

from kragx.ground.errors import KragxError
from kragx.workshop.state.records import Judgement, Question

MOST_NAME, MOST_ID = 100, 1000
_MOST_WORDS, _MOST_REFERENCE = 2000, 10_000
"""Characters."""

_Answer = TypeVar("_Answer", bound=Callable[..., Any])


def _without_nul(value: str) -> str:
    """A text that every database holds: PostgreSQL has no place for NUL."""
    return value.replace("\x00", "\ufffd")


def _composed(value: str) -> str:
    return unicodedata.normalize("NFC", value)


_NO_NUL = AfterValidator(_without_nul)

Uid = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
"""The id of what is sent, made by the page: what is sent twice is stored once."""

Id = Annotated[str, StringConstraints(min_length=1, max_length=MOST_ID), _NO_NUL]
Words = Annotated[str, StringConstraints(max_length=_MOST_WORDS), _NO_NUL]
QuestionText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=_MOST_WORDS),
    _NO_NUL,
]
Reference = Annotated[str, StringConstraints(max_length=_MOST_REFERENCE), _NO_NUL]
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_NAME),
    _NO_NUL,
    AfterValidator(_composed),  # a keyboard may send Hangul in parts, and a name is looked up
]
Label = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=MOST_NAME),
    _NO_NUL,
    AfterValidator(lambda value: _composed(value) or None),
]


_Span = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]
Spans = Annotated[Sequence[_Span], Field(max_length=100)]


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


def get(path: str, *, owner: bool = False) -> Callable[[_Answer], _Answer]:
    """Mark a function as what answers a GET of this path below /api/."""
    return _marking(ApiCall("GET", path, owner))


def post(path: str, *, owner: bool = False) -> Callable[[_Answer], _Answer]:
    """Mark a function as what answers a POST."""
    return _marking(ApiCall("POST", path, owner))


def _marking(call: ApiCall) -> Callable[[_Answer], _Answer]:
    def mark(answer: _Answer) -> _Answer:
        vars(answer)["call"] = call  # where the server finds it; the function stays as it is
        return answer

    return mark


Json = dict[str, Any]
"""Values as JSON has them."""


class Refusal(KragxError):  # noqa: N818  # it is an answer
    """An answer that says no, as somebody at the page reads it.

    Args:
        problem, field, remedy: as of a `KragxError`.
        code: of the page's own sentence for it, if it has one.
        status: as HTTP calls it; None for that of its kind.
    """

    usual_status: ClassVar[int] = 400

    def __init__(
        self,
        problem: str,
        *,
        code: str = "",
        field: str = "",
        remedy: str = "",
        status: int | None = None,
    ) -> None:
        super().__init__(problem, field=field, remedy=remedy)
        self.code: str = code
        self.status: int = status or self.usual_status


class UnknownError(Refusal):
    """A question, a document or a person that does not exist."""

    usual_status = 404


class RefusedError(Refusal):
    """What this person may not ask or do."""

    usual_status = 403


class ClashError(Refusal):
    """What does not fit what has happened meanwhile."""

    usual_status = 409


def judgement_json(judgement: Judgement, document: str | None = None) -> Json:
    """A judgement; its stretches only on the text that they were marked on, not on a copy's."""
    plain = {name: getattr(judgement, name) for name in ("uid", "kind", "grade", "note", "at")}
    is_shown = document in (None, judgement.document)
    return plain | {"spans": [list(span) for span in judgement.spans] if is_shown else []}


def question_json(question: Question) -> Json:
    """What everybody may know of a question."""
    names = ("uid", "text", "query_type", "difficulty", "answerable", "note")
    history = {"history": [*question.history]} if question.history else {}
    return {name: getattr(question, name) for name in names} | history
