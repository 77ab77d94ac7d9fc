"""Gold sets and results written as Parquet: a row a question with nested lists.

Each distinct text is held once in a row group, so chunks that many questions retrieve cost next to
nothing. Metadata, stages and history are JSON: their fields differ from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kragx.data.documents import Doc
from kragx.data.formats.jsonl import replacing, to_json
from kragx.data.formats.located import is_address, opened_to_write
from kragx.data.gold import Gold, Query
from kragx.data.runs import Retrieved
from kragx.data.stages import stage_records
from kragx.data.text import Mender
from kragx.errors import needing

if TYPE_CHECKING:
    import pyarrow as pa

GROUP = 4096
"""Questions of a row group, which is the least that a worker takes."""

_DICTIONARY = 256 << 20  # bytes; beyond it Parquet writes every text in full


def write_questions(
    questions: Iterable[tuple[Query, Retrieved | None]], path: str | Path, *, results: bool = True
) -> int:
    """Write questions, and what was retrieved for them, into a Parquet file.

    Args:
        questions: the questions, as a stream; a group of them is held at once.
        path: of the file, or its address; what stands there is replaced once all is written.
        results: whether to write what was retrieved.

    Returns:
        How many there were.

    Raises:
        MissingExtraError: pyarrow is not installed.
        UsageError: the file cannot be written.
    """
    with needing("parquet", "writing Parquet files"):
        from pyarrow import parquet
    stream, n = iter(questions), 0
    with _sink(path) as sink, parquet.ParquetWriter(sink, _schema(results), **OPTIONS) as file:
        while group := list(islice(stream, GROUP)):
            file.write_batch(_batch(group, results), row_group_size=GROUP)
            n += len(group)
    return n


OPTIONS: Mapping[str, Any] = {
    "compression": "zstd",
    "dictionary_pagesize_limit": _DICTIONARY,
    "store_schema": False,  # texts are texts to other tools, though here they are numbered
}
"""How kragx writes Parquet."""


@contextmanager
def _sink(path: str | Path) -> Iterator[Any]:
    if is_address(path):
        with opened_to_write(str(path)) as stream:
            yield stream
    else:
        with replacing(path) as place, place.open("wb") as file:
            yield file


def _batch(group: Sequence[tuple[Query, Retrieved | None]], results: bool) -> pa.RecordBatch:
    import pyarrow as pa

    queries = [query for query, _ in group]
    columns = {
        "query_id": _texts(query.id for query in queries),
        "query": _texts(query.text for query in queries),
        "gold": _lists([query.gold for query in queries], _golds),
        "query_type": _texts(query.query_type for query in queries),
        "expected_doc_types": _lists([query.expected_doc_types for query in queries], _texts),
        "answerable": pa.array([query.answerable for query in queries], pa.bool_()),
        "reference": _texts(query.reference for query in queries),
        "history": _texts(
            to_json([turn.to_dict() for turn in query.history]) if query.history else None
            for query in queries
        ),
        "metadata": _metadata(query.metadata for query in queries),
    }
    if results:
        answers = [answer or Retrieved() for _, answer in group]
        lists = [
            None if answer is None or answer.error is not None else answer.documents
            for _, answer in group
        ]
        columns |= {
            "retrieved": _lists(lists, _documents),
            "seconds": pa.array([answer.seconds for answer in answers], pa.float64()),
            "error": _texts(answer.error for answer in answers),
            "stages": _texts(map(_stages, answers)),
        }
    return pa.RecordBatch.from_pydict(columns)


def _stages(answer: Retrieved) -> str | None:
    records = stage_records(answer.stages, answer.documents)
    return to_json(records) if records else None


def _schema(results: bool) -> pa.Schema:
    return _batch([], results).schema


def _documents(docs: Iterable[Doc], **more: pa.Array) -> pa.StructArray:
    import pyarrow as pa

    docs = list(docs)
    columns = {
        "id": _texts(doc.id for doc in docs),
        "text": _texts(doc.text for doc in docs),
        "score": pa.array([doc.score for doc in docs], pa.float64()),
        "metadata": _metadata(doc.metadata for doc in docs),
    }
    return pa.StructArray.from_arrays([*columns.values()], [*columns])


def _golds(golds: Iterable[Gold]) -> pa.StructArray:
    import pyarrow as pa

    golds = list(golds)
    columns = {
        "id": _texts(gold.id for gold in golds),
        "text": _texts(gold.text for gold in golds),
        "grade": pa.array([gold.grade for gold in golds], pa.float64()),
        "alternatives": _lists([gold.alternatives for gold in golds], _documents),
        "metadata": _metadata(gold.metadata for gold in golds),
    }
    return pa.StructArray.from_arrays([*columns.values()], [*columns])


def _lists(
    lists: Sequence[Sequence[Any] | None], make: Callable[[Iterable[Any]], pa.Array]
) -> pa.ListArray:
    """A list for each row, null for None; `make` makes the array of all their elements."""
    import pyarrow as pa

    ends = np.cumsum([0, *(len(own or ()) for own in lists)]).tolist()
    offsets = [None if own is None else end for own, end in zip(lists, ends)]
    values = make(chain.from_iterable(own or () for own in lists))
    return pa.ListArray.from_arrays(pa.array([*offsets, ends[-1]], pa.int32()), values)


def _metadata(mappings: Iterable[Mapping[str, Any]]) -> pa.Array:
    return _texts(to_json(dict(own)) if own else None for own in mappings)


def _texts(texts: Iterable[str | None]) -> pa.DictionaryArray:
    """Texts, each distinct one once."""
    import pyarrow as pa

    numbers: dict[str | None, int] = {}
    of_row = [None if own is None else numbers.setdefault(own, len(numbers)) for own in texts]
    mend = Mender().mend
    values = pa.array([mend(own) for own in numbers if own is not None], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(of_row, pa.int32()), values)
