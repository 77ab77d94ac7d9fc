"""What every service of a workshop shares, and how a question, a document, a judgement is shown."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kragx.ground.errors import DataError, KragxError, UsageError
from kragx.workshop.folder.documents import Documents
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.pairs.conflicts import conflicts
from kragx.workshop.pairs.duplicates import Copies
from kragx.workshop.questions.words import leak
from kragx.workshop.queue.convergence import stopping_estimate
from kragx.workshop.queue.queue import Queue
from kragx.workshop.queue.suggestions import Suggester
from kragx.workshop.state.records import Judgement, Person, Question
from kragx.workshop.state.state import State

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
