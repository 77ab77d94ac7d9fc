"""What retrievers answer with, and what they fail with."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, ValuesView
from typing import Any

from kragx.data import Doc, SurrogateRepair
from kragx.data.documents import is_doc, named, ranked
from kragx.ground.errors import DataError, KragxError


class Mended(list[Doc]):
    """Documents that were read already, and how many lone surrogates were replaced in them."""

    def __init__(self, documents: Iterable[Doc], n_replaced: int) -> None:
        super().__init__(documents)
        self.n_replaced = n_replaced


def collected(answer: Any) -> Any:
    """An answer of which nothing is still to come: what is yielded one by one, as a list."""
    return list(answer) if isinstance(answer, (Iterator, ValuesView)) else answer


def reason_of(error: BaseException) -> str:
    """Why something failed: the error's own name, and what it says, in English as in files."""
    try:
        return f"{type(error).__name__}: {error.text if isinstance(error, KragxError) else error}"
    except Exception:  # a user's error may fail to say what it is
        return f"{type(error).__name__}: (it cannot be printed)"


_LISTS = (list, tuple, set, frozenset)


def is_reply(answer: Any) -> bool:
    """Whether an answer is what somebody says who searched: words, messages, an object, nothing.

    It is no list, and no mapping in which documents stand.
    """
    if isinstance(answer, Mapping):
        lists = (value for value in answer.values() if isinstance(value, (list, tuple)))
        return not any(any(map(is_doc, entries)) for entries in lists)
    is_list = isinstance(answer, _LISTS) or type(answer).__name__ in ("ndarray", "DataFrame")
    return not is_list and not inspect.iscoroutine(answer)


def documents_of(answer: Any, repair: SurrogateRepair) -> tuple[Doc, ...]:
    """The ranked documents of an answer, as `ranked` reads it.

    Raises:
        DataError: as `ranked`; or the answer was not awaited.
    """
    if inspect.iscoroutine(answer):
        answer.close()
        problem = "it was not awaited: make the function async def"
        raise DataError("the retriever returned {answer}; {why}", answer=named(answer), why=problem)
    if isinstance(answer, Mended):
        repair.surrogates += answer.n_replaced
    return ranked(answer, repair, "retrieved")
