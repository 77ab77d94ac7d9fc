"""What a release would hold: the questions that are ready with their gold, and which are not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from kragx.data import Doc, Forbidden, Gold, Query, SurrogateRepair
from kragx.data.forbidden import all_forbidden
from kragx.data.gold import as_gold, as_turns
from kragx.data.source import contradictions
from kragx.ground.printing import message
from kragx.workshop.folder.places import known_place, place_of
from kragx.workshop.pairs.moved import is_doubt, is_resolved
from kragx.workshop.pairs.standing import Copies, gold_grade, standing
from kragx.workshop.state.records import Judgement, Person, Question
from kragx.workshop.state.state import State


def forbidden_of(
    state: State, question: Question, documents: Mapping[str, Doc], copies: Copies
) -> tuple[Forbidden, ...] | None:
    """What must not be found for a question: what came with it, and what people have marked.

    One person's mark is enough, and stays until they take it back: who has not marked a document
    has not said that it may come. It holds for copies too, which say the same.

    Args:
        state: what people said; its lock is held.
        question: the question.
        documents: of the corpus. What is no more in it is forbidden by its id alone.
        copies: of its documents.

    Returns:
        None where nobody has looked.

    Raises:
        DataError: what came with the question is no list of forbidden items.
    """
    came = all_forbidden(question.forbidden, SurrogateRepair())
    marked = [
        _of_document(copy, mark.why, documents)
        for document in dict.fromkeys(map(copies.first, state.marks.get(question.uid, ())))
        for person in state.people
        if (mark := state.marked_by(person, question.uid, copies.all(document)))
        for copy in copies.all(document)
    ]
    return tuple(dict.fromkeys([*(came or []), *marked])) if marked or came is not None else None


def _of_document(doc_id: str, why: str, documents: Mapping[str, Doc]) -> Forbidden:
    doc = documents.get(doc_id)
    text, place = ("", None) if doc is None else (doc.text or "", known_place(doc))
    source, start = place or (None, None)
    end = None if start is None else start + len(text)
    return Forbidden(doc_id, text if text.strip() else None, source, start, end, why)


Reason = Literal[
    "not judged", "nothing relevant", "undecided", "contradiction", "not in corpus", "broken"
]

REASONS: Mapping[str, str] = {
    "not judged": message("nobody has judged a document for it"),
    "nothing relevant": message(
        "no document that was judged answers it; go on, or mark it as unanswerable"
    ),
    "undecided": message("people differ, and nobody has decided"),
    "contradiction": message("it is marked as unanswerable, but a document answers it"),
    "not in corpus": message(
        "a document that answers it is not in the corpus any more (kragx gold move)"
    ),
    "broken": message("gold that came with it from a file contradicts what was judged"),
}
"""Why a question is not ready."""


@dataclass(frozen=True)
class LeftOut:
    """A question that is not ready.

    Attributes:
        question: its uid.
        text: what it asks.
        reason: why; `REASONS` says it in words.
        documents: which documents it is about.
    """

    question: str
    text: str
    reason: Reason
    documents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ready:
    """What a release would hold.

    Attributes:
        queries: the questions that are ready, with their gold.
        left_out: the questions that are not.
        n_moved: relevant gold texts in them of before a move, whose place nobody has told yet.
    """

    queries: tuple[Query, ...]
    left_out: tuple[LeftOut, ...]
    n_moved: int = 0


def ready(state: State, documents: Mapping[str, Doc], copies: Copies, top: int) -> Ready:
    """The gold that people's judgements come to.

    A document's grade is what is decided, else what all who judged it say; grades that mean the
    same in a gold file are no disagreement. "unusable" is no gold of any grade. Copies are one gold
    item with alternatives.

    Args:
        state: what people said; its lock is held.
        documents: of the corpus.
        copies: of its documents.
        top: the highest grade of the scale.
    """
    queries: list[Query] = []
    left_out: list[LeftOut] = []
    for question in state.open_questions():
        forbidden = forbidden_of(state, question, documents, copies)
        outcome = _make_query(state, question, documents, copies, top)
        if isinstance(outcome, Query):
            queries.append(outcome if forbidden is None else replace(outcome, forbidden=forbidden))
        elif forbidden and outcome.reason in ("not judged", "nothing relevant"):
            # What must not come can be measured without gold.
            queries.append(replace(query_of(question), forbidden=forbidden))
        else:
            left_out.append(outcome)
    n_moved = sum(gold.grade > 0 and is_doubt(gold) for query in queries for gold in query.gold)
    return Ready(tuple(queries), tuple(left_out), n_moved)


def _make_query(
    state: State, question: Question, documents: Mapping[str, Doc], copies: Copies, top: int
) -> Query | LeftOut:
    """A question as a gold file holds it, or why it is not ready."""
    firsts = dict.fromkeys(map(copies.first, state.judged.get(question.uid, ())))
    worth = partial(gold_grade, top=top)
    verdicts = {doc: standing(state, question.uid, copies.all(doc), worth) for doc in firsts}
    # By the one that stands for its copies; without a row all of it was put off, or taken back.
    standings = {first: verdict for first, verdict in verdicts.items() if verdict.rows}

    def without(reason: Reason, *documents: str) -> LeftOut:
        return LeftOut(question.uid, question.text, reason, documents)

    # Before what is missing: a decision may take the document out of the gold.
    if undecided := [first for first, now in standings.items() if now.state == "conflict"]:
        return without("undecided", *undecided)
    grades = {first: now.grade for first, now in standings.items()}
    # What a file says is what is in doubt: only a person can say where a text is now.
    people = {uid for uid, person in state.people.items() if person.role != "file"}
    by = {first: {row.person for row in verdict.rows} for first, verdict in standings.items()}
    judged = {first for first, uids in by.items() if not people.isdisjoint(uids)}
    answers, repair = {first for first in judged if grades[first]}, SurrogateRepair()
    places = state.candidates.get(question.uid, {})
    # What people say of a document replaces what came with the question from a file.
    golds = [
        gold
        for gold in (as_gold(item, repair, strings=False) for item in question.gold)
        if gold.id is None or copies.first(gold.id) not in grades
        if not (is_doubt(gold) and is_resolved(gold, question.uid, places, copies, judged, answers))
    ]
    missing = []
    for first, grade in grades.items():
        if grade is not None:
            gold = _gold(first, grade, standings[first].rows, documents, copies)
            golds += [] if gold is None else [gold]
            missing += [first] if gold is None and grade > 0 else []
    relevant = [gold.id or gold.text or "" for gold in golds if gold.grade > 0]
    if missing:
        return without("not in corpus", *missing)
    if question.answerable is False and relevant:
        return without("contradiction", *relevant)
    if question.answerable is not False and not relevant:
        return without("nothing relevant" if golds or grades else "not judged")
    query = query_of(question, sorted(golds, key=lambda gold: (-gold.grade, gold.id or "")))
    return without("broken") if any(contradictions(query)) else query


def _gold(
    first: str,
    grade: float,
    rows: Sequence[Judgement],
    documents: Mapping[str, Doc],
    copies: Copies,
) -> Gold | None:
    """The gold item of a document and its copies; None if none is in the corpus any more.

    It says where it stands in its source, where the corpus does. Evidence that people marked is its
    text, with its place (`place_of`); of several stretches that which holds them all, with each in
    the metadata.
    """
    marked = [row for row in rows if row.spans and grade > 0]
    newest = max(marked, key=lambda row: row.at, default=None)
    document = first if newest is None else newest.document
    members = (document, *copies.all(document))
    texts = {member: documents[member].text or "" for member in members if member in documents}
    # Evidence may be marked in a copy that the corpus has no more: then any copy that it has.
    if document not in texts:
        document, newest = next(iter(texts), ""), None
    if not document:
        return None
    text = texts[document]
    source, first_place = place_of(documents[document])
    metadata: dict[str, Any] = {}
    if known_place(documents[document]) is not None:
        metadata = {"source": source, "start": first_place, "end": first_place + len(text)}
    if newest is not None:
        spans = sorted((start, end) for start, end in newest.spans if text[start:end].strip())
        if spans:
            start, end = spans[0][0], min(len(text), max(end for _, end in spans))
            metadata = {"source": source, "start": first_place + start, "end": first_place + end}
            if len(spans) > 1:
                metadata["evidence"] = [[first_place + a, first_place + b] for a, b in spans]
            text = text[start:end]
    alternatives = [
        Doc(member, (text if text in whole else whole) or None)
        for member, whole in texts.items()
        if member != document
    ]
    return Gold(document, text if text.strip() else None, grade, tuple(alternatives), metadata)


def query_of(question: Question, golds: Sequence[Gold] = ()) -> Query:
    """A question as a gold set holds it."""
    metadata = dict(question.metadata)
    expected = metadata.pop("expected_doc_types", ())
    fields = {"difficulty": question.difficulty, "sources": list(question.sources) or None}
    return Query(
        question.uid,
        question.text,
        tuple(golds),
        query_type=question.query_type,
        expected_doc_types=tuple(map(str, expected)),
        answerable=question.answerable,
        reference=question.reference,
        metadata={
            **{name: value for name, value in fields.items() if value is not None},
            **metadata,
        },
        history=as_turns(question.history, SurrogateRepair()),
        weight=question.weight,
        inclusion=question.inclusion,
    )


def judging_counts(state: State) -> Iterator[tuple[Person, Counter[str]]]:
    """Yield who judged how many pairs of the open questions, in the order in which they came.

    By what they say of them now: grade, unusable, later; or decided, which they have settled.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    open_uids = {question.uid for question in state.open_questions()}
    for (question, _), people in state.judgements.items():
        for uid, rows in people.items() if question in open_uids else ():
            if rows:
                counts[uid][rows[-1].kind] += 1
    for (question, _), rows in state.decisions.items():
        if rows and question in open_uids:
            counts[rows[-1].person]["decided"] += 1
    yield from ((person, counts[uid]) for uid, person in state.people.items() if uid in counts)
