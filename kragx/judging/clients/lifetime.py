"""How long a client's connections stay open."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

# By the client's identity: judges that differ may share one. Each event loop knows its own only.
_users: Counter[tuple[int, asyncio.AbstractEventLoop]] = Counter()


@asynccontextmanager
async def in_use(client: Any) -> AsyncIterator[None]:
    """Within, a client is asked; who leaves last in an event loop closes what it has open there."""
    user = id(client), asyncio.get_running_loop()
    _users[user] += 1
    try:
        yield
    finally:
        _users[user] -= 1
        if not _users[user]:
            del _users[user]
            close = getattr(client, "aclose", None)
            if close is not None:
                await close()
