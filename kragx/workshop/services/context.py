"""What every service of a workshop shares, and how a question, a document, a judgement is shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kragx.workshop.folder.documents import Documents
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.pairs.conflicts import conflicts
from kragx.workshop.pairs.duplicates import Copies
from kragx.workshop.questions.leak import leak
from kragx.workshop.questions.meeting import Meetings
from kragx.workshop.queue.queue import Queue
from kragx.workshop.queue.suggestions import Remark, Suggester
from kragx.workshop.services.errors import ClashError, UnknownError
from kragx.workshop.state.records import Judgement, Person, Question
from kragx.workshop.state.state import State

Plain = dict[str, Any]
"""Values as JSON has them."""


@dataclass(frozen=True)
class Context:
    """A workshop at work.

    Attributes:
        workshop: its folder.
        state: what its database holds.
        queue: what each person is shown next.
        suggester: asks the retrievers, and knows what lies beside a document.
        meetings: finds the words of a question in texts.
        remarks: what the owner should know of what goes on behind, by what it is about.
        feed: called before somebody is shown a pair: it may open more questions.
    """

    workshop: Workshop
    state: State
    queue: Queue
    suggester: Suggester
    meetings: Meetings
    remarks: dict[str, Sequence[Remark]]
    feed: Callable[[], object] = lambda: None
    _leaks: dict[tuple[str, tuple[str, ...]], float | None] = field(default_factory=dict)

    @property
    def documents(self) -> Documents:
        """The corpus."""
        return self.workshop.documents

    @property
    def copies(self) -> Copies:
        """Which of its documents are copies of which."""
        return self.queue.copies

    @property
    def top(self) -> int:
        """The highest grade that people give."""
        return max(self.workshop.settings.scale)

    def document(self, document: str) -> Plain:
        """A document as it is shown.

        Raises:
            UnknownError: the corpus has no such document.
        """
        doc = self.documents.get(document)
        if doc is None:
            problem = "the corpus has no such document"
            raise UnknownError(problem, code="document", field="document")
        title = doc.metadata.get("title")
        return {
            "id": document,
            "text": doc.text or "",
            "title": title if isinstance(title, str) else None,
            "metadata": dict(doc.metadata),
        }

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

    def counts(self, person: Person) -> Plain:
        """How far the set is, in numbers that everybody may know; for the owner some more."""
        self.queue.refresh()
        counts = {
            "questions": sum(1 for _ in self.state.open_questions()),
            "pairs": self.queue.sums.counts["pairs"],
            "mine": self.n_judged(person),
        }
        if person.role == "owner":
            counts["conflicts"] = sum(1 for _ in conflicts(self.queue.boards))
            counts["odd"] = sum(bool(board.odd) for board in self.queue.boards.values())
        return counts

    def n_judged(self, person: Person) -> int:
        """How many pairs a person has judged."""
        return len(self.state.settled.get(person.uid, ()))

    @property
    def decides(self) -> Plain:
        """How far the comparison of retrievers is, without their names."""
        outlook = self.queue.sums.outlook
        return {name: getattr(outlook, name) for name in ("state", "outcome", "needed")}

    def leak(self, question: Question) -> float | None:
        """The share of a question's content words that its sources have; None without sources."""
        key = (question.text, question.sources)
        if key not in self._leaks:  # Kiwi takes milliseconds for a text
            docs = [self.documents.get(source) for source in question.sources]
            texts = [doc.text or "" for doc in docs if doc is not None]
            self._leaks[key] = leak(question.text, texts) if texts else None
        return self._leaks[key]


def plain_judgement(judgement: Judgement, document: str | None = None) -> Plain:
    """A judgement; its stretches only on the text that they were marked on, not on a copy's."""
    is_shown = document in (None, judgement.document)
    return {
        "uid": judgement.uid,
        "kind": judgement.kind,
        "grade": judgement.grade,
        "spans": [list(span) for span in judgement.spans] if is_shown else [],
        "note": judgement.note,
        "at": judgement.at,
    }


def plain_question(question: Question) -> Plain:
    """What everybody may know of a question."""
    names = ("uid", "text", "query_type", "difficulty", "answerable", "note")
    history = {"history": [*question.history]} if question.history else {}
    return {name: getattr(question, name) for name in names} | history
