"""The documents of the corpus: read, searched, and with what stands around them."""

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from kragx.data import Doc, tokenizer
from kragx.workshop.questions.words import word_places
from kragx.workshop.services.context import (
    Context,
    Id,
    Plain,
    Words,
    get,
    plain_judgement,
)
from kragx.workshop.state.records import Person

_TAGS = {"fence": "pre", "code_block": "pre", "code_inline": "code", "hr": "hr", "hardbreak": "br"}


@lru_cache(maxsize=4)
def tree(text: str) -> list[Any]:
    """Its nodes: a text is a string, all else ``{"tag", "children"}``.

    HTML within is text; of a link its words are shown, and of a picture what stands for it.
    """
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return list(_nodes(SyntaxTreeNode(parser.parse(text)).children))


def _nodes(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        match node.type:
            case "text" if not node.content:
                continue
            # HTML stays words: guidelines are written by one person and read by others.
            case "text" | "html_inline" | "html_block" | "image":
                yield node.content
            case "softbreak":
                yield "\n"
            case "inline" | "link":
                yield from _nodes(node.children)
            case "paragraph" if node.hidden:  # of a list whose items stand close together
                yield from _nodes(node.children)
            case kind if kind in _TAGS:
                words = [node.content] if node.content else []
                yield {"tag": _TAGS[kind], "children": words}
            case _:
                yield {"tag": node.tag, "children": list(_nodes(node.children))}


class PassageIndex:
    """Finds documents by words, in Korean and English alike, without a model: BM25.

    Args:
        docs: the corpus, by id.
        first: what a document is shown as (`Copies.first`), so that of copies one is found.

    Raises:
        MissingExtraError: bm25s is not installed.
    """

    def __init__(
        self,
        docs: Mapping[str, Doc],
        first: Callable[[str], str] = lambda doc_id: doc_id,
    ) -> None:
        from kragx.evaluation.retrievers import Bm25Index

        self._shown = [doc_id for doc_id in docs if first(doc_id) == doc_id]
        texts = [docs[doc_id].text or "" for doc_id in self._shown]
        # By characters, so that a Korean word is found with whatever particle it has.
        self._index = Bm25Index(texts, tokenizer("char"), "the workshop's search")

    def best(self, words: str, k: int = 20) -> list[str]:
        """The ids of the documents that share most with these words, best first.

        Equals keep the corpus's order; nothing is found by words that stand nowhere, or by none.
        """
        return [self._shown[place] for place, _ in self._index.best(words, k)]


class Passages:
    """The corpus as people read it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._search: PassageIndex | None = None
        self._lock = threading.Lock()

    @get("documents")
    def document(self, document: Id) -> Plain:
        """A document of the corpus; an `UnknownError` if it has none."""
        return self._context.document(document)

    @get("search")
    def search(self, person: Person, q: Words = "", question: Id | None = None) -> Plain:
        """Documents by somebody's own words, best first, with what they have said of them.

        Args:
            person: who searches.
            q: the words.
            question: the one that a document is wanted for.
        """
        ids = self.index().best(q) if q.strip() else []
        context, passages = self._context, []
        with context.state.lock:
            for document in ids:
                newest = context.state.newest((question or "", document), person.uid)
                mine = None if newest is None else plain_judgement(newest)
                passages.append({**context.document(document), "mine": mine})
        # The words are looked for once the lock is free: Kiwi takes milliseconds for a text.
        for passage in passages:
            passage["words"] = word_places(q, passage["text"])
        return {"documents": passages}

    def index(self) -> PassageIndex:
        """What finds documents by words, made when it is first asked for."""
        # A lock of its own: a search while it is built waits, and people who judge do not.
        with self._lock:
            if self._search is None:
                self._search = PassageIndex(self._context.documents, self._context.copies.first)
            return self._search

    @get("guidelines")
    def guidelines(self) -> Plain:
        """What people judge by."""
        workshop = self._context.workshop
        return {"tree": tree(workshop.guidelines)}
