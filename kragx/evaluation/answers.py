"""What retrievers answer with: ranked lists of documents, in the forms that libraries give them."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from typing import Any

from kragx.data import Doc, Mender, as_docs
from kragx.data.documents import is_pair, named
from kragx.data.foreign import foreign_fields
from kragx.errors import DataError


class Mended(list[Doc]):
    """Documents that were read already, and how many lone surrogates were replaced in them."""

    def __init__(self, documents: Iterable[Doc], n_replaced: int) -> None:
        super().__init__(documents)
        self.n_replaced = n_replaced


def collected(answer: Any) -> Any:
    """An answer of which nothing is still to come: what is yielded one by one, as a list."""
    return list(answer) if isinstance(answer, (Iterator, ValuesView)) else answer


def reason_of(error: BaseException) -> str:
    """Why something failed: the error's own name, and what it says."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # a user's error may fail to say what it is
        return f"{type(error).__name__}: (it cannot be printed)"


def documents_of(answer: Any, mender: Mender) -> tuple[Doc, ...]:
    """The ranked documents of an answer.

    Args:
        answer: a sequence of documents or of ``(document, score)`` pairs, or a mapping in which one
            list holds documents, as LangChain's chains give it (``{"context": [...]}``).
        mender: mends their texts.

    Raises:
        DataError: it is none of these; the error quotes it.
    """
    if isinstance(answer, Mapping):
        answer = _only_list(answer)
    if not _is_list(answer):
        if inspect.iscoroutine(answer):
            answer.close()
            raise _no_list(answer, "it was not awaited: make the function async def")
        raise _no_list(answer, "a list of documents is expected")
    if isinstance(answer, Mended):
        mender.surrogates += answer.n_replaced
    return as_docs(answer, mender, "retrieved")


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
    if isinstance(value, Mapping):
        return not value.keys().isdisjoint(("id", "text", "page_content"))
    return isinstance(value, Doc) or foreign_fields(value) is not None


def _no_list(answer: object, problem: str) -> DataError:
    return DataError(f"the retriever returned {named(answer)}; {problem}")
