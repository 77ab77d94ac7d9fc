"""What a service answers, read as data: an answer, or a judgement that failed, and why.

A server may send anything, and no two call what went wrong alike: what they say stands here as
tables of words.
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from kragx.data.formats.jsonl import foreign_json
from kragx.ground.errors import shorten
from kragx.ground.http import UnreadableError, retry_after
from kragx.judging.client import Answer, Failure, Token, Usage, words_of

_SHOWN = 20_000  # bytes of a body that is none
_TRANSIENT = frozenset({408, 409, 425, 429})
_AWAY = frozenset({502, 503, 529})  # nothing is behind the gateway, or it takes nothing now

# -- how the end of an answer is called, in lower case -----------------------------------------

_FILTERED = Failure("content_filter", "withheld by the content filter")
_CUT = Failure("length", "cut off: raise the most output tokens (max_output_tokens)")
_BROKEN = Failure("api_error", "the server broke the answer off", again=True)
_ENDINGS: Mapping[str, Failure | None] = {
    "refusal": Failure("refusal", "the model declined"),
    **dict.fromkeys(("content_filter", "safety", "prohibited_content", "sensitive"), _FILTERED),
    **dict.fromkeys(("length", "model_length"), _CUT),
    "max_tokens": Failure("length", "cut off: raise the model's limit of output tokens"),
    **dict.fromkeys(("error", "insufficient_system_resource"), _BROKEN),
    # Of a whole one. After any other end nobody knows what an answer is.
    **dict.fromkeys(("", "stop", "stopped", "stop_sequence", "eos", "eos_token", "end"), None),
    **dict.fromkeys(("end_turn", "done", "complete", "completed", "finished", "normal"), None),
    **dict.fromkeys(("null", "none", "tool_call", "tool_calls", "tool_use"), None),
    "function_call": None,
}

# -- how errors are called (code, type, status, in lower case), or told in words alone ---------

_FILTERS = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error", "request_too_large"})
_TOO_LONG_WORDS = (
    *("maximum context length", "prompt is too long", "context window", "context size"),
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
_BUSY = frozenset({"overloaded_error", "server_error", "unavailable", "engine_overloaded"})

# -- how packages call what they raise -----------------------------------------------------------

_UNREACHED = frozenset(  # of httpx, aiohttp and Python
    {"ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionRefusedError", "gaierror"}
)
_NETWORK = frozenset(  # of httpx, aiohttp and Python
    {"TransportError", "ClientConnectionError", "ClientPayloadError", "OSError"}
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


def read_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    has_tool: bool = False,
    error: Exception | None = None,
) -> Answer | Failure:
    """What a server's response is: an answer, or why there is none.

    Args:
        status: of HTTP.
        headers: by names in lower case.
        body: its bytes, unpacked.
        has_tool: whether a tool was offered, whose arguments are the answer.
        error: what a package raised that could not read it.
    """
    text, value, problem = body[:_SHOWN].decode("utf-8", "replace"), None, "no chat completion"
    try:
        value = foreign_json(body.decode("utf-8-sig"), strict=False)
    except ValueError as why:
        problem = f"not JSON ({why})"
    if not 200 <= status < 300 or (error is not None and _at(value, "error")):
        return refused(status, headers, value or text)
    if error is not None:
        problem = f"no answer ({type(error).__name__}: {error})"
    elif isinstance(value, Mapping):
        return _read(status, headers, value, has_tool)
    detail = f"{status}: {problem}: {text}" if body else f"{status}: an empty body"
    return Failure("api_error", detail, again=True)


def outcome(text: str | None, finish: object, refusal: object, **served: Any) -> Answer | Failure:
    """What a model's answer is, from why it ended.

    Args:
        text: the answer, if there is one.
        finish: the provider's word for why it ended.
        refusal: what the model said instead of an answer, if it refused.
        served: usage, model and fingerprint, as an `Answer` has them.
    """
    word = finish if isinstance(finish, str) else ""
    ending = _ENDINGS.get("refusal" if refusal else word.lower())
    if ending is None and not (text and text.strip()):
        # Servers that force a schema now and then say nothing, and then answer the next time.
        ending = Failure("api_error", f"no content (finish_reason {word or None})", again=True)
    if ending is None and word.lower() not in _ENDINGS:
        problem = f"ended for a reason that is not known (finish_reason {shorten(word)})"
        ending = Failure("api_error", problem, again=True)
    if ending is None:
        return Answer(text or "", **served)
    detail = refusal if isinstance(refusal, str) and refusal else ending.detail
    return replace(ending, detail=detail, text=text, **served)


def _at(value: Any, *names: str) -> Any:
    """What stands at a path in JSON; None where it does not lead anywhere."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text_of(content: object, kind: str = "text") -> str | None:
    """The text of a content; that of its parts of a kind, if it is a list of them, or None."""
    if isinstance(content, str):
        return content if kind == "text" else None
    parts = (_at(part, kind) for part in _list(content) if _at(part, "type") == kind)
    texts = [text for text in parts if isinstance(text, str)]
    return "".join(texts) if texts else None


def _read(
    status: int, headers: Mapping[str, str], body: Mapping[str, Any], has_tool: bool
) -> Answer | Failure:
    """What a chat completion says; of several choices that with the index 0, else the first."""
    served: dict[str, Any] = {
        "usage": Usage(
            prompt=_at(body, "usage", "prompt_tokens"),
            completion=_at(body, "usage", "completion_tokens"),
            cached=_at(body, "usage", "prompt_tokens_details", "cached_tokens"),
            reasoning=_at(body, "usage", "completion_tokens_details", "reasoning_tokens"),
        ),
        "model": body.get("model"),
        "fingerprint": body.get("system_fingerprint"),
    }
    choices = _list(body.get("choices"))
    indexed = (choice for choice in choices if _at(choice, "index") == 0)
    choice = next(indexed, choices[0] if choices else None)
    for level in (body, choice):
        if _at(level, "error"):
            return replace(refused(status, headers, level), **served)
    message = _at(choice, "message")
    if not isinstance(message, Mapping):
        missing = "a message" if isinstance(choice, Mapping) else "choices"
        problem = f"{status}: no chat completion: no {missing}"
        return Failure("api_error", problem, again=True, **served)
    content, calls = message.get("content"), message.get("tool_calls")
    text, refusal = text_of(content), message.get("refusal") or text_of(content, "refusal")
    if has_tool:
        # Some servers send the object itself.
        arguments = _at(next(iter(_list(calls)), None), "function", "arguments")
        is_object = isinstance(arguments, Mapping)
        text = (json.dumps(arguments) if is_object else words_of(arguments)) or text
    if text is None and content is not None and not isinstance(content, list):
        problem = f"the content is no text but of type {type(content).__name__}"
        return Failure("invalid_json", problem, **served)
    if text is None and calls and not refusal:
        problem = "a call of a tool that was not offered, instead of an answer"
        return Failure("invalid_json", problem, json.dumps(calls), **served)
    answer = outcome(text, _at(choice, "finish_reason"), refusal, **served)
    return replace(answer, tokens=_tokens(choice)) if isinstance(answer, Answer) else answer


def _tokens(choice: object) -> tuple[Token, ...]:
    """The tokens of an answer with their probabilities; none where any of it is odd."""
    try:
        return tuple(
            Token(
                _bytes(token),
                {
                    _bytes(alternative): math.exp(min(0.0, float(alternative["logprob"])))
                    for alternative in [*(token.get("top_logprobs") or ()), token]
                },
            )
            for token in _at(choice, "logprobs", "content") or ()
        )
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
        return ()


def _bytes(token: Mapping[str, Any]) -> bytes:
    # A token may be a part of a letter, as of Korean ones, which only its bytes tell.
    content = token.get("bytes")
    return bytes(content) if isinstance(content, list) else str(token["token"]).encode()


# -- errors --------------------------------------------------------------------------------------


def failed(error: Exception) -> Failure:
    """What an error of a service means for a judgement, as packages of clients raise it.

    Raises:
        Exception: the service is not to blame: what went wrong is a mistake below its client.
    """
    name = type(error).__name__
    causes: list[BaseException] = [error]  # and what it came of, as far as that is said
    while (origin := causes[-1].__cause__) is not None:
        causes.append(origin)
    for cause in causes:
        if isinstance(cause, UnreadableError):
            return Failure("api_error", str(cause), again=True)
        if type(cause).__name__ in _UNREACHED:
            detail = f"{type(cause).__name__}: {cause}{_server_of(cause)}"
            return Failure("connection", detail, again=True, away=True)
    if isinstance(error, TimeoutError) or "Timeout" in name:
        return Failure("timeout", f"{name}: {error}", again=True)
    for cause in causes:
        if (status := _status(cause)) is not None:
            headers = getattr(getattr(cause, "response", None), "headers", None) or {}
            bodies = (getattr(cause, body, None) for body in ("body", "details"))
            return refused(status, headers, next(filter(None, bodies), str(cause)))
    network = next((cause for cause in causes if _NETWORK & {*_names(cause)}), None)
    if network is None and "Connect" not in name:
        return Failure("api_error", f"{name}: {error}", again=isinstance(error, UNREAD))
    # A client may wrap whatever went wrong below it; only the network's own trouble counts.
    if network is None and len(causes) > 1:
        raise causes[-1]
    trouble = network or error
    return Failure("connection", f"{type(trouble).__name__}: {trouble}", again=True)


def _names(error: BaseException) -> list[str]:
    """What an error's class and those that it derives from are called."""
    return [kind.__name__ for kind in type(error).__mro__]


def _status(error: BaseException) -> int | None:
    """The status of HTTP that an error tells, or that its name stands for."""
    statuses = (
        *(getattr(error, name, None) for name in ("status_code", "code")),
        getattr(getattr(error, "response", None), "status_code", None),
        *map(_STATUS.get, _names(error)),
    )
    whole = (status for status in statuses if isinstance(status, int))
    return next((status for status in whole if 100 <= status < 600), None)


def _server_of(error: BaseException) -> str:
    """Which server was not reached, as httpx does not say it in words."""
    with suppress(AttributeError, RuntimeError):  # of others, or without a request
        url = error.request.url  # type: ignore[attr-defined]
        return f" ({url.scheme}://{url.netloc.decode()})"
    return ""


def refused(status: int, headers: Mapping[str, str], body: object) -> Failure:
    """What a service means that answers with an error.

    Args:
        status: of HTTP; that of a success where only the body speaks of an error.
        headers: the response's.
        body: what it says: an object with ``error``, the error itself, or a text.
    """
    if 300 <= status < 400:
        # Texts and key are for the server that was named.
        return Failure("api_error", f"{status}: the server redirects, which is not followed")
    error = _at(body, "error") or body
    message = next(_messages(error), "")
    levels = (error, _at(error, "innererror"))  # the second of Azure
    names = [_at(level, name) for level in levels for name in ("code", "type", "status")]
    words = {str(name).lower() for name in names if isinstance(name, (str, int))}
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
    is_too_long = words & _TOO_LONG or any(text in lower for text in _TOO_LONG_WORDS)
    is_spent = words & _SPENT or any(text in lower for text in _SPENT_WORDS)
    is_hopeless = words & _HOPELESS or status == 401 or (status == 404 and "model" in lower)
    kinds = (
        (words & _FILTERS, Failure("content_filter", detail)),
        (is_too_long or status == 413, Failure("length", detail)),
        # A quota that is used up does not come back by waiting.
        (is_spent or status == 402, Failure("rate_limit", detail, fatal=True, status=status)),
        (words & _TOO_OFTEN or status == 429, replace(otherwise, kind="rate_limit", again=True)),
        (is_hopeless, Failure("api_error", detail, fatal=True, status=status)),
        (status == 408, replace(otherwise, kind="timeout")),
    )
    return next((failure for applies, failure in kinds if applies), otherwise)


def _messages(error: object) -> Iterator[str]:
    """What an error says to people, the best first."""
    if isinstance(error, str) and error.strip():
        yield error.strip()
    elif isinstance(error, Mapping):
        for name in ("message", "detail", "msg", "error", "error_description"):
            yield from _messages(error.get(name))
        with suppress(TypeError, ValueError, RecursionError):
            yield json.dumps(error, ensure_ascii=False)
    elif isinstance(error, (list, tuple)) and error:
        yield from _messages(error[0])
