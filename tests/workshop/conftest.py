"""Fixtures: a workshop, and its server."""

import pytest

from tests.judging.conftest import database  # noqa: F401 - a fixture where it is imported
from tests.workshop.serving import opened, serving, started


@pytest.fixture
def shop(tmp_path):
    """The folder of a workshop."""
    return started(tmp_path)


@pytest.fixture(params=["file", pytest.param("postgresql", marks=pytest.mark.integration)])
def any_shop(request, tmp_path):
    """The folder of a workshop whose database is a file, or PostgreSQL's."""
    options = {}
    if request.param == "postgresql":
        options = {"database": request.getfixturevalue("database"), "schema": "shop"}
    return started(tmp_path, **options)


@pytest.fixture
def desk(any_shop):
    """Its desk."""
    with opened(any_shop) as desk:
        yield desk


@pytest.fixture
def served(shop):
    """Its server."""
    with serving(shop) as running:
        yield running
