"""Metadata of documents, gold items and queries, and the paths that lead into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def value_at(metadata: Mapping[str, Any], path: str) -> Any:
    """The value at a path (``source``, ``file.page``, ``metadata.file.page``); None if absent.

    A key that itself holds dots wins over a nested one, at every level.

    >>> value_at({"file": {"page": 3, "page.of": 9}}, "metadata.file.page.of")
    9
    """
    if path not in metadata:
        path = path.removeprefix("metadata.")
    while path not in metadata:
        head, _, path = path.partition(".")
        inner = metadata.get(head)
        if not path or not isinstance(inner, Mapping):
            return None
        metadata = inner
    return metadata[path]
