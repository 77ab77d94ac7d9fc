"""Logs of what people asked: JSON Lines, tables, traces and exports of other tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from kragx.adapters import langfuse, langsmith
from kragx.adapters.opentelemetry.span import logged_spans
from kragx.data import Doc, SurrogateRepair, as_docs
from kragx.data.documents import value_at
from kragx.data.formats.jsonl import ending, first_line, read_records, read_whole
from kragx.data.formats.tabular import READERS, filled
from kragx.data.gold import as_turns
from kragx.data.problems import Problems
from kragx.evaluation.calls.logs import (
    LoggedQuestion,
    LoggedSpan,
    Place,
    answer_in,
    asked_in,
    moment,
    questions_of,
    thumb,
)
from kragx.evaluation.calls.messages import as_json, documents_in
from kragx.ground.errors import DataError, UsageError, inside, nearest, shorten
from kragx.ground.printing import message

Record = dict[str, Any]


class Field(NamedTuple):
    """What a log may say of a question.

    Attributes:
        names: its usual ones, with spaces between them.
        read: gives its value, or None for what is none.
        expected: what is said where a value is none; nothing where any may be none.
    """

    names: str
    read: Callable[[Any], Any]
    expected: str = ""


_TOOLS: Sequence[ModuleType] = (langfuse, langsmith)
_NOTHING = (None, "")
_SEPARATORS = re.compile(r"[|;,\n]")
_LISTS = ("data", "runs", "traces", "observations", "scores", "logs", "records", "items")
"""What the list of records of a whole file is called."""


def logged_value(record: Mapping[str, Any], path: str) -> Any:
    """The value at a path of a record, in texts of JSON too; None if absent.

    A log may itself have a field ``metadata``, or its fields may be called metadata's.
    """
    if path in record:
        return record[path]
    opened = {key: as_json(value) for key, value in record.items()}
    value = value_at({"record": opened}, f"record.{path}")
    return value_at(opened, path) if value is None else value


def _time(value: Any) -> float | None:
    """A moment; what lies before any log, as a duration would, is none."""
    time = moment(value)
    return None if time is None or time < 1e8 else time  # 1e8 is in the year 1973


def _documents(value: Any) -> tuple[Doc, ...] | None:
    """Documents: mappings, texts, or ids, which are strings without white space; None for none."""
    value = as_json(value)
    if isinstance(value, str):
        value = [part for part in map(str.strip, _SEPARATORS.split(value)) if part]
    if isinstance(value, list) and all(isinstance(part, (str, int)) for part in value):
        are_ids = not any(isinstance(part, str) and part.split() != [part] for part in value)
        return tuple(Doc(str(part)) if are_ids else Doc(text=str(part)) for part in value)
    documents = documents_in(value)
    if documents is None and not isinstance(value, list):
        return None
    return as_docs(value, SurrogateRepair(), strings=False) if documents is None else documents


def _ids(value: Any) -> tuple[str, ...]:
    value = as_json(value)
    parts = _SEPARATORS.split(value) if isinstance(value, str) else value
    parts = parts if isinstance(parts, list) else [parts]
    ids = (part.get("id") if isinstance(part, Mapping) else part for part in parts)
    return tuple(str(part).strip() for part in ids if part not in _NOTHING)


FIELDS: Mapping[str, Field] = {
    "question": Field(
        "question query user_query user_question user_input prompt input text message messages "
        "질문 질의 검색어",
        asked_in,
        message("a text, or messages"),
    ),
    "time": Field(
        "time timestamp asked_at created_at datetime date ts start_time 시각 시간 일시",
        _time,
        message("a time as 2026-01-31T09:30 or 1769851800"),
    ),
    "retrieved": Field(
        "retrieved documents docs retrieved_documents retrieved_contexts contexts results "
        "retrieved_ids doc_ids document_ids 검색결과",
        _documents,
        message("a list of documents or ids"),
    ),
    "answer": Field("answer response output completion 답변 응답", answer_in),
    "thumbs": Field(
        "thumbs thumb feedback vote user_feedback 평가",
        thumb,
        message("up or down, 1 or -1, true or false"),
    ),
    "click": Field(
        "click clicks clicked clicked_ids clicked_id 클릭",
        _ids,
        message("an id, or a list of ids"),
    ),
    "session": Field("session session_id conversation_id thread_id 세션", str),
    "history": Field(
        "history 이력",
        lambda value: as_turns(as_json(value), SurrogateRepair()),
        message("a list of earlier turns"),
    ),
}
"""What a log may say of a question."""


class Logs:
    """Some files of logs, which can be read again and again.

    Args:
        paths: the files.
        columns: where fields (`FIELDS`) stand, if not under a usual name: names, or paths such as
            ``input.question``; an empty one is not read.
        encoding: of CSV; None for UTF-8, else cp949.
        mask: masks the values that are quoted where they cannot be read.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        columns: Mapping[str, str] | None = None,
        encoding: str | None = None,
        mask: Callable[[str], str] = str,
    ) -> None:
        self.paths: Sequence[str | Path] = paths
        self._columns, self._encoding, self._mask = columns or {}, encoding, mask
        for name in self._columns.keys() - FIELDS.keys():
            option = f"--column {name}={self._columns[name]}"
            raise UsageError("unknown field", field=option, remedy=nearest(name, FIELDS))
        if not self._columns.get("question", "question"):
            raise UsageError("--column question=: write question=column")

    def questions(self) -> Iterator[LoggedQuestion]:
        """The questions, in the order of the files; those of traces come last.

        Raises:
            DataError: a file cannot be read; or a line is broken, or a field holds something else.
        """
        self._met = set[str]()  # fields whose named column some record has
        self._spans: list[LoggedSpan] = []
        self._thumbs: dict[Place, int] = {}
        for path in self.paths:
            yield from self._of_file(path)
        yield from questions_of(self._spans, self._thumbs)
        # What traces are rated by stands elsewhere.
        for name in self._columns.keys() - self._met - ({"thumbs"} if self._spans else set()):
            if path := self._columns[name]:
                problem = message("no line has {path!r}", path=path)
                remedy = message(
                    "look how the log calls it; of an object within another write outer.inner"
                )
                raise DataError(problem, path=f"{self.paths[0]}:1", field=name, remedy=remedy)

    def _of_file(self, path: str | Path) -> Iterator[LoggedQuestion]:
        problems, is_empty = Problems(str(path), strict=True), True
        tool: ModuleType | None = None
        for line, record in _records(path, problems, self._encoding):
            place = f"{path}:{line}"
            if is_empty:  # what the first record is like all are
                if "resourceSpans" in record:
                    self._spans += logged_spans(path)
                    return
                is_empty = False
                tool = next((tool for tool in _TOOLS if tool.is_export(record)), None)
                if tool is None:
                    self._check_question(record, place)
            with inside(path=place):
                if tool is not None:
                    self._take(record, tool)
                    continue
                question = self._question(record)
            yield question
        if is_empty:
            raise DataError("the file holds no record", path=str(path))

    def _check_question(self, record: Record, place: str) -> None:
        """Refuse a log whose first record has no question."""
        path = self._columns.get("question")
        if path is not None and logged_value(record, path) is None:
            problem, remedy = message("there is no {path!r}", path=path), nearest(path, record)
        elif path is None and record.keys().isdisjoint(FIELDS["question"].names.split()):
            problem = message(
                "no field has a usual name of the question; there are {names}",
                names=", ".join(record),
            )
            remedy = message("name it with --column question=...")
        else:
            return
        raise DataError(problem, path=place, field="question", remedy=remedy)

    def _take(self, record: Record, tool: ModuleType) -> None:
        """Take in a record of a tool: question and answer from where they are said to stand."""
        columns = {key: name for name, key in tool.COLUMNS.items() if name in self._columns}
        named = {key: self._value(record, name)[1] for key, name in columns.items()}
        mapped = {key: value for key, value in named.items() if value is not None}
        self._spans += tool.spans_of({**record, **mapped})
        column = self._columns.get("thumbs")
        for place, value in () if column == "" else tool.thumbs_of(record, column):
            if value not in _NOTHING:
                self._thumbs[place] = self._checked("thumbs", value)

    def _question(self, record: Record) -> LoggedQuestion:
        """A record of a log; a `DataError` names the field that holds something else."""
        values: dict[str, Any] = {}
        for name in FIELDS:
            path, value = self._value(record, name)
            with inside(path):
                values[name] = None if value in _NOTHING else self._checked(name, value)
        if values["question"] is None:
            raise DataError("missing; a question is expected", field="question")
        text, history = values.pop("question")
        history, clicks = values.pop("history") or history, values.pop("click") or ()
        return LoggedQuestion(text, history, clicks=clicks, record=record, **values)

    def _checked(self, name: str, value: Any) -> Any:
        """The value of a field; an error where it is none, as one of another meaning may be."""
        result, expected = FIELDS[name].read(value), FIELDS[name].expected
        if result is None and expected:
            said = {"expected": expected, "value": self._mask(shorten(value))}
            problem = message("{expected} is expected, not {value}", **said)
            remedy = message(
                "if it means something else, leave it out with --column {name}=", name=name
            )
            raise DataError(problem, remedy="" if name == "question" else remedy)
        return result

    def _value(self, record: Record, name: str) -> tuple[str, Any]:
        """Where a field stands in a record, and what stands there."""
        path = self._columns.get(name)
        if path is None:
            usual = FIELDS[name].names.split()
            path = next((key for key in usual if record.get(key) not in _NOTHING), "")
            return path, record.get(path)
        value = logged_value(record, path) if path else None
        if value is not None:
            self._met.add(name)
        return path, value


def _records(
    path: str | Path, problems: Problems, encoding: str | None
) -> Iterator[tuple[int, Record]]:
    """The records of a file with their lines.

    Raises:
        DataError: it cannot be read at all.
    """
    if str(path) == "-":
        raise UsageError("logs are read twice; save standard input as a file", field="LOGS")
    if (reader := READERS.get(ending(path))) is not None:
        yield from filled(reader(path, problems, encoding))
        return
    if (whole := read_whole(path, first_line(path), problems.repair)) is None:
        yield from read_records(path, problems)
        return
    entries = [*whole]
    # An export has its records in a list, but for a trace that was exported alone: it is one.
    value = entries[0][1] if len(entries) == 1 else None
    if isinstance(value, dict) and not isinstance(value.get("trace"), dict):
        lists = (value[key] for key in _LISTS if isinstance(value.get(key), list))
        entries = [(1, record) for record in next(lists, [value])]
    for line, record in entries:
        if isinstance(record, dict):
            yield line, record
        else:
            problem = message("a JSON object is expected, not {value}", value=shorten(record))
            problems.add(line, None, problem)
