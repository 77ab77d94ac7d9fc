"""Searches as results files hold them, and as Python code gives them.

    {"query", "retrieved": [...], "tool"?, "step"?, "seconds"?, "tokens"?, "error"?, "stages"?,
     "read"?: [...]}

Without ``retrieved`` a search gave no documents, and is unmeasured. A document may be its number
among the question's distinct ones: from 0 on those of the question's own list, then those that
searches add in their order, then those that stages add (`kragx.data.stages.WrittenDocs`). What was
read are numbers, ids, or documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kragx.data.answers import ranked
from kragx.data.documents import (
    Doc,
    as_doc,
    clean_each,
    clean_seconds,
    clean_text,
    doc_record,
    named,
    needed_id,
    present,
    unknown_field,
)
from kragx.data.entries import Columns
from kragx.data.searches import Search, Searches
from kragx.data.stages import NumberedDocs, Stage, WrittenDocs, as_stages, stage_records
from kragx.data.text import Mender
from kragx.errors import DataError, inside, shorten

SEARCHES = "searches"
"""The name of the field."""

_SHARED = ("query", "tool", "step", "seconds", "tokens", "error", "read")
_FIELDS = dict.fromkeys((*_SHARED, "retrieved", "stages"))
_OF_OBJECT = (*_SHARED, "documents")
LARGEST = 10**12
"""More tokens than this, or more steps, are a mistake."""


def search_records(searches: Iterable[Search], docs: WrittenDocs) -> list[dict[str, Any]]:
    """Searches as a results file holds them: each document is written once."""
    searches = tuple(searches)
    lists = [
        None if search.documents is None else list(map(docs.record, search.measured))
        for search in searches
    ]
    # Before stages make further documents known.
    reads = [_read_records(search.read, docs) for search in searches]
    return [
        present(query=search.query)
        | ({} if entries is None or search.error is not None else {"retrieved": entries})
        | present(
            tool=search.tool,
            step=search.step,
            seconds=search.seconds,
            tokens=search.tokens,
            error=search.error,
            stages=stage_records(search.stages, docs),
        )
        | ({} if read is None else {"read": read})
        for search, entries, read in zip(searches, lists, reads)
    ]


def _read_records(entries: Iterable[int | str | Doc] | None, docs: WrittenDocs) -> Any:
    return None if entries is None else [_read_record(entry, docs) for entry in entries]


def _read_record(entry: int | str | Doc, docs: WrittenDocs) -> int | str | dict[str, Any]:
    if not isinstance(entry, Doc):
        return entry
    number = docs.number(entry)
    if number is not None:
        return number
    return doc_record(entry) if entry.id is None else entry.id


def as_searches(
    values: object, docs: NumberedDocs, mender: Mender, *, strings: bool = False
) -> tuple[Search, ...]:
    """The searches of a question, in the order of the list.

    Args:
        values: mappings as in a results file; in Python `Search` as well.
        docs: the documents that numbers mean first; those that searches add become known.
        mender: mends their texts.
        strings: whether they come from Python, where a document may be a text, or another tool's.

    Raises:
        DataError: it is no such list; the error's field says where.
    """
    if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence):
        raise DataError(f"must be a list of searches, not {shorten(values)}")
    reader = _Reader(docs, mender, strings)
    searches = clean_each(values, reader.search)
    # Numbers in stages come behind those of all searches.
    return tuple(
        search if value is None else reader.with_stages(position, search, value)
        for position, (search, value) in enumerate(zip(searches, map(_stages_in, values)))
    )


def _stages_in(value: object) -> object:
    return value.get("stages") if isinstance(value, Mapping) else None


@dataclass
class _Reader:
    docs: NumberedDocs
    mender: Mender
    strings: bool

    def search(self, value: object) -> Search:
        if isinstance(value, Search) and self.strings:
            of_docs = "documents"
            fields: Mapping[str, Any] = {name: getattr(value, name) for name in _OF_OBJECT}
            if self._error(value.error) is not None:
                fields = {**fields, of_docs: ()}
        else:
            of_docs, fields = "retrieved", self._checked(value)
        return Search(
            query=self._cleaned(fields.get("query"), "query"),
            documents=self._docs(fields.get(of_docs), of_docs),
            tool=self._cleaned(fields.get("tool"), "tool"),
            step=_whole(fields.get("step"), "step", -LARGEST),
            seconds=clean_seconds(fields.get("seconds")),
            tokens=_whole(fields.get("tokens"), "tokens", 0),
            error=self._error(fields.get("error")),
            stages=tuple(value.stages) if isinstance(value, Search) else (),
            read=self._read(fields.get("read")),
        )

    def _checked(self, value: object) -> Mapping[str, Any]:
        """A mapping with the fields of a search, and nothing that its error denies."""
        if not isinstance(value, Mapping):
            raise DataError(f"must be an object with 'query' and 'retrieved', not {shorten(value)}")
        if not value.keys() <= _FIELDS.keys():
            name = next(str(name) for name in value if name not in _FIELDS)
            raise unknown_field(name, _FIELDS)
        if value.get("retrieved") and self._error(value.get("error")) is not None:
            raise DataError(
                "stands beside 'error', which says otherwise; keep one", field="retrieved"
            )
        return value

    def _error(self, value: object) -> str | None:
        error = self._cleaned(value, "error")
        return error if error and error.strip() else None  # some write "" for none

    def _cleaned(self, text: object, name: str) -> str | None:
        if text is None:
            return None
        with inside(name):
            return clean_text(text, self.mender)

    def _docs(self, values: object, field: str) -> tuple[Doc, ...] | None:
        if values is None:
            return None
        values = _as_list(values)
        if self.strings and not _has_numbers(values):
            with inside(field):
                docs = ranked(values, self.mender, "")
            self.docs.add(*docs)
            return docs
        if (plain := Columns.of_records(values, "score")) is not None:
            docs = tuple(plain.documents())
            self.docs.add(*docs)
            return docs
        if not isinstance(values, (list, tuple)):
            raise DataError(
                f"must be a list of documents, or of their numbers, not {shorten(values)}",
                field=field,
            )
        return clean_each(values, self._doc, field=field)

    def _doc(self, value: object) -> Doc:
        return self.docs.read(value, strings=self.strings)

    def _read(self, values: object) -> tuple[int | str | Doc, ...] | None:
        if values is None:
            return None
        values = _as_list(values)
        if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence):
            raise DataError(
                f"must be a list of ids, or of documents' numbers, not {shorten(values)}",
                field="read",
            )
        return clean_each(values, self._read_entry, field="read")

    def _read_entry(self, value: object) -> int | str | Doc:
        """What was read: its number, which may be that of any document, its id, or itself."""
        if isinstance(value, str):
            return needed_id(value, self.mender)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, (Doc, Mapping)) or (self.strings and value is not None):
            return as_doc(value, self.mender, strings=False)
        raise DataError(f"must be an id, or the number of a document, not {named(value)}")

    def with_stages(self, position: int, search: Search, values: object) -> Search:
        with inside(f"[{position}].stages"):
            return replace(search, stages=self._stages(values))

    def _stages(self, values: object) -> tuple[Stage, ...]:
        if self.strings and isinstance(values, tuple):
            values = [*values]
        if isinstance(values, list) and values and all(isinstance(v, Stage) for v in values):
            return tuple(values)
        return as_stages(values, self.docs, self.mender) if values else ()


def _as_list(values: object) -> object:
    """An array, which a frame has for what a Parquet file lists, as a list."""
    return values.tolist() if type(values).__name__ == "ndarray" else values  # type: ignore[attr-defined]


def _has_numbers(values: object) -> bool:
    """Whether documents are given by their numbers, which files and mappings in their form do."""
    return isinstance(values, (list, tuple)) and any(
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, Mapping) and "same" in value)
        for value in values
    )


def _whole(value: object, field: str, least: int) -> int | None:
    """A whole number, which may be written as 3.0; None if there is none."""
    if value is None:
        return None
    number: Any = value.__index__() if hasattr(value, "__index__") else value
    is_number = isinstance(number, (int, float)) and not isinstance(value, bool)
    if is_number and least <= number <= LARGEST and int(number) == number:  # which NaN is not
        return int(number)
    kind = f"a whole number, {least:,} to {LARGEST:,}"
    raise DataError(f"must be {kind}, not {shorten(value)}", field=field)


def searches_of(answer: object, mender: Mender) -> Searches | None:
    """An answer of somebody who searches, in kragx's own form; None of any other.

    It is a `Searches`, or any object or mapping whose ``searches`` are a list of them, with
    ``retrieved`` or ``documents`` beside it, where something was handed on in the end.

    Raises:
        DataError: one of the searches is none; its field says which.
    """
    searches = _field(answer, SEARCHES)
    if not isinstance(answer, Searches) and not _are_searches(searches, answer):
        return None
    handed_on = next(
        (docs for name in _HANDED_ON if (docs := _field(answer, name)) is not None), None
    )
    error = _field(answer, "error")
    if error is not None:
        is_raised = isinstance(error, BaseException)
        error = clean_text(f"{type(error).__name__}: {error}" if is_raised else error, mender)
    docs = None
    if handed_on is not None:
        with inside("retrieved"):
            docs = ranked(handed_on, mender, "")
    numbers = NumberedDocs(docs or (), mender, distinct=True)
    with inside(SEARCHES):
        cleaned = as_searches(searches, numbers, mender, strings=True)
    seconds = clean_seconds(_field(answer, "seconds")) if isinstance(answer, Searches) else None
    return Searches(cleaned, docs, seconds, error if error and error.strip() else None)


_HANDED_ON = ("retrieved", "documents")


def _field(answer: object, name: str) -> Any:
    return answer.get(name) if isinstance(answer, Mapping) else getattr(answer, name, None)


def _are_searches(values: object, answer: object) -> bool:
    """Whether a list holds searches: words that were searched for are none.

    An empty one in a mapping with another list says nothing of searches.
    """
    if not isinstance(values, (list, tuple)):
        return False
    if not values and isinstance(answer, Mapping):
        return not any(isinstance(value, (list, tuple)) and value for value in answer.values())
    return all(map(_is_search, values))


def _is_search(value: object) -> bool:
    return isinstance(value, (Search, Mapping))
