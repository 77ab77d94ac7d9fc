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
from kragx.workshop.exchange.undecided import check_place
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
        self._documents, self._grades, self._person = documents, grades, person
        self._mistakes = Mistakes(str(path))
        self._people, self._questions = dict(state.people), dict(state.questions)
        self._uids: dict[str, list[StoredRecord]] = {}  # with every wording of a question or name
        for record in state.store.after({}):
            self._uids.setdefault(record.uid, []).append(record)
        self._said: dict[tuple[object, ...], Judgement] = {}
        self.added: list[StoredRecord] = []
        self.n_changed: int = 0
        self.n_unchanged: int = 0
        self.author: str | None = None

    def take(self) -> None:
        """Go through the rows: what judgements refer to before them, restored ones before new.

        Raises:
            DataError: rows are wrong; all are listed.
        """
        rows = sorted(self._rows.rows, key=lambda row: row.number)
        for kind, take in (
            (Person, self._take_thing),
            (Question, self._take_thing),
            (SuggestedDocument, self._take_candidate),
            (Judgement, self._take_judgement),
        ):
            of_kind = [row for row in rows if row.kind is kind]
            for row in sorted(of_kind, key=lambda row: row.values.get("uid") is None):
                try:
                    take(row)
                except DataError as error:
                    self._mistakes.add(row.place, error.field, error.problem, error.remedy)
        self._mistakes.refuse()

    # -- people and questions ----------------------------------------------------------------------

    def _take_thing(self, row: Row) -> None:
        """A person or a question: new, as it is known, or changed."""
        values = dict(row.values)
        things: dict[str, Any] = self._people if row.kind is Person else self._questions
        uid, name = values.get("uid"), "text" if row.kind is Question else "name"
        if self._rows.adds_only and (uid in things or self._with_text(values["text"])):
            self.n_unchanged += 1
            return
        if row.kind is Question and "person" not in values:
            values["person"] = self._person_of(row)
        newest = things.get(str(uid))
        record = self._record(row.kind, values if newest is None else _over(newest, values))
        if not getattr(record, name).strip():
            raise DataError("is empty", field=name, remedy="fill it in, or remove the row")
        if newest is not None:
            record = self._changed(record, newest)
        elif uid is None and any(
            getattr(thing, name) == getattr(record, name) for thing in things.values()
        ):
            record = None
        if record is None:
            self.n_unchanged += 1
            return
        things[record.uid] = record
        self._uids.setdefault(record.uid, []).append(record)
        self.added.append(record)

    def _changed(self, record: Any, newest: Any) -> Any | None:
        """A person or question as a row has it; None if the workshop has had it so already."""
        is_same = not self._rows.is_history and replace(record, at=newest.at) == newest
        if is_same or record in self._uids[newest.uid]:
            return None
        if record.at > newest.at:  # of a copy of this workshop that was worked on
            return record
        if record.at < newest.at:
            if self._rows.is_history:
                return None
            raise DataError(
                "was changed in the workshop after this file was written",
                field="uid",
                remedy="export anew, and change that",
            )
        self.n_changed += 1
        return replace(record, at=now())

    def _person_of(self, row: Row) -> str:
        """The uid of whose a row without a person's uid is."""
        name = unicodedata.normalize("NFC", row.person or "").strip()
        people = people_called(name, self._people.values()) if name else []
        if len(people) > 1:
            problem = f"{len(people)} people are called {name!r}"
            raise DataError(problem, field="person", remedy="write a uid into person_uid")
        if people:
            return people[0].uid
        if self._person is None and name:
            names = [person.name for person in self._people.values()]
            remedy = f"{nearest(name, names)}; or name --person for somebody new"
            raise DataError(f"nobody is called {name!r}", field="person", remedy=remedy)
        author = self._person or self._file
        if author != name:
            self.author = author
        if people := people_called(author, self._people.values()):
            return people[0].uid
        for somebody in self._people.values():
            if somebody.role != "file" and alike(somebody.name, author):
                remedy = "write it the same, or give each a name of their own"
                problem = f"{author!r} looks like {somebody.name!r}, who is here already"
                raise DataError(problem, field="person", remedy=remedy)
        person = Person(name=author, role="annotator" if self._person else "file")
        self._people[person.uid] = person
        self.added.insert(0, person)
        return person.uid

    # -- suggestions and judgements ----------------------------------------------------------------

    def _take_candidate(self, row: Row) -> None:
        record = self._record(SuggestedDocument, self._referring(row))
        if self._rows.adds_only:
            text, share = record.detail, record.score or 0.0
            check_place(text, text_of(self._documents, record.document), share)
            record = moved_candidate(record.question, record.document, text, share)
        if record.uid in self._uids and record in (
            *self._uids[record.uid],
            *(replace(stored, at=record.at) for stored in self._uids[record.uid]),
        ):
            self.n_unchanged += 1
            return
        self._check_question(record.question)
        self._uids.setdefault(record.uid, []).append(record)
        self.added.append(record)

    def _take_judgement(self, row: Row) -> None:
        """A judgement: new, of another workshop, as it is known, or changed."""
        uid = row.values.get("uid")
        stored = None if uid is None else self._state.judgement(str(uid))
        if stored is not None:
            self._rejudge(row, stored)
            return
        usual = {"purpose": "import"} if uid is None else {}
        record = self._record(Judgement, usual | self._referring(row))
        self._check(record)
        if record.uid in self._uids:
            remedy = "remove one; of an added row leave uid empty"
            raise DataError(f"{record.uid!r} stands twice", field="uid", remedy=remedy)
        if uid is None and not self._is_new(record):
            self.n_unchanged += 1
            return
        self._store(record)

    def _is_new(self, record: Judgement) -> bool:
        """Whether a row without uid says something else than its person says of the pair.

        Raises:
            DataError: it cannot be said.
        """
        if record.document not in self._documents:
            raise DataError(
                f"{shorten(record.document)}: the corpus has no such document",
                field="document",
                remedy="write an id of the corpus; spreadsheets make numbers and dates of some",
            )
        if _values(record, _MATTER) in self._said:
            problem, remedy = "the same person judges this pair twice", "keep one of them"
            raise DataError(problem, field="document", remedy=remedy)
        newest = self._newest(record)
        if newest is not None and _values(newest, _CONTENT) == _values(record, _CONTENT):
            return False
        if record.kind == "undone":
            remedy = "write later or unusable, or a grade"
            raise DataError("'undone' takes back nothing here", field="grade", remedy=remedy)
        self.n_changed += newest is not None
        return True

    def _rejudge(self, row: Row, stored: Judgement) -> None:
        """A row of a judgement that the workshop has."""
        self._check_same_pair(row, stored)
        content = {name: row.values[name] for name in _CONTENT if name in row.values}
        record = self._record(Judgement, _over(stored, content))
        newest = self._newest(stored)
        history = (self._state.marked if stored.is_mark else self._state.history)[stored.person]
        is_undone = record.kind == "undone" and all(row.uid != stored.uid for row in history)
        said = () if newest is None else _values(newest, _CONTENT)
        if record == stored or is_undone or said == _values(record, _CONTENT):
            self.n_unchanged += 1
            return
        self._check(record)
        if newest is None or newest.uid != stored.uid:
            raise DataError(
                "the same person has judged this pair again since, or taken it back",
                field="uid",
                remedy="leave this row as it was exported; change the newest one, or export anew",
            )
        self.n_changed += 1
        fields = {name: getattr(record, name) for name in (*_CONTENT, *_PAIR)}
        self._store(Judgement(**fields, purpose="import"))

    def _store(self, record: Judgement) -> None:
        self._said[_values(record, _MATTER)] = record
        self._uids.setdefault(record.uid, []).append(record)
        self.added.append(record)

    def _newest(self, like: Judgement) -> Judgement | None:
        """What the person of a judgement says of its pair now."""
        pair = (like.question, like.document)
        if like.is_decision:
            return next(reversed(self._state.decisions.get(pair, [])), None)
        state = self._state
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
                remedy = "name one by question_uid" if uids else new
                raise DataError(problem, field="question", remedy=remedy)
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
            value, before = row.values.get(name, getattr(stored, name)), getattr(stored, name)
            # What a spreadsheet has made of an id is none; the uid says which one was meant.
            is_spoilt = name == "document" and str(value) not in self._documents
            if value != before and not is_spoilt:
                raise DataError(
                    f"{shorten(value)}: it was {shorten(before)} when it was exported",
                    field=name,
                    remedy="put that back; to judge another pair add a row without uid",
                )
        text = (row.question or "").strip()
        wordings = (getattr(wording, "text", "") for wording in self._uids[stored.question])
        if text and not any(is_same(text, wording.strip()) for wording in wordings):
            raise DataError(
                f"{shorten(text)} is not the question's text",
                field="question",
                remedy="reword the question in its own row (record: question)",
            )

    def _check(self, record: Judgement) -> None:
        """Raise a `DataError` unless a judgement fits the workshop."""
        self._check_question(record.question)
        if record.person not in self._people:
            problem = f"{shorten(record.person)}: there is no such person"
            raise DataError(problem, field="person", remedy="leave it empty and name --person")
        if record.kind != "undone" and record.is_mark != (record.kind in MARKS):
            raise DataError(
                f"{record.kind} is not said with the kind {record.why!r}",
                field="why",
                remedy="it belongs to forbidden and allowed alone; relevance is a row of its own",
            )
        grade, grades = record.grade, sorted(self._grades)
        if (record.kind == "grade") != (grade is not None) or grade not in (None, *grades):
            raise DataError(
                f"{record.kind if grade is None else grade} is not on the scale",
                field="grade",
                remedy=f"write {grades[0]} to {grades[-1]}, unusable or later",
            )
        text = text_of(self._documents, record.document)
        for start, end in record.spans:
            if not 0 <= start < end or (text is not None and end > len(text)):
                length = "" if text is None else f", which has {len(text)} characters"
                raise DataError(
                    f"{start} to {end} is no stretch of the document{length}",
                    field="evidence",
                    remedy="write from and to in characters, or leave it empty",
                )

    def _check_question(self, uid: str) -> None:
        if uid not in self._questions:
            problem = f"{shorten(uid)}: there is no such question"
            raise DataError(problem, field="question", remedy=nearest(uid, self._questions))

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
                raise DataError("is missing", field=name, remedy="fill it in") from None
            problem = f"{shorten(first['input'])}: {first['msg']}"
            raise DataError(problem, field=name, remedy="write what was exported there") from None
        except ValueError:
            problem = f"{shorten(values.get('at'))} is no time"
            remedy = "leave it empty, or as it was exported"
            raise DataError(problem, field="at", remedy=remedy) from None
        for name in record.columns():
            value = getattr(record, name)
            if isinstance(value, str) and "\x00" in value:
                raise DataError("holds the character NUL", field=name, remedy="remove it")
            if isinstance(value, float) and not math.isfinite(value):
                raise DataError("is too large", field=name, remedy="write what was exported there")
        if not 0 < len(record.uid) <= 1000:
            raise DataError(f"{shorten(record.uid)} is no id", field="uid", remedy="leave it empty")
        return record


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
