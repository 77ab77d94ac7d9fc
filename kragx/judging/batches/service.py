"""A provider's files and batches, with OpenAI's protocol."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AliasPath, BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from kragx.ground.errors import JudgingError
from kragx.ground.secrets import Secrets

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MARK = "kragx"
"""Where a batch's metadata say which of ours it is."""

ENDED = ("completed", "expired", "cancelled")
"""Statuses of batches whose answers are there, as many as there are."""

_REMEDIES = {
    401: "is the key right?",
    403: "may this key use batches?",
    404: "is there a server that knows batches at judge.base_url, and is it the same account?",
}


class BatchRefusedError(JudgingError):
    """The provider has said no: what was asked for was surely not done."""


class GoneError(BatchRefusedError):
    """The provider has not got it, or not any more."""


def _problem(error: object) -> str:
    if not isinstance(error, dict):
        return str(error)
    line = f" (line {error['line']})" if error.get("line") else ""
    return f"{error.get('code')}: {error.get('message')}{line}"


def _counts(name: str) -> Any:
    return Field(validation_alias=AliasPath("request_counts", name))


@dataclass(frozen=True)
class Remote:
    """A batch as the provider sees it, and as it describes it in JSON.

    Attributes:
        id: the provider's.
        status: its word for how far it is.
        uid: ours, if it is one of ours.
        n_requests, n_completed, n_failed: as it counts.
        answers, errors: the files of answers, and of errors.
        created: when, in seconds since 1970.
        problems: why it failed.
    """

    id: Annotated[str, Field(min_length=1)]
    status: str
    uid: Annotated[str | None, Field(validation_alias=AliasPath("metadata", _MARK))] = None
    n_requests: Annotated[int, _counts("total")] = 0
    n_completed: Annotated[int, _counts("completed")] = 0
    n_failed: Annotated[int, _counts("failed")] = 0
    answers: Annotated[str | None, Field(validation_alias="output_file_id")] = None
    errors: Annotated[str | None, Field(validation_alias="error_file_id")] = None
    created: Annotated[int, Field(validation_alias="created_at")] = 0
    problems: Annotated[
        tuple[Annotated[str, BeforeValidator(_problem)], ...],
        BeforeValidator(lambda data: data or ()),
        Field(validation_alias=AliasPath("errors", "data")),
    ] = ()

    @property
    def n_answered(self) -> int:
        """How many requests have come to an end."""
        return self.n_completed + self.n_failed


@dataclass(frozen=True)
class _Page:
    data: tuple[Remote, ...]
    has_more: bool = False


@dataclass(frozen=True)
class _File:
    id: Annotated[str, Field(min_length=1)]


_Said = TypeVar("_Said")


class BatchService:
    """What is asked of a provider; each call answers, or says in a `JudgingError` why not.

    Args:
        client: talks to it.
        secrets: what its words may not show.
    """

    def __init__(self, client: AsyncOpenAI, secrets: Secrets) -> None:
        # Asking again does no harm but where a batch is made.
        retrying = client.with_options(max_retries=2)
        self._client, self._mask = client, secrets.mask
        self._files = retrying.files.with_raw_response
        self._batches = retrying.batches.with_raw_response

    async def aclose(self) -> None:
        """Close the connection."""
        await self._client.close()

    async def upload(self, name: str, content: bytes) -> str:
        """Upload a file of requests; its id."""
        call = self._files.create(file=(name, content, "application/jsonl"), purpose="batch")
        return (await self._read("uploading a file", call, _File)).id

    async def create(self, file: str, endpoint: str, uid: str) -> Remote:
        """Have the requests of a file run.

        Raises:
            RefusedError: it is surely not run. After any other error it may be; see `find`.
        """
        options: Any = {"input_file_id": file, "endpoint": endpoint, "metadata": {_MARK: uid}}
        call = self._client.batches.with_raw_response.create(completion_window="24h", **options)
        return await self._read("making a batch", call, Remote)

    async def find(self, uid: str, since: float) -> Remote | None:
        """The batch with this id of ours, made since then (seconds since 1970), if there is one."""
        after: dict[str, Any] = {}
        while True:
            call = self._batches.list(limit=100, **after)
            page = await self._read("listing batches", call, _Page)
            for remote in page.data:
                if remote.uid == uid:
                    return remote
            # The newest come first; clocks may differ by an hour or so.
            if not page.has_more or not page.data or page.data[-1].created < since - 7200:
                return None
            after = {"after": page.data[-1].id}

    async def look(self, batch: str) -> Remote:
        """How far a batch is.

        Raises:
            GoneError: the provider knows none of that id.
        """
        call = self._batches.retrieve(batch)
        return await self._read(f"looking at {batch}", call, Remote)

    async def cancel(self, batch: str) -> None:
        """Have a batch run no further."""
        await self._bytes(f"cancelling {batch}", self._batches.cancel(batch))

    async def download(self, file: str) -> bytes:
        """What a file holds.

        Raises:
            GoneError: the provider has not got it.
        """
        return await self._bytes(f"downloading {file}", self._files.content(file))

    async def _read(self, action: str, call: Awaitable[Any], kind: type[_Said]) -> _Said:
        """What it says, masked before it is read, so that nothing of it shows a secret."""
        text = self._mask((await self._bytes(action, call)).decode("utf-8", "replace"))
        try:
            return TypeAdapter(kind).validate_json(text)
        except ValidationError:
            raise JudgingError(
                f"judge: {action}: an answer that kragx cannot read: {text[:200]}",
                remedy="is there a server that knows batches at judge.base_url?",
            ) from None

    async def _bytes(self, action: str, call: Awaitable[Any]) -> bytes:
        import openai

        try:
            content: bytes = (await call).http_response.content
        except openai.APIStatusError as error:
            status = error.status_code
            kind: type[JudgingError] = GoneError if status == 404 else BatchRefusedError
            if status in (408, 409) or status >= 500:  # it may have been done all the same
                kind = JudgingError
            problem = f"judge: {action} failed: {self._mask(str(error))}"
            raise kind(problem, remedy=_REMEDIES.get(status, "")) from None
        except openai.APIError as error:
            cause = error.__cause__ or error
            problem = f"judge: {action} failed: {type(cause).__name__}: {self._mask(str(cause))}"
            remedy = "nothing is lost: run the same command again"
            raise JudgingError(problem, remedy=remedy) from None
        return content
