"""The folder of a workshop, made."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from kragx.agreement.sample import read_sample
from kragx.data import Doc, GoldDataset, as_corpus, read_dataset
from kragx.data.documents import doc_record
from kragx.data.formats.jsonl import make_folder, open_text, read_text, write_records
from kragx.data.korean import is_korean
from kragx.data.yaml_text import yaml_mapping
from kragx.ground.errors import UsageError
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import Line, Part, Result, message
from kragx.workshop.folder.documents import Documents
from kragx.workshop.folder.folder import DATABASE, FILE, GUIDELINES, SECRET, Workshop
from kragx.workshop.folder.incoming import incoming
from kragx.workshop.folder.samples import SCALES, documents_of, records_of, scale_of
from kragx.workshop.folder.settings import Language, settings_of
from kragx.workshop.state.records import (
    Judgement,
    Person,
    Question,
    StoredRecord,
    SuggestedDocument,
)

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
    """

    folder: Path
    documents: int
    questions: int
    judgements: int

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
    corpus: str | Path | Mapping[str, Doc] | None = None,
    config: str | Path | None = None,
    sample: str | Path | None = None,
    gold: str | Path | GoldDataset | None = None,
    questions: str | Path | GoldDataset | None = None,
    suggested: Iterable[SuggestedDocument] = (),
    name: str | None = None,
    language: Language | None = None,
    database: str | None = None,
    schema: str | None = None,
) -> Started:
    """Make the folder of a workshop.

    Args:
        folder: where; it may exist, but hold no workshop.
        corpus: file or folder with the documents; or these by id, which the folder is to hold.
        config: of `kragx run`; its retrievers suggest documents.
        sample: instead of a corpus, a sample of `kragx judge label`, whose pairs are judged.
        gold: a gold set of any format; its grades are taken as judgements of a file.
        questions: another, of which the questions alone are taken.
        suggested: documents for these questions; what the corpus lacks is left out.
        name: of the gold set; default: the folder's.
        language: default: Korean if the corpus begins with Hangul.
        database: the URL of a PostgreSQL database; ``${NAME}`` in it is an environment variable.
        schema: of that database, which may hold several workshops.

    Raises:
        UsageError: there is a workshop already, or an argument is wrong.
        DataError: a file cannot be read.
    """
    folder = Path(folder)
    if (folder / FILE).exists():
        remedy = f"kragx workshop {folder} opens it"
        raise UsageError("there is a workshop already", field=str(folder), remedy=remedy)
    if folder.exists() and not folder.is_dir():
        raise UsageError("is a file; name a folder", field=str(folder))
    if (corpus is None) == (sample is None):
        raise UsageError("name either --corpus or --sample", field="--corpus")
    # All that is named is read before anything is made: a mistake leaves no half folder behind.
    gold_set = None if gold is None else read_dataset(gold)
    question_set = None if questions is None else read_dataset(questions)
    drawn = None if sample is None else read_sample(Path(sample))
    texts = corpus if drawn is None else documents_of(drawn)
    documents = Documents(as_corpus(texts))
    if language is None:
        language = "ko" if is_korean(next(iter(documents.values())).text or "") else "en"
    raw: dict[str, Any] = {
        "name": name or folder.resolve().name or "gold",
        "language": language,
        "corpus": CORPUS if isinstance(texts, Mapping) else _from_folder(texts or "", folder),
        "config": config and _from_folder(config, folder),
        "database": database,
        "schema": schema,
        "scale": dict(SCALES[language]) if drawn is None else scale_of(drawn, language),
        "forbidden": to_jsonable(gold_set.forbidden) or None if gold_set is not None else None,
    }
    raw = {key: value for key, value in raw.items() if value is not None}
    text = _HEAD + yaml.safe_dump(raw, allow_unicode=True, sort_keys=False, width=1000)
    workshop = Workshop(folder, settings_of(text, FILE, folder.resolve()))
    address = workshop.address
    if database is not None and address.path is not None:
        remedy = "leave it out for an SQLite file in the folder"
        raise UsageError("no postgresql:// URL", field="--database", remedy=remedy)
    if workshop.settings.config is not None:
        _check_config(workshop.settings.config)
    people: list[Person] = []
    records: list[StoredRecord] = []
    for source, top in ((gold_set, max(workshop.settings.scale)), (question_set, None)):
        if source is not None:
            people.append(Person(name=source.name, role="file"))
            records += incoming(source, people[-1], documents, top)
    if drawn is not None:
        people.append(Person(name=Path(str(sample)).name, role="file"))
        records += records_of(drawn, people[-1])
    make_folder(folder)
    if isinstance(texts, Mapping):
        write_records(map(doc_record, texts.values()), folder / CORPUS)
    places = (row for row in suggested if row.document in documents)
    _ = workshop.secret  # made while nobody can open the folder yet
    guidelines = files("kragx.workshop") / "guidelines" / f"{workshop.settings.language}.md"
    _write_new(folder / GUIDELINES, guidelines.read_text("utf-8"))
    _write_new(folder / ".gitignore", _IGNORED)
    # The database last but one: what ended before it is made anew by the same command.
    _store(workshop, [*people, *records, *places])
    _write_new(folder / FILE, text)  # without it, there is no workshop
    return Started(
        folder=folder,
        documents=len(documents),
        questions=sum(isinstance(record, Question) for record in records),
        judgements=sum(isinstance(record, Judgement) for record in records),
    )


def _store(workshop: Workshop, records: Iterable[StoredRecord]) -> None:
    """Begin a database; a `UsageError` where another workshop has it."""
    with workshop.store() as store:
        if next(store.after({}), None) is not None:
            remedy = "name another with --schema, or copy the folder of the one that uses it"
            raise UsageError("holds a workshop already", field=str(workshop.address), remedy=remedy)
        store.add(records)


def _write_new(path: Path, text: str) -> None:
    """Write a file; what is there already stays."""
    if not path.exists():
        with open_text(path) as file:
            file.write(text)


def _check_config(path: Path) -> None:
    """A config is data here: what it names is loaded only when the workshop is opened."""
    if not yaml_mapping(read_text(path), str(path)).get("retrievers"):
        remedy = "name a config of kragx run, or none"
        raise UsageError("names no retrievers", path=str(path), remedy=remedy)


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
