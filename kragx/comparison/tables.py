"""Values per question in files, as `kragx score --out` writes them.

A table is a Parquet file, a row a question: ``query_id``, fields to slice by, and a column for each
metric by its canonical name; `kragx.evaluation` writes them. Several follow one another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kragx.comparison.columns import rows_of
from kragx.comparison.slices import grouped, no_value, ordered
from kragx.data import normalise
from kragx.errors import DataError
from kragx.metrics import Floats


@dataclass(frozen=True)
class Tables:
    """Tables of one retriever under one matcher, in the order of their questions.

    Attributes:
        paths: the files.
    """

    paths: tuple[Path, ...]

    @cached_property
    def _files(self) -> list[Any]:
        return [_opened(path) for path in self.paths]

    @cached_property
    def names(self) -> list[str]:
        """The columns; a field that no question of a table has may be missing there."""
        schemas = (file.schema_arrow for file in self._files)
        return list(dict.fromkeys(name for schema in schemas for name in schema.names))

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """The ids of all questions."""
        return tuple(self._column("query_id").to_pylist())

    def _column(self, name: str) -> Any:
        """A column of all files, as pyarrow has it; null in a file that lacks it."""
        import pyarrow

        parts = [file.read(columns=[name]) for file in self._files]
        return pyarrow.concat_tables(
            # One without columns forgets how many rows it has.
            (
                part if part.num_columns else pyarrow.table({name: pyarrow.nulls(len_)})
                for part, len_ in zip(parts, (file.metadata.num_rows for file in self._files))
            ),
            promote_options="default",
        )[name]

    def values(self, name: str) -> Floats:
        """(q) a metric's values; NaN where a question has none.

        Raises:
            DataError: a table lacks the metric.
        """
        for path, file in zip(self.paths, self._files):
            if name not in file.schema_arrow.names:
                raise DataError(f"has no column {name!r}; score it anew", path=str(path))
        return self._column(name).to_numpy()  # type: ignore[no-any-return]  # null becomes NaN

    def sliced(
        self, query_ids: Sequence[str], fields: Iterable[str]
    ) -> Iterator[tuple[str, str | None, list[int]]]:
        """The groups of some of the questions by each field, as `slices.sliced`.

        Raises:
            UsageError: no question has a value of a field, or a field has too many.
        """
        rows = rows_of(query_ids, self.query_ids)
        for name in dict.fromkeys(fields):
            groups: dict[str | None, list[int]] = {}
            known = [column for column in (name, f"metadata.{name}") if column in self.names]
            if known:
                column = self._column(known[0])
                entries = (column if rows is None else column.take(rows)).to_pylist()
                groups = grouped(map(_texts, entries))
            if set(groups) <= {None}:
                raise no_value(name, [column for column in self.names if _is_field(column)])
            yield from ordered(name, groups)


def _opened(path: Path) -> Any:
    from pyarrow import ArrowException, parquet

    try:
        return parquet.ParquetFile(path)
    except (OSError, ArrowException) as error:
        raise DataError(f"cannot be read as Parquet: {error}", path=str(path)) from None


def _texts(entry: str | list[str] | None) -> list[str | None]:
    """The values of a field that a question has, each once; [None] for none."""
    entries = entry if isinstance(entry, list) else [entry]
    texts = dict.fromkeys(normalise(text) for text in entries if text is not None)
    return list(filter(None, texts)) or [None]


def _is_field(column: str) -> bool:
    """Whether a column is one to slice by, and neither a metric nor what became of a question."""
    return column == "query_type" or column.startswith("metadata.")
