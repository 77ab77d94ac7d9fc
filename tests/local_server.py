"""A small server of HTTP on this machine, for tests that ask one."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Reply:
    """What the server answers with.

    Attributes:
        body: bytes or a text as they are, anything else as JSON.
        drip: seconds between single bytes of the body.
        cut: whether the connection is closed instead of any answer.
    """

    body: Any = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drip: float = 0.0
    cut: bool = False


@dataclass
class Request:
    """What the server was asked."""

    method: str
    path: str
    params: dict[str, list[str]]
    headers: Mapping[str, str]
    json: Any


class Server:
    """A server that gives its replies one after the other, the last one for ever.

    Attributes:
        url: its address, without a path.
        requests: what it was asked.
        replies: what it answers with.
    """

    def __init__(self, *replies: Any) -> None:
        self.replies = [own if isinstance(own, Reply) else Reply(own) for own in replies]
        self.requests: list[Request] = []
        self._next = iter(self.replies)
        self._lock = threading.Lock()
        self.url = ""

    def reply(self, request: Request) -> Reply:
        """The next reply; a callable is asked for it."""
        with self._lock:
            self.requests.append(request)
            reply = next(self._next, self.replies[-1])
        return Reply(reply.body(request)) if callable(reply.body) else reply


@contextmanager
def serving(*replies: Any) -> Iterator[Server]:
    """A server on a free port, as long as the block lasts."""
    server = Server(*replies)

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length)
            parts = urlsplit(self.path)
            reply = server.reply(
                Request(
                    self.command,
                    parts.path,
                    parse_qs(parts.query),
                    dict(self.headers.items()),
                    json.loads(body) if body else None,
                )
            )
            if reply.cut:
                self.close_connection = True
                return
            data = reply.body if isinstance(reply.body, (bytes, str)) else json.dumps(reply.body)
            data = data.encode() if isinstance(data, str) else data
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            with suppress(OSError):  # who asked has gone
                for place in range(0, len(data), 1) if reply.drip else ():
                    self.wfile.write(data[place : place + 1])
                    time.sleep(reply.drip)
                if not reply.drip:
                    self.wfile.write(data)

        do_GET = do_POST = do_PUT = _answer  # noqa: N815  # http.server's names

        def log_message(self, *_: Any) -> None:
            """Nothing is said."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server.url = f"http://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
