"""Searches and stages as results files hold them, and as Python code gives them.

    {"query", "retrieved": [...], "tool"?, "step"?, "seconds"?, "tokens"?, "error"?, "stages"?,
     "read"?: [...]}

Without ``retrieved`` a search gave no documents, and is unmeasured. A document may be its number
among the question's distinct ones: from 0 on those of the question's own list, then those that
searches add in their order, then those that stages add (`NumberedDocs`). What was
read are numbers, ids, or documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    unknown_field,
)
from kragx.data.searches import Search, Searches, Stage
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, inside, shorten

SEARCHES = "searches"
"""The name of the field."""

_TEXTS = ("query", "tool", "error")
_SHARED = (*_TEXTS, "step", "seconds", "tokens", "read", "stages")
_FIELDS = dict.fromkeys((*_SHARED, "retrieved"))
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


def as_searches(
    values: object, docs: NumberedDocs, repair: SurrogateRepair, *, strings: bool = False
) -> tuple[Search, ...]:
    """The searches of a question, in the order of the list.

    Args:
        values: mappings as in a results file; in Python `Search` as well.
        docs: the documents that numbers mean first; those that searches add become known.
        repair: mends their texts.
        strings: whether they come from Python, where a document may be a text, or another tool's.

    Raises:
        DataError: it is no such list; the error's field says where.
    """
    if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence):
        raise DataError("must be a list of searches, not {values}", values=shorten(values))
    read = partial(_search, docs=docs, repair=repair, strings=strings)
    searches = [*clean_each(values, read)]
    # Numbers in stages come behind those of all searches.
    for position, value in enumerate(values):
        if isinstance(value, Mapping) and (stages := value.get("stages")):
            with inside(f"[{position}].stages"):
                searches[position] = replace(
                    searches[position], stages=_stages(stages, docs, repair)
                )
    return tuple(searches)


def _stages(values: object, docs: NumberedDocs, repair: SurrogateRepair) -> tuple[Stage, ...]:
    if isinstance(values, (list, tuple)):
        if all(isinstance(value, Stage) for value in values):
            return tuple(values)
        values = [*values]
    return as_stages(values, docs, repair)


def _search(value: object, docs: NumberedDocs, repair: SurrogateRepair, *, strings: bool) -> Search:
    is_made = strings and isinstance(value, Search)
    of_docs = "documents" if is_made else "retrieved"
    if is_made:
        value = {name: getattr(value, name) for name in (*_SHARED, of_docs)}
    elif not isinstance(value, Mapping):
        raise DataError(
            "must be an object with 'query' and 'retrieved', not {value}", value=shorten(value)
        )
    elif unknown := [name for name in value if name not in _FIELDS]:
        raise unknown_field(str(unknown[0]), _FIELDS)
    fields: Mapping[str, Any] = value
    query, tool, error = (_text(fields.get(name), name, repair) for name in _TEXTS)
    error = error if error and error.strip() else None  # some write "" for none
    if error is not None and fields.get(of_docs):
        # An object of Python may keep what came before it failed; a file that says both is wrong.
        if not is_made:
            problem = "stands beside 'error', which says otherwise; keep one"
            raise DataError(problem, field=of_docs)
        fields = {**fields, of_docs: ()}
    return Search(
        query=query,
        documents=_docs(fields.get(of_docs), of_docs, docs, repair, strings=strings),
        tool=tool,
        step=_whole(fields.get("step"), "step", -LARGEST),
        seconds=clean_seconds(fields.get("seconds")),
        tokens=_whole(fields.get("tokens"), "tokens", 0),
        error=error,
        stages=tuple(fields["stages"]) if is_made else (),
        read=_read(fields.get("read"), repair, strings=strings),
    )


def _text(value: object, name: str, repair: SurrogateRepair) -> str | None:
    if value is None:
        return None
    with inside(name):
        return clean_text(value, repair)


def _docs(
    values: object, field: str, docs: NumberedDocs, repair: SurrogateRepair, *, strings: bool
) -> tuple[Doc, ...] | None:
    if values is None:
        return None
    came: tuple[Doc, ...] | None = None
    if strings and not _has_numbers(values):
        with inside(field):
            came = ranked(values, repair, "")
    elif not isinstance(values, (list, tuple)):
        problem = f"must be a list of documents, or of their numbers, not {shorten(values)}"
        raise DataError(problem, field=field)
    if came is None:
        return clean_each(values, partial(docs.read, strings=strings), field=field)  # type: ignore[arg-type]
    docs.add(*came)
    return came


def _read(
    values: object, repair: SurrogateRepair, *, strings: bool
) -> tuple[int | str | Doc, ...] | None:
    if values is None:
        return None

    def entry(value: object) -> int | str | Doc:
        """What was read: its number, which may be that of any document, its id, or itself."""
        if isinstance(value, str):
            return needed_id(value, repair)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, (Doc, Mapping)) or (strings and value is not None):
            return as_doc(value, repair, strings=False)
        raise DataError(
            "must be an id, or the number of a document, not {value}", value=named(value)
        )

    if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence):
        problem = f"must be a list of ids, or of documents' numbers, not {shorten(values)}"
        raise DataError(problem, field="read")
    return clean_each(values, entry, field="read")


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
    raise DataError("must be {kind}, not {value}", field=field, kind=kind, value=shorten(value))


def searches_of(answer: object, repair: SurrogateRepair) -> Searches | None:
    """An answer of somebody who searches, in kragx's own form; None of any other.

    It is a `Searches`, or any object or mapping whose ``searches`` are a list of them, with
    ``retrieved`` or ``documents`` beside it, where something was handed on in the end.

    Raises:
        DataError: one of the searches is none; its field says which.
    """
    searches = _field(answer, SEARCHES)
    if not isinstance(answer, Searches) and not _are_searches(searches, answer):
        return None
    error, docs = _field(answer, "error"), _field(answer, "retrieved")
    if docs is None:
        docs = _field(answer, "documents")
    if isinstance(error, BaseException):
        error = f"{type(error).__name__}: {error}"
    error = None if error is None else clean_text(error, repair)
    if docs is not None:
        with inside("retrieved"):
            docs = ranked(docs, repair, "")
    numbers = NumberedDocs(docs or (), repair, distinct=True)
    with inside(SEARCHES):
        cleaned = as_searches(searches, numbers, repair, strings=True)
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
        distinct: whether a document that stands twice in a list has one number; else what stands
            twice has two places, and numbers mean places.

    Attributes:
        docs: by number.
    """

    def __init__(
        self,
        retrieved: Iterable[Doc],
        repair: SurrogateRepair | None = None,
        *,
        distinct: bool = False,
    ) -> None:
        self._mender = repair or SurrogateRepair()
        self._distinct = distinct
        self._numbers: dict[Key, int] = {}
        self.docs: list[Doc] = []
        self.add(*retrieved)

    def add(self, *docs: Doc) -> None:
        """Make documents known."""
        for doc in docs:
            number = self._numbers.setdefault(key_of(doc), len(self.docs))
            if number == len(self.docs) or not self._distinct:
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

    def read(self, value: object, *, strings: bool = False) -> Doc:
        """A document, by its number or in full; then it is known from here on.

        Raises:
            DataError: it is none, or no document has the number.
        """
        if isinstance(value, int) and not isinstance(value, bool):
            return self.at(value)
        if isinstance(value, Mapping) and "same" in value:
            return self._changed(value)
        doc = as_doc(value, self._mender, strings=strings)
        self.add(doc)
        return doc

    def at(self, number: int) -> Doc:
        """The document with a number."""
        if not 0 <= number < len(self.docs):
            raise DataError(
                "there is no document {number} before it; there are {n_docs}",
                number=number,
                n_docs=len(self.docs),
            )
        return self.docs[number]

    def _changed(self, value: Mapping[str, Any]) -> Doc:
        """A known document with another score, or other metadata."""
        refuse_unknown(value, _CHANGED)
        number = value["same"]
        if not isinstance(number, int) or isinstance(number, bool):
            raise DataError(
                "must be a document's number, not {number}", field="same", number=shorten(number)
            )
        return replace(
            self.at(number),
            score=clean_score(value.get("score")),
            metadata=clean_metadata(value.get("metadata"), self._mender),
        )


def as_stages(
    values: object, documents: NumberedDocs, repair: SurrogateRepair
) -> tuple[Stage, ...]:
    """The stages of a results file; see `stage_records`.

    Args:
        values: the list.
        documents: those that numbers mean.
        repair: mends their texts.

    Raises:
        DataError: it is no such list; the error's field says where.
    """
    if not isinstance(values, list):
        raise DataError("must be a list of stages, not {values}", values=shorten(values))
    names = set[str]()

    def stage(value: object) -> Stage:
        if not isinstance(value, Mapping):
            raise DataError(
                "must be an object with 'name' and 'retrieved', not {value}", value=shorten(value)
            )
        refuse_unknown(value, _OF_STAGES)
        name = value.get("name")
        if not isinstance(name, str) or not name.strip():
            raise DataError(
                "must be the name of the stage, not {name}", field="name", name=shorten(name)
            )
        if name in names:
            raise DataError("{name!r} stands twice; number the second one", field="name", name=name)
        inputs = _entries(value, "inputs", "names of earlier stages")
        for source in inputs:
            # Of earlier ones alone, so that no stage leads back to itself.
            if not isinstance(source, str) or source not in names:
                raise DataError(
                    "no earlier stage is called {source}", field="inputs", source=shorten(source)
                )
        names.add(name)
        error = value.get("error")
        docs = _entries(value, "retrieved", "documents, or of their numbers")
        return Stage(
            name=repair.text(name),
            inputs=tuple(map(repair.text, inputs)),
            documents=clean_each(docs, documents.read, field="retrieved"),
            seconds=clean_seconds(value.get("seconds")),
            error=None if error is None else clean_text(error, repair),
        )

    return clean_each(values, stage)


def _entries(value: Mapping[str, Any], name: str, kind: str) -> list[Any]:
    entries = value.get(name)
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise DataError(
            "must be a list of {kind}, not {entries}",
            field=name,
            kind=kind,
            entries=shorten(entries),
        )
    return entries
