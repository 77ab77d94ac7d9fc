"""Logs of what people asked: JSON Lines, tables, traces and exports of other tools."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from kragx.adapters import langfuse, langsmith
from kragx.adapters.opentelemetry.span import logged_spans
from kragx.data import Doc, Mender, as_docs
from kragx.data.documents import value_at
from kragx.data.formats.jsonl import ending, first_line, read_records, read_whole
from kragx.data.formats.tabular import READERS, filled
from kragx.data.problems import Problems
from kragx.data.text import read_number
from kragx.data.turns import Turn, as_turns
from kragx.evaluation.calls.logged import (
    LoggedQuestion,
    LoggedSpan,
    Place,
    answer_in,
    asked_in,
    moment,
    questions_of,
    thumb,
)
from kragx.evaluation.calls.tool_answers import as_json, documents_in
from kragx.ground.errors import DataError, UsageError, inside, nearest, shorten
from kragx.ground.printing import phrase

Record = dict[str, Any]

FIELDS: Mapping[str, tuple[str, ...]] = {
    "question": (
        *("question", "query", "user_query", "user_question", "user_input", "prompt", "input"),
        *("text", "message", "messages", "질문", "질의", "검색어"),
    ),
    "time": (
        *("time", "timestamp", "asked_at", "created_at", "datetime", "date", "ts", "start_time"),
        *("시각", "시간", "일시"),
    ),
    "retrieved": (
        *("retrieved", "documents", "docs", "retrieved_documents", "retrieved_contexts"),
        *("contexts", "results", "retrieved_ids", "doc_ids", "document_ids", "검색결과"),
    ),
    "answer": ("answer", "response", "output", "completion", "답변", "응답"),
    "thumbs": ("thumbs", "thumb", "feedback", "vote", "user_feedback", "평가"),
    "click": ("click", "clicks", "clicked", "clicked_ids", "clicked_id", "클릭"),
    "session": ("session", "session_id", "conversation_id", "thread_id", "세션"),
    "history": ("history", "이력"),
}
"""What a log may say of a question, each by its usual names."""

_TOOLS: Sequence[ModuleType] = (langfuse, langsmith)


@dataclass(frozen=True)
class Logs:
    """Some files of logs, which can be read again and again.

    Attributes:
        paths: the files.
        columns: where fields (`FIELDS`) stand, if not under a usual name: names, or paths such as
            ``input.question``; an empty one is not read.
        encoding: of CSV; None for UTF-8, else cp949.
        skip_broken: leave out lines that cannot be read, and count them.
        mask: masks the values that are quoted where they cannot be read.
        broken: what was left out of the files, as far as they were read.
        silent: traces that say no question.
        _unread: by field how many values are not understood, and the first of them.
        _ratings: thumbs that are numbers of some other scale.
        _met: the columns that some record has.
    """

    paths: Sequence[str | Path]
    columns: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    skip_broken: bool = False
    mask: Callable[[str], str] = str
    broken: list[DataError] = field(default_factory=list, init=False)
    silent: list[str] = field(default_factory=list, init=False)
    _unread: dict[str, tuple[int, DataError]] = field(default_factory=dict, init=False)
    _ratings: list[object] = field(default_factory=list, init=False)
    _met: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        counts = Counter(Path(path).resolve() for path in self.paths)
        for path in (path for path, n in counts.items() if n > 1):
            problem = phrase("{path} is named twice, and would count twice", path=path)
            raise UsageError(problem, field="LOGS")
        for name in self.columns.keys() - FIELDS.keys():
            option = f"--column {name}={self.columns[name]}"
            raise UsageError(phrase("unknown field"), field=option, remedy=nearest(name, FIELDS))
        if not self.columns.get("question", "question"):
            raise UsageError("--column question=: write question=column")

    @property
    def has_ratings(self) -> bool:
        """Whether thumbs are ratings, of which 1 is likely the worst."""
        return bool(self._ratings)

    @property
    def cautions(self) -> list[str]:
        """What was not understood in the files, as far as they were read."""
        told: list[str] = [
            phrase(
                "{field}: not understood in {n} lines, and taken as not said; the first: {problem}",
                field=name,
                n=n,
                problem=str(error),
            )
            for name, (n, error) in self._unread.items()
        ]
        if self._ratings:
            told.append(
                phrase(
                    "there are ratings among the thumbs, as {value}, so that a 1 may be the worst: "
                    "no thumb is counted",
                    value=shorten(self._ratings[0]),
                )
            )
        return told

    def questions(self) -> Iterator[LoggedQuestion]:
        """The questions, in the order of the files; those of traces come last.

        Raises:
            DataError: a file cannot be read; or, unless `skip_broken`, a line is broken, or a field
                holds something else: the first of them, with how many more there are.
        """
        # Files are read twice, once for all asks and once for what was retrieved for those that
        # are drawn: what is noted is of the last time.
        for noted in (self.broken, self._met, self._unread, self._ratings):
            noted.clear()
        spans: list[LoggedSpan] = []
        thumbs: dict[Place, int] = {}
        for path in self.paths:
            yield from self._of_file(path, spans, thumbs)
        if self.broken and not self.skip_broken:
            first, n_more = self.broken[0], len(self.broken) - 1
            more = phrase("{problem} (and {n} more)", problem=first.problem, n=n_more)
            raise DataError(
                more if n_more else first.problem,
                path=first.path,
                field=first.field,
                remedy=phrase("mend the line, or leave such lines out with --skip-broken"),
            )
        of_traces = [*questions_of(spans, thumbs)]
        self.silent[:] = {span.place[0] for span in spans} - {trace for trace, _ in of_traces}
        yield from (question for _, question in of_traces)
        self._check_columns({"thumbs"} if spans else set())

    def _check_columns(self, optional: set[str]) -> None:
        """Refuse a column that no record has, but for what traces say elsewhere."""
        for name in self.columns.keys() - self._met - optional:
            if self.columns[name]:
                problem = phrase("no line has {path!r}", path=self.columns[name])
                remedy = phrase(
                    "look how the log calls it; of an object within another write outer.inner"
                )
                raise DataError(problem, path=f"{self.paths[0]}:1", field=name, remedy=remedy)

    def _of_file(
        self, path: str | Path, spans: list[LoggedSpan], thumbs: dict[Place, int]
    ) -> Iterator[LoggedQuestion]:
        problems = Problems(str(path))
        first: Record | None = None
        tool: ModuleType | None = None
        for line, record in _records(path, problems, self.encoding):
            if first is None:  # what the first record is like all are
                if "resourceSpans" in record:
                    spans += logged_spans(path)
                    return
                first = record
                tool = next((tool for tool in _TOOLS if tool.is_export(record)), None)
                if tool is None:
                    self._check_question(record, f"{path}:{line}")
            if tool is not None:
                spans += tool.spans_of(self._as_told(record, tool))
                thumbs |= self._thumbs(record, tool)
                continue
            try:
                yield self._question(record, f"{path}:{line}")
            except DataError as error:
                problems.add(line, error.field, error.problem_and_remedy)
        self.broken.extend(
            problem.error() for problem in problems.found if problem.level == "error"
        )
        if first is None and not problems.found:
            raise DataError(phrase("the file holds no record"), path=str(path))

    def _check_question(self, record: Record, place: str) -> None:
        """Refuse a log whose first record has no question."""
        path = self.columns.get("question")
        if path is not None and self._named(record, "question") is None:
            problem = phrase("there is no {path!r}", path=path)
            raise DataError(problem, path=place, field="question", remedy=nearest(path, record))
        if "question" not in self.columns and not any(
            name in record for name in FIELDS["question"]
        ):
            problem = phrase(
                "no field has a usual name of the question; there are {names}",
                names=", ".join(record),
            )
            remedy = phrase("name it with --column question=...")
            raise DataError(problem, path=place, field="question", remedy=remedy)

    def _question(self, record: Record, place: str) -> LoggedQuestion:
        """A record of a log; what else it says and cannot be read, it does not say.

        Raises:
            DataError: a field holds something else; it is named.
        """
        question = self._read(record, "question", asked_in, phrase("a text, or messages"))
        if question is None:
            raise DataError(phrase("missing; a question is expected"), field="question")
        text, history = question

        def maybe(name: str, read: Callable[[Any], Any], expected: str) -> Any:
            return self._read_if_clear(record, name, read, expected, place)

        return LoggedQuestion(
            text,
            self._read(record, "history", _turns, phrase("a list of earlier turns")) or history,
            maybe("time", _time, phrase("a time as 2026-01-31T09:30 or 1769851800")),
            maybe("retrieved", _documents, phrase("a list of documents or ids")),
            self._read(record, "answer", answer_in, ""),
            maybe("thumbs", self._thumb, phrase("up or down, 1 or -1, true or false")),
            maybe("click", _ids, phrase("an id, or a list of ids")) or (),
            self._read(record, "session", str, ""),
            record,
        )

    def _read_if_clear(
        self,
        record: Record,
        name: str,
        read: Callable[[Any], Any],
        expected: str,
        place: str,
    ) -> Any:
        """A field as `_read` has it; None, noted, where its value is of some other kind.

        A usual name may be another tool's word for something else: that is no broken line.
        """
        try:
            return self._read(record, name, read, expected)
        except DataError as error:
            if name in self.columns:  # somebody said that it stands there
                raise
            field = re.split(r"[\[.]", error.field)[0]
            n, first = self._unread.get(field, (0, error.within(path=place)))
            self._unread[field] = n + 1, first
            return None

    def _thumbs(self, record: Record, tool: ModuleType) -> dict[Place, int]:
        """The thumbs in a record of a tool, by the span that each is about."""
        column = self.columns.get("thumbs")
        rated = () if column == "" else tool.thumbs_of(record, column)
        marks = ((place, self._thumb(value)) for place, value in rated)
        return {place: mark for place, mark in marks if mark is not None}

    def _thumb(self, value: Any) -> int | None:
        mark = thumb(value)
        # Stars look like thumbs as long as only 1 and 0 have come: one 5 tells that they are none.
        if mark is None and not self._ratings:
            number = read_number(str(value).strip())
            self._ratings.extend([value] if number is not None and abs(number) > 1 else [])
        return mark

    def _as_told(self, record: Record, tool: ModuleType) -> Record:
        """A record of a tool with question and answer from where they are said to stand."""
        told = {
            key: self._named(record, name)
            for name, key in tool.COLUMNS.items()
            if name in self.columns
        }
        return {**record, **{key: value for key, value in told.items() if value is not None}}

    def _named(self, record: Record, name: str) -> Any:
        """What stands where a field is said to stand."""
        path = self.columns[name]
        value = logged_value(record, path)
        if value is not None:
            self._met.add(name)
        return value

    def _read(self, record: Record, name: str, read: Callable[[Any], Any], expected: str) -> Any:
        path = self.columns.get(name)
        if path is None:
            names = (key for key in FIELDS[name] if record.get(key) not in _NOTHING)
            path = next(names, None)
            value = None if path is None else record[path]
        else:
            value = self._named(record, name) if path else None
        if path is None or value in _NOTHING:
            return None
        with inside(path):
            result = read(value)
            if result is None and expected:
                quoted = self.mask(shorten(value))
                problem = phrase(
                    "{expected} is expected, not {value}", expected=expected, value=quoted
                )
                raise DataError(problem)
        return result


_NOTHING = (None, "")
_EARLIEST = 1e8  # the year 1973
_SEPARATORS = re.compile(r"[|;,\n]")
_LISTS = ("data", "runs", "traces", "observations", "scores", "logs", "records", "items")
"""What the list of records of a whole file is called."""


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
    if (whole := read_whole(path, first_line(path), problems.mender)) is None:
        yield from read_records(path, problems)
        return
    value, lines = whole
    name = None
    # A trace that was exported alone has lists of its own, and is one record.
    if isinstance(value, dict) and not isinstance(value.get("trace"), dict):
        name = next((key for key in _LISTS if isinstance(value.get(key), list)), None)
    listed = value if isinstance(value, list) else [value] if name is None else value[name]
    for number, record in enumerate(listed):
        line = lines.get((number,) if name is None else (name, number), 1)
        if isinstance(record, dict):
            yield line, record
        else:
            problems.add(line, None, f"a JSON object is expected, not {shorten(record)}")


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
    return None if time is None or time < _EARLIEST else time


def _turns(value: Any) -> tuple[Turn, ...]:
    return as_turns(as_json(value), Mender())


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
    return as_docs(value, Mender(), strings=False) if documents is None else documents


def _ids(value: Any) -> tuple[str, ...]:
    value = as_json(value)
    parts = _SEPARATORS.split(value) if isinstance(value, str) else value
    parts = parts if isinstance(parts, list) else [parts]
    ids = (part.get("id") if isinstance(part, Mapping) else part for part in parts)
    return tuple(str(part).strip() for part in ids if part not in _NOTHING)
