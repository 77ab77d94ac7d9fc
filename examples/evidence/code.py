"""Source code: functions as gold against chunks of files, and calls looked for in functions."""

from __future__ import annotations

import random
from collections.abc import Iterator

from .case import Case, coined, ranked
from .languages import LANGUAGES
from .passages import joined, rechunked

_LINES = (
    "    {} = {}.{}({})",
    "    for {} in {}:\n        {}.append({})",
    '    if {} is None:\n        raise ValueError("{} {} is missing")',
    "    {}[{}] = {}({}, {})",
    "    while {} < len({}):\n        {} += {}",
    "    with {}({}) as {}:\n        {}.write({})",
    "    {} = [{} for {} in {}]",
    "    List<String> {} = new ArrayList<>({});",
)


def _filled(pattern: str, rng: random.Random) -> str:
    parts = pattern.split("{}")
    names = (coined(LANGUAGES["en"], rng) for _ in parts[1:])
    return parts[0] + "".join(name + part for name, part in zip(names, parts[1:]))


def function(rng: random.Random, *calls: str) -> str:
    """A function of four to eight statements, with these calls in lines of their own."""
    lines = [_filled(rng.choice(_LINES), rng) for _ in range(rng.randint(4, 8))]
    for call in calls:
        lines.insert(rng.randint(0, len(lines)), f"    {call}")
    return "\n".join((_filled("def {}_{}({}, {}):", rng), *lines, _filled("    return {}", rng)))


def functions(size: int = 600) -> Case:
    """Whole functions as gold."""
    rng = random.Random("functions")
    sources, golds = [], []
    for number in range(20):
        text, places = joined([function(rng) for _ in range(12)], "\n\n\n", 12)
        sources.append(text)
        golds += [(number, *place) for place in rng.sample(places, 3)]
    questions = tuple(rechunked(golds, sources, size, rng))
    return Case(f"code: a function, chunks of {size}", "code", questions)


def calls() -> Case:
    """Calls such as ``bel.corjor(dan)``; hard negatives have longer names, or its names apart."""
    rng = random.Random("calls")
    questions = []
    for _ in range(100):
        a, b, c, x, y = (coined(LANGUAGES["en"], rng) for _ in range(5))
        call = f"{a}.{b}({c})"
        hard = [(f"{a}.{b}{x}({c})",), (f"{x}{a}.{b}({c})",), (f"{a}.{x}({y})", f"{y}.{b}({c})")]
        docs = [(function(rng, call), True) for _ in range(rng.randint(1, 3))]
        docs += [(function(rng, *rng.choice(hard)), False), (function(rng, *hard[2]), False)]
        docs += [(function(rng, _filled("{}.{}({})", rng)), False) for _ in range(10 - len(docs))]
        questions.append(ranked(call, docs, rng))
    return Case("code: a call", "code", tuple(questions))


def cases() -> Iterator[Case]:
    """Functions and calls."""
    yield functions()
    yield calls()
