"""From calls to stages: which of them returned documents, and whose documents they got."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kragx.data import Stage
from kragx.evaluation.calls.call import Call, Objects


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
