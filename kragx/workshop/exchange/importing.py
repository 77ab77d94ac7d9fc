"""Questions and judgements out of a file: all of them, or none and every mistake."""

import json
import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from kragx.data.documents import Doc
from kragx.errors import DataError, UsageError, nearest, shorten
from kragx.printing import Line, Part, Result, counted, joined, phrase
from kragx.workshop.exchange.doubts import check_place
from kragx.workshop.exchange.forms import form_of, recognised
from kragx.workshop.exchange.rows import Mistakes, Row, Rows, by_text, is_same, text_of
from kragx.workshop.names import alike, of_name, same
from kragx.workshop.pairs.moved import ORIGIN, moved_candidate
from kragx.workshop.state.records import (
    RECORDS,
    Candidate,
    Judgement,
    Person,
    Question,
    Record,
    now,
)
from kragx.workshop.state.state import State

_CONTENT = ("kind", "grade", "spans", "note")
"""What somebody may say anew of a pair; the rest of a judgement is how it came."""


@dataclass(frozen=True)
class Imported(Result):
    """What came out of a file.

    Attributes:
        path: the file.
        form: its form.
        people, questions, judgements, candidates: how many records were added.
        changed: how many judgements and questions of them say something else than before.
        unchanged: rows that say what the workshop says already.
        absent: judgements of the workshop that the file does not have, and that stay.
        author: whose the judgements are that named nobody; None if there are none.
        remarks: what else to know, in words.
    """

    path: Path
    form: str
    people: int
    questions: int
    judgements: int
    candidates: int
    changed: int
    unchanged: int
    absent: int
    author: str | None
    remarks: tuple[str, ...]

    def describe(self) -> Iterator[Part]:
        """What came, and what did not."""
        counts = {
            phrase("people"): self.people,
            phrase("questions"): self.questions,
            phrase("judgements"): self.judgements,
            phrase("candidates"): self.candidates,
        }
        added = counted({name: n for name, n in counts.items() if n}) or phrase("nothing new")
        summary = phrase(
            "imported from {path} ({form}): {added}", path=self.path, form=self.form, added=added
        )
        changed = phrase("{n} of them changes", n=self.changed) if self.changed else ""
        yield Line(joined(", ", [summary, changed]))
        if self.author is not None:
            yield Line(phrase("rows that name nobody are judgements of {name}", name=self.author))
        if self.unchanged:
            yield Line(phrase("{n} rows say what is known already", n=self.unchanged))
        if self.absent:
            yield Line(
                phrase(
                    "{n} judgements of the workshop are not in the file; they stay as they are "
                    "(with the grade 'undone' a row takes its judgement back)",
                    n=self.absent,
                )
            )
        for words in self.remarks:
            yield Line(words)


def import_file(
    state: State,
    path: str | Path,
    *,
    documents: Mapping[str, Doc],
    grades: Mapping[int, str],
    form: str | None = None,
    person: str | None = None,
) -> Imported:
    """Take the questions and judgements of a file into a workshop.

    A row with a uid that is known changes nothing if it says the same, and is a new judgement of
    the same person (or the question's new wording) if not; one with another uid, or none, is added.
    The same file again adds nothing.

    Args:
        state: of the workshop.
        path: the file.
        documents: of its corpus, by id.
        grades: of the scale.
        form: as of `export_file`; None recognises it.
        person: the name of whose the judgements are that name nobody; a new name is somebody new.

    Raises:
        DataError: rows are wrong; all are listed, and nothing is imported.
        UsageError: there is no such form.
    """
    path = Path(path)
    form = form or recognised(path)
    read = form_of(form).read
    if read is None:
        remedy = "export csv for what is to come back"
        raise UsageError(f"{form} is only written", field="--form", remedy=remedy)
    rows = read(path)
    with state.lock:
        is_added = False
        while not is_added:  # another import may have come in between
            n_imports = state.store.imported()
            state.refresh()
            merge = _Merge(state, rows, path.name, str(path), documents, grades, person)
            merge.take()
            merge.mistakes.refuse()
            is_added = state.add(merge.added, n_imports)
        kinds = [type(record) for record in merge.added]
        return Imported(
            path,
            form,
            people=kinds.count(Person),
            questions=kinds.count(Question),
            judgements=kinds.count(Judgement),
            candidates=kinds.count(Candidate),
            changed=merge.n_changed,
            unchanged=merge.n_unchanged,
            absent=merge.n_absent if rows.is_whole else 0,
            author=merge.author,
            remarks=rows.remarks,
        )


@dataclass
class _Merge:
    """What a file adds to a workshop."""

    state: State
    rows: Rows
    name: str
    file: str
    documents: Mapping[str, Doc]
    grades: Mapping[int, str]
    person: str | None
    added: list[Record] = field(default_factory=list)
    n_changed: int = 0
    n_unchanged: int = 0
    author: str | None = None

    def __post_init__(self) -> None:
        self.mistakes = Mistakes(self.file)
        self.people, self.questions = dict(self.state.people), dict(self.state.questions)
        self._texts = by_text(self.questions)
        self.versions: dict[str, list[Record]] = {}
        self.known: set[str] = set()
        for record in self.state.store.after({}):
            if isinstance(record, (Person, Question)):
                self.versions.setdefault(record.uid, []).append(record)
            self.known.add(record.uid)
        marks = ([row.values.get(name) for name in ("uid", "at")] for row in self.rows.rows)
        self.in_file = {(uid, str(time)) for uid, time in marks if isinstance(uid, str)}
        self.n_absent = len(
            {uid for uid in self.known if self.state.is_known(uid)}
            - {uid for uid, _ in self.in_file}
        )
        self.said: dict[tuple[str, str, str, bool], Judgement] = {}

    def _text(self, doc_id: str) -> str | None:
        return text_of(self.documents, doc_id)

    def take(self) -> None:
        """Go through the rows: what judgements refer to before them, restored ones before new."""
        by_kind: dict[type[Record], list[Row]] = {}
        for row in sorted(self.rows.rows, key=lambda row: row.number):
            by_kind.setdefault(row.kind, []).append(row)
        for kind in (Person, Question):
            for row in by_kind.get(kind, []):
                self._guarded(row, self._take_thing)
        self.texts = by_text(self.questions)
        for row in by_kind.get(Candidate, []):
            self._guarded(row, self._take_candidate)
        judgements = by_kind.get(Judgement, [])
        for row in judgements:
            if row.values.get("uid") is not None:
                self._guarded(row, self._take_judgement)
        for row in judgements:
            if row.values.get("uid") is None:
                self._guarded(row, self._add_judgement)

    def _guarded(self, row: Row, take: Callable[[Row], None]) -> None:
        try:
            take(row)
        except DataError as error:
            self.mistakes.add(row.place, error.field, error.problem, error.remedy)

    def _record(self, kind: type[Record], values: Mapping[str, Any]) -> Any:
        """A record of checked values.

        Raises:
            DataError: one of them is of the wrong kind.
        """
        from pydantic import ValidationError

        try:
            record = _adapter(kind.table).validate_json(
                json.dumps(values, default=list), strict=True
            )
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

    def _take_thing(self, row: Row) -> None:
        """A person or a question: new, as it is known, or changed."""
        values = dict(row.values)
        things: dict[str, Any] = self.people if row.kind is Person else self.questions
        if self.rows.adds_only and (
            values["uid"] in things or self._texts.get(values["text"].strip())
        ):
            self.n_unchanged += 1
            return
        if row.kind is Question and "person" not in values:
            values["person"] = self._person_of(row)
        record = self._with_known(row.kind, things.get(str(values.get("uid"))), values)
        if record is None:
            self.n_unchanged += 1
            return
        name = "text" if row.kind is Question else "name"
        if not getattr(record, name).strip():
            raise DataError("is empty", field=name, remedy="fill it in, or remove the row")
        if "uid" not in values and any(
            getattr(thing, name) == getattr(record, name) for thing in things.values()
        ):
            self.n_unchanged += 1
            return
        things[record.uid] = record
        self.added.append(record)

    def _with_known(
        self, kind: type[Record], newest: Record | None, values: Mapping[str, Any]
    ) -> Any | None:
        """A person or question as a row has it; None if the workshop has it so already."""
        versions = self.versions.get(newest.uid, []) if newest else []
        if newest is None or not versions:  # of another workshop: every wording comes along
            return self._record(kind, values)
        record = self._record(kind, _over(newest, values))
        if record in versions or replace(record, at=newest.at) == newest:
            return None
        if record.at > newest.at:  # of a copy of this workshop that was worked on
            versions.append(record)
            return record
        if record.at < newest.at:
            if (newest.uid, newest.at) in self.in_file:  # beside it, as of a whole history
                return None
            raise DataError(
                "was changed in the workshop after this file was written",
                field="uid",
                remedy="export anew, and change that",
            )
        self.n_changed += 1
        return replace(record, at=now())

    def _take_candidate(self, row: Row) -> None:
        values = self._referring(row) if self.rows.adds_only else row.values
        record = self._record(Candidate, values)
        if record.origin == ORIGIN and self.rows.adds_only:
            check_place(record.detail, self._text(record.document), record.score or 0.0)
            place = (record.question, record.document, record.detail)
            record = moved_candidate(*place, record.score or 0.0)
        if record.uid in self.known:
            self.n_unchanged += 1
            return
        self._check_question(record.question)
        self.known.add(record.uid)
        self.added.append(record)

    def _take_judgement(self, row: Row) -> None:
        """A judgement with a uid: of another workshop, as it is known, or changed."""
        uid = str(row.values["uid"])
        known = self.state.judgement(uid)
        if known is None:
            record = self._record(Judgement, self._referring(row))
            self._check(record)
            if uid in self.known:
                remedy = "remove one; of an added row leave uid empty"
                raise DataError(f"{uid!r} stands twice", field="uid", remedy=remedy)
            self.known.add(uid)
            self._put(record)
            return
        self._check_same_pair(row, known)
        content = {name: row.values[name] for name in _CONTENT if name in row.values}
        record = self._record(Judgement, _over(known, content))
        if record == known:
            self.n_unchanged += 1
            return
        self._check(record)
        newest = self._newest(known)
        is_undone = record.kind == "undone" and not self._counts(known)
        if is_undone or (newest is not None and _content(newest) == _content(record)):
            self.n_unchanged += 1
            return
        if newest is None or newest.uid != uid:
            raise DataError(
                "the same person has judged this pair again since, or taken it back",
                field="uid",
                remedy="leave this row as it was exported; change the newest one, or export anew",
            )
        self.n_changed += 1
        self._put(self._renewed(record))

    def _add_judgement(self, row: Row) -> None:
        values = self._referring(row)
        values.pop("uid", None)
        record = self._record(Judgement, {"purpose": "import"} | values)
        self._check(record)
        if self._text(record.document) is None:
            raise DataError(
                f"{shorten(record.document)}: the corpus has no such document",
                field="document",
                remedy="write an id of the corpus; spreadsheets make numbers and dates of some",
            )
        key = _key(record)
        if key in self.said and self.said[key].uid not in self.known:
            remedy = "keep one of them"
            raise DataError(
                "the same person judges this pair twice", field="document", remedy=remedy
            )
        newest = self._newest(record)
        if newest is not None and _content(newest) == _content(record):
            self.n_unchanged += 1
            return
        if record.kind == "undone":
            raise DataError(
                "'undone' takes back nothing here",
                field="grade",
                remedy="write later or unusable, or a grade",
            )
        self.n_changed += newest is not None
        self._put(record)

    def _put(self, record: Judgement) -> None:
        self.said[_key(record)] = record
        self.added.append(record)

    def _newest(self, like: Judgement) -> Judgement | None:
        if _key(like) in self.said:
            return self.said[_key(like)]
        pair = (like.question, like.document)
        if like.is_decision:
            return next(reversed(self.state.decisions.get(pair, [])), None)
        return self.state.newest(pair, like.person)

    def _counts(self, judgement: Judgement) -> bool:
        return any(row.uid == judgement.uid for row in self.state.history[judgement.person])

    @staticmethod
    def _renewed(record: Judgement) -> Judgement:
        content = {name: getattr(record, name) for name in (*_CONTENT, "question", "document")}
        return Judgement(
            **content, person=record.person, is_decision=record.is_decision, purpose="import"
        )

    def _check_same_pair(self, row: Row, known: Judgement) -> None:
        for name in ("question", "person", "document", "is_decision"):
            value = row.values.get(name, getattr(known, name))
            if value == getattr(known, name):
                continue
            # What a spreadsheet has made of an id is none; the uid says which one was meant.
            if name == "document" and self._text(str(value)) is None:
                continue
            raise DataError(
                f"{shorten(value)}: it was {shorten(getattr(known, name))} when it was exported",
                field=name,
                remedy="put that back; to judge another pair add a row without uid",
            )
        if row.question is not None and row.question.strip() != "":
            now = self.questions.get(known.question)
            wordings = [*self.versions.get(known.question, ()), *([now] if now else ())]
            texts = {wording.text.strip() for wording in wordings if isinstance(wording, Question)}
            if not any(is_same(row.question.strip(), text) for text in texts):
                raise DataError(
                    f"{shorten(row.question)} is not the question's text",
                    field="question",
                    remedy="reword the question in its own row (record: question)",
                )

    def _check(self, record: Judgement) -> None:
        """Raise a `DataError` unless a judgement fits the workshop."""
        self._check_question(record.question)
        if record.person not in self.people:
            problem = f"{shorten(record.person)}: there is no such person"
            raise DataError(problem, field="person", remedy="leave it empty and name --person")
        grades = sorted(self.grades)
        if (record.kind == "grade") != (record.grade is not None) or (
            record.grade is not None and record.grade not in self.grades
        ):
            raise DataError(
                f"{record.grade if record.grade is not None else record.kind} is not on the scale",
                field="grade",
                remedy=f"write {grades[0]} to {grades[-1]}, unusable or later",
            )
        text = self._text(record.document)
        for start, end in record.spans:
            if not 0 <= start < end or (text is not None and end > len(text)):
                length = "" if text is None else f", which has {len(text)} characters"
                raise DataError(
                    f"{start} to {end} is no stretch of the document{length}",
                    field="evidence",
                    remedy="write from and to in characters, or leave it empty",
                )

    def _check_question(self, uid: str) -> None:
        if uid not in self.questions:
            raise DataError(
                f"{shorten(uid)}: there is no such question",
                field="question",
                remedy=nearest(uid, self.questions),
            )

    def _referring(self, row: Row) -> dict[str, Any]:
        """What a row says, with the uids of its question and person."""
        values = dict(row.values)
        uid = values.get("question")
        if isinstance(uid, str | None) and uid not in self.questions and row.question is not None:
            values["question"] = self._question_of(row)
        if "person" not in values and row.kind is Judgement:
            values["person"] = self._person_of(row)
        return values

    def _question_of(self, row: Row) -> str:
        uids = self.texts.get((row.question or "").strip(), [])
        if len(uids) == 1:
            return uids[0]
        problem = f"{shorten(row.question or '')}: {len(uids) or 'no'} questions have this text"
        remedy = (
            "name one by question_uid" if uids else "add it as a question first (record: question)"
        )
        raise DataError(problem, field="question", remedy=remedy)

    def _person_of(self, row: Row) -> str:
        """The uid of whose a row without a person's uid is."""
        name = unicodedata.normalize("NFC", row.person or "").strip()
        by_name = [uid for uid, person in self.people.items() if person.name == name]
        if not by_name:
            by_name = [
                uid for uid, person in self.people.items() if name and same(person.name, name)
            ]
        if len(by_name) == 1:
            return by_name[0]
        if len(by_name) > 1:
            problem = f"{len(by_name)} people are called {name!r}"
            raise DataError(problem, field="person", remedy="write a uid into person_uid")
        if self.person is None and name:
            names = [person.name for person in self.people.values()]
            remedy = f"{nearest(name, names)}; or name --person for somebody new"
            raise DataError(f"nobody is called {name!r}", field="person", remedy=remedy)
        author = self.person or self.name
        if author != name:
            self.author = author
        if person_known := of_name(author, self.people.values()):
            return person_known.uid
        for somebody in self.people.values():
            if somebody.role != "file" and alike(somebody.name, author):
                remedy = "write it the same, or give each a name of their own"
                problem = f"{author!r} looks like {somebody.name!r}, who is here already"
                raise DataError(problem, field="person", remedy=remedy)
        person = Person(name=author, role="annotator" if self.person else "file")
        self.people[person.uid] = person
        self.added.insert(0, person)
        return person.uid


@cache
def _adapter(table: str) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(next(kind for kind in RECORDS if kind.table == table))


def _over(known: Record, values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record, those that a row says otherwise as it says them."""
    fields = asdict(known)
    for name, value in values.items():
        before = fields.get(name)
        both_texts = isinstance(value, str) and isinstance(before, str)
        fields[name] = before if both_texts and is_same(value, str(before)) else value
    return fields


def _key(judgement: Judgement) -> tuple[str, str, str, bool]:
    return judgement.question, judgement.document, judgement.person, judgement.is_decision


def _content(judgement: Judgement) -> tuple[Any, ...]:
    return tuple(getattr(judgement, name) for name in _CONTENT)
