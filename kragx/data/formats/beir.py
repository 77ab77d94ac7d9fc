"""BEIR's folders: ``corpus.jsonl``, ``queries.jsonl`` and a file of qrels for each split."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import read_records
from kragx.data.formats.trec import qrels_records
from kragx.data.problems import Problems
from kragx.data.weights import INCLUSION, WEIGHT, clean_inclusion, clean_weight
from kragx.errors import DataError, inside

_DEFAULT = "test"
_Check = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Beir:
    """A folder of BEIR's, and the split of it that is meant.

    Attributes:
        folder: it.
        qrels: the split's file.
    """

    folder: Path
    qrels: Path

    @property
    def name(self) -> str:
        """Of folder and split: ``scifact-test``."""
        return f"{self.folder.absolute().name}-{self.qrels.stem}"

    @property
    def queries(self) -> Path:
        """The file of the questions."""
        return _file(self.folder, "queries")

    def records(self, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
        """A record of the format `gold` for each query that has qrels, with its line there.

        Gold has the texts that the corpus has; of the corpus nothing else is held.

        Raises:
            DataError: a file cannot be read, or a line of queries or corpus is broken.
        """
        problems.file = str(self.qrels)
        judged = [(line, *row.values()) for line, row in qrels_records(self.qrels, problems)]
        query_ids = {query_id for _, query_id, _ in judged}
        queries = _some(self.queries, query_ids, _query)
        ids = {name for *_, grades in judged for name in grades}
        corpus = _some(_file(self.folder, "corpus"), ids)
        for line, query_id, grades in judged:
            if query_id not in queries:
                message = f"{query_id!r} is not in {self.queries}"
                problems.add(line, "query-id", message, query_id=query_id)
                continue
            query = queries[query_id]
            gold = [
                {**_as_gold(corpus.get(name, {})), "id": name, "grade": grade}
                for name, grade in grades.items()
            ]
            about = {"query": query.get("text"), "metadata": query.get("metadata")}
            about |= {name: query[name] for name in (WEIGHT, INCLUSION) if name in query}
            yield line, {"query_id": query_id, **about, "gold": gold}


def beir_of(source: object) -> Beir | None:
    """The folder and split that a path means: the folder itself, or the file of a split in it.

    Raises:
        DataError: it is a folder with several splits and no ``test``.
    """
    if not isinstance(source, (str, Path)) or not str(source):
        return None
    path = Path(source)
    try:
        if path.parent.name == "qrels" and path.suffix == ".tsv" and is_beir(path.parent.parent):
            return Beir(path.parent.parent, path)
        if not path.is_dir() or not is_beir(path):
            return None
    except OSError:  # a text, too long for a file's name
        return None
    splits = {file.stem: file for file in sorted((path / "qrels").glob("*.tsv"))}
    if _DEFAULT not in splits and len(splits) != 1:
        names = ", ".join(str(split) for split in splits.values()) or "no .tsv file"
        problem = f"a BEIR folder without qrels/{_DEFAULT}.tsv; it has {names}"
        raise DataError(problem, path=str(path), remedy="name one of them" if splits else "")
    return Beir(path, splits.get(_DEFAULT) or next(iter(splits.values())))


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
    return {
        "id": record["_id"],
        "text": record.get("text") or title,
        "metadata": {
            **(metadata if isinstance(metadata, Mapping) else {}),
            **({"title": title} if title else {}),
        },
    }


def _as_gold(record: Mapping[str, Any]) -> dict[str, Any]:
    """A document as gold: some of BEIR's are empty, and are known by their ids alone."""
    doc = document(record)
    text = doc.get("text")
    return {**doc, "text": None if isinstance(text, str) and not text.strip() else text}


def _file(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.jsonl.gz"
    return packed if packed.is_file() else folder / f"{name}.jsonl"


def _as_it_is(_: str, record: Mapping[str, Any]) -> Mapping[str, Any]:
    return record


def _some(path: Path, ids: set[str], check: _Check = _as_it_is) -> dict[str, Mapping[str, Any]]:
    """The records of a file that have these ids."""
    records = read_records(path, Problems(str(path), strict=True))
    return {
        str(record["_id"]): check(f"{path}:{line}", record)
        for line, record in records
        if str(record.get("_id", "")) in ids
    }


def _query(place: str, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A query, which says nothing impossible of what it stands for."""
    with inside(path=place):
        clean_weight(record.get(WEIGHT))
        clean_inclusion(record.get(INCLUSION))
    return record
