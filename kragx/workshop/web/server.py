"""The server: the page's files, and what the page asks, behind the guard.

Each question goes to the function of a service that says it answers it.
"""

import inspect
import socket
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, get_type_hints

import uvicorn
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from kragx.data.databases import StoreFailedError, answering
from kragx.data.formats.jsonl import foreign_json
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, KragxError, UsageError, shorten
from kragx.ground.printing import message
from kragx.workshop.calls import ApiCall, Json, Refusal
from kragx.workshop.desk import Desk
from kragx.workshop.services import SERVICES, people
from kragx.workshop.state.records import Person
from kragx.workshop.web.security import Guard, body_of, json_response, refusal, token_of

_PATIENCE = 2.0
"""Seconds that a database which others hold may take; the page then keeps what it sent, and asks
again."""


def routes(desk: Desk, say: Callable[[str], object]) -> Iterator[Route]:
    """Yield the routes of all that may be asked, below /api: what the services mark.

    Args:
        desk: the workshop.
        say: is told of mistakes in kragx.
    """
    for service in SERVICES:
        for function in vars(service).values():
            if inspect.isfunction(function) and (call := vars(function).get("call")) is not None:
                endpoint = _endpoint(desk, call, function, say)
                yield Route(f"/{call.path}", endpoint, methods=[call.method])


def _endpoint(
    desk: Desk, call: ApiCall, function: Callable[..., Json], say: Callable[[str], object]
) -> Callable[[Request], Awaitable[Response]]:
    form, parameters = form_of(function), inspect.signature(function).parameters

    def answer(token: str, request: Request, body: bytes | None) -> Response:
        try:
            with answering(within=_PATIENCE):
                desk.state.refresh()
                context = {"desk": desk, "person": _who_asks(desk, call, token)}
                value = dict(request.query_params) if body is None else _json(body)
                wanted = {name: context[name] for name in context if name in parameters}
                return json_response(function(**wanted, **_form_values(form, value)))
        except StoreFailedError as error:
            problem = "the database does not answer; nothing was stored"
            remedy = f"try again in a moment ({error.problem})"
            raise Refusal(problem, status=503, remedy=remedy, code="store") from None

    async def endpoint(request: Request) -> Response:
        try:
            token = token_of(request.headers)
            body = await body_of(request) if call.method == "POST" else None
            return await run_in_threadpool(answer, token, request, body)
        except (Refusal, UsageError, DataError) as error:
            return refusal(error)
        except Exception as error:  # a mistake; the page hears of it, and goes on
            say(f"{call.method} /api/{call.path}: {type(error).__name__}: {error}")
            problem = "this is a mistake in kragx, please report it"
            return refusal(Refusal(problem, status=500, code="mistake"))

    return endpoint


def _who_asks(desk: Desk, call: ApiCall, token: str) -> Person:
    """The person of a link; a `Refusal` if there is none, or they may not ask this."""
    person = people.holder(desk, token)
    if person is None:
        remedy = "open the link that you were given"
        raise Refusal("nobody's link", status=401, remedy=remedy, code="link")
    if person.state == "gone":
        remedy = "ask the owner for another one"
        raise Refusal("this link was taken away", status=401, remedy=remedy, code="gone")
    if call.owner and person.role != "owner":
        raise Refusal("only the owner may ask this", status=403, code="owner")
    return person


def _json(body: bytes) -> Any:
    try:
        value = foreign_json(body.decode("utf-8", "surrogatepass"), strict=True)
    except (ValueError, KragxError) as error:  # UnicodeDecodeError is one
        raise Refusal(f"not valid JSON: {error}") from None
    return SurrogateRepair().value(value)


def form_of(function: Callable[..., Json]) -> type[BaseModel]:
    """What a function takes beside the desk and who asks: unknown fields are mistakes."""
    types = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {
        name: (types[name], ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("desk", "person")
    }
    # Strict: numbers are no texts.
    strict = ConfigDict(extra="forbid", strict=True)
    return create_model(function.__name__, __config__=strict, **fields)


def _form_values(form: type[BaseModel], value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refusal(f"a JSON object is expected, not {shorten(value)}")
    try:
        return vars(form.model_validate(value))
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        field = ".".join(map(str, detail["loc"]))
        problem = f"{detail['msg']} ({shorten(detail['input'])})"
        raise Refusal(problem, field=field, code="form") from None


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
            return refusal(Refusal("there is no such page", status=404))
        kind, headers = _TYPES[name[name.rfind(".") :]], {"Cache-Control": "no-cache"}
        return Response(static[name].read_bytes(), 200, headers, kind)

    async def refused(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        words = {404: "there is no such page", 405: "this is not done here"}
        return refusal(Refusal(words.get(status, "this cannot be answered"), status=status))

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
    remedy = message(
        "name another --port, or none" if port is not None else "name a --port that is free"
    )
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
