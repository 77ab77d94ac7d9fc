"""An answer to one question, in the forms that tools give it, as a ranked list of documents."""

from collections.abc import Mapping, Sequence
from typing import Any

from kragx.data.documents import Doc, as_docs, clean_score, is_pair, named, needed_id
from kragx.data.foreign import answer_list, foreign_fields
from kragx.data.text import Mender
from kragx.ground.errors import DataError


def ranked(answer: Any, mender: Mender, place: str) -> tuple[Doc, ...]:
    """The ranked documents of an answer.

    Args:
        answer: a sequence of documents or of ``(document, score)`` pairs; scores by id, which are
            ranked as a TREC run; a mapping in which one list holds documents, as LangChain's chains
            give it (``{"context": [...]}``); or what a database's client gave (`answer_list`).
        mender: mends their texts.
        place: for errors.

    Raises:
        DataError: it is none of these; the error quotes it.
    """
    entries: Any = answer_list(answer)
    if entries is None and isinstance(answer, Mapping):
        if _are_scores(answer):
            scores = ((needed_id(key, mender), key, score) for key, score in answer.items())
            return rank_by_score(
                [
                    Doc(doc_id, score=clean_score(score, f"the score of {key!r}"))
                    for doc_id, key, score in scores
                ]
            )
        entries = _only_list(answer)
    entries = answer if entries is None else entries
    if not _is_list(entries):
        raise _no_list(answer, "a list of documents is expected")
    return as_docs(entries, mender, place)


def rank_by_score(docs: Sequence[Doc]) -> tuple[Doc, ...]:
    """A TREC run's order: by score descending, ties by id descending (as UTF-8 bytes)."""

    def key(doc: Doc) -> tuple[float, bytes]:
        score = float("-inf") if doc.score is None else doc.score
        return score, (doc.id or "").encode("utf-8", "surrogatepass")

    return tuple(sorted(docs, key=key, reverse=True))


def is_answer(value: object) -> bool:
    """Whether a value answers one question: a list of documents, or any mapping with some."""
    return _is_list(value) or isinstance(value, Mapping) or answer_list(value) is not None


def _are_scores(answer: Mapping[Any, Any]) -> bool:
    """Whether a mapping has numbers by id, and nothing else is meant."""
    return not any(map(_may_be_documents, answer.values())) and (
        not answer or any(hasattr(value, "__float__") for value in answer.values())
    )


def _may_be_documents(value: object) -> bool:
    """Whether a value is a list of documents or texts; an empty one may be."""
    return _is_list(value) and all(isinstance(doc, str) or is_doc(doc) for doc in value)  # type: ignore[attr-defined]


def _is_list(value: object) -> bool:
    # An array of numpy is no Sequence; a set is none either, and has no order.
    is_array = type(value).__name__ == "ndarray"
    return is_array or (isinstance(value, Sequence) and not isinstance(value, (str, bytes)))


def _only_list(answer: Mapping[Any, Any]) -> object:
    """The list of documents that a mapping holds."""
    lists = {name: value for name, value in answer.items() if _is_list(value)}
    documents = [name for name, value in lists.items() if len(value) and all(map(is_doc, value))]
    # Without any, an empty list or one of texts may be meant, but not one of anything else.
    texts = [name for name, value in lists.items() if all(isinstance(text, str) for text in value)]
    names = documents or texts
    if names and not any(len(lists[name]) for name in names):
        return []
    if len(names) == 1:
        return lists[names[0]]
    several = f"of {', '.join(map(repr, names))} it is not clear which" if names else "none"
    raise _no_list(answer, f"one list in it must hold documents, but {several} does")


def is_doc(value: object) -> bool:
    """Whether a value looks like a document of its own, and not like a mere text."""
    if is_pair(value):
        value = value[0]
    if isinstance(value, Mapping) and not value.keys().isdisjoint(
        ("id", "text", "page_content", "content")
    ):
        return True
    return isinstance(value, Doc) or foreign_fields(value) is not None


def _no_list(answer: object, problem: str) -> DataError:
    return DataError(f"the retriever returned {named(answer)}; {problem}")
