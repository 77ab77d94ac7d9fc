"""Fixtures: a workshop, and its server."""

import pytest

from tests.workshop.serving import opened, serving, started


@pytest.fixture
def shop(tmp_path):
    """The folder of a workshop."""
    return started(tmp_path)


@pytest.fixture
def desk(shop):
    """Its desk."""
    with opened(shop) as desk:
        yield desk


@pytest.fixture
def served(shop):
    """Its server."""
    with serving(shop) as running:
        yield running
