"""What must not be found for a question, as a workshop holds it and as releases do."""

from collections.abc import Iterator, Mapping

from kragx.data import Doc, Forbidden, SurrogateRepair
from kragx.data.forbidden import all_forbidden
from kragx.workshop.folder.places import known_place
from kragx.workshop.pairs.duplicates import Copies
from kragx.workshop.state.records import Judgement, Question
from kragx.workshop.state.state import State


def forbidden_of(
    state: State, question: Question, documents: Mapping[str, Doc], copies: Copies
) -> tuple[Forbidden, ...] | None:
    """What must not be found for a question: what came with it, and what people have marked.

    One person's mark is enough, and stays until they take it back: who has not marked a document
    has not said that it may come. It holds for copies too, which say the same.

    Args:
        state: what people said; its lock is held.
        question: the question.
        documents: of the corpus. What is no more in it is forbidden by its id alone.
        copies: of its documents.

    Returns:
        None where nobody has looked.

    Raises:
        DataError: what came with the question is no list of forbidden items.
    """
    came = all_forbidden(question.forbidden, SurrogateRepair())
    marked = [
        _of_document(copy, mark.why, documents)
        for document, mark in _marks(state, question.uid, copies)
        for copy in copies.all(document)
    ]
    return tuple(dict.fromkeys([*(came or []), *marked])) if marked or came is not None else None


def _marks(state: State, uid: str, copies: Copies) -> Iterator[tuple[str, Judgement]]:
    """The marks that count: of each person the newest of a document and its copies."""
    for document in dict.fromkeys(map(copies.first, state.marks.get(uid, ()))):
        for person in state.people:
            if mark := state.marked_by(person, uid, copies.all(document)):
                yield document, mark


def _of_document(doc_id: str, why: str, documents: Mapping[str, Doc]) -> Forbidden:
    doc = documents.get(doc_id)
    if doc is None:
        return Forbidden(doc_id, why=why)
    text, place = doc.text or "", known_place(doc)
    if place is None:
        return Forbidden(doc_id, text if text.strip() else None, why=why)
    source, start = place
    return Forbidden(doc_id, text if text.strip() else None, source, start, start + len(text), why)
