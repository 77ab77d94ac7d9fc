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
def tape():
    """What plays the cassette of a name; it gives the address that a client is told.

    With KRAGX_RECORD=local it is recorded anew from the local server, with KRAGX_RECORD=<base_url>
    from that endpoint.
    """
    from contextlib import contextmanager

    @contextmanager
    def play(name):
        where = os.environ.get(RECORD)
        if not where:
            with cassette(name, record=False):
                yield HOST
        elif where == "local":
            with serving() as server, cassette(name, record=True):
                yield server.base_url
        else:
            with cassette(name, record=True):
                yield where

    return play
