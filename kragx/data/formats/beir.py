"""BEIR's folders: ``corpus.jsonl``, ``queries.jsonl`` and a file of qrels for each split."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import read_records
from kragx.data.formats.trec import qrels_records
from kragx.data.problems import Problems
from kragx.errors import DataError

_DEFAULT = "test"


def split_of(source: object) -> Path | None:
    """The qrels that a path means: of a folder of BEIR's, or the file of a split in one; else None.

    Raises:
        DataError: it is a folder with several splits and no ``test``.
    """
    if not isinstance(source, (str, Path)) or not str(source):
        return None
    path = Path(source)
    try:
        if path.parent.name == "qrels" and path.suffix == ".tsv" and is_beir(path.parent.parent):
            return path
        if not is_beir(path):
            return None
    except OSError:  # a text, too long for a file's name
        return None
    splits = {file.stem: file for file in sorted((path / "qrels").glob("*.tsv"))}
    if _DEFAULT not in splits and len(splits) != 1:
        names = ", ".join(map(str, splits.values())) or "no .tsv file"
        problem = f"a BEIR folder without qrels/{_DEFAULT}.tsv; it has {names}"
        raise DataError(problem, path=str(path), remedy="name one of them" if splits else "")
    return splits.get(_DEFAULT) or next(iter(splits.values()))


def split_name(qrels: Path) -> str:
    """What a gold set is called, of folder and split: ``scifact-test``."""
    return f"{qrels.parent.parent.absolute().name}-{qrels.stem}"


def beir_records(source: object, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """A record of the format `gold` for each query that has qrels, with its line there.

    Gold has the texts that the corpus has; of the corpus nothing else is held.

    Raises:
        DataError: a file cannot be read, or a line of queries or corpus is broken.
    """
    qrels = split_of(source)
    assert qrels is not None
    folder = qrels.parent.parent
    problems.file = str(qrels)
    judged = [(line, *row.values()) for line, row in qrels_records(qrels, problems)]
    queries = _some(_file(folder, "queries"), {query_id for _, query_id, _ in judged})
    corpus = _some(corpus_of(folder), {name for *_, grades in judged for name in grades})
    for line, query_id, grades in judged:
        if query_id not in queries:
            message = f"{query_id!r} is not in {_file(folder, 'queries')}"
            problems.add(line, "query-id", message, query_id=query_id)
            continue
        query = queries[query_id]
        gold = [
            {**_texted(corpus.get(name, {})), "id": name, "grade": grade}
            for name, grade in grades.items()
        ]
        about = {"query": query.get("text"), "metadata": query.get("metadata")}
        yield line, {"query_id": query_id, **about, "gold": gold}


def is_beir(folder: Path) -> bool:
    """Whether a folder has the files that BEIR's have."""
    named = (_file(folder, name).is_file() for name in ("corpus", "queries"))
    return (folder / "qrels").is_dir() and all(named)


def corpus_of(folder: Path) -> Path:
    """The corpus in a folder of BEIR's."""
    return _file(folder, "corpus")


def document(record: Any) -> Any:
    """A document of BEIR's (``_id``, ``title``, ``text``) in kragx' fields; others as they are.

    The title is metadata, and the text where there is no other.
    """
    if not isinstance(record, Mapping) or "_id" not in record or "id" in record:
        return record
    title, metadata = record.get("title"), record.get("metadata")
    about = dict(metadata) if isinstance(metadata, Mapping) else {}
    return {
        "id": record["_id"],
        "text": record.get("text") or title,
        "metadata": about | ({"title": title} if title else {}),
    }


def _texted(record: Mapping[str, Any]) -> dict[str, Any]:
    """A document as gold: some of BEIR's are empty, and are known by their ids alone."""
    doc = document(record)
    text = doc.get("text")
    return {**doc, "text": None if isinstance(text, str) and not text.strip() else text}


def _file(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.jsonl.gz"
    return packed if packed.is_file() else folder / f"{name}.jsonl"


def _some(path: Path, ids: set[str]) -> dict[str, Mapping[str, Any]]:
    """The records of a file that have these ids."""
    records = read_records(path, Problems(str(path), strict=True))
    return {
        str(record["_id"]): record for _, record in records if str(record.get("_id", "")) in ids
    }
