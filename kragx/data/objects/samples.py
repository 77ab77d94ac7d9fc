"""Questions with gold and what was retrieved, as ragas, DeepEval and LangSmith hold them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kragx.data.formats.format import Format
from kragx.data.formats.other_tools import DEEPEVAL, RAGAS
from kragx.data.gold import GoldDataset, Query, as_golds
from kragx.data.objects.shape import BOTH, Shape, first_of, has
from kragx.data.text import Mender
from kragx.errors import DataError

_QUESTIONS = ("question", "query", "input")
_GOLD = ("documents", "contexts", "context", "gold", "passages", "source_documents")


def _samples(value: Any) -> Any:
    """The entries of a data set of ragas or DeepEval; a list is its own."""
    for name in ("samples", "test_cases", "goldens"):
        if isinstance(entries := getattr(value, name, None), (list, tuple)) and entries:
            return [getattr(entry, "eval_sample", entry) for entry in entries]
    return value


def _rows(format: Format) -> Any:  # noqa: A002  # the word of the config
    """Reads samples as the rows of a format, whose fields they have as attributes."""

    def read(value: Any) -> list[dict[str, Any]]:
        return [
            {
                name: entry
                for name in format.fields
                if (entry := getattr(sample, name, None)) is not None
            }
            for sample in _samples(value)
        ]

    return read


def _have(*names: str) -> Any:
    return lambda value: has(first_of(_samples(value)), *names)


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
        key = _key(inputs, question, _QUESTIONS)
        if key is None and question is None and len(inputs) == 1:
            (key,) = inputs
        text = None if key is None else inputs[key]
        if not isinstance(text, str):
            raise DataError(
                f"no question among its inputs ({', '.join(inputs) or 'none'})",
                path=location,
                remedy="name its key: question='...'",
            )
        key = _key(outputs, gold, _GOLD)
        if key is None:
            raise DataError(
                f"no gold among its outputs ({', '.join(outputs) or 'none'})",
                path=location,
                remedy="name its key: gold='...'; an answer is no gold unless it is named",
            )
        items = outputs[key] if isinstance(outputs[key], list) else [outputs[key]]
        queries.append(
            Query(
                str(example.id),
                text,
                gold=as_golds(items, Mender(), location),
                reference=None if reference is None else outputs.get(reference),
                metadata=dict(getattr(example, "metadata", None) or {}),
            )
        )
    return GoldDataset(tuple(queries), name=name)


def _key(fields: Mapping[str, Any], name: str | None, usual: Sequence[str]) -> str | None:
    """The key that was named, or the first usual one under which something stands."""
    keys = usual if name is None else (name,)
    return next((key for key in keys if fields.get(key) is not None), None)


SAMPLES = (
    Shape("samples of ragas", BOTH, _have("user_input"), _rows(RAGAS)),
    Shape("test cases of DeepEval", BOTH, _have("input", "retrieval_context"), _rows(DEEPEVAL)),
    Shape(
        "examples of LangSmith",
        frozenset({"gold"}),
        lambda value: has(first_of(value), "inputs", "outputs", "dataset_id"),
        examples_gold,
    ),
)
