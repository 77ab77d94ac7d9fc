"""A workshop at work: what its services share, and what goes on behind them."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kragx.data import tokenizer
from kragx.evaluation.explanation import merged
from kragx.evaluation.retriever_adapters import start_daemon
from kragx.ground.errors import UsageError
from kragx.workshop.calls import ClashError, Json, UnknownError
from kragx.workshop.folder.folder import Documents, Workshop
from kragx.workshop.pairs.candidates import CUT, LabellingPlan, conflicts
from kragx.workshop.pairs.standing import Copies, check_fits
from kragx.workshop.questions.question import NewQuestion
from kragx.workshop.questions.words import content_words, leak
from kragx.workshop.queue.queue import Queue, stopping_estimate
from kragx.workshop.queue.suggestions import Suggester, SuggestionSource
from kragx.workshop.state.records import Judgement, Person, Question
from kragx.workshop.state.state import State

if TYPE_CHECKING:
    from kragx.evaluation.retrievers import Bm25Index


class Desk:
    """A workshop at work.

    Args:
        workshop: its folder.
        state: what its database holds.
        sources: the retrievers that suggest documents, once `start` is called.
        cut: so far down their lists are compared.
        say: is told what goes wrong behind, as people read it.
        feed: called before somebody is shown a pair: it may open more questions.

    Attributes:
        workshop, state, feed: these.
        documents: of the corpus.
        copies: which of them are copies of which.
        queue: what each person is shown next.
        suggester: asks the retrievers, and knows what lies beside a document.
        drafts: the questions that templates made last, by uid: who takes some has seen these.
    """

    def __init__(
        self,
        workshop: Workshop,
        state: State,
        sources: Sequence[SuggestionSource] = (),
        cut: int = CUT,
        say: Callable[[str], object] = str,
        feed: Callable[[], object] = lambda: None,
    ) -> None:
        self.workshop: Workshop = workshop
        self.state: State = state
        self.feed: Callable[[], object] = feed
        self.documents: Documents = workshop.documents
        self.copies: Copies = Copies(self.documents)
        settings, retrievers = workshop.settings, {source.name: source.key for source in sources}
        plan = LabellingPlan(cut, retrievers, settings.k, max(settings.scale), settings.twice)
        self.queue: Queue = Queue(state, self.documents, self.copies, plan)
        self.suggester: Suggester = Suggester(self.queue, sources, say)
        self.drafts: dict[str, NewQuestion] = {}
        self._shown = [doc_id for doc_id in self.documents if self.copies.first(doc_id) == doc_id]
        self._index: Bm25Index | None = None
        self._index_lock = threading.Lock()

    def start(self) -> None:
        """Ask the retrievers, and find what lies beside gold, in a thread: now, and from now on."""
        # Kiwi, which word leaks need, lets no other thread work while it loads: better before there
        # is anybody to wait for it.
        content_words(next(iter(self.documents.values())).text or "")
        self.suggester.start()
        start_daemon(lambda: self.search(""))  # so that the first to search need not wait

    def search(self, words: str, k: int = 20) -> list[str]:
        """The ids of the documents that share most with these words, best first, by BM25.

        In Korean and English alike, without a model. Of copies one is found. Equals keep the
        corpus's order; nothing is found by words that stand nowhere, or by none.

        Raises:
            MissingExtraError: bm25s is not installed.
        """
        from kragx.evaluation.retrievers import Bm25Index

        # A lock of its own: a search while it is built waits, and people who judge do not.
        with self._index_lock:
            if self._index is None:
                texts = [self.documents[doc_id].text or "" for doc_id in self._shown]
                # By characters, so that a Korean word is found with whatever particle it has.
                self._index = Bm25Index(texts, tokenizer("char"), "the workshop's search")
        return [self._shown[place] for place, _ in self._index.best(words, k)]

    def document(self, document: str) -> Json:
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
        """Store what somebody says of a pair; sent twice it is stored once.

        Raises:
            UnknownError: there is no such question or document.
            GradeError, EvidenceError: of `check_fits`.
            ClashError: the question was dropped, or the uid is another judgement's.
        """
        self.question(judgement.question)
        text, grade = self.document(judgement.document)["text"], judgement.grade
        if (judgement.kind == "grade") != (grade is not None):
            raise UsageError("belongs to kind 'grade', and to no other", field="grade")
        check_fits(grade, self.workshop.settings.scale, judgement.spans, text)
        judgement = replace(judgement, spans=merged(judgement.spans))
        stored = self.state.judgement(judgement.uid)
        if stored is None:
            self.open_question(judgement.question)  # a repeated one was stored before
            self.state.add([judgement])
            stored = self.state.judgement(judgement.uid)
        # The same sent twice differs in when it came, and in what the queue meant it for by then.
        sent = replace(judgement, at="", purpose="")
        if stored is None or replace(stored, at="", purpose="") != sent:
            raise ClashError("this uid is another judgement's", code="uid", field="uid")

    def counts(self, person: Person) -> Json:
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
    def decides(self) -> Json:
        """How far the comparison of retrievers is, without their names."""
        return stopping_estimate(self.queue.pools.values(), len(self.queue.plan.retrievers))

    def leak(self, question: Question) -> float | None:
        """The share of a question's content words that its sources have; None without sources."""
        docs = [self.documents.get(source) for source in question.sources]
        texts = [doc.text or "" for doc in docs if doc is not None]
        return leak(question.text, texts) if texts else None
