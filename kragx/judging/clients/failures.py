"""What went wrong with a service, as a judgement that failed."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

from kragx.judging.question import Failure

_TRANSIENT = frozenset({408, 409, 425, 429})
_HOPELESS = frozenset({401, 403, 404})


def failed(error: Exception) -> Failure:
    """What an error of a service means for a judgement, as openai, httpx and their like raise it.

    Raises:
        Exception: the service is not to blame: what went wrong is a mistake below its client.
    """
    name = type(error).__name__
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", getattr(response, "status_code", None))
    if isinstance(error, TimeoutError) or "Timeout" in name:
        return Failure("timeout", f"{name}: {error}", again=True)
    if isinstance(status, int):
        code, headers = getattr(error, "code", None), getattr(response, "headers", {})
        return _of_status(status, code, f"{status}: {error}", headers)
    if "Connect" in name or _is_network(error):
        cause = error.__cause__ or error
        # A client may wrap whatever went wrong below it; only the network's own trouble counts.
        if cause is not error and not _is_network(cause):
            raise cause
        return Failure("connection", f"{type(cause).__name__}: {cause}", again=True)
    return Failure("api_error", f"{name}: {error}")


def _is_network(error: BaseException) -> bool:
    return isinstance(error, OSError) or any(
        kind.__name__ == "TransportError" for kind in type(error).__mro__
    )


def _of_status(status: int, code: str | None, detail: str, headers: Mapping[str, str]) -> Failure:
    """What an HTTP status above 399 means."""
    if code in ("content_filter", "content_policy_violation"):
        return Failure("content_filter", detail)
    wait = _retry_after(headers)
    if status == 429:
        # A quota that is used up does not come back by waiting.
        spent = code == "insufficient_quota"
        return Failure("rate_limit", detail, again=not spent, retry_after=wait, fatal=spent)
    return Failure(
        "timeout" if status == 408 else "api_error",
        detail,
        again=status in _TRANSIENT or status >= 500,
        retry_after=wait,
        fatal=status in _HOPELESS,
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from retry-after-ms or Retry-After (seconds, or a date)."""
    reads: tuple[tuple[str, Callable[[str], float]], ...] = (
        ("retry-after-ms", lambda value: float(value) / 1000),
        ("retry-after", float),
        ("retry-after", lambda value: parsedate_to_datetime(value).timestamp() - time.time()),
    )
    for name, seconds in reads:
        with suppress(KeyError, ValueError):
            return max(0.0, seconds(headers[name]))
    return None
