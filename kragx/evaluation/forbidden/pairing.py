"""Which retrieved document is which forbidden item, by id, by text or by source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from kragx.data import value_at
from kragx.data.batch import Batch
from kragx.data.corpus import Corpus, stretch_of
from kragx.data.entries import Entries
from kragx.data.forbidden import Forbidden, stretch_in
from kragx.data.gold import cut
from kragx.data.lists import Lists
from kragx.data.ngrams import of_pairs
from kragx.data.stretches import ranges, starts
from kragx.evaluation.forbidden.ruling import Truths
from kragx.matchers import Notes
from kragx.matchers.batches import BatchMatcher
from kragx.matchers.items import every_pair
from kragx.metrics import Bools, Ints
from kragx.metrics.threshold import matches

Stretch = tuple[str | None, int | None, int | None]
"""The source of a document, and its first character and the one behind its last; None: unsaid."""

_NAME = 60
"""Characters of a text that stand for a document without id."""

_LEAST_SHARED = 0.5
"""So much of the shorter of two stretches of a source has to be in the other one."""


@dataclass(frozen=True)
class Items:
    """The forbidden items of some questions, one question after the other.

    Attributes:
        items: all of them.
        query: (f) of which question each is.
    """

    items: Sequence[Forbidden]
    query: Ints

    @classmethod
    def of(cls, batch: Batch) -> Items:
        """Those of a batch."""
        lists = batch.forbidden or ()
        items = [item for items in lists for item in items or ()]
        n = np.fromiter((len(items or ()) for items in lists), np.int64, len(lists))
        return cls(items, np.repeat(np.arange(len(lists)), n))


@dataclass(frozen=True)
class ItemMatches:
    """Pairs of a document and an item of its question: those that match, and open ones.

    Attributes:
        doc, item: (p) which.
        truth: (p) 1 where the document is the item, -1 where nobody knows; others have no pair.
        lost: (f) the items that can match nothing.
        by_id: (f) those that can match nothing if no retrieved id is named anywhere.
    """

    doc: Ints
    item: Ints
    truth: Truths
    lost: Bools
    by_id: Bools

    @classmethod
    def joined(cls, parts: Sequence[ItemMatches]) -> ItemMatches:
        """All of some; each item is of one of them."""
        doc, item, truth = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("doc", "item", "truth")
        )
        lost, by_id = (
            np.logical_or.reduce([getattr(part, name) for part in parts])
            for name in ("lost", "by_id")
        )
        return cls(doc, item, truth, lost, by_id)


class Pairing:
    """Compares the documents of a batch with its forbidden items.

    Args:
        batch: the questions.
        items: what is forbidden for them.
        matcher: compares texts; None where ids alone are compared.
        id_key: where a document keeps its id, as of the matcher `id`.
        corpus: has the documents that there are; may be none.
        is_known: whether the corpus has a document that is called so.
    """

    def __init__(
        self,
        batch: Batch,
        items: Items,
        matcher: BatchMatcher | None,
        id_key: str | None,
        corpus: Corpus,
        is_known: Callable[[str], bool],
    ) -> None:
        self._batch, self._items, self._matcher = batch, items, matcher
        self._id_key, self._corpus, self._is_known = id_key, corpus, is_known
        self._query: Ints = batch.docs.texts.of_text
        self._n = len(items.items)
        self._places: dict[int, Stretch] = {}

    @cached_property
    def doc_ids(self) -> Sequence[str | None]:
        """(d) the ids of the documents; None of those without one."""
        return doc_ids(self._batch.docs, self._id_key)

    def place(self, row: int) -> Stretch:
        """Of which source a document is, and where in it."""
        if row not in self._places:
            self._places[row] = self._place_of(row)
        return self._places[row]

    def _place_of(self, row: int) -> Stretch:
        docs, doc_id = self._batch.docs, self.doc_ids[row]
        metadata = (docs.metadata and docs.metadata[row]) or {}
        stretch = stretch_of(doc_id or "")
        source, start, end = stretch_in(metadata, stretch)
        doc = None if source is not None else self._corpus.docs.get(doc_id or "")
        if doc is not None:
            source, start, end = stretch_in(doc.metadata, stretch)
        number = int(docs.texts.numbers[row])
        if start is not None and end is None and number >= 0:
            end = start + len(docs.texts.known[number])
        return source, start, end

    def name(self, row: int) -> str:
        """What people call a document: its id, or without one the beginning of its text."""
        number = int(self._batch.docs.texts.numbers[row])
        text = self._batch.docs.texts.known[number] if number >= 0 else ""
        return self.doc_ids[row] or cut(text, _NAME)

    def pairs(self) -> ItemMatches:
        """All pairs, each item compared by the first of text, id and source that can be."""
        by_text = self._readable
        # The text of an id that the corpus has stands beside it: either tells the document.
        is_filled = by_text & self._where(lambda item: item.text is None)
        has_id = self._where(lambda item: item.id is not None) & (~by_text | is_filled)
        has_source = self._where(lambda item: item.source is not None) & ~by_text & ~has_id
        parts = [self._pairs([], [], [], ~(by_text | has_id | has_source))]
        for are, compare in (
            (by_text, self._by_text),
            (has_id, self._by_id),
            (has_source, self._by_source),
        ):
            if are.any():
                parts.append(compare(are.nonzero()[0]))
        return ItemMatches.joined(parts)

    def _where(self, is_so: Callable[[Forbidden], bool]) -> Bools:
        return np.fromiter(map(is_so, self._items.items), bool, self._n)

    def _pairs(
        self, doc: Any, item: Any, truth: Any, lost: Bools | None = None, by_id: Bools | None = None
    ) -> ItemMatches:
        none = np.zeros(self._n, bool)
        pair = np.asarray(doc, np.int64), np.asarray(item, np.int64), np.asarray(truth, np.int8)
        return ItemMatches(*pair, none if lost is None else lost, none if by_id is None else by_id)

    def _with_all(self, docs: Ints, places: Ints) -> tuple[Ints, Ints]:
        """Some documents, each with those items of its question that stand at some places."""
        n_items = np.bincount(self._items.query[places], minlength=len(self._batch))
        n_beside = n_items[self._query[docs]]
        beside = ranges(starts(n_items)[self._query[docs]], n_beside)
        return np.repeat(docs, n_beside), places[beside]

    # -- by text -----------------------------------------------------------------------------

    @cached_property
    def _readable(self) -> Bools:
        """Which items are compared by their texts: not those in which the matcher finds nothing."""
        readable = np.zeros(self._n, bool)
        texts = self._batch.forbidden_texts
        has_text = np.zeros(self._n, bool) if texts is None else texts.numbers >= 0
        if self._matcher is not None and has_text.any():
            texts = self._texts_of(has_text.nonzero()[0])
            (golds,) = self._matcher.numbered(texts)
            readable[has_text] = ~self._matcher.useless(golds, gold=True)
        return readable

    def _texts_of(self, places: Ints) -> Lists:
        texts = self._batch.forbidden_texts
        assert texts is not None  # as there are items
        n = np.bincount(self._items.query[places], minlength=len(self._batch))
        return Lists(texts.known, texts.numbers[places], n)

    def _by_text(self, places: Ints) -> ItemMatches:
        matcher, docs = self._matcher, self._batch.docs.texts
        assert matcher is not None  # else nothing is readable
        texts = self._texts_of(places)
        is_meant = (texts.n_texts > 0)[self._query]
        compared = (is_meant & (docs.numbers >= 0)).nonzero()[0]
        of_docs = docs.those(is_meant & (docs.numbers >= 0))
        batch = replace(
            self._batch,
            golds=Entries(texts),
            docs=Entries(of_docs),
            more={},
        )
        scores = matcher.trace(batch, Notes(), every_pair(batch)).scores
        doc, gold = of_pairs(of_docs.n_texts, texts.n_texts)
        are = matches(scores, matcher.threshold)
        doc, item = compared[doc[are]], places[gold[are]]
        is_other = np.fromiter(map(self._is_elsewhere, doc.tolist(), item.tolist()), bool, len(doc))
        textless = (is_meant & (docs.numbers < 0)).nonzero()[0]
        open_doc, open_item = self._with_all(textless, places)
        return self._pairs(
            np.concatenate((doc[~is_other], open_doc)),
            np.concatenate((item[~is_other], open_item)),
            np.repeat([1, -1], [int((~is_other).sum()), len(open_doc)]),
        )

    def _is_elsewhere(self, doc: int, item: int) -> bool:
        """Whether a document is of another source than an item's."""
        source = self._items.items[item].source
        return source is not None and self.place(doc)[0] not in (None, source)

    # -- by id -------------------------------------------------------------------------------

    def _by_id(self, places: Ints) -> ItemMatches:
        by_id: dict[tuple[int, str | None], list[int]] = {}
        for place, query in zip(places.tolist(), self._items.query[places].tolist()):
            by_id.setdefault((query, self._items.items[place].id), []).append(place)
        named = {doc_id for _, doc_id in by_id}
        doc_ids = self.doc_ids
        likely = [row for row, doc_id in enumerate(doc_ids) if doc_id in named]
        matched = [
            (row, place)
            for row, query in zip(likely, self._query[likely].tolist())
            for place in by_id.get((query, doc_ids[row]), ())
        ]
        doc, item = np.array(matched, np.int64).reshape(-1, 2).T
        nameless = np.fromiter((doc_id is None for doc_id in doc_ids), bool, len(doc_ids))
        places = places[~self._readable[places]]  # of the others texts tell
        open_doc, open_item = self._with_all(nameless.nonzero()[0], places)
        is_mine, is_retrieved = np.zeros((2, self._n), bool)
        is_mine[places], is_retrieved[item] = True, True
        lost, may_be_lost = np.zeros(self._n, bool), is_mine
        if self._corpus.source is not None:
            lost[places] = [
                not self._is_known(self._items.items[place].id or "") for place in places
            ]
            lost, may_be_lost = lost & ~is_retrieved, np.zeros_like(lost)
        return self._pairs(
            np.concatenate((doc, open_doc)),
            np.concatenate((item, open_item)),
            np.repeat([1, -1], [len(doc), len(open_doc)]),
            lost,
            may_be_lost,
        )

    # -- by source ---------------------------------------------------------------------------

    def _by_source(self, places: Ints) -> ItemMatches:
        every = (np.bincount(self._items.query[places], minlength=len(self._batch)) > 0)[
            self._query
        ]
        doc, item = self._with_all(every.nonzero()[0], places)
        items = self._items.items
        truth = np.fromiter(
            (_is_there(self.place(d), items[i]) for d, i in zip(doc.tolist(), item.tolist())),
            np.int8,
            len(doc),
        )
        is_said = truth != 0
        lost = np.zeros(self._n, bool)
        if self._corpus.source is not None:
            sources = self._corpus.sources
            lost[places] = [items[place].source not in sources for place in places.tolist()]
            lost[item[truth == 1]] = False
        return self._pairs(doc[is_said], item[is_said], truth[is_said], lost)


def doc_ids(docs: Entries, id_key: str | None) -> Sequence[str | None]:
    """The ids of documents, as the matcher `id` reads them; None for what it would refuse."""
    nothing = [None] * len(docs.texts.numbers)
    metadata = docs.metadata or nothing
    if id_key is not None and id_key != "id":
        return [as_id(value_at(about or {}, id_key)) for about in metadata]
    ids = docs.ids or nothing
    if docs.metadata is None or id_key is not None or None not in ids:
        return ids
    return [
        as_id((about or {}).get("id")) if doc_id is None else doc_id
        for doc_id, about in zip(ids, metadata)
    ]


def as_id(value: object) -> str | None:
    """A value as an id; None where it is none."""
    is_id = isinstance(value, (str, Integral)) and not isinstance(value, bool)
    return (str(value).strip() and str(value)) or None if is_id else None


def _is_there(place: Stretch, item: Forbidden) -> int:
    """Whether a document stands where an item says: 1, 0, or -1 where nobody knows."""
    source, start, end = place
    if source is None:
        return -1
    if source != item.source or item.start is None or item.end is None:
        return int(source == item.source)
    if start is None or end is None:
        return -1
    shared = min(end, item.end) - max(start, item.start)
    return int(shared > 0 and shared >= _LEAST_SHARED * min(end - start, item.end - item.start))
