"""A provider's files and batches, with OpenAI's protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from kragx.ground.errors import JudgingError
from kragx.ground.secrets import Secrets

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MARK = "kragx"
"""Where a batch's metadata say which of ours it is."""
_CLOCKS_DIFFER = 7200  # seconds, at most
_Id = Annotated[str, Field(min_length=1)]
_Record = TypeVar("_Record")

_REMEDIES = {
    401: "is the key right?",
    403: "may this key use batches?",
    404: "is there a server that knows batches at judge.base_url, and is it the same account?",
}


class BatchRefusedError(JudgingError):
    """The provider has said no: what was asked for was surely not done."""


class GoneError(BatchRefusedError):
    """The provider has not got it, or not any more."""


@dataclass(frozen=True)
class _Errors:
    data: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Remote:
    """A batch as the provider describes it; `status` is its word for how far it is."""

    id: _Id
    status: str
    created_at: int = 0
    metadata: Mapping[str, Any] | None = None
    request_counts: Mapping[str, int] | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Errors | None = None

    @property
    def n_answered(self) -> int:
        """How many requests have come to an end."""
        counts = self.request_counts or {}
        return counts.get("completed", 0) + counts.get("failed", 0)

    @property
    def problems(self) -> list[str]:
        """Why it failed."""
        errors = (self.errors and self.errors.data) or ()
        return [
            f"{error.get('code')}: {error.get('message')}"
            + (f" (line {error['line']})" if error.get("line") else "")
            for error in errors
        ]


@dataclass(frozen=True)
class _Page:
    data: Sequence[Remote]
    has_more: bool = False


@dataclass(frozen=True)
class _File:
    id: _Id


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
            BatchRefusedError: it is surely not run. After any other error it may be; see `find`.
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
                if (remote.metadata or {}).get(_MARK) == uid:
                    return remote
            last = page.data[-1] if page.has_more and page.data else None
            if last is None or last.created_at < since - _CLOCKS_DIFFER:  # the newest come first
                return None
            after = {"after": last.id}

    async def look(self, batch: str) -> Remote:
        """How far a batch is."""
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

    async def _read(self, action: str, call: Awaitable[Any], kind: type[_Record]) -> _Record:
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
        except openai.APIError as error:
            status, cause = getattr(error, "status_code", None), error.__cause__ or error
            kind, remedy = JudgingError, "nothing is lost: run the same command again"
            words = f"{type(cause).__name__}: {cause}"
            if status is not None:
                words, remedy = str(error), _REMEDIES.get(status, "")
                # With 408, 409 and 5xx it may have been done all the same.
                if status < 500 and status not in (408, 409):
                    kind = GoneError if status == 404 else BatchRefusedError
            problem = f"judge: {action} failed: {self._mask(words)}"
            raise kind(problem, remedy=remedy) from None
        return content
