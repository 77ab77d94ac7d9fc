"""TREC's qrels and run files, plain or gzipped, and BEIR's folders.

A qrels line is ``query iteration document grade``, a run line ``query Q0 document rank score tag``;
columns are separated by spaces or tabs. A line that begins with ``#`` is a comment; a ``#`` inside
an id is part of it. A run is ordered by score, ties by document id descending (as UTF-8 bytes):
the order of its lines and its rank column do not matter, and scores may be infinite, as in
trec_eval. BEIR's qrels, three columns under a header, are read wherever qrels are; a folder of its
has ``corpus.jsonl``, ``queries.jsonl`` and a file of qrels for each split.
"""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf
from pathlib import Path
from typing import Any

from kragx.data.documents import Doc, rank_by_score
from kragx.data.formats.gold import GOLD
from kragx.data.formats.jsonl import file_name, not_utf_8, raw_lines, read_records, write_bytes
from kragx.data.gold import GoldDataset
from kragx.data.problems import Problems
from kragx.data.runs import Retrieved, Run
from kragx.data.text import plain_number, read_number
from kragx.data.weights import INCLUSION, WEIGHT, clean_inclusion, clean_weight
from kragx.ground.errors import DataError, UsageError, inside

_SPLIT = "test"
_QRELS = ("query", "iteration", "document", "grade")
_BEIR = ("query-id", "corpus-id", "score")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")


def kind_of_line(line: str) -> str | None:
    """What a file holds by its first line: qrels, a run, or None for neither."""
    columns = _columns(line)
    if len(columns) == len(_QRELS) or _is_header(columns):
        return "qrels"
    # A tag may hold spaces: then the number in the place of the score tells a run.
    is_longer = len(columns) > len(_RUN) and read_number(columns[_RUN.index("score")]) is not None
    return "run" if is_longer or len(columns) == len(_RUN) else None


def _is_header(columns: Sequence[str]) -> bool:
    return tuple(name.lower().replace("_", "-") for name in columns) == _BEIR


QRELS = replace(GOLD, name="qrels", marks=())
"""The format of what `qrels_records` makes of qrels, which nothing but files hold."""


def qrels_records(path: str | Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """A record of the format `gold` for each query, with the line of its first judgement.

    A broken line, and one that contradicts an earlier one, is reported and passed over.

    Raises:
        DataError: the file cannot be read.
    """
    grades: dict[str, dict[str, float]] = {}
    first: dict[str, int] = {}
    for line, query, document, grade in iter_qrels(path, problems):
        first.setdefault(query, line)
        before = grades.setdefault(query, {}).setdefault(document, grade)
        if before != grade:
            pair = f"document {document!r} of query {query!r}"
            message = f"{pair} has grade {grade:g} here and {before:g} before; keep one"
            problems.add(line, None, message)
    for query, line in first.items():
        gold = [{"id": document, "grade": grade} for document, grade in grades[query].items()]
        yield line, {"query_id": query, "gold": gold}


def iter_qrels(
    path: str | Path, problems: Problems | None = None
) -> Iterator[tuple[int, str, str, float]]:
    """Yield line number, query id, document id and grade of each line, repeated ones too.

    Args:
        path: the file.
        problems: is told of each broken line, which is passed over; None ends at the first.

    Raises:
        DataError: the file cannot be read, or a line is broken (with file and line).
    """
    problems = problems or Problems(str(path), strict=True)
    names: tuple[str, ...] = ()
    for line, columns in _rows(path, problems):
        if not names and _is_header(columns):
            names = _BEIR
            continue
        names = names or _QRELS
        if len(columns) != len(names):
            _miscounted(columns, names, line, problems)
            continue
        query, *_, document, text = columns
        grade = _number("grade", text, line, problems)
        if _are_ids(query, document, line, problems) and grade is not None:
            yield line, query, document, grade


def read_run(path: str | Path) -> Run:
    """Read a run file; it is named by the tag of its first line, else by the file.

    What follows a tag is passed over and counted. Where it is the same on every line it may as
    well be a tag that holds spaces, and the run has all of it as its name.

    Raises:
        DataError: a broken line (with file and line), or an empty file.
    """
    problems = Problems(str(path), strict=True)
    results: dict[str, list[Doc]] = {}
    tags: dict[tuple[str, ...], None] = {}
    n_longer = 0
    for line, columns in _rows(path, problems):
        if len(columns) < len(_RUN):
            _miscounted(columns, _RUN, line, problems)
        query, _, document, _, score, *tag = columns
        _are_ids(query, document, line, problems)
        doc = Doc(id=document, score=_number("score", score, line, problems, infinite=True))
        results.setdefault(query, []).append(doc)
        # A dict for its order: the first tag is the one that names the run.
        tags.setdefault(tuple(tag))
        n_longer += len(tag) > 1
    if not results:
        raise DataError(
            "{place}: the file holds no result; 6 columns a line are expected", place=path
        )
    ranked = {query: Retrieved(rank_by_score(docs)) for query, docs in results.items()}
    first = next(iter(tags))
    name = " ".join(first if len(tags) == 1 else first[:1])
    return Run(ranked, name=name or file_name(path), n_longer_lines=n_longer)


def write_qrels(dataset: GoldDataset, path: str | Path) -> None:
    """Write a gold set as qrels: an id and grade for each gold item (without its alternatives).

    Raises:
        DataError: a gold item has no id, or an id cannot stand in a TREC file.
        UsageError: the file cannot be written.
    """
    lines = []
    for query_id, gold in ((query.id, gold) for query in dataset for gold in query.gold):
        if query_id.startswith("#"):
            raise DataError(
                "query id {query_id!r}: a line that begins with # is a comment in a TREC file; "
                "rename the query",
                query_id=query_id,
            )
        document = _column(gold.id, f"query {query_id!r}: the id of a gold item")
        query = _column(query_id, "a query id")
        lines.append(f"{query} 0 {document} {plain_number(gold.grade)}\n")
    if str(path) == "-":
        raise UsageError("a TREC file is written to a path, not to standard output")
    data = "".join(lines).encode("utf-8", "replace")
    write_bytes(path, gzip.compress(data) if str(path).endswith(".gz") else data)


def _rows(path: str | Path, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """The columns of each line that is neither blank nor a comment; what is no UTF-8 is reported.

    Raises:
        DataError: the file cannot be read.
    """
    for number, raw in raw_lines(path, problems):
        try:
            columns = _columns(raw.decode())
        except UnicodeDecodeError as error:
            problems.add(number, None, not_utf_8(error))
            continue
        if columns and not columns[0].startswith("#"):
            yield number, columns


def _columns(line: str) -> list[str]:
    # Only these separate: an id may well hold a no-break space.
    return [*filter(None, line.strip(" \t\r\n").replace("\t", " ").split(" "))]


def _miscounted(
    columns: Sequence[str], names: Sequence[str], line: int, problems: Problems
) -> None:
    expected = f"{len(names)} are expected: {' '.join(names)}"
    if names is _QRELS and len(columns) == len(_BEIR):
        expected += f" (or three under the header {' '.join(_BEIR)}, as BEIR has them)"
    problems.add(line, None, f"{len(columns)} columns; {expected}")


def _number(
    name: str, text: str, line: int, problems: Problems, *, infinite: bool = False
) -> float | None:
    """The number that a column says; None if it says none, which is reported."""
    number = read_number(text)
    if number is not None and (infinite or not isinf(number)):
        return number
    kind = "number" if infinite else "finite number"
    problems.add(line, None, f"{name} must be a {kind}, not {text!r}")
    return None


def _column(value: str | None, name: str) -> str:
    if value is None or not value or value.split() != [value]:
        raise DataError(
            "{name} is {value!r}; a TREC file needs one that is not empty and holds no white space",
            name=name,
            value=value,
        )
    return value


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
        # Qrels first: of questions and corpus, which may be huge, only what they name is held.
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
        # In the order of the qrels, whose lines the problems name.
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
    if _SPLIT not in splits and len(splits) != 1:
        names = ", ".join(map(str, splits.values())) or "no .tsv file"
        problem = f"a BEIR folder without qrels/{_SPLIT}.tsv; it has {names}"
        raise DataError(problem, path=str(path), remedy="name one of them" if splits else "")
    return Beir(path, splits.get(_SPLIT) or next(iter(splits.values())))


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


def _are_ids(query: str, document: str, line: int, problems: Problems) -> bool:
    """Whether both say something; a no-break space, which separates nothing, is reported."""
    if is_blank := query.isspace() or document.isspace():
        problems.add(line, None, "an id is empty; remove the line or fill it in")
    return not is_blank
