"""What a file adds to a workshop: each row held against what the workshop has, in one pass."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kragx.ground.errors import DataError, inside, nearest, shorten
from kragx.workshop.exchange.rows import KINDS, ExportSource, Row, mistake, row_of
from kragx.workshop.names import alike, people_called
from kragx.workshop.pairs.moved import check_place, moved_candidate
from kragx.workshop.state.records import (
    MARKS,
    Judgement,
    Person,
    Question,
    StoredRecord,
    SuggestedDocument,
    now,
)

_CONTENT = ("kind", "grade", "spans", "note", "why")
"""What somebody may say anew of a pair; the rest of a judgement is how it came."""

_PAIR = ("question", "document", "person", "is_decision")
_MATTER = (*_PAIR, "is_mark")
"""Of one pair a person says two things: how relevant it is, and whether it may come."""

_LISTED = 20  # mistakes
_REMEDIES = {
    "spans": "write from-to in characters of the passage, as 0..25; 40..61",
    "answerable": "write true or false",
    "is_decision": "write true or false",
}
_EXPORTED = "write what was exported there"
_ADAPTERS: Mapping[type, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in KINDS.values()}


class Merge:
    """What a file adds to a workshop.

    Args:
        source: the workshop, as it is now.
        rows: of the file, in its order: where each stands, and what it says by column.
        path: the file.
        person: the name of whose the judgements are that name nobody.
        is_moved: whether it is gold that is left of a move: questions that are there stay as
            they are.

    Attributes:
        added: the new records.
        n_changed: how many of them say something else than before.
        n_unchanged: rows that say what the workshop says already.
        author: whose the judgements are that named nobody; None if there are none.

    Raises:
        DataError: rows are wrong; all are listed.
    """

    def __init__(
        self,
        source: ExportSource,
        rows: Iterable[tuple[str, Mapping[str, Any]]],
        path: Path,
        person: str | None,
        *,
        is_moved: bool,
    ) -> None:
        self._source, self._state, self._path = source, source.state, path
        self._person, self._is_moved = person, is_moved
        self._people, self._questions = dict(self._state.people), dict(self._state.questions)
        self._uids: dict[str, list[StoredRecord]] = {}  # with every wording of a question or name
        for record in self._state.store.after({}):
            self._uids.setdefault(record.uid, []).append(record)
        self._judged: set[tuple[object, ...]] = set()
        self._mistakes: list[str] = []
        self.added: list[StoredRecord] = []
        self.n_changed: int = 0
        self.n_unchanged: int = 0
        self.author: str | None = None
        self._take(rows)

    def _take(self, columns: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Go through the rows: what judgements refer to before them, restored ones before new."""
        # What a row adds, by its kind; None if the workshop has it so.
        record_of: Mapping[type[StoredRecord], Callable[[Row], StoredRecord | None]] = {
            Person: self._person_or_question,
            Question: self._person_or_question,
            SuggestedDocument: self._candidate,
            Judgement: self._judgement,
        }
        kinds, rows = list(record_of), list[Row]()
        for place, values in columns:
            with self._noting(place):
                rows.append(row_of(place, values))
        self._last_rows = {row.values.get("uid"): row for row in rows}

        def order(row: Row) -> tuple[object, ...]:
            return kinds.index(row.kind), not row.values.get("uid"), row.number

        for row in sorted(rows, key=order):
            with self._noting(row.place):
                if record := record_of[row.kind](row):
                    self._uids.setdefault(record.uid, []).append(record)
                    self.added.append(record)
                else:
                    self.n_unchanged += 1
        if n := len(self._mistakes):
            head = f"{n} {'mistake' if n == 1 else 'mistakes'}; nothing was imported"
            overflow = [f"... and {n - _LISTED} more"] if n > _LISTED else []
            raise DataError("\n  ".join([head, *self._mistakes[:_LISTED], *overflow]))

    @contextmanager
    def _noting(self, place: str) -> Iterator[None]:
        """Note the mistake of a row, if there is one, and go on: all are said at once."""
        try:
            with inside(path=f"{self._path}:{place}"):
                yield
        except DataError as error:
            self._mistakes.append(str(error))

    # -- people and questions ----------------------------------------------------------------------

    def _person_or_question(self, row: Row) -> StoredRecord | None:
        record: Person | Question | None
        is_question, values = row.kind is Question, dict(row.values)
        things: dict[str, Any] = self._questions if is_question else self._people
        name = "text" if is_question else "name"
        text, uid = values.get(name, ""), values.get("uid")
        newest = things.get(uid) if uid else None
        if self._is_moved and (newest or self._with_text(text)):
            return None
        if not text.strip():
            raise mistake(name, "is empty", "fill it in, or remove the row")
        if newest is None:
            if not uid and any(getattr(thing, name) == text for thing in things.values()):
                return None
            if is_question and not values.get("person"):
                values["person"] = self._person_of(row)
            record = _checked(row.kind, values)
        else:
            record = self._reworded(_checked(row.kind, _over(newest, values)), newest, row)
        if record is not None:
            things[record.uid] = record
        return record

    def _reworded(self, record: Any, newest: Any, row: Row) -> Any | None:
        """A person or question as a row has it; None if the workshop has had it so already."""
        if record in self._uids[newest.uid]:
            return None
        if record.at > newest.at:  # of a copy of this workshop that was worked on
            return record
        if replace(record, at=newest.at) == newest:
            return None
        if record.at < newest.at:
            if self._last_rows[newest.uid] is not row:  # the file itself has replaced it
                return None
            problem = "was changed in the workshop after this file was written"
            raise mistake("uid", problem, "export anew, and change that")
        self.n_changed += 1
        return replace(record, at=now())

    def _person_of(self, row: Row) -> str:
        """The uid of whose a row without a person's uid is."""
        name, people = unicodedata.normalize("NFC", row.person).strip(), self._people.values()
        called = people_called(name, people) if name else []
        if len(called) > 1:
            problem = f"{len(called)} people are called {name!r}"
            raise mistake("person", problem, "write a uid into person_uid")
        if called:
            return called[0].uid
        if self._person is None and name:
            names = [person.name for person in people]
            remedy = f"{nearest(name, names)}; or name --person for somebody new"
            raise mistake("person", f"nobody is called {name!r}", remedy)
        author = self._person or self._path.name
        if author != name:
            self.author = author
        if called := people_called(author, people):
            return called[0].uid
        for person in people:
            if person.role != "file" and alike(person.name, author):
                problem = f"{author!r} looks like {person.name!r}, who is here already"
                remedy = "write it the same, or give each a name of their own"
                raise mistake("person", problem, remedy)
        person = Person(name=author, role="annotator" if self._person else "file")
        self._people[person.uid] = person
        self.added.insert(0, person)  # before the judgements that name them
        return person.uid

    # -- suggestions and judgements ----------------------------------------------------------------

    def _candidate(self, row: Row) -> StoredRecord | None:
        record: SuggestedDocument = _checked(SuggestedDocument, self._referring(row))
        if self._is_moved:
            share, document = record.score or 0.0, record.document
            check_place(record.detail, self._source.text(document), share)
            record = moved_candidate(record.question, document, record.detail, share)
        stored = self._uids.get(record.uid, ())
        if any(record in (like, replace(like, at=record.at)) for like in stored):
            return None
        self._check_question(record.question)
        return record

    def _judgement(self, row: Row) -> StoredRecord | None:
        uid = row.values.get("uid")
        stored = self._state.judgement(uid) if uid else None
        is_restored = stored is None and bool(uid)  # out of another workshop, as it was there
        if stored is None:
            usual = {} if is_restored else {"purpose": "import"}
            record: Judgement = _checked(Judgement, usual | self._referring(row))
        else:
            record = self._rejudged(row, stored)
        newest = self._newest(record)
        stands = newest is not None and _values(newest, _CONTENT) == _values(record, _CONTENT)
        takes_back = record.kind == "undone" and newest is not None and newest.uid == uid
        is_idle = stands or (record.kind == "undone" and not takes_back)
        if record == stored or (is_idle and not is_restored):
            return None
        self._check(record)
        if stored is not None:
            if newest is None or newest.uid != uid:
                problem = "the same person has judged this pair again since, or taken it back"
                remedy = "leave this row as it was exported; change the newest one, or export anew"
                raise mistake("uid", problem, remedy)
            fields = {name: getattr(record, name) for name in (*_CONTENT, *_PAIR)}
            record = Judgement(**fields, purpose="import")
        # A row of another workshop may speak of documents that this corpus has no more.
        elif not is_restored and record.document not in self._source.documents:
            problem = f"{shorten(record.document)}: the corpus has no such document"
            remedy = "write an id of the corpus; spreadsheets make numbers and dates of some"
            raise mistake("document", problem, remedy)
        matter = _values(record, _MATTER)
        if record.uid in self._uids or (matter in self._judged and not is_restored):
            problem = "the same person judges this pair twice"
            raise mistake("document", problem, "keep one of them; of an added row leave uid empty")
        self._judged.add(matter)
        self.n_changed += newest is not None and not is_restored
        return record

    def _newest(self, like: Judgement) -> Judgement | None:
        """What the person of a judgement says of its pair now."""
        pair, state = (like.question, like.document), self._state
        if like.is_decision:
            return next(reversed(state.decisions.get(pair, [])), None)
        return (state.mark if like.is_mark else state.newest)(pair, like.person)

    def _referring(self, row: Row) -> dict[str, Any]:
        """What a row says, with the uids of its question and person."""
        values, text = dict(row.values), row.question
        if values.get("question") not in self._questions and text:
            uids = self._with_text(text) or [text]
            if len(uids) > 1 or uids[0] not in self._questions:
                n = len(uids) if len(uids) > 1 else "no"
                problem = f"{shorten(text)}: {n} questions have this text"
                new = "add it as a question first (record: question)"
                raise mistake("question", problem, "name one by question_uid" if n != "no" else new)
            values["question"] = uids[0]
        if row.kind is Judgement and not values.get("person"):
            values["person"] = self._person_of(row)
        return values

    def _with_text(self, text: str) -> list[str]:
        """The uids of the open questions of a text, white space around it aside."""
        return [
            question.uid
            for question in self._questions.values()
            if question.state == "open" and question.text.strip() == text.strip()
        ]

    # -- what is checked ---------------------------------------------------------------------------

    def _rejudged(self, row: Row, stored: Judgement) -> Judgement:
        """A judgement of the workshop as its row has it, which speaks of the same pair."""
        remedy = (
            "put that back; to judge another pair add a row without uid; reword the question in "
            "its own row (record: question)"
        )
        values = {name: row.values[name] for name in (*_CONTENT, *_PAIR) if name in row.values}
        record: Judgement = _checked(Judgement, _over(stored, values))
        if record.document not in self._source.documents:
            # What a spreadsheet has made of an id is none; the uid says which one was meant.
            record = replace(record, document=stored.document)
        for name in _PAIR:
            value, before = getattr(record, name), getattr(stored, name)
            if value != before:
                problem = f"{shorten(value)}: it was {shorten(before)} when it was exported"
                raise mistake(name, problem, remedy)
        text = row.question.strip()
        wordings = (getattr(wording, "text", "") for wording in self._uids[stored.question])
        if text and not any(_is_same(text, wording.strip()) for wording in wordings):
            raise mistake("question", f"{shorten(text)} is not the question's text", remedy)
        return record

    def _check(self, record: Judgement) -> None:
        """Raise a `DataError` unless a judgement fits the workshop."""
        self._check_question(record.question)
        if record.person not in self._people:
            problem = f"{shorten(record.person)}: there is no such person"
            raise mistake("person", problem, "leave it empty and name --person")
        if record.kind != "undone" and record.is_mark != (record.kind in MARKS):
            problem = f"{record.kind} is not said with the kind {record.why!r}"
            remedy = "it belongs to forbidden and allowed alone; relevance is a row of its own"
            raise mistake("why", problem, remedy)
        grades = sorted(self._source.grades)
        if record.grade not in (None, *grades):
            problem = f"{record.grade} is not on the scale"
            remedy = f"write {grades[0]} to {grades[-1]}, unusable or later"
            raise mistake("grade", problem, remedy)
        text = self._source.text(record.document)
        for start, end in record.spans:
            if not 0 <= start < end or (text is not None and end > len(text)):
                length = "" if text is None else f", which has {len(text)} characters"
                problem = f"{start} to {end} is no stretch of the document{length}"
                remedy = "write from and to in characters, or leave it empty"
                raise mistake("evidence", problem, remedy)

    def _check_question(self, uid: str) -> None:
        if uid not in self._questions:
            problem = f"{shorten(uid)}: there is no such question"
            raise mistake("question", problem, nearest(uid, self._questions))


def _checked(kind: type[StoredRecord], values: Mapping[str, Any]) -> Any:
    """A record of checked values.

    Raises:
        DataError: one of them is of the wrong kind.
    """
    try:
        record = _ADAPTERS[kind].validate_python(dict(values))
        datetime.fromisoformat(record.at)
    except ValidationError as error:
        (first, *_) = error.errors()
        name = ".".join(map(str, first["loc"]))
        if first["type"] == "missing":
            raise mistake(name, "is missing", "fill it in") from None
        remedy = _REMEDIES.get(str(first["loc"][0]), _EXPORTED)
        raise mistake(name, f"{shorten(first['input'])}: {first['msg']}", remedy) from None
    except ValueError:
        problem = f"{shorten(values.get('at'))} is no time"
        raise mistake("at", problem, "leave it empty, or as it was exported") from None
    for name in record.columns():
        value = getattr(record, name)
        is_wrong = isinstance(value, str) and "\x00" in value  # which PostgreSQL does not keep
        if is_wrong or (isinstance(value, float) and not math.isfinite(value)):
            raise mistake(name, f"{shorten(value)} cannot be kept", _EXPORTED)
    return record


def _over(stored: StoredRecord, values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record, those that a row says otherwise as it says them."""
    fields = asdict(stored)
    for name, value in values.items():
        before = fields.get(name)
        both_texts = isinstance(value, str) and isinstance(before, str)
        fields[name] = before if both_texts and _is_same(value, str(before)) else value
    return fields


def _values(record: Judgement, names: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in names)


def _is_same(text: str, stored: str) -> bool:
    """Whether a text is the stored one, as far as a spreadsheet program can save it.

    Some know one kind of line break, and Excel of Korean Windows writes question marks for what
    cp949 lacks, two for an emoji.
    """
    text, stored = (re.sub(r"\r\n?", "\n", lines) for lines in (text, stored))
    return text == stored or ("?" in text and text == "".join(map(_in_cp949, stored)))


def _in_cp949(letter: str) -> str:
    try:
        letter.encode("cp949")
    except UnicodeEncodeError:
        return "??" if ord(letter) > 0xFFFF else "?"
    return letter
