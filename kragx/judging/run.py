"""One run of a judge: questions in, judgements out, each asked once and kept at once.

What people have graded and what the store has is not asked again. What is left is claimed, so that
nobody else asks it, and asked by `concurrency` workers within the judge's limits; every answer is
committed when it arrives. The order of the judgements is that of the questions, whatever comes
first.
"""

import asyncio
import warnings
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kragx.ground.caller_warnings import outside
from kragx.ground.errors import DataError, JudgingError
from kragx.ground.printing import joined, listed, phrase, progress_bar, say
from kragx.ground.secrets import Secrets
from kragx.judging.budget import about_spent, most_tokens
from kragx.judging.calls import GRACE, Caller
from kragx.judging.client import FailureKind
from kragx.judging.keys import canonical_json, digest, essential, key_of, material
from kragx.judging.prompt import request_for
from kragx.judging.question import SETTLED, Judgement, Question
from kragx.judging.queue import WorkQueue, Writer
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import NoStoreError, Store, StoreFailedError
from kragx.judging.tally import Tally


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


class PendingQuestions:
    """Questions that are judged together.

    Attributes:
        questions: as they came, with the examples that the judge is shown.
        keys: of each of them, in their order.
        wanted: the distinct questions that a judge is needed for, each with its canonical JSON,
            by key.
        secrets: what nothing that is kept of them may show.
    """

    def __init__(self, settings: JudgeSettings, questions: Sequence[Question]) -> None:
        self.secrets: Secrets = settings.all_secrets()
        client = essential(self.secrets.masked(dict(settings.client.settings)))
        if settings.examples is not None:
            questions = [*map(settings.examples.shown_with, questions)]
        # Questions are many, and rubrics few: each of them is digested once.
        rubrics = {id(question.rubric): question.rubric for question in questions}
        digests = {number: digest(rubric) for number, rubric in rubrics.items()}
        self.questions = questions
        self.keys: list[str] = []
        self.wanted: dict[str, tuple[Question, str]] = {}
        for question in questions:
            rubric = digests[id(question.rubric)]
            canonical = canonical_json(material(question, client, settings.repeat, rubric))
            key = key_of(canonical)
            self.keys.append(key)
            self.wanted.setdefault(key, (question, canonical))

    def take_labels(self, store: Store) -> dict[int, Judgement]:
        """Human labels of the questions' queries and documents, by position: they win.

        A question that is asked for labelled documents only is wanted no more.

        Raises:
            DataError: a label is not on the rubric's scale.
        """
        pairs = {
            position: (question.query_id, question.document_id)
            for position, question in enumerate(self.questions)
            if question.rubric.asks == "relevance" and question.query_id and question.document_id
        }
        labels = store.labels(list(dict.fromkeys(query for query, _ in pairs.values())))
        judgements: dict[int, Judgement] = {}
        for position, pair in pairs.items():
            if pair not in labels:
                continue
            grade, top = labels[pair], self.questions[position].rubric.top
            if grade > top:
                raise DataError(
                    f"{store.address}: the imported label {grade} of query {pair[0]!r}, "
                    f"document {pair[1]!r} is not on the rubric's scale of 0 to {top}"
                )
            key = self.keys[position]
            judgements[position] = Judgement(key, grade=max(0, grade), source="human")
        keys = {key for position, key in enumerate(self.keys) if position not in judgements}
        self.wanted = {key: entry for key, entry in self.wanted.items() if key in keys}
        return judgements

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Which (key, query id, document id) belong together, of the wanted questions."""
        for key, question in zip(self.keys, self.questions, strict=True):
            if question.query_id is not None and key in self.wanted:
                document = question.document_id or f"text-{key_of(question.document)[:16]}"
                yield key, question.query_id, document


class JudgingRun:
    """Judges questions."""

    def __init__(self, settings: JudgeSettings, questions: PendingQuestions) -> None:
        self._settings, self._questions = settings, questions
        self._tally = Tally()
        self._done: dict[str, Judgement] = {}

    async def judge(self) -> Judged:
        """Judge; see `Judge.ajudge`."""
        settings, questions, tally = self._settings, self._questions, self._tally
        labels: Mapping[int, Judgement] = {}
        try:
            with Store(settings.store, make=not settings.dry_run) as store:
                labels = await store.aside(questions.take_labels, store)
                stored = await store.aside(store.settled, [*questions.wanted])
                self._done = {
                    key: stored[key] for key in stored if not self._is_asked_again(stored[key])
                }
                tally.n_stored += len(self._done)
                todo = await store.aside(self._not_pending, store)
                if settings.dry_run:
                    self._plan(todo)
                elif store.read_only:
                    self._do_without(todo, stored)
                elif todo:
                    texts = ((key, questions.wanted[key][1]) for key in todo)
                    await store.aside(store.note, texts, questions.pairs())
                    await self._ask_all(todo, store, stored)
        except NoStoreError:  # a dry run makes none
            self._plan([*questions.wanted])
        tally.n_distinct = len(questions.wanted)
        self._warn_of_changes()
        judgements = tuple(
            labels[position] if position in labels else self._done[key]
            for position, key in enumerate(questions.keys)
        )
        tally.count(questions.questions, judgements)
        return Judged(judgements, tally)

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
        keys = [key for key in self._questions.wanted if key not in self._done]
        of_no_batch = self._settings.ask_pending or store.read_only
        pending = {} if of_no_batch else store.batches.pending(keys)
        self._done |= pending
        return [key for key in keys if key not in pending]

    def _do_without(self, todo: Sequence[str], stored: Mapping[str, Judgement]) -> None:
        """Leave unanswered what a store lacks that takes no answers."""
        detail = f"{self._settings.store} may only be read, and lacks it: get the right to write "
        detail += "there, or copy it and name the copy (judge.store)"
        for key in todo:
            self._done[key] = stored.get(key) or Judgement(key, failure="not_asked", detail=detail)

    def _plan(self, todo: Sequence[str]) -> None:
        settings, plan = self._settings, self._settings.plan
        if settings.outbox is not None:
            settings.outbox.put(settings, self._questions, todo, self._done.values())
        failure: FailureKind = "pending" if settings.outbox else "not_asked"
        for key in todo:
            self._done[key] = Judgement(key, failure=failure, detail="a dry run")
            if key in plan.keys:
                continue
            question, _ = self._questions.wanted[key]
            request = request_for(question, key, settings.timeout)
            about, at_most = about_spent(request), most_tokens(request, settings.output_limit)
            plan.add(key, about, at_most)
            self._tally.planned.add(about)

    async def _ask_all(
        self, todo: Sequence[str], store: Store, stored: Mapping[str, Judgement]
    ) -> None:
        settings, tally = self._settings, self._tally
        n_at_once, ask_pending = settings.concurrency, settings.ask_pending
        queue = WorkQueue(todo, store, stored, n_at_once, ask_pending=ask_pending)
        writer = Writer(store, self._questions.wanted, self._questions.pairs, queue)
        secrets = self._questions.secrets
        caller = Caller(settings, self._questions.wanted, secrets, queue, store, writer, tally)
        with progress_bar(
            phrase("judging with {model}", model=settings.model),
            len(todo),
            settings.progress,
            settings.limits.cost_in_words,
        ) as advance:

            async def work(*, alone: bool) -> None:
                while turn := await queue.next(scattered=caller.breaker.in_a_cluster):
                    if turn.answered is None:
                        self._done[turn.key] = await caller.judgement(turn.key)
                    else:
                        self._done[turn.key] = turn.answered
                        if turn.answered.failure != "pending":
                            tally.n_joined += turn.is_joined
                            tally.n_stored += not turn.is_joined
                    writer.finish(turn.key)
                    advance()
                    await writer.kept()
                    if alone and not caller.breaker.unproven:
                        return

            try:
                async with queue.kept():
                    if caller.breaker.unproven:
                        await _to_their_end([work(alone=True)], caller, queue, settings.timeout)
                    workers = [work(alone=False) for _ in range(min(n_at_once, len(queue)))]
                    await _to_their_end(workers, caller, queue, settings.timeout)
            except StoreFailedError as error:
                writer.error = error
            finally:
                await writer.close()
        if caller.over_budget and (shortage := settings.limits.shortage):
            self._warn_of_changes()
            n_left = sum(judgement.failure == "not_asked" for judgement in self._done.values())
            raise JudgingError(
                phrase(
                    "judge.budget: {shortage}. {n} of {of} questions were not asked; what was "
                    "judged is in {store}: raise the budget and run again to go on",
                    shortage=shortage,
                    n=n_left,
                    of=len(self._questions.wanted),
                    store=settings.store,
                )
            )

    def _warn_of_changes(self) -> None:
        judgements = self._done.values()
        served: Mapping[str, set[str | None]] = {
            phrase("models"): {judgement.model for judgement in judgements},
            phrase("system fingerprints"): {judgement.fingerprint for judgement in judgements},
            phrase("dialects"): {
                judgement.dialect or "json_schema"
                for judgement in judgements
                if judgement.grade is not None
            },
        }
        changed = [
            joined(" ", [label, f"({', '.join(sorted(filter(None, names)))})"])
            for label, names in served.items()
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
    workers: Iterable[Coroutine[Any, Any, None]], caller: Caller, queue: WorkQueue, timeout: float
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
        if isinstance(end, (asyncio.CancelledError, KeyboardInterrupt)) and caller.calling:
            say(
                phrase(
                    "kragx: interrupted; {n} answers under way are waited for, {seconds:g} s "
                    "at most, and kept (once more: at once)",
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
