"""Values per question in files: of millions of questions a column is read when it is looked at.

A table is a Parquet file, a row a question: ``query_id``, fields to slice by, and a column for each
metric by its canonical name; `kragx.evaluation` writes them. Several follow one another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kragx.comparison.columns import rows_of
from kragx.comparison.slices import no_value, ordered
from kragx.comparison.statistics import Rows
from kragx.data import Ids, normalise
from kragx.errors import DataError
from kragx.metrics import Floats

QUERY_ID = "query_id"


@dataclass(frozen=True)
class Tables:
    """Tables of one retriever under one matcher, in the order of their questions.

    Attributes:
        paths: the files.
    """

    paths: tuple[Path, ...]

    @cached_property
    def lengths(self) -> list[int]:
        """How many questions each has."""
        return [self._file(path).metadata.num_rows for path in self.paths]

    @cached_property
    def names(self) -> list[str]:
        """The columns; a field that no question of a table has may be missing there."""
        schemas = (self._file(path).schema_arrow for path in self.paths)
        return list(dict.fromkeys(name for schema in schemas for name in schema.names))

    @cached_property
    def query_ids(self) -> Ids:
        """The ids of all questions."""
        return Ids(self.column(QUERY_ID))

    def column(self, name: str) -> Any:
        """A column of all files, as pyarrow has it; null in a file that lacks it."""
        import pyarrow

        files = list(map(self._file, self.paths))
        kind = next(
            own.schema_arrow.field(name).type for own in files if name in own.schema_arrow.names
        )
        parts = [
            file.read(columns=[name]).column(0)
            if name in file.schema_arrow.names
            else pyarrow.nulls(file.metadata.num_rows, kind)
            for file in files
        ]
        chunks = (part.chunks if hasattr(part, "chunks") else [part] for part in parts)
        return pyarrow.chunked_array([chunk for own in chunks for chunk in own], kind)

    def values(self, name: str) -> Floats:
        """(q) a metric's values; NaN where a question has none.

        Raises:
            DataError: a table lacks the metric.
        """
        values = np.empty(sum(self.lengths))
        ends = np.cumsum([0, *self.lengths])
        for path, (start, stop) in zip(self.paths, pairwise(ends.tolist())):
            table = self._file(path).read(columns=[name])
            if not table.num_columns:
                raise DataError(f"has no column {name!r}; score it anew", path=str(path))
            values[start:stop] = table.column(0).to_numpy()  # null becomes NaN
        return values

    def groups(self, name: str) -> dict[str | None, Rows]:
        """The values of a field as text, each with the rows of its questions; None for no value.

        A list puts a question into several groups.
        """
        import pyarrow
        from pyarrow import compute

        column = self.column(name).combine_chunks()
        rows = np.arange(len(column))
        if pyarrow.types.is_list(column.type) or pyarrow.types.is_large_list(column.type):
            empty = compute.fill_null(compute.equal(compute.list_value_length(column), 0), True)
            bare = np.flatnonzero(empty.to_numpy(zero_copy_only=False))
            rows = compute.list_parent_indices(column).to_numpy()
            column = compute.list_flatten(column)
        else:
            bare = np.empty(0, np.intp)
        encoded = compute.cast(column, pyarrow.string()).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy()
        texts = [normalise(text) or None for text in encoded.dictionary.to_pylist()]
        groups: dict[str | None, list[Rows]] = {None: [bare, rows[codes == -1]]}
        for code, text in enumerate(texts):
            groups.setdefault(text, []).append(rows[codes == code])
        united = {text: np.unique(np.concatenate(parts)) for text, parts in groups.items()}
        return {text: own for text, own in united.items() if own.size}

    def sliced(
        self, query_ids: Sequence[str], fields: Iterable[str]
    ) -> Iterator[tuple[str, str | None, Rows]]:
        """The groups of some of the questions by each field, as `slices.sliced`.

        Raises:
            UsageError: no question has a value of a field, or a field has too many.
        """
        rows = rows_of(query_ids, self.query_ids)
        place = np.full(len(self.query_ids), -1)
        place[slice(None) if rows is None else rows] = np.arange(len(query_ids))
        for name in dict.fromkeys(fields):
            known = [own for own in (name, f"metadata.{name}") if own in self.names]
            groups = {
                value: found[found >= 0]
                for value, own in (self.groups(known[0]) if known else {}).items()
                for found in [place[own]]
            }
            if {value for value, group in groups.items() if len(group)} <= {None}:
                raise no_value(name, [field for field in self.names if _is_field(field)])
            yield from ordered(name, {value: rows for value, rows in groups.items() if len(rows)})

    @staticmethod
    def _file(path: Path) -> Any:
        from pyarrow import ArrowException, parquet

        try:
            return parquet.ParquetFile(path)
        except (OSError, ArrowException) as error:
            raise DataError(f"cannot be read as Parquet: {error}", path=str(path)) from None


def _is_field(column: str) -> bool:
    """Whether a column is one to slice by, and neither a metric nor what became of a question."""
    return column == "query_type" or column.startswith("metadata.")


@dataclass(frozen=True)
class TableValues(Mapping[str, Floats]):
    """For each metric (q) the values; the latest one is kept."""

    tables: Tables
    metrics: Sequence[str]
    _latest: dict[str, Floats] = field(default_factory=dict, compare=False, repr=False)

    def __getitem__(self, metric: str) -> Floats:
        if metric not in self.metrics:
            raise KeyError(metric)
        if metric not in self._latest:
            self._latest.clear()
            self._latest[metric] = self.tables.values(metric)
        return self._latest[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)
