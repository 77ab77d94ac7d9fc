"""Listening to LangChain: what it runs for one question, chains and agents alike.

A handler of its own for each question is found through a context variable, so questions that are
asked at once never mix, in threads and tasks alike, and neither chain nor agent needs a change.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from math import inf
from traceback import walk_stack
from types import FrameType
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers.context import register_configure_hook

from kragx.data import SurrogateRepair, as_docs
from kragx.data.documents import is_doc
from kragx.data.searches import UNTOLD
from kragx.evaluation.answers import reason_of
from kragx.evaluation.calls.call import WAITING, Call, CallRecording, Kind, Objects
from kragx.evaluation.calls.messages import documents_of_tool, graph_step, words_of
from kragx.ground.errors import DataError

_KEY = "map:key:"
"""How the tag begins by which a `RunnableParallel` says under which key a step stands."""


class ChainTrace(BaseCallbackHandler):
    """Hears of one question what LangChain runs for it.

    Args:
        recordings: those that are told.
    """

    run_inline = True  # in the order in which it happens, also in an event loop

    def __init__(self, recordings: tuple[CallRecording, ...]) -> None:
        self._recordings = recordings
        # By the call's id, as LangChain starts a tool without a word of who called for it.
        self._messages: dict[object, UUID] = {}

    def on_chain_start(self, serialized: Any, inputs: Any, **run: Any) -> None:
        """A step begins."""
        self._begin("step", serialized, run, given=tuple(_lists_in(inputs)))

    def on_retriever_start(self, serialized: Any, query: str, **run: Any) -> None:
        """A retriever begins."""
        # LangChain tells no end of a retriever that is cancelled.
        running = (frame for frame, _ in walk_stack(sys._getframe()))
        frame = next((at for at in running if at.f_code.co_name in ("invoke", "ainvoke")), None)
        task = None
        with suppress(RuntimeError):  # no event loop
            # The task itself, as another may get the number of one that is gone.
            task = asyncio.current_task()
        look = frame and partial(_is_at_work, frame, threading.get_ident(), task)
        self._begin("retriever", serialized, run, query=query, is_at_work=look)
        # Not when it ends: LangChain says that in a task of its own, with other variables.
        around = [
            run_id
            for run_id in WAITING.get()
            if any(call.ended == inf for call in self._calls(run_id))
        ]
        WAITING.set((run["run_id"], *around))

    def on_tool_start(self, serialized: Any, input_str: str, **run: Any) -> None:
        """A tool begins."""
        inputs = run.get("inputs")
        message = self._messages.get(run.get("tool_call_id"))
        query = words_of(input_str if inputs is None else inputs)
        self._begin("tool", serialized, run, query=query, message=message)

    def on_chat_model_start(self, serialized: Any, messages: Any, **run: Any) -> None:
        """A model begins."""
        self._begin("model", serialized, run)

    on_llm_start = on_chat_model_start  # type: ignore[assignment]  # takes texts for messages

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        """A step or retriever has ended."""
        # What a container returns is its last step's, and would count as a second list.
        is_container = any(call.is_container for call in self._calls(run_id))
        self._end(run_id, **({} if is_container else _returned(outputs)))

    on_retriever_end = on_chain_end  # type: ignore[assignment]  # takes outputs for documents

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        """A tool has ended."""
        match getattr(output, "update", None):
            case {"messages": [*messages]}:  # of a command to LangGraph
                answers = [entry for entry in messages if getattr(entry, "type", None) == "tool"]
                output = answers[0] if len(answers) == 1 else output
        content = getattr(output, "content", output)
        if getattr(output, "status", None) == "error":  # it hands its errors on as words
            self._end(run_id, error=str(content).strip() or UNTOLD)
        else:
            artifact = getattr(output, "artifact", None)
            self._end(run_id, documents=documents_of_tool(content, artifact))

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        """A model has ended; what it calls for at once, it calls side by side."""
        message = getattr(next(iter(response.generations[0]), None), "message", None)
        calls = getattr(message, "tool_calls", None) or ()
        self._messages |= {call.get("id"): run_id for call in calls}
        usage = getattr(message, "usage_metadata", None) or {}
        self._end(run_id, tokens=usage.get("total_tokens"))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A step has failed."""
        self._end(run_id, error=reason_of(error))

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A retriever has failed."""
        self._end(run_id, error=reason_of(error))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A tool has failed."""
        self._end(run_id, error=reason_of(error))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A model has failed."""
        self._end(run_id, error=reason_of(error))

    def _begin(self, kind: Kind, serialized: Any, run: Mapping[str, Any], **fields: Any) -> None:
        name = run.get("name") or (serialized or {}).get("name") or "step"
        tags = [tag.removeprefix(_KEY) for tag in run.get("tags") or () if tag.startswith(_KEY)]
        fields |= {"key": next(filter(None, tags), None), "graph": graph_step(run.get("metadata"))}
        # Those that hand no callbacks on do not say what waits for a call, but in variables.
        parents = (run.get("parent_run_id"), *WAITING.get())
        for recording in self._recordings:
            recording.begin(run["run_id"], Call(str(name), kind, **fields), parents)

    def _end(self, run_id: UUID, **result: Any) -> None:
        for recording in self._recordings:
            recording.end(run_id, **result)

    def _calls(self, run_id: Hashable) -> list[Call]:
        """What the recordings know of a run."""
        calls = (recording.get(run_id) for recording in self._recordings)
        return [call for call in calls if call is not None]


def _is_at_work(frame: FrameType, thread: int, task: asyncio.Task[Any] | None) -> bool:
    """Whether a frame runs or is awaited in a thread and task; where that cannot be seen it is."""
    innermost = sys._current_frames().get(thread)
    if innermost is not None and any(running is frame for running, _ in walk_stack(innermost)):
        return True
    # A task that waits runs nothing: its frames stand in the chain of what it awaits.
    awaited: Any = None if task is None or task.done() else task.get_coro()
    while inspect.iscoroutine(awaited):
        if awaited.cr_frame is frame:
            return True
        awaited = awaited.cr_await
    # What hides others may hide this one, too; the end of a chain does not.
    return awaited is not None and type(awaited).__name__ != "FutureIter"


def _returned(output: object) -> dict[str, Any]:
    """The documents that something returned, where it returned a list of such."""
    if not isinstance(output, (list, tuple)) or not all(map(is_doc, output)):
        return {}
    try:
        # At once: rerankers are known to change the documents that they were given.
        return {"documents": as_docs(output, SurrogateRepair(), "stage"), "returned": tuple(output)}
    except DataError as broken:
        return {"error": reason_of(broken)}


_LISTENING: ContextVar[ChainTrace | None] = ContextVar("kragx_calls", default=None)
register_configure_hook(_LISTENING, inheritable=True)


@contextmanager
def listening(recordings: tuple[CallRecording, ...]) -> Iterator[None]:
    """Within it these hear whatever LangChain runs."""
    token = _LISTENING.set(ChainTrace(recordings))
    try:
        yield
    finally:
        _LISTENING.reset(token)


def waiting_run() -> Hashable:
    """The run of LangChain's that may run what runs now."""
    config = var_child_runnable_config.get() or {}
    return getattr(config.get("callbacks"), "parent_run_id", None)


def _lists_in(value: object, depth: int = 2) -> Iterator[Objects]:
    """The lists of documents in what a step is given: it, or what stands in a mapping."""
    if isinstance(value, Mapping) and depth:
        for inner in value.values():
            yield from _lists_in(inner, depth - 1)
    elif isinstance(value, (list, tuple)) and value and all(map(is_doc, value)):
        yield tuple(value)
