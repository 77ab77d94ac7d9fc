"""Markdown as a tree of tags and texts, which a page builds without any markup."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

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
