"""The documents of the corpus: read, searched, and with what stands around them."""

import threading

from kragx.workshop.forms import SearchForm
from kragx.workshop.search import PassageIndex
from kragx.workshop.services.context import Context, Plain, plain_judgement
from kragx.workshop.state.records import Person


class Passages:
    """The corpus as people read it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._search: PassageIndex | None = None
        self._lock = threading.Lock()

    def document(self, document: str) -> Plain:
        """A document of the corpus; an `UnknownError` if it has none."""
        return self._context.document(document)

    def around(self, document: str) -> Plain:
        """The texts before and after a document in its source, None where there is none.

        Raises:
            UnknownError: the corpus has no such document.
        """
        self.document(document)
        before, after = (
            None if neighbour is None else self.document(neighbour)["text"]
            for neighbour in self._context.suggester.beside.around(document)
        )
        return {"before": before, "after": after}

    def search(self, person: Person, form: SearchForm) -> Plain:
        """Documents by somebody's own words, best first, with what they have said of them."""
        ids = self.index().best(form.q) if form.q.strip() else []
        state, passages = self._context.state, []
        with state.lock:
            for document in ids:
                newest = state.newest((form.question or "", document), person.uid)
                mine = None if newest is None else plain_judgement(newest)
                passages.append({**self.document(document), "mine": mine})
        for passage in passages:
            meeting = self._context.meetings.of(form.q, passage["text"])
            passage["words"] = [list(span) for span in meeting.spans]
        return {"documents": passages}

    def index(self) -> PassageIndex:
        """What finds documents by words, made when it is first asked for."""
        with self._lock:
            if self._search is None:
                self._search = PassageIndex(self._context.documents, self._context.copies.first)
            return self._search
