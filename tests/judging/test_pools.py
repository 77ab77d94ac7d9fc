"""Clients for calls at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import ExitStack

import pytest

from kragx.judging.clients.pools import Pools


class Connected:
    """A client that knows whether it was closed."""

    is_closed = False

    async def close(self):
        """Close it."""
        self.is_closed = True


@pytest.fixture
def made():
    """Clients in the order in which they were made."""
    return []


@pytest.fixture
def pools(made):
    """Pools that note what they make."""

    def make():
        made.append(Connected())
        return made[-1]

    return Pools(make)


def test_one_call_after_another(pools, made):
    """One client is enough, whose connection stays warm; a call that fails leaves it free."""
    for _ in range(3):
        with pools.client() as client:
            assert client is made[0]
    with pytest.raises(OSError, match="gone"), pools.client():
        raise OSError("gone")
    with pools.client():
        assert len(made) == 1


def test_calls_at_once(pools, made):
    """Each has a client of its own, up to 16; then all have equally many, and the first go on."""
    with ExitStack() as calls:
        clients = [calls.enter_context(pools.client()) for _ in range(32)]
        assert len(set(clients[:16])) == len(made) == 16
        assert set(Counter(clients).values()) == {2}
    with pools.client() as client:
        assert client is made[0]


def test_close(pools, made):
    """All are closed."""
    with pools.client(), pools.client():
        pass
    asyncio.run(pools.close())
    assert [client.is_closed for client in made] == [True, True]
