"""Ask any retriever all the questions of a gold set, and keep what it says and how long it took."""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, fields, replace
from itertools import cycle, islice
from statistics import median
from typing import Any, Literal, get_args

from kragx.data.documents import Doc, as_docs
from kragx.data.gold import GoldDataset, Query
from kragx.data.runs import Retrieved, Run
from kragx.data.text import Mender
from kragx.errors import DataError, KragxError, UsageError, nearest

Advance = Callable[[], None]
OnError = Literal["record", "stop"]
ON_ERROR: tuple[OnError, ...] = get_args(OnError)

FIRST_PAUSE = 0.5
"""Seconds before the first retry."""


def is_retriever(value: object) -> bool:
    """Whether `value` can be asked: a LangChain retriever or runnable, or a function."""
    return hasattr(value, "invoke") or hasattr(value, "ainvoke") or callable(value)


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
        known: what is answered already, by query id; it is not asked again.
        on_answer: told each new answer as it comes, from whatever thread it comes in.
    """

    concurrency: int = 1
    timeout: float | None = None
    retries: int = 0
    on_error: OnError = "record"
    warmup: int = 0
    repeat: int = 1
    callbacks: Sequence[Any] = ()
    known: Mapping[str, Retrieved] = field(default_factory=dict)
    on_answer: Callable[[Query, Retrieved], None] | None = None

    def __post_init__(self) -> None:
        for name, least in (("concurrency", 1), ("retries", 0), ("warmup", 0), ("repeat", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"{name}: {value!r} is not a whole number of at least {least}")
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise UsageError(f"timeout: {self.timeout!r} is no number of seconds above 0")
        if self.on_error not in ON_ERROR:
            hint = nearest(str(self.on_error), ON_ERROR)
            raise UsageError(f"on_error: unknown value {self.on_error!r}; {hint}")

    def settle(self, query: Query, asked: Sequence[Retrieved], name: str) -> Retrieved:
        """What a question that was asked several times got: the first answer, the median time."""
        answers = [each for each in asked if each.error is None]
        found = answers[0] if answers else asked[0]
        if found.error is not None and self.on_error == "stop":
            raise DataError(
                f"query {query.id!r}: {name} failed: {found.error}; on_error: record would count "
                "the failure and go on"
            )
        times = [each.seconds for each in answers or asked if each.seconds is not None]
        found = replace(found, seconds=median(times) if times else None)
        if self.on_answer is not None:
            self.on_answer(query, found)
        return found


def retrieve(
    retriever: Any,
    dataset: GoldDataset,
    *,
    name: str | None = None,
    progress: bool | None = None,
    **asking: Any,
) -> Run:
    """Ask a retriever every question of a gold set.

    Args:
        retriever: a LangChain `BaseRetriever` or runnable, or a function from a question to a
            ranked list of documents; synchronous or asynchronous.
        dataset: the questions.
        name: names the run; default: the retriever's own name or class.
        progress: whether to show a progress bar; None for only on a terminal or in a notebook.
        asking: the fields of `Asking`: concurrency (1), timeout, retries, on_error, warmup, repeat,
            callbacks and others.

    Returns:
        A run in which a question that raised, or was answered with something that is no list of
        documents, is failed, with the reason. Works inside a running event loop as well.

    Raises:
        UsageError: `retriever` cannot be asked, or cannot work at all (a package is missing).
        DataError: a query has no text; or one failed, and on_error is ``stop``.
    """
    how = _asking(asking, concurrency=1)
    ask = _synchronous(retriever, how.callbacks)
    if ask is None:
        asking.setdefault("concurrency", 1)
        return _run_coroutine(aretrieve(retriever, dataset, name=name, progress=progress, **asking))
    if how.timeout is not None:
        ask = _within(ask, how.timeout)
    questions = _questions(dataset)
    mender = Mender()
    chosen = name or retriever_name(retriever)

    def attempt(query: Query) -> Retrieved:
        found = Retrieved(error="not asked")
        for number in range(how.retries + 1):
            if number:
                time.sleep(_pause(number))
            started = time.perf_counter()
            try:
                answered = ask(query.text)
            except (KragxError, ImportError):
                raise  # no single query's failure: the retriever cannot work at all
            except Exception as error:  # whatever else a user's retriever raises is that query's
                found = _failed(error, time.perf_counter() - started)
                continue
            return _retrieved(answered, time.perf_counter() - started, mender)
        return found

    def answer(query: Query) -> Retrieved:
        if query.id in how.known:
            return how.known[query.id]
        return how.settle(query, [attempt(query) for _ in range(how.repeat)], chosen)

    for query in _warm(questions, how):
        attempt(query)
    results: list[Retrieved] = []
    with _progress(chosen, len(questions), progress) as advance:
        if how.concurrency == 1:
            answers: Iterator[Retrieved] = map(answer, questions)
        else:
            answers = _at_once(answer, questions, how.concurrency)
        for found in answers:
            results.append(found)
            advance()
    return _run(questions, results, chosen, mender)


async def aretrieve(
    retriever: Any,
    dataset: GoldDataset,
    *,
    name: str | None = None,
    progress: bool | None = None,
    **asking: Any,
) -> Run:
    """`retrieve` for asynchronous code; a synchronous retriever is asked in threads.

    Unless told otherwise it asks 8 questions at once.
    """
    how = _asking(asking, concurrency=8)
    ask = _asynchronous(retriever, how)
    questions = _questions(dataset)
    mender = Mender()
    chosen = name or retriever_name(retriever)
    places = asyncio.Semaphore(how.concurrency)

    async def attempt(query: Query) -> Retrieved:
        found = Retrieved(error="not asked")
        for number in range(how.retries + 1):
            if number:
                await asyncio.sleep(_pause(number))
            started = time.perf_counter()
            try:
                answered = await ask(query.text)
            except (KragxError, ImportError):
                raise
            except Exception as error:  # as in `retrieve`
                found = _failed(error, time.perf_counter() - started)
                continue
            return _retrieved(answered, time.perf_counter() - started, mender)
        return found

    for query in _warm(questions, how):
        await attempt(query)
    with _progress(chosen, len(questions), progress) as advance:

        async def answer(query: Query) -> Retrieved:
            if query.id in how.known:
                advance()
                return how.known[query.id]
            async with places:
                asked = [await attempt(query) for _ in range(how.repeat)]
                found = how.settle(query, asked, chosen)
            advance()
            return found

        # Gathering keeps the order of the questions, whichever answer comes first.
        results = await asyncio.gather(*map(answer, questions))
    return _run(questions, results, chosen, mender)


def _asking(given: Mapping[str, Any], *, concurrency: int) -> Asking:
    known = [each.name for each in fields(Asking)]
    for name in given:
        if name not in known:
            raise UsageError(f"{name}: unknown option; {nearest(name, known)}")
    return Asking(**{"concurrency": concurrency, **given})


def _warm(questions: Sequence[Query], how: Asking) -> Iterator[Query]:
    """The questions of the warm-up, from the beginning again where there are too few."""
    if all(query.id in how.known for query in questions):
        return iter(())
    return islice(cycle(questions), how.warmup)


def _pause(number: int) -> float:
    """Seconds before retry 1, 2, 3, ...: doubled each time, up to 8."""
    return min(float(FIRST_PAUSE * 2 ** (number - 1)), 8.0)


def _within(ask: Callable[[Any], Any], seconds: float) -> Callable[[Any], Any]:
    """`ask` that fails after some seconds.

    Python cannot end a thread: what hangs goes on in a daemon thread, which holds up neither the
    next question nor the end of the process.
    """

    def limited(question: Any) -> Any:
        box: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

        def work() -> None:
            try:
                box.put((ask(question), None))
            except BaseException as error:
                box.put((None, error))

        # Callbacks and tracing tools find their parents in context variables.
        threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
        try:
            answered, error = box.get(timeout=seconds)
        except queue.Empty:
            raise _too_late(seconds) from None
        if error is not None:
            raise error
        return answered

    return limited


def _at_once(
    answer: Callable[[Query], Retrieved], questions: Sequence[Query], concurrency: int
) -> Iterator[Retrieved]:
    """The answers in the order of the questions, of which several are asked at once.

    The threads are daemons, unlike those of an executor: an interrupt ends the process although
    some retriever hangs. After it, or after an error, no further question is begun.
    """
    waiting = iter(range(len(questions)))
    lock = threading.Lock()
    stopped = threading.Event()
    boxes: list[queue.SimpleQueue[tuple[Retrieved | None, BaseException | None]]] = [
        queue.SimpleQueue() for _ in questions
    ]

    def work() -> None:
        while not stopped.is_set():
            with lock:
                at = next(waiting, None)
            if at is None:
                return
            try:
                boxes[at].put((answer(questions[at]), None))
            except BaseException as error:  # raised where the answer is waited for
                boxes[at].put((None, error))

    for _ in range(min(concurrency, len(questions))):
        # Callbacks and tracing tools find their parents in context variables.
        threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    try:
        for box in boxes:
            found, error = box.get()
            if error is not None:
                raise error
            assert found is not None  # one of the two
            yield found
    finally:
        stopped.set()


def _too_late(seconds: float) -> TimeoutError:
    return TimeoutError(f"no answer within {seconds:g} s")


def retriever_name(retriever: Any) -> str:
    """What names a retriever that was given no name."""
    for value in (getattr(retriever, "name", None), getattr(retriever, "__name__", None)):
        if isinstance(value, str) and value:
            return value
    return type(retriever).__name__


def _questions(dataset: GoldDataset) -> tuple[Query, ...]:
    for query in dataset:
        if not query.text:
            raise DataError(
                f"query {query.id!r} has no text to ask a retriever; "
                "add 'query' to the gold file, or queries=[...] to from_documents"
            )
    return dataset.queries


def _synchronous(retriever: Any, callbacks: Sequence[Any]) -> Callable[[Any], Any] | None:
    """How to ask without awaiting; None if it can only be awaited."""
    if hasattr(retriever, "afunc") and not hasattr(retriever, "func"):
        return None  # a RunnableLambda made of an asynchronous function has an `invoke` that fails
    if hasattr(retriever, "invoke"):
        return _told(retriever.invoke, retriever, callbacks)
    if hasattr(retriever, "ainvoke") or _is_async(retriever):
        return None
    return _told(_callable(retriever), retriever, callbacks)


def _asynchronous(retriever: Any, how: Asking) -> Callable[[Any], Awaitable[Any]]:
    awaited: Callable[[Any], Awaitable[Any]] | None = None
    if hasattr(retriever, "ainvoke"):
        awaited = _told(retriever.ainvoke, retriever, how.callbacks)
    elif not hasattr(retriever, "invoke") and _is_async(retriever):
        awaited = _told(retriever, retriever, how.callbacks)
    if awaited is not None:
        return awaited if how.timeout is None else _awaited_within(awaited, how.timeout)
    ask = _synchronous(retriever, how.callbacks)
    assert ask is not None  # what can only be awaited has been dealt with
    ask = ask if how.timeout is None else _within(ask, how.timeout)

    def answer(question: Any) -> Any:
        try:
            return ask(question)
        except StopIteration as error:  # which cannot leave a thread: the await would never end
            raise RuntimeError(f"StopIteration: {error}") from error

    async def in_thread(question: Any) -> Any:
        return await asyncio.to_thread(answer, question)

    return in_thread


def _awaited_within(
    ask: Callable[[Any], Awaitable[Any]], seconds: float
) -> Callable[[Any], Awaitable[Any]]:
    async def limited(question: Any) -> Any:
        try:
            async with asyncio.timeout(seconds) as limit:
                return await ask(question)
        except TimeoutError:
            if limit.expired():
                raise _too_late(seconds) from None
            raise  # the retriever's own

    return limited


def _told(
    ask: Callable[[Any], Any], retriever: Any, callbacks: Sequence[Any]
) -> Callable[[Any], Any]:
    """`ask` with callbacks in LangChain's config."""
    if not callbacks:
        return ask
    if not hasattr(retriever, "invoke") or not _takes_config(ask):
        raise UsageError(
            f"callbacks: {retriever_name(retriever)} is no LangChain retriever or runnable, which "
            "alone know callbacks; wrap a function into a RunnableLambda"
        )
    told: Any = ask
    return lambda question: told(question, config={"callbacks": list(callbacks)})


def _takes_config(ask: Callable[[Any], Any]) -> bool:
    parameters = inspect.signature(ask).parameters.values()
    return any(p.name == "config" or p.kind is p.VAR_KEYWORD for p in parameters)


def _is_async(retriever: Any) -> bool:
    call = getattr(type(retriever), "__call__", None)  # noqa: B004  # the method itself is meant
    return inspect.iscoroutinefunction(retriever) or inspect.iscoroutinefunction(call)


def _callable(retriever: Any) -> Callable[[Any], Any]:
    if not callable(retriever):
        raise UsageError(
            f"retriever: {type(retriever).__name__} cannot be asked; pass a LangChain retriever "
            "or runnable, or a function from a question to a list of documents"
        )
    return retriever  # type: ignore[no-any-return]


def _retrieved(answered: Any, seconds: float, mender: Mender) -> Retrieved:
    try:
        return Retrieved(_documents(answered, mender), seconds)
    except DataError as error:
        return _failed(error, seconds)


def _documents(answered: Any, mender: Mender) -> tuple[Doc, ...]:
    if isinstance(answered, (str, bytes)) or not isinstance(answered, Sequence):
        raise DataError(
            f"the retriever returned {type(answered).__name__}; a list of documents is expected"
        )
    return as_docs(answered, mender, "retrieved")


def _failed(error: Exception, seconds: float) -> Retrieved:
    return Retrieved(seconds=seconds, error=f"{type(error).__name__}: {error}")


def _run(
    questions: Sequence[Query], results: Sequence[Retrieved], name: str, mender: Mender
) -> Run:
    found = {query.id: retrieved for query, retrieved in zip(questions, results)}
    return Run(found, name=name, n_replaced_surrogates=mender.surrogates)


def _run_coroutine(coroutine: Coroutine[Any, Any, Run]) -> Run:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # A loop is running in this thread (a notebook's); another thread can have one of its own.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


@contextmanager
def _progress(name: str, total: int, wanted: bool | None) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    shown = (console.is_terminal or console.is_jupyter) if wanted is None else wanted
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not shown, transient=True) as bar:
        task = bar.add_task(f"asking {name}", total=total)
        yield lambda: bar.advance(task)
