"""Values of retrievers side by side: queries joined by id."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kragx.comparison.statistics import Rows
from kragx.metrics import Bools, Floats
from kragx.metrics.intervals import Interval, Ratio

if TYPE_CHECKING:
    from kragx.comparison.scores import RetrieverScores


@dataclass(frozen=True)
class Column:
    """What one retriever scored in one metric, query by query.

    Attributes:
        values: (q); NaN where there is none.
        doubt: how far missing judgements may put the sum of all values lower, and higher.
        n_open: of how many queries it is not known, though one has a value, at most.
        bounds: between which values the mean lies where some are not known; None of a part of the
            queries, of which that is not kept.
        ratio: of a metric that is a sum over a sum what each query adds, where that is known.
    """

    values: Floats
    doubt: Interval = (0.0, 0.0)
    n_open: int = 0
    bounds: Interval | None = None
    ratio: Ratio | None = None

    @classmethod
    def of(cls, score: RetrieverScores, metric: str, rows: Rows | None) -> Column:
        """Of some queries of a retriever; None for all."""
        values, ratio = score.values[metric], score.ratios.get(metric)
        values = values if rows is None else values[rows]
        n_open = min(score.n_open(metric), int(np.isnan(values).sum()))
        bounds = score.bounds.get(metric) if len(values) == len(score.query_ids) else None
        return cls(values, score.doubt(metric), n_open, bounds, ratio and ratio.rows(rows))

    def rows(self, rows: Rows) -> Column:
        """Of some of its queries, of which no more can be open than have no value."""
        values = self.values[rows]
        n_open = min(self.n_open, int(np.isnan(values).sum()))
        return Column(values, self.doubt, n_open, None, self.ratio and self.ratio.rows(rows))

    @property
    def present(self) -> Bools:
        """(q) which queries have a value."""
        return ~np.isnan(self.values)


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
