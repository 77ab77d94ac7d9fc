"""A call, and the recording of those that are made for one question."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
import time
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from types import FrameType
from typing import Any, Literal

from kragx.data import Doc

CUT_SHORT = "did not end"
"""The error of what was still at work when the answer came, or was given up."""

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

Kind = Literal["tool", "retriever", "step", "model"]
"""What is called: ``tool`` whatever an agent calls by its name, a function of the user's as well;
``step`` a part of a chain; ``model`` a language model."""

Objects = tuple[Any, ...]
"""A list of documents, told by identity: a chain hands objects on from step to step."""

Given = tuple[Objects, ...] | None
"""The lists of documents that a step gets; None of a search, which gets words."""

Place = tuple[int, "asyncio.Task[Any] | None"]
"""A thread and a task: the task itself, as another may get the number of one that is gone."""


def place() -> Place:
    """The thread and the task that run now."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop
        task = None
    return threading.get_ident(), task


def frames(innermost: FrameType | None) -> Iterator[FrameType]:
    """What runs, the innermost first."""
    while innermost is not None:
        yield innermost
        innermost = innermost.f_back


def is_at_work(frame: FrameType, where: Place) -> bool:
    """Whether a frame runs or is awaited at a place; where that cannot be seen it is."""
    thread, task = where
    if any(running is frame for running in frames(sys._current_frames().get(thread))):
        return True
    # A task that waits runs nothing: its frames stand in the chain of what it awaits.
    awaited: Any = None if task is None or task.done() else task.get_coro()
    while inspect.iscoroutine(awaited):
        if awaited.cr_frame is frame:
            return True
        awaited = awaited.cr_await
    # What hides others may hide this one, too; the end of a chain does not.
    return awaited is not None and type(awaited).__name__ != "FutureIter"


@dataclass(eq=False)
class Call:
    """A call, as far as it is known.

    Attributes:
        name: of what is called.
        kind: what that is.
        query: the words that are searched for.
        given: what a step gets.
        key: of the mapping under which a step stands.
        above: the call that waits for this one.
        place: where it runs; None of one that was logged.
        frame: what runs as long as it is at work, of one whose end may not be told.
        message: what called for it; what one message calls for runs side by side.
        graph: the step of a graph in which it stands, with the name of the graph.
        started, ended: by a clock that all calls of a question share.
        returned: the list that it returned, and `documents` what that was then; None of what
            returned none.
        error: why it failed or did not end.
        tokens: what it cost.
        unit: what a second is by the clock; None of one that only tells before from after.
    """

    name: str
    kind: Kind
    query: str | None = None
    given: Given = None
    key: str | None = None
    above: Call | None = None
    place: Place | None = field(default_factory=place)
    frame: FrameType | None = None
    message: Hashable = None
    graph: Hashable = None
    started: float = field(default_factory=time.perf_counter)
    ended: float = inf
    returned: Objects | None = None
    documents: tuple[Doc, ...] | None = None
    error: str | None = CUT_SHORT
    tokens: int | None = None
    unit: float | None = 1.0

    @property
    def is_search(self) -> bool:
        """Whether it is a search, if nothing else is that waits for it."""
        return self.kind in ("tool", "retriever")

    def may_wait(self) -> bool:
        """Whether it may be waiting for what begins now."""
        if self.ended < inf or self.frame is None or self.place is None:
            return self.ended == inf
        # Between two looks its task may begin to wait, or no longer do so.
        return any(is_at_work(self.frame, self.place) for _ in range(2))

    @property
    def is_container(self) -> bool:
        """Whether it only calls others."""
        return self.given is not None and self.name.startswith(_CONTAINERS)

    @property
    def is_stage(self) -> bool:
        """Whether it returned documents; or would have, had it ended."""
        might_have = self.error is not None and self.given != ()
        is_work = self.kind != "model" and not self.is_container
        return is_work and (self.documents is not None or might_have)

    @property
    def around(self) -> Iterator[Call]:
        """The calls in which it stands, the nearest first."""
        above = self.above
        while above is not None:
            yield above
            above = above.above

    @property
    def beside(self) -> Hashable:
        """What calls have in common that were made at once; None where only times can tell."""
        if self.message is not None or self.graph is None:
            return self.message
        return next((above for above in self.around if above.graph != self.graph), None), self.graph

    @property
    def seconds(self) -> float | None:
        """How long it took; None of what did not end, or where no clock says."""
        if self.unit is None or self.ended == inf:
            return None
        return (self.ended - self.started) / self.unit


class CallRecording:
    """Hears of the calls that are made for one question, from whatever threads and tasks.

    Attributes:
        is_open: whether it hears of more.
        has_lost: whether there was a call of which nobody knows whether it is of this question.
        n_at_work: of how much of what was asked nobody knows that it is no longer at work.
    """

    def __init__(self) -> None:
        self._calls: dict[Hashable, Call] = {}
        self._under_way: dict[Hashable, Call] = {}
        self.lock = threading.Lock()
        self.is_open, self.has_lost, self.n_at_work = True, False, 0

    def begin(self, key: Hashable, call: Call, parents: Iterable[Hashable] = ()) -> None:
        """A call begins; of one that has begun already nothing new is heard.

        Args:
            key: tells it from others.
            call: it.
            parents: the keys of what may be waiting for it, which stand in one another.
        """
        with self.lock:
            if not self.is_open or key in self._calls:
                return
            # Those that hand no callbacks on do not say what waits for a call: it is the last one
            # under way in its thread and task; LangChain says it where one begins these.
            priors = reversed(self._under_way.values())
            same_place = (prior for prior in priors if prior.place == call.place)
            waiting = [self._calls[parent] for parent in parents if parent in self._calls]
            waiting.sort(key=lambda parent: -parent.started)
            call.above = next(filter(Call.may_wait, chain(same_place, waiting)), None)
            self._calls[key] = self._under_way[key] = call

    def end(self, key: Hashable, **result: Any) -> None:
        """A call has ended; `result` has fields of `Call`."""
        now = time.perf_counter()
        with self.lock:
            call = self._under_way.pop(key, None)
            if call is not None and self.is_open:
                call.ended, call.error, call.frame = now, None, None
                for name, value in result.items():
                    setattr(call, name, value)

    def get(self, key: Hashable) -> Call | None:
        """The call with a key."""
        return self._calls.get(key)

    def close(self) -> None:
        """What comes later is not heard."""
        with self.lock:
            self.is_open = False
            for call in self._calls.values():
                call.frame = None  # it holds all that its function has

    @property
    def calls(self) -> list[Call]:
        """The calls so far, in the order in which they began."""
        with self.lock:
            return [*self._calls.values()]
