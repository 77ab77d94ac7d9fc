"""Judge through the official `openai` client, hence through any OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kragx.errors import UsageError, check_whole
from kragx.judging.clients.completion import read_response
from kragx.judging.clients.failures import failed
from kragx.judging.question import Answer, Failure, Request
from kragx.plugins import without_secrets, without_variables
from kragx.secrets import Address, secrets_in

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_CONNECT = 10.0  # seconds; what takes longer is no server that listens

# Reasoning models refuse a temperature, so it is left out for them unless asked for.
_REASONING = re.compile(r"(^|/)(o\d|gpt-([5-9]|\d\d))(?!.*chat)")


@dataclass(frozen=True)
class OpenAIClient:
    """Asks for a chat completion with a strict JSON schema.

    Attributes:
        model: the model's name.
        base_url: of an OpenAI-compatible server; None for OPENAI_BASE_URL, else OpenAI's own. A
            user and password in it are sent as a Basic header, and shown and stored nowhere.
        api_key_env: the environment variable that holds the API key; no key is ever stored.
        temperature: 0 if left out, and nothing at all for reasoning models.
        seed: for providers that sample reproducibly.
        reasoning_effort: of reasoning models.
        max_output_tokens: the most an answer may take, thinking included.
        endpoint: what keys call the server; None for its base_url. Name it where the same server
            is reached by changing addresses (a tunnel, a free port).
        extra_body: fields of the request that only this server knows.
    """

    model: str
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    max_output_tokens: int = 2048
    endpoint: str | None = None
    extra_body: Mapping[str, Any] | None = field(default=None, repr=False)
    _open: dict[asyncio.AbstractEventLoop, AsyncOpenAI] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model:
            raise UsageError("judge.model: name the model that judges")
        if self.base_url is None:
            object.__setattr__(self, "base_url", os.environ.get("OPENAI_BASE_URL") or None)
        for name in ("base_url", "endpoint"):
            if (url := getattr(self, name)) is not None:
                object.__setattr__(self, name, Address(url))
        check_whole("judge.max_output_tokens", self.max_output_tokens)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Provider, server, model and sampling; what is not set is not sent."""
        return self._settings(without_variables)

    @property
    def earlier_settings(self) -> tuple[Mapping[str, Any], ...]:
        """The same as version 0.1.0 wrote it: with texts of variables in `extra_body`."""
        return (self._settings(without_secrets),)

    def _settings(self, kept: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> dict[str, Any]:
        base_url = self.base_url or "https://api.openai.com/v1"
        return {
            "provider": "openai",
            "base_url": self.endpoint or base_url.rstrip("/"),
            **self._sampling,
            **({"extra_body": kept(self.extra_body)} if self.extra_body else {}),
        }

    @property
    def secrets(self) -> list[str]:
        """The key, and what else of what is sent is nobody's business."""
        sent = {"api_key": os.environ.get(self.api_key_env, ""), "url": self.base_url}
        return [*secrets_in(sent), *secrets_in(self.extra_body)]

    async def ask(self, request: Request) -> Answer | Failure:
        """Ask once; the client's own retries are off."""
        import openai

        from kragx.judging.clients.http import UnreadableError

        options: dict[str, Any] = {
            **self._sampling,
            "messages": [{"role": role, "content": text} for role, text in request.messages],
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "judgement",
                    "strict": True,
                    "schema": dict(request.schema),
                },
            },
            "timeout": openai.Timeout(request.timeout, connect=min(_CONNECT, request.timeout)),
            "extra_body": dict(self.extra_body) if self.extra_body else None,
        }
        # Named exceptions only: anything else (a recorded test that lacks this request, a mistake
        # in kragx) must end the run, not pass for a judgement that failed.
        try:
            # The whole of it: a server that sends on and on, a byte at a time, is no answer either.
            async with asyncio.timeout(request.timeout):
                completions = self._client().chat.completions
                response = (await completions.with_raw_response.create(**options)).http_response
        except TimeoutError:
            return Failure("timeout", f"no answer in {request.timeout:g} s", again=True)
        except openai.APIStatusError as error:
            response = error.response
        except openai.APIError as error:
            return failed(error)
        except UnreadableError as error:
            return Failure("api_error", str(error), again=True)
        return read_response(response.status_code, response.headers, response.content)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._open.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    @property
    def _sampling(self) -> dict[str, Any]:
        temperature = self.temperature
        if temperature is None and not _REASONING.search(self.model):
            temperature = 0.0
        options = {
            "model": self.model,
            "temperature": temperature,
            "seed": self.seed,
            "reasoning_effort": self.reasoning_effort,
            "max_completion_tokens": self.max_output_tokens,
        }
        return {name: value for name, value in options.items() if value is not None}

    def _client(self) -> AsyncOpenAI:
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            from openai import AsyncOpenAI

            from kragx.judging.clients.http import BoundedClient

            key = os.environ.get(self.api_key_env)
            if not key and self.base_url is None:
                raise UsageError(
                    f"judge: no API key; set the environment variable {self.api_key_env}, or "
                    "name a server that needs none with base_url"
                )
            basic = self.base_url.basic if isinstance(self.base_url, Address) else None
            # How often to ask is the runner's business alone.
            self._open[loop] = AsyncOpenAI(
                api_key=key or "none",
                base_url=self.base_url,
                default_headers={"Authorization": basic} if basic else None,
                max_retries=0,
                http_client=BoundedClient(),
            )
        return self._open[loop]
