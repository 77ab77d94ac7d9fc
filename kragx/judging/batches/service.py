"""A provider's files and batches, with OpenAI's protocol."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kragx.errors import JudgingError
from kragx.secrets import Secrets

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MARK = "kragx"
"""Where a batch's metadata say which of ours it is."""

ENDED = ("completed", "expired", "cancelled")
"""Statuses of batches whose answers are there, as many as there are."""

_AGAIN = "nothing is lost: run the same command again"
_REMEDIES = {
    401: "is the key right?",
    403: "may this key use batches?",
    404: "is there a server that knows batches at judge.base_url, and is it the same account?",
}


class RefusedError(JudgingError):
    """The provider has said no: what was asked for was surely not done."""


class GoneError(RefusedError):
    """The provider has not got it, or not any more."""


@dataclass(frozen=True)
class Remote:
    """A batch as the provider sees it.

    Attributes:
        id: the provider's.
        status: its word for how far it is.
        uid: ours, if it is one of ours.
        n_requests, n_answered: as it counts.
        files: of answers, and of errors.
        created: when, in seconds since 1970.
        problems: why it failed.
    """

    id: str
    status: str
    uid: object
    n_requests: int
    n_answered: int
    files: tuple[str, ...]
    created: int
    problems: tuple[str, ...]


class BatchService:
    """What is asked of a provider; each call answers, or says in a `JudgingError` why not.

    Args:
        client: talks to it.
        secrets: what its words may not show.
    """

    def __init__(self, client: AsyncOpenAI, secrets: Secrets) -> None:
        # Asking again does no harm but where a batch is made.
        retrying = client.with_options(max_retries=2)
        self._client = client
        self._files, self._batches = (
            retrying.files.with_raw_response,
            retrying.batches.with_raw_response,
        )
        self._mask = secrets.mask

    async def aclose(self) -> None:
        """Close the connection."""
        await self._client.close()

    async def upload(self, name: str, content: bytes) -> str:
        """Upload a file of requests; its id."""
        file = (name, content, "application/jsonl")
        call = self._files.create(file=file, purpose="batch")
        return self._text(await self._plain("uploading a file", call), "id")

    async def create(self, file: str, endpoint: str, uid: str) -> Remote:
        """Have the requests of a file run.

        Raises:
            RefusedError: it is surely not run. After any other error it may be; see `find`.
        """
        options: Any = {"input_file_id": file, "endpoint": endpoint, "metadata": {_MARK: uid}}
        batches = self._client.batches.with_raw_response
        call = batches.create(completion_window="24h", **options)
        return self._remote(await self._plain("making a batch", call))

    async def find(self, uid: str, since: float) -> Remote | None:
        """The batch with this id of ours, made since then (seconds since 1970), if there is one."""
        after: dict[str, Any] = {}
        while True:
            page = await self._plain("listing batches", self._batches.list(limit=100, **after))
            listed = page.get("data")
            if not isinstance(listed, list):
                raise self._odd("listing batches", page)
            remotes = [self._remote(batch) for batch in listed]
            for remote in remotes:
                if remote.uid == uid:
                    return remote
            # The newest come first; clocks may differ by an hour or so.
            if not page.get("has_more") or not remotes or remotes[-1].created < since - 7200:
                return None
            after = {"after": remotes[-1].id}

    async def look(self, batch: str) -> Remote:
        """How far a batch is.

        Raises:
            GoneError: the provider knows none of that id.
        """
        call = self._batches.retrieve(batch)
        return self._remote(await self._plain(f"looking at {batch}", call))

    async def cancel(self, batch: str) -> None:
        """Have a batch run no further."""
        await self._plain(f"cancelling {batch}", self._batches.cancel(batch))

    async def download(self, file: str) -> bytes:
        """What a file holds.

        Raises:
            GoneError: the provider has not got it.
        """
        return await self._bytes(f"downloading {file}", self._files.content(file))

    async def delete(self, file: str) -> None:
        """Remove a file."""
        await self._plain(f"deleting {file}", self._files.delete(file))

    # -- reading what it says --------------------------------------------------------------------

    async def _plain(self, what: str, call: Awaitable[Any]) -> Mapping[str, Any]:
        """A response's JSON object, as it came: no field of it is taken for granted."""
        content = await self._bytes(what, call)
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self._odd(what, content)
        return value

    async def _bytes(self, what: str, call: Awaitable[Any]) -> bytes:
        with self._saying(what):
            content: bytes = (await call).http_response.content
            return content

    @contextmanager
    def _saying(self, what: str) -> Iterator[None]:
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            status = error.status_code
            kind: type[JudgingError] = GoneError if status == 404 else RefusedError
            if status in (408, 409) or status >= 500:  # it may have been done all the same
                kind = JudgingError
            problem = f"judge: {what} failed: {self._mask(str(error))}"
            raise kind(problem, remedy=_REMEDIES.get(status, "")) from None
        except openai.APIError as error:
            cause = error.__cause__ or error
            problem = f"judge: {what} failed: {type(cause).__name__}: {self._mask(str(cause))}"
            raise JudgingError(problem, remedy=_AGAIN) from None

    def _remote(self, batch: Any) -> Remote:
        if not isinstance(batch, dict):
            raise self._odd("a batch", batch)
        counts = _object(batch.get("request_counts"))
        errors = _object(batch.get("errors")).get("data") or ()
        files = (batch.get("output_file_id"), batch.get("error_file_id"))
        return Remote(
            id=self._text(batch, "id"),
            status=self._text(batch, "status"),
            uid=_object(batch.get("metadata")).get(_MARK),
            n_requests=_whole(counts.get("total")),
            n_answered=_whole(counts.get("completed")) + _whole(counts.get("failed")),
            files=tuple(file for file in files if isinstance(file, str) and file),
            created=_whole(batch.get("created_at")),
            problems=tuple(self._mask(_problem(error)) for error in errors),
        )

    def _text(self, answer: Mapping[str, Any], name: str) -> str:
        value = answer.get(name)
        if not isinstance(value, str) or not value or self._mask(value) != value:
            raise self._odd(f"{name!r}", answer)
        return value

    def _odd(self, what: str, answer: object) -> JudgingError:
        shown = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else repr(answer)
        return JudgingError(
            f"judge: {what}: an answer that kragx cannot read: {self._mask(shown)[:200]}",
            remedy="is there a server that knows batches at judge.base_url?",
        )


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _problem(error: object) -> str:
    if not isinstance(error, dict):
        return str(error)
    line = f" (line {error['line']})" if error.get("line") else ""
    return f"{error.get('code')}: {error.get('message')}{line}"
