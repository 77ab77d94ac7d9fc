"""The matcher `pages`: pages of documents as units, whatever text stands on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from kragx.data import Doc, value_at
from kragx.data.gold import gold_place, rank_place
from kragx.data.pages import Pages, document_name
from kragx.ground.errors import DataError, inside
from kragx.ground.options import fitting, is_text, optional, whole
from kragx.ground.printing import phrase
from kragx.matchers.base import IdsMatcher
from kragx.matchers.ids import first_keys
from kragx.matchers.items import MatchItem, Target
from kragx.matchers.notes import Finding, Notes
from kragx.metrics import Floats

Key = Annotated[str, fitting(is_text, "{!r} is not a metadata key or path such as 'source'")]
Place = tuple[tuple[str, ...], Pages | None]
"""The parts of a document's path, and the pages; None for all or, of a document, for unknown."""

SHIFTED = "pages_shifted"
UNPLACED = "n_docs_without_page"
"""Counts retrieved documents that say no source or page, and can be matched by id alone."""


@dataclass
class Shift(Finding):
    """How many gold items are found, and would be if pages were counted from another number.

    Attributes:
        counts: how many gold ``items`` say pages, are ``found``, and would be if pages were counted
            from the ``other`` number; how many ``docs`` there are, and are ``unplaced``.
        first: the number of a document's first page.
        keys: the metadata keys that are looked at.
    """

    first: int = 0
    keys: str = ""

    def problem(self) -> str:
        """Nothing matched, and why that may be."""
        n_items, n_docs = self.counts["items"], self.counts["docs"]
        if self.counts["found"] or not n_items:
            return ""
        if n_docs and self.counts["unplaced"] == n_docs:
            return phrase(
                "no page can match: none of {n} retrieved documents has {keys}; name the metadata "
                "keys that hold them with 'source_key' and 'page_key'",
                n=n_docs,
                keys=self.keys,
            )
        if 2 * self.counts["other"] < n_items:  # some stand on the next page by chance
            return ""
        return phrase(
            "no page matched, but {n} of {of} gold items would if the first page of retrieved "
            "documents were number {other}, not {first}; then say first: {other}",
            n=self.counts["other"],
            of=n_items,
            other=1 - self.first,
            first=self.first,
        )


@dataclass(frozen=True)
class PageMatcher(IdsMatcher):
    """Pages in common with a gold item's, in the same document.

    Gold says ``{"doc": "manual.pdf", "pages": [3, "7-9"]}``, counted from 1, and is found with any
    of its pages; gold without a ``doc`` is matched by id, as an image that no page is known of. A
    retrieved document may stand on several pages: its page is a number, a range, or a list.

    The document is the same where the one's path ends with the other's: ``manual.pdf`` is
    ``/data/manual.pdf``.

    Attributes:
        source_key: the metadata key or path of a retrieved document's file.
        page_key: the same of its page; LangChain's loaders give ``page`` from 0, ``page_label`` as
            it is printed.
        last_page_key: the same of its last page, where pages are two fields; None where not.
        first: the number of a document's first page under `page_key`: 0, as LangChain has it, or 1.
    """

    source_key: Key = "source"
    page_key: Key = "page"
    last_page_key: Annotated[str | None, optional(fitting(is_text, "{!r} is not a key"))] = None
    first: Annotated[int, whole(0, 1)] = 0
    name = "pages"

    def scores(self, items: Iterable[MatchItem], notes: Notes) -> Iterator[Floats]:
        """Yield 1 where a document stands on a page of the gold's, else 0."""
        keys = f"{self.source_key!r} and {self.page_key!r}"
        shift = partial(Shift, first=self.first, keys=keys)
        finding = notes.finding(self.settings, SHIFTED, shift)
        for item in items:
            golds = [self._gold(item, target) for target in item.targets]
            docs = [self._doc(item, rank, doc) for rank, doc in enumerate(item.docs, start=1)]
            same_id = [[d.id is not None and d.id == t.id for t in item.targets] for d in item.docs]
            found, other = (
                np.array([[_meet(doc, gold, move) for gold in golds] for doc in docs], bool)
                for move in (0, 2 * self.first - 1)
            )
            found |= np.array(same_id, bool)
            n_unplaced = sum(place is None or place[1] is None for place in docs)
            notes[UNPLACED] += n_unplaced
            finding.counts.update(docs=len(docs), unplaced=n_unplaced)
            has_place = np.array([place is not None for place in golds], bool)
            numbers = np.array([target.gold for target in item.targets])
            hits = (grid.reshape(item.shape).any(axis=0) for grid in (found, other))
            for name, is_hit in zip(("items", "found", "other"), (has_place, *hits)):
                finding.counts[name] += len({*numbers[has_place & is_hit].tolist()})
            yield found.reshape(item.shape).astype(np.float64)

    def _gold(self, item: MatchItem, target: Target) -> Place | None:
        """Where a gold item stands; None of one that is known by its id alone.

        Raises:
            DataError: it has neither; or a document that is none.
        """
        about = target.metadata
        place = gold_place(item.query.id, target.gold + 1)
        if "doc" not in about:
            if target.id is None:
                raise DataError(
                    "{place}: the gold item has no 'doc' and no id",
                    remedy='write {{"doc": "manual.pdf", "pages": [3, "7-9"]}}',
                    place=place,
                )
            return None
        try:
            pages = about.get("pages")
            return document_name(about["doc"]), None if pages is None else Pages.read(
                pages, least=1
            )
        except DataError as error:
            raise error.within(path=place) from None

    def _doc(self, item: MatchItem, rank: int, doc: Doc) -> Place | None:
        """Where a retrieved document stands; None where its source is not said.

        Raises:
            DataError: it says something that is no source or page, or nothing and has no id.
        """
        source, page = (value_at(doc.metadata, key) for key in (self.source_key, self.page_key))
        place = rank_place(item.query.id, rank)
        if source is None:
            if doc.id is None:
                names = first_keys(doc.metadata) or "no metadata"
                raise DataError(
                    "{place}: the document has no {source_key!r} and no id (it has: {names});"
                    " name the metadata key of its file with 'source_key', or compare texts: match "
                    "'overlap'",
                    place=place,
                    source_key=self.source_key,
                    names=names,
                )
            return None
        with inside(self.source_key, path=place):
            name = document_name(source)
        with inside(self.page_key, path=place):
            return name, None if page is None else self._pages(doc, page)

    def _pages(self, doc: Doc, page: Any) -> Pages:
        last = None if self.last_page_key is None else value_at(doc.metadata, self.last_page_key)
        pages = Pages.read(page, least=self.first)
        if last is not None:
            ends = Pages.read(last, least=self.first)
            match pages.plain, ends.plain:
                case [int(begin)], [int(end)]:
                    pages = Pages.read(f"{begin}-{end}", least=self.first)
                case _:  # labels: what is between them nobody knows
                    pages = Pages(pages.ranges + ends.ranges, pages.labels + ends.labels)
        move = 1 - self.first  # to pages as gold counts them
        ranges = tuple((first + move, last + move) for first, last in pages.ranges)
        return Pages(ranges, pages.labels)


def _meet(doc: Place | None, gold: Place | None, shift: int = 0) -> bool:
    """Whether a document stands on a page of a gold item's."""
    if doc is None or gold is None:
        return False
    n = min(len(doc[0]), len(gold[0]))
    if not n or doc[0][-n:] != gold[0][-n:]:  # the one path ends with the other
        return False
    return gold[1] is None or (doc[1] is not None and gold[1].meets(doc[1], shift))
