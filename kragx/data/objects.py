"""Gold and results of other tools, told by their shapes: a table of them.

None of the packages is imported. What a shape reads becomes what the one way in reads anyway:
numbers by document by question, rows of a format, or a gold set. Runs are ranked as TREC's: by
score, ties by id descending, whatever a column says of ranks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from numbers import Real
from typing import Any

from kragx.data.formats.format import Format
from kragx.data.formats.other_tools import DEEPEVAL, RAGAS
from kragx.data.formats.tabular import is_frame, rows_of_frame
from kragx.data.gold import GoldDataset, Query, as_golds
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, shorten

GOLD, RESULTS = frozenset({"gold"}), frozenset({"results"})
BOTH = GOLD | RESULTS

_QUESTION, _DOCUMENT = ("query_id", "qid"), ("doc_id", "docno")
_GRADES, _SCORES = ("relevance", "label"), ("score",)
_RANX = ("to_dict", "get_doc_ids_and_scores")
_QUESTIONS = ("question", "query", "input")
_PASSAGES = ("documents", "contexts", "context", "gold", "passages", "source_documents")


@dataclass(frozen=True)
class Shape:
    """Objects of one tool.

    Attributes:
        name: what people call them, in the plural.
        holds: ``gold``, ``results``, or both.
        fits: whether a value is one.
        read: what it holds: ``{query: {document: number}}``, rows of a format, or a `GoldDataset`.
    """

    name: str
    holds: frozenset[str]
    fits: Callable[[Any], bool]
    read: Callable[[Any], object]


def _has(value: object, *names: str) -> bool:
    return all(hasattr(value, name) for name in names)


def _columns(value: Any, numbers: Sequence[str]) -> list[str]:
    """What question, document and number are called in a frame or in named tuples; empty if not.

    Beside a frame's nothing else may stand, but for PyTerrier's runs, which are told by `docno`.
    """
    is_table = is_frame(value) and not hasattr(value, "features")
    names = [*map(str, value.columns if is_table else getattr(_samples(value)[0], "_fields", ()))]
    choices = (_QUESTION, _DOCUMENT, numbers)
    columns = [name for choice in choices for name in choice if name in names][:3]
    is_terrier = numbers is _SCORES and columns[:2] == ["qid", "docno"]
    may_be = not is_table or is_terrier or {*names} <= {*columns, "iteration"}
    return columns if may_be and len(columns) == len(choices) else []


def _numbers(value: Any, names: Sequence[str]) -> object:
    """Numbers by document by question.

    Raises:
        DataError: a document stands twice, with two numbers, or one has none.
    """
    columns = _columns(value, names)
    rows: Iterable[Mapping[str, Any]]
    if is_frame(value):
        rows = (row for _, row in rows_of_frame(value))
    else:
        rows = (row._asdict() if hasattr(row, "_asdict") else {} for row in value)
    numbers: dict[str, dict[str, Any]] = {}
    for query, document, number in ([row.get(name) for name in columns] for row in rows):
        if not isinstance(number, Real) or isnan(number):
            raise DataError(
                "query {query!r}: {number} of document {document!r} is no number",
                query=query,
                number=shorten(number),
                document=document,
            )
        of_query = numbers.setdefault(str(query), {})
        # A row that says the same once more is no mistake.
        if of_query.setdefault(str(document), number) != number:
            raise DataError(
                "query {query!r}: document {document!r} stands twice, with {number!r} and "
                "{of_query!r}; keep one",
                query=query,
                document=document,
                number=number,
                of_query=of_query[str(document)],
            )
    return numbers


def _of_ranx(value: Any) -> dict[str, dict[str, Any]]:
    return {str(query): dict(numbers) for query, numbers in value.to_dict().items()}


def _samples(value: Any) -> Any:
    """The entries of a data set of ragas or DeepEval; a list is its own."""
    for name in ("samples", "test_cases", "goldens"):
        if isinstance(entries := getattr(value, name, None), (list, tuple)) and entries:
            return [getattr(entry, "eval_sample", entry) for entry in entries]
    return value if isinstance(value, (list, tuple)) and value else [None]


def _records(value: Any, form: Format) -> list[dict[str, Any]]:
    """Samples as the rows of a format, whose fields they have as attributes."""
    rows = (
        {name: getattr(sample, name, None) for name in form.fields} for sample in _samples(value)
    )
    return [{name: entry for name, entry in row.items() if entry is not None} for row in rows]


def examples_gold(
    examples: Iterable[Any],
    name: str = "gold",
    *,
    question: str | None = None,
    gold: str | None = None,
    reference: str | None = None,
) -> GoldDataset:
    """Examples of LangSmith as a gold set; a query's id is its example's.

    Args:
        examples: have `id`, `inputs`, `outputs` and maybe `metadata`.
        name: the data set's.
        question: the key of the question, as of `kragx.adapters.langsmith.read_examples`.
        gold: the same of the gold.
        reference: the same of the answer.

    Raises:
        DataError: an example lacks a question or the gold.
    """
    queries = []
    for example in examples:
        location = f"dataset {name!r}, example {example.id}"
        inputs, outputs = example.inputs or {}, example.outputs or {}
        only = [*inputs] if question is None and len(inputs) == 1 else []
        text = first_named(inputs, [question] if question else [*_QUESTIONS, *only])
        if not isinstance(text, str):
            raise DataError(
                "no question among its inputs ({value})",
                path=location,
                remedy="name its key: question='...'",
                value=", ".join(inputs) or "none",
            )
        items = first_named(outputs, [gold] if gold else _PASSAGES)
        if items is None:
            raise DataError(
                "no gold among its outputs ({value})",
                path=location,
                remedy="name its key: gold='...'; an answer is no gold unless it is named",
                value=", ".join(outputs) or "none",
            )
        golds = items if isinstance(items, list) else [items]
        query = Query(
            str(example.id),
            text,
            gold=as_golds(golds, SurrogateRepair(), location),
            reference=None if reference is None else outputs.get(reference),
            metadata=dict(getattr(example, "metadata", None) or {}),
        )
        queries.append(query)
    return GoldDataset(tuple(queries), name=name)


def first_named(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    """What stands under the first of some names under which something does."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _rows_with(numbers: Sequence[str]) -> tuple[Callable[[Any], bool], Callable[[Any], object]]:
    return lambda value: bool(_columns(value, numbers)), lambda value: _numbers(value, numbers)


def _samples_with(*names: str) -> Callable[[Any], bool]:
    return lambda value: _has(_samples(value)[0], *names)


SHAPES = (
    Shape(
        "Queries",
        GOLD,
        lambda v: isinstance(v, (list, tuple)) and isinstance(next(iter(v), None), Query),
        lambda v: GoldDataset(tuple(v)),
    ),
    Shape("Qrels of ranx", GOLD, lambda v: _has(v, "qrels", *_RANX), _of_ranx),
    Shape("Runs of ranx", RESULTS, lambda v: _has(v, "run", *_RANX), _of_ranx),
    Shape("Qrels of ir_measures", GOLD, *_rows_with(_GRADES)),
    Shape("ScoredDocs of ir_measures", RESULTS, *_rows_with(_SCORES)),
    Shape("samples of ragas", BOTH, _samples_with("user_input"), partial(_records, form=RAGAS)),
    Shape(
        "test cases of DeepEval",
        BOTH,
        _samples_with("input", "retrieval_context"),
        partial(_records, form=DEEPEVAL),
    ),
    Shape(
        "examples of LangSmith",
        GOLD,
        _samples_with("inputs", "outputs", "dataset_id"),
        examples_gold,
    ),
)
"""In the order in which they are looked for."""
