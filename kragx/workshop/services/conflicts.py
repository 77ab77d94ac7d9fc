"""Where people differ, side by side, and what the owner decides."""

from typing import Literal

from kragx.workshop.calls import Id, Json, Spans, Uid, Words, get, judgement_json, post
from kragx.workshop.desk import Desk
from kragx.workshop.pairs.candidates import conflicts
from kragx.workshop.pairs.standing import verdicts
from kragx.workshop.state.records import Judgement, Person
from kragx.workshop.state.state import Pair


@get("conflicts", owner=True)
def listed(desk: Desk) -> Json:
    """The pairs on which people differ and nobody has decided."""
    with desk.state.lock:
        desk.queue.refresh()
        pairs = conflicts(desk.queue.pools)
        return {"conflicts": [_conflict(desk, pair) for pair in pairs]}


def _conflict(desk: Desk, pair: Pair) -> Json:
    uid, document = pair
    question, people = desk.state.questions[uid], desk.state.people
    judgements = verdicts(desk.state, uid, desk.copies.all(document))
    rows: list[Json] = []
    for person, judgement in judgements.items():
        # In the words of the text that the person was shown, which may be a copy's.
        doc = desk.documents.get(judgement.document)
        text = "" if doc is None else doc.text or ""
        evidence = [words for start, end in judgement.spans if (words := text[start:end])]
        who = {"uid": person, "name": people[person].name}
        shown = judgement_json(judgement, document)
        rows.append({"person": who, **shown, "evidence": evidence})
    return {
        "question": {"uid": uid, "text": question.text, "note": question.note},
        "document": desk.document(document),
        "judgements": rows,
    }


@post("decisions", owner=True)
def decide(
    desk: Desk,
    person: Person,
    uid: Uid,
    question: Id,
    document: Id,
    kind: Literal["grade", "unusable"] = "grade",
    grade: int | None = None,
    spans: Spans = (),
    note: Words = "",
) -> Json:
    """Store what settles a conflict; then those that are left."""
    with desk.state.lock:
        desk.store(
            Judgement(
                uid=uid,
                question=question,
                document=document,
                person=person.uid,
                kind=kind,
                grade=grade,
                is_decision=True,
                spans=tuple((start, end) for start, end in spans),
                note=note,
                purpose="conflict",
            )
        )
        # Under the same lock, so that no other decision comes between.
        return {"stored": True, **listed(desk)}
