"""Questions and judgements out of a file: each row held against what the workshop has."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unicodedata import normalize

from pydantic import TypeAdapter, ValidationError

from kragx.data import GoldDataset
from kragx.data.corpus import as_corpus
from kragx.data.forbidden import all_forbidden
from kragx.data.formats.cells import same_in_sheet, unguarded
from kragx.data.formats.jsonl import ending, read_records
from kragx.data.formats.tabular import read_csv
from kragx.data.gold import as_gold
from kragx.data.reading import read_dataset
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, KragxError, UsageError, inside, nearest, shorten
from kragx.ground.printing import Line, Part, counted, joined, message, plural
from kragx.workshop.exchange.exporting import (
    EMPTY,
    JSON_COLUMNS,
    KINDS,
    SHEET,
    Exported,
    ExportSource,
    columns_of,
    counts_of,
)
from kragx.workshop.folder.starting import absent_gold, records_of_gold
from kragx.workshop.names import check_unlike, people_called, the_person
from kragx.workshop.pairs.moved import rows_of_moved
from kragx.workshop.pairs.standing import check_fits
from kragx.workshop.releases.contents import query_of
from kragx.workshop.state import records

_COLUMNS = (*SHEET, "detail", "rank", "score")
_CONTENT = ("kind", "grade", "spans", "note", "why")
"""What somebody may say anew of a pair; the rest of a judgement is how it came."""

_content = attrgetter(*_CONTENT)
_matter = attrgetter("question", "document", "person", "is_decision", "is_mark")
_TEXTS = ("record", "uid", "question", "question_uid", "person", "person_uid", "document", "at")
_ADAPTERS: Mapping[type, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in KINDS.values()}
_Kind = TypeVar("_Kind", bound=records.StoredRecord)
_EXPORTED = message("write what was exported there")

Lines = Iterable[tuple[str, Mapping[str, Any]]]
"""Where each row stands in its file, and what it says by column."""


@dataclass(frozen=True)
class Imported(Exported):
    """What came out of a file: `counts` are the records that were added."""

    def describe(self) -> Iterator[Part]:
        """What came, and what did not."""
        added = counted(self.counts) or message("nothing new")
        place = {"path": self.path, "form": self.form}
        yield Line(message("imported from {path} ({form}): {added}", **place, added=added))
        yield from map(Line, self.remarks)


def import_file(source: ExportSource, path: str | Path, person: str | None = None) -> Imported:
    """Take the questions and judgements of a file into a workshop: all of them, or none.

    A row with a uid that is known changes nothing if it says the same, and is a new judgement of
    the same person (or the question's new wording) if not; one with another uid, or none, is added.
    The same file again adds nothing.

    Args:
        source: the workshop.
        path: an export as CSV or JSON Lines, what `kragx gold move` leaves, or a gold set, of which
            the questions with new ids come, with their grades.
        person: the name of whose the judgements are that name nobody; a new name is somebody new.

    Raises:
        DataError: rows are wrong; all are listed, and nothing is imported.
        UsageError: it is some other file.
    """
    path, state = Path(path), source.state
    with state.lock:
        state.refresh()
        form, lines, *remarks = _read(path, source)
        added = _Merge(source, path, person).take(lines)
        state.add(added)
    return Imported(path, form, counts_of(added), tuple(remarks))


def _read(path: Path, source: ExportSource) -> tuple[str, Lines, *tuple[str, ...]]:
    """The form of a file, its rows, and what else to know of it."""
    end = ending(path)
    if end in (".csv", ".tsv"):
        # Rows as a spreadsheet counts them, since passages have many lines.
        rows = enumerate((cells for _, cells in read_csv(path)), start=2)
        return "csv", [(f"row {number}", _of_cells(cells)) for number, cells in rows]
    _, first = next(read_records(path), (0, {})) if end in (".jsonl", ".ndjson") else (0, {"": ""})
    if first.keys() >= {"verdict", "candidates"}:
        return "moved", *rows_of_moved(path, source.state, source.text)
    if "query_id" in first:
        dataset, documents = read_dataset(path), source.documents
        absent = absent_gold(dataset, documents, as_corpus(documents))
        return "gold", [*_of_gold(dataset, path, source)], *([absent] if absent else [])
    if first and "record" not in first:
        raise UsageError(
            "neither an export (.csv, .jsonl) nor a gold set (.jsonl)",
            field=str(path),
        )
    return "jsonl", [(f"line {number}", columns) for number, columns in read_records(path)]


def _of_gold(dataset: GoldDataset, path: Path, source: ExportSource) -> Lines:
    """The questions of a gold set that a workshop lacks, with their grades, as rows of nobody."""
    person = records.Person(name=path.name)
    for record in records_of_gold(dataset, person, source.documents, max(source.grades)):
        uid = getattr(record, "question", record.uid)
        if uid not in source.state.questions:
            row = source.row(record)
            row.pop("person_uid", None)  # it is whoever imports
            yield f"question {uid!r}", row


def _of_cells(cells: Mapping[str, str]) -> dict[str, Any]:
    """The values of a row of cells, as far as they can be read."""
    columns: dict[str, Any] = {}
    for column, shown in cells.items():
        text = unguarded(shown)
        if text or column in EMPTY:
            columns[column] = text or EMPTY[column]
        if text and column in JSON_COLUMNS:
            with suppress(ValueError, RecursionError):  # what is no JSON is no list, as is said
                columns[column] = json.loads(text)
    return columns


class _Row(NamedTuple):
    """What a file says of one thing: of the fields of a record, and the same by column."""

    kind: type[records.StoredRecord]
    fields: dict[str, Any]
    columns: Mapping[str, Any]
    place: str

    @classmethod
    def of(cls, place: str, columns: Mapping[str, Any]) -> "_Row":
        """A row; a `DataError` if it is of no kind, or has no such columns."""
        if unknown := next((column for column in columns if column not in _COLUMNS), None):
            needed = message("a judgement needs question or question_uid, document and grade")
            remedy = joined("; ", [needed, nearest(unknown, _COLUMNS)])
            raise _mistake(unknown, message("unknown column"), remedy)
        for column in _TEXTS:
            if not isinstance(columns.get(column, ""), str):
                problem = message("{value} is no text", value=shorten(columns[column]))
                raise _mistake(column, problem, _EXPORTED)
        # A question of which no document is named is nothing else.
        is_question = "question" in columns and not columns.keys() & {"document", "grade"}
        usual = "question" if is_question else "judgement"
        word = columns.get("record", "").strip().casefold() or usual
        if word not in KINDS:
            problem = message("{word!r} is no kind of row", word=word)
            raise _mistake("record", problem, message("write {kinds}", kinds=", ".join(KINDS)))
        kind = KINDS[word]
        fields = {name: columns[c] for name, c in columns_of(kind).items() if c in columns}
        if kind is records.Judgement:
            fields |= _grade(columns.get("grade", ""))
            if fields["kind"] in records.MARKS and not fields.get("why"):
                fields["why"] = "forbidden"
        return cls(kind, fields, columns, place)

    def text(self, column: str) -> str:
        """What a column says, without white space around it."""
        return str(self.columns.get(column, "")).strip()


def _grade(value: object) -> dict[str, Any]:
    """The kind and grade that a word or number stands for."""
    word = str(value).strip().casefold()
    if word in ("unusable", "later", "undone", *records.MARKS):
        return {"kind": word, "grade": None}
    number = word.removesuffix(".0")  # of a column with gaps that another program has read
    if number.isascii() and number.isdecimal() and len(number) < 4:
        return {"kind": "grade", "grade": int(number)}
    remedy = message("write a number of the scale, unusable, later or forbidden, or remove the row")
    raise _mistake("grade", message("{value!r} is no grade", value=value), remedy)


class _Merge:
    """What a file adds to a workshop, as it is now: see `Imported`."""

    def __init__(self, source: ExportSource, path: Path, person: str | None) -> None:
        self._source, self._state, self._path = source, source.state, path
        self._person, self._people = person, dict(self._state.people)
        self._questions = dict(self._state.questions)
        self._uids = defaultdict[str, list[records.StoredRecord]](
            list
        )  # every wording of a question
        for record in self._state.store.after({}):
            self._uids[record.uid].append(record)
        self._judged: set[object] = set()
        self._mistakes: list[str] = []
        self._added: list[records.StoredRecord] = []

    def take(self, lines: Lines) -> list[records.StoredRecord]:
        """What rows add; a `DataError` lists all that is wrong with them."""
        rows: list[_Row] = []
        for place, columns in lines:
            with self._collecting(place):
                rows.append(_Row.of(place, columns))
        kinds = list(KINDS.values())
        # What others refer to comes first, then what was said earlier, as a spreadsheet may have
        # sorted it; what is new comes last.
        rows.sort(key=lambda row: (kinds.index(row.kind), not row.text("uid"), row.text("at")))
        take = {records.SuggestedDocument: self._candidate, records.Judgement: self._judgement}
        for row in rows:
            with self._collecting(row.place):
                if record := take.get(row.kind, self._person_or_question)(row):
                    self._add(record)
        if n := len(self._mistakes):
            head = plural(
                n, "1 mistake; nothing was imported", "{n} mistakes; nothing was imported"
            )
            rest = ["..."] if n > 20 else []
            raise DataError(joined("\n  ", [head, *self._mistakes[:20], *rest]))
        return self._added

    @contextmanager
    def _collecting(self, place: str) -> Iterator[None]:
        """Note the mistake of a row, if there is one, and go on."""
        try:
            with inside(path=f"{self._path}:{place}"):
                yield
        except KragxError as error:
            self._mistakes.append(error.text)

    def _add(self, record: records.StoredRecord) -> None:
        self._uids[record.uid].append(record)
        self._added.append(record)
        if isinstance(record, records.Question):
            _check_releasable(record)
            self._questions[record.uid] = record
        elif isinstance(record, records.Person):
            self._people[record.uid] = record

    def _person_or_question(self, row: _Row) -> records.StoredRecord | None:
        is_question, uid = row.kind is records.Question, row.text("uid")
        things: Mapping[str, Any] = self._questions if is_question else self._people
        name, newest = "text" if is_question else "name", things.get(uid)
        if newest is None:
            by = self._person_of(row) if is_question else {}
            record = _made(row.kind, {**row.fields, **by})
            texts = [getattr(thing, name) for thing in things.values()]
            return None if not uid and getattr(record, name) in texts else record
        record = _made(row.kind, _over(newest, row.fields))
        if record in self._uids[uid]:
            return None
        if record.at < newest.at:
            # A wording that was never here is an earlier one of a copy of this workshop.
            is_same = replace(record, at=newest.at) == newest
            if is_same or not any(wording.at == record.at for wording in self._uids[uid]):
                return None
            problem = message("was changed in the workshop after this file was written")
            raise _mistake("uid", problem, message("export anew, and change that"))
        # Else whoever fills in a sheet makes an owner of the link that they have.
        if isinstance(record, records.Person) and uid in self._state.people:
            before = self._state.people[uid]
            if record.role != before.role or record.state not in (before.state, "gone"):
                problem = message("no file changes what somebody may do")
                raise _mistake("role", problem, _EXPORTED)
        return record if record.at > newest.at else replace(record, at=records.now())

    def _person_of(self, row: _Row) -> dict[str, str]:
        """The field of whose a row is, where it says no uid."""
        name, people = row.text("person"), self._people.values()
        if row.text("person_uid") in self._people:
            return {}
        if name and (self._person is None or people_called(name, people)):
            hint = "; or name --person for somebody new"
            return {"person": the_person(name, people, "person", hint).uid}
        author = self._person or self._path.name
        if not people_called(author, people):
            check_unlike(author, people, "person")
            self._add(records.Person(name=author, role="annotator" if self._person else "file"))
        return {"person": the_person(author, self._people.values(), "person").uid}

    def _question_of(self, row: _Row) -> dict[str, str]:
        """The field of which question a row is about: by its uid, else by its text."""
        if row.text("question_uid") in self._questions:
            return {}
        # A Mac may write Hangul in parts.
        text, questions = normalize("NFC", row.text("question")), self._questions.values()
        those_open = (q for q in questions if q.state == "open" or q.uid == text)
        uids = [q.uid for q in those_open if text in (q.uid, normalize("NFC", q.text.strip()))]
        if len(uids) == 1:
            return {"question": uids[0]}
        problem = message(
            "{text}: {n} questions have this text" if uids else "{text}: no question has this text",
            text=shorten(text),
            n=len(uids),
        )
        remedy = message(
            "name one by question_uid, or add it as a question first (record: question)"
        )
        raise _mistake("question", problem, remedy)

    def _candidate(self, row: _Row) -> records.StoredRecord | None:
        record = _made(row.kind, {**row.fields, **self._question_of(row)})
        stored = (replace(same, at=record.at) for same in self._uids.get(record.uid, ()))
        return None if record in stored else record

    def _judgement(self, row: _Row) -> records.StoredRecord | None:
        uid = row.text("uid")
        if (stored := self._state.judgement(uid)) is None:
            record = _made(
                records.Judgement, row.fields | self._question_of(row) | self._person_of(row)
            )
            if uid:  # out of another workshop, as it was there
                self._check(record)
                same_uid = [replace(r, at=record.at) for r in self._uids.get(uid, ())]
                if any(judgement != record for judgement in same_uid):
                    problem = message("two rows say something else with the same uid")
                    raise _mistake("uid", problem, message("keep one of them"))
                return None if same_uid else record
        else:
            record = self._rejudged(row, stored)
        newest = self._newest(record)
        is_same = newest is not None and _content(newest) == _content(record)
        is_newest = newest is not None and newest.uid == uid
        if record == stored or is_same or (record.kind == "undone" and not is_newest):
            return None
        self._check(record)
        if stored is not None and not is_newest:
            problem = message("the same person has judged this pair again since, or taken it back")
            remedy = message(
                "leave this row as it was exported; change the newest one, or export anew"
            )
            raise _mistake("uid", problem, remedy)
        if stored is not None:
            record = replace(record, uid=records.new_uid(), at=records.now())
        return self._only_once(replace(record, purpose="import"))

    def _only_once(self, record: records.Judgement) -> records.Judgement:
        """What a file says anew of a pair; a `DataError` where it does so twice."""
        if record.document not in self._source.documents:
            problem = message("{id}: the corpus has no such document", id=shorten(record.document))
            remedy = message(
                "write an id of the corpus; spreadsheets make numbers and dates of some"
            )
            raise _mistake("document", problem, remedy)
        matter = _matter(record)
        if matter in self._judged:
            problem = message("the same person judges this pair twice")
            raise _mistake("document", problem, message("keep one of them"))
        self._judged.add(matter)
        return record

    def _newest(self, record: records.Judgement) -> records.Judgement | None:
        """What the person of a judgement says of its pair now."""
        pair, state = (record.question, record.document), self._state
        if record.is_decision:
            return next(reversed(state.decisions.get(pair, [])), None)
        return (state.mark if record.is_mark else state.newest)(pair, record.person)

    def _rejudged(self, row: _Row, stored: records.Judgement) -> records.Judgement:
        """A judgement of the workshop as its row has it, which speaks of the same pair."""
        text, document = row.text("question"), row.text("document")
        wordings = (getattr(wording, "text", "") for wording in self._uids[stored.question])
        is_its = not text or any(same_in_sheet(text, wording.strip()) for wording in wordings)
        # What a spreadsheet has made of an id is none; the uid says which one was meant.
        is_other = document != stored.document and document in self._source.documents
        if is_other or not is_its or row.text("person_uid") not in ("", stored.person):
            remedy = message(
                "put that back, or add a row without uid; reword a question in its own row"
            )
            problem = message("it spoke of another pair when it was exported")
            raise _mistake("uid", problem, remedy)
        content = {name: row.fields[name] for name in _CONTENT if name in row.fields}
        return _made(records.Judgement, _over(stored, content))

    def _check(self, record: records.Judgement) -> None:
        """Raise a `KragxError` unless a judgement fits the workshop."""
        if record.kind != "undone" and record.is_mark != (record.kind in records.MARKS):
            problem = message(
                "{kind} is not said with the kind {why!r}", kind=record.kind, why=record.why
            )
            remedy = message(
                "it belongs to forbidden and allowed alone; relevance is a row of its own"
            )
            raise _mistake("why", problem, remedy)
        text = self._source.text(record.document)
        check_fits(record.grade, self._source.grades, record.spans, text)


def _made(kind: type[_Kind], fields: Mapping[str, Any]) -> _Kind:
    """A record of checked values; a `DataError` if one of them is of the wrong kind."""
    try:
        record: _Kind = _ADAPTERS[kind].validate_python(dict(fields))
        datetime.fromisoformat(record.at)
        # PostgreSQL keeps no NUL, and JSON no infinity.
        json.dumps(asdict(record), allow_nan=False)
        if any("\x00" in text for text in vars(record).values() if isinstance(text, str)):
            raise ValueError("a text with a NUL cannot be kept")
    except ValidationError as error:
        first = error.errors()[0]
        problem = message("{value} is of the wrong kind", value=shorten(first["input"]))
        raise _mistake(str(first["loc"][0]), problem, _EXPORTED) from None
    except ValueError as error:
        raise _mistake("", str(error), _EXPORTED) from None
    return record


def _check_releasable(question: records.Question) -> None:
    """Raise a `KragxError` for what no gold set could hold: nothing is ever removed."""
    repair = SurrogateRepair()
    query_of(question, [as_gold(item, repair, strings=False) for item in question.gold])
    all_forbidden(question.forbidden, repair)


def _over(stored: records.StoredRecord, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record, those that a row says otherwise as it says them."""
    before = asdict(stored)
    return before | {n: value for n, value in fields.items() if not same_in_sheet(value, before[n])}


def _mistake(column: str, problem: str, remedy: str) -> DataError:
    return DataError(problem, field=column, remedy=remedy)
