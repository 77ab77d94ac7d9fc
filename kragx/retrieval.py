"""Ask any retriever all the questions of a gold set, and keep what it says and how long it took."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from kragx.dataset import GoldDataset, Query
from kragx.document import Doc, as_docs
from kragx.errors import DataError, KragxError, UsageError
from kragx.results import Retrieved, Run
from kragx.text import Mender

Advance = Callable[[], None]


def is_retriever(value: object) -> bool:
    """Whether `value` can be asked: a LangChain retriever or runnable, or a function."""
    return hasattr(value, "invoke") or hasattr(value, "ainvoke") or callable(value)


def retrieve(
    retriever: Any,
    dataset: GoldDataset,
    *,
    name: str | None = None,
    concurrency: int = 1,
    progress: bool | None = None,
) -> Run:
    """Ask a retriever every question of a gold set.

    Args:
        retriever: a LangChain `BaseRetriever` or runnable, or a function from a question to a
            ranked list of documents; synchronous or asynchronous.
        dataset: the questions.
        name: names the run; default: the retriever's own name or class.
        concurrency: how many questions at once; more than 1 makes each query's time a time under
            load.
        progress: whether to show a progress bar; None for only on a terminal or in a notebook.

    Returns:
        A run in which a question that raised, or was answered with something that is no list of
        documents, is failed, with the reason. Works inside a running event loop as well.

    Raises:
        UsageError: `retriever` cannot be asked, or cannot work at all (a package is missing).
        DataError: a query has no text.
    """
    ask = _synchronous(retriever)
    if ask is None:
        return _run_coroutine(
            aretrieve(retriever, dataset, name=name, concurrency=concurrency, progress=progress)
        )
    questions = _questions(dataset, concurrency)
    mender = Mender()
    chosen = name or retriever_name(retriever)

    def answer(query: Query) -> Retrieved:
        started = time.perf_counter()
        try:
            answered = ask(query.text)
        except (KragxError, ImportError):
            raise  # no single query's failure: the retriever cannot work at all
        except Exception as error:  # whatever else a user's retriever raises is that query's
            return _failed(error, time.perf_counter() - started)
        return _retrieved(answered, time.perf_counter() - started, mender)

    results: list[Retrieved] = []
    with _progress(chosen, len(questions), progress) as advance:
        if concurrency == 1:
            answers: Iterator[Retrieved] = map(answer, questions)
            for found in answers:
                results.append(found)
                advance()
        else:
            with ThreadPoolExecutor(concurrency) as pool:
                for found in pool.map(answer, questions):
                    results.append(found)
                    advance()
    return _run(questions, results, chosen, mender)


async def aretrieve(
    retriever: Any,
    dataset: GoldDataset,
    *,
    name: str | None = None,
    concurrency: int = 8,
    progress: bool | None = None,
) -> Run:
    """`retrieve` for asynchronous code; a synchronous retriever is asked in threads."""
    ask = _asynchronous(retriever)
    questions = _questions(dataset, concurrency)
    mender = Mender()
    chosen = name or retriever_name(retriever)
    places = asyncio.Semaphore(concurrency)
    with _progress(chosen, len(questions), progress) as advance:

        async def answer(query: Query) -> Retrieved:
            async with places:
                started = time.perf_counter()
                try:
                    answered = await ask(query.text)
                except (KragxError, ImportError):
                    raise
                except Exception as error:  # as in `retrieve`
                    found = _failed(error, time.perf_counter() - started)
                else:
                    found = _retrieved(answered, time.perf_counter() - started, mender)
            advance()
            return found

        # Gathering keeps the order of the questions, whichever answer comes first.
        results = await asyncio.gather(*map(answer, questions))
    return _run(questions, results, chosen, mender)


def retriever_name(retriever: Any) -> str:
    """What names a retriever that was given no name."""
    for value in (getattr(retriever, "name", None), getattr(retriever, "__name__", None)):
        if isinstance(value, str) and value:
            return value
    return type(retriever).__name__


def _questions(dataset: GoldDataset, concurrency: int) -> tuple[Query, ...]:
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise UsageError(f"concurrency: {concurrency!r} is not a whole number of at least 1")
    for query in dataset:
        if not query.text:
            raise DataError(
                f"query {query.id!r} has no text to ask a retriever; "
                "add 'query' to the gold file, or queries=[...] to from_documents"
            )
    return dataset.queries


def _synchronous(retriever: Any) -> Callable[[Any], Any] | None:
    """How to ask without awaiting; None if it can only be awaited."""
    if hasattr(retriever, "afunc") and not hasattr(retriever, "func"):
        return None  # a RunnableLambda made of an asynchronous function has an `invoke` that fails
    if hasattr(retriever, "invoke"):
        return retriever.invoke  # type: ignore[no-any-return]
    if hasattr(retriever, "ainvoke") or _is_async(retriever):
        return None
    return _callable(retriever)


def _asynchronous(retriever: Any) -> Callable[[Any], Awaitable[Any]]:
    if hasattr(retriever, "ainvoke"):
        return retriever.ainvoke  # type: ignore[no-any-return]
    if not hasattr(retriever, "invoke") and _is_async(retriever):
        return retriever  # type: ignore[no-any-return]
    ask = retriever.invoke if hasattr(retriever, "invoke") else _callable(retriever)

    def answer(question: Any) -> Any:
        try:
            return ask(question)
        except StopIteration as error:  # which cannot leave a thread: the await would never end
            raise RuntimeError(f"StopIteration: {error}") from error

    async def in_thread(question: Any) -> Any:
        return await asyncio.to_thread(answer, question)

    return in_thread


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
