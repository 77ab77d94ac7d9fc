"""Listening to the steps of a LangChain chain: what each of them returned to one question.

A handler of its own for each question is found through a context variable, so questions that are
asked at once never mix, in threads and tasks alike, and a chain needs no change.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import Any
from uuid import UUID

from kragx.data import Doc, Mender, Stage, as_docs
from kragx.errors import DataError
from kragx.evaluation.answers import is_doc

CUT_SHORT = "did not end"
"""The error of a stage that was still at work when the answer came, or was given up."""

_CONTAINERS = (
    "RunnableSequence",
    "RunnableParallel",
    "RunnableAssign",
    "RunnableBranch",
    "RunnablePassthrough",
    "RunnablePick",
    "RunnableEach",
    "RunnableWithFallbacks",
    "RunnableRetry",
)
"""How the names begin that LangChain gives to what only calls steps or passes their results on."""

_KEY = "map:key:"
"""How the tag begins by which a `RunnableParallel` says under which key a step stands."""

Objects = tuple[int, ...]
"""Which documents a list holds, as objects: a chain hands them on from step to step."""


def _place() -> tuple[int, int]:
    """The thread and the task that run now."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop
        task = None
    return threading.get_ident(), id(task)


@dataclass
class _Step:
    """A run of LangChain's, as far as it is known."""

    id: UUID
    parent: UUID | None
    name: str
    key: str | None
    searches: bool
    given: tuple[Objects, ...]
    started: float
    place: tuple[int, int] = field(default_factory=_place)
    ended: float = inf
    objects: Objects | None = None
    documents: tuple[Doc, ...] = ()
    error: BaseException | None = None

    @property
    def is_container(self) -> bool:
        return not self.searches and self.name.startswith(_CONTAINERS)

    @property
    def is_stage(self) -> bool:
        """Whether it returned documents; or would have, had it ended."""
        if self.is_container:
            return False
        return self.objects is not None or (
            (self.error is not None or self.ended == inf) and (self.searches or bool(self.given))
        )


@dataclass
class Trace:
    """What was heard of one question."""

    _steps: dict[UUID, _Step] = field(default_factory=dict)
    _kept: list[object] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_open: bool = True

    def begin(self, step: _Step, *objects: object) -> None:
        """A step begins; objects that are told apart by identity stay until all is heard."""
        with self._lock:
            if self._is_open:
                step.parent = self._around(step) or step.parent
                self._steps[step.id] = step
                self._kept += objects

    def _around(self, step: _Step) -> UUID | None:
        """The step that waits for one which begins: the last one under way in its thread and task.

        Those that hand no callbacks on do not say so; None where a step begins a thread or task.
        """
        return next(
            (
                one.id
                for one in reversed(self._steps.values())
                if one.ended == inf and one.place == step.place
            ),
            None,
        )

    def end(self, run_id: UUID, output: object = None, error: BaseException | None = None) -> None:
        """A step has ended, with an output or an error."""
        now = time.perf_counter()
        listed = _list_of(output) if error is None else None
        with self._lock:
            step = self._steps.get(run_id)
            if step is None or not self._is_open:
                return
            step.ended, step.error = now, error
            if listed is None or step.is_container:
                return
            try:
                # At once: rerankers are known to change the documents that they were given.
                step.documents = as_docs(listed, Mender(), "stage")
            except DataError as broken:
                step.error = broken
                return
            step.objects = _objects(listed)
            self._kept += listed

    def stages(self) -> tuple[Stage, ...]:
        """The stages in the order in which they ended; what comes later is not heard."""
        with self._lock:
            self._is_open = False
            steps = list(self._steps.values())
        names = self._names([step for step in steps if step.is_stage])
        done: list[_Step] = []
        used: set[UUID] = set()
        stages = []
        for step in sorted(steps, key=lambda step: step.ended):
            if not step.is_stage:
                continue
            sources = self._sources(step, done, used)
            used.update(source.id for source in sources)
            done.append(step)
            stages.append(
                Stage(
                    name=names[step.id],
                    inputs=tuple(names[source.id] for source in sources),
                    documents=step.documents,
                    seconds=step.ended - step.started if step.ended < inf else None,
                    error=_error(step),
                )
            )
        return tuple(stages)

    def _sources(self, step: _Step, done: Sequence[_Step], used: set[UUID]) -> list[_Step]:
        """The stages whose documents a step got, or that are at work within it."""
        within = [one for one in done if one.id not in used and self._is_within(one, step)]
        if within or step.searches or not step.given:
            return within
        before = [one for one in done if one.ended <= step.started]
        equal: dict[UUID, _Step] = {}
        for objects in step.given:
            source = next((one for one in reversed(before) if one.objects == objects), None)
            if source is None:  # made of several, or cut by a step that is none of LangChain's
                shared = [one for one in before if not {*objects}.isdisjoint(one.objects or ())]
                last = [one for one in shared if one.id not in used]
                equal |= {one.id: one for one in last or shared[-1:]}
            else:
                equal[source.id] = source
        return list(equal.values()) or [one for one in before if one.id not in used]

    def _is_within(self, step: _Step, outer: _Step) -> bool:
        return any(parent.id == outer.id for parent in self._above(step))

    def _above(self, step: _Step) -> Iterator[_Step]:
        parent = step.parent
        while parent is not None and (above := self._steps.get(parent)) is not None:
            yield above
            parent = above.parent

    def _names(self, steps: Sequence[_Step]) -> dict[UUID, str]:
        """A name for each: its own, below the keys under which it stands; numbered if it repeats.

        Keys are what the user calls a branch; a step that stands under one itself is called so.
        """
        counts: Counter[str] = Counter()
        names = {}
        for step in steps:  # in the order in which they began
            above = [one.key for one in self._above(step) if one.key]
            keys = dict.fromkeys(reversed(above))  # LangChain hands tags on to what is within
            own = step.name if step.key is None or step.key in keys else step.key
            name = "/".join([*keys, own])
            counts[name] += 1
            names[step.id] = name if counts[name] == 1 else f"{name} {counts[name]}"
        return names


_LISTENING: ContextVar[Any] = ContextVar("kragx_stages", default=None)


@contextmanager
def listening() -> Iterator[Trace]:
    """Within it whatever LangChain runs is heard."""
    trace = Trace()
    token = _LISTENING.set(_handler()(trace))
    try:
        yield trace
    finally:
        _LISTENING.reset(token)


@cache
def _handler() -> Any:
    """The class of callback handlers that tell a trace."""
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.tracers.context import register_configure_hook

    class Listener(BaseCallbackHandler):
        """Tells a trace what begins and ends."""

        run_inline = True  # in the order in which it happens, also in an event loop
        ignore_llm = ignore_chat_model = ignore_agent = True

        def __init__(self, trace: Trace) -> None:
            self.trace = trace

        def on_chain_start(
            self,
            serialized: Any,
            inputs: Any,
            *,
            run_id: UUID,
            parent_run_id: UUID | None = None,
            tags: list[str] | None = None,
            **kwargs: Any,
        ) -> None:
            lists = [*_lists_in(inputs)]
            given = tuple(map(_objects, lists))
            name = _name(serialized, kwargs)
            step = _Step(run_id, parent_run_id, name, _key(tags), False, given, time.perf_counter())
            self.trace.begin(step, *lists)

        def on_retriever_start(
            self,
            serialized: Any,
            query: str,
            *,
            run_id: UUID,
            parent_run_id: UUID | None = None,
            tags: list[str] | None = None,
            **kwargs: Any,
        ) -> None:
            name = _name(serialized, kwargs)
            self.trace.begin(
                _Step(run_id, parent_run_id, name, _key(tags), True, (), time.perf_counter())
            )

        def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
            self.trace.end(run_id, outputs)

        def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
            self.trace.end(run_id, documents)

        def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
            self.trace.end(run_id, error=error)

        def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
            self.trace.end(run_id, error=error)

    register_configure_hook(_LISTENING, inheritable=True)
    return Listener


def _name(serialized: Mapping[str, Any] | None, kwargs: Mapping[str, Any]) -> str:
    name = kwargs.get("name") or (serialized or {}).get("name")
    return str(name) if name else "step"


def _key(tags: Sequence[str] | None) -> str | None:
    """The key of the mapping under which a step stands."""
    keys = (tag.removeprefix(_KEY) for tag in tags or () if tag.startswith(_KEY))
    return next(filter(None, keys), None)


def _list_of(value: object) -> tuple[Any, ...] | None:
    """A list of documents, which may be empty."""
    if isinstance(value, (list, tuple)) and all(map(is_doc, value)):
        return tuple(value)
    return None


def _lists_in(value: object, depth: int = 2) -> Iterator[tuple[Any, ...]]:
    """The lists of documents in what a step is given: it, or what stands in a mapping."""
    if isinstance(value, Mapping) and depth:
        for inner in value.values():
            yield from _lists_in(inner, depth - 1)
    elif isinstance(value, (list, tuple)) and value and all(map(is_doc, value)):
        yield tuple(value)


def _objects(docs: Sequence[Any]) -> Objects:
    return tuple(map(id, docs))


def _error(step: _Step) -> str | None:
    if step.ended == inf:
        return CUT_SHORT
    return None if step.error is None else reason_of(step.error)


def reason_of(error: BaseException) -> str:
    """Why something failed: the error's own name, and what it says."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # a user's error may fail to say what it is
        return f"{type(error).__name__}: (it cannot be printed)"
