"""What is known of single LangChain packages: connections, retries, forms of answers, errors."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from kragx.judging.client import Failure
from kragx.judging.clients.failures import UNREAD
from kragx.judging.clients.http import UnreadableError, bounded
from kragx.printing import phrase
from kragx.warned import warn

# -- connections and retries -------------------------------------------------------------------


@dataclass(frozen=True)
class Connected:
    """A chat model that is asked.

    Attributes:
        chat: the model.
        close: closes its connections, if they are its own.
    """

    chat: Any
    close: Callable[[], Awaitable[None]] | None = None


def connect(chat: Any) -> Connected:
    """A copy with connections of its own and without retries, where that is known to be possible.

    Packages share connections among all their models in a process, which may be in use in other
    event loops. A model that was given connections (``http_async_client``, a proxy) keeps them.
    """
    match package_of(chat):
        case "langchain_ollama":
            copy = _made_again(chat, validate_model_on_init=False)
            bounded(copy._async_client._client)
            return Connected(copy, copy._async_client.close)
        case "langchain_google_genai":
            copy = _made_again(chat, max_retries=1)  # they count the first attempt
            api = copy.client._api_client
            if api._async_httpx_client is not None:
                # Over aiohttp most versions ask again by themselves, and no body is bounded.
                api._use_aiohttp = lambda: False
                bounded(api._async_httpx_client)
            return Connected(copy, copy.client.aio.aclose)
    name = "_async_client" if package_of(chat) == "langchain_anthropic" else "root_async_client"
    sdk: Any = getattr(chat, name, None)
    if not hasattr(sdk, "with_options"):
        _warn_of_retries(chat)
        return Connected(chat)
    http_client = None
    if getattr(chat, "http_async_client", None) is None:
        proxy = getattr(chat, "anthropic_proxy", None)
        kind = _package(sdk).DefaultAsyncHttpxClient
        http_client = bounded(kind(**({"proxy": proxy} if proxy else {})))
    sdk = sdk.with_options(max_retries=0, **({"http_client": http_client} if http_client else {}))
    copy = chat.model_copy()
    copy.__dict__[name] = sdk  # of Anthropic a cached property
    if name == "root_async_client":
        copy.async_client = sdk.chat.completions
    return Connected(copy, http_client.aclose if http_client else None)


def package_of(chat: Any) -> str:
    """The LangChain package that a model or what it derives from is of; empty for another."""
    packages = {kind.__module__.partition(".")[0] for kind in type(chat).__mro__}
    preferred = ("langchain_openai", "langchain_anthropic", "langchain_ollama")
    return next((name for name in (*preferred, "langchain_google_genai") if name in packages), "")


def _made_again(chat: Any, **changes: Any) -> Any:
    options = {name: getattr(chat, name) for name in chat.model_fields_set if name != "client"}
    return type(chat)(**options | changes)


def _package(sdk: Any) -> Any:
    """The module that a client of `openai` or `anthropic` is of."""
    packages = (kind.__module__.partition(".")[0] for kind in type(sdk).__mro__)
    return next(sys.modules[name] for name in packages if name in ("openai", "anthropic"))


def _warn_of_retries(chat: Any) -> None:
    retries = getattr(chat, "max_retries", None)
    if isinstance(retries, int) and retries > 0:
        warn(
            phrase(
                "judge: {model} retries up to {n} times by itself, for each of the judge's "
                "attempts, and waits meanwhile; make it with max_retries=0",
                model=type(chat).__name__,
                n=retries,
            ),
            UserWarning,
        )


# -- the form of an answer ---------------------------------------------------------------------


def usual_options(chat: Any) -> dict[str, Any]:
    """How an answer's form is demanded: what a decoder keeps to, before a call of a tool.

    Claude gets a schema where langchain-anthropic knows that the model takes one. What is not
    named here has its own default.
    """
    match package_of(chat):
        case "langchain_openai":
            return {"strict": True}
        case "langchain_anthropic" if (getattr(chat, "profile", None) or {}).get(
            "structured_output"
        ):
            return {"method": "json_schema"}
    return {}


# -- errors ------------------------------------------------------------------------------------

# What chat models raise when the service fails, by the module that it belongs to.
_SERVICE_ERRORS = (
    ("openai", "OpenAIError"),
    ("anthropic", "APIError"),
    ("ollama", "ResponseError"),
    ("google.genai.errors", "APIError"),
    ("langchain_google_genai.chat_models", "ChatGoogleGenerativeAIError"),
    ("langchain_core.exceptions", "LangChainException"),
    ("httpx", "RequestError"),
    ("httpx", "HTTPStatusError"),
    ("httpx2", "RequestError"),
    ("httpx2", "HTTPStatusError"),
    ("aiohttp", "ClientError"),
)


def expected() -> tuple[type[Exception], ...]:
    """What chat models raise for want of a good answer, of those packages that are loaded."""
    errors = (getattr(sys.modules.get(module), name, None) for module, name in _SERVICE_ERRORS)
    return (TimeoutError, ConnectionError, UnreadableError, *UNREAD, *filter(None, errors))


def with_remedy(failure: Failure, chat: Any) -> Failure:
    """A failure with what helps, where only the package knows it."""
    if package_of(chat) != "langchain_ollama" or not failure.fatal:
        return failure
    return replace(failure, detail=f"{failure.detail} (ollama pull {chat.model} fetches it)")
