"""Paths into the JSON that a server answers with: ``$.hits.hits[*]``, ``_source.body``."""

import re
from collections.abc import Iterator
from typing import Any

from kragx.errors import DataError, UsageError, shorten

# A quoted name ends at the quotation mark that it began with, so the other one may stand in it.
_STEP = re.compile(
    r"""\.?(?P<name>[^\s.\[\]'"*$]+)       # hits, .hits
    |   \[\s*(?P<index>\d+)\s*\]           # [0]
    |   \[\s*(['"])(?P<quoted>(?:(?!\3).)*)\3\s*\]   # ['a.b'], ["a.b"]
    |   (?P<all>\[\s*\*\s*\])              # [*]""",
    re.VERBOSE | re.DOTALL,
)
_SHOWN = 8  # names of fields that an error lists


Step = str | int | None
"""A field's name, an entry's place, or None for each entry."""


def steps_of(path: str) -> list[Step]:
    """The steps of a path, as far as JSONPath names places.

    That is ``$`` (the whole, and may be left out), ``.name``, ``['a name']``, ``[0]``, and ``[*]``
    for each entry of a list.

    Raises:
        UsageError: it is no path, or a kind of JSONPath that is not known here.
    """
    if not isinstance(path, str) or not path.strip():
        raise UsageError(f"{path!r} is no path", remedy="write for example $.hits[*]")
    rest = re.sub(r"^\$(?=$|[.\[])", "", path.strip())
    steps: list[Step] = []
    while rest:
        match = _STEP.match(rest)
        if match is None or (steps and rest[0] not in ".["):
            raise UsageError(
                f"{path!r}: {rest[:30]!r} is no part of a path",
                remedy="a path has .name, ['a name'], [0] and [*], as $.hits.hits[*]",
            )
        kind = match.lastgroup or ""
        steps.append(
            None if kind == "all" else int(match[kind]) if kind == "index" else match[kind]
        )
        rest = rest[match.end() :]
    return steps


def value_at(path: str, answer: Any, parent: str = "") -> Any:
    """What stands at a path: one value, or those of each entry where the path has ``[*]``.

    Args:
        path: as `steps_of` reads it.
        answer: what JSON holds.
        parent: the place of `answer` itself, for errors.

    Raises:
        DataError: there is no such place; the error says what is there instead.

    >>> hits = [{"_source": {"body": "a"}}, {"_source": {"body": "b"}}]
    >>> value_at("$.hits[*]._source.body", {"hits": hits})
    ['a', 'b']
    """
    steps, places = steps_of(path), [(parent, answer)]
    for step in steps:
        places = [inner for place in places for inner in _step(*place, step)]
    values = [value for _, value in places]
    return values if None in steps else values[0]


def _step(parent: str, value: Any, step: Step) -> Iterator[tuple[str, Any]]:
    match step, value:
        case str(), dict() if step in value:
            yield f"{parent}.{step}".lstrip("."), value[step]
        case None, list():
            yield from ((f"{parent}[{place}]", entry) for place, entry in enumerate(value))
        case int(), list() if step < len(value):
            yield f"{parent}[{step}]", value[step]
        case _:
            problem = f"no entry [{step}]" if isinstance(value, list) else "no list"
            if isinstance(step, str):
                problem = f"no field {step!r}"
            place = parent or "the answer"
            raise DataError(f"{problem} in {place}, which is {described(value)}")


def described(value: Any) -> str:
    """What a value of JSON is, for an error: its fields, how long it is, or itself."""
    match value:
        case dict() if not value:
            return "an object without fields"
        case dict():
            names = [repr(name) for name in value]
            rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            return f"an object with {', '.join(names[:_SHOWN])}{rest}"
        case list():
            return f"a list of {len(value)}"
        case None:
            return "null"
    return shorten(value)
