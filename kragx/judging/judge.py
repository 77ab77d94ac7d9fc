"""The judge: an LLM that grades questions, each asked once and kept at once.

What people have graded and what the store has is not asked again. What is left is asked by
`concurrency` workers within the judge's limits. The order of the judgements is that of the
questions, whatever comes first.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from kragx.ground.errors import JudgingError
from kragx.ground.event_loop import run_sync
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import message, progress_bar, say
from kragx.judging.budget import Plan, about_spent, most_tokens
from kragx.judging.calls import CLUSTER, GRACE, Caller
from kragx.judging.client import FailureKind, Request, in_use
from kragx.judging.judgement_counts import Spent, Tally
from kragx.judging.prompt import request_for
from kragx.judging.question import SETTLED, Judgement, Question
from kragx.judging.queue import PendingQuestions, WorkQueue
from kragx.judging.rubric import Asks, Rubric, canonical_json
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import NoStoreError, Store


@dataclass(frozen=True)
class Judged:
    """What became of some questions.

    Attributes:
        judgements: in the order of the questions.
        tally: what it took: calls, retries, stored, joined, tokens, failures by kind, ...
    """

    judgements: tuple[Judgement, ...]
    tally: Tally


class Grader(ABC):
    """Whoever is asked for grades: a `Judge`, or a `Panel` of several with common settings."""

    @property
    @abstractmethod
    def members(self) -> tuple[Judge, ...]:
        """The judges that are asked; of a judge itself."""

    @property
    @abstractmethod
    def model(self) -> str:
        """Who decides, in results."""

    @abstractmethod
    async def ajudge(self, questions: Sequence[Question]) -> Judged:
        """Judge each question; what is stored is not asked again."""

    @abstractmethod
    def stored(self, questions: Sequence[Question]) -> list[Judgement | None]:
        """What is stored of each question; nothing is asked."""

    @abstractmethod
    def with_options(self, **options: Any) -> Self:
        """The same with these options; itself where it has them."""

    @abstractmethod
    def summary(self, tally: Tally) -> dict[str, Any]:
        """What judging took, as results record it."""

    def judge(self, questions: Sequence[Question]) -> Judged:
        """`ajudge` for synchronous code; works inside a running event loop (a notebook) too."""
        return run_sync(lambda: self.ajudge(questions))

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What dry runs would have asked, by judge."""
        return tuple(judge.plan for judge in self.members)

    # -- what all its judges share, as `Judge` says ----------------------------------------------

    store: Any
    rubric: Any
    examples: Any
    budget: Any
    max_missing: float
    dry_run: bool
    rubric_for: Callable[[Asks, str], Rubric]
    rubric_id: Callable[[str], str]

    @property
    def asks(self) -> Asks | None:
        """The one question that its rubric is for; None if it has none."""
        return None if self.rubric is None else self.rubric.asks


@dataclass(frozen=True)
class Judge(JudgeSettings, Grader):
    """An LLM that grades; its options are those of `JudgeSettings`."""

    async def ajudge(self, questions: Sequence[Question]) -> Judged:
        """Judge each question; a question asked twice, or stored before, is not asked again.

        Raises:
            JudgingError: the budget is used up, or the service refuses everything (a wrong key);
                what was judged is stored.
            DataError: the store cannot be used.
        """
        pending = PendingQuestions(self, questions)
        with pending.secrets.guarding():
            async with in_use(self.client):
                return await _judged(self, pending)

    def stored(self, questions: Sequence[Question]) -> list[Judgement | None]:
        """What the store has for each question; None for one without an answer. Nothing is asked.

        Raises:
            DataError: the store cannot be used.
        """
        pending = PendingQuestions(self, questions)
        judgements: Mapping[str, Judgement] = {}
        with suppress(NoStoreError), Store(self.store, make=False) as store:
            judgements = store.stored_answers([*pending.wanted])
        return [judgements.get(key) for key in pending.keys]

    @property
    def decides_by(self) -> str:
        """What its grades depend on beside the questions, as canonical JSON: for itself alone.

        The client's settings, the repeat, and what people have graded in the store.
        """
        people = 0
        with suppress(NoStoreError), Store(self.store, make=False) as store:
            people = store.last_label()
        client = self.all_secrets().masked(dict(self.client.settings))
        return canonical_json((client, self.repeat, people))

    @property
    def members(self) -> tuple[Judge, ...]:
        """Itself alone."""
        return (self,)

    def with_options(self, **options: Any) -> Self:
        """The same with these options; itself where it has them, to share it."""
        if all(getattr(self, name) == value for name, value in options.items()):
            return self
        return replace(self, **options)

    def summary(self, tally: Tally) -> dict[str, Any]:
        """What judging took, for a result: coverage, failures by kind, calls, tokens and cost."""
        return {
            **to_jsonable(tally),
            "cost": None if self.price is None else self.price.of(tally),
            "currency": self.currency if self.price else None,
            "model": self.model,
            "store": str(self.store),
        }


# -- a run ----------------------------------------------------------------------------------------


async def _judged(settings: JudgeSettings, questions: PendingQuestions) -> Judged:
    """Judge questions; see `Judge.ajudge`."""
    labels: Mapping[int, Judgement] = {}
    done: dict[str, Judgement] = {}
    tally = Tally()
    try:
        with Store(settings.store, make=not settings.dry_run) as store:
            # What people said wins, what is stored costs nothing; only the rest can be pending.
            labels = await store.aside(questions.take_labels, store)
            stored = await store.aside(store.stored_answers, [*questions.wanted])
            done |= {
                key: judgement
                for key, judgement in stored.items()
                if not _is_asked_again(judgement, settings)
            }
            tally.n_stored += len(done)
            if not (settings.ask_pending or store.read_only):
                keys = [key for key in questions.wanted if key not in done]
                done |= await store.aside(store.batches.pending, keys)
            todo = [key for key in questions.wanted if key not in done]
            if settings.dry_run:
                if settings.outbox is not None:
                    settings.limits.look(store)
                _plan(settings, questions, todo, done)
            elif store.read_only:
                detail = f"{settings.store} may only be read, and lacks it: get the right to "
                detail += "write there, or copy it and name the copy (judge.store)"
                for key in todo:
                    unasked = Judgement(key, failure="not_asked", detail=detail)
                    done[key] = stored.get(key, unasked)
            elif todo:
                # Before it is asked: whatever ends the run, an attempt has its question.
                texts = ((key, questions.wanted[key][1]) for key in todo)
                await store.aside(store.note, texts, questions.pairs())
                run = (settings, questions, store, stored, done, tally, todo)
                await _ask_all(WorkQueue(*run))
    except NoStoreError:  # a dry run makes none
        _plan(settings, questions, [*questions.wanted], done)
    tally.n_distinct = len(questions.wanted)
    judgements = tuple(
        labels[position] if position in labels else done[key]
        for position, key in enumerate(questions.keys)
    )
    tally.count(questions.questions, judgements)
    return Judged(judgements, tally)


def _is_asked_again(stored: Judgement, settings: JudgeSettings) -> bool:
    if stored.failure is None or settings.ask_again != "transient":
        return stored.failure is not None and settings.ask_again == "all"
    before, limit = stored.output_limit, settings.output_limit
    # What was cut off may fit under a higher limit.
    fits = stored.failure == "length" and before is not None and (limit is None or limit > before)
    return fits or stored.failure not in SETTLED


def _plan(
    settings: JudgeSettings,
    questions: PendingQuestions,
    todo: Sequence[str],
    done: dict[str, Judgement],
) -> None:
    """Count what a dry run would ask, and hand it to the outbox if there is one."""
    plan = settings.plan
    kind: FailureKind = "pending" if settings.outbox else "not_asked"
    requests: dict[str, tuple[Request, Spent]] = {}
    for key in todo:
        done[key] = Judgement(key, failure=kind, detail="a dry run")
        if key not in plan.keys:
            request = request_for(questions.wanted[key][0], key, settings.timeout)
            most = most_tokens(request, settings.output_limit)
            requests[key] = request, most
            plan.keys.add(key)
            plan.about.add(about_spent(request))
            plan.most.add(most)
    if settings.outbox is not None:
        settings.outbox.put(settings, questions, requests)


async def _ask_all(queue: WorkQueue) -> None:
    settings, limits = queue.settings, queue.settings.limits
    caller = Caller(queue)

    async def work(*, alone: bool = False) -> None:
        while key := await queue.next(scattered=caller.breaker.in_a_row >= CLUSTER):
            judgement = await caller.judgement(key)
            queue.finish(key, judgement)
            await queue.committed(judgement)
            if alone and not caller.breaker.unproven:
                return

    with progress_bar(
        message("judging with {model}", model=settings.model),
        len(queue),
        settings.progress,
        lambda: "" if limits.cost is None else f"{limits.cost:.4f} {settings.currency}",
    ) as queue.advance:
        async with queue.opened():
            if caller.breaker.unproven:  # a wrong key or address costs one call, not many
                await _to_their_end([work(alone=True)], caller, queue)
            workers = [work() for _ in range(min(settings.concurrency, len(queue)))]
            await _to_their_end(workers, caller, queue)
    n_left = sum(judgement.failure == "not_asked" for judgement in queue.done.values())
    if n_left and (shortage := limits.shortage):
        raise JudgingError(
            "judge.budget: {shortage}. {n} of {of} questions were not asked; what was "
            "judged is in {store}: raise the budget and run again to go on",
            shortage=shortage,
            n=n_left,
            of=len(queue.questions.wanted),
            store=settings.store,
        )


async def _to_their_end(
    workers: Iterable[Coroutine[Any, Any, None]], caller: Caller, queue: WorkQueue
) -> None:
    """Run workers; whatever ends them, answers under way are waited for and kept.

    Whoever is cancelled (an interrupt, SIGTERM) asks nothing more and waits for what is under way,
    `timeout` seconds at most; cancelled once more, it breaks off.

    Raises:
        Exception: what the first of them to fail raises.
    """
    timeout, tasks = queue.settings.timeout, [*map(asyncio.create_task, workers)]
    if not tasks:
        return
    try:
        finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in finished:
            task.result()
    except BaseException as end:
        if isinstance(end, (asyncio.CancelledError, KeyboardInterrupt)) and caller.calling:
            say(
                message(
                    "kragx: interrupted; what is under way ({n}) is waited for, {seconds:g} s at "
                    "most, and kept (once more: at once)",
                    n=len(caller.calling),
                    seconds=timeout,
                )
            )
        queue.closed = True
        for task in tasks:
            if task not in caller.calling:
                task.cancel()
        try:
            await asyncio.wait(tasks, timeout=timeout + 2 * GRACE)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        raise
