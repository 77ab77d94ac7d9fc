"""Searches and stages as results files hold them, and as Python code gives them.

    {"query", "retrieved": [...], "tool"?, "step"?, "seconds"?, "tokens"?, "error"?, "stages"?,
     "read"?: [...]}

Without ``retrieved`` a search gave no documents, and is unmeasured. A document may be its number
among the question's distinct ones: from 0 on those of the question's own list, then those that
searches add in their order, then those that stages add (`NumberedDocs`). What was
read are numbers, ids, or documents.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from kragx.data.documents import (
    Doc,
    Key,
    as_doc,
    clean_each,
    clean_metadata,
    clean_number,
    clean_score,
    clean_seconds,
    clean_text,
    doc_record,
    key_of,
    named,
    needed_id,
    present,
    ranked,
    refuse_unknown,
    score_record,
)
from kragx.data.searches import Search, Searches, Stage
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, inside, shorten
from kragx.ground.printing import message

SEARCHES = "searches"
"""The name of the field."""

_TEXTS = ("query", "tool", "error")
_SHARED = (*_TEXTS, "step", "seconds", "tokens", "read", "stages")
_FIELDS = dict.fromkeys((*_SHARED, "retrieved")).keys()
LARGEST = 10**12
"""More tokens than this, or more steps, are a mistake."""


def search_records(searches: Sequence[Search], docs: NumberedDocs) -> list[dict[str, Any]]:
    """Searches as a results file holds them: each document is written once."""
    # First all documents of searches, then what was read, then what stages make known besides.
    lists = [list(map(docs.record, search.measured)) for search in searches]
    reads = [None if s.read is None else [_read_record(e, docs) for e in s.read] for s in searches]
    return [
        present(query=search.query)
        | ({"retrieved": entries} if search.is_measured else {})
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


def _read_record(entry: int | str | Doc, docs: NumberedDocs) -> int | str | dict[str, Any]:
    if not isinstance(entry, Doc):
        return entry
    number = docs.number(entry)
    if number is None:
        return doc_record(entry) if entry.id is None else entry.id
    return number


def as_searches(values: object, docs: NumberedDocs) -> tuple[Search, ...]:
    """The searches of a question, in the order of the list.

    Args:
        values: mappings as in a results file; in Python `Search` as well.
        docs: the documents that numbers mean first; those that searches add become known.

    Raises:
        DataError: it is no such list; the error's field says where.
    """
    records = _list(values, message("searches"))
    searches = [*clean_each(records, partial(_search, docs=docs))]
    # Numbers in stages come behind those of all searches.
    for position, record in enumerate(records):
        if isinstance(record, Mapping) and (stages := record.get("stages")):
            with inside(f"[{position}].stages"):
                searches[position] = replace(searches[position], stages=as_stages(stages, docs))
    return tuple(searches)


def _search(value: object, docs: NumberedDocs) -> Search:
    fields: Mapping[str, Any]
    if is_made := docs.strings and isinstance(value, Search):
        fields = {name: getattr(value, name) for name in (*_SHARED, "documents")}
    else:
        fields = _object(value, "query", _FIELDS)
    of_docs = "documents" if is_made else "retrieved"
    values = fields.get(of_docs)
    query, tool, error = (_text(fields, name, docs.repair) for name in _TEXTS)
    error = error if error and error.strip() else None  # some write "" for none
    if error is not None and values:
        # An object of Python may keep what came before it failed; a file that says both is wrong.
        if not is_made:
            problem = message("stands beside 'error', which says otherwise; keep one")
            raise DataError(problem, field=of_docs)
        values = ()
    return Search(
        query=query,
        documents=None if values is None else docs.documents(values, of_docs),
        tool=tool,
        step=_whole(fields, "step", -LARGEST),
        seconds=clean_seconds(fields.get("seconds")),
        tokens=_whole(fields, "tokens", 0),
        error=error,
        stages=tuple(fields["stages"]) if is_made else (),
        read=None if fields.get("read") is None else docs.read_entries(fields["read"]),
    )


def _object(value: object, name: str, names: KeysView[str]) -> Mapping[str, Any]:
    """What stands in a list, as an object with some fields; a `DataError` where it is none."""
    if not isinstance(value, Mapping):
        raise DataError(
            "must be an object with {name!r} and 'retrieved', not {value}",
            name=name,
            value=shorten(value),
        )
    refuse_unknown(value, names)
    return value


def _list(values: object, kind: str, field: str = "") -> Sequence[Any]:
    """A list, of JSON or of Python; a `DataError` where it is none."""
    if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence):
        raise DataError(
            "must be a list of {kind}, not {entries}",
            field=field,
            kind=kind,
            entries=shorten(values),
        )
    return values


def _text(fields: Mapping[str, Any], name: str, repair: SurrogateRepair) -> str | None:
    with inside(name):
        return None if fields.get(name) is None else clean_text(fields[name], repair)


def _whole(fields: Mapping[str, Any], name: str, least: int) -> int | None:
    """A whole number, which may be written as 3.0; None if there is none."""
    value = fields.get(name)
    if value is None:
        return None
    with suppress(DataError):
        number = clean_number(value, name) or 0.0
        if number.is_integer() and least <= number <= LARGEST:
            return int(number)
    kind = f"a whole number, {least:,} to {LARGEST:,}"
    raise DataError("must be {kind}, not {value}", field=name, kind=kind, value=shorten(value))


def searches_of(answer: object, repair: SurrogateRepair) -> Searches | None:
    """An answer of somebody who searches, in kragx's own form; None of any other.

    It is a `Searches`, or any object or mapping whose ``searches`` are a list of them, with
    ``retrieved`` or ``documents`` beside it, where something was handed on in the end.

    Raises:
        DataError: one of the searches is none; its field says which.
    """
    searches, error, docs = (_field(answer, name) for name in (SEARCHES, "error", "retrieved"))
    if not isinstance(answer, Searches) and not _are_searches(searches, answer):
        return None
    docs = _field(answer, "documents") if docs is None else docs
    if isinstance(error, BaseException):
        error = f"{type(error).__name__}: {error}"
    error = None if error is None else clean_text(error, repair)
    if docs is not None:
        with inside("retrieved"):
            docs = ranked(docs, repair, "")
    with inside(SEARCHES):
        cleaned = as_searches(searches, NumberedDocs(docs or (), repair, strings=True))
    seconds = clean_seconds(_field(answer, "seconds")) if isinstance(answer, Searches) else None
    return Searches(cleaned, docs, seconds, error if error and error.strip() else None)


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
    return all(isinstance(value, (Search, Mapping)) for value in values)


# -- stages ----------------------------------------------------------------------------------------

_OF_STAGES = dict.fromkeys(("name", "inputs", "retrieved", "seconds", "error")).keys()
_CHANGED = dict.fromkeys(("same", "score", "metadata")).keys()
_DOCUMENTS = "documents, or of their numbers"


def stage_records(stages: Iterable[Stage], docs: NumberedDocs) -> list[dict[str, Any]]:
    """Stages as a results file holds them: each document is written once."""
    return [
        {
            "name": stage.name,
            **present(inputs=list(stage.inputs)),
            "retrieved": list(map(docs.record, stage.documents)),
            **present(seconds=stage.seconds, error=stage.error),
        }
        for stage in stages
    ]


class NumberedDocs:
    """Documents of one question as a results file holds them: each is written once.

    One that stands in `retrieved`, or was written before, is its number: from 0 on those of
    `retrieved`, then those that were written in full. Where its score or metadata are others, these
    stand beside the number: ``{"same": 3, "score": 0.7}``.

    Args:
        retrieved: what the question got.
        repair: mends the texts of those that are read.
        strings: whether these come from Python, where a document may be a text, or another tool's.

    Attributes:
        docs: by number, each once.
    """

    def __init__(
        self,
        retrieved: Iterable[Doc],
        repair: SurrogateRepair | None = None,
        *,
        strings: bool = False,
    ) -> None:
        self.repair: SurrogateRepair = repair or SurrogateRepair()
        self.strings: bool = strings
        self._numbers: dict[Key, int] = {}
        self.docs: list[Doc] = []
        self.add(*retrieved)

    def add(self, *docs: Doc) -> None:
        """Make documents known."""
        for doc in docs:
            if self._numbers.setdefault(key_of(doc), len(self.docs)) == len(self.docs):
                self.docs.append(doc)

    def number(self, doc: Doc) -> int | None:
        """The number of a document; None if it is not known."""
        return self._numbers.get(key_of(doc))

    def record(self, doc: Doc) -> int | dict[str, Any]:
        """A document as it is written, from here on known."""
        number = self.number(doc)
        if number is None:
            self.add(doc)
            return doc_record(doc)
        with suppress(Exception):  # whatever foreign values raise when they are compared
            if self.docs[number] is doc or self.docs[number] == doc:
                return number
        return {"same": number, "score": score_record(doc.score), "metadata": dict(doc.metadata)}

    def documents(self, values: object, field: str) -> tuple[Doc, ...]:
        """Documents as they stand in a field, or as a retriever gave them; from here on known."""
        has_numbers = isinstance(values, (list, tuple)) and any(
            type(value) is int or (isinstance(value, Mapping) and "same" in value)
            for value in values
        )
        if has_numbers or not self.strings:
            return clean_each(_list(values, _DOCUMENTS, field), self.read, field=field)
        with inside(field):
            docs = ranked(values, self.repair, "")
        self.add(*docs)
        return docs

    def read_entries(self, values: object) -> tuple[int | str | Doc, ...]:
        """What was read: numbers, which may be those of any document, ids, or documents."""

        def entry(value: object) -> int | str | Doc:
            if isinstance(value, str):
                return needed_id(value, self.repair)
            if type(value) is int:
                return value
            if isinstance(value, (Doc, Mapping)) or (self.strings and value is not None):
                return as_doc(value, self.repair, strings=False)
            raise DataError(
                "must be an id, or the number of a document, not {value}", value=named(value)
            )

        entries = _list(values, "ids, or of documents' numbers", "read")
        return clean_each(entries, entry, field="read")

    def read(self, value: object) -> Doc:
        """A document, by its number or in full; then it is known from here on.

        Beside a number may stand another score, or other metadata.

        Raises:
            DataError: it is none, or no document has the number.
        """
        is_changed = isinstance(value, Mapping) and "same" in value
        if type(value) is not int and not is_changed:
            doc = as_doc(value, self.repair, strings=self.strings)
            self.add(doc)
            return doc
        fields: Any = value if is_changed else {"same": value}
        refuse_unknown(fields, _CHANGED)
        number = fields["same"]
        if type(number) is not int:
            raise DataError(
                "must be a document's number, not {number}", field="same", number=shorten(number)
            )
        if not 0 <= number < len(self.docs):
            raise DataError(
                "there is no document {number} before it; there are {n_docs}",
                number=number,
                n_docs=len(self.docs),
            )
        if not is_changed:
            return self.docs[number]
        metadata = clean_metadata(fields.get("metadata"), self.repair)
        score = clean_score(fields.get("score"))
        return replace(self.docs[number], score=score, metadata=metadata)


def as_stages(values: object, docs: NumberedDocs) -> tuple[Stage, ...]:
    """The stages of a results file (`stage_records`), whose numbers mean some documents.

    Raises:
        DataError: it is no such list; the error's field says where.
    """
    names = set[str]()

    def stage(value: object) -> Stage:
        if isinstance(value, Stage):  # of Python code
            return value
        fields = _object(value, "name", _OF_STAGES)
        name = fields.get("name")
        if not isinstance(name, str) or not name.strip():
            raise DataError(
                "must be the name of the stage, not {name}", field="name", name=shorten(name)
            )
        if name in names:
            raise DataError("{name!r} stands twice; number the second one", field="name", name=name)
        inputs, entries = (
            () if fields.get(field) is None else _list(fields[field], kind, field)
            for field, kind in (("inputs", "names of earlier stages"), ("retrieved", _DOCUMENTS))
        )
        for source in inputs:
            # Of earlier ones alone, so that no stage leads back to itself.
            if not isinstance(source, str) or source not in names:
                raise DataError(
                    "no earlier stage is called {source}", field="inputs", source=shorten(source)
                )
        names.add(name)
        return Stage(
            name=docs.repair.text(name),
            inputs=tuple(map(docs.repair.text, inputs)),
            documents=clean_each(entries, docs.read, field="retrieved"),
            seconds=clean_seconds(fields.get("seconds")),
            error=_text(fields, "error", docs.repair),
        )

    return clean_each(_list(values, message("stages")), stage)
