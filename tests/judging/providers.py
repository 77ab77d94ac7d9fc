"""Local servers that behave like providers of language models, as far as a judge meets them.

Each says where it listens, what it wants in headers and what it refuses, in the words that its
provider uses. What they answer is decided as by `tests.judging.server`; none of them is a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.judging.protocols import Polyglot
from tests.judging.server import serving as plain_serving

Refusal = Callable[[dict[str, Any]], "tuple[int, Any] | None"]


def error(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """An error as OpenAI words it."""
    kind = "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def no_temperature(body: dict[str, Any]) -> tuple[int, Any] | None:
    """A model that reasons, at OpenAI."""
    if "temperature" not in body:
        return None
    message = (
        f"Unsupported value: 'temperature' does not support {body['temperature']} with this model. "
        "Only the default (1) value is supported."
    )
    return 400, error(message, "temperature", "unsupported_value")


def no_max_tokens(body: dict[str, Any]) -> tuple[int, Any] | None:
    """Another thing that such a model refuses."""
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead."
    )
    return (400, error(message, "max_tokens")) if "max_tokens" in body else None


def old_limit(body: dict[str, Any]) -> tuple[int, Any] | None:
    """Azure's older versions."""
    message = "Unrecognized request argument supplied: max_completion_tokens"
    return (400, error(message)) if "max_completion_tokens" in body else None


def strict_fields(body: dict[str, Any]) -> tuple[int, Any] | None:
    """Servers that check a body with pydantic, and say what they found in it."""
    if "max_completion_tokens" not in body:
        return None
    wrong = {"type": "extra_forbidden", "loc": ["body", "max_completion_tokens"]}
    wrong |= {"msg": "Extra inputs are not permitted", "input": body["max_completion_tokens"]}
    return 422, {"object": "error", "message": {"detail": [wrong]}, "type": "invalid_request_error"}


def no_schema(body: dict[str, Any]) -> tuple[int, Any] | None:
    """DeepSeek: JSON objects, of which the prompt has to speak."""
    form = body.get("response_format", {}).get("type")
    if form == "json_schema":
        message = "This response_format type is unavailable now"
        return 400, error(message, code="invalid_request_error")
    if form == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        message = (
            "Prompt must contain the word 'json' in some form to use 'response_format' of type "
            "'json_object'."
        )
        return 400, error(message)
    return None


def no_format(body: dict[str, Any]) -> tuple[int, Any] | None:
    """A server that knows no response_format, but tools."""
    if "response_format" not in body:
        return None
    problem = {"loc": ["body", "response_format"], "msg": "Extra inputs are not permitted"}
    return 422, {"detail": [problem | {"type": "extra_forbidden", "input": body}]}


def no_tools(body: dict[str, Any]) -> tuple[int, Any] | None:
    """A server that knows no tools."""
    message = "model does not support tools"
    return (400, error(message)) if "tools" in body else None


@dataclass(frozen=True)
class Provider:
    """How one provider behaves.

    Attributes:
        path: where it listens, with the query.
        headers: that it wants.
        refuses: what it refuses, and how.
        also: where it answers, too, as other versions of its package ask there.
        ignores: answer formats that it passes over in silence.
        says: what it adds to its answers.
    """

    path: str = "/v1/chat/completions"
    headers: Mapping[str, str] = field(default_factory=dict)
    refuses: tuple[Refusal, ...] = ()
    ignores: tuple[str, ...] = ()
    says: Mapping[str, Any] = field(default_factory=dict)
    also: tuple[str, ...] = ()


class Handler(Polyglot):
    """One connection."""

    server: Any

    def do_POST(self) -> None:  # noqa: N802
        """Refuse, or answer as the plain server does."""
        provider = self.server.provider
        body = self.body()
        if self.path not in (provider.path, *provider.also):
            self._refuse(404, {"error": {"code": "404", "message": "Resource not found"}})
            return
        for name, value in provider.headers.items():
            if self.headers.get(name) != value:
                message = f"Access denied: the header {name} is missing or wrong"
                self._refuse(401, error(message, code="401"))
                return
        for refusal in provider.refuses:
            if (refused := refusal(body)) is not None:
                self._refuse(*refused)
                return
        with self.server.lock:
            self.server.requests.append(body)
        text = "\n".join(str(message["content"]) for message in body["messages"])
        self.completion(body, text.rsplit("<<<document", 1)[-1])

    def _refuse(self, status: int, body: Any) -> None:
        with self.server.lock:
            self.server.refused += 1
        self.reply(status, body)

    def say(self, body: Any, content: Any, refusal: Any = None, finish: str = "stop") -> None:
        """In prose where the format that was asked for is ignored."""
        form = body.get("response_format", {}).get("type") or ("tool" if "tools" in body else "")
        if form in self.server.provider.ignores:
            content, body = "This document deserves a high grade.", body | {"tools": None}
        super().say(body, content, refusal, finish)

    def reply(self, status: int, body: Any, headers: Any = ()) -> None:
        """With what the provider adds."""
        super().reply(status, body | self.server.provider.says if status == 200 else body, headers)


@contextmanager
def serving(provider: Provider):
    """A running server; `refused` is how often it refused, `root` its scheme, host and port."""
    with plain_serving(handler=Handler) as server:
        server.provider, server.refused = provider, 0
        server.root = server.base_url.removesuffix("/v1")
        yield server


def moved(address: str, root: str) -> str:
    """An address with another scheme and host."""
    return root + urlsplit(address).path.rstrip("/")
