"""Retrievers that are servers: one request of HTTP a question."""

import asyncio
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote, urlsplit
from weakref import WeakKeyDictionary

from kragx.data import Doc
from kragx.evaluation.answers import QUOTED, AnswerPaths, quoted
from kragx.ground.errors import DataError, RetrieverError, UsageError
from kragx.ground.event_loop import run_on_loop, run_sync
from kragx.ground.http import UnreadableError, bounded, retry_after, trusted, wait_before
from kragx.ground.options import (
    a_mapping,
    check_options,
    is_text,
    one_of,
    optional,
    some_seconds,
    whole,
)
from kragx.ground.plugins import variables
from kragx.ground.secrets import Secrets, secrets_in

if TYPE_CHECKING:
    import httpx

QUERY = "{query}"
"""Stands for the question."""

HISTORY = "{history}"
"""As a whole text in `json`: stands for the list of what was said before the question."""

LONGEST_WAIT = 60.0
"""Seconds that a server may ask for before another attempt; one that asks for more has failed."""

MOST_BYTES = 32 << 20
"""Of an answer: a thousand documents of 30 KB each."""


def _address(value: Any) -> Any:
    is_http = is_text(value) and re.match(r"https?://[^/\s]", value)
    if not is_http and not (is_text(value) and variables(value)):
        raise UsageError(
            "{value!r} is no address", remedy="it begins with http:// or https://", value=value
        )
    return value


@dataclass(frozen=True, eq=False)
class HttpRetriever(AnswerPaths):
    """A server that answers questions over HTTP with JSON.

        HttpRetriever(
            "https://search.example.com/docs/_search",
            json={"query": {"match": {"body": "{query}"}}, "size": 10},
            documents="$.hits.hits[*]", text="_source.body", id="_id", score="_score",
        )

    ``{query}`` stands for the question wherever it stands in `json`, `params` and `url` (there
    quoted), also within a longer text. At least one is needed. A text ``{history}`` in `json`
    stands for the list of what was said before, ``[{"role": ..., "content": ...}]``. No other brace
    means anything.

    Attributes:
        url: the address, ``http://`` or ``https://``; ``user:password@`` in it is sent as such.
        method: default: POST with `json`, else GET.
        json: the body of the request.
        params: what stands behind ``?`` in the address.
        headers: keys and tokens, as a rule; no text that kragx writes has their values.
        documents: where the list of documents is: a path (`steps_of`); default: the answer is it.
        text: where a document's text is, from the document on.
        id: the same of its id; a whole number is taken as its digits.
        score: the same of its score. The order of the list is the ranking, whatever they say.
        metadata: the same of a mapping, or for each field of the metadata a path.
            Without `text` and `id` a document is a text, or a mapping with `id`, `text`, `score`
            and `metadata`.
        timeout: seconds for each request, from the first byte to the last.
        retries: how often a question is asked again after 429, 5xx and broken connections, with
            growing pauses, or when the server says (`LONGEST_WAIT` at most). A question's time has
            all of it. Once a question has used them up, those after it are asked once, until the
            server is well again: one that is down does not cost hours.

    Redirects are not followed: a key is for the server that was named. Certificates are those that
    ``SSL_CERT_FILE`` names, or usual ones; proxies are those of the environment.

    Raises:
        UsageError: an option is wrong; its name is the error's field.
    """

    url: Annotated[str, _address]
    method: Annotated[
        Literal["GET", "POST", "PUT"] | None, optional(one_of("GET", "POST", "PUT"))
    ] = None
    json: Any = None
    params: Annotated[Mapping[str, Any] | None, optional(a_mapping)] = field(default=None)
    headers: Annotated[Mapping[str, str] | None, optional(a_mapping)] = field(default=None)
    timeout: Annotated[float, some_seconds] = 30.0
    retries: Annotated[int, whole(0, 20)] = 3
    _clients: WeakKeyDictionary[Any, Any] = field(default_factory=WeakKeyDictionary, init=False)
    _is_down: threading.Event = field(default_factory=threading.Event, init=False)
    _secrets: Secrets = field(init=False)

    def __post_init__(self) -> None:
        check_options(self)
        texts = [self.url, self.params, self.json]
        # Wherever a question has a place, the two differ, however deep it stands.
        if _filled(texts, query="") == _filled(texts, query=QUERY):
            raise UsageError(
                "{query} stands nowhere in url, params and json, so no question would be sent",
                remedy='write it in quotes, as json: {{query: "{query}"}}',
                query=QUERY,
            )
        if self.json is not None and self.method == "GET":
            raise UsageError("GET sends no body", field="json", remedy="use params, or POST")
        fields = {"headers": self.headers, "params": self.params, "json": self.json}
        secrets = Secrets.of().also(secrets_in({**fields, "url": self.url}))
        object.__setattr__(self, "_secrets", secrets)

    def __repr__(self) -> str:  # without keys
        return f"{type(self).__name__}({self.place!r})"

    @property
    def place(self) -> str:
        """The address as people are told it: without login and what stands behind ``?``."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def run_settings(self) -> dict[str, Any]:
        """What results record: the options that are no defaults, without what is secret."""
        options = {
            option.name: getattr(self, option.name)
            for option in fields(self)
            if option.init and getattr(self, option.name) != option.default
        }
        return {"http": self._secrets.masked(options)}

    @property
    def takes_history(self) -> bool:
        """Whether the server is sent what was said before a question."""
        return bool(_filled(self.json, QUERY, history=[]) != _filled(self.json, QUERY))

    def invoke(
        self, question: str, config: object = None, *, history: Sequence[Mapping[str, str]] = ()
    ) -> list[Doc]:
        """The ranked documents for a question; `config`, which LangChain passes, is not used.

        Args:
            question: what is asked.
            config: not used.
            history: what was said before it.

        Raises:
            RetrieverError: the server cannot be reached in time, or refuses.
            DataError: it answers with something else than documents.
        """
        return run_sync(lambda: self._documents(question, history))

    async def ainvoke(
        self, question: str, config: object = None, *, history: Sequence[Mapping[str, str]] = ()
    ) -> list[Doc]:
        """`invoke` for asynchronous code."""
        # Connections belong to the event loop in which they were opened: this one stays.
        return await run_on_loop(lambda: self._documents(question, history))

    async def _documents(self, question: str, history: Sequence[Mapping[str, str]]) -> list[Doc]:
        """The documents, asked for again where the server is busy or the connection breaks."""
        with self._secrets.guarding():
            retries, attempt = 0 if self._is_down.is_set() else self.retries, 0
            while True:
                attempt += 1
                try:
                    response = await self._response(question, history)
                except _BusyError as busy:
                    failure, wait = busy.args
                    if attempt > retries:
                        self._is_down.set()
                        raise failure from busy.__cause__
                    await asyncio.sleep(wait_before(attempt, wait))
                else:
                    self._is_down.clear()
                    return self._read(response)

    async def _response(
        self, question: str, history: Sequence[Mapping[str, str]]
    ) -> "httpx.Response":
        """What the server says to one attempt, within its time.

        Raises:
            _BusyError: nothing that a later attempt may not change.
        """
        import httpx

        try:
            # Slashes are quoted as well, which would lead to another path of the server.
            url = httpx.URL(self.url.replace(QUERY, quote(question, safe="")))
            async with asyncio.timeout(self.timeout):
                response: httpx.Response = await self._client().request(
                    self._method,
                    # httpx's own `params` would take the place of what stands behind ? there.
                    url.copy_merge_params(_filled(self.params, question)) if self.params else url,
                    headers={name: str(value) for name, value in (self.headers or {}).items()},
                    json=_filled(self.json, question, list(history)),
                )
        except (httpx.InvalidURL, UnicodeError, TypeError, ValueError) as error:
            raise self._failed(f"the request cannot be made: {error}") from None
        except (TimeoutError, httpx.TimeoutException):
            raise self._failed(f"no whole answer within {self.timeout:g} s") from None
        except UnreadableError as error:
            raise DataError(
                "{request} answered with {error}", request=self._request, error=error
            ) from None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            why = f"no connection: {type(error).__name__}" + (f": {error}" if str(error) else "")
            raise _BusyError(self._failed(why), 0.0) from error
        except httpx.TransportError as error:
            raise self._failed(f"the request cannot be sent: {error}") from None
        if response.status_code == 429 or response.status_code >= 500:
            wait = retry_after(response.headers) or 0.0
            if wait > LONGEST_WAIT:
                problem = f"{_status(response)}, and to come back in {wait:.0f} s"
                raise self._failed(problem)
            raise _BusyError(self._refused(response), wait)
        return response

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            import httpx

            client: Any = httpx.AsyncClient(
                verify=trusted(httpx.AsyncClient),
                timeout=None,  # each attempt has its own, as a whole
                limits=httpx.Limits(max_connections=None),  # how many at once is the caller's
            )
            self._clients[loop] = bounded(client, MOST_BYTES)
        return self._clients[loop]

    @property
    def _method(self) -> str:
        return self.method or ("GET" if self.json is None else "POST")

    @property
    def _request(self) -> str:
        return f"{self._method} {self.place}"

    def _failed(self, problem: str) -> RetrieverError:
        return RetrieverError("{request}: {why}", request=self._request, why=problem)

    def _refused(self, response: "httpx.Response") -> RetrieverError:
        return RetrieverError(
            "{request} answered {status}; {body}",
            request=self._request,
            status=_status(response),
            body=quoted(response.text),
        )

    def _read(self, response: "httpx.Response") -> list[Doc]:
        """The documents in an answer."""
        if response.is_redirect:
            raise RetrieverError(
                "{request} answered {status}, to {location}",
                remedy="write that address, if it is the right one: no redirect is followed",
                request=self._request,
                status=_status(response),
                location=response.headers.get("location", "nowhere")[:QUOTED],
            )
        if not response.is_success:
            raise self._refused(response)
        return self.read_json(
            response.text,
            f"{self._request} answered {response.status_code}",
            response.headers.get("content-type", ""),
            remedy="say where its text and id are, as text: _source.body, id: _id",
        )


class _BusyError(Exception):
    """A server has no answer now.

    Its arguments are what the question fails with, if none comes later, and the seconds that the
    server asks for.
    """


def _filled(value: Any, query: str, history: Any = HISTORY) -> Any:
    """A value with the question within its texts, and the history in place of a whole one."""
    match value:
        case str():
            return history if value == HISTORY else value.replace(QUERY, query)
        case Mapping():
            return {name: _filled(entry, query, history) for name, entry in value.items()}
        case list() | tuple():
            return [_filled(entry, query, history) for entry in value]
    return value


def _status(response: "httpx.Response") -> str:
    return f"{response.status_code} {response.reason_phrase}".strip()
