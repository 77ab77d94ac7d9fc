"""The documents of the corpus: read, searched, and with what stands around them."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from kragx.workshop.calls import Id, Json, Words, get, judgement_json
from kragx.workshop.desk import Desk
from kragx.workshop.questions.words import word_places
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


@get("documents")
def document(desk: Desk, document: Id) -> Json:
    """A document of the corpus; an `UnknownError` if it has none."""
    return desk.document(document)


@get("search")
def search(desk: Desk, person: Person, q: Words = "", question: Id | None = None) -> Json:
    """Documents by somebody's own words, best first, with what they have said of them.

    Args:
        desk: the workshop.
        person: who searches.
        q: the words.
        question: the one that a document is wanted for.
    """
    passages = []
    ids = desk.search(q)
    with desk.state.lock:
        for document in ids:
            mine = desk.queue.mine(person.uid, (question or "", document))
            said = None if mine is None else judgement_json(mine, document)
            passages.append({**desk.document(document), "mine": said})
    # The words are looked for once the lock is free: Kiwi takes milliseconds for a text.
    for passage in passages:
        passage["words"] = word_places(q, passage["text"])
    return {"documents": passages}


@get("guidelines")
def guidelines(desk: Desk) -> Json:
    """What people judge by."""
    workshop = desk.workshop
    return {"tree": tree(workshop.guidelines)}
