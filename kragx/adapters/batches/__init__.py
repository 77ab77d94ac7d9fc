"""A provider's batches: what judges would ask is submitted, looked after, and collected.

A file of questions is uploaded, the store is told that a batch may be made of it, it is made, and
the store is told its id. Wherever that ends, `look_after` finds out what became of it, and no
question is in two batches that run.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, cast

from kragx.ground.errors import JudgingError, UsageError
from kragx.ground.event_loop import run_sync
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import Line, Part, joined, message, show, visible, warning
from kragx.ground.secrets import Secrets
from kragx.judging import Judge, Judgement, Question, Request, Spent, Store, Tally
from kragx.judging.budget import Used, spent_of
from kragx.judging.calls import judged, usage_of_answer
from kragx.judging.clients.responses import read_response
from kragx.judging.judgement_counts import failure_lines
from kragx.judging.prompt import request_for
from kragx.judging.question import output_limit, question_of
from kragx.judging.queue import PendingQuestions
from kragx.judging.rubric import as_asked, canonical_json, digest
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import NoStoreError
from kragx.judging.store.pending import SubmittedBatch

__all__: list[str] = []

MOST_REQUESTS = 50_000  # of a batch, and of its file
MOST_BYTES = 190_000_000  # what OpenAI takes in one file is 200 MB
_ENDED = ("completed", "expired", "cancelled")  # where as many answers are there as there are
_NOT_RUN = ("batch_expired", "batch_cancelled")
_SOON = 60.0  # seconds within which a batch that was asked for may not be listed yet
_GOOD, _GONE = 200, 404
_MARK = "kragx"  # where a batch's metadata say which of ours it is
_ENDPOINT = "/v1/chat/completions"
_REMEDY = "is there a server that knows batches at judge.base_url, and is it the same account?"
_STATES: Mapping[str, str] = {
    "planned": message("being made, or interrupted: a minute later it is known"),
    "submitted": message("submitted"),
    "collected": message("collected"),
    "failed": message("failed"),
}


class ServiceError(JudgingError):
    """The provider has not done what was asked for; `status` is that of HTTP, or 0."""

    status: int = 0


@contextmanager
def asking(action: str, secrets: Secrets) -> Iterator[None]:
    """Around what is asked of a provider: whatever goes wrong with it is a `ServiceError`."""
    import openai

    status, remedy = 0, "nothing is lost: run the same command again"
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
    error = ServiceError(f"judge: {secrets.mask(problem)}", remedy=remedy)
    error.status = status
    raise error


def id_of(record: Any) -> str:
    """Its id, without which it is none: the client takes whatever a server says."""
    if not isinstance(record.id, str):
        raise TypeError("no id")
    return record.id


# -- submitting -----------------------------------------------------------------------------------


class _Line(NamedTuple):
    """A question, its canonical JSON, its line in a file, and the most that it takes."""

    question: Question
    text: str
    content: bytes
    most: Used


@dataclass
class _Parcel:
    """What one judge would ask, by key, with its (key, query id, document id)."""

    settings: JudgeSettings
    secrets: Secrets
    lines: dict[str, _Line] = field(default_factory=dict)
    pairs: set[tuple[str, str, str]] = field(default_factory=set)


class Submission:
    """An outbox: gets what judges would ask, and submits it.

    Interrupted submits of its judges are finished first.

    Raises:
        UsageError: the provider of a judge has no batches that are known.
        JudgingError: it cannot be found out what became of an interrupted submit.
    """

    def __init__(self, judges: Sequence[Judge], secrets: Secrets) -> None:
        self.parcels: dict[str, _Parcel] = {}
        for client in (judge.client for judge in judges):
            if not hasattr(client, "connected"):
                raise UsageError(
                    "judge: {name} cannot be asked in batches, only one question at a time",
                    remedy="use kragx run; or name the model of a provider with OpenAI's batch "
                    "files (judge: {{model: ..., base_url: ...}})",
                    name=client.settings.get("provider", type(client).__name__),
                )
        statuses = look_after(judges, secrets)
        if problems := [f"{s.batch.id}: {s.problem}" for s in statuses if s.problem]:
            raise JudgingError("\n".join(problems))

    def put(
        self,
        settings: JudgeSettings,
        questions: PendingQuestions,
        requests: Mapping[str, tuple[Request, Spent]],
    ) -> None:
        """Take in what a judge would ask, each with the most that it takes."""
        client: Any = settings.client
        judge = canonical_json([str(settings.store), questions.secrets.masked(client.settings)])
        parcel = self.parcels.setdefault(judge, _Parcel(settings, questions.secrets))
        for key, (request, most) in requests.items():
            body = client.body(request)
            record = {"custom_id": key, "method": "POST", "url": _ENDPOINT, "body": body}
            line = f"{json.dumps(record, ensure_ascii=False, separators=(',', ':'))}\n".encode()
            used = Used.of(most, settings.price)
            parcel.lines[key] = _Line(*questions.wanted[key], line, used)
        parcel.pairs |= {pair for pair in questions.pairs() if pair[0] in parcel.lines}

    def send(self) -> None:
        """Submit what is in it, a batch for each judge, and say what became of it.

        Raises:
            JudgingError: the provider cannot be reached, or refuses; what runs is recorded.
            DataError: the store cannot be used.
        """
        for parcel in self.parcels.values():
            lines, n_bytes = dict[str, _Line](), 0
            for key, line in islice(parcel.lines.items(), MOST_REQUESTS):
                n_bytes += len(line.content)
                if n_bytes > MOST_BYTES or not parcel.settings.limits.submit(line.most):
                    break
                lines[key] = line
            n, model = run_sync(partial(_sent, parcel, lines)), parcel.settings.model
            show([Line(message("{model}: {n} questions submitted", model=model, n=n))])
            if n_left := len(parcel.lines) - len(lines):
                left_out = message(
                    "{n} questions left out: the budget or the batch has no room for the most that "
                    "they may take; collect, then submit again, or raise the budget",
                    n=n_left,
                )
                show([warning(left_out)])


async def _sent(parcel: _Parcel, lines: dict[str, _Line]) -> int:
    """Have lines run, but for what somebody else has taken meanwhile; how many that are."""
    if not lines:
        return 0
    settings, secrets = parcel.settings, parcel.secrets
    client, uid = cast("Any", settings.client), uuid.uuid4().hex
    rubrics = {id(line.question.rubric): line.question.rubric for line in lines.values()}
    about = {
        "client": secrets.masked({"model": settings.model, **client.settings}),
        "dialect": str(client.dialect),
        "rubrics": {digest(rubric)["digest"]: asdict(rubric) for rubric in rubrics.values()},
        "most": asdict(sum((line.most for line in lines.values()), Used())),
    }
    with Store(settings.store) as store:
        async with client.connected() as provider:
            content = b"".join(line.content for line in lines.values())
            file = (f"kragx-{uid}.jsonl", content, "application/jsonl")
            with asking("uploading a file", secrets):
                file_id = id_of(await provider.files.create(file=file, purpose="batch"))
            store.note(((key, line.text) for key, line in lines.items()), parcel.pairs)
            move = store.batches.move
            free = store.batches.plan(uid, about, lines, again=settings.ask_pending)
            if len(free) < len(lines):
                return await _sent(parcel, {key: lines[key] for key in lines if key in free})
            # From here on a batch may have been made, whatever becomes of this process. Asked for
            # twice it would be made twice.
            batch = {"input_file_id": file_id, "endpoint": _ENDPOINT, "metadata": {_MARK: uid}}
            create = provider.with_options(max_retries=0).batches.create
            try:
                with asking("making a batch", secrets):
                    remote_id = id_of(await create(completion_window="24h", **batch))
            except ServiceError as error:
                # After 408, 409, 5xx or no answer it may have been made.
                if 0 < error.status < 500 and error.status not in (408, 409):
                    move(uid, "planned", "failed", problems=[error.problem])
                raise
            if move(uid, "planned", "submitted", id=remote_id):
                return len(lines)
            with asking(f"cancelling {remote_id}", secrets):
                await provider.batches.cancel(remote_id)
    raise JudgingError(
        "judge: another submit has taken over {n} questions meanwhile",
        remedy="see: kragx judge status CONFIG.yaml",
        n=len(lines),
    )


# -- looking after batches, and collecting ---------------------------------------------------------


@dataclass
class BatchStatus:
    """How far a batch is.

    Attributes:
        batch, n_questions: as the store knows it.
        status, n_answered: as the provider says just now, if it was asked.
        tally: of what was collected just now: what the answers used, and which are no grades.
        problem: why it could not be looked at.
    """

    batch: SubmittedBatch
    n_questions: int
    status: str = ""
    n_answered: int = 0
    tally: Tally | None = None
    problem: str = ""

    def describe(self) -> Iterator[Part]:
        """Its state, what came of it, and what is wrong."""
        batch, tally, n = self.batch, self.tally, self.n_questions
        state = _STATES[batch.state]
        if batch.state == "submitted" and self.status:
            words = {"status": visible(self.status), "n": self.n_answered}
            state = message("{status}, {n} of {of} answered", of=n, **words)
        about = {"batch": visible(batch.id), "model": visible(batch.model), "state": state}
        yield Line(message("{batch}: {n} questions to {model}: {state}", n=n, **about))
        remarks = [*batch.detail.get("problems", ()), *filter(None, [self.problem])]
        if tally is not None:
            n_graded = tally.n_judgements - tally.n_missing
            tokens = {"sent": tally.prompt_tokens, "got": tally.completion_tokens}
            text = message("{n} grades, {sent} + {got} tokens", n=n_graded, **tokens)
            yield Line(text, item="-")
            remarks += failure_lines(to_jsonable(tally))
            if n_unanswered := n - tally.n_judgements:
                remarks.append(message("no answer came for: {n}", n=n_unanswered))
        yield from (warning(joined(": ", [about["batch"], visible(text)])) for text in remarks)


def look_after(
    judges: Sequence[Judge], secrets: Secrets, *, collect: bool = False
) -> list[BatchStatus]:
    """The batches of some judges' stores as their providers see them, oldest first.

    What an interrupted submit has left is found again, or given up where it surely never ran; with
    `collect` the answers of batches that have ended are stored. Providers are reached through the
    judges' clients alone: as a store may be somebody else's, no key goes where it says.

    Raises:
        DataError: a store cannot be used.
    """
    for judge in judges:
        secrets = secrets.also(getattr(judge.client, "secrets", ()))
    # As the store names them: without a login, and masked.
    clients = {
        secrets.masked(dict(judge.client.settings)).get("base_url"): judge.client
        for judge in judges
        if hasattr(judge.client, "connected")
    }
    statuses: list[BatchStatus] = []
    for address in dict.fromkeys(judge.store for judge in judges):
        with suppress(NoStoreError), Store(address, make=False) as store:
            for batch in store.batches.batches():
                status = BatchStatus(batch, len(store.batches.keys(batch)))
                statuses.append(status)
                try:
                    if batch.is_open:
                        run_sync(partial(_visit, status, store, clients, secrets, collect))
                except JudgingError as error:
                    # One that cannot be asked after keeps no other from being collected.
                    status.problem = str(error)
                # Read again, as looking may have moved it on.
                status.batch = next(b for b in store.batches.batches() if b.uid == batch.uid)
    return statuses


async def _visit(
    status: BatchStatus, store: Store, clients: Mapping[Any, Any], secrets: Secrets, collect: bool
) -> None:
    """Look at an open batch, and collect it if it has ended and that is wanted."""
    batch, move = status.batch, store.batches.move
    address = batch.about["client"].get("base_url")
    if address not in clients:
        problem = message("it is not known how to reach {address}", address=address)
        raise JudgingError(problem, remedy="name the config that it was submitted with")
    async with clients[address].connected() as client:
        remote_id = batch.detail.get("id")
        if remote_id is None:  # a submit was interrupted, or is at it
            with asking("listing batches", secrets):
                async for entry in client.batches.list(limit=100):
                    if (entry.metadata or {}).get(_MARK) == batch.uid:
                        remote_id = id_of(entry)
                        break
            age = datetime.now(UTC) - datetime.fromisoformat(batch.planned_at)
            if remote_id is None:
                if age.total_seconds() > _SOON:
                    problems = ["interrupted; the provider knows no such batch"]
                    move(batch.uid, "planned", "failed", problems=problems)
                return
            move(batch.uid, "planned", "submitted", id=remote_id)
        with asking(f"looking at {remote_id}", secrets):
            remote = secrets.masked((await client.batches.retrieve(remote_id)).to_dict())
            counts, errors = remote.get("request_counts") or {}, remote.get("errors") or {}
            status.status = str(remote["status"])
            status.n_answered = sum(int(counts.get(name) or 0) for name in ("completed", "failed"))
            problems = [f"{e.get('code')}: {e.get('message')}" for e in errors.get("data") or ()]
        if status.status == "failed":
            move(batch.uid, "submitted", "failed", problems=problems)
        elif collect and status.status in _ENDED:
            files = filter(None, map(remote.get, ("output_file_id", "error_file_id")))
            await _collect(status, files, store, client, secrets)


async def _collect(
    status: BatchStatus, files: Iterable[str], store: Store, client: Any, secrets: Secrets
) -> None:
    """Store the answers of a batch that has ended."""
    keys = store.batches.keys(status.batch)
    replies: dict[str, _Reply] = {}
    problems, n_lines = list[str](), 0
    for name in files:
        try:
            with asking(f"downloading {name}", secrets):
                content = (await client.files.content(name)).content
        except ServiceError as error:
            if error.status != _GONE:
                raise
            problems.append(error.problem)
            continue
        for key, reply in _replies(content):
            n_lines += 1
            # Of several the first that is an answer, else the first of all.
            is_first = key not in replies or reply[0] == _GOOD != replies[key][0]
            if key in keys and reply[0] is not None and is_first:
                replies[key] = reply
    n_graded = sum(row.grade is not None for row in store.stored_answers([*keys]).values())
    if not problems and n_lines < status.n_answered and n_graded < len(keys):
        raise JudgingError(
            "it has fewer lines than it says: {n} of {of} lines came; nothing of it counts as "
            "collected",
            remedy="collect again later; if it stays so, kragx run CONFIG.yaml --set "
            "judge.ask_pending=true asks its questions anew and pays for them again",
            n=n_lines,
            of=status.n_answered,
        )
    status.tally = _stored(status.batch, replies, store, secrets)
    # Last of all: one that is killed before collects it again, and stores nothing twice.
    end = {"status": status.status, "problems": problems}
    store.batches.move(status.batch.uid, "submitted", "collected", **end)


_Reply = tuple[int | None, Any]  # status and body of a request; no status if it was never run


def _replies(content: bytes) -> Iterator[tuple[str, _Reply]]:
    """The key of each line of a file, and its reply; one that cannot be read says nothing."""
    # Only a line feed ends a line: texts may hold whatever else ends one.
    for line in filter(bytes.strip, content.split(b"\n")):
        with suppress(ValueError, TypeError, LookupError, AttributeError, RecursionError):
            record = json.loads(line)
            key, error = str(record["custom_id"]), record.get("error")
            if error is None:
                yield key, (int(record["response"]["status_code"]), record["response"]["body"])
            else:
                yield key, (None if error.get("code") in _NOT_RUN else 0, {"error": error})


def _stored(
    batch: SubmittedBatch, replies: Mapping[str, _Reply], store: Store, secrets: Secrets
) -> Tally:
    """Store the answers; what an interrupted collect has stored is not stored twice."""
    tally, about = Tally(), batch.about
    rubrics = {name: as_asked(rubric) for name, rubric in about["rubrics"].items()}
    questions = {
        key: question_of(material, rubrics[material["rubric"]["digest"]])
        for key, material in store.questions(replies.keys()).items()
    }
    attempts: list[Judgement] = []
    for key, question in questions.items():
        status, body = replies[key]
        answer = read_response(status or 0, {}, json.dumps(body).encode(), has_tool=True)
        # Nothing is reserved for a call that has ended.
        usage = usage_of_answer(answer, request_for(question, key, 0), Spent())
        tally.add(spent_of(usage))
        attempt, _ = judged(
            *(key, question, replace(answer, dialect=about["dialect"] or None), usage, secrets),
            # The same id whenever it is collected, and a store takes an id once.
            uid=hashlib.sha256(f"{batch.uid} {key} {status}".encode()).hexdigest()[:32],
            source="batch",
            asked_model=batch.model,
            output_limit=output_limit(about["client"]),
        )
        attempts.append(attempt)
    store.add(attempts)
    tally.count([*questions.values()], attempts)
    return tally
