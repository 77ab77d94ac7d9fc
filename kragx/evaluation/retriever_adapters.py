"""Retrievers of other libraries, stores, and functions, wrapped once; their threads."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kragx.data.formats.tabular import is_frame
from kragx.ground.errors import DataError, UsageError

Call = Callable[..., Any]

HISTORY = "history"
"""The parameter by which a function takes what was said before its question."""

_QUESTION = ("query", "question", "text")
"""What an input of a pipeline is called that takes any type, and is meant for the question."""


@dataclass(frozen=True)
class Adapter:
    """A retriever as kragx asks it, whoever made it.

    Attributes:
        name: names it where it is given no name.
        invoke: asks, and blocks; None if it can only be awaited.
        ainvoke: asks, and is awaited or gone through; None if it only blocks.
        is_runnable: whether it is LangChain's, which may take a mapping and callbacks.
        takes_history: whether it takes what was said before a question.
        settings: what results record of how it is asked.
    """

    name: str
    invoke: Call | None
    ainvoke: Call | None
    is_runnable: bool = False
    takes_history: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    def options(self, callbacks: Sequence[Any]) -> dict[str, Any]:
        """What a call is given beside the question, so that these callbacks hear of it.

        Raises:
            UsageError: it knows no callbacks.
        """
        if not callbacks:
            return {}
        call = self.invoke or self.ainvoke
        parameters = _parameters(call).values()
        takes = any(p.name == "config" or p.kind is p.VAR_KEYWORD for p in parameters)
        if not (self.is_runnable and takes):
            raise UsageError(
                "callbacks: {name} is no LangChain retriever or runnable, which "
                "alone know callbacks; wrap a function into a RunnableLambda",
                name=self.name,
            )
        return {"config": {"callbacks": list(callbacks)}}


def adapted(retriever: Any, field: str = "retriever") -> Adapter:
    """A retriever as it is asked; of a vector store or index its retriever.

    Raises:
        UsageError: it cannot be asked, or which of its inputs takes the question cannot be told.
    """
    made = {"retriever": store} if (store := store_name(retriever)) else {}
    if made:
        retriever = retriever.as_retriever()
    invoke, ainvoke = getattr(retriever, "invoke", None), getattr(retriever, "ainvoke", None)
    is_runnable = invoke is not None or ainvoke is not None
    if is_runnable:
        # That of a RunnableLambda made of an asynchronous function fails.
        is_awaited = hasattr(retriever, "afunc") and not hasattr(retriever, "func")
        invoke = None if is_awaited else invoke
    elif callable(retriever):
        invoke, ainvoke = _either(retriever)
    elif _is_pipeline(retriever):
        invoke = _pipeline(retriever)
    elif _is_component(retriever):
        invoke = _component(retriever)
    else:
        invoke, ainvoke = _method(retriever, field)
    names = (getattr(retriever, "name", None), getattr(retriever, "__name__", None))
    takes_history = getattr(retriever, "takes_history", None)
    if not isinstance(takes_history, bool):
        takes_history = not is_runnable and HISTORY in _parameters(retriever)
    settings = getattr(retriever, "run_settings", None)
    return Adapter(
        next((name for name in names if isinstance(name, str) and name), type(retriever).__name__),
        invoke,
        ainvoke,
        is_runnable,
        takes_history,
        {**(settings if isinstance(settings, Mapping) else {}), **made},
    )


_METHODS = ("retrieve", "search", "query")
"""What asks an object that cannot be called, the likeliest first."""


def _either(call: Call) -> tuple[Call | None, Call | None]:
    """A call as one that blocks, or as one that is awaited."""
    bodies = (call, getattr(type(call), "__call__", None))  # noqa: B004  # the method itself
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    is_async = any(is_kind(body) for body in bodies for is_kind in kinds)
    return (None, call) if is_async else (call, None)


def _method(retriever: Any, field: str) -> tuple[Call | None, Call | None]:
    """The method that takes the question, alone, and its asynchronous twin.

    Raises:
        UsageError: there is none, or it needs more than the question.
    """
    name = type(retriever).__name__
    query = getattr(retriever, "query", None)
    if "query_texts" in _parameters(query):  # a collection of Chroma

        def ask(question: str) -> Any:
            return query(query_texts=[question])  # type: ignore[misc]

        return (ask, None) if _either(query)[0] else (None, ask)  # type: ignore[arg-type]
    methods = [method for method in _METHODS if callable(getattr(retriever, method, None))]
    for method in methods:
        call = getattr(retriever, method)
        with suppress(TypeError, ValueError):  # it needs more than one argument
            inspect.signature(call).bind("question")
            first = next(iter(_parameters(call).values()))
            if first.kind is not first.VAR_POSITIONAL:
                blocks, awaited = _either(call)
                return blocks, awaited or getattr(retriever, f"a{method}", None)
    raise UsageError(
        "{name}.{method} does not take a question alone" if methods else "{name} cannot be asked",
        field=field,
        remedy="pass a function: lambda question: {variable}.{method}(...)"
        if methods
        else "pass a retriever of LangChain, LlamaIndex or Haystack, or a function from a question",
        name=name,
        variable=name.lower(),
        method=next(iter(methods), ""),
    )


def store_name(value: Any) -> str:
    """How the retriever of a vector store or an index is made; empty of whatever is none."""
    is_store = hasattr(value, "as_retriever") and not hasattr(value, "invoke")
    return f"{type(value).__name__}.as_retriever()" if is_store and not callable(value) else ""


def is_retriever(value: object) -> bool:
    """Whether `value` is meant to be asked: a retriever, a function, a store or an index."""
    if isinstance(value, (list, tuple, str)):
        return False
    has = partial(hasattr, value)
    # The methods' names are those of fields elsewhere, and of methods of frames.
    methods = map(partial(getattr, value), filter(has, _METHODS))
    return not is_frame(value) and (
        callable(value)
        or any(map(has, ("invoke", "ainvoke", "as_retriever", "write_documents")))
        or any(map(callable, methods))
        or (has("run") and (_is_pipeline(value) or _is_component(value)))
    )


def _parameters(call: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(call).parameters
    except (TypeError, ValueError):  # some C functions have none
        return {}


def _is_pipeline(value: object) -> bool:
    return hasattr(value, "run") and hasattr(value, "inputs") and hasattr(value, "outputs")


def _is_component(value: object) -> bool:
    run = getattr(value, "run", None)
    return run is not None and (hasattr(value, "__haystack_input__") or "query" in _parameters(run))


def _component(component: Any) -> Call:
    parameters = _parameters(component.run)
    if "query" not in parameters:
        raise UsageError(
            "{kind}.run takes {names}, and no query",
            field="retriever",
            remedy="put it into a Pipeline behind an embedder of texts, and pass that",
            kind=type(component).__name__,
            names=", ".join(parameters),
        )
    return lambda question: component.run(query=question)


def _pipeline(pipeline: Any) -> Call:
    """Asks a pipeline: each input that must be given and takes a text gets the question."""
    places: dict[str, list[str]] = {}
    required: list[str] = []
    inputs = ((part, *entry) for part, own in pipeline.inputs().items() for entry in own.items())
    for component, name, spec in inputs:
        kind = spec.get("type")
        if spec.get("is_mandatory"):
            if kind is str or (kind is Any and name in _QUESTION):
                places.setdefault(component, []).append(name)
            else:
                required.append(f"{component}.{name}")
    if required or not places:
        raise UsageError(
            "the pipeline needs {names}, so where the question goes cannot be told"
            if required
            else "the pipeline has no input that must be a text, so where the question goes cannot "
            "be told",
            field="retriever",
            remedy="pass a function: lambda question: pipeline.run({{...: {{...: question}}}})",
            names=", ".join(required),
        )

    def ask(question: str) -> Any:
        data = {component: dict.fromkeys(names, question) for component, names in places.items()}
        return _documents(pipeline.run(data))

    return ask


def _documents(answer: Any) -> Any:
    """What a pipeline has found: the documents of the one component that gives some."""
    if not isinstance(answer, Mapping):
        return answer
    lists = {
        name: output["documents"]
        for name, output in answer.items()
        if isinstance(output, Mapping) and "documents" in output
    }
    if len(lists) != 1:
        raise DataError(
            "one component of the pipeline must give documents, and {names} all do"
            if lists
            else "one component of the pipeline must give documents, and none does (there are "
            "{names})",
            remedy="pass a function that picks them: lambda question: pipeline.run(...)[...]",
            names=", ".join(map(str, lists or answer)),
        )
    return next(iter(lists.values()))


def start_daemon(work: Callable[[], object]) -> None:
    """Start work in a thread that does not outlive the process, whatever hangs in it.

    Callbacks and tracing tools find their parents in context variables, so it sees the caller's.
    """
    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()


async def in_thread(call: Callable[[], Any]) -> Any:
    """What a call that blocks gives or raises, in a thread with the caller's context variables.

    It is a daemon: what hangs in one holds up neither the next question nor the process's end.
    """
    future = Future[Any]()

    def work() -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(call())
            # The one cannot be raised by an await; the other would look as if it were closed.
            except (StopIteration, GeneratorExit) as error:
                future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
            except BaseException as error:
                future.set_exception(error)

    start_daemon(work)
    return await asyncio.wrap_future(future)
