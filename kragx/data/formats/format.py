"""What a format is: the fields of its records, what they hold, and how a record is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, ClassVar, TypeVar

from kragx.data.documents import (
    Doc,
    as_docs,
    clean_id,
    clean_metadata,
    clean_number,
    refuse_string,
    unknown_field,
)
from kragx.data.gold import Gold, Query, as_gold
from kragx.data.problems import Level, Problems
from kragx.data.runs import Retrieved
from kragx.data.text import Mender
from kragx.errors import DataError, shorten

Read = Iterator[tuple[Query, Retrieved | None]]
"""Queries, each with what the record says was retrieved; an id "" has been reported."""

Place = tuple[str | int, ...]
"""The keys and positions that lead to a part of a JSON value: ``("queries", "q1")``."""

_Cleaned = TypeVar("_Cleaned")


class Kind(Enum):
    """What a field holds, so that the cells of tables can be read."""

    TEXT = auto()
    WORD = auto()  # a text without white space around it
    FLAG = auto()
    NUMBER = auto()
    JSON = auto()
    TEXTS = auto()  # a list; in a cell a line each
    IDS = auto()  # a list of short texts; in a cell also separated by commas
    GOLD_TEXTS = auto()  # the same, where an empty cell says that there is no gold
    GOLD_IDS = auto()


class Format:
    """A format whose records say what queries there are.

    A new one is a file beside this one with a class of its own, and its line in
    `kragx.data.formats`.
    """

    name: ClassVar[str]
    fields: ClassVar[Mapping[str, Kind]]
    """Every field that its records may have."""
    marks: ClassVar[tuple[str, ...]]
    """Fields that only this format has."""
    key: ClassVar[str] = "query_id"
    """The field that holds the query's id."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Whether a record has a field that only this format has."""
        return any(mark in record for mark in self.marks)

    def read(self, fields: Fields) -> Read:
        """What a record says: as a rule one query; its mistakes are reported to `fields`."""
        raise NotImplementedError


@dataclass
class Fields:
    """The fields of one record; what is wrong with them is reported, not raised.

    Attributes:
        record: the fields' values.
        problems: is told of every mistake.
        mender: replaces lone surrogates.
        line: where the record begins; a format whose record is a whole file moves it.
        number: the record's number, from 1.
        query_id: for reports.
        lines: of a file that is one JSON value, the line of each part.
    """

    record: Mapping[str, Any]
    problems: Problems
    mender: Mender
    line: int | None = None
    number: int = 1
    query_id: str | None = None
    lines: Mapping[Place, int] = field(default_factory=dict)

    def report(self, name: str, message: str, level: Level = "error") -> None:
        """Report what is wrong with a field."""
        self.problems.add(self.line, name, message, level, self.query_id)

    def only(self, known: Iterable[str]) -> None:
        """Report every field that is not among the known ones."""
        for name in self.record:
            if name not in known:
                self._refused(unknown_field(str(name), known))

    def rest(self, known: Iterable[str]) -> dict[str, Any]:
        """What another tool's record holds besides, to be kept under metadata."""
        return {name: value for name, value in self.record.items() if name not in known}

    def id(self, name: str) -> str:
        """The query's id; empty where it is missing, which is reported."""
        query_id = self._cleaned(name, clean_id, self.record.get(name), self.mender)
        if not query_id and self.record.get(name) in (None, ""):
            self.report(name, "missing; each query needs an id of its own")
        return query_id or ""

    def text(self, name: str, *, needed: bool = False) -> str | None:
        """A text."""
        value = self.record.get(name)
        if needed and (value is None or (isinstance(value, str) and not value.strip())):
            self.report(name, "missing; a question needs its text")
            return None
        if value is None:
            return None
        if not isinstance(value, str):
            self.report(name, f"must be a text, not {shorten(value)}")
            return None
        return self.mender.mend(value)

    def texts(self, name: str) -> list[str]:
        """A list of texts; a single text is one."""
        value = self.record.get(name)
        if isinstance(value, str):
            return [self.mender.mend(value)]
        texts = []
        for position, text in enumerate(self._list(name, "texts")):
            if isinstance(text, str) and text.strip():
                texts.append(self.mender.mend(text))
            else:
                self.report(f"{name}[{position}]", f"must be a text, not {shorten(text)}")
        return texts

    def names(self, name: str) -> tuple[str, ...]:
        """A list of names, such as types of documents."""
        names = self._list(name, "texts")
        for position, text in enumerate(names):
            if not isinstance(text, str):
                self.report(f"{name}[{position}]", f"must be a text, not {shorten(text)}")
        return tuple(self.mender.mend(text) for text in names if isinstance(text, str))

    def flag(self, name: str) -> bool | None:
        """True or false."""
        value = self.record.get(name)
        if value is None or isinstance(value, bool):
            return value
        self.report(name, f"must be true or false, not {shorten(value)}")
        return None

    def metadata(self, **more: Any) -> dict[str, Any]:
        """The metadata, a copy; with what the format keeps under other names."""
        own = self._cleaned("", clean_metadata, self.record.get("metadata")) or {}
        return {**{name: value for name, value in more.items() if value}, **own}

    def ids(self, name: str) -> list[str]:
        """A list of ids."""
        return self._ids(name, self._list(name, "ids"))

    def id_groups(self, name: str) -> list[tuple[str, ...]]:
        """A list of ids, or of lists of ids of which any one serves."""
        groups = []
        for position, entry in enumerate(self._list(name, "ids")):
            if entry == []:
                self.report(
                    f"{name}[{position}]", "an empty list; it should hold the ids that serve"
                )
            ids = self._ids(name, entry if isinstance(entry, list) else [entry], position)
            if ids:
                groups.append(tuple(dict.fromkeys(ids)))
        return groups

    def _ids(self, name: str, values: Iterable[object], position: int | None = None) -> list[str]:
        ids = []
        for number, value in enumerate(values):
            place = f"{name}[{number if position is None else position}]"
            doc_id = self._cleaned(place, clean_id, value, self.mender)
            if value is None or (doc_id is not None and not doc_id.strip()):
                self.report(place, "the id is empty; remove it or fill it in")
            elif doc_id is not None:
                ids.append(doc_id)
        return ids

    def golds(self, name: str = "gold") -> list[Gold]:
        """Gold items as in a gold file; the broken ones are reported and left out."""
        golds = []
        for position, item in enumerate(self._list(name, "gold items", null=False)):
            gold = self._cleaned(f"{name}[{position}]", _gold_in_file, item, self.mender)
            if gold is not None:
                golds.append(gold)
        return golds

    def retrieved(self) -> Retrieved | None:
        """What was retrieved as a results file says it: documents, or their ids, or an error."""
        error = self.text("error")
        seconds = self._cleaned("", clean_number, self.record.get("seconds"), "seconds")
        if error is not None:
            return Retrieved(error=error, seconds=seconds)
        if "retrieved" in self.record:
            docs = self._list("retrieved", "documents", null=False)
            cleaned = self._cleaned("retrieved", _docs_in_file, docs, self.mender)
            return Retrieved(cleaned or (), seconds)
        if self.record.get("retrieved_chunk_ids") is not None:
            ids = self.ids("retrieved_chunk_ids")
            return Retrieved(tuple(Doc(id=doc_id) for doc_id in ids), seconds)
        return None

    def _list(self, name: str, of: str, *, null: bool = True) -> list[Any]:
        """A list, empty where there is none; `null`: whether a null says so too."""
        value = self.record.get(name)
        if value is None and (null or name not in self.record):
            return []
        if isinstance(value, list):
            return value
        self.report(
            name,
            f"must be a list of {of}, not {shorten(value)}; leave the field out if it is unknown, "
            "write [] if it is empty",
        )
        return []

    def _cleaned(self, name: str, clean: Callable[..., _Cleaned], *args: Any) -> _Cleaned | None:
        """What `clean` makes of a value; None if it refuses it, which is reported."""
        try:
            return clean(*args)
        except DataError as error:
            self._refused(error.within(name))
            return None

    def _refused(self, error: DataError) -> None:
        remedy = f"; {error.remedy}" if error.remedy else ""
        self.report(error.field, error.problem + remedy)


def _gold_in_file(item: object, mender: Mender) -> Gold:
    refuse_string(item)
    others = item.get("alternatives") if isinstance(item, Mapping) else None
    for position, other in enumerate(others if isinstance(others, list) else ()):
        refuse_string(other, f"alternatives[{position}]")
    return as_gold(item, mender)


def _docs_in_file(items: list[Any], mender: Mender) -> tuple[Doc, ...]:
    for position, item in enumerate(items):
        if isinstance(item, str):
            refuse_string(item, f"[{position}]")
    return as_docs(items, mender)
