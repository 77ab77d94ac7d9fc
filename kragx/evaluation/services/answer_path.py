"""Paths into the JSON that a server answers with: ``$.hits.hits[*]``, ``_source.body``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kragx.errors import DataError, UsageError, shorten

_STEP = re.compile(
    r"""\.?(?P<name>[^\s.\[\]'"*$]+)       # hits, .hits
    |   \[\s*(?P<index>\d+)\s*\]           # [0]
    |   \[\s*'(?P<quoted>[^']*)'\s*\]      # ['a.b']
    |   \[\s*"(?P<double>[^"]*)"\s*\]      # ["a.b"]
    |   (?P<all>\[\s*\*\s*\])              # [*]""",
    re.VERBOSE,
)
_SHOWN = 8  # names of fields that an error lists


@dataclass(frozen=True)
class AnswerPath:
    """Where in an answer something stands.

    The part of JSONPath that names places: ``$`` (the whole, and may be left out), ``.name``,
    ``['a name']``, ``[0]``, and ``[*]`` for each entry of a list.

    Attributes:
        text: as it is written.
        steps: a field's name, an entry's place, or None for each entry.

    >>> path = AnswerPath.read("$.hits[*]._source.body")
    >>> path.values({"hits": [{"_source": {"body": "a"}}, {"_source": {"body": "b"}}]})
    ['a', 'b']
    """

    text: str
    steps: tuple[str | int | None, ...]

    @classmethod
    def read(cls, text: str) -> "AnswerPath":
        """The path that a text says.

        Raises:
            UsageError: it is none, or is a kind of JSONPath that is not known here.
        """
        if not isinstance(text, str) or not text.strip():
            raise UsageError(f"{text!r} is no path", remedy="write for example $.hits[*]")
        rest = text.strip()
        rest = rest[1:] if rest == "$" or rest[:2] in ("$.", "$[") else rest
        steps: list[str | int | None] = []
        while rest:
            match = _STEP.match(rest)
            if match is None or (steps and match[0][0] not in ".["):
                raise UsageError(
                    f"{text!r}: {rest[:30]!r} is no part of a path",
                    remedy="a path has .name, ['a name'], [0] and [*], as $.hits.hits[*]",
                )
            names = [match[group] for group in ("name", "quoted", "double")]
            index = None if match["index"] is None else int(match["index"])
            steps.append(next((name for name in names if name is not None), index))
            rest = rest[match.end() :]
        return cls(text, tuple(steps))

    def values(self, answer: Any, where: str = "") -> list[Any]:
        """What stands there: one value, or those of each entry where the path has ``[*]``.

        Args:
            answer: what JSON holds.
            where: the place of `answer` itself, for errors.

        Raises:
            DataError: there is no such place; the error says what is there instead.
        """
        places = [(where, answer)]
        for step in self.steps:
            places = [found for place in places for found in _step(*place, step)]
        return [value for _, value in places]

    def value(self, answer: Any, where: str = "") -> Any:
        """The one value there.

        Raises:
            DataError: as `values`.
        """
        values = self.values(answer, where)
        return values if None in self.steps else values[0]


def _step(where: str, value: Any, step: str | int | None) -> Iterator[tuple[str, Any]]:
    if isinstance(step, str):
        if not isinstance(value, dict) or step not in value:
            raise _missing(where, f"no field {step!r}", value)
        yield f"{where}.{step}".lstrip("."), value[step]
        return
    if not isinstance(value, list):
        raise _missing(where, "no list", value)
    if step is None:
        yield from ((f"{where}[{place}]", entry) for place, entry in enumerate(value))
    elif step < len(value):
        yield f"{where}[{step}]", value[step]
    else:
        raise _missing(where, f"no entry [{step}]", value)


def _missing(where: str, problem: str, value: Any) -> DataError:
    return DataError(f"{problem} in {where or 'the answer'}, which is {described(value)}")


def described(value: Any) -> str:
    """What a value of JSON is, for an error: its fields, how long it is, or itself."""
    match value:
        case dict() if not value:
            return "an object without fields"
        case dict():
            names = [repr(name) for name in value]
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            return f"an object with {', '.join(names[:_SHOWN])}{more}"
        case list():
            return f"a list of {len(value)}"
        case None:
            return "null"
    return shorten(value)
