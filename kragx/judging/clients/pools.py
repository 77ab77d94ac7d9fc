"""Several clients of one server, so that calls at once do not all share one pool of connections.

A pool looks at all of its connections when a call begins and when it ends: with dozens of calls at
once, one pool for all of them would spend a fifth of a call's time so.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_MOST = 16


class Pools:
    """Clients that are made as calls at once need them.

    Args:
        make: makes a client, which has an asynchronous ``close``.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._clients: list[Any] = []
        self._n_calls: list[int] = []  # that each of them is at

    @contextmanager
    def client(self) -> Iterator[Any]:
        """The client for a call: of those with the fewest calls the first, which is warm."""
        counts = self._n_calls
        fewest = min(counts, default=1)
        if fewest and len(counts) < _MOST:
            self._clients.append(self._make())
            counts.append(0)
            fewest = 0
        place = counts.index(fewest)
        counts[place] += 1
        try:
            yield self._clients[place]
        finally:
            counts[place] -= 1

    async def close(self) -> None:
        """Close the connections of all."""
        for client in self._clients:
            await client.close()
