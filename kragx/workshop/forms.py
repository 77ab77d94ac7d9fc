"""What a page may send: every field with its bounds."""

import unicodedata
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)

MOST_QUESTION, MOST_NOTE, MOST_NAME, MOST_REFERENCE, MOST_ID = 2000, 2000, 100, 10_000, 1000
"""Characters."""


def _mended(value: object) -> object:
    """A text that every database holds: PostgreSQL has no place for NUL."""
    return value.replace("\x00", "\ufffd") if isinstance(value, str) else value


def _composed(value: str) -> str:
    return unicodedata.normalize("NFC", value)


Uid = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
"""The id of what is sent, made by the page: what is sent twice is stored once."""

_Id = Annotated[str, BeforeValidator(_mended), Field(min_length=1, max_length=MOST_ID)]
_Note = Annotated[str, BeforeValidator(_mended), Field(max_length=MOST_NOTE)]
_Name = Annotated[
    str,
    BeforeValidator(_mended),
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_NAME),
    AfterValidator(_composed),
]
_Label = Annotated[
    str,
    BeforeValidator(_mended),
    StringConstraints(strip_whitespace=True, max_length=MOST_NAME),
    AfterValidator(lambda value: _composed(value) or None),
]
_Span = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]


class Form(BaseModel):
    """What came with a request; unknown fields are mistakes, and numbers are no texts."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Nothing(Form):
    """Of a request that takes no fields."""


class NextForm(Form):
    """Which pair to judge: of one question, or the one that is due; `after` one is judged."""

    question: _Id | None = None
    after: _Id | None = None
    after_document: _Id | None = None


class SearchForm(Form):
    """Words to search for, and the question that a document is wanted for."""

    q: Annotated[str, BeforeValidator(_mended), Field(max_length=MOST_QUESTION)] = ""
    question: _Id | None = None


class JudgementForm(Form):
    """What a person says of a pair."""

    uid: Uid
    question: _Id
    document: _Id
    kind: Literal["grade", "unusable", "later"] = "grade"
    grade: int | None = None
    spans: Annotated[list[_Span], Field(max_length=100)] = Field(default_factory=list)
    note: _Note = ""
    seconds: float | None = Field(default=None, ge=0, le=1e7, allow_inf_nan=False, strict=False)


class DecisionForm(JudgementForm):
    """What settles a conflict."""

    kind: Literal["grade", "unusable"] = "grade"


class UndoForm(Form):
    """The person's newest judgement is taken back."""

    uid: Uid


class QuestionForm(Form):
    """A question that is new, or that is changed: then with its uid."""

    uid: _Id | None = None
    text: Annotated[
        str,
        BeforeValidator(_mended),
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_QUESTION),
    ]
    query_type: _Label | None = None
    difficulty: _Label | None = None
    answerable: bool | None = None
    reference: Annotated[str, BeforeValidator(_mended), Field(max_length=MOST_REFERENCE)] | None = (
        None
    )
    sources: Annotated[list[_Id], Field(max_length=100)] = Field(default_factory=list)
    note: _Note = ""


class DropForm(Form):
    """A question that is asked no more."""

    uid: _Id
    why: _Note = ""


class QuestionsForm(Form):
    """Which questions are listed."""

    q: Annotated[str, BeforeValidator(_mended), Field(max_length=MOST_QUESTION)] = ""
    state: Literal["open", "dropped"] | None = None


class PersonForm(Form):
    """Somebody new by name; or, by uid, another name, or a link that is taken away."""

    uid: _Id | None = None
    name: _Name | None = None
    state: Literal["here", "gone"] | None = None
