"""What a page may send: every field with its bounds."""

import unicodedata
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from kragx.data.formats.jsonl import foreign_json
from kragx.ground.errors import UsageError, shorten
from kragx.workshop.names import alike
from kragx.workshop.state.records import OWNER

MOST_QUESTION, MOST_NOTE, MOST_NAME, MOST_REFERENCE, MOST_ID = 2000, 2000, 100, 10_000, 1000
"""Characters."""


def _mended(value: str) -> str:
    """A text that every database holds: PostgreSQL has no place for NUL."""
    return value.replace("\x00", "\ufffd")


def _composed(value: str) -> str:
    return unicodedata.normalize("NFC", value)


_MENDED = AfterValidator(_mended)

Uid = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
"""The id of what is sent, made by the page: what is sent twice is stored once."""

_Id = Annotated[str, StringConstraints(min_length=1, max_length=MOST_ID), _MENDED]
_Words = Annotated[str, StringConstraints(max_length=MOST_QUESTION), _MENDED]
_Note = Annotated[str, StringConstraints(max_length=MOST_NOTE), _MENDED]
_Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_NAME),
    _MENDED,
    AfterValidator(_composed),
]
_Label = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=MOST_NAME),
    _MENDED,
    AfterValidator(lambda value: _composed(value) or None),
]
_Span = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]


_Pair = Annotated[list[_Id], Field(min_length=2, max_length=2)]


def _listed(value: str) -> Any:
    return foreign_json(value, strict=True)


class RequestForm(BaseModel):
    """What came with a request; unknown fields are mistakes, and numbers are no texts."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=True)


class Nothing(RequestForm):
    """Of a request that takes no fields."""


class NextForm(RequestForm):
    """Which pair to judge: of one question, or the one that is due; `after` some are judged.

    These are question and document each, as JSON, in the order in which they are shown.
    """

    question: _Id | None = None
    after: Annotated[list[_Pair], BeforeValidator(_listed), Field(max_length=4)] = Field(
        default_factory=list
    )


class DocumentForm(RequestForm):
    """A document by its id."""

    document: _Id


class SearchForm(RequestForm):
    """Words to search for, and the question that a document is wanted for."""

    q: _Words = ""
    question: _Id | None = None


class JudgementForm(RequestForm):
    """What a person says of a pair; or, with a note, that its question is odd."""

    uid: Uid
    question: _Id
    document: _Id
    kind: Literal["grade", "unusable", "later", "odd"] = "grade"
    grade: int | None = None
    spans: Annotated[list[_Span], Field(max_length=100)] = Field(default_factory=list)
    note: _Note = ""
    seconds: float | None = Field(default=None, ge=0, le=1e7, allow_inf_nan=False, strict=False)


class DecisionForm(JudgementForm):
    """What settles a conflict."""

    kind: Literal["grade", "unusable"] = "grade"


class MarkForm(RequestForm):
    """That a document must not come for a question, and as what; without that, that it may."""

    uid: Uid
    question: _Id
    document: _Id
    why: _Label | None = None
    note: _Note = ""


class UndoForm(RequestForm):
    """The person's newest judgement is taken back."""

    uid: Uid


class QuestionForm(RequestForm):
    """A question that is new, or that is changed: then with its uid."""

    uid: _Id | None = None
    text: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_QUESTION),
        _MENDED,
    ]
    query_type: _Label | None = None
    difficulty: _Label | None = None
    answerable: bool | None = None
    reference: Annotated[str, BeforeValidator(_mended), Field(max_length=MOST_REFERENCE)] | None = (
        None
    )
    sources: Annotated[list[_Id], Field(max_length=100)] = Field(default_factory=list)
    note: _Note = ""


class DropForm(RequestForm):
    """A question that is asked no more."""

    uid: _Id
    why: _Note = ""


class TemplatesForm(RequestForm):
    """How many questions templates shall make; another seed makes others."""

    n: Annotated[int, Field(ge=1, le=200, strict=False)] = 20
    seed: Annotated[int, Field(ge=0, le=1_000_000, strict=False)] = 0


class UidsForm(RequestForm):
    """Some of several."""

    uids: Annotated[list[_Id], Field(max_length=200)]


class QuestionsForm(RequestForm):
    """Which questions are listed."""

    q: _Words = ""
    state: Literal["open", "dropped"] | None = None


class ReleaseForm(RequestForm):
    """What goes into a release's notes, and whether questions on which people differ are in it."""

    note: _Note = ""
    allow_undecided: bool = False


class PersonForm(RequestForm):
    """Somebody new by name; or, by uid, another name, or a link that is taken away."""

    uid: _Id | None = None
    name: _Name | None = None
    state: Literal["here", "gone"] | None = None


def annotators_name(name: str, field: str) -> str:
    """The name of somebody who judges, composed (NFC).

    Args:
        name: as it was given.
        field: the option that gave it.

    Raises:
        UsageError: it is no name, or the owner's.
    """
    try:
        form = PersonForm(name=name)
    except ValidationError:
        problem = f"{shorten(name)} is no name of 1 to {MOST_NAME} characters"
        raise UsageError(problem, field=field) from None
    if alike(form.name or "", OWNER):
        problem = f"{OWNER!r} is whose workshop this is, and has a link already"
        raise UsageError(problem, field=field, remedy="give who judges another name")
    return form.name or ""
