"""One run of a judge: questions in, judgements out, each asked once and kept at once.

A key that the store has is not asked again. What is left is asked by `concurrency` workers, none
faster than `rpm` allows, each with its own attempts and waits; every answer is committed when it
arrives. The order of the judgements is that of the questions, whatever comes first.
"""

import asyncio
import warnings
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kragx.errors import JudgingError
from kragx.judging.agenda import Agenda, pending_in
from kragx.judging.asking import GRACE, Asker
from kragx.judging.client import FailureKind
from kragx.judging.counting import about_spent, most_tokens
from kragx.judging.docket import Docket
from kragx.judging.prompt import request_for
from kragx.judging.question import SETTLED, Judgement
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import NoStoreError, Store, StoreFailedError
from kragx.judging.store.spending import used_of
from kragx.judging.tally import Tally
from kragx.judging.writer import Writer
from kragx.printing import joined, listed, phrase, progress_bar, say
from kragx.warned import outside


class JudgeWarning(UserWarning):
    """Something about the judgements changes what they mean; said once per run."""


@dataclass(frozen=True)
class Judged:
    """What became of some questions.

    Attributes:
        judgements: in the order of the questions.
        tally: what it took: calls, retries, stored, joined, tokens, failures by kind, ...
    """

    judgements: tuple[Judgement, ...]
    tally: Tally


class Runner:
    """Judges the questions of a docket."""

    def __init__(self, settings: JudgeSettings, docket: Docket) -> None:
        self._settings, self._docket = settings, docket
        self._tally = Tally()
        self._done: dict[str, Judgement] = {}

    async def judge(self) -> Judged:
        """Judge; see `Judge.ajudge`."""
        settings, docket, tally = self._settings, self._docket, self._tally
        labels: Mapping[int, Judgement] = {}
        try:
            with Store(settings.store, make=not settings.dry_run) as store:
                labels = await store.aside(docket.take_labels, store)
                stored = await store.aside(store.settled, [*docket.wanted])
                self._done = {
                    key: stored[key] for key in stored if not self._is_asked_again(stored[key])
                }
                tally.n_stored += len(self._done)
                todo = await store.aside(self._not_pending, store)
                self._resume()
                if settings.dry_run:
                    self._plan(todo, store)
                elif store.read_only:
                    self._do_without(todo, stored)
                else:
                    texts = ((key, docket.wanted[key][1]) for key in todo)
                    await store.aside(store.note, texts, docket.pairs())
                    await self._ask_all(todo, store, stored)
        except NoStoreError:  # a dry run makes none
            self._plan([*docket.wanted], None)
        tally.n_distinct = len(docket.wanted)
        self._warn_of_changes()
        judgements = tuple(
            labels[position] if position in labels else self._done[key]
            for position, key in enumerate(docket.keys)
        )
        tally.count(docket.questions, judgements)
        return Judged(judgements, tally)

    def _resume(self) -> None:
        """Ask what is left as the server had to be asked for what is stored of it."""
        dialects = [
            judgement.dialect
            for judgement in self._done.values()
            if judgement.source == "store" and judgement.grade is not None
        ]
        resume = getattr(self._settings.client, "resume", None)
        if resume is not None and dialects and dialects[-1] is not None:
            resume(dialects[-1])

    def _is_asked_again(self, stored: Judgement) -> bool:
        policy = self._settings.ask_again
        return stored.failure is not None and (
            policy == "all"
            or (policy == "transient" and (stored.failure not in SETTLED or self._fits_now(stored)))
        )

    def _fits_now(self, stored: Judgement) -> bool:
        """Whether an answer was cut off at a limit that is higher now."""
        before, limit = stored.output_limit, self._settings.output_limit
        return (
            stored.failure == "length" and before is not None and (limit is None or limit > before)
        )

    def _not_pending(self, store: Store) -> list[str]:
        """What is left to ask, but for what a batch will answer."""
        open_keys = [key for key in self._docket.wanted if key not in self._done]
        of_no_batch = self._settings.ask_pending or store.read_only
        pending = {} if of_no_batch else pending_in(store, open_keys)
        self._done |= pending
        return [key for key in open_keys if key not in pending]

    def _do_without(self, todo: Sequence[str], known: Mapping[str, Judgement]) -> None:
        """Leave unanswered what a store lacks that takes no answers."""
        detail = "not in the store, which may only be read"
        for key in todo:
            self._done[key] = known.get(key) or Judgement(key, failure="not_asked", detail=detail)
        if not todo:
            return
        lacking = JudgingError(
            phrase(
                "the judgement store may only be read, and {n} of {of} questions have no grade in "
                "it; nothing was asked",
                n=len(todo),
                of=len(self._docket.wanted),
            ),
            path=str(self._settings.store),
            remedy=phrase(
                "get the right to write there, or copy it and name the copy (judge.store)"
            ),
        )
        if len(todo) > self._settings.max_missing * len(self._docket.wanted):
            raise lacking
        warnings.warn(str(lacking), JudgeWarning, stacklevel=outside())

    def _plan(self, todo: Sequence[str], store: Store | None) -> None:
        settings, plan = self._settings, self._settings.plan
        if settings.outbox is not None:
            settings.outbox.put(settings, self._docket, todo, self._done.values())
        elif not plan.limits:
            plan.limits = used_of(settings.budget, store, settings.prices)
        for key in todo:
            failure: FailureKind = "pending" if settings.outbox else "not_asked"
            self._done[key] = Judgement(key, failure=failure, detail="a dry run")
            if key in plan.keys:
                continue
            question, _ = self._docket.wanted[key]
            request = request_for(question, key, settings.timeout)
            about, at_most = about_spent(request), most_tokens(request, settings.output_limit)
            plan.add(key, about, at_most)
            self._tally.planned.add(about)

    async def _ask_all(
        self, todo: Sequence[str], store: Store, known: Mapping[str, Judgement]
    ) -> None:
        if not todo:
            return
        settings = self._settings
        agenda = Agenda(todo, store, known, settings.concurrency, ask_pending=settings.ask_pending)
        writer = Writer(store, self._docket, agenda)
        asker = Asker(settings, self._docket, agenda, store, writer, self._tally)
        with progress_bar(
            phrase("judging with {model}", model=settings.model),
            len(todo),
            settings.progress,
            lambda: "".join(self._cost()),
        ) as advance:

            async def work(*, alone: bool) -> None:
                while turn := await agenda.next(elsewhere=asker.breaker.in_a_cluster):
                    key = turn.key
                    if turn.answered is None:
                        self._done[key] = await asker.judgement(key)
                    else:
                        self._done[key] = turn.answered
                        if turn.answered.failure != "pending":
                            self._tally.n_joined += turn.is_joined
                            self._tally.n_stored += not turn.is_joined
                    writer.finish(key)
                    advance()
                    await writer.kept()
                    if alone and not asker.breaker.unproven:
                        return

            try:
                async with agenda.kept():
                    if asker.breaker.unproven:
                        await _to_their_end([work(alone=True)], asker, agenda, settings.timeout)
                    n_workers = min(settings.concurrency, len(agenda))
                    workers = [work(alone=False) for _ in range(n_workers)]
                    await _to_their_end(workers, asker, agenda, settings.timeout)
            except StoreFailedError as error:
                writer.error = error
            finally:
                await writer.close()
        if asker.over_budget and (shortage := settings.ledger.shortage) is not None:
            self._warn_of_changes()
            n_left = sum(judgement.failure == "not_asked" for judgement in self._done.values())
            raise JudgingError(
                phrase(
                    "judge.budget: {shortage}. {n} of {of} questions were not asked; what was "
                    "judged is in {store}: raise the budget and run again to go on",
                    shortage=shortage.says(settings.currency),
                    n=n_left,
                    of=len(self._docket.wanted),
                    store=settings.store,
                )
            )

    def _cost(self) -> list[str]:
        """What was spent so far, where there is a price."""
        cost = self._settings.ledger.cost
        return [] if cost is None else [f"{cost:.4f} {self._settings.currency}"]

    def _warn_of_changes(self) -> None:
        graded = [
            judgement
            for judgement in self._done.values()
            if judgement.grade is not None and judgement.source != "human"
        ]
        served: Mapping[str, set[str | None]] = {
            phrase("models"): {judgement.model for judgement in self._done.values()},
            phrase("system fingerprints"): {
                judgement.fingerprint for judgement in self._done.values()
            },
            phrase("dialects"): {judgement.dialect or "json_schema" for judgement in graded},
        }
        changed = [
            joined(" ", [what, f"({', '.join(sorted(filter(None, names)))})"])
            for what, names in served.items()
            if len(names - {None}) > 1
        ]
        if changed:
            warnings.warn(
                phrase(
                    "{model!r} was served by different {changed}: the stored and the new grades "
                    "may not be alike; another 'repeat' asks everything anew (see: kragx judge "
                    "store stats)",
                    model=self._settings.model,
                    changed=listed(changed),
                ),
                JudgeWarning,
                stacklevel=outside(),
            )


async def _to_their_end(
    workers: Iterable[Coroutine[Any, Any, None]], asker: Asker, agenda: Agenda, timeout: float
) -> None:
    """Run workers; whatever ends them, answers under way are waited for and kept.

    Whoever is cancelled (an interrupt, SIGTERM) asks nothing more and waits for what is under way,
    `timeout` seconds at most; cancelled once more, it breaks off.

    Raises:
        Exception: what the first of them to fail raises.
    """
    tasks = [asyncio.create_task(worker) for worker in workers]
    if not tasks:
        return
    try:
        finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in finished:
            task.result()
    except BaseException as end:
        if isinstance(end, (asyncio.CancelledError, KeyboardInterrupt)) and asker.calling:
            say(
                phrase(
                    "kragx: interrupted; {n} answers under way are waited for, {seconds:g} s "
                    "at most, and kept (once more: at once)",
                    n=len(asker.calling),
                    seconds=timeout,
                )
            )
        agenda.closed = True
        for task in tasks:
            if task not in asker.calling:
                task.cancel()
        try:
            await asyncio.wait(tasks, timeout=timeout + 2 * GRACE)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        raise
