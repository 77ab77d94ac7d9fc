"""The body of a chat completion, read as data: a server may send anything."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kragx.data.formats.jsonl import foreign_json
from kragx.ground.errors import shorten
from kragx.judging.client import Answer, Failure, Token, Usage, words_of
from kragx.judging.clients.failures import refused

_SHOWN = 20_000  # bytes of a body that is none
_FILTERED = Failure("content_filter", "withheld by the content filter")
_CUT = Failure("length", "cut off: raise the most output tokens (max_output_tokens)")
_BROKEN = Failure("api_error", "the server broke the answer off", again=True)
_ENDINGS: Mapping[str, Failure] = {
    "refusal": Failure("refusal", "the model declined"),
    **dict.fromkeys(("content_filter", "safety", "prohibited_content", "sensitive"), _FILTERED),
    **dict.fromkeys(("length", "model_length"), _CUT),
    "max_tokens": Failure("length", "cut off: raise the model's limit of output tokens"),
    **dict.fromkeys(("error", "insufficient_system_resource"), _BROKEN),
}
"""What providers call the end of an answer that is none, in lower case."""
_WHOLE = {
    *("", "stop", "stopped", "stop_sequence", "eos", "eos_token", "end", "end_turn", "done"),
    *("complete", "completed", "finished", "normal", "null", "none"),
    *("tool_call", "tool_calls", "tool_use", "function_call"),
}
"""What they call that of a whole one. After any other end nobody knows what an answer is."""


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
    is_error = error is not None and isinstance(value, Mapping) and value.get("error")
    if not 200 <= status < 300 or is_error:
        return refused(status, headers, value or text)
    if error is None and isinstance(value, Mapping):
        return _read(status, headers, value, has_tool)
    if error is not None:
        problem = f"no answer ({type(error).__name__}: {error})"
    detail = f"{status}: {problem}: {text}" if body else f"{status}: an empty body"
    return Failure("api_error", detail, again=True)


def outcome(
    text: str | None,
    finish: object,
    refusal: object,
    usage: Usage,
    model: str | None,
    fingerprint: str | None,
) -> Answer | Failure:
    """What a model's answer is, from why it ended.

    Args:
        text: the answer, if there is one.
        finish: the provider's word for why it ended.
        refusal: what the model said instead of an answer, if it refused.
        usage: what it cost.
        model: what served it.
        fingerprint: of the system behind it.
    """
    word = finish if isinstance(finish, str) else ""
    ending = _ENDINGS.get("refusal" if refusal else word.lower())
    if ending is None and (text is None or not text.strip()):
        # Servers that force a schema now and then say nothing, and then answer the next time.
        ending = Failure("api_error", f"no content (finish_reason {word or None})", again=True)
    if ending is None and word.lower() not in _WHOLE:
        problem = f"ended for a reason that is not known (finish_reason {shorten(word)})"
        ending = Failure("api_error", problem, again=True)
    served: dict[str, Any] = {"usage": usage, "model": model, "fingerprint": fingerprint}
    if ending is None:
        return Answer(text or "", **served)
    detail = refusal if isinstance(refusal, str) and refusal else ending.detail
    return replace(ending, detail=detail, text=text, **served)


def _read(
    status: int, headers: Mapping[str, str], body: Mapping[str, Any], has_tool: bool
) -> Answer | Failure:
    served: dict[str, Any] = {
        "usage": _usage(body.get("usage")),
        "model": body.get("model"),
        "fingerprint": body.get("system_fingerprint"),
    }
    choices = body.get("choices")
    choice = _first(choices) if isinstance(choices, list) and choices else None
    for level in (body, choice):
        if isinstance(level, Mapping) and level.get("error"):
            return replace(refused(status, headers, level), **served)
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        missing = "a message" if isinstance(choice, Mapping) else "choices"
        return Failure(
            "api_error", f"{status}: no chat completion: no {missing}", again=True, **served
        )
    content = message.get("content")
    text, refusal = _text(content), message.get("refusal") or _of_kind(content, "refusal")
    if has_tool:
        text = _arguments(message.get("tool_calls")) or text
    if text is None and content is not None and not isinstance(content, list):
        problem = f"the content is no text but of type {type(content).__name__}"
        return Failure("invalid_json", problem, **served)
    if text is None and message.get("tool_calls") and not refusal:
        problem = "a call of a tool that was not offered, instead of an answer"
        return Failure("invalid_json", problem, json.dumps(message["tool_calls"]), **served)
    answer = outcome(text, choice.get("finish_reason"), refusal, **served)
    return replace(answer, tokens=_tokens(choice)) if isinstance(answer, Answer) else answer


def _first(choices: Sequence[Any]) -> Any:
    """The choice with the index 0, wherever it stands; without one that which comes first."""
    indexed = (
        choice for choice in choices if isinstance(choice, Mapping) and choice.get("index") == 0
    )
    return next(indexed, choices[0])


def _tokens(choice: Mapping[str, Any]) -> tuple[Token, ...]:
    """The tokens of an answer with their probabilities; none where any of it is odd."""
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    try:
        return tuple(
            Token(_bytes(token), dict(map(_chance, [*(token.get("top_logprobs") or ()), token])))
            for token in content or ()
        )
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
        return ()


def _chance(token: Mapping[str, Any]) -> tuple[bytes, float]:
    return _bytes(token), math.exp(min(0.0, float(token["logprob"])))


def _bytes(token: Mapping[str, Any]) -> bytes:
    # A token may be a part of a letter, as of Korean ones, which only its bytes tell.
    content = token.get("bytes")
    return bytes(content) if isinstance(content, list) else str(token["token"]).encode()


def _arguments(calls: object) -> str | None:
    """With what the first tool was called; some servers send the object itself."""
    call = calls[0] if isinstance(calls, list) and calls else None
    function = call.get("function") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    return json.dumps(arguments) if isinstance(arguments, Mapping) else words_of(arguments)


def _text(content: object) -> str | None:
    """The text of a content; that of its parts, if it is a list of them."""
    return content if isinstance(content, str) else _of_kind(content, "text")


def _of_kind(content: object, kind: str) -> str | None:
    """The joined texts of the parts of a content that are of a kind; None without one."""
    parts = content if isinstance(content, list) else ()
    of_kind = (
        part[kind]
        for part in parts
        if isinstance(part, Mapping) and part.get("type") == kind and kind in part
    )
    texts = [text for text in of_kind if isinstance(text, str)]
    return "".join(texts) if texts else None


def _usage(usage: object) -> Usage:
    def of(part: object, name: str) -> Any:
        return part.get(name) if isinstance(part, Mapping) else None

    return Usage(
        prompt=of(usage, "prompt_tokens"),
        completion=of(usage, "completion_tokens"),
        cached=of(of(usage, "prompt_tokens_details"), "cached_tokens"),
        reasoning=of(of(usage, "completion_tokens_details"), "reasoning_tokens"),
    )
