"""Listening to the steps of a LangChain chain: what each of them returned to one question.

A handler of its own for each question is found through a context variable, so questions that are
asked at once never mix, in threads and tasks alike, and a chain needs no change.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from kragx.data import Doc, Mender, Stage, as_docs
from kragx.data.answers import is_doc
from kragx.errors import DataError
from kragx.evaluation.answers import reason_of

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

Objects = tuple[Any, ...]
"""A list of documents, told by identity: a chain hands objects on from step to step."""

Given = tuple[Objects, ...] | None
"""The lists of documents that a step gets; None of a retriever, which gets a question."""


def _place() -> tuple[int, int]:
    """The thread and the task that run now."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop
        task = None
    return threading.get_ident(), id(task)


@dataclass(eq=False)
class _Step:
    """A run of LangChain's, as far as it is known.

    Attributes:
        name: its own.
        key: of the mapping under which it stands.
        given: what it got.
        above: the step that waits for it.
        returned: the list that it returned, and `documents` what that was then.
    """

    name: str
    key: str | None
    given: Given
    above: "_Step | None" = None
    place: tuple[int, int] = field(default_factory=_place)
    started: float = field(default_factory=time.perf_counter)
    ended: float = inf
    returned: Objects | None = None
    documents: tuple[Doc, ...] = ()
    error: str | None = CUT_SHORT

    @property
    def is_container(self) -> bool:
        return self.given is not None and self.name.startswith(_CONTAINERS)

    @property
    def is_stage(self) -> bool:
        """Whether it returned documents; or would have, had it ended."""
        might_have = self.error is not None and self.given != ()
        return not self.is_container and (self.returned is not None or might_have)

    @property
    def around(self) -> "Iterator[_Step]":
        """The steps in which it stands, the nearest first."""
        above = self.above
        while above is not None:
            yield above
            above = above.above


class StageTrace(BaseCallbackHandler):
    """Hears of one question what LangChain runs for it."""

    run_inline = True  # in the order in which it happens, also in an event loop
    ignore_llm = ignore_chat_model = ignore_agent = True

    def __init__(self) -> None:
        self._steps: dict[UUID, _Step] = {}
        self._lock = threading.Lock()
        self._is_open = True

    def on_chain_start(self, serialized: Any, inputs: Any, **run: Any) -> None:
        """A step begins."""
        self._begin(serialized, run, tuple(_lists_in(inputs)))

    def on_retriever_start(self, serialized: Any, query: str, **run: Any) -> None:
        """A retriever begins."""
        self._begin(serialized, run, None)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        """A step has ended."""
        self._end(run_id, outputs)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **_: Any) -> None:
        """A retriever has ended."""
        self._end(run_id, documents)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A step or retriever has failed."""
        self._end(run_id, None, reason_of(error))

    on_retriever_error = on_chain_error

    def _begin(self, serialized: Any, run: Mapping[str, Any], inputs: Given) -> None:
        name = run.get("name") or (serialized or {}).get("name") or "step"
        tags = [tag.removeprefix(_KEY) for tag in run.get("tags") or () if tag.startswith(_KEY)]
        key = next(filter(None, tags), None)
        step = _Step(str(name), key, inputs)
        with self._lock:
            if not self._is_open:
                return
            # Those that hand no callbacks on do not say what waits for a step: it is the last one
            # under way in its thread and task; LangChain says it where one begins these.
            under_way = (prior for prior in reversed(self._steps.values()) if prior.ended == inf)
            same_place = (prior for prior in under_way if prior.place == step.place)
            parent = self._steps.get(run["parent_run_id"]) if run.get("parent_run_id") else None
            step.above = next(same_place, parent)
            self._steps[run["run_id"]] = step

    def _end(self, run_id: UUID, output: object, error: str | None = None) -> None:
        now = time.perf_counter()
        with self._lock:
            step = self._steps.get(run_id)
            if step is None or not self._is_open:
                return
            step.ended, step.error = now, error
            if error or step.is_container or not isinstance(output, (list, tuple)):
                return
            if all(map(is_doc, output)):
                try:
                    # At once: rerankers are known to change the documents that they were given.
                    step.documents = as_docs(output, Mender(), "stage")
                    step.returned = tuple(output)
                except DataError as broken:
                    step.error = reason_of(broken)

    def stages(self) -> tuple[Stage, ...]:
        """The stages in the order in which they ended; what comes later is not heard."""
        with self._lock:
            self._is_open = False
        steps = [step for step in self._steps.values() if step.is_stage]
        names = _names(steps)
        earlier: list[_Step] = []
        used: set[_Step] = set()
        stages = []
        for step in sorted(steps, key=lambda step: step.ended):
            sources = _sources(step, earlier, used)
            used.update(sources)
            earlier.append(step)
            seconds = step.ended - step.started if step.ended < inf else None
            inputs = tuple(names[source] for source in sources)
            stages.append(Stage(names[step], inputs, step.documents, seconds, step.error))
        return tuple(stages)


def _sources(step: _Step, earlier: Sequence[_Step], used: set[_Step]) -> list[_Step]:
    """The stages whose documents a step got, or that are at work within it."""
    within = [stage for stage in earlier if stage not in used and step in stage.around]
    if within or not step.given:
        return within
    before = [stage for stage in earlier if stage.ended <= step.started]
    sources: dict[_Step, None] = {}
    for docs in map(_ids, step.given):
        equal = [stage for stage in before if _ids(stage.returned) == docs][-1:]
        if not equal:  # made of several, or cut by a step that is none of LangChain's
            shared = [stage for stage in before if not {*docs}.isdisjoint(_ids(stage.returned))]
            equal = [stage for stage in shared if stage not in used] or shared[-1:]
        sources |= dict.fromkeys(equal)
    return list(sources) or [stage for stage in before if stage not in used]


def _ids(objects: Objects | None) -> list[int]:
    return [*map(id, objects or ())]


def _names(steps: Sequence[_Step]) -> dict[_Step, str]:
    """A name for each: its own, below the keys under which it stands; numbered if it repeats.

    Keys are what the user calls a branch; a step that stands under one itself is called so.
    """
    counts: Counter[str] = Counter()
    names = {}
    for step in steps:  # in the order in which they began
        # LangChain hands tags on to what is within.
        keys = dict.fromkeys(reversed([above.key for above in step.around if above.key]))
        last = step.name if step.key is None or step.key in keys else step.key
        name = "/".join([*keys, last])
        counts[name] += 1
        names[step] = name if counts[name] == 1 else f"{name} {counts[name]}"
    return names


_LISTENING: ContextVar[StageTrace | None] = ContextVar("kragx_stages", default=None)
register_configure_hook(_LISTENING, inheritable=True)


@contextmanager
def listening() -> Iterator[StageTrace]:
    """Within it whatever LangChain runs is heard."""
    trace = StageTrace()
    token = _LISTENING.set(trace)
    try:
        yield trace
    finally:
        _LISTENING.reset(token)


def _lists_in(value: object, depth: int = 2) -> Iterator[Objects]:
    """The lists of documents in what a step is given: it, or what stands in a mapping."""
    if isinstance(value, Mapping) and depth:
        for inner in value.values():
            yield from _lists_in(inner, depth - 1)
    elif isinstance(value, (list, tuple)) and value and all(map(is_doc, value)):
        yield tuple(value)
