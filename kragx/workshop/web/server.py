"""The server: the page's files, and what the page asks, behind the guard."""

import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from kragx.ground.errors import UsageError
from kragx.ground.printing import message
from kragx.workshop.desk import Desk
from kragx.workshop.web.api import routes
from kragx.workshop.web.security import Guard, Refusal

PORT = 8765
_MORE_PORTS = 20
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}


def application(
    desk: Desk, *, names: Collection[str] = (), say: Callable[[str], object] = str
) -> ASGIApp:
    """The whole of it, as ASGI.

    Args:
        desk: answers what the page asks.
        names: that the server may be called by beside those of the loopback.
        say: is told of mistakes in kragx.
    """
    folder = files("kragx.workshop.web") / "static"
    static = {entry.name: entry for entry in folder.iterdir()}

    async def file(request: Request) -> Response:
        # Names are looked up, never joined to a path.
        name = request.path_params["name"] or "index.html"
        if name not in static:
            return Refusal(404, "there is no such page").response()
        kind, headers = _TYPES[name[name.rfind(".") :]], {"Cache-Control": "no-cache"}
        return Response(static[name].read_bytes(), 200, headers, kind)

    async def refused(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        words = {404: "there is no such page", 405: "this is not done here"}
        return Refusal(status, words.get(status, "this cannot be answered")).response()

    app = Starlette(
        routes=[
            Mount("/api", routes=list(routes(desk, say))),
            Route("/{name:path}", file, methods=["GET"]),
        ],
        exception_handlers={HTTPException: refused},
    )
    return Guard(app, names)


@contextmanager
def listening(host: str, port: int | None) -> Iterator[socket.socket]:
    """A socket that waits for calls.

    Args:
        host: the address to listen at.
        port: the port; None for the usual one, or the next that is free.

    Raises:
        UsageError: the port is taken, or there is no such address.
    """
    tries = [port] if port is not None else range(PORT, PORT + _MORE_PORTS)
    for number in tries:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as opened:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                opened.bind((host, number))
                opened.listen(128)
            except OSError as error:
                problem, place = error.strerror or str(error), f"{host}:{number}"
                continue
            yield opened
            return
    remedy = "name another --port, or none" if port is not None else "name a --port that is free"
    raise UsageError(
        message("{place}: {why}", place=place, why=problem), field="--port", remedy=remedy
    )


def server(app: ASGIApp) -> uvicorn.Server:
    """A server of an application, which logs nothing: addresses and tokens are nobody's business.

    Its `run(sockets=[...])` serves until the process is told to end.
    """
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)
