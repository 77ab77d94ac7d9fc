"""Values of retrievers side by side: queries joined by id, each column taken when it is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kragx.comparison.statistics import Rows
from kragx.data import Ids
from kragx.metrics import Floats


@dataclass(frozen=True)
class Columns(Mapping[tuple[str, str], Floats]):
    """For each metric and retriever (q) the values of the queries that are compared.

    None is kept: of ten million queries one takes 80 MB.

    Attributes:
        sources: for each metric and retriever the values of its queries by metric, and which rows
            of these; None for all of them as they are.
    """

    sources: Mapping[tuple[str, str], tuple[Mapping[str, Floats], Rows | None]]

    def __getitem__(self, column: tuple[str, str]) -> Floats:
        values, rows = self.sources[column]
        return values[column[0]] if rows is None else values[column[0]][rows]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)

    def without(self, retrievers: Collection[str]) -> Columns:
        """The columns of the others."""
        kept = {key: source for key, source in self.sources.items() if key[1] not in retrievers}
        return Columns(kept)

    def of_rows(self, rows: Rows) -> Columns:
        """The same of some of the queries."""
        return Columns(
            {
                key: (values, rows if before is None else before[rows])
                for key, (values, before) in self.sources.items()
            }
        )


def joined(
    ids: Sequence[Sequence[str]], out: Collection[str] = ()
) -> tuple[Sequence[str], list[Rows | None]]:
    """The ids that all have, in the order of the first, and where they stand in each.

    Args:
        ids: the query ids of each retriever.
        out: ids that are left out.

    Returns:
        The ids, and for each retriever their rows; None where they are its own as they are.
    """
    first, *others = ids
    if not out and all(map(partial(_same, first), others)):
        return first, [None] * len(ids)
    if any(isinstance(column, Ids) for column in ids):
        start, *rest = map(_many, ids)
        shared = np.ones(len(start), bool)
        for column in rest:
            shared &= start.rows_in(column) >= 0
        if out:
            shared &= start.rows_in(Ids.of(out)) < 0
        query_ids: Sequence[str] = start.taken(np.flatnonzero(shared))
    else:
        both = set(first).intersection(*others).difference(out)
        query_ids = tuple(query_id for query_id in first if query_id in both)
    return query_ids, [rows_of(query_ids, column) for column in ids]


def rows_of(ids: Sequence[str], others: Sequence[str]) -> Rows | None:
    """Where some ids stand among others, each of which does; None where they are these."""
    if _same(ids, others):
        return None
    if isinstance(ids, Ids) or isinstance(others, Ids):
        return _many(ids).rows_in(_many(others))
    row_of = {query_id: row for row, query_id in enumerate(others)}
    return np.array([row_of[query_id] for query_id in ids], np.intp)


def same_ids(ids: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two have the same ids, in whatever order."""
    if _same(ids, others):
        return True
    if len(ids) != len(others):
        return False
    if isinstance(ids, Ids) or isinstance(others, Ids):
        return bool((_many(ids).rows_in(_many(others)) >= 0).all())
    return set(ids) == set(others)


def _same(ids: Sequence[str], others: Sequence[str]) -> bool:
    return ids is others or (len(ids) == len(others) and ids == others)


def _many(ids: Sequence[str]) -> Ids:
    """Ids of which no Python objects are made."""
    return ids if isinstance(ids, Ids) else Ids.of(ids)


def taken(ids: Sequence[str], rows: Rows) -> Sequence[str]:
    """The ids of some rows."""
    if isinstance(ids, Ids):
        return ids.taken(rows)
    return tuple(map(ids.__getitem__, rows.tolist()))
