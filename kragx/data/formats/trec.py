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
from kragx.data.weights import ASKS
from kragx.ground.errors import DataError, UsageError, inside
from kragx.ground.printing import message

_SPLIT = "test"
_QRELS = ("query", "iteration", "document", "grade")
_BEIR = ("query-id", "corpus-id", "score")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")
_SCORE = _RUN.index("score")


def kind_of_line(line: str) -> str | None:
    """What a file holds by its first line: qrels, a run, or None for neither."""
    columns = _columns(line)
    if len(columns) == len(_QRELS) or _is_header(columns):
        return "qrels"
    # A tag may hold spaces: then the number in the place of the score tells a run.
    is_longer = len(columns) > len(_RUN) and read_number(columns[_SCORE]) is not None
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
    for line, query, document, grade, _ in _rows(path, problems, _QRELS):
        first.setdefault(query, line)
        before = grades.setdefault(query, {}).setdefault(document, grade)
        if before != grade:
            problem = message(
                "document {document!r} of query {query!r} has grade {grade:g} here and {before:g} "
                "before; keep one",
                document=document,
                query=query,
                grade=grade,
                before=before,
            )
            problems.add(line, None, problem)
    for query, line in first.items():
        gold = [{"id": document, "grade": grade} for document, grade in grades[query].items()]
        yield line, {"query_id": query, "gold": gold}


def read_run(path: str | Path) -> Run:
    """Read a run file; it is named by the tag of its first line, else by the file.

    What follows a tag is passed over and counted. Where it is the same on every line it may as
    well be a tag that holds spaces, and the run has all of it as its name.

    Raises:
        DataError: a broken line (with file and line), or an empty file.
    """
    results: dict[str, list[Doc]] = {}
    tags: list[tuple[str, ...]] = []
    for _, query, document, score, tag in _rows(path, Problems(str(path), strict=True), _RUN):
        results.setdefault(query, []).append(Doc(id=document, score=score))
        tags.append(tag)
    if not results:
        raise DataError(
            "{place}: the file holds no result; 6 columns a line are expected", place=path
        )
    ranked = {query: Retrieved(rank_by_score(docs)) for query, docs in results.items()}
    name = " ".join(tags[0] if len({*tags}) == 1 else tags[0][:1])
    return Run(ranked, name or file_name(path), n_longer_lines=sum(len(tag) > 1 for tag in tags))


def write_qrels(dataset: GoldDataset, path: str | Path) -> None:
    """Write a gold set as qrels: an id and grade for each gold item (without its alternatives).

    Raises:
        DataError: a gold item has no id, or an id cannot stand in a TREC file.
        UsageError: the file cannot be written.
    """
    lines = []
    for query in dataset:
        if query.gold and query.id.startswith("#"):
            raise DataError(
                "query id {query_id!r}: a line that begins with # is a comment in a TREC file; "
                "rename the query",
                query_id=query.id,
            )
        for gold in query.gold:
            document = _column(gold.id, message("query {id!r}: the id of a gold item", id=query.id))
            name = _column(query.id, message("a query id"))
            lines.append(f"{name} 0 {document} {plain_number(gold.grade)}\n")
    if str(path) == "-":
        raise UsageError("a TREC file is written to a path, not to standard output")
    data = "".join(lines).encode("utf-8", "replace")
    write_bytes(path, gzip.compress(data) if str(path).endswith(".gz") else data)


def _rows(
    path: str | Path, problems: Problems, names: Sequence[str]
) -> Iterator[tuple[int, str, str, float, tuple[str, ...]]]:
    """Line, query, document, number and tag of each line of qrels, or of a run; repeated ones too.

    Blank lines and comments are passed over, and so are broken lines, which are reported.

    Raises:
        DataError: the file cannot be read.
    """
    is_run, is_first = names is _RUN, True
    for line, raw in raw_lines(path):
        try:
            columns = _columns(raw.decode())
        except UnicodeDecodeError as error:
            problems.add(line, None, not_utf_8(error))
            continue
        if not columns or columns[0].startswith("#"):
            continue
        is_header, is_first = is_first and not is_run and _is_header(columns), False
        if is_header:
            names = _BEIR
            continue
        if len(columns) < len(names) or (len(columns) > len(names) and not is_run):
            problem = message(
                "{n} columns; {n_expected} are expected: {names} (or three under the header "
                "{header}, as BEIR has them)"
                if names is _QRELS and len(columns) == len(_BEIR)
                else "{n} columns; {n_expected} are expected: {names}",
                n=len(columns),
                n_expected=len(names),
                names=" ".join(names),
                header=" ".join(_BEIR),
            )
            problems.add(line, None, problem)
            continue
        query, document = columns[0], columns[1 if names is _BEIR else 2]
        text = columns[_SCORE if is_run else -1]
        number = read_number(text)
        if number is None or (isinf(number) and not is_run):
            problem = message(
                "score must be a number, not {text!r}"
                if is_run
                else "grade must be a finite number, not {text!r}",
                text=text,
            )
            problems.add(line, None, problem)
        elif query.isspace() or document.isspace():  # of a no-break space, which separates nothing
            problem = message("an id is empty; remove the line or fill it in")
            problems.add(line, None, problem)
        else:
            yield line, query, document, number, tuple(columns[_SCORE + 1 :])


def _columns(line: str) -> list[str]:
    # Only these separate: an id may well hold a no-break space.
    return [*filter(None, line.strip(" \t\r\n").replace("\t", " ").split(" "))]


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
            with inside(path=f"{self.queries}:{line}"):  # the file that is to be mended
                for name, clean in ASKS.items():
                    clean(query.get(name))
            queries[str(query["_id"])] = query
        doc_ids = {item["id"] for record in judged.values() for item in record["gold"]}
        corpus = {str(doc["_id"]): doc for _, doc in _some(corpus_of(self.folder), doc_ids)}
        # In the order of the qrels, whose lines the problems name.
        for line, record in judged.items():
            query_id = record["query_id"]
            if query_id not in queries:
                problem = message(
                    "{query_id!r} is not in {file}", query_id=query_id, file=self.queries
                )
                problems.add(line, "query-id", problem, query_id=query_id)
                continue
            query = queries[query_id]
            about = {name: query[name] for name in ("metadata", *ASKS) if name in query}
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
        names = ", ".join(map(str, splits.values())) or message("no .tsv file")
        raise DataError(
            "a BEIR folder without qrels/{split}.tsv; it has {names}",
            path=str(path),
            remedy="name one of them" if splits else "",
            split=_SPLIT,
            names=names,
        )
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


def _as_gold(record: Mapping[str, Any]) -> dict[str, Any]:
    """A document as gold: some of BEIR's are empty, and are known by their ids alone."""
    doc = dict(document(record))
    text = doc.get("text")
    return {**doc, "text": None} if isinstance(text, str) and not text.strip() else doc


def _file(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.jsonl.gz"
    return packed if packed.is_file() else folder / f"{name}.jsonl"


def _some(path: Path, ids: set[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The records of a file that have these ids, with their lines."""
    for line, record in read_records(path, Problems(str(path), strict=True)):
        if str(record.get("_id", "")) in ids:
            yield line, record
