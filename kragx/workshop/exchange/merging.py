"""What a file adds to a workshop: each row held against what the workshop has."""

import json
import math
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from kragx.data.documents import Doc
from kragx.ground.errors import DataError, nearest, shorten
from kragx.workshop.exchange.rows import FileRows, Mistakes, Row, is_same, text_of
from kragx.workshop.names import alike, people_called
from kragx.workshop.pairs.moved import moved_candidate
from kragx.workshop.state.records import (
    MARKS,
    RECORDS,
    Judgement,
    Person,
    Question,
    StoredRecord,
    SuggestedDocument,
    now,
)
from kragx.workshop.state.state import State

_CONTENT = ("kind", "grade", "spans", "note", "why")
"""What somebody may say anew of a pair; the rest of a judgement is how it came."""

_PAIR = ("question", "document", "person", "is_decision")
_MATTER = (*_PAIR, "is_mark")
"""Of one pair a person says two things: how relevant it is, and whether it may come."""

_RUN, _SURE = 6, 0.3  # letters in a row that are there in any case if so great a share of all is
_EXPORTED = "write what was exported there"


class Merge:
    """What a file adds to a workshop."""

    def __init__(
        self,
        state: State,
        rows: FileRows,
        path: Path,
        documents: Mapping[str, Doc],
        grades: Mapping[int, str],
        person: str | None,
    ) -> None:
        self._state, self._rows, self._file = state, rows, path.name
        self._documents, self._grades, self._person = documents, sorted(grades), person
        self._mistakes = Mistakes(str(path))
        self._people, self._questions = dict(state.people), dict(state.questions)
        self._uids: dict[str, list[StoredRecord]] = {}  # with every wording of a question or name
        for record in state.store.after({}):
            self._uids.setdefault(record.uid, []).append(record)
        self._judged: set[tuple[object, ...]] = set()
        self.added: list[StoredRecord] = []
        self.n_changed: int = 0
        self.n_unchanged: int = 0
        self.author: str | None = None

    def take(self) -> None:
        """Go through the rows: what judgements refer to before them, restored ones before new.

        Raises:
            DataError: rows are wrong; all are listed.
        """
        take = {
            Person: self._thing,
            Question: self._thing,
            SuggestedDocument: self._candidate,
            Judgement: self._judgement,
        }
        kinds = list[type[StoredRecord]](take)

        def order(row: Row) -> tuple[object, ...]:
            return kinds.index(row.kind), row.values.get("uid") is None, row.number

        for row in sorted(self._rows.rows, key=order):
            try:
                record = take[row.kind](row)
            except DataError as error:
                self._mistakes.add(row.place, error)
                continue
            if record is None:
                self.n_unchanged += 1
            else:
                self._uids.setdefault(record.uid, []).append(record)
                self.added.append(record)
        self._mistakes.refuse()

    # -- people and questions ----------------------------------------------------------------------

    def _thing(self, row: Row) -> StoredRecord | None:
        """A person or a question, new or changed; None if the workshop has it so."""
        values = dict(row.values)
        things: dict[str, Any] = self._people if row.kind is Person else self._questions
        uid, name = values.get("uid"), "text" if row.kind is Question else "name"
        if self._rows.adds_only and (uid in things or self._with_text(values["text"])):
            return None
        if row.kind is Question and "person" not in values:
            values["person"] = self._person_of(row)
        newest = things.get(str(uid))
        fields = values if newest is None else _over(newest, values)
        record: Person | Question | None = self._record(row.kind, fields)
        text = getattr(record, name)
        if not text.strip():
            raise _mistake(name, "is empty", "fill it in, or remove the row")
        if newest is not None:
            record = self._changed(record, newest)
        elif uid is None and any(getattr(thing, name) == text for thing in things.values()):
            return None
        if record is not None:
            things[record.uid] = record
        return record

    def _changed(self, record: Any, newest: Any) -> Any | None:
        """A person or question as a row has it; None if the workshop has had it so already."""
        is_history = self._rows.is_history
        is_same = not is_history and replace(record, at=newest.at) == newest
        is_older = record.at < newest.at
        if is_same or record in self._uids[newest.uid] or (is_history and is_older):
            return None
        if is_older:
            problem = "was changed in the workshop after this file was written"
            raise _mistake("uid", problem, "export anew, and change that")
        if record.at > newest.at:  # of a copy of this workshop that was worked on
            return record
        self.n_changed += 1
        return replace(record, at=now())

    def _person_of(self, row: Row) -> str:
        """The uid of whose a row without a person's uid is."""
        name = unicodedata.normalize("NFC", row.person or "").strip()
        people = people_called(name, self._people.values()) if name else []
        if len(people) > 1:
            problem = f"{len(people)} people are called {name!r}"
            raise _mistake("person", problem, "write a uid into person_uid")
        if people:
            return people[0].uid
        if self._person is None and name:
            names = [person.name for person in self._people.values()]
            remedy = f"{nearest(name, names)}; or name --person for somebody new"
            raise _mistake("person", f"nobody is called {name!r}", remedy)
        author = self._person or self._file
        if author != name:
            self.author = author
        if people := people_called(author, self._people.values()):
            return people[0].uid
        for somebody in self._people.values():
            if somebody.role != "file" and alike(somebody.name, author):
                problem = f"{author!r} looks like {somebody.name!r}, who is here already"
                remedy = "write it the same, or give each a name of their own"
                raise _mistake("person", problem, remedy)
        person = Person(name=author, role="annotator" if self._person else "file")
        self._people[person.uid] = person
        self.added.insert(0, person)  # before the judgements that name them
        return person.uid

    # -- suggestions and judgements ----------------------------------------------------------------

    def _candidate(self, row: Row) -> StoredRecord | None:
        record: SuggestedDocument = self._record(SuggestedDocument, self._referring(row))
        if self._rows.adds_only:
            text, share = record.detail, record.score or 0.0
            _check_place(text, text_of(self._documents, record.document), share)
            record = moved_candidate(record.question, record.document, text, share)
        stored = self._uids.get(record.uid, ())
        if any(record in (row, replace(row, at=record.at)) for row in stored):
            return None
        self._check_question(record.question)
        return record

    def _judgement(self, row: Row) -> StoredRecord | None:
        """A judgement, new or changed; None if the workshop has it so."""
        uid = row.values.get("uid")
        stored = None if uid is None else self._state.judgement(str(uid))
        record = self._new(row) if stored is None else self._rejudged(row, stored)
        if record is not None:
            self._judged.add(_values(record, _MATTER))
        return record

    def _new(self, row: Row) -> Judgement | None:
        is_added = row.values.get("uid") is None  # else it is of another workshop
        usual = {"purpose": "import"} if is_added else {}
        record: Judgement = self._record(Judgement, usual | self._referring(row))
        self._check(record)
        if record.uid in self._uids:
            remedy = "remove one; of an added row leave uid empty"
            raise _mistake("uid", f"{record.uid!r} stands twice", remedy)
        # A row of another workshop may speak of documents that this corpus has no more.
        if not is_added:
            return record
        if record.document not in self._documents:
            problem = f"{shorten(record.document)}: the corpus has no such document"
            remedy = "write an id of the corpus; spreadsheets make numbers and dates of some"
            raise _mistake("document", problem, remedy)
        if _values(record, _MATTER) in self._judged:
            problem = "the same person judges this pair twice"
            raise _mistake("document", problem, "keep one of them")
        newest = self._newest(record)
        if newest is not None and _values(newest, _CONTENT) == _values(record, _CONTENT):
            return None
        if record.kind == "undone":
            problem = "'undone' takes back nothing here"
            raise _mistake("grade", problem, "write later or unusable, or a grade")
        self.n_changed += newest is not None
        return record

    def _rejudged(self, row: Row, stored: Judgement) -> Judgement | None:
        """A row of a judgement that the workshop has."""
        self._check_same_pair(row, stored)
        content = {name: row.values[name] for name in _CONTENT if name in row.values}
        record = self._record(Judgement, _over(stored, content))
        newest = self._newest(stored)
        rows = (self._state.marked if stored.is_mark else self._state.history)[stored.person]
        is_undone = record.kind == "undone" and all(row.uid != stored.uid for row in rows)
        stands = () if newest is None else _values(newest, _CONTENT)
        if record == stored or is_undone or stands == _values(record, _CONTENT):
            return None
        self._check(record)
        if newest is None or newest.uid != stored.uid:
            problem = "the same person has judged this pair again since, or taken it back"
            remedy = "leave this row as it was exported; change the newest one, or export anew"
            raise _mistake("uid", problem, remedy)
        self.n_changed += 1
        fields = {name: getattr(record, name) for name in (*_CONTENT, *_PAIR)}
        return Judgement(**fields, purpose="import")

    def _newest(self, like: Judgement) -> Judgement | None:
        """What the person of a judgement says of its pair now."""
        pair, state = (like.question, like.document), self._state
        if like.is_decision:
            return next(reversed(state.decisions.get(pair, [])), None)
        return (state.mark if like.is_mark else state.newest)(pair, like.person)

    def _referring(self, row: Row) -> dict[str, Any]:
        """What a row says, with the uids of its question and person."""
        values = dict(row.values)
        uid, text = values.get("question"), row.question
        if isinstance(uid, str | None) and uid not in self._questions and text is not None:
            uids = self._with_text(text)
            if len(uids) != 1:
                problem = f"{shorten(text)}: {len(uids) or 'no'} questions have this text"
                new = "add it as a question first (record: question)"
                raise _mistake("question", problem, "name one by question_uid" if uids else new)
            values["question"] = uids[0]
        if "person" not in values and row.kind is Judgement:
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

    def _check_same_pair(self, row: Row, stored: Judgement) -> None:
        for name in _PAIR:
            before = getattr(stored, name)
            value = row.values.get(name, before)
            # What a spreadsheet has made of an id is none; the uid says which one was meant.
            is_spoilt = name == "document" and str(value) not in self._documents
            if value != before and not is_spoilt:
                problem = f"{shorten(value)}: it was {shorten(before)} when it was exported"
                remedy = "put that back; to judge another pair add a row without uid"
                raise _mistake(name, problem, remedy)
        text = (row.question or "").strip()
        wordings = (getattr(wording, "text", "") for wording in self._uids[stored.question])
        if text and not any(is_same(text, wording.strip()) for wording in wordings):
            problem = f"{shorten(text)} is not the question's text"
            remedy = "reword the question in its own row (record: question)"
            raise _mistake("question", problem, remedy)

    def _check(self, record: Judgement) -> None:
        """Raise a `DataError` unless a judgement fits the workshop."""
        self._check_question(record.question)
        if record.person not in self._people:
            problem = f"{shorten(record.person)}: there is no such person"
            raise _mistake("person", problem, "leave it empty and name --person")
        if record.kind != "undone" and record.is_mark != (record.kind in MARKS):
            problem = f"{record.kind} is not said with the kind {record.why!r}"
            remedy = "it belongs to forbidden and allowed alone; relevance is a row of its own"
            raise _mistake("why", problem, remedy)
        grade, grades = record.grade, self._grades
        if (record.kind == "grade") != (grade is not None) or grade not in (None, *grades):
            problem = f"{record.kind if grade is None else grade} is not on the scale"
            remedy = f"write {grades[0]} to {grades[-1]}, unusable or later"
            raise _mistake("grade", problem, remedy)
        text = text_of(self._documents, record.document)
        for start, end in record.spans:
            if not 0 <= start < end or (text is not None and end > len(text)):
                length = "" if text is None else f", which has {len(text)} characters"
                problem = f"{start} to {end} is no stretch of the document{length}"
                remedy = "write from and to in characters, or leave it empty"
                raise _mistake("evidence", problem, remedy)

    def _check_question(self, uid: str) -> None:
        if uid not in self._questions:
            problem = f"{shorten(uid)}: there is no such question"
            raise _mistake("question", problem, nearest(uid, self._questions))

    def _record(self, kind: type[StoredRecord], values: Mapping[str, Any]) -> Any:
        """A record of checked values.

        Raises:
            DataError: one of them is of the wrong kind.
        """
        from pydantic import ValidationError

        try:
            text = json.dumps(values, default=list)
            record = _adapter(kind.table).validate_json(text, strict=True)
            datetime.fromisoformat(record.at)
        except ValidationError as error:
            (first, *_) = error.errors()
            name = ".".join(map(str, first["loc"]))
            if first["type"] == "missing":
                raise _mistake(name, "is missing", "fill it in") from None
            raise _mistake(name, f"{shorten(first['input'])}: {first['msg']}", _EXPORTED) from None
        except ValueError:
            problem = f"{shorten(values.get('at'))} is no time"
            raise _mistake("at", problem, "leave it empty, or as it was exported") from None
        for name in record.columns():
            value = getattr(record, name)
            if isinstance(value, str) and "\x00" in value:
                raise _mistake(name, "holds the character NUL", "remove it")
            if isinstance(value, float) and not math.isfinite(value):
                raise _mistake(name, "is too large", _EXPORTED)
        if not 0 < len(record.uid) <= 1000:
            raise _mistake("uid", f"{shorten(record.uid)} is no id", "leave it empty")
        return record


def _mistake(name: str, problem: str, remedy: str) -> DataError:
    return DataError(problem, field=name, remedy=remedy)


def _check_place(text: str, document: str | None, share: float) -> None:
    """Raise a `DataError` unless a chunk may hold a gold text: ids may be of another corpus."""
    remedy = "import into the workshop over the corpus that the gold was moved to"
    if document is None:
        raise _mistake("candidates", "the corpus has no such document", remedy)
    letters, runs_there = (
        "".join(filter(str.isalnum, string)).casefold() for string in (text, document)
    )
    runs = {letters[start : start + _RUN] for start in range(max(1, len(letters) - _RUN + 1))}
    if share >= _SURE and not any(run in runs_there for run in runs):
        raise _mistake("candidates", "the document has nothing of the text", remedy)


@cache
def _adapter(table: str) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(next(kind for kind in RECORDS if kind.table == table))


def _over(stored: StoredRecord, values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record, those that a row says otherwise as it says them."""
    fields = asdict(stored)
    for name, value in values.items():
        before = fields.get(name)
        both_texts = isinstance(value, str) and isinstance(before, str)
        fields[name] = before if both_texts and is_same(value, str(before)) else value
    return fields


def _values(record: Judgement, names: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in names)
