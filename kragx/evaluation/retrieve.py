"""Ask any retriever all the questions of a gold set, and keep what it says and how long it took."""

import asyncio
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice
from math import inf
from statistics import median
from typing import Annotated, Any, Literal, TypeVar

from kragx.data import GoldDataset, Mender, Query, Retrieved, Run, Stage, as_corpus
from kragx.errors import DataError, MissingExtraError, RetrieverError, UsageError, nearest
from kragx.evaluation.answers import documents_of
from kragx.evaluation.copies import warn_of_copies
from kragx.evaluation.retriever_adapters import (
    HISTORY,
    Call,
    OnlyAwaitedError,
    asynchronous,
    retriever_name,
    settings_of,
    settle,
    start_daemon,
    synchronous,
    takes_history,
)
from kragx.evaluation.stage_trace import Trace, listening, reason_of
from kragx.plugins import check_arguments, check_options, fitting, number, optional, whole
from kragx.printing import phrase, progress_bar, visible
from kragx.warned import outside

FIRST_PAUSE = 0.5
"""Seconds before the first retry."""

_LONGEST_REASON = 2000


_SECONDS = number(lambda seconds: 0 < seconds < inf, "number of seconds above 0")
_MAPPING = fitting(
    lambda value: isinstance(value, Mapping),
    "a mapping is expected, such as {{'question': 'query'}}, not {!r}",
)


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
        input: of a LangChain runnable whose input is a mapping, what its fields get: ``query``,
            ``history`` (a list of mappings with role and content), for example
            ``{"input": "query", "chat_history": "history"}``. None gives it the question alone.
        stages: whether to keep what each step of a LangChain chain returned (`Retrieved.stages`).
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
    input: Annotated[Mapping[str, str] | None, optional(_MAPPING)] = None
    stages: bool = False
    mask: Callable[[str], str] = str
    known: Mapping[str, Retrieved] = field(default_factory=dict)
    on_answer: Callable[[Query, Retrieved], None] | None = None

    def __post_init__(self) -> None:
        check_options(self)
        for name, what in (self.input or {}).items():
            if what not in INPUTS:
                raise UsageError(
                    f"unknown value {what!r}; {nearest(what, INPUTS)}", field=f"input.{name}"
                )


INPUTS = ("query", "history")
"""What a field of a mapping that a runnable takes may get."""


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

    Examples:
        >>> from kragx import GoldDataset, retrieve
        >>> gold = GoldDataset.from_documents([["Seoul"]], queries=["Which city is the capital?"])
        >>> run = retrieve(lambda question: ["Busan", "Seoul"], gold, name="guess", progress=False)
        >>> [doc.text for doc in run.results["q1"].documents]
        ['Busan', 'Seoul']
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

    Examples:
        >>> import asyncio
        >>> from kragx import GoldDataset, aretrieve
        >>> gold = GoldDataset.from_documents([["Seoul"]], queries=["Which city is the capital?"])
        >>> async def guess(question):
        ...     return ["Busan", "Seoul"]
        >>> run = asyncio.run(aretrieve(guess, gold, progress=False))
        >>> len(run.results["q1"].documents)
        2
    """
    asking = {"concurrency": 8, **asking}
    known = as_corpus(corpus)
    interview = _interview(retriever, dataset, name, asking, blocking=False)
    return known.run(await interview.run(progress))


Answered = tuple[Retrieved, int]
"""What a question got in another process, and how many lone surrogates were replaced in it."""


def answering(
    retriever: Any, dataset: GoldDataset, *, name: str, **asking: Any
) -> Callable[[Query], Answered]:
    """What answers one question as `retrieve` does, from any thread, and is warmed up at the first.

    Args:
        retriever: as for `retrieve`.
        dataset: the questions to warm up with.
        name: as for `retrieve`.
        asking: as for `retrieve`; whoever calls sees to `concurrency`, ``known`` and ``on_answer``.
    """
    interview = _interview(retriever, dataset, name, asking, blocking=True)
    lock, to_warm_up = threading.Lock(), deque(interview.warmup)

    def run(work: Callable[[], Coroutine[Any, Any, Retrieved]]) -> Retrieved:
        if not interview.awaited:
            return _finished(work())
        from kragx.judging.loop import run_sync

        return run_sync(work)

    def answer(query: Query) -> Answered:
        with lock:
            while to_warm_up:
                run(partial(interview.attempt, to_warm_up.popleft()))
        own = replace(interview, mender=Mender())
        return run(partial(own.answer, query)), own.mender.surrogates

    return answer


def retrieve_by(
    answer: Callable[[Query], Answered],
    dataset: GoldDataset,
    *,
    name: str,
    progress: bool | None = None,
    **asking: Any,
) -> Run:
    """`retrieve` where others answer (`answering`), who were warmed up.

    It raises what `retrieve` does, and what `answer` does.
    """
    interview = _interview(str, dataset, name, {**asking, "warmup": 0}, blocking=True)
    return _finished(replace(interview, elsewhere=answer).run(progress))


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
    elsewhere: Callable[[Query], Answered] | None = None
    takes_history: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def warmup(self) -> Iterator[Query]:
        """What is asked first; from the start again where there are too few questions."""
        return islice(cycle(self.dataset), self.asking.warmup)

    async def run(self, progress: bool | None) -> Run:
        """Ask everything: the answers stand in the order of the questions."""
        known = all(query.id in self.asking.known for query in self.dataset)
        for query in () if known else self.warmup:
            await self.attempt(query)
        concurrency = self.asking.concurrency
        # What is not awaited is bound by its threads.
        places = asyncio.Semaphore(concurrency) if self.awaited else nullcontext()
        with progress_bar(
            phrase("asking {name}", name=self.name), len(self.dataset), progress
        ) as advance:

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
        warn_of_copies(self.name, by_id)
        return Run(
            by_id,
            name=self.name,
            settings=self.settings,
            n_replaced_surrogates=self.mender.surrogates,
        )

    def put(self, query: Query) -> Any:
        """Ask a question as the retriever takes it; what is awaited is not awaited yet."""
        history = [turn.to_dict() for turn in query.history]
        if self.asking.input is not None:
            values = {"query": query.text, "history": history}
            return self.call({name: values[what] for name, what in self.asking.input.items()})
        return self.call(query.text, **({HISTORY: history} if self.takes_history else {}))

    async def attempt(self, query: Query) -> Retrieved:
        """Ask once, and again after errors as often as is allowed."""
        retrieved, before = Retrieved(error="not asked"), 0.0
        for attempt in range(self.asking.retries + 1):
            if attempt:
                pause = min(FIRST_PAUSE * 2.0 ** (attempt - 1), 8.0)
                await asyncio.sleep(pause) if self.awaited else time.sleep(pause)
            started = time.perf_counter()
            trace = None
            try:
                with listening() if self.asking.stages else nullcontext() as trace:
                    answer = self.put(query)
                    if self.awaited:
                        answer = await answer
            except OnlyAwaitedError:
                return await self.attempt(query)
            except MissingExtraError:
                raise  # no single query's failure: the retriever cannot work at all
            # Whatever else a user's retriever raises is that query's; so is an attempt to exit.
            except BaseException as error:
                if self._is_ended(error):
                    raise
                before += time.perf_counter() - started
                retrieved = self._failed(error, before, trace)
                continue
            seconds = before + time.perf_counter() - started  # whoever asks waits for every attempt
            try:
                documents = documents_of(answer, self.mender)
            except DataError as error:
                return self._failed(error, seconds, trace)
            return Retrieved(documents, seconds, stages=self._stages(trace))
        return retrieved

    def _is_ended(self, error: BaseException) -> bool:
        """Whether somebody ends the evaluation: by an interrupt, or by cancelling its task."""
        if not self.awaited or not isinstance(error, (asyncio.CancelledError, GeneratorExit)):
            return isinstance(error, KeyboardInterrupt)
        task = asyncio.current_task()
        return isinstance(error, GeneratorExit) or task is None or task.cancelling() > 0

    def _failed(self, error: BaseException, seconds: float, trace: Trace | None) -> Retrieved:
        reason = self._told(reason_of(error))
        return Retrieved(seconds=seconds, error=reason, stages=self._stages(trace))

    def _stages(self, trace: Trace | None) -> tuple[Stage, ...]:
        """What was heard; the reasons of stages that failed as everybody may read them."""
        return tuple(
            stage if stage.error is None else replace(stage, error=self._told(stage.error))
            for stage in (() if trace is None else trace.stages())
        )

    def _told(self, reason: str) -> str:
        reason = self.asking.mask(self.mender.mend(reason))
        if len(reason) > _LONGEST_REASON:  # a whole page, as servers send it
            return f"{reason[:_LONGEST_REASON]}... ({len(reason)} characters)"
        return reason

    async def _answer(self, query: Query) -> Retrieved:
        """What a question gets, and got if that is known."""
        if query.id in self.asking.known:
            return self.asking.known[query.id]
        if self.elsewhere is None:
            retrieved = await self.answer(query)
        else:
            retrieved, n_replaced = self.elsewhere(
                Query(query.id, query.text, history=query.history)
            )
            self.mender.surrogates += n_replaced
        if self.asking.on_answer is not None:
            self.asking.on_answer(query, retrieved)
        return retrieved

    async def answer(self, query: Query) -> Retrieved:
        """The first answer of those to a question, and their median time."""
        attempts = [await self.attempt(query) for _ in range(self.asking.repeat)]
        answered = [attempt for attempt in attempts if attempt.error is None] or attempts
        retrieved = answered[0]
        if retrieved.error is not None and self.asking.on_error == "stop":
            raise RetrieverError(
                f"query {query.id!r}: {self.name} failed: {retrieved.error}",
                remedy="on_error: record would count the failure and go on",
            )
        return replace(retrieved, seconds=median(one.seconds or 0.0 for one in answered))


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
                "add 'query' to the gold file, or pass GoldDataset.from_documents(gold, "
                "queries=[...]) of kragx"
            )
    asking = Asking(**options)
    _check_input(retriever, asking, dataset, name)
    call = synchronous(retriever, asking.callbacks, asking.timeout) if blocking else None
    return _Interview(
        name or retriever_name(retriever),
        dataset,
        asking,
        call or asynchronous(retriever, asking.callbacks, asking.timeout),
        awaited=call is None,
        takes_history=takes_history(retriever),
        settings=settings_of(retriever),
    )


def _check_input(retriever: Any, asking: Asking, dataset: GoldDataset, name: str | None) -> None:
    """Refuse an input that a function cannot have; warn where a history goes unheard.

    Whoever is asked elsewhere is ``str`` here, and is looked at there.
    """
    is_runnable = hasattr(retriever, "invoke") or hasattr(retriever, "ainvoke")
    if asking.input is not None and not is_runnable and retriever is not str:
        raise UsageError(
            f"{retriever_name(retriever)} is a function, which takes the question, and with a "
            "parameter 'history' what was said before",
            field="input",
            remedy="leave it out, or wrap the function into a RunnableLambda",
        )
    n = sum(bool(query.history) for query in dataset)
    hears = takes_history(retriever) or "history" in (asking.input or {}).values()
    if n and not hears and retriever is not str:
        warnings.warn(
            phrase(
                "{name} is asked without the history that {n} of {of} questions have; a runnable "
                "gets it by 'input' ({{input: query, chat_history: history}}), a function by a "
                "parameter 'history', a server by a text \"{{history}}\" in its json",
                name=visible(name or retriever_name(retriever)),
                n=n,
                of=len(dataset),
            ),
            HistoryWarning,
            stacklevel=outside(),
        )


class HistoryWarning(UserWarning):
    """Questions have earlier turns, and a retriever does not get them."""


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
