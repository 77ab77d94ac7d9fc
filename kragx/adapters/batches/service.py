"""Questions that are asked in the provider's batches (OpenAI's protocol), for less money.

`submit` puts what an `Outbox` has kept into files, and has them run. Of each step the store is told
before it is taken (`kragx.judging.store.pending`), so that one that is killed is found again;
`kragx.adapters.batches.collecting` looks after what runs.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from kragx.ground.errors import JudgingError
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Part, Result, phrase, warning
from kragx.judging.budget import Price, Used, about_spent, most_tokens
from kragx.judging.judgement_counts import Spent
from kragx.judging.prompt import request_for
from kragx.judging.rubric import digest
from kragx.judging.store import NoStoreError, Store

if TYPE_CHECKING:
    from kragx.ground.secrets import Secrets
    from kragx.judging.queue import Parcel
    from kragx.judging.store.pending import Register

MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000  # what OpenAI takes in one file is 200 MB
_MARK = "kragx"  # where a batch's metadata say which of ours it is
_CLOCKS_DIFFER = 7200  # seconds, at most
_REMEDIES = {
    401: "is the key right?",
    403: "may this key use batches?",
    404: "is there a server that knows batches at judge.base_url, and is it the same account?",
}
_Record = TypeVar("_Record")


# -- the provider's files and batches ------------------------------------------------------------


class BatchRefusedError(JudgingError):
    """The provider has said no: what was asked for was surely not done."""


class GoneError(BatchRefusedError):
    """The provider has not got it, or not any more."""


@dataclass(frozen=True)
class _File:
    id: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True)
class _Errors:
    data: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Remote(_File):
    """A batch as the provider describes it; `status` is its word for how far it is."""

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


@dataclass(frozen=True)
class _Page:
    data: Sequence[Remote]
    has_more: bool = False


class BatchService:
    """What is asked of a provider; each call answers, or says in a `JudgingError` why not."""

    def __init__(self, client: Any, secrets: Secrets) -> None:
        self._client, self._mask = client.connected(), secrets.mask
        # Asking again does no harm but where a batch is made.
        retrying = self._client.with_options(max_retries=2)
        self._files, self._batches = retrying.files, retrying.batches

    async def aclose(self) -> None:
        """Close the connection."""
        await self._client.close()

    async def upload(self, name: str, content: bytes) -> str:
        """Upload a file of requests; its id."""
        file = (name, content, "application/jsonl")
        call = self._files.with_raw_response.create(file=file, purpose="batch")
        return (await self._read("uploading a file", call, _File)).id

    async def create(self, file: str, endpoint: str, uid: str) -> Remote:
        """Have a file run; after another error than `BatchRefusedError` it may be, see `find`."""
        options: Any = {"input_file_id": file, "endpoint": endpoint, "metadata": {_MARK: uid}}
        call = self._client.batches.with_raw_response.create(completion_window="24h", **options)
        return await self._read("making a batch", call, Remote)

    async def find(self, uid: str, since: float) -> Remote | None:
        """The batch with this id of ours, made since then (seconds since 1970), if there is one."""
        after: dict[str, str] = {}
        while True:
            call = self._batches.with_raw_response.list(limit=100, **after)
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
        call = self._batches.with_raw_response.retrieve(batch)
        return await self._read(f"looking at {batch}", call, Remote)

    async def cancel(self, batch: str) -> None:
        """Have a batch run no further."""
        await self._bytes(f"cancelling {batch}", self._batches.with_raw_response.cancel(batch))

    async def download(self, file: str) -> bytes:
        """What a file holds; a `GoneError` where the provider has not got it."""
        call = self._files.with_raw_response.content(file)
        return await self._bytes(f"downloading {file}", call)

    async def _read(self, action: str, call: Awaitable[Any], kind: type[_Record]) -> _Record:
        # Masked before it is read, so that nothing of it shows a secret.
        text = self._mask((await self._bytes(action, call)).decode("utf-8", "replace"))
        try:
            return TypeAdapter(kind).validate_json(text)
        except ValidationError:
            problem = f"judge: {action}: an answer that kragx cannot read: {text[:200]}"
            remedy = "is there a server that knows batches at judge.base_url?"
            raise JudgingError(problem, remedy=remedy) from None

    async def _bytes(self, action: str, call: Awaitable[Any]) -> bytes:
        import openai

        try:
            return (await call).http_response.content  # type: ignore[no-any-return]
        except openai.APIError as error:
            status, cause = getattr(error, "status_code", None), error.__cause__ or error
            kind, remedy = JudgingError, "nothing is lost: run the same command again"
            words = f"{type(cause).__name__}: {cause}"
            if status is not None:
                words, remedy = str(error), _REMEDIES.get(status, "")
                # With 408, 409 and 5xx it may have been done all the same.
                if status < 500 and status not in (408, 409):
                    kind = GoneError if status == 404 else BatchRefusedError
            raise kind(f"judge: {action} failed: {self._mask(words)}", remedy=remedy) from None


# -- from questions to batches -------------------------------------------------------------------


@dataclass(frozen=True)
class Submitted(Result):
    """What became of a parcel.

    Attributes:
        parcel: what the judge would ask.
        batches: the provider's ids of the new batches, with the number of questions in each.
        n_questions: how many are in them; of a dry run, how many would be.
        n_left: how many were left out, as the budget has no room for the most that they may take.
        n_taken: how many somebody else was asking, had submitted, or had got a grade for meanwhile.
        about: roughly what asking takes.
        price: of batches; None where it is not known.
        dry_run: whether nothing was sent.
    """

    parcel: Parcel = field(metadata=HIDDEN, repr=False)
    batches: tuple[tuple[str, int], ...]
    n_questions: int
    n_left: int
    n_taken: int
    about: Spent
    price: Price | None
    dry_run: bool

    def describe(self) -> Iterator[Part]:
        """What was submitted, what it may cost, what comes next."""
        settings, n_pending = self.parcel.settings, sum(self.parcel.answered.values())
        text = phrase(
            "{model}: {n} questions to submit, {n_stored} stored already, {n_pending} pending "
            "in earlier batches"
            if self.dry_run
            else "{model}: {n} questions submitted, {n_stored} stored already, {n_pending} "
            "pending in earlier batches",
            model=settings.model,
            n=self.n_questions,
            n_stored=len(self.parcel.answered) - n_pending,
            n_pending=n_pending,
        )
        yield Line(text)
        for batch, n_questions in self.batches:
            yield Line(phrase("{value}: {n} questions", value=batch, n=n_questions), item="-")
        if self.n_questions:
            cost = self.price and f"{self.price.of(self.about):.4f} {settings.currency}"
            text = phrase(
                "about {sent} tokens to send and {got} to get, cost {cost}",
                sent=self.about.prompt_tokens,
                got=self.about.completion_tokens,
                cost=cost or phrase("unknown"),
            )
            yield Line(text)
        if self.n_taken:
            text = phrase(
                "{n} questions left to others, who are asking them right now or have just done "
                "so; should they leave any, submit again",
                n=self.n_taken,
            )
            yield Line(text)
        if self.n_left:
            text = phrase(
                "{n} questions left out: the budget has no room for the most that they may "
                "take; collect, then submit again, or raise the budget",
                n=self.n_left,
            )
            yield warning(text)
        if self.dry_run:
            yield Line(phrase("a dry run: nothing was sent"))
        elif self.n_questions or n_pending:
            text = phrase(
                "answers come within 24 hours: kragx judge status says how far they are, kragx "
                "judge collect stores them, and then kragx run finds them"
            )
            yield Line(text)


async def submit(
    parcel: Parcel,
    *,
    most_requests: int = MOST_REQUESTS,
    most_bytes: int = MOST_BYTES,
    dry_run: bool = False,
) -> Submitted:
    """Submit the questions of a parcel, in as many batches as it takes.

    Args:
        parcel: what a judge would ask.
        most_requests: that one batch may hold.
        most_bytes: the same.
        dry_run: only count.

    Raises:
        JudgingError: the provider cannot be reached, or refuses; what was submitted is recorded.
        UsageError: a budget in money, and the price of batches is not known.
        DataError: the store cannot be used.
    """
    settings = parcel.settings
    price = settings.price_of_batches
    lines = _within_budget(parcel, price)
    batches: list[tuple[str, int]] = []
    if lines and not dry_run:
        async with aclosing(BatchService(settings.client, parcel.secrets)) as service:
            with Store(settings.store) as store:
                texts = ((key, canonical) for key, (_, canonical) in parcel.wanted.items())
                store.note(texts, parcel.pairs)
                for of_file in _files(lines, most_requests, most_bytes):
                    batches += await _send(parcel, of_file, store.batches, service)
    n_questions = len(lines) if dry_run else sum(n for _, n in batches)
    return Submitted(
        parcel,
        tuple(batches),
        n_questions,
        n_left=len(parcel.wanted) - len(lines),
        n_taken=len(lines) - n_questions,
        about=sum((line.about for line in lines.values()), Spent()),
        price=price,
        dry_run=dry_run,
    )


@dataclass(frozen=True)
class _Line:
    """A question as a file has it, the most that it takes, and about what."""

    content: bytes
    limit: Used
    about: Spent


def _within_budget(parcel: Parcel, price: Price | None) -> dict[str, _Line]:
    """The lines of a parcel by key, as many as fit if each takes the most that it may."""
    settings, limits = parcel.settings, parcel.settings.limits
    client: Any = settings.client
    with suppress(NoStoreError), Store(settings.store, make=False) as store:
        limits.look(store)
    limits.submitted = Used()
    lines: dict[str, _Line] = {}
    for key, (question, _) in parcel.wanted.items():
        request = request_for(question, key, settings.timeout)
        limit = Used.of(most_tokens(request, settings.output_limit), price)
        if not limits.submit(limit):
            break
        body, url = client.body(request), client.batch_endpoint
        record = {"custom_id": key, "method": "POST", "url": url, "body": body}
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        lines[key] = _Line(f"{text}\n".encode(), limit, about_spent(request))
    return lines


def _files(
    lines: Mapping[str, _Line], most_requests: int, most_bytes: int
) -> Iterator[dict[str, _Line]]:
    """As many lines together as one file may hold."""
    of_file: dict[str, _Line] = {}
    size = 0
    for key, line in lines.items():
        size += len(line.content)
        if of_file and (len(of_file) == most_requests or size > most_bytes):
            yield of_file
            of_file, size = {}, len(line.content)
        of_file[key] = line
    yield of_file


async def _send(
    parcel: Parcel, lines: Mapping[str, _Line], register: Register, service: BatchService
) -> list[tuple[str, int]]:
    """Have the lines of a file run, but for those that are in another batch meanwhile."""
    client: Any = parcel.settings.client
    uid = uuid.uuid4().hex
    # Rubrics are few, and cannot be hashed.
    rubrics = {id(rubric): rubric for key in lines for rubric in [parcel.wanted[key][0].rubric]}
    about = {
        "client": parcel.secrets.masked({"model": parcel.settings.model, **client.settings}),
        "dialect": str(client.dialect),
        "rubrics": {digest(rubric)["digest"]: asdict(rubric) for rubric in rubrics.values()},
        "most": asdict(sum((line.limit for line in lines.values()), Used())),
        "prompt_tokens": sum(line.about.prompt_tokens for line in lines.values()) // len(lines),
    }
    keys = register.plan(uid, about, lines, again=parcel.settings.ask_pending)
    if not keys:
        return []
    taken_over = JudgingError(
        f"judge: another submit has taken over {len(keys)} questions meanwhile; they are not asked "
        "twice",
        remedy="see: kragx judge status",
    )
    state = "planned"
    try:
        content = b"".join(line.content for key, line in lines.items() if key in keys)
        name = await service.upload(f"kragx-{uid}.jsonl", content)
        # From here on a batch may have been made, whatever becomes of this process.
        if not register.move(uid, "planned", "uploaded", file=name):
            raise taken_over
        state = "uploaded"
        remote = await service.create(name, client.batch_endpoint, uid)
    except JudgingError as error:
        if state == "planned" or isinstance(error, BatchRefusedError):  # nothing can run
            register.move(uid, state, "given up", problems=[error.problem])
        raise
    if not register.move(uid, "uploaded", "submitted", id=remote.id):
        await service.cancel(remote.id)
        raise taken_over
    return [(remote.id, len(keys))]
