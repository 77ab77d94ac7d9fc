"""Rules over the metadata of a batch: each evaluated once for whatever values are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kragx.data import value_at
from kragx.data.batch import Batch
from kragx.data.corpus import Corpus
from kragx.data.rules import UNKNOWN, Condition, Rule, compared, distinct_key
from kragx.data.stretches import distinct
from kragx.errors import DataError
from kragx.metrics import Bools, Ints

Truths = NDArray[np.int8]

_HASHED = {str, NoneType}


@dataclass(frozen=True)
class Column:
    """Values by number: the distinct ones, and which of them each entry has."""

    values: Sequence[Any]
    numbers: Ints

    @property
    def n_none(self) -> int:
        """How many entries have no value."""
        is_none = np.array([value is None for value in self.values], bool)
        return int(is_none[self.numbers].sum())

    @classmethod
    def of(cls, values: Sequence[Any]) -> Column:
        """That of some values."""
        # Of texts each is its own key; 1 and true would be one.
        if not {*map(type, values)} <= _HASHED:
            values = [*map(compared, values)]
        keys = values if {*map(type, values)} <= _HASHED else [*map(distinct_key, values)]
        by_key: dict[Any, int] = {}
        numbers = [by_key.setdefault(key, len(by_key)) for key in keys]
        first: dict[int, Any] = {}
        for number, value in zip(numbers, values) if keys is not values else ():
            first.setdefault(number, value)
        return cls([*first.values()] or [*by_key], np.array(numbers, np.int64))


Place = tuple[str, str, bool]
"""A rule, a path that it asks for, and whether it is one of the question's metadata."""


class Ruling:
    """What rules say of the documents of a batch.

    Args:
        batch: the questions with their documents.
        doc_ids: the ids of the documents, by which a corpus has metadata that these lack.
        corpus: has them.
        zone: of dates and times that say none.
    """

    def __init__(
        self,
        batch: Batch,
        doc_ids: Callable[[], Sequence[str | None]],
        corpus: Corpus,
        zone: tzinfo | None,
    ) -> None:
        self._batch, self._doc_ids, self._corpus, self._zone = batch, doc_ids, corpus, zone
        self._query = batch.docs.texts.of_text
        self._of_docs: dict[str, Column] = {}
        self._of_queries: dict[str, Column] = {}

    def of_rule(self, rule: Rule) -> tuple[Truths, Bools]:
        """(d) what a rule says of each document, and (q) whether it has values of the question."""
        truths: Truths | None = None
        for condition in rule.conditions:
            further = self._of_condition(rule.name, condition)
            if truths is None:
                truths = further
                continue
            is_false = (truths == 0) | (further == 0)
            is_unknown = (truths == UNKNOWN) | (further == UNKNOWN)
            truths = np.where(is_false, 0, np.where(is_unknown, UNKNOWN, 1)).astype(np.int8)
        assert truths is not None  # a rule has conditions
        truths = np.where(self._is_blank, UNKNOWN, truths).astype(np.int8)
        could = np.ones(len(self._batch), bool)
        for path in rule.query_paths:
            column = self._of_query(path)
            is_there = np.array([value is not None for value in column.values], bool)
            could &= is_there[column.numbers]
        return truths, could

    def lacking(self, rule: Rule) -> Iterator[tuple[Place, int, int]]:
        """Of each field that a rule asks for, how many questions, or documents, lack it, of all."""
        for path in rule.query_paths:
            column = self._of_query(path)
            yield (rule.name, path, True), column.n_none, len(column.numbers)
        for path in dict.fromkeys(condition.path for condition in rule.conditions):
            column = self._of_doc(path)
            yield (rule.name, path, False), column.n_none, len(column.numbers)

    @cached_property
    def _is_blank(self) -> Bools:
        """(d) the documents of which no metadata are known at all: nobody knows what they lack."""
        n, docs = len(self._query), self._corpus.docs
        metadata = self._batch.docs.metadata or [None] * n
        names = self._doc_ids() if docs else [None] * n
        blank = (not about and name not in docs for about, name in zip(metadata, names))
        return np.fromiter(blank, bool, n)

    def _of_condition(self, rule: str, condition: Condition) -> Truths:
        docs = self._of_doc(condition.path)
        if condition.query_path is None:
            operands, of_doc = [condition.operand], np.zeros(len(docs.numbers), np.int64)
        else:
            column = self._of_query(condition.query_path)
            operands, of_doc = [*column.values], column.numbers[self._query]
        pairs = docs.numbers * len(operands) + of_doc
        kinds = distinct(pairs)
        truths = np.zeros(len(kinds), np.int8)
        for place, pair in enumerate(kinds.tolist()):
            value, operand = docs.values[pair // len(operands)], operands[pair % len(operands)]
            try:
                truths[place] = condition.holds(value, operand, self._zone)
            except DataError as error:
                row = int((pairs == pair).argmax())
                raise error.within(f"{rule}.{condition.path}", path=self._place(row)) from None
        of_pairs: Truths = truths[np.searchsorted(kinds, pairs)]
        return of_pairs

    def _place(self, row: int) -> str:
        query = int(self._query[row])
        rank = row - int(self._batch.docs.texts.starts[query]) + 1
        return f"query {self._batch.query_ids[query]!r}, rank {rank} ({self._doc_ids()[row]!r})"

    def _of_query(self, path: str) -> Column:
        if path not in self._of_queries:
            values = [value_at(metadata, path) for metadata in self._batch.metadata]
            self._of_queries[path] = Column.of(values)
        return self._of_queries[path]

    def _of_doc(self, path: str) -> Column:
        if path not in self._of_docs:
            self._of_docs[path] = Column.of(self.values(path))
        return self._of_docs[path]

    def values(self, path: str) -> list[Any]:
        """(d) the value of each document at a path; the corpus's where it has none itself."""
        n, key = len(self._query), path.removeprefix("metadata.")
        metadata = self._batch.docs.metadata
        if metadata is None:
            values: list[Any] = [None] * n
        elif "." in key:
            values = [value_at(about, path) if about else None for about in metadata]
        else:
            values = [about.get(key) if about else None for about in metadata]
        if self._corpus.source is None or None not in values:
            return values
        return [
            self._in_corpus(doc_id, path) if value is None else value
            for value, doc_id in zip(values, self._doc_ids())
        ]

    def _in_corpus(self, doc_id: str | None, path: str) -> Any:
        doc = self._corpus.docs.get(doc_id or "")
        return None if doc is None else value_at(doc.metadata, path)
