"""What every service of a workshop shares: what a page may send, and how things are shown.

A method that `get` or `post` mark is all that a new question or button needs on the server: its
parameters say what it takes, with their bounds, and `person` is who asks.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
)

from kragx.ground.errors import DataError, KragxError, UsageError
from kragx.workshop.folder.folder import Documents, Workshop
from kragx.workshop.pairs.candidates import conflicts
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.questions.words import leak
from kragx.workshop.queue.queue import Queue, stopping_estimate
from kragx.workshop.queue.suggestions import Suggester
from kragx.workshop.state.records import Judgement, Person, Question
from kragx.workshop.state.state import State

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


Plain = dict[str, Any]
"""Values as JSON has them."""


class ServiceError(KragxError):
    """A refusal, as somebody at the page reads it; `code` names the page's own sentence for it."""

    def __init__(self, problem: str, *, code: str, field: str = "", remedy: str = "") -> None:
        super().__init__(problem, field=field, remedy=remedy)
        self.code = code


class UnknownError(ServiceError, DataError):
    """A question, a document or a person that does not exist."""


class RefusedError(ServiceError, UsageError):
    """What this person may not ask or do."""


class ClashError(ServiceError, UsageError):
    """What does not fit what has happened meanwhile."""


@dataclass(frozen=True)
class Context:
    """A workshop at work.

    Attributes:
        workshop: its folder.
        state: what its database holds.
        queue: what each person is shown next.
        suggester: asks the retrievers, and knows what lies beside a document.
        feed: called before somebody is shown a pair: it may open more questions.
    """

    workshop: Workshop
    state: State
    queue: Queue
    suggester: Suggester
    feed: Callable[[], object] = lambda: None

    @property
    def documents(self) -> Documents:
        """The corpus."""
        return self.workshop.documents

    @property
    def copies(self) -> Copies:
        """Which of its documents are copies of which."""
        return self.queue.copies

    def document(self, document: str) -> Plain:
        """A document as it is shown.

        Raises:
            UnknownError: the corpus has no such document.
        """
        doc = self.documents.get(document)
        if doc is None:
            problem = "the corpus has no such document"
            raise UnknownError(problem, code="document", field="document")
        title, metadata = doc.metadata.get("title"), dict(doc.metadata)
        shown = title if isinstance(title, str) else None
        return {"id": document, "text": doc.text or "", "title": shown, "metadata": metadata}

    def question(self, uid: str, field: str = "question") -> Question:
        """A question, dropped or not.

        Raises:
            UnknownError: there is none.
        """
        if uid not in self.state.questions:
            raise UnknownError("there is no such question", code="question", field=field)
        return self.state.questions[uid]

    def open_question(self, uid: str) -> Question:
        """A question that is still asked.

        Raises:
            UnknownError: there is none.
            ClashError: it was dropped.
        """
        question = self.question(uid)
        if question.state != "open":
            problem = "this question was dropped meanwhile"
            raise ClashError(problem, code="dropped", field="question")
        return question

    def store(self, judgement: Judgement) -> None:
        """Store what somebody says; sent twice it is stored once.

        Raises:
            ClashError: the question was dropped, or the uid is another judgement's.
        """
        stored = self.state.judgement(judgement.uid)
        if stored is None:
            self.open_question(judgement.question)  # a repeated one was stored before
            self.state.add([judgement])
            stored = self.state.judgement(judgement.uid)
        # The same sent twice differs in when it came, and in what the queue meant it for by then.
        sent = replace(judgement, at="", purpose="")
        if stored is None or replace(stored, at="", purpose="") != sent:
            raise ClashError("this uid is another judgement's", code="uid", field="uid")

    def counts(self, person: Person) -> Plain:
        """How far the set is, in numbers that everybody may know; for the owner some more."""
        self.queue.refresh()
        counts = {
            "questions": sum(1 for _ in self.state.open_questions()),
            "pairs": sum(len(pool.candidates) for pool in self.queue.pools.values()),
            "mine": self.n_judged(person),
        }
        if person.role == "owner":
            counts["conflicts"] = sum(1 for _ in conflicts(self.queue.pools))
            counts["odd"] = sum(bool(pool.odd) for pool in self.queue.pools.values())
        return counts

    def n_judged(self, person: Person) -> int:
        """How many pairs a person has judged, put off ones aside."""
        rows = self.state.history.get(person.uid, ())
        return len({(row.question, row.document) for row in rows if row.kind != "later"})

    @property
    def decides(self) -> Plain:
        """How far the comparison of retrievers is, without their names."""
        return stopping_estimate(self.queue.pools.values(), len(self.queue.plan.retrievers))

    def leak(self, question: Question) -> float | None:
        """The share of a question's content words that its sources have; None without sources."""
        docs = [self.documents.get(source) for source in question.sources]
        texts = [doc.text or "" for doc in docs if doc is not None]
        return leak(question.text, texts) if texts else None


def plain_judgement(judgement: Judgement, document: str | None = None) -> Plain:
    """A judgement; its stretches only on the text that they were marked on, not on a copy's."""
    plain = {name: getattr(judgement, name) for name in ("uid", "kind", "grade", "note", "at")}
    is_shown = document in (None, judgement.document)
    return plain | {"spans": [list(span) for span in judgement.spans] if is_shown else []}


def plain_question(question: Question) -> Plain:
    """What everybody may know of a question."""
    names = ("uid", "text", "query_type", "difficulty", "answerable", "note")
    history = {"history": [*question.history]} if question.history else {}
    return {name: getattr(question, name) for name in names} | history
