"""Pairs to judge, what people say of them, and what they mark as not to be shown."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from kragx.data.formats.jsonl import foreign_json
from kragx.workshop.calls import (
    ClashError,
    Id,
    Json,
    Label,
    Spans,
    Uid,
    Words,
    get,
    judgement_json,
    post,
    question_json,
)
from kragx.workshop.desk import Desk
from kragx.workshop.pairs.moved import ORIGIN
from kragx.workshop.questions.words import word_places
from kragx.workshop.state.records import Judgement, Person
from kragx.workshop.state.state import Pair

_Pair = Annotated[list[Id], Field(min_length=2, max_length=2)]
_After = Annotated[
    Sequence[_Pair], BeforeValidator(partial(foreign_json, strict=True)), Field(max_length=4)
]


@get("next")
def next_pair(desk: Desk, person: Person, question: Id | None = None, after: _After = ()) -> Json:
    """The pair that a person should judge now, or why there is none.

    Args:
        desk: the workshop.
        person: who judges.
        question: only of this one; else of the one that is due.
        after: pairs that are judged before it, in the order in which they are shown.

    Raises:
        UnknownError: there is no such question.
    """
    with desk.state.lock:
        desk.feed()  # a lot of labelling opens its next questions here
        if question is not None:
            desk.open_question(question)
        besides = [(uid, document) for uid, document in after]
        pair = desk.queue.next_pair(person.uid, question, besides)
        if isinstance(pair, str):
            desk.suggester.wake()  # somebody may have imported questions beside this server
            return {"pair": None, "why": pair, **_status(desk, person)}
        view = shown(desk, pair, person)
    return _underlined(view)  # behind the lock, as Kiwi takes its time


def shown(desk: Desk, pair: Pair, person: Person) -> Json:
    """A pair as a person reads it, and how far the set is."""
    question, document = pair
    copies, mine = desk.copies.all(document), desk.queue.mine(person.uid, pair)
    mark = desk.state.marked_by(person.uid, question, copies)
    candidates = desk.state.candidates.get(question, {})
    rows = (row for copy in copies for row in candidates.get(copy, ()))
    view = {
        "question": question_json(desk.state.questions[question]),
        "document": desk.document(document),
        "copies": len(copies),
        # Gold texts of before the corpus was chunked anew, which this document may hold.
        "moved": list(dict.fromkeys(row.detail for row in rows if row.origin == ORIGIN)),
        "mine": None if mine is None else judgement_json(mine, document),
        "mark": None if mark is None else {"why": mark.why, "note": mark.note},
    }
    return {"pair": view, **_status(desk, person)}


def _status(desk: Desk, person: Person) -> Json:
    return {"progress": desk.counts(person), "decides": desk.decides}


@post("leave")
def leave(desk: Desk, person: Person) -> Json:
    """Nobody looks any more at what a person was shown: it may be another's."""
    desk.queue.leave(person.uid)
    return {"left": True}


@post("judgements")
def judge(
    desk: Desk,
    person: Person,
    uid: Uid,
    question: Id,
    document: Id,
    kind: Literal["grade", "unusable", "later", "odd"] = "grade",
    grade: int | None = None,
    spans: Spans = (),
    note: Words = "",
) -> Json:
    """Store what a person says of a pair, or that its question is odd; then what comes next.

    Raises:
        UnknownError, ClashError, GradeError, EvidenceError: it cannot be stored.
    """
    with desk.state.lock:
        desk.store(
            Judgement(
                uid=uid,
                question=question,
                document=document,
                person=person.uid,
                kind="later" if kind == "odd" else kind,
                grade=grade,
                spans=tuple((start, end) for start, end in spans),
                note=note,
                purpose="odd" if kind == "odd" else "",
            )
        )
    desk.suggester.wake()  # what lies beside a relevant document is suggested next
    return {"stored": True, "next": next_pair(desk, person)}


@post("undo")
def undo(desk: Desk, person: Person, uid: Uid) -> Json:
    """Take back a person's newest judgement, or mark; that pair comes again.

    Sent twice it takes back one.

    Raises:
        ClashError: there is nothing to take back, or the uid is a judgement's.
    """
    state, queue = desk.state, desk.queue
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
            return next_pair(desk, person)
        queue.refresh()
        view = shown(desk, pair, person)
    return _underlined(view)


def _underlined(view: Json) -> Json:
    """The same with where the question's words stand in the text; nobody waits for Kiwi."""
    pair = view["pair"]
    pair["words"] = word_places(pair["question"]["text"], pair["document"]["text"])
    return view


FORBIDDEN = "forbidden"
"""The kind of what is forbidden without one."""


@post("marks")
def mark(
    desk: Desk,
    person: Person,
    uid: Uid,
    question: Id,
    document: Id,
    why: Label | None = None,
    note: Words = "",
) -> Json:
    """Store that a document must not come for a question, and as what; without that, it may.

    It is no judgement: what the person says of its relevance stays, and so do others' marks.

    Raises:
        UnknownError: there is no such question or document.
        ClashError: the question was dropped, or the uid is another judgement's.
    """
    state = desk.state
    with state.lock:
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
        desk.store(mark)
        copies = desk.copies.all(document)
        # A mark on a copy is shown on all of them, so taking one back may leave another.
        left = state.marked_by(person.uid, question, copies)
    return {"stored": True, "mark": left and {"why": left.why, "note": left.note}}
