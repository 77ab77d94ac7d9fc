"""How much an installation without extras takes."""

from __future__ import annotations

import pytest

from tests.environments import PROJECT, needed

MOST = 250_000_000
"""Bytes, 150 million of which are numpy, openai, SQLAlchemy and zstandard (of langchain-core)."""


@pytest.mark.integration
def test_the_base_is_no_larger_than_it_was() -> None:
    """What kragx needs without extras, compiled modules included, has at most 250 MB."""
    sizes = {
        name: sum(
            path.stat().st_size for path in map(own.locate_file, own.files or ()) if path.is_file()
        )
        for name, own in needed(PROJECT["dependencies"]).items()
    }
    largest = sorted(sizes.items(), key=lambda size: -size[1])[:10]
    assert sum(sizes.values()) <= MOST, f"{len(sizes)} packages, of which the largest: {largest}"
