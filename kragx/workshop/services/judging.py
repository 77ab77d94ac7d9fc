"""Pairs to judge, what people say of them, and what they mark as not to be shown."""

from collections.abc import Sequence
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


Spans = Annotated[Sequence[_Span], Field(max_length=100)]
_After = Annotated[
    Sequence[_Pair], BeforeValidator(partial(foreign_json, strict=True)), Field(max_length=4)
]


def judgement_of(
    context: Context,
    person: Person,
    uid: str,
    question: str,
    document: str,
    kind: Literal["grade", "unusable", "later"],
    grade: int | None,
    spans: Spans,
    note: str,
) -> Judgement:
    """What a person says of a pair, as it is to be stored.

    Raises:
        UnknownError: there is no such question or document.
        GradeError, EvidenceError: of `check_fits`.
    """
    context.question(question)
    text, scale = context.document(document)["text"], context.workshop.settings.scale
    if (kind == "grade") != (grade is not None):
        raise UsageError("belongs to kind 'grade', and to no other", field="grade")
    check_fits(grade, scale, spans, text)
    return Judgement(
        uid=uid,
        question=question,
        document=document,
        person=person.uid,
        kind=kind,
        grade=grade,
        spans=_joined_spans(spans),
        note=note,
    )


@dataclass(frozen=True)
class Judging:
    """Judging, pair by pair."""

    context: Context

    @get("next")
    def next(self, person: Person, question: Id | None = None, after: _After = ()) -> Plain:
        """The pair that a person should judge now, or why there is none.

        Args:
            person: who judges.
            question: only of this one; else of the one that is due.
            after: pairs that are judged before it, in the order in which they are shown.

        Raises:
            UnknownError: there is no such question.
        """
        context = self.context
        with context.state.lock:
            context.feed()  # a lot of labelling opens its next questions here
            if question is not None:
                context.open_question(question)
            besides = [(uid, document) for uid, document in after]
            turn = context.queue.next_pair(person.uid, question, besides)
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
    def judge(
        self,
        person: Person,
        uid: Uid,
        question: Id,
        document: Id,
        kind: Literal["grade", "unusable", "later", "odd"] = "grade",
        grade: int | None = None,
        spans: Spans = (),
        note: Words = "",
    ) -> Plain:
        """Store what a person says of a pair, or that its question is odd; then what comes next.

        Raises:
            UnknownError, ClashError, GradeError, EvidenceError: it cannot be stored.
        """
        context = self.context
        with context.state.lock:
            purpose = "odd" if kind == "odd" else ""
            put_off = "later" if kind == "odd" else kind
            fields = uid, question, document, put_off, grade, spans, note
            context.store(replace(judgement_of(context, person, *fields), purpose=purpose))
        context.suggester.wake()  # what lies beside a relevant document is suggested next
        return {"stored": True, "next": self.next(person)}

    @post("undo")
    def undo(self, person: Person, uid: Uid) -> Plain:
        """Take back a person's newest judgement, or mark; that pair comes again.

        Sent twice it takes back one.

        Raises:
            ClashError: there is nothing to take back, or the uid is a judgement's.
        """
        state, queue = self.context.state, self.context.queue
        with state.lock:
            # A uid that is known was sent before, and its answer got lost on the way.
            undone = state.judgement(uid)
            if undone is None:
                newest = state.last(person.uid)
                if newest is None:
                    raise ClashError("there is nothing to take back", code="undo")
                undone = Judgement(  # nothing is ever deleted
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
        return _underlined(view)


def _underlined(view: Plain) -> Plain:
    """The same with where the question's words stand in the text; nobody waits for Kiwi."""
    pair = view["pair"]
    pair["words"] = word_places(pair["question"]["text"], pair["document"]["text"])
    return view


def _joined_spans(spans: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
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


@dataclass(frozen=True)
class Marks:
    """Marks, beside the grades."""

    context: Context

    @post("marks")
    def mark(
        self,
        person: Person,
        uid: Uid,
        question: Id,
        document: Id,
        why: Label | None = None,
        note: Words = "",
    ) -> Plain:
        """Store that a document must not come for a question, and as what; without that, it may.

        It is no judgement: what the person says of its relevance stays, and so do others' marks.

        Raises:
            UnknownError: there is no such question or document.
            ClashError: the question was dropped, or the uid is another judgement's.
        """
        context, state = self.context, self.context.state
        with state.lock:
            context.question(question)
            context.document(document)
            before = state.mark((question, document), person.uid)
            mark = Judgement(
                uid=uid,
                question=question,
                document=document,
                person=person.uid,
                kind="forbidden" if why else "allowed",
                why=why or (FORBIDDEN if before is None else before.why),
                note=note,
            )
            context.store(mark)
            copies = context.copies.all(document)
            # A mark on a copy is shown on all of them, so taking one back may leave another.
            left = state.marked_by(person.uid, question, copies)
        return {"stored": True, "mark": left and {"why": left.why, "note": left.note}}
