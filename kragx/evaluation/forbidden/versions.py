"""Older and newer versions of documents: which older one stands above all that succeed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kragx.data.batch import Batch
from kragx.data.corpus import Corpus
from kragx.data.forbidden import SUPERSEDED_BY, check_cycle
from kragx.errors import DataError
from kragx.evaluation.forbidden.pairing import ItemMatches, Items, Pairing, as_id
from kragx.evaluation.forbidden.ruling import Ruling, Truths
from kragx.metrics import Bools


@dataclass(frozen=True)
class Versions:
    """What is known of the versions of a batch's documents; arrays as of `ForbiddenMarks`."""

    stale: Truths
    versions: Bools
    open: Bools
    by_id: Bools


@dataclass
class _List:
    """The documents of a question that are older versions, by rank, and what succeeds which.

    Attributes:
        older: the newer documents of each, and whether nobody knows that it is the older one.
        newer: the newer document by the older one.
    """

    older: dict[int, tuple[list[str], bool]] = field(default_factory=dict)
    newer: dict[str, str] = field(default_factory=dict)

    def add(self, doc: int, newer: str, *, is_open: bool) -> None:
        """Note an older document; one of which somebody knows that it is, is no open one."""
        names, was_open = self.older.get(doc, ([], True))
        self.older[doc] = [*names, newer], is_open and was_open


def versions_of(
    batch: Batch,
    items: Items,
    pairing: Pairing,
    pairs: ItemMatches,
    ruling: Ruling,
    corpus: Corpus,
    *,
    reads_metadata: bool,
) -> Versions:
    """The versions among the documents of a batch.

    Args:
        batch: the questions.
        items: what is forbidden for them, some of which name what has taken their place.
        pairing: knows the documents' ids and sources.
        pairs: which document is which item.
        ruling: knows the documents' metadata.
        corpus: says of documents that were not retrieved what has taken their place.
        reads_metadata: whether documents say themselves what has taken their place.

    Raises:
        DataError: documents take each other's place in a circle.
    """
    names_newer = np.fromiter((item.superseded_by is not None for item in items.items), bool)
    versions, is_open, by_id = np.zeros((3, len(batch)), bool)
    versions[items.query[names_newer]] = True
    is_open[items.query[names_newer & pairs.lost]] = True
    by_id[items.query[names_newer & pairs.by_id]] = True
    stale = np.zeros(len(batch.docs.texts.numbers), np.int8)
    of_docs: Sequence[str | None] = []
    if reads_metadata or versions.any():
        of_docs = [*map(as_id, ruling.values(SUPERSEDED_BY))]
    lists = _lists(batch, items, pairs, names_newer, of_docs if reads_metadata else [])
    for query, of_query in lists.items():
        versions[query] = True
        try:
            _mark(stale, of_query, _Names(batch, query, items, pairing, of_docs), corpus)
        except DataError as error:
            raise error.within(path=f"query {batch.query_ids[query]!r}") from None
    return Versions(stale, versions, is_open, by_id)


def _lists(
    batch: Batch, items: Items, pairs: ItemMatches, names_newer: Bools, of_docs: Sequence[Any]
) -> Mapping[int, _List]:
    """The older versions of each question that has any."""
    lists: dict[int, _List] = {}
    query = batch.docs.texts.of_text
    is_meant = names_newer[pairs.item]
    places = zip(*(part[is_meant].tolist() for part in (pairs.doc, pairs.item, pairs.truth)))
    for doc, item, truth in places:
        newer = items.items[item].superseded_by
        assert newer is not None  # as it is meant
        lists.setdefault(int(query[doc]), _List()).add(doc, newer, is_open=truth < 0)
    for doc, newer in enumerate(of_docs):
        if isinstance(newer, str):
            lists.setdefault(int(query[doc]), _List()).add(doc, newer, is_open=False)
    return lists


class _Names:
    """What the documents of a question are called, by rank, and what takes whose place."""

    def __init__(
        self, batch: Batch, query: int, items: Items, pairing: Pairing, of_docs: Sequence[Any]
    ) -> None:
        texts = batch.docs.texts
        start = int(texts.starts[query])
        self.docs: range = range(start, start + int(texts.n_texts[query]))
        self.ids: dict[int, str | None] = {doc: pairing.doc_ids[doc] for doc in self.docs}
        self.of: dict[int, set[str]] = {
            doc: {*filter(None, (self.ids[doc], pairing.place(doc)[0]))} for doc in self.docs
        }
        self.newer: dict[str, str] = {}
        for place in (items.query == query).nonzero()[0].tolist() if items.items else ():
            item = items.items[place]
            for name in filter(None, (item.id, item.source)):
                if item.superseded_by is not None:
                    self.newer[name] = item.superseded_by
        for doc in self.docs if of_docs else ():
            if isinstance(of_docs[doc], str):
                self.newer |= dict.fromkeys(self.of[doc], of_docs[doc])

    def successors(self, name: str, corpus: Corpus) -> Iterator[str]:
        """A newer document, and all that have taken its place."""
        yield name
        while True:
            newer = self.newer.get(name)
            doc = None if newer is not None else corpus.docs.get(name)
            if doc is not None and isinstance(doc.metadata.get(SUPERSEDED_BY), str):
                newer = doc.metadata[SUPERSEDED_BY]
                self.newer[name] = newer
            if newer is None:
                return
            check_cycle(self.newer)
            yield (name := newer)


def _mark(stale: Truths, of_query: _List, names: _Names, corpus: Corpus) -> None:
    """Mark the older documents of a question above which none of their successors stands."""
    above = set[str]()
    is_nameless = False
    for doc in names.docs:
        if doc in of_query.older:
            direct, is_open = of_query.older[doc]
            successors = {name for first in direct for name in names.successors(first, corpus)}
            if above.isdisjoint(successors):
                stale[doc] = -1 if is_open or is_nameless else 1
        above |= names.of[doc]
        is_nameless = is_nameless or names.ids[doc] is None
