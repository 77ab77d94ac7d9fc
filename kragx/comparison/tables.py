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
from kragx.comparison.slices import by_field
from kragx.comparison.statistics.weighted import of_rows
from kragx.data import normalise
from kragx.ground.errors import DataError
from kragx.metrics import Floats


@dataclass(frozen=True)
class Tables:
    """Tables of one retriever under one matcher, in the order of their questions.

    Attributes:
        paths: the files.
    """

    paths: tuple[Path, ...]

    @cached_property
    def _parts(self) -> list[Any]:
        return [*map(_read, self.paths)]

    @cached_property
    def _whole(self) -> Any:
        import pyarrow

        # A field that no question of a table has may be missing there: it is null.
        return pyarrow.concat_tables(self._parts, promote_options="default")

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """The ids of all questions."""
        return tuple(self._whole["query_id"].to_pylist())

    def values(self, name: str) -> Floats:
        """(q) a metric's values; NaN where a question has none.

        Raises:
            DataError: a table lacks the metric.
        """
        for path, table in zip(self.paths, self._parts):
            if name not in table.column_names:
                raise DataError(f"has no column {name!r}; score it anew", path=str(path))
        return self._whole[name].to_numpy()  # type: ignore[no-any-return]  # null becomes NaN

    @property
    def weights(self) -> Floats | None:
        """(q) the column ``weight``; None without one, and where all are alike."""
        if "weight" not in self._whole.column_names:
            return None
        return of_rows(self._whole["weight"].to_numpy(), None)

    def sliced(
        self, query_ids: Sequence[str], fields: Iterable[str]
    ) -> Iterator[tuple[str, str | None, list[int]]]:
        """The groups of some of the questions by each field, as `slices.sliced`.

        Raises:
            UsageError: no question has a value of a field, or a field has too many.
        """
        # Groups are taken column by column: questions as objects would be millions of them.
        rows, names = rows_of(query_ids, self.query_ids), self._whole.column_names

        def values_of(field: str) -> Iterable[Iterable[str | None]]:
            columns = [self._whole[name] for name in (field, f"metadata.{field}") if name in names]
            if not columns:
                return ()
            column = columns[0] if rows is None else columns[0].take(rows)
            return map(_texts, column.to_pylist())

        return by_field(fields, values_of, lambda: [*filter(_is_field, names)])


def _read(path: Path) -> Any:
    from pyarrow import ArrowException, parquet

    try:
        return parquet.read_table(path)
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
