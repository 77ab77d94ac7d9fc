"""How a retriever is called: LangChain's way or as a function, awaited or not, within a time."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from kragx.errors import UsageError
from kragx.evaluation.answers import collected

Call = Callable[[Any], Any]


def is_retriever(value: object) -> bool:
    """Whether `value` can be asked: a LangChain retriever or runnable, or a function."""
    return hasattr(value, "invoke") or hasattr(value, "ainvoke") or callable(value)


def check_retriever(value: object, field: str = "retriever") -> None:
    """Raise a `UsageError` unless `value` can be asked."""
    if not is_retriever(value):
        raise UsageError(
            f"{type(value).__name__} cannot be asked; pass a LangChain retriever or runnable, or a "
            "function from a question to a list of documents",
            field=field,
        )


def retriever_name(retriever: Any) -> str:
    """What names a retriever that was given no name."""
    names = (getattr(retriever, "name", None), getattr(retriever, "__name__", None))
    return next(
        (name for name in names if isinstance(name, str) and name), type(retriever).__name__
    )


def synchronous(retriever: Any, callbacks: Sequence[Any], timeout: float | None) -> Call | None:
    """How to ask without awaiting; None if it can only be awaited.

    Raises:
        UsageError: it cannot be asked, or knows no callbacks.
    """
    if hasattr(retriever, "afunc") and not hasattr(retriever, "func"):
        return None  # a RunnableLambda made of an asynchronous function has an `invoke` that fails
    if not hasattr(retriever, "invoke") and (hasattr(retriever, "ainvoke") or _is_async(retriever)):
        return None
    check_retriever(retriever)
    asked = _with_callbacks(getattr(retriever, "invoke", retriever), retriever, callbacks)

    def call(question: Any) -> Any:
        return collected(asked(question))  # what a generator does is part of answering

    if timeout is None:
        return call

    def within_time(question: Any) -> Any:
        # Python cannot end a thread: what hangs goes on in a daemon, which holds up neither the
        # next question nor the end of the process.
        answer = Future[Any]()
        start_daemon(lambda: settle(answer, call, question))
        try:
            return answer.result(timeout)
        except TimeoutError:
            if answer.done():
                return answer.result()  # the retriever's own error, or an answer just in time
            raise _too_late(timeout) from None

    return within_time


def asynchronous(
    retriever: Any, callbacks: Sequence[Any], timeout: float | None
) -> Callable[[Any], Awaitable[Any]]:
    """How to ask in an event loop; what cannot be awaited is asked in threads.

    Raises:
        UsageError: it cannot be asked, or knows no callbacks.
    """
    if hasattr(retriever, "ainvoke") or (not hasattr(retriever, "invoke") and _is_async(retriever)):
        call = _with_callbacks(getattr(retriever, "ainvoke", retriever), retriever, callbacks)

        async def within_time(question: Any) -> Any:
            try:
                async with asyncio.timeout(timeout) as limit:
                    answer = call(question)
                    if isinstance(answer, AsyncIterator):
                        return [document async for document in answer]
                    return collected(await answer)
            except TimeoutError:
                if timeout is not None and limit.expired():
                    raise _too_late(timeout) from None
                raise  # the retriever's own

        return within_time
    blocking = synchronous(retriever, callbacks, timeout)
    assert blocking is not None  # what can only be awaited has been dealt with

    def answer(question: Any) -> Any:
        try:
            return blocking(question)
        # The one cannot leave a thread, where the await would never end; the other would look as if
        # the coroutine were closed.
        except (StopIteration, GeneratorExit) as error:
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    return lambda question: asyncio.to_thread(answer, question)


def start_daemon(work: Callable[[], None]) -> None:
    """Start work in a thread that does not outlive the process, whatever hangs in it.

    Callbacks and tracing tools find their parents in context variables, so it sees the caller's.
    """
    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()


def settle(future: Future[Any], call: Call, argument: Any) -> None:
    """Put into a future what a call gives or raises: an error belongs to whoever waits for it."""
    try:
        future.set_result(call(argument))
    except BaseException as error:
        future.set_exception(error)


def _with_callbacks(call: Call, retriever: Any, callbacks: Sequence[Any]) -> Call:
    """`call` with callbacks in LangChain's config."""
    if not callbacks:
        return call
    if not hasattr(retriever, "invoke") or not _takes_config(call):
        raise UsageError(
            f"callbacks: {retriever_name(retriever)} is no LangChain retriever or runnable, which "
            "alone know callbacks; wrap a function into a RunnableLambda"
        )
    with_config: Any = call
    return lambda question: with_config(question, config={"callbacks": list(callbacks)})


def _takes_config(call: Call) -> bool:
    parameters = inspect.signature(call).parameters.values()
    return any(p.name == "config" or p.kind is p.VAR_KEYWORD for p in parameters)


def _is_async(retriever: Any) -> bool:
    calls = (retriever, getattr(type(retriever), "__call__", None))  # noqa: B004  # the method itself
    return any(
        inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call) for call in calls
    )


def _too_late(seconds: float) -> TimeoutError:
    return TimeoutError(f"no answer within {seconds:g} s")
