"""Pairs to judge, what people say of them, and what settles where they differ."""

from dataclasses import dataclass, replace

from kragx.ground.errors import UsageError
from kragx.workshop.forms import DecisionForm, JudgementForm, MarkForm, NextForm
from kragx.workshop.pairs.conflicts import conflicts
from kragx.workshop.pairs.moved import ORIGIN
from kragx.workshop.pairs.standing import verdicts
from kragx.workshop.queue.queue import JudgingTurn, NothingToJudge
from kragx.workshop.services.context import Context, Plain, plain_judgement, plain_question
from kragx.workshop.services.errors import ClashError, MisfitError
from kragx.workshop.state.records import Judgement, Person
from kragx.workshop.state.state import Pair

_ANY = NextForm()

FORBIDDEN = "forbidden"
"""The kind of what is forbidden without one."""


@dataclass(frozen=True)
class Judging:
    """Judging, pair by pair."""

    context: Context

    def next(self, person: Person, form: NextForm = _ANY) -> Plain:
        """The pair that a person should judge now, or why there is none.

        Args:
            person: who asks.
            form: of which question, and what is judged meanwhile.

        Raises:
            UnknownError: there is no such question.
        """
        context = self.context
        with context.state.lock:
            context.feed()
            if form.question is not None:
                context.open_question(form.question)
            besides = [(question, document) for question, document in form.after]
            turn = context.queue.next_pair(person.uid, form.question, besides)
            if isinstance(turn, NothingToJudge):
                return {"pair": None, "why": turn.why, **self._status(person)}
            view = self.shown(turn, person)
        return self._underlined(view)

    def shown(self, turn: JudgingTurn, person: Person) -> Plain:
        """A pair as a person reads it, and how far the set is."""
        context, mine = self.context, turn.mine
        return {
            "pair": {
                "question": plain_question(context.state.questions[turn.question]),
                "document": context.document(turn.document),
                "copies": turn.copies,
                "moved": self._moved(turn),
                "around": bool(context.suggester.beside.of(turn.document)),
                "mine": None if mine is None else plain_judgement(mine, turn.document),
                "late": turn.late,
                "mark": self._mark(person, turn.question, turn.document),
            },
            **self._status(person),
        }

    def _underlined(self, view: Plain) -> Plain:
        """The same with where the question's words stand in the text; nobody waits for Kiwi."""
        context, pair = self.context, view["pair"]
        if context.workshop.settings.underline:
            meeting = context.meetings.of(pair["question"]["text"], pair["document"]["text"])
            pair["words"] = {"spans": list(map(list, meeting.spans)), "densest": meeting.densest}
        return view

    def _moved(self, turn: JudgingTurn) -> list[str]:
        """Gold texts of before the corpus was chunked anew, which this document may hold."""
        candidates = self.context.state.candidates.get(turn.question, {})
        copies = self.context.copies.all(turn.document)
        rows = [row for copy in copies for row in candidates.get(copy, ())]
        return list(dict.fromkeys(row.detail for row in rows if row.origin == ORIGIN))

    def _status(self, person: Person) -> Plain:
        return {"progress": self.context.counts(person), "decides": self.context.decides}

    def leave(self, person: Person) -> Plain:
        """Nobody looks any more at what a person was shown: it may be another's."""
        self.context.queue.leave(person.uid)
        return {"left": True}

    def judge(self, person: Person, form: JudgementForm) -> Plain:
        """Store what a person says of a pair; then what comes next.

        Sent twice it is stored once.

        Raises:
            UnknownError: there is no such question or document.
            ClashError: the question was dropped, or the uid is another judgement's.
            MisfitError: the grade is not on the scale, or the evidence not in the text.
        """
        with self.context.state.lock:
            judgement, is_odd = self._judgement(person, form), form.kind == "odd"
            purpose = self.context.queue.purpose(form.question, form.document)
            self._store(replace(judgement, purpose="odd" if is_odd else purpose))
        self.context.suggester.wake()
        return {"stored": True, "next": self.next(person)}

    def decide(self, person: Person, form: DecisionForm) -> Plain:
        """Store what settles a conflict; then those that are left."""
        with self.context.state.lock:
            judgement = self._judgement(person, form)
            self._store(replace(judgement, is_decision=True, purpose="conflict"))
            return {"stored": True, **self.conflicts()}

    def mark(self, person: Person, form: MarkForm) -> Plain:
        """Store that a document must not come for a question, or that it may again.

        It is no judgement: what the person says of its relevance stays, and so do others' marks.

        Raises:
            UnknownError: there is no such question or document.
            ClashError: the question was dropped, or the uid is another judgement's.
        """
        with self.context.state.lock:
            self.context.question(form.question)
            self.context.document(form.document)
            before = self.context.state.mark((form.question, form.document), person.uid)
            was = FORBIDDEN if before is None else before.why
            mark = Judgement(
                uid=form.uid,
                question=form.question,
                document=form.document,
                person=person.uid,
                kind="forbidden" if form.why else "allowed",
                why=form.why or was,
                note=form.note,
            )
            self._store(mark)
            return {"stored": True, "mark": self._mark(person, form.question, form.document)}

    def _mark(self, person: Person, question: str, document: str) -> Plain | None:
        """As what a person has forbidden a document or a copy of it; None if they have not."""
        copies = self.context.copies.all(document)
        marks = (self.context.state.mark((question, copy), person.uid) for copy in copies)
        of_each = [mark for mark in marks if mark is not None]
        newest = max(of_each, key=lambda mark: mark.at, default=None)
        if newest is None or newest.kind != "forbidden":
            return None
        return {"why": newest.why, "note": newest.note}

    def undo(self, person: Person, uid: str) -> Plain:
        """Take back a person's newest judgement, or mark; that pair comes again.

        Sent twice it takes back one.

        Raises:
            ClashError: there is nothing to take back, or the uid is a judgement's.
        """
        state, queue = self.context.state, self.context.queue
        with state.lock:
            undone = state.judgement(uid)
            if undone is None:
                newest = state.last(person.uid)
                if newest is None:
                    raise ClashError("there is nothing to take back", code="undo")
                undone = Judgement(
                    uid=uid,
                    question=newest.question,
                    document=newest.document,
                    person=person.uid,
                    kind="undone",
                    is_decision=newest.is_decision,
                    why=newest.why,
                )
                state.add([undone])
            elif undone.person != person.uid or undone.kind != "undone":
                raise ClashError("this uid is another judgement's", code="uid", field="uid")
            pair = (undone.question, undone.document)
            if undone.is_decision or state.questions[pair[0]].state != "open":
                return self.next(person)
            queue.refresh()
            view = self.shown(queue.turn(person.uid, *pair), person)
        return self._underlined(view)

    def conflicts(self) -> Plain:
        """The pairs on which people differ and nobody has decided, side by side; for the owner."""
        with self.context.state.lock:
            self.context.queue.refresh()
            pairs = conflicts(self.context.queue.boards)
            return {"conflicts": [self._conflict(pair) for pair in pairs]}

    def _conflict(self, pair: Pair) -> Plain:
        context, (uid, document) = self.context, pair
        question, people = context.state.questions[uid], context.state.people
        return {
            "question": {"uid": uid, "text": question.text, "note": question.note},
            "document": context.document(document),
            "judgements": [
                {
                    "person": {"uid": person, "name": people[person].name},
                    **plain_judgement(judgement, document),
                    "evidence": self._evidence(judgement),
                }
                for person, judgement in verdicts(
                    context.state, uid, context.copies.all(document)
                ).items()
            ],
        }

    def _evidence(self, judgement: Judgement) -> list[str]:
        """The stretches that somebody marked, in the words of the text that they were shown."""
        doc = self.context.documents.get(judgement.document)
        text = "" if doc is None else doc.text or ""
        return [words for start, end in judgement.spans if (words := text[start:end])]

    def _store(self, judgement: Judgement) -> None:
        state = self.context.state
        stored = state.judgement(judgement.uid)
        if stored is None:
            self.context.open_question(judgement.question)  # a repeated one was stored before
            state.add([judgement])
            stored = state.judgement(judgement.uid)
        sent = replace(judgement, at="", purpose="")
        if stored is None or replace(stored, at="", purpose="") != sent:
            raise ClashError("this uid is another judgement's", code="uid", field="uid")

    def _judgement(self, person: Person, form: JudgementForm) -> Judgement:
        context = self.context
        context.question(form.question)
        text = context.document(form.document)["text"]
        if (form.kind == "grade") != (form.grade is not None):
            raise UsageError("belongs to kind 'grade', and to no other", field="grade")
        if form.grade is not None and form.grade not in context.workshop.settings.scale:
            problem = f"{form.grade} is not on the scale of 0 to {context.top}"
            raise MisfitError(problem, code="grade", field="grade")
        return Judgement(
            uid=form.uid,
            question=form.question,
            document=form.document,
            person=person.uid,
            kind="later" if form.kind == "odd" else form.kind,
            grade=form.grade,
            spans=_spans(form.spans, len(text)),
            note=form.note,
            seconds=form.seconds,
        )


def _spans(spans: list[list[int]], length: int) -> tuple[tuple[int, int], ...]:
    """Stretches of a text, sorted; those that overlap or touch are one.

    Raises:
        MisfitError: one is empty, or not within the text.
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted((start, end) for start, end in spans):
        if not start < end <= length:
            problem = f"[{start}, {end}] is no stretch of a text of {length} characters"
            raise MisfitError(problem, code="spans", field="spans")
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
