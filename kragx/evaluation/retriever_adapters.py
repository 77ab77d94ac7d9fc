"""How a retriever is called: LangChain's way or as a function, awaited or not, within a time."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any

from kragx.errors import UsageError
from kragx.evaluation.answers import collected
from kragx.evaluation.foreign_retrievers import adapted, is_foreign

Call = Callable[..., Any]

HISTORY = "history"
"""The parameter by which a function takes what was said before its question."""


def is_retriever(value: object) -> bool:
    """Whether `value` can be asked: a retriever, a LangChain runnable, or a function."""
    is_ours = hasattr(value, "invoke") or hasattr(value, "ainvoke") or callable(value)
    return is_ours or is_foreign(value)


def check_retriever(value: object, field: str = "retriever") -> None:
    """Raise a `UsageError` unless `value` can be asked."""
    if not is_retriever(value):
        raise UsageError(
            f"{type(value).__name__} cannot be asked; pass a retriever of LangChain, LlamaIndex or "
            "Haystack, or a function from a question to a list of documents",
            field=field,
        )


def retriever_name(retriever: Any) -> str:
    """What names a retriever that was given no name."""
    names = (getattr(retriever, "name", None), getattr(retriever, "__name__", None))
    return next(
        (name for name in names if isinstance(name, str) and name), type(retriever).__name__
    )


def takes_history(retriever: Any) -> bool:
    """Whether a function has a parameter for what was said before, or a retriever says it does."""
    told = getattr(retriever, "takes_history", None)
    if isinstance(told, bool):
        return told
    if hasattr(retriever, "invoke") or hasattr(retriever, "ainvoke"):
        return False
    try:
        return HISTORY in inspect.signature(retriever).parameters
    except (TypeError, ValueError):  # some C functions have none
        return False


def settings_of(retriever: Any) -> Mapping[str, Any]:
    """What results record of how a retriever is asked: its `run_settings`, if it has such."""
    told = getattr(retriever, "run_settings", None)
    return dict(told) if isinstance(told, Mapping) else {}


def synchronous(retriever: Any, callbacks: Sequence[Any], timeout: float | None) -> Call | None:
    """How to ask without awaiting; None if it can only be awaited.

    What is returned raises `OnlyAwaitedError` where that shows at the first question.

    Raises:
        UsageError: it cannot be asked, or knows no callbacks.
    """
    retriever = adapted(retriever)
    if hasattr(retriever, "afunc") and not hasattr(retriever, "func"):
        return None  # a RunnableLambda made of an asynchronous function has an `invoke` that fails
    if not hasattr(retriever, "invoke") and (hasattr(retriever, "ainvoke") or _is_async(retriever)):
        return None
    check_retriever(retriever)
    asked = _with_callbacks(getattr(retriever, "invoke", retriever), retriever, callbacks)

    call: Call = partial(_blocking, asked)
    if hasattr(retriever, "ainvoke"):
        call = _Either(call, asynchronous(retriever, callbacks, None))

    if timeout is None:
        return call

    def within_time(question: Any, **more: Any) -> Any:
        # Python cannot end a thread: what hangs goes on in a daemon, which holds up neither the
        # next question nor the end of the process.
        answer = Future[Any]()
        start_daemon(lambda: settle(answer, partial(call, **more), question))
        try:
            return answer.result(timeout)
        except TimeoutError:
            if answer.done():
                return answer.result()  # the retriever's own error, or an answer just in time
            raise _too_late(timeout) from None

    return within_time


def asynchronous(
    retriever: Any, callbacks: Sequence[Any], timeout: float | None
) -> Callable[..., Awaitable[Any]]:
    """How to ask in an event loop; what cannot be awaited is asked in threads.

    Raises:
        UsageError: it cannot be asked, or knows no callbacks.
    """
    retriever = adapted(retriever)
    if hasattr(retriever, "ainvoke") or (not hasattr(retriever, "invoke") and _is_async(retriever)):
        call = _with_callbacks(getattr(retriever, "ainvoke", retriever), retriever, callbacks)

        async def within_time(question: Any, **more: Any) -> Any:
            try:
                async with asyncio.timeout(timeout) as limit:
                    answer = call(question, **more)
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

    def answer(question: Any, **more: Any) -> Any:
        try:
            return blocking(question, **more)
        # The one cannot leave a thread, where the await would never end; the other would look as if
        # the coroutine were closed.
        except (StopIteration, GeneratorExit) as error:
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    return lambda question, **more: asyncio.to_thread(answer, question, **more)


def _blocking(asked: Call, question: Any, **more: Any) -> Any:
    return collected(asked(question, **more))  # what a generator does is part of answering


class OnlyAwaitedError(Exception):
    """A retriever turned out to be one that can only be awaited: whoever asked asks again."""


@dataclass
class _Either:
    """Asks without awaiting, unless a retriever has not implemented that.

    LangChain makes a retriever that can only be awaited have an `invoke` as well, and so has a
    chain with one in it: that is known when it is asked. Whoever has answered once is not awaited,
    so that what it has not implemented for one question fails that question.
    """

    blocking: Call
    awaited: Callable[..., Awaitable[Any]]
    answers: bool = False
    awaits: bool = False

    def __call__(self, question: Any, **more: Any) -> Any:
        """What the retriever answers.

        Raises:
            OnlyAwaitedError: it has to be awaited, and will be from now on.
        """
        if self.awaits:
            from kragx.judging.loop import run_sync

            return run_sync(partial(self._answer, question, **more))
        try:
            answer = self.blocking(question, **more)
        except NotImplementedError as error:
            if self.answers:
                raise
            self.awaits = True
            raise OnlyAwaitedError from error
        self.answers = True
        return answer

    async def _answer(self, question: Any, **more: Any) -> Any:
        return await self.awaited(question, **more)


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
