"""What stands before the workshop's server: whom it answers at all, and what every answer says."""

import asyncio
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kragx.data.formats.jsonl import to_json
from kragx.ground.errors import KragxError
from kragx.workshop.calls import Refusal

TOKEN = "X-Kragx-Token"
LARGEST_BODY = 64 << 10
_SLOWEST_BODY = 30.0  # seconds
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Of every answer, errors too."""

_RAW_HEADERS = [(name.lower().encode(), text.encode()) for name, text in HEADERS.items()]


def refusal(error: KragxError) -> Response:
    """An error as an answer."""
    status, code = getattr(error, "status", 400), getattr(error, "code", "")
    answer = {"problem": error.problem, "field": error.field, "remedy": error.remedy, "code": code}
    return json_response({"error": {name: text or None for name, text in answer.items()}}, status)


def json_response(value: object, status: int = 200) -> Response:
    """JSON that nobody keeps."""
    return Response(
        to_json(value).encode(),
        status,
        {"Cache-Control": "no-store"},
        "application/json; charset=utf-8",
    )


class Guard:
    """Answers only who calls the server by one of its names, from its own page or from none.

    A page of another origin sends its own in `Origin`; one whose name was made to lead here (DNS
    rebinding) sends that in `Host`.

    Args:
        app: what stands behind.
        names: that it may be called by beside those of the loopback, without port.
    """

    def __init__(self, app: ASGIApp, names: Collection[str] = ()) -> None:
        self._app = app
        hosts = (f"[{name}]" if ":" in name else name for name in names)  # IPv6, as in an address
        self._names = _LOOPBACK | {name.lower() for name in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As of ASGI."""
        if scope["type"] != "http":  # nothing else is served
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_RAW_HEADERS]
            await send(message)

        try:
            self._check(Headers(scope=scope))
        except Refusal as error:
            await refusal(error)(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)

    def _check(self, headers: Headers) -> None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1:
            raise Refusal("one Host header is needed")
        host = hosts[0].lower()
        name, colon, port = host.rpartition(":")
        if not (colon and port.isdecimal()):
            name = host
        if name not in self._names:
            problem = f"this server is not called {hosts[0][:100]!r}"
            raise Refusal(problem, status=403, field="Host", remedy="use the link that it printed")
        if any(origin.lower() not in (f"http://{host}", f"https://{host}") for origin in origins):
            remedy = "open the link that the workshop printed"
            raise Refusal("asked by another page", status=403, field="Origin", remedy=remedy)


def token_of(headers: Headers) -> str:
    """The end of the link that a request was made with.

    Raises:
        Refusal: there is none.
    """
    tokens = headers.getlist(TOKEN)
    if len(tokens) != 1 or not tokens[0]:
        raise Refusal(
            "who asks?", status=401, field=TOKEN, remedy="open the link that you were given"
        )
    return tokens[0]


async def body_of(request: Request) -> bytes:
    """The body of a request, read within bounds.

    Raises:
        Refusal: it is too large, too slow, or not JSON.
    """
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind.strip().lower() != "application/json":  # other pages may send other kinds unasked
        raise Refusal("a body must be JSON", status=415, field="Content-Type")
    too_large = Refusal(
        f"more than {LARGEST_BODY} bytes", status=413, remedy="write less", code="large"
    )
    length = request.headers.get("content-length", "0")
    # To read a number of thousands of digits takes long; the first twenty say enough.
    if not length.isdecimal() or int(length[:20]) > LARGEST_BODY:
        raise too_large
    # The length that a client names may be wrong, or missing: what comes is counted.
    body = bytearray()
    try:
        async with asyncio.timeout(_SLOWEST_BODY):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST_BODY:
                    raise too_large
    except (TimeoutError, ClientDisconnect):
        raise Refusal("the rest of it did not come", status=408) from None
    return bytes(body)
