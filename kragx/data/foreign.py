"""Documents of other libraries, told by their shapes: none of these libraries is imported."""

from typing import Any


def foreign_fields(value: object) -> dict[str, Any] | None:
    """The fields (`id`, `text`, `score`, `metadata`) of another library's document, if it is one.

    LangChain's have `page_content`, LlamaIndex' nodes `node_id` and `get_content()`, also within a
    node with a score, and Haystack's `content` and `meta`.
    """
    if hasattr(value, "page_content"):
        return {
            "id": getattr(value, "id", None),
            "text": value.page_content,
            "metadata": getattr(value, "metadata", None),
        }
    node: Any = getattr(value, "node", value)
    if hasattr(node, "node_id") and hasattr(node, "get_content"):
        return {
            "id": node.node_id,
            "text": node.get_content(),
            "score": getattr(value, "score", None),
            "metadata": getattr(node, "metadata", None),
        }
    if hasattr(value, "content") and hasattr(value, "meta"):
        return {
            "id": getattr(value, "id", None),
            "text": value.content,
            "score": getattr(value, "score", None),
            "metadata": value.meta,
        }
    return None
