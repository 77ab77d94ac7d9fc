"""Cassettes: recorded once, replayed without a server, strict and free of secrets.

A cassette keeps what was asked and answered, so it cannot keep an answer that never came. Where
the connection broke or the client gave up waiting, the transport's error is kept as a marked
response and raised again on replay, below the `openai` client, as the transport would.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import openai
import vcr
import vcr.patch

from kragx.ground.secrets import Secrets

# httpx2 since openai 3, httpx before.
httpx = import_module(openai.DefaultAsyncHttpxClient.__mro__[1].__module__)
SEND = f"_{httpx.__name__.capitalize()}AsyncHttpTransport_handle_async_request"
"""Where vcrpy keeps how the transport itself sends."""

CASSETTES = Path(__file__).parent / "cassettes"
HOST = "http://judge.invalid/v1"  # what cassettes call the server, wherever it was
KEPT_REQUEST = ("content-type",)
KEPT_RESPONSE = ("content-type", "retry-after", "x-transport-error")


def scrub_request(request):
    """Keep the headers of the list, a host that is nobody's, and no secret in what is sent."""
    request.headers = masked(
        {name: value for name, value in request.headers.items() if name.lower() in KEPT_REQUEST}
    )
    request.uri = HOST + request.uri.partition("?")[0].split("/v1", 1)[1]
    request.body = masked(request.body)
    return request


def scrub_response(response):
    """Keep the headers of the list, and no secret that the server says again."""
    response["headers"] = {
        name: masked(values)
        for name, values in response["headers"].items()
        if name.lower() in KEPT_RESPONSE
    }
    response["body"]["string"] = masked(response["body"]["string"])
    return response


def masked(value):
    """Texts, in bytes too, without the secrets of the environment."""
    secrets = Secrets.of()
    if not isinstance(value, bytes):
        return secrets.masked(value)
    text = value.decode(errors="surrogateescape")
    return secrets.mask(text).encode(errors="surrogateescape")


def same_question(first, second):
    """Two requests ask the same."""
    assert _asked(first) == _asked(second)


def _asked(request):
    """What a request sends, but for the marks at random between the parts of a form."""
    body = request.body or b"null"
    body = body if isinstance(body, bytes) else body.encode()
    if body.startswith(b"--"):
        return body.replace(body.partition(b"\r\n")[0], b"--")
    return json.loads(body)


def same_messages(first, second):
    """They ask the same of the same model; what else LangChain sends differs by its version."""
    bodies = [json.loads(request.body) for request in (first, second)]
    one, other = ([body[name] for name in ("model", "messages")] for body in bodies)
    assert one == other


def recorder(record, match_on=("method", "path", "question")):
    """A VCR that records, or replays and refuses what it does not know."""
    tape = vcr.VCR(
        cassette_library_dir=str(CASSETTES),
        record_mode="all" if record else "none",
        decode_compressed_response=True,
        before_record_request=scrub_request,
        before_record_response=scrub_response,
        match_on=match_on,
    )
    tape.register_matcher("question", same_question)
    tape.register_matcher("messages", same_messages)
    return tape


@contextmanager
def cassette(name, *, record=False, **options):
    """Play, or record anew, the cassette of that name."""
    path = CASSETTES / f"{name}.yaml"
    if name.startswith("langchain-"):
        options.setdefault("match_on", ("method", "path", "messages"))
    if record:
        path.unlink(missing_ok=True)
    real = getattr(vcr.patch, SEND)

    async def remembering(self, request):
        try:
            return await real(self, request)
        except httpx.TransportError as error:
            kind = type(error).__name__
            return httpx.Response(599, headers={"x-transport-error": kind}, request=request)

    setattr(vcr.patch, SEND, remembering)
    try:
        with recorder(record, **options).use_cassette(path.name) as tape:
            taped = httpx.AsyncHTTPTransport.handle_async_request

            async def raising(self, request):
                response = await taped(self, request)
                kind = response.headers.get("x-transport-error")
                if kind is not None:
                    raise getattr(httpx, kind)(f"recorded: {kind}", request=request)
                return response

            httpx.AsyncHTTPTransport.handle_async_request = raising
            try:
                yield tape
            finally:
                httpx.AsyncHTTPTransport.handle_async_request = taped
    finally:
        setattr(vcr.patch, SEND, real)
