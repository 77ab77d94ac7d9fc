"""Ids of millions of questions: letters in a row, and a string only of what is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow


class Ids(Sequence[str]):
    """Query ids as a column of pyarrow's: ten million take what their letters take.

    As plain values they are no ids at all: so many are counted, not listed.
    """

    def __init__(self, column: pyarrow.Array | pyarrow.ChunkedArray) -> None:
        import pyarrow

        whole = column if isinstance(column, pyarrow.Array) else column.combine_chunks()
        self._column: Any = whole.cast(pyarrow.large_string())

    @classmethod
    def of(cls, ids: Iterable[str]) -> Ids:
        """Of texts."""
        import pyarrow

        return cls(pyarrow.array(list(ids), pyarrow.large_string()))

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> Ids: ...

    def __getitem__(self, row: int | slice) -> str | Ids:
        cell = self._column[row]
        return Ids(cell) if isinstance(row, slice) else cell.as_py()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), 1 << 16):
            yield from self._column.slice(start, 1 << 16).to_pylist()

    def __contains__(self, query_id: object) -> bool:
        return isinstance(query_id, str) and self._column.index(query_id).as_py() >= 0

    def __eq__(self, value: object) -> bool:
        if isinstance(value, Ids):
            return bool(self._column.equals(value._column))
        return isinstance(value, Sequence) and tuple(self) == tuple(value)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it may be very long

    def taken(self, rows: NDArray[np.intp]) -> Ids:
        """Those of some rows."""
        return Ids(self._column.take(rows))

    def rows_in(self, ids: Ids) -> NDArray[np.intp]:
        """(n) where each of them stands in the other, -1 where it does not."""
        import pyarrow
        from pyarrow import compute

        rows = compute.index_in(self._column, value_set=ids._column)
        return rows.cast(pyarrow.int64()).fill_null(-1).to_numpy().astype(np.intp)  # type: ignore[no-any-return]

    def to_dict(self) -> list[str]:
        """Nothing: so many are not listed."""
        return []
