"""What servers say over HTTP: bodies read to a bound, no redirect followed, when to ask again."""

import random
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from email.utils import parsedate_to_datetime
from functools import cache
from importlib import import_module
from typing import Any

MOST_BYTES = 4 << 20
"""Of a body, packed and unpacked; a judge's grade with its reason has some hundreds."""

_FLOOR = 0.5  # seconds; no wait is shorter, whatever a server says
_CEILING = 60.0  # seconds that the random part of a wait grows to

_responses: ContextVar[list[Any] | None] = ContextVar("_responses", default=None)


class UnreadableError(Exception):
    """A response whose body cannot be used, whatever it says."""


@contextmanager
def listening() -> Iterator[list[Any]]:
    """Within, the responses that come to bounded clients are listed."""
    responses: list[Any] = []
    token = _responses.set(responses)
    try:
        yield responses
    finally:
        _responses.reset(token)


@cache
def trusted(kind: type) -> Any:
    """The certificates that an HTTP client trusts (of httpx or httpx2), for all clients of a kind.

    Reading them takes a hundred times as long as all else of making one.
    """
    library = next(base for base in kind.__mro__ if base.__name__ == "AsyncClient").__module__
    return import_module(library.partition(".")[0]).create_ssl_context()


def bounded(client: Any, most_bytes: int = MOST_BYTES) -> Any:
    """The same HTTP client (of httpx or httpx2, asynchronous), for servers that may send anything.

    It follows no redirect: texts and key are for the server that was named, and for no other.

    Args:
        client: it.
        most_bytes: of a body, packed and unpacked.
    """

    async def read(response: Any) -> None:
        await _read(response, most_bytes)

    client.follow_redirects = False
    client.headers["accept-encoding"] = "gzip"
    hooks = client.event_hooks
    client.event_hooks = {**hooks, "response": [*hooks["response"], read]}
    return client


async def _read(response: Any, limit: int) -> None:
    """Read a response's body.

    Raises:
        UnreadableError: it is too large, cannot be unpacked, or is no UTF-8.
    """
    await as_utf_8(response)
    if not response.is_stream_consumed:  # else it is replayed from a record
        body = bytearray()
        try:
            async for part in response.stream:  # which does not close it, as `aiter_raw` does
                body += part
                if len(body) > limit:
                    raise UnreadableError(f"a body of more than {limit >> 20} MiB")
            if _is_followed(response):
                await response.extensions["network_stream"].aclose()
        finally:
            await response.aclose()
        packing = response.headers.get("content-encoding", "identity").strip().lower()
        response._content = _unpacked(bytes(body), packing, limit)
    if response.is_success:
        try:
            response._content = response.content.decode("utf-8-sig").encode()
        except UnicodeDecodeError as error:
            raise UnreadableError(f"a body that is not UTF-8 ({error})") from None
    responses = _responses.get()
    if responses is not None:
        responses.append(response)


def _unpacked(body: bytes, packing: str, limit: int) -> bytes:
    if packing in ("", "identity") or not body:
        return body
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # gzip's header or zlib's
    try:
        content = unpacker.decompress(body, limit + 1)
    except zlib.error as error:
        raise UnreadableError(f"a body that cannot be unpacked ({error})") from None
    if len(content) > limit or not unpacker.eof:
        raise UnreadableError("a packed body that ends too early, or unpacks to too much")
    return content


async def as_utf_8(response: Any) -> None:
    """Have a response's text read as JSON has it: its charset may be any codec of Python's."""
    response.encoding = "utf-8"


def _is_followed(response: Any) -> bool:
    """Whether bytes are left on the connection of a body that was read, or that cannot be told.

    They would be read as the answer to the next request there.
    """
    # Replayed from a record there is no connection; HTTP/2 says of each part whose it is.
    if "network_stream" not in response.extensions or response.http_version == "HTTP/2":
        return False
    inner = response.stream
    for name in ("_stream", "_httpcore_stream", "_stream", "_connection", "_h11_state"):
        inner = getattr(inner, name, None)
    return inner is None or bool(inner.trailing_data[0])


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from retry-after-ms or Retry-After (seconds, or a date)."""
    reads: tuple[tuple[str, Callable[[str], float]], ...] = (
        ("retry-after-ms", lambda value: float(value) / 1000),
        ("retry-after", float),
        ("retry-after", lambda value: parsedate_to_datetime(value).timestamp() - time.time()),
    )
    for name, seconds in reads:
        with suppress(KeyError, ValueError, OverflowError):
            return max(0.0, seconds(headers[name]))
    return None


def wait_before(number: int, floor: float) -> float:
    """Seconds before another attempt: at least the floor and half a second, and full jitter on top.

    The jitter is drawn evenly from 0 to 1, 2, 4, ... 60 s, so that those who were refused together
    do not come back together.

    Args:
        number: of the attempt that failed, from 1.
        floor: seconds that the server asks for.
    """
    return max(_FLOOR, floor) + random.random() * min(_CEILING, 2.0 ** min(number - 1, 10))
