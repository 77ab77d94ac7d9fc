"""Rules over the metadata of a batch: each evaluated once for whatever values are the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import repeat
from typing import Any, Self

import numpy as np

from kragx.data import value_at
from kragx.data.rules import UNKNOWN, Condition, Rule, compared, distinct_key
from kragx.errors import DataError
from kragx.evaluation.forbidden.documents import Documents
from kragx.metrics import Bools, Ints

Place = tuple[str, str, bool]
"""A rule, a path that it asks for, and whether it is one of the question's metadata."""

_Values = Sequence[tuple[Any, Any]]
"""Values, each behind what tells it from all that a rule may tell from it."""

RANKS = np.array([0, 2, 1], np.int8)
"""The rank of 0, 1 and -1: true outweighs all else in an or, and false does in an and."""


@dataclass(frozen=True)
class Ruled:
    """What a rule says of a batch.

    Attributes:
        ranks: (d) of each document, as `RANKS`.
        could: (q) of which questions it has all values that it asks for.
        lacking: of each field that it asks for, how many questions, or documents, lack it, and how
            many there are.
    """

    ranks: Ints
    could: Bools
    lacking: Mapping[Place, tuple[int, int]]

    @classmethod
    def by(cls, rule: Rule, docs: Documents, zone: tzinfo | None) -> Self:
        """That of a rule; `zone` is of dates and times that say none.

        Raises:
            DataError: a time has no zone.
        """
        metadata = docs.batch.metadata
        of_queries = {
            path: _keyed(value_at(about, path) for about in metadata) for path in rule.query_paths
        }
        of_docs = {part.path: _keyed(docs.values(part.path)) for part in rule.conditions}
        ranks = []
        for part in rule.conditions:
            operands: Iterable[tuple[Any, Any]] = repeat((None, part.operand))
            if part.query_path is not None:
                operands = map(of_queries[part.query_path].__getitem__, docs.queries)
            pairs = zip(of_docs[part.path], operands)
            ranks.append(RANKS[[*_truths(rule, part, pairs, docs, zone)]])
        # Of documents of which no metadata are known at all nobody knows what they lack.
        known = docs.corpus.docs
        names = docs.ids if known else repeat(None)
        blank = [not about and name not in known for about, name in zip(docs.metadata, names)]
        could = np.ones(len(docs.batch), bool)
        for values in of_queries.values():
            could &= np.array([value is not None for _, value in values], bool)
        return cls(
            np.where(np.array(blank, bool), RANKS[UNKNOWN], np.minimum.reduce(ranks)),
            could,
            {
                (rule.name, path, columns is of_queries): (_n_none(values), len(values))
                for columns in (of_queries, of_docs)
                for path, values in columns.items()
            },
        )


def _truths(
    rule: Rule,
    condition: Condition,
    pairs: Iterable[tuple[tuple[Any, Any], tuple[Any, Any]]],
    docs: Documents,
    zone: tzinfo | None,
) -> Iterator[int]:
    """What a condition says of each document's value and its operand."""
    truths: dict[tuple[Any, Any], int] = {}
    for row, ((key, value), (operand_key, operand)) in enumerate(pairs):
        pair = key, operand_key
        if pair not in truths:
            try:
                truths[pair] = condition.holds(value, operand, zone)
            except DataError as error:
                place = f"{rule.name}.{condition.path}"
                raise error.within(place, path=docs.where(row)) from None
        yield truths[pair]


def _keyed(values: Iterable[Any]) -> _Values:
    return [(distinct_key(value), value) for value in map(compared, values)]


def _n_none(values: _Values) -> int:
    return sum(value is None for _, value in values)
