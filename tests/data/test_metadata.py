"""Paths into metadata, as `id_key`, slices, measures and places in sources name them."""

from __future__ import annotations

from kragx.data.documents import value_at
from tests.thoroughness import all_cases

METADATA = {"page": 1, "file": {"page": 3, "of.all": 9, "deep": {"er": 4}}, "a.b": 5, "none": None}


@all_cases(
    ("path", "value"),
    [
        ("page", 1),
        ("metadata.page", 1),
        ("file.page", 3),
        ("metadata.file.deep.er", 4),
        ("file.of.all", 9),
        ("a.b", 5),
        ("metadata.a.b", 5),
        ("none", None),
        ("page.more", None),
        ("file.", None),
        ("missing", None),
        ("missing.page", None),
        ("", None),
    ],
)
def test_value_at(path: str, value: object) -> None:
    """A key, a path, with or without ``metadata.``; a key with dots wins; absent is None."""
    assert value_at(METADATA, path) == value
