"""The matcher `pages`: pages of documents as units, whatever text stands on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from kragx.data import Doc, value_at
from kragx.data.gold import gold_place, rank_place
from kragx.data.pages import Pages, document_name
from kragx.ground.errors import DataError, inside
from kragx.ground.options import fitting, is_text, whole
from kragx.ground.printing import message
from kragx.matchers.base import IdsMatcher
from kragx.matchers.ids import first_keys
from kragx.matchers.items import Diagnostic, Diagnostics, MatchItem, Target
from kragx.metrics import Floats

Key = Annotated[str, fitting(is_text, "{value!r} is not a metadata key or path such as 'source'")]
Place = tuple[tuple[str, ...], Pages | None]
"""The parts of a document's path, and the pages; None for all or, of a document, for unknown."""

SHIFTED = "pages_shifted"
UNPLACED = "n_docs_without_page"
"""Counts retrieved documents that say no source or page, and can be matched by id alone."""


@dataclass
class Shift(Diagnostic):
    """How many gold items are found, and would be if pages were counted from another number.

    Attributes:
        counts: how many ``items`` of gold say pages, are ``found``, and would be by the ``other``.
        first: the number of a document's first page.
    """

    first: int = 0

    def problem(self) -> str:
        """Nothing matched, and why that may be."""
        n_items, n_other = self.counts["items"], self.counts["other"]
        if self.counts["found"] or not n_items or 2 * n_other < n_items:  # some meet by chance
            return ""
        return message(
            "no page matched, but {n} of {of} gold items would if the first page of retrieved "
            "documents were number {other}, not {first}; then say first: {other}",
            n=n_other,
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
        first: the number of a document's first page under `page_key`: 0, as LangChain has it, or 1.
    """

    source_key: Key = "source"
    page_key: Key = "page"
    first: Annotated[int, whole(0, 1)] = 0
    name = "pages"

    def scores(self, items: Iterable[MatchItem], diagnostics: Diagnostics) -> Iterator[Floats]:
        """Yield 1 where a document stands on a page of the gold's, else 0."""
        diagnostic = diagnostics.diagnostic(
            self.settings, SHIFTED, partial(Shift, first=self.first)
        )
        for item in items:
            golds = [self._gold(item, target) for target in item.targets]
            docs = [self._doc(item, rank, doc) for rank, doc in enumerate(item.docs, start=1)]
            same_id = [[d.id is not None and d.id == t.id for t in item.targets] for d in item.docs]
            found, other = (
                np.array([[_meet(doc, gold, move) for gold in golds] for doc in docs], bool)
                for move in (0, 2 * self.first - 1)
            )
            diagnostics[UNPLACED] += sum(place is None or place[1] is None for place in docs)
            diagnostic.counts["items"] += sum(place is not None for place in golds)
            for name, grid in (("found", found), ("other", other)):
                diagnostic.counts[name] += int(grid.any(axis=0).sum())
            is_match = found | np.array(same_id, bool)
            yield is_match.reshape(item.shape).astype(np.float64)

    def _gold(self, item: MatchItem, target: Target) -> Place | None:
        """Where a gold item stands; None of one that is known by its id alone.

        Raises:
            DataError: it has neither, or pages of no document; or a document that is none.
        """
        about = target.metadata
        place = gold_place(item.query.id, target.gold + 1)
        if "doc" not in about:
            if target.id is None or "pages" in about:
                raise DataError(
                    "{place}: the gold item has pages and no 'doc'"
                    if "pages" in about
                    else "{place}: the gold item has no 'doc' and no id",
                    remedy='write {{"doc": "manual.pdf", "pages": [3, "7-9"]}}',
                    place=place,
                )
            return None
        with inside(path=place):
            pages = about.get("pages")
            ranges = None if pages is None else Pages.read(pages, least=1)
            return document_name(about["doc"]), ranges

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
            pages = None if page is None else Pages.read(page, least=self.first)
        if pages is None or self.first:
            return name, pages
        # Gold counts pages from 1.
        return name, Pages(tuple((a + 1, b + 1) for a, b in pages.ranges), pages.labels)


def _meet(doc: Place | None, gold: Place | None, shift: int) -> bool:
    """Whether a document stands on a page of a gold item's."""
    if doc is None or gold is None:
        return False
    n = min(len(doc[0]), len(gold[0]))
    if not n or doc[0][-n:] != gold[0][-n:]:  # the one path ends with the other
        return False
    return gold[1] is None or (doc[1] is not None and gold[1].meets(doc[1], shift))
