"""What a workshop holds now: its rows, folded in the order in which they came."""

import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from kragx.workshop.state.records import (
    OWNER,
    Judgement,
    Person,
    Question,
    Release,
    StoredRecord,
    SuggestedDocument,
)
from kragx.workshop.state.store import RecordStore

Pair = tuple[str, str]
"""The uid of a question, and the id of a document."""


class State:
    """What a workshop holds, kept up with its database, which others write to as well.

    Whoever reads several things that belong together, or writes, holds `lock` meanwhile.

    Args:
        store: the opened database.

    Attributes:
        people, questions: the newest of each uid, in the order of their first.
        candidates: by question and document, the oldest first.
        judgements: by pair and person, what counts, oldest first: an "undone" takes away the one
            before it. The last of them is what the person says now.
        decisions: by pair, likewise, what settles it.
        marks: by question, document and person, whether it may come for the question, likewise.
        history: by person, what counts of all that they said, oldest first, decisions too.
        marked: by person, what counts of their marks, oldest first.
        judged: by question the documents of which anything was said, in that order.
        releases: oldest first.
        touched: uids of questions of which something was said or suggested, one for each row; see
            `news`.
    """

    def __init__(self, store: RecordStore) -> None:
        self.store = store
        self.lock: threading.RLock = threading.RLock()
        self.people: dict[str, Person] = {}
        self.questions: dict[str, Question] = {}
        self.candidates: dict[str, dict[str, list[SuggestedDocument]]] = defaultdict(dict)
        self.judgements: dict[Pair, dict[str, list[Judgement]]] = defaultdict(dict)
        self.decisions: dict[Pair, list[Judgement]] = defaultdict(list)
        self.marks: dict[str, dict[str, dict[str, list[Judgement]]]] = defaultdict(dict)
        self.history: dict[str, list[Judgement]] = defaultdict(list)
        self.marked: dict[str, list[Judgement]] = defaultdict(list)
        self.judged: dict[str, dict[str, None]] = defaultdict(dict)
        self.releases: list[Release] = []
        self.touched: list[str] = []
        self._by_uid: dict[str, Judgement] = {}
        self._last: dict[str, int] = {}
        self._refreshed = -1.0
        self.refresh()

    def refresh(self) -> None:
        """Take in what others have written until now.

        Who has waited for the lock while another did so need not do it again.
        """
        started = time.monotonic()
        with self.lock:
            if self._refreshed > started:
                return
            # The time before the read: what is written while it runs is not yet taken in.
            began = time.monotonic()
            self._read()
            self._refreshed = began

    def _read(self, tables: Collection[str] | None = None) -> None:
        for record in self.store.after(self._last, tables):
            self._take(record)

    def news(self, position: int) -> tuple[list[str], int]:
        """The questions touched since a position of `touched`, and the position to go on from.

        Whoever keeps something made of questions sees so what to make anew.
        """
        return [*dict.fromkeys(self.touched[position:])], len(self.touched)

    def add(self, records: Iterable[StoredRecord]) -> None:
        """Write records; once this returns they are committed, and part of what is read.

        Raises:
            StoreFailedError: nothing is written.
        """
        records = list(records)
        with self.lock:
            self.store.add(records)
            # What is kept is what the database says, also where it knew the uid already.
            self._read({record.table for record in records})

    def owner(self) -> Person:
        """Whose workshop it is; made when it is first asked for."""
        with self.lock:
            for person in self.people.values():
                if person.role == "owner" and person.state == "here":
                    return person
            self.add([Person(name=OWNER, role="owner")])
            return self.owner()

    def judgement(self, uid: str) -> Judgement | None:
        """The judgement of this uid, whether it counts or not; None if none has come."""
        return self._by_uid.get(uid)

    def newest(self, pair: Pair, person: str) -> Judgement | None:
        """What a person says of a pair now, "later" included; None if they have said nothing."""
        judgements = self.judgements.get(pair, {}).get(person)
        return judgements[-1] if judgements else None

    def mark(self, pair: Pair, person: str) -> Judgement | None:
        """Whether a document may come for a question, as a person says now; None if they do not."""
        marks = self.marks.get(pair[0], {}).get(pair[1], {}).get(person)
        return marks[-1] if marks else None

    def marked_by(self, person: str, question: str, documents: Iterable[str]) -> Judgement | None:
        """As what a person has forbidden a document or a copy of it; None if they have not."""
        marks = (self.mark((question, document), person) for document in documents)
        newest = max(filter(None, marks), key=lambda mark: mark.at, default=None)
        return newest if newest is not None and newest.kind == "forbidden" else None

    def last(self, person: str) -> Judgement | None:
        """What a person said last of all that counts, of relevance or not; None for nothing."""
        rows = [*self.marked.get(person, ())[-1:], *self.history.get(person, ())[-1:]]
        return max(rows, key=lambda row: row.at, default=None)

    def odd(self, question: Question) -> dict[str, str]:
        """What people say who find a question itself odd, by their uid.

        They have put off one of its pairs as such (purpose "odd"), and neither have they judged
        that since nor has anybody changed the question.
        """
        notes: dict[str, str] = {}
        for document in self.judged.get(question.uid, ()):
            for person, rows in self.judgements.get((question.uid, document), {}).items():
                if rows and rows[-1].purpose == "odd" and rows[-1].at >= question.at:
                    notes[person] = rows[-1].note
        return notes

    def open_questions(self) -> Iterator[Question]:
        """Yield the questions that were not dropped."""
        return (question for question in self.questions.values() if question.state == "open")

    def _take(self, record: StoredRecord) -> None:
        match record:
            case Person():
                self.people[record.uid] = record
            case Question():
                self.questions[record.uid] = record
                self.touched.append(record.uid)
            case SuggestedDocument():
                self.candidates[record.question].setdefault(record.document, []).append(record)
                self.touched.append(record.question)
            case Judgement():
                self._take_judgement(record)
            case Release():
                self.releases.append(record)

    def _take_judgement(self, record: Judgement) -> None:
        question, document, person = record.question, record.document, record.person
        pair = (question, document)
        self._by_uid[record.uid] = record
        if record.is_mark:
            rows = self.marks[question].setdefault(document, {}).setdefault(person, [])
            history = self.marked
        else:
            self.touched.append(question)
            self.judged[question][document] = None
            rows, history = self.decisions[pair], self.history
            if not record.is_decision:
                rows = self.judgements[pair].setdefault(person, [])
        if record.kind != "undone":
            rows.append(record)
            history[person].append(record)
        elif rows:
            # One step at a time, as the page's button does: twice takes back the two before.
            undone = rows.pop()
            # It is the last of its person's, or nearly so.
            of_person = history[undone.person]
            del of_person[max(n for n, row in enumerate(of_person) if row.uid == undone.uid)]
