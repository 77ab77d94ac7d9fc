"""TREC's qrels and run files, plain or gzipped.

A qrels line is ``query iteration document grade``, a run line ``query Q0 document rank score tag``;
columns are separated by spaces or tabs. A line that begins with ``#`` is a comment; a ``#`` inside
an id is part of it. A run is ordered by score, ties by document id descending (as UTF-8 bytes):
the order of its lines and its rank column do not matter, as in trec_eval.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path

from kragx.data.documents import Doc
from kragx.data.formats.jsonl import file_name, open_binary, open_bytes, open_text
from kragx.data.formats.problems import Broken, refusing
from kragx.data.gold import Gold, GoldDataset, Query
from kragx.data.runs import Retrieved, Run, rank_by_score
from kragx.data.text import plain_number
from kragx.errors import DataError, UsageError

_QRELS = ("query", "iteration", "document", "grade")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")


def read_qrels(path: str | Path) -> GoldDataset:
    """Read a qrels file; grades may be any whole or decimal numbers.

    Raises:
        DataError: a broken line (with file and line), a document with two different grades for
            one query, or an empty file.
    """
    queries = [query for _, query in qrels_queries(path, refusing(path))]
    if not queries:
        raise DataError(f"{path}: the file holds no judgement; 4 columns a line are expected")
    return GoldDataset(tuple(queries), name=_stem(path))


def qrels_queries(path: str | Path, broken: Broken) -> list[tuple[int, Query]]:
    """The queries of a qrels file, each with the line of its first judgement.

    Args:
        path: the file.
        broken: is told of each broken line, and of each that contradicts an earlier one; they are
            passed over.

    Raises:
        DataError: the file cannot be read.
    """
    grades: dict[str, dict[str, float]] = {}
    first: dict[str, int] = {}
    for number, query, document, value in iter_qrels(path, broken):
        first.setdefault(query, number)
        of_query = grades.setdefault(query, {})
        if of_query.setdefault(document, value) != value:
            broken(
                number,
                f"document {document!r} of query {query!r} has grade {value:g} here and "
                f"{of_query[document]:g} before; keep one",
            )
    return [
        (
            first[query],
            Query(query, gold=tuple(Gold(id=key, grade=grade) for key, grade in of_query.items())),
        )
        for query, of_query in grades.items()
    ]


def iter_qrels(
    path: str | Path, broken: Broken | None = None
) -> Iterator[tuple[int, str, str, float]]:
    """Yield line number, query id, document id and grade of each line, repeated ones too.

    Args:
        path: the file.
        broken: is told of each broken line, which is passed over; None ends at the first.

    Raises:
        DataError: the file cannot be read, or a line is broken (with file and line).
    """
    tell = refusing(path) if broken is None else broken
    for number, (query, _, document, grade) in _rows(path, _QRELS, tell):
        value = _number(grade)
        if value is None:
            tell(number, f"grade must be a finite number, not {grade!r}")
        else:
            yield number, query, document, value


def read_run(path: str | Path) -> Run:
    """Read a run file; it is named by the tag of its first line, else by the file.

    Raises:
        DataError: a broken line (with file and line), or an empty file.
    """
    found: dict[str, list[Doc]] = {}
    tag = ""
    for number, (query, _, document, _, score, run_tag) in _rows(path, _RUN, refusing(path)):
        value = _number(score)
        if value is None:
            raise DataError(f"{path}:{number}: score must be a finite number, not {score!r}")
        found.setdefault(query, []).append(Doc(id=document, score=value))
        tag = tag or run_tag
    if not found:
        raise DataError(f"{path}: the file holds no result; 6 columns a line are expected")
    results = {query: Retrieved(rank_by_score(docs)) for query, docs in found.items()}
    return Run(results, name=tag or _stem(path))


def read_runs(paths: Sequence[str | Path]) -> list[Run]:
    """Read several runs, named apart: by their tags if those differ, else by their files.

    Raises:
        UsageError: two have the same file name as well.
        DataError: as `read_run`.
    """
    runs = [read_run(path) for path in paths]
    for names in ([run.name for run in runs], [_stem(path) for path in paths], map(str, paths)):
        distinct = list(names)
        if len(set(distinct)) == len(runs):
            return [replace(run, name=name) for run, name in zip(runs, distinct)]
    raise UsageError("runs: the same file stands twice; name each run once")


def write_qrels(dataset: GoldDataset, path: str | Path) -> None:
    """Write a gold set as qrels: an id and grade for each gold item (without its alternatives).

    Raises:
        DataError: a gold item has no id, or an id cannot stand in a TREC file.
        UsageError: the file cannot be written.
    """
    lines = []
    for query in dataset:
        for gold in query.gold:
            document = _column(gold.id, f"query {query.id!r}: the id of a gold item")
            grade = plain_number(gold.grade)
            lines.append(f"{_query_column(query.id)} 0 {document} {grade}\n")
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
    for query_id, found in run.results.items():
        docs = found.documents
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
    path: str | Path, columns: tuple[str, ...], broken: Broken
) -> Iterator[tuple[int, list[str]]]:
    for number, line in _lines(path, broken):
        # Only these separate: an id may well hold a no-break space.
        fields = line.strip(" \t\r\n").replace("\t", " ").split(" ")
        fields = [field for field in fields if field]
        if not fields or fields[0].startswith("#"):
            continue
        if len(fields) != len(columns):
            expected = f"{len(columns)} are expected: {' '.join(columns)}"
            broken(number, f"{len(fields)} columns; {expected}")
            continue
        yield number, fields


def _lines(path: str | Path, broken: Broken) -> Iterator[tuple[int, str]]:
    with open_bytes(path) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                plain = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                broken(number, "not UTF-8; save the file as UTF-8")
                continue
            yield number, plain


def _number(text: str) -> float | None:
    """The number that a text says; None if it says none, or none that is finite."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


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
    if str(path).endswith(".gz"):
        with open_binary(path) as file:
            file.write(gzip.compress("".join(lines).encode("utf-8", "replace")))
    else:
        with open_text(path) as text:
            text.writelines(lines)


def _stem(path: str | Path) -> str:
    return file_name(str(path).removesuffix(".gz"))
