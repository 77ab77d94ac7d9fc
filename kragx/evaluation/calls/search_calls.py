"""From calls to searches, the outermost calls of tools and retrievers, and to stages within."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile, zip_longest
from math import inf

from kragx.data import Doc, Stage, last_stages
from kragx.data.searches import Search, in_steps
from kragx.evaluation.calls.call import Call, Objects


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

    def is_counted(inner: Call) -> bool:
        between = takewhile(lambda above: above is not call, inner.around)
        return any(above.tokens is not None for above in between)

    if call.tokens is not None:
        return call.tokens
    costs = [inner.tokens for inner in within if inner.tokens is not None and not is_counted(inner)]
    return sum(costs) if costs else None


def _last_documents(stages: Sequence[Stage]) -> tuple[Doc, ...] | None:
    """What came of stages in the end; None where nobody knows."""
    lists = [stage.documents for stage in last_stages(stages) if stage.error is None]
    if len(lists) < 2:
        return lists[0] if lists else None
    # Of those that ran side by side none came first.
    lists.sort(key=lambda docs: [(doc.id or "", doc.text or "") for doc in docs])
    ranks = zip_longest(*lists)
    first: dict[object, Doc] = {}
    for doc in (doc for rank in ranks for doc in rank if doc is not None):
        first.setdefault(doc.identity, doc)
    return tuple(first.values())


def steps_of(calls: Sequence[Call]) -> list[int]:
    """The step of each call, from 1 on.

    Calls that overlap in time ran side by side, and so did those that one message or one step of a
    graph made (`Call.beside`). A call that failed and is made again in the same words in the step
    behind was tried again: that is no step of its own.
    """
    numbers: dict[Call, int] = {}
    last: dict[tuple[str, str], Call] = {}  # the last call in some words
    step = 0
    for group in _side_by_side(calls):
        again = {
            call
            for call in group
            if (before := last.get(_lane(call))) is not None
            and before.error is not None
            and numbers[before] == step
        }
        step += len(again) < len(group)
        for call in group:
            numbers[call] = step - (call in again and len(again) < len(group))
            last[_lane(call)] = call
    return [numbers[call] for call in calls]


def _lane(call: Call) -> tuple[str, str]:
    return call.query or "", call.name


def _side_by_side(calls: Iterable[Call]) -> Iterator[list[Call]]:
    """Groups of calls that ran at once, the first first; within one by their start."""
    alike: dict[object, list[Call]] = {}
    for call in sorted(calls, key=lambda call: call.started):
        alike.setdefault(call if call.beside is None else call.beside, []).append(call)
    group: list[Call] = []
    end = 0.0
    for together in sorted(alike.values(), key=lambda together: together[0].started):
        if group and together[0].started >= end:
            yield sorted(group, key=lambda call: call.started)
            group, end = [], 0.0
        group += together
        # Of what did not end nobody knows what ran beside it.
        end = max(end, *(call.ended if call.ended < inf else call.started for call in together))
    if group:
        yield sorted(group, key=lambda call: call.started)


# -- stages ---------------------------------------------------------------------------------------


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
