"""Judge through any LangChain chat model that can give structured output."""

import asyncio
import hashlib
import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kragx.data.formats.jsonl import foreign_json
from kragx.ground.errors import DataError, UsageError
from kragx.ground.event_loop import run_on_loop
from kragx.ground.http import UnreadableError, bounded, listening
from kragx.ground.options import plain_attributes
from kragx.ground.plugins import without_secrets
from kragx.ground.secrets import BareUrl, secrets_in
from kragx.judging.client import Answer, Failure, Request, Usage
from kragx.judging.clients.responses import UNREAD, failed, outcome, read_response, text_of
from kragx.judging.question import essential

_NAME = "judgement"
"""What the schema of an answer is called, and the tool that is called with one."""
_NAMES = ("model", "model_name", "model_id", "deployment_name", "azure_deployment")
_OPTIONS = ("temperature", "seed", "top_p", "max_tokens", "reasoning_effort")
_MORE = (
    *("top_k", "max_completion_tokens", "max_output_tokens", "num_predict", "num_ctx", "stop"),
    *("presence_penalty", "frequency_penalty", "repeat_penalty", "verbosity", "reasoning"),
    *("thinking", "thinking_budget", "model_kwargs", "extra_body", "api_version"),
    *("openai_api_version", "deployment_name", "azure_deployment"),
)
"""Further options on which answers depend; in keys only where somebody gave them."""
_NO_MATTER = {"max_retries", "timeout", "request_timeout", "verbose"}
"""Arguments on which no answer depends."""
_ADDRESSES = ("base_url", "openai_api_base", "endpoint_url", "azure_endpoint")
_ENDINGS = ("finish_reason", "stop_reason", "done_reason")
_OPENAI, _ANTHROPIC, _OLLAMA = "langchain_openai", "langchain_anthropic", "langchain_ollama"
_GEMINI = "langchain_google_genai"

_PACKAGES = frozenset(
    {
        *("openai", "anthropic", "ollama", "google", "langchain_google_genai", "langchain_core"),
        *("httpx", "httpx2", "aiohttp"),
    }
)
"""What raises errors of its own where a service fails."""


@dataclass(frozen=True)
class LangChainClient:
    """Asks a `BaseChatModel` through its ``with_structured_output``.

    Models of langchain-openai (and what derives from them), langchain-anthropic, langchain-ollama
    and langchain-google-genai are asked through a copy with connections of its own in each event
    loop and without retries, as the runner has its own; the `chat` itself stays as it is. All
    others are asked in one event loop of kragx, whichever the caller's is.

    Attributes:
        chat: the chat model; turn its own retries off (``max_retries=0``) if it is another one.
        name: what keys call the model; None for its own name. Give one where the model says none.
        endpoint: what keys call the server; None for the address that the model carries.
        options: passed to ``with_structured_output``, for example ``{"method": "json_schema"}``;
            left out, what suits the package.
        args: what the model was made with, if that is known; None for what it says of itself.

    Raises:
        UsageError: the model has no name, or cannot give structured output.
    """

    chat: Any = field(repr=False)
    name: str | None = None
    endpoint: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    args: Mapping[str, Any] | None = field(default=None, repr=False)
    _open: "dict[asyncio.AbstractEventLoop, tuple[Any, _Close | None]]" = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not hasattr(self.chat, "with_structured_output"):
            raise UsageError(
                "judge: {kind} is no chat model; pass a langchain-core BaseChatModel",
                kind=type(self.chat).__name__,
            )
        if self.name is None:
            name = self._first(_NAMES)
            if name is None:
                raise UsageError(
                    "judge: {kind} does not say which model it is, and the "
                    "model is part of every judgement's key; pass LangChainClient(chat, name=...)",
                    kind=type(self.chat).__name__,
                )
            object.__setattr__(self, "name", str(name))

    @property
    def settings(self) -> Mapping[str, Any]:
        """The chat model's class, its name, the sampling options and address it carries, and more.

        That is whatever else it was made with, but for secrets that came from variables, and what
        no answer depends on. Texts stand there as hashes.
        """
        options = {name: getattr(self.chat, name, None) for name in _OPTIONS}
        address, kind = self._first(_ADDRESSES), type(self.chat)
        settings = {
            "provider": f"langchain:{kind.__module__}.{kind.__qualname__}",
            "base_url": self.endpoint or (None if address is None else BareUrl(str(address))),
            "model": self.name,
            **{
                name: value
                for name, value in options.items()
                if isinstance(value, (str, int, float)) and not isinstance(value, bool)
            },
            **({"structured_output": dict(self.options)} if self.options else {}),
        }
        args = (
            plain_attributes(self.chat, _MORE) if self.args is None else without_secrets(self.args)
        )
        # Without the limits that would vanish in hashes; as numbers they can be told.
        numbers = {name: value for name, value in args.items() if isinstance(value, (int, float))}
        names = dict.fromkeys(_NAMES, "model") | dict.fromkeys(_ADDRESSES, "base_url")
        hashed = {
            name: value if isinstance(value, (int, float)) else _digest(value)
            for name, value in {**numbers, **essential(args)}.items()
            if name not in _NO_MATTER
            and (BareUrl(value) if isinstance(value, str) else value)
            != settings.get(names.get(name, name))
        }
        return {**settings, "args": hashed} if hashed else settings

    @property
    def secrets(self) -> list[str]:
        """Keys, headers and passwords that the model holds."""
        return [*secrets_in(vars(self.chat)), *secrets_in(self.args)]

    def _first(self, names: Iterable[str]) -> Any:
        """The first of these attributes that the model has."""
        return next(filter(None, (getattr(self.chat, name, None) for name in names)), None)

    async def ask(self, request: Request) -> Answer | Failure:
        """Ask once; what services and connections are known to raise is a failure."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._open[loop] = _connect(self.chat)
        chat, close = self._open[loop]
        if close is None:
            return await run_on_loop(lambda: self._ask(chat, request))
        return await self._ask(chat, request)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        _, close = self._open.pop(asyncio.get_running_loop(), (None, None))
        if close is not None:
            await close()

    async def _ask(self, chat: Any, request: Request) -> Answer | Failure:
        try:
            structured = chat.with_structured_output(
                {"title": _NAME, "description": "A grade with its reason", **request.schema},
                include_raw=True,
                **(self.options or _usual_options(chat)),
            )
        except NotImplementedError:
            raise UsageError(
                "judge: {kind} cannot give structured output, and grades are "
                "never read out of prose; use a model that can",
                kind=type(chat).__name__,
            ) from None
        with listening() as responses:
            try:
                async with asyncio.timeout(request.timeout):
                    output = await structured.ainvoke(list(request.messages))
            except TimeoutError:
                return Failure("timeout", f"no answer in {request.timeout:g} s", again=True)
            except Exception as error:
                # Once a server has answered, what its package raises is the answer's fault.
                if not responses and not _is_of_service(error):
                    raise
                output = error
        response = responses[-1] if responses else None
        if response is None:
            return failed(output) if isinstance(output, Exception) else _read(output)
        reply = response.status_code, response.headers, response.content
        if response.url.path.endswith("/chat/completions"):
            return read_response(*reply, has_tool=True)
        if not isinstance(output, Exception):
            return _repeated_key(response.content) or _read(output)
        return read_response(*reply, error=output)


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# -- connections, retries, forms of answers and errors of single packages --------------------------


_Close = Callable[[], Awaitable[None]]


def _connect(chat: Any) -> tuple[Any, _Close | None]:
    """A copy with connections of its own and without retries, where that is known to be possible.

    Beside it what closes the connections; None for a model that keeps those that it has.

    Packages share connections among all their models in a process, which may be in use in other
    event loops. A model that was given connections (``http_async_client``, a proxy) keeps them.
    """
    package = _package_of(chat)
    match package:
        case "langchain_ollama":
            copy = _made_again(chat, validate_model_on_init=False)
            bounded(copy._async_client._client)
            return copy, copy._async_client.close
        case "langchain_google_genai":
            copy = _made_again(chat, max_retries=1)  # they count the first attempt
            api = copy.client._api_client
            if api._async_httpx_client is not None:
                import httpx

                # Over aiohttp most versions ask again by themselves, and no body is bounded.
                api._use_aiohttp = lambda: False
                api._async_httpx_client = bounded(httpx.AsyncClient())
            return copy, copy.client.aio.aclose
    name = "_async_client" if package == _ANTHROPIC else "root_async_client"
    sdk: Any = getattr(chat, name, None)
    if not hasattr(sdk, "with_options"):
        return chat, None
    http_client = None
    if getattr(chat, "http_async_client", None) is None:
        proxy = getattr(chat, "anthropic_proxy", None)
        modules = (kind.__module__.partition(".")[0] for kind in type(sdk).__mro__)
        module = next(sys.modules[name] for name in modules if name in ("openai", "anthropic"))
        http_client = bounded(module.DefaultAsyncHttpxClient(**({"proxy": proxy} if proxy else {})))
    sdk = sdk.with_options(max_retries=0, **({"http_client": http_client} if http_client else {}))
    copy = chat.model_copy()
    copy.__dict__[name] = sdk  # of Anthropic a cached property
    if name == "root_async_client":
        copy.async_client = sdk.chat.completions
    return copy, http_client.aclose if http_client else None


def _package_of(chat: Any) -> str:
    """The LangChain package that a model or what it derives from is of; empty for another."""
    packages = {kind.__module__.partition(".")[0] for kind in type(chat).__mro__}
    return next((name for name in (_OPENAI, _ANTHROPIC, _OLLAMA, _GEMINI) if name in packages), "")


def _made_again(chat: Any, **changes: Any) -> Any:
    options = {name: getattr(chat, name) for name in chat.model_fields_set if name != "client"}
    return type(chat)(**options | changes)


def _usual_options(chat: Any) -> dict[str, Any]:
    """How an answer's form is demanded: what a decoder keeps to, before a call of a tool.

    Claude gets a schema where langchain-anthropic knows that the model takes one. What is not
    named here has its own default.
    """
    package, profile = _package_of(chat), getattr(chat, "profile", None) or {}
    if package == _ANTHROPIC and profile.get("structured_output"):
        return {"method": "json_schema"}
    return {"strict": True} if package == _OPENAI else {}


def _is_of_service(error: Exception) -> bool:
    """Whether it is what chat models raise for want of a good answer."""
    packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    usual = (TimeoutError, ConnectionError, UnreadableError, *UNREAD)
    return isinstance(error, usual) or not packages.isdisjoint(_PACKAGES)


# -- what a model said -----------------------------------------------------------------------------


def _repeated_key(body: bytes) -> Failure | None:
    """What packages pass over: a key that stands twice in an object of a response."""
    try:
        foreign_json(body.decode(), strict=True)
    except DataError as error:
        return Failure("invalid_json", str(error))
    except ValueError:
        return None
    return None


def _read(output: Any) -> Answer | Failure:
    raw, parsed = output["raw"], output["parsed"]
    about = getattr(raw, "response_metadata", None) or {}
    usage = getattr(raw, "usage_metadata", None) or {}
    calls, wrong = (getattr(raw, name, None) for name in ("tool_calls", "invalid_tool_calls"))
    # Of a text only what was said counts: langchain-core's parsers complete what is cut off.
    text = text_of(getattr(raw, "content", None)) or None
    if calls:
        text = json.dumps(calls[0]["args"], ensure_ascii=False)
    elif text is None and wrong:  # the call of a tool that is no JSON
        text = str(wrong[0].get("args"))
    elif text is None and isinstance(parsed, Mapping):
        text = json.dumps(dict(parsed), ensure_ascii=False)
    # Of OpenAI's responses, and of a prompt that Gemini does not answer.
    details = about.get("incomplete_details") or about.get("prompt_feedback") or {}
    endings = (*map(about.get, _ENDINGS), details.get("reason"), details.get("block_reason"))
    return outcome(
        text,
        next(filter(None, endings), None),
        (getattr(raw, "additional_kwargs", None) or {}).get("refusal"),
        usage=Usage(
            prompt=usage.get("input_tokens"),
            completion=usage.get("output_tokens"),
            cached=(usage.get("input_token_details") or {}).get("cache_read"),
            reasoning=(usage.get("output_token_details") or {}).get("reasoning"),
        ),
        model=about.get("model_name") or about.get("model"),
        fingerprint=about.get("system_fingerprint"),
    )
