"""TREC's qrels and run files, plain or gzipped.

A qrels line is ``query iteration document grade``, a run line ``query Q0 document rank score tag``;
columns are separated by spaces or tabs. A line that begins with ``#`` is a comment; a ``#`` inside
an id is part of it. A run is ordered by score, ties by document id descending (as UTF-8 bytes):
the order of its lines and its rank column do not matter, as in trec_eval.
"""

import gzip
from collections.abc import Iterator
from contextlib import suppress
from math import isfinite
from pathlib import Path

from kragx.data.documents import Doc
from kragx.data.formats.format import Fields, Format, Read
from kragx.data.formats.jsonl import file_name, read_lines, write_bytes
from kragx.data.gold import Gold, GoldDataset, Query
from kragx.data.problems import Problems
from kragx.data.runs import Retrieved, Run, rank_by_score
from kragx.data.text import plain_number
from kragx.errors import DataError, UsageError

_QRELS = ("query", "iteration", "document", "grade")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")
KINDS = {len(_QRELS): "qrels", len(_RUN): "run"}
"""What a file holds whose lines have so many columns."""


def _read(fields: Fields) -> Read:
    """Its query, with an id and grade for each gold item."""
    grades = fields.record["grades"].items()
    golds = tuple(Gold(id=document, grade=grade) for document, grade in grades)
    yield Query(fields.record["query_id"], gold=golds), None


QRELS = Format(
    "qrels",
    fields={"query_id": "word", "grades": "json"},
    marks=("grades",),
    read=_read,
)
"""Qrels, of which `qrels_records` makes a record for each query."""


def qrels_records(
    path: str | Path, problems: Problems
) -> Iterator[tuple[int, dict[str, str | dict[str, float]]]]:
    """The grades of each query, with the line of its first judgement.

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
            problems.add(
                line,
                None,
                f"document {document!r} of query {query!r} has grade {grade:g} here and "
                f"{before:g} before; keep one",
            )
    for query, line in first.items():
        yield line, {"query_id": query, "grades": grades[query]}


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
    for line, (query, _, document, grade) in _rows(path, _QRELS, problems):
        value = _number("grade", grade, line, problems)
        if value is not None:
            yield line, query, document, value


def read_run(path: str | Path) -> Run:
    """Read a run file; it is named by the tag of its first line, else by the file.

    Raises:
        DataError: a broken line (with file and line), or an empty file.
    """
    problems = Problems(str(path), strict=True)
    results: dict[str, list[Doc]] = {}
    tag = ""
    for line, (query, _, document, _, score, run_tag) in _rows(path, _RUN, problems):
        doc = Doc(id=document, score=_number("score", score, line, problems))
        results.setdefault(query, []).append(doc)
        tag = tag or run_tag
    if not results:
        raise DataError(f"{path}: the file holds no result; 6 columns a line are expected")
    ranked = {query: Retrieved(rank_by_score(docs)) for query, docs in results.items()}
    return Run(ranked, name=tag or file_name(path))


def write_qrels(dataset: GoldDataset, path: str | Path) -> None:
    """Write a gold set as qrels: an id and grade for each gold item (without its alternatives).

    Raises:
        DataError: a gold item has no id, or an id cannot stand in a TREC file.
        UsageError: the file cannot be written.
    """
    lines = []
    for query_id, gold in ((query.id, gold) for query in dataset for gold in query.gold):
        document = _column(gold.id, f"query {query_id!r}: the id of a gold item")
        lines.append(f"{_query_column(query_id)} 0 {document} {plain_number(gold.grade)}\n")
    _write(lines, path)


def write_run(run: Run, path: str | Path) -> None:
    """Write a run; where documents have no scores, n, n - 1, ... keep their order.

    Raises:
        DataError: a document has no id, an id cannot stand in a TREC file, some documents of a
            list have scores and some not, or a list's scores contradict its order (a TREC run is
            ordered by score, so the order would be lost).
        UsageError: the file cannot be written.
    """
    tag = _column(run.name.replace(" ", "_"), "the run's name")
    lines = []
    for query_id, answer in run.results.items():
        docs = answer.documents
        scores = [doc.score for doc in docs if doc.score is not None]
        if scores and len(scores) != len(docs):
            raise DataError(
                f"query {query_id!r}: {len(scores)} of {len(docs)} documents have a score; give "
                "all or none"
            )
        if scores and rank_by_score(docs) != docs:
            raise DataError(
                f"query {query_id!r}: the order of the list is not that of its scores, which "
                "alone order a TREC run; sort it, or remove the scores"
            )
        descending = scores or [float(score) for score in range(len(docs), 0, -1)]
        for rank, (doc, score) in enumerate(zip(docs, descending, strict=True), start=1):
            document = _column(doc.id, f"query {query_id!r}, rank {rank}: the document id")
            lines.append(f"{_query_column(query_id)} Q0 {document} {rank} {score!r} {tag}\n")
    _write(lines, path)


def _rows(
    path: str | Path, columns: tuple[str, ...], problems: Problems
) -> Iterator[tuple[int, list[str]]]:
    for number, line in read_lines(path, problems):
        # Only these separate: an id may well hold a no-break space.
        fields = [*filter(None, line.strip(" \t\r\n").replace("\t", " ").split(" "))]
        if not fields or fields[0].startswith("#"):
            continue
        if len(fields) == len(columns):
            yield number, fields
            continue
        expected = f"{len(columns)} are expected: {' '.join(columns)}"
        problems.add(number, None, f"{len(fields)} columns; {expected}")


def _number(name: str, text: str, line: int, problems: Problems) -> float | None:
    """The number that a column says; None if it says none that is finite, which is reported."""
    with suppress(ValueError):
        if isfinite(float(text)):
            return float(text)
    problems.add(line, None, f"{name} must be a finite number, not {text!r}")
    return None


def _column(value: str | None, what: str) -> str:
    if value is None or not value or value.split() != [value]:
        raise DataError(
            f"{what} is {value!r}; a TREC file needs one that is not empty and holds no white space"
        )
    return value


def _query_column(query_id: str) -> str:
    if query_id.startswith("#"):
        raise DataError(
            f"query id {query_id!r}: a line that begins with # is a comment in a TREC file; "
            "rename the query"
        )
    return _column(query_id, "a query id")


def _write(lines: list[str], path: str | Path) -> None:
    if str(path) == "-":
        raise UsageError("a TREC file is written to a path, not to standard output")
    data = "".join(lines).encode("utf-8", "replace")
    write_bytes(path, gzip.compress(data) if str(path).endswith(".gz") else data)
