"""Values of retrievers side by side: queries joined by id."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from kragx.comparison.statistics import Rows


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
    first, *columns = ids
    # As a rule all have the same questions in one order, and no set of millions of ids is made.
    if out or not all(first == column for column in columns):
        shared = set(first).intersection(*columns).difference(out)
        first = tuple(query_id for query_id in first if query_id in shared)
    return first, [rows_of(first, column) for column in ids]


def rows_of(ids: Sequence[str], target: Sequence[str]) -> Rows | None:
    """Where some ids stand among others, each of which does; None where they are these."""
    # None instead of all rows: values are then used as they are, without a copy.
    if ids == target:
        return None
    row_of = {query_id: row for row, query_id in enumerate(target)}
    return np.array([row_of[query_id] for query_id in ids], np.intp)


def ids_at(ids: Sequence[str], rows: Rows) -> Sequence[str]:
    """The ids of some rows."""
    return tuple(map(ids.__getitem__, rows.tolist()))
