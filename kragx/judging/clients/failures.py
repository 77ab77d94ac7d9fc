"""What went wrong with a service, as a judgement that failed."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from kragx.judging.client import Failure
from kragx.judging.clients.http import UnreadableError

_TRANSIENT = frozenset({408, 409, 425, 429})

# What services call their errors (code, type, status, in lower case), or say in words alone.
_FILTERED = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
)
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error", "request_too_large"})
_TOO_LONG_WORDS = (
    "maximum context length",
    "prompt is too long",
    "context window",
    "context size",
    "request too large",  # with 429: for a minute's limit, hence for every minute's
)
_SPENT = frozenset(
    {"insufficient_quota", "insufficient_balance", "billing_hard_limit_reached", "billing_error"}
)
_SPENT_WORDS = ("credit balance is too low", "exceeded your current quota")
_TOO_OFTEN = frozenset(
    {"rate_limit_exceeded", "rate_limit_error", "too_many_requests", "resource_exhausted"}
)
_HOPELESS = frozenset({"invalid_api_key", "authentication_error", "model_not_found"})
_UNREACHED = frozenset(  # of httpx, aiohttp and Python
    {"ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionRefusedError", "gaierror"}
)
_NETWORK = frozenset(  # of httpx, and of aiohttp
    {"TransportError", "ClientConnectionError", "ClientPayloadError"}
)
_STATUS = {  # of errors of langchain-core, for packages that do not say it
    "ModelAuthenticationError": 401,
    "ModelPermissionDeniedError": 403,
    "ModelNotFoundError": 404,
    "ModelInvalidRequestError": 400,
    "ModelRateLimitError": 429,
    "ModelAPIError": 500,
    "ContextOverflowError": 413,
}
UNREAD = (TypeError, ValueError, LookupError, AttributeError, RecursionError)
"""What comes of packages that look into an answer that is none."""
_AWAY = frozenset({502, 503, 529})  # nothing is behind the gateway, or it takes nothing now
_BUSY = frozenset({"overloaded_error", "server_error", "unavailable", "engine_overloaded"})


def failed(error: Exception) -> Failure:
    """What an error of a service means for a judgement, as packages of clients raise it.

    Raises:
        Exception: the service is not to blame: what went wrong is a mistake below its client.
    """
    name, causes = type(error).__name__, [*_causes(error)]
    for cause in causes:
        if isinstance(cause, UnreadableError):
            return Failure("api_error", str(cause), again=True)
        if type(cause).__name__ in _UNREACHED:
            return Failure("connection", _of_connecting(cause), again=True, away=True)
    if isinstance(error, TimeoutError) or "Timeout" in name:
        return Failure("timeout", f"{name}: {error}", again=True)
    for cause in causes:
        if (status := _status(cause)) is not None:
            headers = getattr(getattr(cause, "response", None), "headers", None) or {}
            bodies = (getattr(cause, body, None) for body in ("body", "details"))
            return refused(status, headers, next(filter(None, bodies), str(cause)))
    network = next(filter(_is_network, causes), None)
    if network is None and "Connect" not in name:
        return Failure("api_error", f"{name}: {error}", again=isinstance(error, UNREAD))
    # A client may wrap whatever went wrong below it; only the network's own trouble counts.
    if network is None and len(causes) > 1:
        raise causes[-1]
    trouble = network or error
    return Failure("connection", f"{type(trouble).__name__}: {trouble}", again=True)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came of, as far as that is said."""
    while error is not None:
        yield error
        error = error.__cause__


def _status(error: BaseException) -> int | None:
    """The status of HTTP that an error tells, or that its name stands for."""
    response = getattr(error, "response", None)
    for status in (
        *(getattr(error, name, None) for name in ("status_code", "code")),
        getattr(response, "status_code", None),
        *(_STATUS.get(kind.__name__) for kind in type(error).__mro__),
    ):
        if isinstance(status, int) and 100 <= status < 600:
            return status
    return None


def _of_connecting(error: BaseException) -> str:
    """What an error says, and where nothing was reached, as httpx does not say it in words."""
    with suppress(AttributeError, RuntimeError):  # of others, or without a request
        url = error.request.url  # type: ignore[attr-defined]
        return f"{type(error).__name__}: {error} ({url.scheme}://{url.netloc.decode()})"
    return f"{type(error).__name__}: {error}"


def _is_network(error: BaseException) -> bool:
    return isinstance(error, OSError) or any(
        kind.__name__ in _NETWORK for kind in type(error).__mro__
    )


def refused(status: int, headers: Mapping[str, str], body: object) -> Failure:
    """What a service means that answers with an error.

    Args:
        status: of HTTP; that of a success where only the body speaks of an error.
        headers: the response's.
        body: what it says: an object with ``error``, the error itself, or a text.
    """
    if 300 <= status < 400:
        return Failure("api_error", f"{status}: {_redirect_text(headers.get('location'))}")
    words, message = _words(body), _message(body)
    # Gateways pass an error on with status 200, and its own status as its code.
    inner = [int(word) for word in words if word.isascii() and word.isdigit() and len(word) == 3]
    if status < 400:
        status = next((code for code in inner if 400 <= code < 600), status)
    lower, detail = message.lower(), f"{status}: {message or 'an error without a word'}"
    retryable = status in _TRANSIENT or not 300 <= status < 500 or bool(words & _BUSY)
    wait = retry_after(headers)
    otherwise = Failure(
        "api_error", detail, again=retryable, retry_after=wait, status=status, away=status in _AWAY
    )
    kinds = (
        (words & _FILTERED, Failure("content_filter", detail)),
        (
            words & _TOO_LONG or status == 413 or any(text in lower for text in _TOO_LONG_WORDS),
            Failure("length", detail),
        ),
        (  # a quota that is used up does not come back by waiting
            words & _SPENT or status == 402 or any(text in lower for text in _SPENT_WORDS),
            Failure("rate_limit", detail, fatal=True, status=status),
        ),
        (words & _TOO_OFTEN or status == 429, replace(otherwise, kind="rate_limit", again=True)),
        (
            words & _HOPELESS or status == 401 or (status == 404 and "model" in lower),
            Failure("api_error", detail, fatal=True, status=status),
        ),
        (status == 408, replace(otherwise, kind="timeout")),
    )
    return next((failure for applies, failure in kinds if applies), otherwise)


def _redirect_text(location: str | None) -> str:
    """What a redirect says. None is followed: texts and key are for the server that was named."""
    with suppress(ValueError):
        url = urlsplit(location or "")
        host = url.netloc.rpartition("@")[2]
        place = f"{url.scheme}://{host}{url.path}" if host else url.path
        if place:
            return f"the server redirects to {place}, which is not followed; name it as base_url"
    return "the server redirects, which is not followed"


def _error(body: object) -> object:
    return body["error"] if isinstance(body, Mapping) and body.get("error") else body


def _words(body: object) -> set[str]:
    """By what names an error goes, in lower case."""
    error = _error(body)
    if not isinstance(error, Mapping):
        return set()
    inner = error.get("innererror")  # Azure
    levels = [error, inner] if isinstance(inner, Mapping) else [error]
    names = (level.get(name) for level in levels for name in ("code", "type", "status"))
    return {str(name).lower() for name in names if isinstance(name, (str, int))}


def _message(body: object) -> str:
    """What an error says to people."""
    return next(_messages(_error(body)), "")


def _messages(error: object) -> Iterator[str]:
    if isinstance(error, str) and error.strip():
        yield error.strip()
    elif isinstance(error, Mapping):
        for name in ("message", "detail", "msg", "error", "error_description"):
            yield from _messages(error.get(name))
        with suppress(TypeError, ValueError, RecursionError):
            yield json.dumps(error, ensure_ascii=False)
    elif isinstance(error, (list, tuple)) and error:
        yield from _messages(error[0])


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
