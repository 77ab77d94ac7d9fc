"""A gold set's way into a workshop: its questions, and its grades as judgements of a file."""

from collections.abc import Mapping
from dataclasses import replace

from kragx.data.documents import Doc
from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.format import query_record
from kragx.data.gold import Gold, GoldDataset, Query
from kragx.ground.errors import DataError
from kragx.workshop.folder.places import place_of
from kragx.workshop.pairs.scale import people_grade
from kragx.workshop.state.records import (
    Judgement,
    Person,
    Question,
    StoredRecord,
    SuggestedDocument,
)


def incoming(
    dataset: GoldDataset, person: Person, documents: Mapping[str, Doc], top: int | None
) -> list[StoredRecord]:
    """The records of a gold set, in the order in which they are to be stored.

    A question keeps its id. A gold item that is just a document of the corpus with a grade that
    people of this scale could have given, and maybe a stretch of it, is a judgement; whatever says
    more, or something else, stays in `Question.gold` as it is.

    Args:
        dataset: what comes.
        person: whose judgements its grades are.
        documents: of the corpus.
        top: the highest grade of the scale; with None, questions alone come.

    Raises:
        DataError: a question has no text, and nobody could judge for it.
    """
    records: list[StoredRecord] = []
    for query in dataset:
        if not query.text:
            problem = f"the question {query.id!r} has no text"
            remedy = "name a gold set with the questions' texts"
            raise DataError(problem, path=dataset.name, field="query", remedy=remedy)
        judged: list[Judgement] = []
        rest: list[Gold] = []
        for gold in () if top is None else query.gold:
            judgement = _judgement(query, gold, person, documents, top)
            # A second item of one document has no place in judgements, of which the newest counts.
            if judgement is None or judgement.document in {row.document for row in judged}:
                rest.append(gold)
            else:
                judged.append(judgement)
        question = question_of(replace(query, gold=tuple(rest)), person)
        records.append(question)
        suggested = dict.fromkeys([*(row.document for row in judged), *question.sources])
        records += (
            SuggestedDocument(
                question=query.id, document=document, origin="source", detail=person.name
            )
            for document in suggested
            if document in documents
        )
        records += judged
    return records


def question_of(query: Query, person: Person) -> Question:
    """The question of a query with the gold that it keeps."""
    record, metadata = query_record(query), dict(query.metadata)
    if query.expected_doc_types:
        metadata["expected_doc_types"] = list(query.expected_doc_types)
    # What a question has a field for leaves the metadata; a value of another type is somebody's
    # own, and stays.
    difficulty, sources = metadata.get("difficulty"), metadata.get("sources")
    if isinstance(difficulty, str):
        del metadata["difficulty"]
    if isinstance(sources, list) and all(isinstance(source, str) for source in sources):
        del metadata["sources"]
    return Question(
        uid=query.id,
        person=person.uid,
        text=query.text or "",
        origin=_origin(metadata.get("made_by")),
        query_type=query.query_type,
        difficulty=difficulty if isinstance(difficulty, str) else None,
        reference=query.reference,
        answerable=query.answerable,
        sources=tuple(sources) if "sources" not in metadata and sources else (),
        gold=tuple(record["gold"]),
        metadata=metadata,
        forbidden=None if query.forbidden is None else tuple(record[FORBIDDEN]),
        history=tuple(turn.to_dict() for turn in query.history),
        weight=query.weight,
        inclusion=query.inclusion,
    )


def _origin(made_by: object) -> str:
    """What made a question, as `kragx gold questions` notes it."""
    if made_by is None:
        return "file"
    return "template" if isinstance(made_by, Mapping) and "template" in made_by else "model"


def _judgement(
    query: Query, gold: Gold, person: Person, documents: Mapping[str, Doc], top: int | None
) -> Judgement | None:
    """What an item says as a judgement; None if a judgement cannot say all of it."""
    document = documents.get(gold.id) if gold.id is not None else None
    if document is None or gold.id is None or gold.alternatives or top is None:
        return None
    grade = people_grade(gold.grade, top)
    if grade is None:
        return None
    text, spans = document.text or "", _spans(gold, document)
    if spans is None:
        return None
    evidence = text[slice(*spans[0])] if spans else text
    if gold.text is not None and gold.text not in (text, evidence):
        return None
    return Judgement(
        question=query.id,
        document=gold.id,
        person=person.uid,
        grade=grade,
        spans=spans,
        purpose="import",
    )


def _spans(gold: Gold, document: Doc) -> tuple[tuple[int, int], ...] | None:
    """The stretch of a document that an item is about; None where its metadata say more."""
    source, first = place_of(document)
    length = len(document.text or "")
    match dict(gold.metadata):
        case {"source": name, "start": int() as start, "end": int() as end, **rest} if (
            name == source and not rest and first <= start < end <= first + length
        ):
            stretch = (start - first, end - first)
            return (stretch,) if stretch != (0, length) else ()  # all of it is no stretch
        case metadata:
            return None if metadata else ()
