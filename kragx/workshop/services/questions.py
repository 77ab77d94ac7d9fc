"""The questions of a workshop: listed, written, made from templates, and dropped."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from kragx.data import GoldDataset
from kragx.workshop.calls import (
    ClashError,
    Id,
    Json,
    Label,
    QuestionText,
    Reference,
    RefusedError,
    Words,
    get,
    post,
    question_json,
)
from kragx.workshop.desk import Desk
from kragx.workshop.folder.starting import records_of_gold
from kragx.workshop.questions.words import mean_leak
from kragx.workshop.releases.contents import query_of
from kragx.workshop.state.records import Person, Question, SuggestedDocument, new_uid, now


@get("questions")
def listed(desk: Desk, person: Person, state: Literal["open", "dropped"] | None = None) -> Json:
    """Questions; what only the owner may know is left out for others."""
    with desk.state.lock:
        desk.queue.refresh()
        questions = [q for q in desk.state.questions.values() if state in (None, q.state)]
        rows = [_row(desk, question, person) for question in questions]
    # Kiwi reads texts that are new, and nobody who judges waits for that behind the lock.
    for row, question in zip(rows, questions):
        row["leak"] = desk.leak(question)
    leaks = [row["leak"] for row in rows if row["state"] == "open"]
    target = desk.workshop.settings.leak_target
    return {"questions": rows, "leak": {"mean": mean_leak(leaks), "target": target}}


def _row(desk: Desk, question: Question, person: Person) -> Json:
    pool, is_owner = desk.queue.pools.get(question.uid), person.role == "owner"
    sees_all = is_owner or question.person == person.uid
    judges = [candidate.standing.by for candidate in pool or ()]
    row: Json = {
        **question_json(question),
        "state": question.state,
        "origin": question.origin,
        "may_change": sees_all,
        "counts": {
            "pairs": len(judges),
            # For the owner whatever anybody has judged, for others their own.
            "judged": sum(bool(by) if is_owner else person.uid in by for by in judges),
        },
    }
    if sees_all:
        row |= {"reference": question.reference, "sources": list(question.sources)}
    if is_owner:
        row["odd"] = [
            {"person": desk.state.people[uid].name, "note": note}
            for uid, note in desk.state.odd(question).items()
        ]
    return row


@post("questions")
def put(
    desk: Desk,
    person: Person,
    text: QuestionText,
    uid: Id | None = None,
    query_type: Label | None = None,
    difficulty: Label | None = None,
    answerable: bool | None = None,
    reference: Reference | None = None,
    sources: Annotated[Sequence[Id], Field(max_length=100)] = (),
    note: Words = "",
) -> Json:
    """Store a question, a new one or one that is changed: then with its uid.

    Raises:
        RefusedError: it is somebody else's.
        UnknownError: a source is no document of the corpus.
        ClashError: another open question has the same text, or it was dropped.
    """
    with desk.state.lock:
        for source in sources:
            desk.document(source)  # refuses what the corpus lacks
        before = desk.state.questions.get(uid) if uid is not None else None
        if before is not None:
            _check_author(person, before)
            desk.open_question(before.uid)
        # The page may send a new question twice, as it cannot know whether the first one came.
        for other in desk.state.open_questions():
            if other.text == text and (before is None or other.uid != before.uid):
                if uid is None and other.person == person.uid:
                    return {"question": _row(desk, other, person)}  # sent again
                problem = "another question has the same words"
                raise ClashError(problem, code="text", field="text")
        question = replace(
            before or Question(uid=uid or new_uid(), person=person.uid, text=text),
            at=now(),
            text=text,
            query_type=query_type,
            difficulty=difficulty,
            answerable=answerable,
            reference=reference,
            sources=tuple(sources),
            note=note,
        )
        candidates = desk.state.candidates.get(question.uid, {})
        suggested = (
            SuggestedDocument(question=question.uid, document=source, origin="source")
            for source in sources
            if source not in candidates
        )
        desk.state.add([question, *suggested])
        answer = {"question": _row(desk, question, person)}
    if before is None or before.text != question.text:
        desk.suggester.wake()
    return answer


@get("templates", owner=True)
def drafts(
    desk: Desk,
    n: Annotated[int, Field(ge=1, le=200, strict=False)] = 20,
    seed: Annotated[int, Field(ge=0, le=1_000_000, strict=False)] = 0,
) -> Json:
    """Questions that templates would make from the corpus; nothing is stored.

    Another seed makes others.
    """
    from kragx.workshop.questions.targets import TARGETS
    from kragx.workshop.questions.templates import make_questions

    with desk.state.lock:
        existing = [*map(query_of, desk.state.questions.values())]
    settings = desk.workshop.settings
    result = make_questions(
        desk.documents.corpus,
        n=n,
        existing=existing,
        targets={name: shares for name, shares in settings.targets.items() if name in TARGETS},
        seed=seed,
    )
    desk.drafts = {question.uid: question for question in result.questions}
    names = ("uid", "text", "query_type", "difficulty", "leak")
    rows = [{name: getattr(question, name) for name in names} for question in result.questions]
    return {"questions": rows}


@post("templates", owner=True)
def add_drafts(
    desk: Desk, person: Person, uids: Annotated[Sequence[Id], Field(max_length=200)]
) -> Json:
    """Store some of the questions that were made last, with their sources as suggestions.

    Raises:
        ClashError: one of them was made before the last time.
    """
    drafts = desk.drafts
    if not uids or any(uid not in drafts for uid in uids):
        raise ClashError("these were not made last", code="made", remedy="make them again")
    with desk.state.lock:
        queries = [drafts[uid].query for uid in uids if uid not in desk.state.questions]
        if queries:
            desk.state.add(
                records_of_gold(GoldDataset(tuple(queries)), person, desk.documents, None)
            )
    desk.suggester.wake()
    return {"added": len(queries)}


@post("questions/drop")
def drop(desk: Desk, person: Person, uid: Id, why: Words = "") -> Json:
    """Ask a question no more; its judgements stay."""
    with desk.state.lock:
        question = desk.question(uid, field="uid")
        _check_author(person, question)
        if question.state == "open":
            note = why or question.note
            question = replace(question, state="dropped", note=note, at=now())
            desk.state.add([question])
        return {"question": _row(desk, question, person)}


def _check_author(person: Person, question: Question) -> None:
    if person.role != "owner" and question.person != person.uid:
        problem = "a question is changed by who wrote it, and by the owner"
        raise RefusedError(problem, code="author")
