"""Questions from logs as the beginning of a workshop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from kragx.data import Doc, GoldDataset
from kragx.data.documents import doc_record
from kragx.data.formats.jsonl import make_folder, write_records
from kragx.ground.errors import UsageError
from kragx.ground.printing import phrase
from kragx.workshop.folder.folder import FILE
from kragx.workshop.folder.settings import Language
from kragx.workshop.folder.starting import Started, start
from kragx.workshop.logs.logged import LoggedGold
from kragx.workshop.state.records import SuggestedDocument

_CORPUS = "corpus.jsonl"


def open_workshop(
    made: LoggedGold,
    folder: Path,
    *,
    corpus: str | Path | None = None,
    language: Language | None = None,
) -> Started:
    """Make a workshop of the questions, on what was retrieved for them.

    Args:
        made: the questions.
        folder: where; it may exist, but hold no workshop.
        corpus: file or folder with the documents; None takes those whose texts the logs have.
        language: of page and guidelines; None for that of the documents.

    Raises:
        UsageError: there is a workshop already; or there are no texts to judge.
    """
    if (folder / FILE).exists():
        remedy = f"kragx workshop {folder} opens it"
        raise UsageError("there is a workshop already", field=str(folder), remedy=remedy)
    # All are held: documents and suggestions come from them, and logs are not read a third time.
    questions = [*made.questions()]
    documents: dict[str, Doc] = {}
    rows: list[SuggestedDocument] = []
    for query, answer in questions:
        for rank, doc in enumerate(answer.documents if answer else (), start=1):
            doc_id = _name(doc)
            # Of a document that changed while it was logged the text is taken that came last.
            if doc.text is not None:
                documents[doc_id] = Doc(doc_id, doc.text, doc.metadata)
            rows.append(
                SuggestedDocument(
                    question=query.id, document=doc_id, origin="source", detail="log", rank=rank
                )
            )
    if corpus is None and not documents:
        problem = phrase("the logs have no texts of documents, and there is nothing to judge")
        raise UsageError(problem, field="--corpus", remedy=phrase("name the corpus"))
    dataset = GoldDataset(tuple(query for query, _ in questions), name="logs")
    # Only what was made into gold has grades to take over.
    gold, alone = (None, dataset) if made.gold_from is None else (dataset, None)
    with _whole_or_none(folder):
        if corpus is None:
            make_folder(folder)
            corpus = folder / _CORPUS
            write_records(map(doc_record, documents.values()), corpus)
        return start(
            folder, corpus=corpus, language=language, gold=gold, questions=alone, suggested=rows
        )


@contextmanager
def _whole_or_none(folder: Path) -> Iterator[None]:
    """Around what makes a folder: where it ends early, what it has made is removed."""
    before = {*folder.iterdir()} if folder.is_dir() else None
    try:
        yield
    except BaseException:  # Ctrl-C too: half a workshop can be neither opened nor made anew
        for file in {*folder.iterdir()} - (before or set()) if folder.is_dir() else ():
            file.unlink()
        if before is None and folder.is_dir():
            folder.rmdir()
        raise


def _name(doc: Doc) -> str:
    """The id of a document; of one without any it is made of its text."""
    return doc.id or f"d-{sha256((doc.text or '').encode()).hexdigest()[:16]}"
