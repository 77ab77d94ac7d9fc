"""Pairs to judge, what people say of them, and what they mark as not to be shown."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from kragx.data.formats.jsonl import foreign_json
from kragx.ground.errors import UsageError
from kragx.workshop.pairs.moved import ORIGIN
from kragx.workshop.pairs.standing import check_fits
from kragx.workshop.questions.words import word_places
from kragx.workshop.queue.queue import JudgingTurn
from kragx.workshop.services.context import (
    ClashError,
    Context,
    Id,
    Label,
    Plain,
    RequestForm,
    Uid,
    Words,
    get,
    plain_judgement,
    plain_question,
    post,
)
from kragx.workshop.state.records import Judgement, Person

_Span = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]
_Pair = Annotated[list[Id], Field(min_length=2, max_length=2)]
_AS_JSON = BeforeValidator(partial(foreign_json, strict=True))


class NextForm(RequestForm):
    """Which pair to judge: of one question, or the one that is due; `after` some are judged.

    These are question and document each, as JSON, in the order in which they are shown.
    """

    question: Id | None = None
    after: Annotated[
        list[_Pair], BeforeValidator(partial(foreign_json, strict=True)), Field(max_length=4)
    ] = Field(default_factory=list)


class JudgementForm(RequestForm):
    """What a person says of a pair; or, with a note, that its question is odd."""

    uid: Uid
    question: Id
    document: Id
    kind: Literal["grade", "unusable", "later", "odd"] = "grade"
    grade: int | None = None
    spans: Annotated[list[_Span], Field(max_length=100)] = Field(default_factory=list)
    note: Words = ""

    def judgement(self, context: Context, person: Person) -> Judgement:
        """What is to be stored.

        Raises:
            UnknownError: there is no such question or document.
            GradeError, EvidenceError: of `check_fits`.
        """
        context.question(self.question)
        text, scale = context.document(self.document)["text"], context.workshop.settings.scale
        if (self.kind == "grade") != (self.grade is not None):
            raise UsageError("belongs to kind 'grade', and to no other", field="grade")
        check_fits(self.grade, scale, self.spans, text)
        return Judgement(
            uid=self.uid,
            question=self.question,
            document=self.document,
            person=person.uid,
            kind="later" if self.kind == "odd" else self.kind,
            grade=self.grade,
            spans=_joined_spans(self.spans),
            note=self.note,
        )


class UndoForm(RequestForm):
    """The person's newest judgement is taken back."""

    uid: Uid


_ANY = NextForm()


@dataclass(frozen=True)
class Judging:
    """Judging, pair by pair."""

    context: Context

    @get("next")
    def next(self, person: Person, form: NextForm = _ANY) -> Plain:
        """The pair that a person should judge now, or why there is none.

        Raises:
            UnknownError: there is no such question.
        """
        context = self.context
        with context.state.lock:
            context.feed()  # a lot of labelling opens its next questions here
            if form.question is not None:
                context.open_question(form.question)
            besides = [(question, document) for question, document in form.after]
            turn = context.queue.next_pair(person.uid, form.question, besides)
            if isinstance(turn, str):
                return {"pair": None, "why": turn, **self._status(person)}
            view = self.shown(turn, person)
        return _underlined(view)  # behind the lock, as Kiwi takes its time

    def shown(self, turn: JudgingTurn, person: Person) -> Plain:
        """A pair as a person reads it, and how far the set is."""
        context, mine = self.context, turn.mine
        mark = context.state.marked_by(person.uid, turn.question, context.copies.all(turn.document))
        pair = {
            "question": plain_question(context.state.questions[turn.question]),
            "document": context.document(turn.document),
            "copies": turn.copies,
            "moved": self._moved(turn),
            "mine": None if mine is None else plain_judgement(mine, turn.document),
            "mark": None if mark is None else {"why": mark.why, "note": mark.note},
        }
        return {"pair": pair, **self._status(person)}

    def _moved(self, turn: JudgingTurn) -> list[str]:
        """Gold texts of before the corpus was chunked anew, which this document may hold."""
        candidates = self.context.state.candidates.get(turn.question, {})
        copies = self.context.copies.all(turn.document)
        rows = [row for copy in copies for row in candidates.get(copy, ())]
        return list(dict.fromkeys(row.detail for row in rows if row.origin == ORIGIN))

    def _status(self, person: Person) -> Plain:
        return {"progress": self.context.counts(person), "decides": self.context.decides}

    @post("leave")
    def leave(self, person: Person) -> Plain:
        """Nobody looks any more at what a person was shown: it may be another's."""
        self.context.queue.leave(person.uid)
        return {"left": True}

    @post("judgements")
    def judge(self, person: Person, form: JudgementForm) -> Plain:
        """Store what a person says of a pair; then what comes next.

        Raises:
            UnknownError, ClashError, GradeError, EvidenceError: it cannot be stored.
        """
        context = self.context
        with context.state.lock:
            purpose = "odd" if form.kind == "odd" else ""
            context.store(replace(form.judgement(context, person), purpose=purpose))
        context.suggester.wake()  # what lies beside a relevant document is suggested next
        return {"stored": True, "next": self.next(person)}

    @post("undo")
    def undo(self, person: Person, form: UndoForm) -> Plain:
        """Take back a person's newest judgement, or mark; that pair comes again.

        Sent twice it takes back one.

        Raises:
            ClashError: there is nothing to take back, or the uid is a judgement's.
        """
        state, queue = self.context.state, self.context.queue
        with state.lock:
            # A uid that is known was sent before, and its answer got lost on the way.
            undone = state.judgement(form.uid)
            if undone is None:
                newest = state.last(person.uid)
                if newest is None:
                    raise ClashError("there is nothing to take back", code="undo")
                undone = Judgement(  # nothing is ever deleted
                    uid=form.uid,
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
        return _underlined(view)


def _underlined(view: Plain) -> Plain:
    """The same with where the question's words stand in the text; nobody waits for Kiwi."""
    pair = view["pair"]
    pair["words"] = word_places(pair["question"]["text"], pair["document"]["text"])
    return view


def _joined_spans(spans: list[list[int]]) -> tuple[tuple[int, int], ...]:
    """Stretches of a text, sorted; those that overlap or touch are one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted((start, end) for start, end in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


FORBIDDEN = "forbidden"
"""The kind of what is forbidden without one."""


class MarkForm(RequestForm):
    """That a document must not come for a question, and as what; without that, that it may."""

    uid: Uid
    question: Id
    document: Id
    why: Label | None = None
    note: Words = ""


@dataclass(frozen=True)
class Marks:
    """Marks, beside the grades."""

    context: Context

    @post("marks")
    def mark(self, person: Person, form: MarkForm) -> Plain:
        """Store that a document must not come for a question, or that it may again.

        It is no judgement: what the person says of its relevance stays, and so do others' marks.

        Raises:
            UnknownError: there is no such question or document.
            ClashError: the question was dropped, or the uid is another judgement's.
        """
        context, state = self.context, self.context.state
        with state.lock:
            context.question(form.question)
            context.document(form.document)
            before = state.mark((form.question, form.document), person.uid)
            mark = Judgement(
                uid=form.uid,
                question=form.question,
                document=form.document,
                person=person.uid,
                kind="forbidden" if form.why else "allowed",
                why=form.why or (FORBIDDEN if before is None else before.why),
                note=form.note,
            )
            context.store(mark)
            copies = context.copies.all(form.document)
            # A mark on a copy is shown on all of them, so taking one back may leave another.
            left = state.marked_by(person.uid, form.question, copies)
        return {"stored": True, "mark": left and {"why": left.why, "note": left.note}}
