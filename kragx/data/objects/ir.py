"""Grades and scores by id, as ranx, ir_measures, ir_datasets and PyTerrier hold them.

Runs are ranked as TREC's: by score, ties by id descending, whatever a column says of ranks.
"""

from collections.abc import Callable, Iterable, Mapping
from math import isnan
from numbers import Real
from typing import Any

from kragx.data.formats.tabular import is_frame, rows_of_frame
from kragx.data.objects.shape import Shape, first_of, has
from kragx.errors import DataError, shorten

Numbers = dict[str, dict[str, Any]]

_GRADES, _SCORES = ("relevance", "label"), ("score",)
_QUESTION, _DOCUMENT = ("query_id", "qid"), ("doc_id", "docno")
_BESIDE = frozenset({"iteration"})


def _numbers(rows: Iterable[tuple[Any, Any, Any]]) -> Numbers:
    """Numbers by document by question.

    Raises:
        DataError: a document stands twice, with two numbers, or one has none.
    """
    numbers: Numbers = {}
    for query, document, number in rows:
        if not isinstance(number, Real) or isnan(number):
            raise DataError(
                f"query {query!r}: {shorten(number)} of document {document!r} is no number"
            )
        of_query = numbers.setdefault(str(query), {})
        if of_query.setdefault(str(document), number) != number:
            raise DataError(
                f"query {query!r}: document {document!r} stands twice, with {number!r} and "
                f"{of_query[str(document)]!r}; keep one"
            )
    return numbers


def _tuples(names: tuple[str, ...]) -> tuple[Callable[[Any], bool], Callable[[Any], Numbers]]:
    """How lists of named tuples with a number under one of the names are told, and read."""
    (name, *_) = names

    def fits(value: Any) -> bool:
        return {"query_id", "doc_id", name} <= {*getattr(first_of(value), "_fields", ())}

    def read(value: Any) -> Numbers:
        for place, row in enumerate(value):
            if not has(row, "query_id", "doc_id", name):
                raise DataError(f"entry {place + 1} has no {name!r}, as those before it have")
        return _numbers((row.query_id, row.doc_id, getattr(row, name)) for row in value)

    return fits, read


def _columns(frame: Any, numbers: tuple[str, ...]) -> list[str] | None:
    """The columns of question, document and number; None where a frame lacks one."""
    if not is_frame(frame) or has(frame, "features"):
        return None
    columns = [*map(str, frame.columns)]
    names = [
        next((name for name in choice if name in columns), None)
        for choice in (_QUESTION, _DOCUMENT, numbers)
    ]
    return None if None in names else names  # type: ignore[return-value]


def _is_qrels_frame(value: Any) -> bool:
    columns = _columns(value, _GRADES)
    return columns is not None and {*map(str, value.columns)} <= {*columns, *_BESIDE}


def _is_run_frame(value: Any) -> bool:
    """PyTerrier's by `docno`, with whatever else; ir_measures' by its three columns alone."""
    columns = _columns(value, _SCORES)
    is_pyterrier = columns is not None and columns[:2] == ["qid", "docno"]
    return is_pyterrier or (columns is not None and {*map(str, value.columns)} == {*columns})


def _qrels_frame(frame: Any) -> Numbers:
    names = _columns(frame, _GRADES) or []
    return _numbers(tuple(row[name] for name in names) for _, row in rows_of_frame(frame))


def _run_frame(frame: Any) -> object:
    """Scores by id; with a column of texts, documents in the order of the scores."""
    names = _columns(frame, _SCORES) or []
    rows = [row for _, row in rows_of_frame(frame)]
    numbers = _numbers(tuple(row[name] for name in names) for row in rows)
    if "text" not in map(str, frame.columns):
        return numbers
    texts = {tuple(str(row[name]) for name in names[:2]): row["text"] for row in rows}

    def ranking(query: str) -> list[dict[str, Any]]:
        by_score = sorted(
            numbers[query].items(), key=lambda entry: (entry[1], entry[0].encode()), reverse=True
        )
        return [{"id": i, "text": texts[query, i], "score": score} for i, score in by_score]

    return {query: ranking(query) for query in numbers}


def _ranx(attribute: str) -> Callable[[Any], bool]:
    return lambda value: has(value, attribute, "to_dict", "get_doc_ids_and_scores")


def _of_ranx(value: Any) -> Numbers:
    by_query: Mapping[str, Mapping[str, Any]] = value.to_dict()
    return {str(query): dict(numbers) for query, numbers in by_query.items()}


GOLD, RESULTS = frozenset({"gold"}), frozenset({"results"})

IR = (
    Shape("Qrels of ranx", GOLD, _ranx("qrels"), _of_ranx),
    Shape("Runs of ranx", RESULTS, _ranx("run"), _of_ranx),
    Shape("Qrels of ir_measures", GOLD, *_tuples(_GRADES)),
    Shape("ScoredDocs of ir_measures", RESULTS, *_tuples(_SCORES)),
    Shape("frames of qrels", GOLD, _is_qrels_frame, _qrels_frame),
    Shape("frames of scored documents", RESULTS, _is_run_frame, _run_frame),
)
