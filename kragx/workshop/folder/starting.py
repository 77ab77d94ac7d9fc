"""The folder of a workshop, made; and what it begins with.

A gold set's way in are its questions, and its grades as judgements of a file.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from kragx.data import Doc, GoldDataset, as_corpus, read_dataset
from kragx.data.corpus import Corpus, Lacking
from kragx.data.documents import doc_record
from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.format import query_record
from kragx.data.formats.jsonl import make_folder, open_text, read_text, write_records
from kragx.data.gold import Gold, Query
from kragx.data.korean import is_korean
from kragx.data.yaml_text import yaml_mapping
from kragx.ground.errors import DataError, UsageError
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import Line, Part, Result, message, warning
from kragx.workshop.folder.folder import (
    DATABASE,
    FILE,
    GUIDELINES,
    SECRET,
    Documents,
    Language,
    Workshop,
    settings_of,
)
from kragx.workshop.folder.places import place_of
from kragx.workshop.pairs.standing import people_grade
from kragx.workshop.state.records import (
    Judgement,
    Person,
    Question,
    StoredRecord,
    SuggestedDocument,
)

SCALES: Mapping[str, Mapping[int, str]] = {
    "en": {
        0: "Not related",
        1: "Same subject, no answer",
        2: "Part of the answer",
        3: "Answers it fully",
    },
    "ko": {
        0: "관련 없음",
        1: "주제만 같고 답은 없음",
        2: "답의 일부가 있음",
        3: "이 글로 모두 답이 됨",
    },
}
"""What stands on the page's buttons, short enough for a phone's; the guidelines say more."""


def language_of(documents: Mapping[str, Doc]) -> Language:
    """Korean if the documents begin with Hangul, else English."""
    return "ko" if is_korean(next(iter(documents.values())).text or "") else "en"


def absent_gold(queries: Iterable[Query], documents: Mapping[str, Doc], corpus: Corpus) -> str:
    """The ids of gold that the corpus lacks, so that nobody can find them, in a sentence or ""."""
    lacking = Lacking(corpus)
    lacking.note([(0, query, None) for query in queries], {"gold"})
    lacking.gold = {
        doc: place for doc, place in lacking.gold.items() if doc and doc not in documents
    }
    return lacking.error("").problem if lacking else ""


def records_of_gold(
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
            problem = message("the question {id!r} has no text", id=query.id)
            remedy = message("name a gold set with the questions' texts")
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
    made_by = metadata.get("made_by")
    is_template = isinstance(made_by, Mapping) and "template" in made_by
    origin = "file" if made_by is None else "template" if is_template else "model"
    if isinstance(difficulty, str):
        del metadata["difficulty"]
    if isinstance(sources, list) and all(isinstance(source, str) for source in sources):
        del metadata["sources"]
    return Question(
        uid=query.id,
        person=person.uid,
        text=query.text or "",
        origin=origin,
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


CORPUS = "corpus.jsonl"  # what the folder itself holds
_IGNORED = f"{DATABASE}\n{DATABASE}-*\n{SECRET}\n"


@dataclass(frozen=True)
class Started(Result):
    """A workshop that was made.

    Attributes:
        folder: where.
        documents: how many the corpus has.
        questions: how many came with it.
        judgements: how many grades of the gold set.
        absent: the ids of its gold that nobody can find, as the corpus lacks them, in a sentence.
    """

    folder: Path
    documents: int
    questions: int
    judgements: int
    absent: str = ""

    def describe(self) -> Iterator[Part]:
        """What was made, and what to do next."""
        yield Line(
            message(
                "made: {folder}, with {n_documents} documents, {n_questions} questions and "
                "{n_judgements} judgements",
                folder=self.folder,
                n_documents=self.documents,
                n_questions=self.questions,
                n_judgements=self.judgements,
            )
        )
        if self.absent:
            yield warning(self.absent)
        yield Line(
            message(
                "next: read {guidelines}, then kragx workshop {folder}",
                guidelines=self.folder / GUIDELINES,
                folder=self.folder,
            )
        )


def start(
    folder: str | Path,
    *,
    corpus: str | Path | Mapping[str, Doc],
    gold: str | Path | GoldDataset | None = None,
    questions: str | Path | GoldDataset | None = None,
    suggested: Iterable[SuggestedDocument] = (),
    **settings: Any,
) -> Started:
    """Make the folder of a workshop.

    Args:
        folder: where; it may exist, but hold no workshop.
        corpus: file or folder with the documents; or these by id, which the folder is to hold.
        gold: a gold set of any format; its grades are taken as judgements of a file.
        questions: another, of which the questions alone are taken.
        suggested: documents for these questions; what the corpus lacks is left out.
        settings: what its workshop.yaml says (`WorkshopSettings`). None and what is left out are
            the defaults: the folder's name, Korean if the corpus begins with Hangul, `SCALES`.

    Raises:
        UsageError: there is a workshop already, or an argument is wrong.
        DataError: a file cannot be read.
    """
    folder = Path(folder)
    check_free(folder)
    # All that is named is read before anything is made: a mistake leaves no half folder behind.
    gold_set = None if gold is None else read_dataset(gold)
    question_set = None if questions is None else read_dataset(questions)
    documents = Documents(as_corpus(corpus))
    settings = {name: value for name, value in settings.items() if value is not None}
    language = settings.get("language") or language_of(documents)
    raw = {
        "name": folder.resolve().name or "gold",
        "language": language,
        "corpus": CORPUS if isinstance(corpus, Mapping) else _from_folder(corpus, folder),
        "scale": dict(SCALES[language]),
        **settings,
    }
    if "config" in raw:
        raw["config"] = _from_folder(raw["config"], folder)
    if gold_set is not None and gold_set.forbidden:
        raw["forbidden"] = to_jsonable(gold_set.forbidden)
    text = _HEAD + yaml.safe_dump(raw, allow_unicode=True, sort_keys=False, width=1000)
    workshop = Workshop(folder, settings_of(text, FILE, folder.resolve()))
    address = workshop.address
    if "database" in raw and address.path is not None:
        remedy = message("leave it out for an SQLite file in the folder")
        raise UsageError("no postgresql:// URL", field="--database", remedy=remedy)
    # A config is data here: what it names is loaded only when the workshop is opened.
    if (path := workshop.settings.config) is not None and not yaml_mapping(
        read_text(path), str(path)
    ).get("retrievers"):
        remedy = message("name a config of kragx run, or none")
        raise UsageError("names no retrievers", path=str(path), remedy=remedy)
    people: list[Person] = []
    records: list[StoredRecord] = []
    for source, top in ((gold_set, max(workshop.settings.scale)), (question_set, None)):
        if source is not None:
            people.append(Person(name=source.name, role="file"))
            records += records_of_gold(source, people[-1], documents, top)
    make_folder(folder)
    if isinstance(corpus, Mapping):
        write_records(map(doc_record, corpus.values()), folder / CORPUS)
    places = (row for row in suggested if row.document in documents)
    _ = workshop.secret  # made while nobody can open the folder yet
    guidelines = files("kragx.workshop") / "guidelines" / f"{workshop.settings.language}.md"
    _write_new(folder / GUIDELINES, guidelines.read_text("utf-8"))
    _write_new(folder / ".gitignore", _IGNORED)
    # The database last but one: what ended before it is made anew by the same command.
    with workshop.store() as store:
        if next(store.after({}), None) is not None:
            remedy = message(
                "name another with --schema, or copy the folder of the one that uses it"
            )
            raise UsageError("holds a workshop already", field=str(workshop.address), remedy=remedy)
        store.add([*people, *records, *places])
    _write_new(folder / FILE, text)  # without it, there is no workshop
    return Started(
        folder=folder,
        documents=len(documents),
        questions=sum(isinstance(record, Question) for record in records),
        judgements=sum(isinstance(record, Judgement) for record in records),
        absent=absent_gold(gold_set or (), documents, documents.corpus),
    )


def check_free(folder: Path) -> None:
    """Raise a `UsageError` where no workshop can be made, as there is one or a file."""
    if (folder / FILE).exists():
        remedy = message("kragx workshop {folder} opens it", folder=folder)
        raise UsageError("there is a workshop already", field=str(folder), remedy=remedy)
    if folder.exists() and not folder.is_dir():
        raise UsageError("is a file; name a folder", field=str(folder))


def _write_new(path: Path, text: str) -> None:
    """Write a file; what is there already stays."""
    if not path.exists():
        with open_text(path) as file:
            file.write(text)


def _from_folder(path: str | Path, folder: Path) -> str:
    """A path as it is written into the folder's file: relative, so that both can be moved."""
    try:
        relative = os.path.relpath(Path(path).expanduser().resolve(), folder.resolve())
    except ValueError:  # of another drive
        return str(Path(path).resolve())
    return Path(relative).as_posix()


_HEAD = """\
# The workshop of a gold set. kragx workshop FOLDER opens it. Relative paths start at this folder.
# May be added:
#   targets: {query_type: {lookup: 0.5, compare: 0.5}, difficulty: {easy: 0.4, hard: 0.6}}
#   leak_target: 0.5    # the most that the mean word leak of the questions should be
#   k: 10               # documents that each retriever of `config` suggests for a question
#   twice: 0.2          # the share of pairs that go to a second person as well; 1: all
#   forbidden: {stale: {metadata.valid_until: {before: {query: metadata.asked_at}}}}

"""
