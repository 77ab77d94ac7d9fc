"""What a workshop knows: people, questions, candidates, judgements and releases, as its rows."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any, ClassVar, Literal, Self, cast

Role = Literal["owner", "annotator", "file"]
Kind = Literal["grade", "unusable", "later", "undone", "forbidden", "allowed"]

MARKS = ("forbidden", "allowed")
"""Kinds that say whether a document may come for a question, and nothing of its relevance."""


OWNER = "owner"
"""The owner's name until they have another; nobody else's, as the page says it in its language."""


def now() -> str:
    """This moment, as rows have it: UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_uid() -> str:
    """An id that nobody else gives."""
    return uuid.uuid4().hex


AS_JSON = frozenset({"sources", "gold", "metadata", "spans", "forbidden", "history"})
"""Fields that rows hold as JSON."""
_TRUTH = frozenset({"answerable", "is_decision"})


def _stored_value(name: str, value: Any) -> Any:
    if name in AS_JSON:
        return json.dumps(value, ensure_ascii=True, sort_keys=True)
    return None if value is None else int(value) if name in _TRUTH else value


def _read_value(name: str, value: Any) -> Any:
    if name in AS_JSON:
        read = json.loads(value)
        # A frozen record's values are tuples; what stands deeper is a file's own JSON.
        if isinstance(read, list):
            return tuple(tuple(item) if isinstance(item, list) else item for item in read)
        return read
    return None if value is None else bool(value) if name in _TRUTH else value


@cache  # it is asked for each row
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field_.name for field_ in fields(kind))


@dataclass(frozen=True, kw_only=True)
class StoredRecord:
    """A row of a table.

    Attributes:
        uid: of the thing that it is about; of several rows about one thing the newest counts.
        at: when it was made.
    """

    table: ClassVar[str]
    uid: str = field(default_factory=new_uid)
    at: str = field(default_factory=now)

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """The names of its fields, which are those of the columns."""
        return _names(cast("Any", cls))

    def row(self) -> dict[str, Any]:
        """The values of a row."""
        return {name: _stored_value(name, getattr(self, name)) for name in self.columns()}

    @classmethod
    def of_row(cls, values: Mapping[str, Any]) -> Self:
        """What a row says."""
        return cls(**{name: _read_value(name, value) for name, value in values.items()})


@dataclass(frozen=True, kw_only=True)
class Person(StoredRecord):
    """Somebody who judges, or a file that judgements came from.

    Attributes:
        state: "gone" if their link leads nowhere any more.
    """

    table: ClassVar[str] = "people"
    name: str
    role: Role = "annotator"
    state: Literal["here", "gone"] = "here"


@dataclass(frozen=True, kw_only=True)
class Question(StoredRecord):
    """A question, as it was at one time.

    Attributes:
        person: uid of who wrote it.
        origin: "hand", "template", "model" or "file"; what exactly is in `metadata`.
        sources: ids of the documents that it was made from.
        gold: gold items of an imported file, as such files hold them; judgements add to them.
        forbidden: what must not be found for it, likewise; None where nobody has looked.
        metadata: whatever else is known of it, and goes into releases.
        history: what was said before in its conversation, as gold files hold it.
        weight: how many asks it stands for.
        inclusion: its chance of having been drawn.
    """

    table: ClassVar[str] = "questions"
    person: str
    text: str
    origin: str = "hand"
    state: Literal["open", "dropped"] = "open"
    note: str = ""
    query_type: str | None = None
    difficulty: str | None = None
    reference: str | None = None
    answerable: bool | None = None
    sources: tuple[str, ...] = ()
    gold: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    forbidden: tuple[Mapping[str, Any], ...] | None = None
    history: tuple[Mapping[str, str], ...] = ()
    weight: float = 1.0
    inclusion: float = 1.0


@dataclass(frozen=True, kw_only=True)
class SuggestedDocument(StoredRecord):
    """A document that is suggested for a question.

    Attributes:
        origin: what suggests it: "retriever", "neighbour", "search", "source" or "moved".
        detail: the name of the retriever, or what somebody should know of it.
        rank, score: of a retriever.
    """

    table: ClassVar[str] = "candidates"
    question: str
    document: str
    origin: str
    detail: str = ""
    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True, kw_only=True)
class Judgement(StoredRecord):
    """What a person says of a question and a document; its uid is given by who sends it.

    Attributes:
        kind: "undone" takes back what the person said of the pair before, once; "forbidden" that
            the document must not come for the question, "allowed" that it may again.
        grade: of kind "grade" alone.
        is_decision: whether it settles what others disagree on.
        spans: the evidence, as [start, end) in characters of the document's text.
        purpose: why the pair was shown: "deciding", "search", "conflict" or "import"; or "odd": the
            question itself is, and is put off with all its pairs.
        why: as what a document is forbidden, or was; empty in what is said of relevance. Of one
            person and pair either may be taken back without the other.
    """

    table: ClassVar[str] = "judgements"
    question: str
    document: str
    person: str
    kind: Kind = "grade"
    grade: int | None = None
    is_decision: bool = False
    spans: tuple[tuple[int, int], ...] = ()
    note: str = ""
    purpose: str = ""
    why: str = ""

    @property
    def is_mark(self) -> bool:
        """Whether it says nothing of relevance, but whether the document may come."""
        return bool(self.why)


@dataclass(frozen=True, kw_only=True)
class Release(StoredRecord):
    """A gold set that was written, and never changes."""

    table: ClassVar[str] = "releases"
    person: str
    version: int
    hash: str
    file: str


RECORDS: tuple[type[StoredRecord], ...] = (Person, Question, SuggestedDocument, Judgement, Release)
