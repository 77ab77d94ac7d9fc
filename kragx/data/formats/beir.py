"""BEIR's folders: ``corpus.jsonl``, ``queries.jsonl`` and a file of qrels for each split."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import read_records
from kragx.data.formats.trec import qrels_records
from kragx.data.problems import Problems
from kragx.data.weights import INCLUSION, WEIGHT, clean_inclusion, clean_weight
from kragx.errors import DataError, inside

_DEFAULT = "test"


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
        judged = dict(qrels_records(self.qrels, problems))
        queries = {}
        query_ids = {record["query_id"] for record in judged.values()}
        for line, query in _some(self.queries, query_ids):
            with inside(path=f"{self.queries}:{line}"):  # of what it stands for, nothing impossible
                clean_weight(query.get(WEIGHT))
                clean_inclusion(query.get(INCLUSION))
            queries[str(query["_id"])] = query
        doc_ids = {item["id"] for record in judged.values() for item in record["gold"]}
        corpus = {
            str(doc["_id"]): document(doc) for _, doc in _some(corpus_of(self.folder), doc_ids)
        }
        for line, record in judged.items():
            query_id = record["query_id"]
            if query_id not in queries:
                message = f"{query_id!r} is not in {self.queries}"
                problems.add(line, "query-id", message, query_id=query_id)
                continue
            query = queries[query_id]
            about = {name: query[name] for name in ("metadata", WEIGHT, INCLUSION) if name in query}
            gold = [_as_gold(corpus.get(item["id"], {})) | item for item in record["gold"]]
            yield line, {"query_id": query_id, "query": query.get("text"), **about, "gold": gold}


def beir_of(source: object) -> Beir | None:
    """The folder and split that a path means: the folder itself, or the file of a split in it.

    Raises:
        DataError: it is a folder with several splits and no ``test``.
    """
    if not isinstance(source, (str, Path)) or not str(source):
        return None
    path = Path(source)
    if path.suffix == ".tsv" and path.parent.name == "qrels" and is_beir(path.parent.parent):
        return Beir(path.parent.parent, path)
    if not is_beir(path):
        return None
    splits = {file.stem: file for file in sorted((path / "qrels").glob("*.tsv"))}
    if _DEFAULT not in splits and len(splits) != 1:
        names = ", ".join(map(str, splits.values())) or "no .tsv file"
        problem = f"a BEIR folder without qrels/{_DEFAULT}.tsv; it has {names}"
        raise DataError(problem, path=str(path), remedy="name one of them" if splits else "")
    return Beir(path, splits.get(_DEFAULT) or next(iter(splits.values())))


def is_beir(folder: Path) -> bool:
    """Whether a folder has the files that BEIR's have; a text, too long for a name, has none."""
    try:
        has_qrels = (folder / "qrels").is_dir()
        return has_qrels and all(_file(folder, name).is_file() for name in ("corpus", "queries"))
    except OSError:
        return False


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
    known = metadata if isinstance(metadata, Mapping) else {}
    about = {**known, **({"title": title} if title else {})}
    return {"id": record["_id"], "text": record.get("text") or title, "metadata": about}


def _as_gold(doc: Mapping[str, Any]) -> dict[str, Any]:
    """A document as gold: some of BEIR's are empty, and are known by their ids alone."""
    text = doc.get("text")
    return {**doc, "text": None} if isinstance(text, str) and not text.strip() else {**doc}


def _file(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.jsonl.gz"
    return packed if packed.is_file() else folder / f"{name}.jsonl"


def _some(path: Path, ids: set[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The records of a file that have these ids, with their lines."""
    records = read_records(path, Problems(str(path), strict=True))
    return ((line, record) for line, record in records if str(record.get("_id", "")) in ids)
