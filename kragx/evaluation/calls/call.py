"""A call, the recording of those that are made for one question, and what searches they make."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import zip_longest
from math import inf
from typing import Any, Literal

from kragx.data import Doc, Stage, last_stages
from kragx.data.searches import Search, distinct_by_identity, in_steps

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

WAITING: ContextVar[tuple[Hashable, ...]] = ContextVar("kragx_waiting", default=())
"""The keys of functions and retrievers that wait for what is called now, or did."""


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
        is_at_work: looks whether it runs or is awaited, of one whose end may not be told.
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
    is_at_work: Callable[[], bool] | None = None
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
        is_at_work = self.is_at_work
        # Between two looks its task may begin to wait, or no longer do so.
        return self.ended == inf and (is_at_work is None or is_at_work() or is_at_work())

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
        # Steps are counted anew in each graph: a graph within this one has a first step, too.
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

        self.lock: threading.Lock = threading.Lock()
        self.is_open: bool = True
        self.has_lost: bool = False
        self.n_at_work: int = 0

    def begin(self, key: Hashable, call: Call, parents: Iterable[Hashable] = ()) -> None:
        """A call begins; of one that has begun already nothing new is heard.

        Args:
            key: tells it from others.
            call: it.
            parents: the keys of what may be waiting for it, which stand in one another.
        """
        with self.lock:
            if self.is_open and key not in self._calls:
                waiting = [self._calls[parent] for parent in parents if parent in self._calls]
                waiting.sort(key=lambda parent: -parent.started)
                call.above = next(filter(Call.may_wait, waiting), None)
                self._calls[key] = call

    def end(self, key: Hashable, **result: Any) -> None:
        """A call has ended; `result` has fields of `Call`."""
        now = time.perf_counter()
        with self.lock:
            call = self._calls.get(key)
            if call is not None and call.ended == inf and self.is_open:
                call.ended, call.error, call.is_at_work = now, None, None
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
                call.is_at_work = None  # it holds all that its function has

    @property
    def calls(self) -> list[Call]:
        """The calls so far, in the order in which they began."""
        with self.lock:
            return [*self._calls.values()]


def searches_made(calls: Sequence[Call], root: Call | None = None) -> tuple[Search, ...]:
    """The searches that calls for one question make.

    A search is a call of a tool or retriever that stands within no other; what stands within it are
    its stages. A tool that answers with no documents gave those of its last stages, by turns; one
    without such is unmeasured.

    Args:
        calls: in the order in which they began.
        root: as of `outermost`.
    """
    searches = outermost(calls, root)
    within: dict[Call, list[Call]] = {search: [] for search in searches}
    for call in calls:
        for above in call.around:
            if above in within:
                within[above].append(call)
    return in_steps(
        [_search(call, step, within[call]) for call, step in zip(searches, steps_of(searches))]
    )


def searches_beside(
    calls: Sequence[Call], *, has_list: bool, name: str | None
) -> tuple[Search, ...]:
    """The searches of what was asked a question, beside its own answer.

    A chain of LangChain's that answers with a list of documents is a retriever, and the retrievers
    in it are stages; it made searches if it called tools, or is a graph. What answers with none is
    somebody who searched.

    Args:
        calls: in the order in which they began.
        has_list: whether the answer is a list of documents.
        name: of what was asked, where its own call is among them, the first: that is no search.
    """
    root = calls[0] if calls and calls[0].name == name else None
    searches = outermost(calls, root)
    is_chain = all(call.kind == "retriever" and call.graph is None for call in searches)
    return () if has_list and is_chain else searches_made(calls, root)


def outermost(calls: Iterable[Call], root: Call | None = None) -> list[Call]:
    """The calls of tools and retrievers that stand within no other.

    Args:
        calls: any.
        root: the call of what was asked the question, if it is one; all stand within it.
    """

    def is_within(call: Call) -> bool:
        return any(above.is_search and above is not root for above in call.around)

    return [call for call in calls if call.is_search and call is not root and not is_within(call)]


def _search(call: Call, step: int, within: Sequence[Call]) -> Search:
    stages = stages_of(within)
    documents: tuple[Doc, ...] | None = ()
    if call.error is None:
        documents = _last_documents(stages) if call.documents is None else call.documents
    return Search(
        query=call.query,
        documents=documents,
        tool=call.name,
        step=step,
        seconds=call.seconds,
        tokens=_tokens(call, within),
        error=call.error,
        stages=stages,
    )


def _tokens(call: Call, within: Iterable[Call]) -> int | None:
    """What a call cost: what it says, which has that of all within it, or else what these say."""
    if call.tokens is not None:
        return call.tokens
    costs = {inner: inner.tokens for inner in within if inner.tokens is not None}
    # What stands within another that says its own is counted there.
    counts = [tokens for inner, tokens in costs.items() if costs.keys().isdisjoint(inner.around)]
    return sum(counts) if counts else None


def _last_documents(stages: Sequence[Stage]) -> tuple[Doc, ...] | None:
    """What came of stages in the end; None where nobody knows."""
    lists = [stage.documents for stage in last_stages(stages) if stage.error is None]
    if len(lists) < 2:
        return lists[0] if lists else None
    # Of those that ran side by side none came first.
    lists.sort(key=lambda docs: [(doc.id or "", doc.text or "") for doc in docs])
    ranks = zip_longest(*lists)
    return distinct_by_identity(doc for rank in ranks for doc in rank if doc is not None)


def steps_of(calls: Sequence[Call]) -> list[int]:
    """The step of each call, from 1 on.

    Calls that overlap in time ran side by side, and so did those that one message or one step of a
    graph made (`Call.beside`). A call that failed and is made again in the same words in the step
    behind was tried again: that is no step of its own.
    """
    numbers: dict[Call, int] = {}
    # Retries are told by words and tool, as no call says that it is one: those that failed last.
    failed: dict[tuple[str, str], int] = {}
    step = 0
    for group in _side_by_side(calls):
        lanes = {call: (call.query or "", call.name) for call in group}
        again = {call for call, lane in lanes.items() if failed.get(lane) == step}
        step += len(again) < len(group)
        for call, lane in lanes.items():
            numbers[call] = step - (call in again and len(again) < len(group))
            failed[lane] = 0 if call.error is None else numbers[call]
    return [numbers[call] for call in calls]


def _side_by_side(calls: Iterable[Call]) -> list[list[Call]]:
    """Groups of calls that ran at once, the first first; within one by their start."""
    alike: dict[object, list[Call]] = {}
    for call in sorted(calls, key=lambda call: call.started):
        alike.setdefault(call if call.beside is None else call.beside, []).append(call)
    groups: list[list[Call]] = []
    end = 0.0
    for together in alike.values():
        if not groups or together[0].started >= end:
            groups.append([])
        groups[-1] += together
        # Of what did not end nobody knows what ran beside it.
        end = max(end, *(call.ended if call.ended < inf else call.started for call in together))
    return [sorted(group, key=lambda call: call.started) for group in groups]


def stages_of(calls: Sequence[Call]) -> tuple[Stage, ...]:
    """The stages of some calls, in the order in which they ended.

    Args:
        calls: in the order in which they began.
    """
    steps = [call for call in calls if call.is_stage]
    names = _names(steps)
    earlier: list[Call] = []
    used: set[Call] = set()
    stages = []
    for step in sorted(steps, key=lambda step: step.ended):
        sources = _sources(step, earlier, used)
        used.update(sources)
        earlier.append(step)
        inputs = tuple(names[source] for source in sources)
        documents = step.documents or ()
        stages.append(Stage(names[step], inputs, documents, step.seconds, step.error))
    return tuple(stages)


def _sources(step: Call, earlier: Sequence[Call], used: set[Call]) -> list[Call]:
    """The stages whose documents a step got, or that are at work within it."""
    within = [stage for stage in earlier if stage not in used and step in stage.around]
    if within or not step.given:
        return within
    before = [stage for stage in earlier if stage.ended <= step.started]
    sources: dict[Call, None] = {}
    for docs in map(_ids, step.given):
        equal = [stage for stage in before if _ids(stage.returned) == docs][-1:]
        if not equal:  # made of several, or cut by a step that is none of LangChain's
            shared = [stage for stage in before if not {*docs}.isdisjoint(_ids(stage.returned))]
            equal = [stage for stage in shared if stage not in used] or shared[-1:]
        sources |= dict.fromkeys(equal)
    return list(sources) or [stage for stage in before if stage not in used]


def _ids(objects: Objects | None) -> list[int]:
    return [*map(id, objects or ())]


def _names(steps: Sequence[Call]) -> dict[Call, str]:
    """A name for each: its own, below the keys under which it stands; numbered if it repeats.

    Keys are what the user calls a branch; a step that stands under one itself is called so.
    """
    counts: Counter[str] = Counter()
    names = {}
    for step in steps:
        # LangChain hands tags on to what is within.
        keys = dict.fromkeys(reversed([above.key for above in step.around if above.key]))
        last = step.name if step.key is None or step.key in keys else step.key
        name = "/".join([*keys, last])
        counts[name] += 1
        names[step] = name if counts[name] == 1 else f"{name} {counts[name]}"
    return names
