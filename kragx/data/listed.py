"""Lists of documents in Python beside the gold set that they are for, in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kragx.data.block import Block, Entries, Row, in_rows
from kragx.data.columns import columns, unmended
from kragx.data.gold import Gold, GoldDataset, Query
from kragx.data.known import known_texts
from kragx.data.lists import Lists

_AT_ONCE = 1 << 10
"""Questions of a block: enough for numpy's calls to take no time beside the work."""


@dataclass(frozen=True, eq=False)
class Listed:
    """The questions of a gold set, and what was retrieved for each; nothing reads its metadata.

    Attributes:
        queries: the questions.
        texts: of all documents, one question after the other.
        ids: theirs; None where none has one.
        scores: theirs; None where none has one.
        ends: behind which document each question's list ends.
    """

    queries: Sequence[Query]
    texts: Sequence[str]
    ids: Sequence[str | None] | None
    scores: Sequence[float | None] | None
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, dataset: GoldDataset, lists: Any) -> Listed | None:
        """A list of plain documents (`columns`) for each question; None of anything else.

        All documents and gold items have texts, and no gold item has alternatives.

        Args:
            dataset: the gold set.
            lists: in its order, or by query id.
        """
        if type(lists) is dict and lists.keys() == {query.id for query in dataset}:
            lists = [lists[query.id] for query in dataset]
        if type(lists) not in (list, tuple) or len(lists) != len(dataset):
            return None
        golds = chain.from_iterable([query.gold for query in dataset])
        if not ({*map(type, lists)} <= {list, tuple} and all(map(_is_plain, golds))):
            return None
        documents = [*chain.from_iterable(lists)]
        plain = columns(documents, "score", strings=True, keep=unmended, metadata=False)
        if plain is None or plain.texts is None:
            return None
        ends = np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)))
        return cls(dataset.queries, plain.texts, plain.ids, plain.numbers, ends)

    def __iter__(self) -> Iterator[Row]:
        return in_rows(self.blocks())

    def blocks(self) -> Iterator[Block]:
        """The questions in blocks."""
        first = 0
        for start in range(0, len(self.queries), _AT_ONCE):
            known = known_texts()
            known.make_room()
            queries = self.queries[start : start + _AT_ONCE]
            ends = self.ends[start : start + _AT_ONCE]
            golds = [*chain.from_iterable([query.gold for query in queries])]
            docs = slice(first, first := int(ends[-1]))
            of_golds = known.numbers([gold.text or "" for gold in golds])
            of_docs = known.numbers(self.texts[docs])
            yield Block(
                lines=[None] * len(queries),
                query_ids=[query.id for query in queries],
                questions=[query.text for query in queries],
                golds=Entries(
                    Lists(
                        known.texts,
                        np.array(of_golds, np.int64),
                        np.array([len(query.gold) for query in queries], np.int64),
                    ),
                    numbers=[gold.grade for gold in golds],
                ),
                docs=Entries(
                    Lists(
                        known.texts,
                        np.array(of_docs, np.int64),
                        np.diff(ends, prepend=docs.start),
                    ),
                    None if self.ids is None else self.ids[docs],
                    None if self.scores is None else self.scores[docs],
                ),
                answered=[True] * len(queries),
                seconds=[None] * len(queries),
                more={"answerable": [query.answerable for query in queries]},
                made=queries,
            )


def _is_plain(gold: Gold) -> bool:
    return gold.text is not None and not gold.alternatives
