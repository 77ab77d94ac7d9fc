"""Older and newer versions of documents: which older one stands above all that succeed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kragx.data.corpus import Corpus
from kragx.data.forbidden import SUPERSEDED_BY, check_cycle
from kragx.errors import inside
from kragx.evaluation.forbidden.documents import Documents, ItemMatches, as_id
from kragx.metrics import Bools

Told = Mapping[int, Sequence[tuple[str, bool]]]
"""By older document what succeeds it, and whether nobody knows that it is that document."""


def versions_of(
    docs: Documents, matched: ItemMatches, *, reads_metadata: bool
) -> tuple[NDArray[np.int8], Bools, Bools, Bools]:
    """The versions among the documents of a batch, as of `ForbiddenMarks`.

    Args:
        docs: the documents.
        matched: what is forbidden, some of which names what has taken its place.
        reads_metadata: whether documents say themselves what has taken their place.

    Returns:
        (d) which are stale, and (q) which questions have versions, of which of them that is open,
        and of which if no retrieved id is named anywhere.

    Raises:
        DataError: documents take each other's place in a circle.
    """
    newer = [item.superseded_by for item in matched.items]
    masks = versions, is_open, by_id = np.zeros((3, len(docs.batch)), bool)
    for mask, numbers in zip(masks, (range(len(newer)), matched.lost, matched.by_id)):
        mask[[matched.queries[number] for number in numbers if newer[number] is not None]] = True
    of_docs: list[str | None] = []
    if reads_metadata or versions.any():
        of_docs = [*map(as_id, docs.values(SUPERSEDED_BY))]
    told: dict[int, list[tuple[str, bool]]] = {}
    declared = [(row, newer[number], truth < 0) for row, number, truth in matched.pairs]
    if reads_metadata:
        declared += [(row, name, False) for row, name in enumerate(of_docs)]
    for row, name, may_be in declared:
        if name is not None:
            told.setdefault(row, []).append((name, may_be))
    stale = np.zeros(len(docs), np.int8)
    for query in dict.fromkeys(docs.queries[row] for row in sorted(told)):
        versions[query] = True
        with inside(path=f"query {docs.batch.query_ids[query]!r}"):
            _mark(stale, docs, query, told, _newer(docs, query, of_docs))
    return stale, versions, is_open, by_id


def _newer(docs: Documents, query: int, of_docs: Sequence[str | None]) -> dict[str, str]:
    """What has taken whose place, as items and documents of a question say."""
    newer: dict[str, str] = {}
    lists = docs.batch.forbidden
    for item in (lists[query] or ()) if lists else ():
        if item.superseded_by is not None:
            names = filter(None, (item.id, item.source))
            newer |= dict.fromkeys(names, item.superseded_by)
    for row in docs.rows(query) if of_docs else ():
        if (name := of_docs[row]) is not None:
            newer |= dict.fromkeys(docs.names(row), name)
    return newer


def _mark(
    stale: NDArray[np.int8], docs: Documents, query: int, told: Told, newer: dict[str, str]
) -> None:
    """Mark the older documents of a question above which none of their successors stands."""
    above = set[str]()
    is_nameless = False
    for row in docs.rows(query):
        if direct := told.get(row):
            chains = (_successors(name, newer, docs.corpus) for name, _ in direct)
            if above.isdisjoint({*chain.from_iterable(chains)}):
                may_be = all(may_be for _, may_be in direct)
                stale[row] = -1 if may_be or is_nameless else 1
        above |= docs.names(row)
        is_nameless = is_nameless or docs.ids[row] is None


def _successors(name: str, newer: dict[str, str], corpus: Corpus) -> Iterator[str]:
    """A newer document, and all that have taken its place; what the corpus says is noted."""
    yield name
    while True:
        doc = None if name in newer else corpus.docs.get(name)
        if doc is not None and isinstance(of_corpus := doc.metadata.get(SUPERSEDED_BY), str):
            newer[name] = of_corpus
        if name not in newer:
            return
        check_cycle(newer)
        yield (name := newer[name])
