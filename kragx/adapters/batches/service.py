"""A provider's files and batches, by OpenAI's protocol and client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from kragx.ground.errors import JudgingError

if TYPE_CHECKING:
    from kragx.ground.secrets import Secrets

ENDPOINT = "/v1/chat/completions"
"""What the requests of a batch are for."""
_MARK = "kragx"  # where a batch's metadata say which of ours it is
_CLOCKS_DIFFER = 7200  # seconds, at most
_REMEDY = "is there a server that knows batches at judge.base_url, and is it the same account?"


class ServiceError(JudgingError):
    """The provider has not done what was asked for; `status` is that of HTTP, if there is one."""

    status: int | None = None

    @property
    def is_final(self) -> bool:
        """Whether it was surely not done: after 408, 409, 5xx or no answer it may have been."""
        return self.status is not None and self.status < 500 and self.status not in (408, 409)


class Remote(NamedTuple):
    """A batch as the provider describes it: its word for how far it is, files with answers."""

    status: str
    n_answered: int
    files: tuple[str, ...]
    problems: tuple[str, ...]


class BatchService:
    """What is asked of a provider; each call answers, or says in a `ServiceError` why not."""

    def __init__(self, client: Any, secrets: Secrets) -> None:
        self._client, self._secrets = client.connected(), secrets
        # Asking again does no harm but where a batch is made.
        self._retrying = self._client.with_options(max_retries=2)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._client.close()

    async def upload(self, name: str, content: bytes) -> str:
        """Upload a file of requests; its id."""
        with self._asking("uploading a file"):
            file = (name, content, "application/jsonl")
            return _id_of(await self._retrying.files.create(file=file, purpose="batch"))

    async def create(self, file: str, uid: str) -> str:
        """Have a file run; the batch's id. After an error that is not final it may run."""
        options: Any = {"input_file_id": file, "endpoint": ENDPOINT, "metadata": {_MARK: uid}}
        with self._asking("making a batch"):
            return _id_of(await self._client.batches.create(completion_window="24h", **options))

    async def find(self, uid: str, since: float) -> str | None:
        """The id of the batch with this uid, made since then (seconds since 1970), if there is."""
        with self._asking("listing batches"):
            async for batch in self._retrying.batches.list(limit=100):
                if (batch.metadata or {}).get(_MARK) == uid:
                    return _id_of(batch)
                if batch.created_at < since - _CLOCKS_DIFFER:  # the newest come first
                    break
        return None

    async def look(self, batch: str) -> Remote:
        """How far a batch is."""
        with self._asking(f"looking at {batch}"):
            answer = await self._retrying.batches.retrieve(batch)
            about = self._secrets.masked(answer.to_dict())
            counts, errors = about.get("request_counts") or {}, about.get("errors") or {}
            return Remote(
                str(about["status"]),
                sum(int(counts.get(name) or 0) for name in ("completed", "failed")),
                tuple(filter(None, map(about.get, ("output_file_id", "error_file_id")))),
                tuple(f"{e.get('code')}: {e.get('message')}" for e in errors.get("data") or ()),
            )

    async def cancel(self, batch: str) -> None:
        """Have a batch run no further."""
        with self._asking(f"cancelling {batch}"):
            await self._retrying.batches.cancel(batch)

    async def download(self, file: str) -> bytes:
        """What a file holds."""
        with self._asking(f"downloading {file}"):
            return bytes((await self._retrying.files.content(file)).content)

    @contextmanager
    def _asking(self, action: str) -> Iterator[None]:
        """Around a call: whatever goes wrong with it is said here."""
        import openai

        status, remedy = None, "nothing is lost: run the same command again"
        try:
            yield
            return
        except openai.APIStatusError as cause:
            status, problem = cause.status_code, f"{action} failed: {cause}"
            remedy = _REMEDY if status in (401, 403, 404) else ""
        except openai.APIError as cause:
            root = cause.__cause__ or cause
            problem = f"{action} failed: {type(root).__name__}: {root}"
        except (AttributeError, LookupError, TypeError, ValueError) as cause:  # of another form
            problem, remedy = f"{action}: an answer that kragx cannot read: {cause}", _REMEDY
        error = ServiceError(f"judge: {self._secrets.mask(problem)}", remedy=remedy)
        error.status = status
        raise error


def _id_of(record: Any) -> str:
    """Its id, without which it is none: the client takes whatever a server says."""
    if not isinstance(record.id, str):
        raise TypeError("no id")
    return record.id
