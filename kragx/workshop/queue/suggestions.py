"""What is suggested for a question: what retrievers find, what it was made from, what lies beside.

Stored as candidates, once: a retriever is asked again only for a question whose text has changed,
or when something that its answers depend on has (`pools.asking_uid`).
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kragx.data import Doc, GoldDataset, Query, Retrieved, Run, normalise
from kragx.data.databases import StoreFailedError, answering
from kragx.evaluation.retriever_adapters import start_daemon
from kragx.ground.errors import KragxError
from kragx.ground.printing import joined, message
from kragx.workshop.folder.places import origin_of
from kragx.workshop.pairs.candidates import asking_uid
from kragx.workshop.queue.queue import Queue
from kragx.workshop.releases.contents import query_of
from kragx.workshop.state.records import Question, SuggestedDocument

_PATIENCE = 0.5
"""Seconds that a database which others hold may take; people wait meanwhile."""

_PAUSE = 5.0
"""Seconds after which what could not be stored is tried again."""

OnAnswer = Callable[[Query, Retrieved], None]
"""Is told each answer as it comes, from whatever thread it comes in."""


@dataclass(frozen=True)
class SuggestionSource:
    """A retriever that suggests documents.

    Attributes:
        name: of the retriever.
        key: a hash of what its answers depend on.
        ask: gets the answers to some questions, and may tell of each as it comes; what fails
            stands in the run.
    """

    name: str
    key: str
    ask: Callable[[GoldDataset, OnAnswer], Run]


class Suggester:
    """Keeps the candidates of all open questions complete.

    Args:
        queue: whose workshop, corpus and plan it is.
        sources: the retrievers; those that the plan has.
        say: is told what went wrong with a retriever, once.
    """

    def __init__(
        self,
        queue: Queue,
        sources: Sequence[SuggestionSource],
        say: Callable[[str], object] = str,
    ) -> None:
        self._queue, self._sources, self._say = queue, sources, say
        self._last_remarks: dict[str, str] = {}
        self._state, self._docs = queue.state, queue.docs
        self._neighbours = neighbours(queue.docs)
        self._of_text: dict[str, str] = {}
        self._tried: set[str] = set()
        self._position = 0
        self._wake = threading.Event()
        self._failed: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._not_in_corpus: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def start(self) -> None:
        """Work in a thread that ends with the process: now, and whenever it is woken."""
        self._wake.set()

        def work() -> None:
            pause: float | None = None
            while self._wake.wait(pause) or pause:
                self._wake.clear()
                before = self._position
                try:
                    self.run()
                except StoreFailedError as error:  # all of it again at the next time
                    self._position = before
                    self._tried.clear()
                    self._tell("suggestions", error.problem)
                    pause = _PAUSE
                else:
                    self._tell("suggestions", "")
                    pause = None

        start_daemon(work)

    def wake(self, *_: object) -> None:
        """Say that a question has come, or was changed, or that something was judged."""
        self._wake.set()

    def run(self) -> None:
        """Suggest whatever is to be suggested of what was said since the last time."""
        with self._state.lock:
            self._queue.refresh()
            news, self._position = self._state.news(self._position)
            questions = [self._state.questions[uid] for uid in news if uid in self._state.questions]
            questions = [question for question in questions if question.state == "open"]
            self._add([row for question in questions for row in self._at_hand(question)])
        # Without the lock: retrievers may take minutes, and people judge meanwhile.
        for source in self._sources:
            todo = [question for question in questions if self._is_open(question, source)]
            if todo:
                self._ask(source, todo)

    def _at_hand(self, question: Question) -> Iterator[SuggestedDocument]:
        """What a question was made from, and what lies beside its gold."""
        pool = self._queue.pools.get(question.uid)
        known = set(self._state.candidates.get(question.uid, ()))
        gold = [str(item["id"]) for item in question.gold if item.get("id")]
        gold += [candidate.pair[1] for candidate in pool or () if candidate.grade > 0]
        beside = [near for document in gold for near in self._neighbours.get(document, ())]
        for origin, documents in (("source", [*question.sources, *gold]), ("neighbour", beside)):
            for document in documents:
                if document in self._docs and document not in known:
                    known.add(document)
                    yield SuggestedDocument(question=question.uid, document=document, origin=origin)

    def _is_open(self, question: Question, source: SuggestionSource) -> bool:
        uid = asking_uid(question, source.name, source.key)
        # Once in a process: what fails for good is not asked for after every judgement.
        if uid in self._tried:
            return False
        self._tried.add(uid)
        with self._state.lock:
            rows = self._state.candidates.get(question.uid, {}).values()
            return not any(row.uid == uid for of_document in rows for row in of_document)

    def _ask(self, source: SuggestionSource, questions: Sequence[Question]) -> None:
        """Store the answers to some questions."""
        # Whoever has told of an answer as it came is not asked for it again below.
        unanswered = {question.uid: question for question in questions}
        # Answers may come from several threads at once.
        lock = threading.Lock()

        def take_answer(query: Query, answer: Retrieved) -> None:
            with lock:
                self._store(source, unanswered[query.id], answer)
                del unanswered[query.id]

        try:
            run = source.ask(GoldDataset(tuple(map(query_of, questions))), take_answer)
        except StoreFailedError:
            raise
        except Exception as error:  # a user's module may raise anything when it is loaded
            kind = "" if isinstance(error, KragxError) else f"{type(error).__name__}: "
            self._tell(source.name, message("cannot be asked: {error}", error=f"{kind}{error}"))
            return
        nothing = Retrieved(error="it has no answer")
        for uid, question in unanswered.items():
            self._store(source, question, run.results.get(uid, nothing))
        self._tell(source.name, joined("; ", self._remarks(source.name)))

    def _store(self, source: SuggestionSource, question: Question, answer: Retrieved) -> None:
        """Store an answer as soon as it has come: who starts anew half way asks for the others."""
        if answer.error is not None:
            self._failed[source.name][question.uid] = answer.error
            return
        self._failed[source.name].pop(question.uid, None)
        rows = list(self._candidates(source, question, answer))
        self._add(rows)
        if not rows:
            uid = asking_uid(question, source.name, source.key)
            self._queue.answered_with_nothing(question.uid, uid)

    def _add(self, rows: list[SuggestedDocument]) -> None:
        with answering(within=_PATIENCE):
            self._state.add(rows)

    def _candidates(
        self, source: SuggestionSource, question: Question, answer: Retrieved
    ) -> Iterator[SuggestedDocument]:
        uid = asking_uid(question, source.name, source.key)
        for rank, doc in enumerate(answer.documents[: self._queue.plan.depth], start=1):
            document = self._in_corpus(doc)
            if document is None:
                self._not_in_corpus[source.name][doc.id or (doc.text or "")[:40]] = None
                continue
            yield SuggestedDocument(
                uid=uid,
                question=question.uid,
                document=document,
                origin="retriever",
                detail=source.name,
                rank=rank,
                score=doc.score,
            )

    def _in_corpus(self, doc: Doc) -> str | None:
        """The id of a document in the corpus; None if that has another text, and nothing like it.

        A retriever may put a heading before a text, or cut it; what it says of an id is believed
        as long as one of the two texts holds the other.
        """
        document = self._docs.get(doc.id) if doc.id is not None else None
        if doc.text is None:
            return None if document is None else doc.id
        text = normalise(doc.text)
        of_id = "" if document is None else normalise(document.text or "")
        if text and of_id and (text in of_id or of_id in text):
            return doc.id
        # Only once somebody's ids are not the corpus's: of a large one it takes seconds.
        if not self._of_text:
            for doc_id, candidate in self._docs.items():
                self._of_text.setdefault(normalise(candidate.text or ""), doc_id)
        return self._of_text.get(text) if text else None

    def _remarks(self, name: str) -> Iterator[str]:
        if failed := self._failed[name]:
            first, error = next(iter(failed.items()))
            values = {"n": len(failed), "question": first, "error": error}
            yield message("failed for {n} questions ({question!r}: {error})", **values)
        if absent := self._not_in_corpus[name]:
            yield message(
                "{n} documents that it found are not in the corpus, by id or by text (the first: "
                "{first!r}); was it made from another one?",
                n=len(absent),
                first=next(iter(absent)),
            )

    def _tell(self, name: str, text: str) -> None:
        """Say what is worth knowing, unless it was said before; empty where it is over."""
        if text and self._last_remarks.get(name) != text:
            self._say(joined(": ", [name, text]))
        self._last_remarks[name] = text


def neighbours(docs: Mapping[str, Doc]) -> dict[str, list[str]]:
    """For each chunk the one before and the one after it, where there are any.

    They are of the same source, by offsets, else in the corpus's order. A document without a source
    (`origin_of`), or alone of it, is whole, and has none.
    """
    of_source: defaultdict[str, list[tuple[int | None, str]]] = defaultdict(list)
    for doc_id, doc in docs.items():
        source, start = origin_of(doc)
        if source is not None:
            of_source[source].append((start, doc_id))
    beside: dict[str, list[str]] = {}
    for chunks in of_source.values():
        # Without offsets the order of the file is the best guess of how a source goes on.
        if all(start is not None for start, _ in chunks):
            chunks.sort(key=lambda chunk: chunk[0] or 0)
        ids = [doc_id for _, doc_id in chunks]
        beside |= {
            chunk: ids[max(0, n - 1) : n] + ids[n + 1 : n + 2] for n, chunk in enumerate(ids)
        }
    return beside
