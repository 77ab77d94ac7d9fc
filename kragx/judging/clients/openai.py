"""Judge through the official `openai` client, hence through any OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, get_args
from urllib.parse import urlsplit

from kragx.ground.errors import UsageError, inside
from kragx.ground.http import UnreadableError, as_utf_8, bounded, trusted
from kragx.ground.options import check_options, fitting, is_text, number, one_of, optional, whole
from kragx.ground.plugins import FromVariable, named_secret, without_variables
from kragx.ground.printing import message
from kragx.ground.secrets import BareUrl, secrets_in
from kragx.judging.client import Answer, Failure, Request
from kragx.judging.clients.dialect import AnswerFormat, Dialect, LimitName, Speaker
from kragx.judging.clients.responses import failed, read_response

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_SHOWN = 20_000  # characters of an error that are looked at
_CONNECT = 10.0  # seconds; what takes longer is no server that listens

# Reasoning models refuse a temperature, so it is left out for them unless asked for.
_REASONING = re.compile(r"(^|/)(o\d|gpt-([5-9]|\d\d))(?!.*chat)")
_KEY = "OPENAI_API_KEY"
_ALTERNATIVES = 10  # of each token; servers give 5 to 20 at most
_OF_CALLERS = frozenset({"x-title", "http-referer", "referer", "user-agent"})
"""Headers that say who asks; no answer depends on them."""


_text = fitting(is_text, "{value!r} is no text")
_model = fitting(is_text, "{value!r} names no model; name the model that judges")


def _temperature(value: Any) -> float | str | None:
    """A number of at least 0; ``none`` for none."""
    if value is None or value == "none":
        return value  # type: ignore[no-any-return]  # one of these two
    return number(  # type: ignore[no-any-return]
        lambda degree: 0 <= degree < 1000,
        "{value!r} is not a number of at least 0, nor 'none' (which sends none)",
    )(value)


def _address(value: Any) -> str:
    """Where a server is."""
    try:
        is_whole = is_text(value) and value.startswith(("http://", "https://"))
        is_whole = is_whole and bool(urlsplit(value).hostname) and urlsplit(value).port != 0
    except ValueError:
        is_whole = False
    # A `BareUrl` has no login: what stands before an @ yet is a part of a password.
    is_parted = re.search("[^/]@", str(value))
    if not is_whole or is_parted:
        start = "" if is_parted or "@" in str(value) else f"{value!r} is "
        raise UsageError(
            "{start}no address of a server",
            remedy="write for example http://localhost:8000/v1; / and @ in a password as %2F and "
            "%40",
            start=start,
        )
    return value  # type: ignore[no-any-return]  # a text, of what kind ever


def _mapping(value: Any) -> Mapping[str, Any]:
    """Names with values."""
    if not isinstance(value, Mapping) or not all(map(is_text, value)):
        raise UsageError("a mapping of names is expected, not {kind}", kind=type(value).__name__)
    return value


def _headers(value: Any) -> Mapping[str, str]:
    """Names with texts, as HTTP can send them. None is quoted, as they may be secrets."""
    with inside("headers"):
        for name, content in _mapping(value).items():
            if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
                raise UsageError("{name!r} is no name of a header", name=name)
            if not is_text(content) or not content.isprintable() or not content.isascii():
                remedy = message("write {{X-Title: my project}}; a secret as ${{NAME}}")
                if isinstance(content, FromVariable) and not is_text(content):
                    remedy = message(
                        "set the environment variable: {name} is empty", name=content.written
                    )
                raise UsageError("no text of printable ASCII", field=name, remedy=remedy)
    return value  # type: ignore[no-any-return]  # a mapping of texts, as was checked


@dataclass(frozen=True)
class OpenAIClient:
    """Asks for a chat completion with a strict JSON schema, or what of it the server takes.

    Attributes:
        model: the model's name; of Azure the deployment's.
        base_url: of an OpenAI-compatible server; None for OPENAI_BASE_URL, else OpenAI's own. A
            user and password in it are sent as a Basic header, and shown and stored nowhere.
        api_key_env: the environment variable that holds the API key; no key is ever stored.
        temperature: 0 if left out; ``none`` sends none. Models that reason refuse one: if it is
            left out, it is not sent to those known by name, nor to a server that refuses it.
        seed: for providers that sample reproducibly.
        reasoning_effort: of reasoning models.
        max_output_tokens: the most an answer may take, thinking included.
        endpoint: what keys call the server; None for its base_url. Name it where the same server
            is reached by changing addresses (a tunnel, a free port).
        extra_body: fields of the request that only this server knows.
        answer_format: how the answer's form is demanded: ``json_schema``, ``json_object`` (whose
            schema the system message shows) or ``tool``; None for the first that the server takes.
        limit_name: what the server calls `max_output_tokens`: ``max_completion_tokens`` or
            ``max_tokens``; None for the first that it does not refuse.
        headers: sent with every request, and shown and stored nowhere. Another text is another
            key, but of secrets and of what says who asks (X-Title).
        logprobs: whether the probabilities of the grade's alternatives are asked for; what grade
            they expect is stored with the judgement.

    Raises:
        UsageError: an option is wrong.
    """

    model: Annotated[str, _model]
    base_url: Annotated[str | None, optional(_address)] = None
    api_key_env: Annotated[str, _text] = _KEY
    temperature: Annotated[float | str | None, _temperature] = None
    seed: Annotated[int | None, optional(whole(-1, 2**63 - 1))] = None
    reasoning_effort: Annotated[str | None, optional(_text)] = None
    max_output_tokens: Annotated[int, whole(1)] = 2048
    endpoint: Annotated[str | None, optional(_text)] = None
    extra_body: Annotated[Mapping[str, Any] | None, optional(_mapping)] = field(
        default=None, repr=False
    )
    answer_format: Annotated[AnswerFormat | None, optional(one_of(*get_args(AnswerFormat)))] = None
    limit_name: Annotated[LimitName | None, optional(one_of(*get_args(LimitName)))] = None
    headers: Annotated[Mapping[str, str] | None, optional(_headers)] = field(
        default=None, repr=False
    )
    logprobs: bool = False
    _open: dict[asyncio.AbstractEventLoop, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for name, url in (
            ("base_url", self.base_url or os.environ.get("OPENAI_BASE_URL") or None),
            ("endpoint", self.endpoint),
        ):
            object.__setattr__(self, name, BareUrl(url) if isinstance(url, str) else url)
        with inside("judge"):
            check_options(self)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Provider, server, model and sampling; what is not set is not sent."""
        base_url = self.base_url or "https://api.openai.com/v1"
        # The strict schema is what is asked for first anyway.
        form = None if self.answer_format == "json_schema" else self.answer_format
        hashes = {
            name.lower(): hashlib.sha256(text.encode()).hexdigest()[:16]
            for name, text in (self.headers or {}).items()
            if not named_secret(name) and name.lower() not in _OF_CALLERS
        }
        extra_body = without_variables(self.extra_body or {})
        options = {"extra_body": extra_body, "answer_format": form, "headers": hashes}
        return {
            "provider": "openai",
            "base_url": self.endpoint or base_url.rstrip("/"),
            **self._sampling,
            **{name: value for name, value in options.items() if value},
        }

    @property
    def secrets(self) -> list[str]:
        """The key, and what else of what is sent is nobody's business."""
        sent = {"api_key": os.environ.get(self.api_key_env, "").strip(), "url": self.base_url}
        return [*secrets_in(sent | {"headers": self.headers}), *secrets_in(self.extra_body)]

    @cached_property
    def _speaker(self) -> Speaker:
        """What is known of how this server has to be asked."""
        named = {
            "answer_format": self.answer_format,
            "limit_name": self.limit_name,
            "temperature": self.temperature is not None,
            "logprobs": self.logprobs,
        }
        return Speaker({name: value for name, value in named.items() if value})

    async def ask(self, request: Request) -> Answer | Failure:
        """Ask once; the client's own retries are off.

        A request whose form the server refuses is made again at once, in another one.
        """
        speaker = self._speaker
        while True:
            spoken = speaker.dialect
            response = await self._response(request, spoken)
            if isinstance(response, Failure):
                return response
            status, words = response.status_code, response.text[:_SHOWN]
            if speaker.learns(status, words, spoken):
                continue
            has_tool = spoken.answer_format == "tool"
            reply = read_response(status, response.headers, response.content, has_tool=has_tool)
            if isinstance(reply, Failure) and status >= 400:
                return reply
            return speaker.heard(reply, spoken, request.schema["required"])

    async def _response(self, request: Request, dialect: Dialect) -> Any:
        """The response of HTTP to one request in a dialect, or a `Failure` if none came."""
        import openai

        options = dialect.fields(request, self._sampling) | {
            "timeout": openai.Timeout(request.timeout, connect=min(_CONNECT, request.timeout)),
            "extra_body": dict(self.extra_body or {}),
        }
        # Named exceptions only: anything else (a recorded test that lacks this request, a mistake
        # in kragx) must end the run, not pass for a judgement that failed.
        try:
            # The whole of it: a server that sends on and on, a byte at a time, is no answer either.
            async with asyncio.timeout(request.timeout):
                completions = self._connected().chat.completions.with_raw_response
                return (await completions.create(**options)).http_response
        except TimeoutError:
            return Failure("timeout", f"no answer in {request.timeout:g} s", again=True)
        except openai.APIStatusError as error:
            return error.response
        except (openai.APIError, UnreadableError) as error:  # openai 1 wraps it in one of its own
            return failed(error)

    # -- what batches need -----------------------------------------------------------------------

    @property
    def dialect(self) -> Dialect:
        """How the server is asked, as far as it is known."""
        return self._speaker.dialect

    def body(self, request: Request) -> Mapping[str, Any]:
        """The body of a request, as `ask` sends it."""
        return {**self.dialect.fields(request, self._sampling), **(self.extra_body or {})}

    def connected(self) -> AsyncOpenAI:
        """An official client of one's own, which reads files of any size, and asks again."""
        import openai

        hooks = {"response": [as_utf_8]}
        http_client = openai.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks=hooks)
        return self._make_client(http_client).with_options(max_retries=2)

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
            "temperature": None if temperature == "none" else temperature,
            "seed": self.seed,
            "reasoning_effort": self.reasoning_effort,
            "max_completion_tokens": self.max_output_tokens,
            **({"logprobs": True, "top_logprobs": _ALTERNATIVES} if self.logprobs else {}),
        }
        return {name: value for name, value in options.items() if value is not None}

    def _connected(self) -> AsyncOpenAI:
        """The official client of the running event loop, for bodies within bounds."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            from openai import DefaultAsyncHttpxClient

            http_client = DefaultAsyncHttpxClient(verify=trusted(DefaultAsyncHttpxClient))
            self._open[loop] = self._make_client(bounded(http_client))
        client: AsyncOpenAI = self._open[loop]
        return client

    def _make_client(self, http_client: Any) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        basic = self.base_url.basic if isinstance(self.base_url, BareUrl) else None
        login = {"Authorization": basic} if basic else {}
        return AsyncOpenAI(
            base_url=self.base_url,
            api_key=self._api_key(),
            max_retries=0,  # how often to ask is the runner's business alone
            http_client=http_client,
            default_headers=login | {n: str(t) for n, t in (self.headers or {}).items()},
        )

    def _api_key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise UsageError(
                "judge: the environment variable {api_key_env} holds signs that no key has",
                api_key_env=self.api_key_env,
            )
        if not key and (self.base_url is None or self.api_key_env != _KEY):
            raise UsageError(
                "judge: no API key; set the environment variable {variable}; or, if the server "
                "needs none, name its base_url and leave api_key_env out",
                variable=self.api_key_env,
            )
        return key or "none"
