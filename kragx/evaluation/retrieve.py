"""Ask any retriever all the questions of a gold set, and keep what it says and how long it took."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from math import inf
from statistics import median
from typing import Annotated, Any, Literal, TypeVar

from kragx.data import GoldDataset, Mender, Query, Retrieved, Run, as_corpus
from kragx.errors import DataError, MissingExtraError, RetrieverError
from kragx.evaluation.answers import documents_of
from kragx.evaluation.retriever_adapters import (
    Call,
    asynchronous,
    retriever_name,
    settle,
    start_daemon,
    synchronous,
)
from kragx.plugins import check_arguments, check_options, number, optional, whole
from kragx.printing import progress_bar

FIRST_PAUSE = 0.5
"""Seconds before the first retry."""

_LONGEST_REASON = 2000


_SECONDS = number(lambda seconds: 0 < seconds < inf, "number of seconds above 0")


@dataclass(frozen=True)
class Asking:
    """How a retriever is asked.

    Attributes:
        concurrency: how many questions at once; more than 1 makes each query's time a time under
            load.
        timeout: seconds after which an attempt has failed; None waits for ever.
        retries: how often a question is asked again after an error, with growing pauses.
        on_error: ``record`` a query that failed and go on, or ``stop``.
        warmup: how many questions are asked first without being counted or timed.
        repeat: how often each question is asked; its time is the median, its answer the first.
        callbacks: LangChain callback handlers, for example of a tracing tool.
        mask: what becomes of the text of a failure before anybody reads it.
        known: what is answered already, by query id; it is not asked again.
        on_answer: told each new answer as it comes, from whatever thread it comes in.
    """

    concurrency: Annotated[int, whole(1)] = 1
    timeout: Annotated[float | None, optional(_SECONDS)] = None
    retries: Annotated[int, whole(0)] = 0
    on_error: Literal["record", "stop"] = "record"
    warmup: Annotated[int, whole(0)] = 0
    repeat: Annotated[int, whole(1)] = 1
    callbacks: Sequence[Any] = ()
    mask: Callable[[str], str] = str
    known: Mapping[str, Retrieved] = field(default_factory=dict)
    on_answer: Callable[[Query, Retrieved], None] | None = None

    def __post_init__(self) -> None:
        check_options(self)


def retrieve(
    retriever: Any,
    dataset: GoldDataset,
    *,
    name: str | None = None,
    progress: bool | None = None,
    corpus: object = None,
    **asking: Any,
) -> Run:
    """Ask a retriever every question of a gold set.

    Args:
        retriever: a LangChain `BaseRetriever` or runnable, or a function from a question to a
            ranked list of documents; synchronous or asynchronous.
        dataset: the questions.
        name: names the run; default: the retriever's own name or class.
        progress: whether to show a progress bar; None for only on a terminal or in a notebook.
        corpus: has the texts of documents that the retriever names by id alone, as for `evaluate`;
            an id that it lacks stays without.
        asking: the fields of `Asking`: concurrency (1), timeout, retries, on_error, warmup, repeat,
            callbacks and others.

    Returns:
        A run in which a question that raised, or was answered with something that is no list of
        documents, is failed, with the reason. Works inside a running event loop as well.

    Raises:
        UsageError: `retriever` cannot be asked, or an extra of kragx that it needs is missing.
        DataError: a query has no text.
        RetrieverError: one failed, and on_error is ``stop``.
    """
    asking = {"concurrency": 1, **asking}
    interview = _interview(retriever, dataset, name, asking, blocking=True)
    known = as_corpus(corpus)  # refused before anything is asked
    answers = interview.run(progress)
    if not interview.awaited:
        return known.run(_finished(answers))
    from kragx.judging.loop import run_sync

    return known.run(run_sync(lambda: answers))


async def aretrieve(
    retriever: Any,
    dataset: GoldDataset,
    *,
    name: str | None = None,
    progress: bool | None = None,
    corpus: object = None,
    **asking: Any,
) -> Run:
    """`retrieve` for asynchronous code; a synchronous retriever is asked in threads.

    Unless told otherwise it asks 8 questions at once.
    """
    asking = {"concurrency": 8, **asking}
    known = as_corpus(corpus)
    interview = _interview(retriever, dataset, name, asking, blocking=False)
    return known.run(await interview.run(progress))


@dataclass(frozen=True)
class _Interview:
    """All questions of a gold set put to one retriever.

    It is written once, as coroutines; those of a retriever whose calls are not awaited await
    nothing, and need no event loop (`_finished`).
    """

    name: str
    dataset: GoldDataset
    asking: Asking
    call: Call
    awaited: bool
    mender: Mender = field(default_factory=Mender)

    async def run(self, progress: bool | None) -> Run:
        """Ask everything: the answers stand in the order of the questions."""
        # The warm-up begins again where there are too few questions for it.
        known = all(query.id in self.asking.known for query in self.dataset)
        for query in islice(cycle(self.dataset), 0 if known else self.asking.warmup):
            await self._attempt(query)
        concurrency = self.asking.concurrency
        # What is not awaited is bound by its threads.
        places = asyncio.Semaphore(concurrency) if self.awaited else nullcontext()
        with progress_bar(f"asking {self.name}", len(self.dataset), progress) as advance:

            async def answer(query: Query) -> Retrieved:
                async with places:
                    retrieved = await self._answer(query)
                advance()
                return retrieved

            # The order is that of the questions, whichever answer comes first.
            if self.awaited:
                results = await asyncio.gather(*map(answer, self.dataset))
            else:
                results = _at_once(
                    lambda query: _finished(answer(query)), self.dataset.queries, concurrency
                )
        by_id = {query.id: retrieved for query, retrieved in zip(self.dataset, results)}
        return Run(by_id, name=self.name, n_replaced_surrogates=self.mender.surrogates)

    async def _attempt(self, query: Query) -> Retrieved:
        """Ask once, and again after errors as often as is allowed."""
        retrieved, before = Retrieved(error="not asked"), 0.0
        for attempt in range(self.asking.retries + 1):
            if attempt:
                pause = min(FIRST_PAUSE * 2.0 ** (attempt - 1), 8.0)
                await asyncio.sleep(pause) if self.awaited else time.sleep(pause)
            started = time.perf_counter()
            try:
                answer = self.call(query.text)
                if self.awaited:
                    answer = await answer
            except MissingExtraError:
                raise  # no single query's failure: the retriever cannot work at all
            # Whatever else a user's retriever raises is that query's; so is an attempt to exit.
            except BaseException as error:
                if self._is_ended(error):
                    raise
                before += time.perf_counter() - started
                retrieved = self._failed(error, before)
                continue
            seconds = before + time.perf_counter() - started  # whoever asks waits for every attempt
            try:
                return Retrieved(documents_of(answer, self.mender), seconds)
            except DataError as error:
                return self._failed(error, seconds)
        return retrieved

    def _is_ended(self, error: BaseException) -> bool:
        """Whether somebody ends the evaluation: by an interrupt, or by cancelling its task."""
        if not self.awaited or not isinstance(error, (asyncio.CancelledError, GeneratorExit)):
            return isinstance(error, KeyboardInterrupt)
        task = asyncio.current_task()
        return isinstance(error, GeneratorExit) or task is None or task.cancelling() > 0

    def _failed(self, error: BaseException, seconds: float) -> Retrieved:
        try:
            said = str(error)
        except Exception:  # a user's error may fail to say what it is
            said = "(it cannot be printed)"
        reason = self.asking.mask(self.mender.mend(f"{type(error).__name__}: {said}"))
        if len(reason) > _LONGEST_REASON:  # a whole page, as servers send it
            reason = f"{reason[:_LONGEST_REASON]}... ({len(reason)} characters)"
        return Retrieved(seconds=seconds, error=reason)

    async def _answer(self, query: Query) -> Retrieved:
        """What a question gets that is asked several times: the first answer, the median time."""
        if query.id in self.asking.known:
            return self.asking.known[query.id]
        attempts = [await self._attempt(query) for _ in range(self.asking.repeat)]
        answered = [attempt for attempt in attempts if attempt.error is None] or attempts
        retrieved = answered[0]
        if retrieved.error is not None and self.asking.on_error == "stop":
            raise RetrieverError(
                f"query {query.id!r}: {self.name} failed: {retrieved.error}",
                remedy="on_error: record would count the failure and go on",
            )
        retrieved = replace(retrieved, seconds=median(one.seconds or 0.0 for one in answered))
        if self.asking.on_answer is not None:
            self.asking.on_answer(query, retrieved)
        return retrieved


def _interview(
    retriever: Any,
    dataset: GoldDataset,
    name: str | None,
    options: Mapping[str, Any],
    *,
    blocking: bool,
) -> _Interview:
    """The questions and how to ask them: `blocking` where the retriever can be asked so."""
    check_arguments(Asking, options, "retrieve")
    for query in dataset:
        if not query.text:
            raise DataError(
                f"query {query.id!r} has no text to ask a retriever; "
                "add 'query' to the gold file, or queries=[...] to from_documents"
            )
    asking = Asking(**options)
    call = synchronous(retriever, asking.callbacks, asking.timeout) if blocking else None
    return _Interview(
        name or retriever_name(retriever),
        dataset,
        asking,
        call or asynchronous(retriever, asking.callbacks, asking.timeout),
        awaited=call is None,
    )


_Result = TypeVar("_Result")


def _finished(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """What a coroutine gives that awaits nothing: it ends at the first step."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError("it awaits something")


def _at_once(
    answer: Callable[[Query], Retrieved], questions: Sequence[Query], concurrency: int
) -> list[Retrieved]:
    """The answers in the order of the questions, of which several are asked at once.

    The threads are daemons, unlike those of an executor: an interrupt ends the process although
    some retriever hangs. After it, or after an error, no further question is begun.
    """
    # One after the other they are asked in the caller's thread, which some indexes insist on.
    if concurrency == 1:
        return list(map(answer, questions))
    answers = [Future[Retrieved]() for _ in questions]
    waiting = deque(zip(questions, answers))

    def work() -> None:
        while waiting:
            try:
                query, future = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            settle(future, answer, query)

    for _ in range(min(concurrency, len(questions))):
        start_daemon(work)
    try:
        return [future.result() for future in answers]
    finally:
        waiting.clear()
