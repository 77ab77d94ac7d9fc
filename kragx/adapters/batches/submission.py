"""From what judges would ask to batches that run.

A file of questions is uploaded, the store is told that a batch may be made of it, it is made, and
the store is told its id. Wherever that ends, `kragx.adapters.batches.collecting` finds out what
became of it, and no question is in two batches that run.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, cast

from kragx.adapters.batches.collecting import MARK, ServiceError, asking, id_of, look_after
from kragx.ground.errors import JudgingError, UsageError
from kragx.ground.event_loop import run_sync
from kragx.ground.printing import Line, Part, message, show, warning
from kragx.ground.secrets import Secrets
from kragx.judging import Judge, Question, Request, Spent
from kragx.judging.budget import Used
from kragx.judging.queue import PendingQuestions
from kragx.judging.rubric import canonical_json, digest
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import Store

_ENDPOINT = "/v1/chat/completions"
MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000  # what OpenAI takes in one file is 200 MB


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
            lines, model = _lines(parcel), parcel.settings.model
            n = run_sync(partial(_sent, parcel, lines)) if lines else 0
            text = message("{model}: {n} questions submitted", model=model, n=n)
            parts: list[Part] = [Line(text)]
            if n_left := len(parcel.lines) - len(lines):
                left_out = message(
                    "{n} questions left out: the budget or the batch has no room for the most that "
                    "they may take; collect, then submit again, or raise the budget",
                    n=n_left,
                )
                parts.append(warning(left_out))
            show(parts)


def _lines(parcel: _Parcel) -> dict[str, _Line]:
    """As much of a parcel as there is room for in a file and the budget, first come, first."""
    lines: dict[str, _Line] = {}
    n_bytes = 0
    for key, line in islice(parcel.lines.items(), MOST_REQUESTS):
        n_bytes += len(line.content)
        if n_bytes > MOST_BYTES or not parcel.settings.limits.submit(line.most):
            break
        lines[key] = line
    return lines


async def _sent(parcel: _Parcel, lines: dict[str, _Line]) -> int:
    """Have lines run, but for what somebody else has taken meanwhile; how many that are."""
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
                left = {key: lines[key] for key in lines if key in free}
                return await _sent(parcel, left) if left else 0
            # From here on a batch may have been made, whatever becomes of this process. Asked for
            # twice it would be made twice.
            batch = {"input_file_id": file_id, "endpoint": _ENDPOINT, "metadata": {MARK: uid}}
            create = provider.with_options(max_retries=0).batches.create
            try:
                with asking("making a batch", secrets):
                    remote_id = id_of(await create(completion_window="24h", **batch))
            except ServiceError as error:
                if error.is_final:
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
