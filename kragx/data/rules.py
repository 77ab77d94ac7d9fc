"""Rules that forbid documents: conditions on their metadata and the question's.

    tenant: {metadata.tenant: {not: {query: metadata.tenant}}}
    stale: {metadata.valid_until: {before: {query: metadata.asked_at}}}
    timezone: Asia/Seoul

A rule's name is its kind. Each of its paths is one of a document's metadata and has conditions
(`OPERATORS`); an operand is a value, or ``{query: path}`` for one of the question's metadata. The
conditions of a rule are an AND, rules are an OR. There are three values: where a field lacks on
either side, or is no date where one is compared, nobody knows; ``missing`` alone asks for that.

``timezone`` is no rule: it is that of dates and times that say none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo
from functools import cached_property
from typing import Any, Self
from unicodedata import normalize
from zoneinfo import ZoneInfo

from kragx.data.documents import is_lacking, value_at
from kragx.ground.errors import DataError, UsageError, inside, nearest, shorten
from kragx.ground.printing import message

RULES_EXAMPLE = message(
    "write for example {{tenant: {{metadata.tenant: {{not: {{query: metadata.tenant}}}}}}}}"
)
UNKNOWN = -1
"""The third truth value beside 1 and 0: not known."""

TIMEZONE = "timezone"
_QUERY = "query"
_COMPARED = ("before", "after")
_MEMBERS = ("in", "not_in")
OPERATORS = ("is", "not", *_MEMBERS, *_COMPARED, "missing")
"""What a condition may ask of a document's value."""


@dataclass(frozen=True)
class Condition:
    """One thing that a rule asks of a document.

    Attributes:
        path: to the document's value, within its metadata.
        operator: of `OPERATORS`.
        operand: what that is compared with; None where the question has it.
        query_path: where within the question's metadata; None where the rule has it.
    """

    path: str
    operator: str
    operand: Any = None
    query_path: str | None = None

    def holds(self, value: Any, operand: Any, zone: tzinfo | None) -> int:
        """Whether a document's value is as asked.

        Args:
            value: the document's; None for none.
            operand: with what it is compared; None where the question has none.
            zone: of dates and times that say none.

        Raises:
            DataError: a time without a zone is compared, and nobody says of which it is.
        """
        if self.operator == "missing":
            return int((value is None) == bool(operand))
        if value is None or operand is None:
            return UNKNOWN
        if self.operator == "before":
            return _is_before(value, operand, zone)
        if self.operator == "after":
            return _is_before(operand, value, zone)
        if self.operator in _MEMBERS:
            are = not _members(value).isdisjoint(_members(operand))
        else:
            are = distinct_key(value) == distinct_key(operand)
        return int(are != (self.operator in ("not", "not_in")))


@dataclass(frozen=True)
class Rule:
    """A rule: its conditions, all of which have to hold.

    Attributes:
        name: which is its kind.
        conditions: one or more.
    """

    name: str
    conditions: tuple[Condition, ...]

    @cached_property
    def query_paths(self) -> tuple[str, ...]:
        """What it asks of the question's metadata."""
        return tuple(dict.fromkeys(filter(None, (part.query_path for part in self.conditions))))

    def asker(self, metadata: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """What it asks of a question's metadata; None where something lacks: it is not of it."""
        values = tuple(value_at(metadata, path) for path in self.query_paths)
        return None if None in values else values


@dataclass(frozen=True)
class RuleSet:
    """The rules of a gold set, or of an evaluation.

    Attributes:
        rules: by name, sorted.
        zone: of dates and times that say none.
        source: what they were made of.
    """

    rules: tuple[Rule, ...] = ()
    zone: ZoneInfo | None = None
    source: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, value: object) -> Self:
        """Those of a mapping.

        Raises:
            UsageError: one of them is none; the error's field says which.
        """
        if not isinstance(value, Mapping):
            raise UsageError(
                message("rules by name are expected, not {value}", value=shorten(value)),
                remedy=RULES_EXAMPLE,
            )
        zone = None if value.get(TIMEZONE) is None else _zone(value[TIMEZONE])
        rules = {str(name): rule for name, rule in value.items() if name != TIMEZONE}
        made = tuple(_rule(name, rules[name], zone) for name in sorted(rules))
        return cls(made, zone, _stated(value))


def check_questions(rules: RuleSet, questions: Collection[Mapping[str, Any]]) -> None:
    """Refuse a rule that asks for what no question has, as a path that is misspelt.

    Args:
        rules: the rules.
        questions: the metadata of all questions.

    Raises:
        UsageError: no question has the field.
    """
    for rule in rules.rules:
        for path in rule.query_paths:
            if all(value_at(metadata, path) is None for metadata in questions):
                names = {f"metadata.{name}" for metadata in questions for name in metadata}
                problem = message("no question has {path!r}, for which the rule asks", path=path)
                none = message("give the questions metadata")
                remedy = nearest(path, sorted(names)) if names else none
                raise UsageError(problem, field=f"forbidden.{rule.name}", remedy=remedy)


def _zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(value))
    except (ValueError, OSError, KeyError):  # of ZoneInfo, which looks into files
        raise UsageError(
            "unknown time zone {value!r}",
            field=TIMEZONE,
            remedy="name one as Asia/Seoul, Europe/Berlin or UTC",
            value=value,
        ) from None


_EXAMPLE = "{not: {query: metadata.tenant}}"


def _rule(name: str, value: object, zone: tzinfo | None) -> Rule:
    if not name.strip():
        raise UsageError("a rule needs a name, which is its kind")
    conditions: list[Condition] = []
    for path, operators in _mapping(value, name, f"{{metadata.tenant: {_EXAMPLE}}}"):
        with inside(f"{name}.{path}"):
            if not path.removeprefix("metadata.").strip():
                raise UsageError("no path to a field", remedy="write metadata.tenant")
            for operator, operand in _mapping(operators, "", _EXAMPLE):
                with inside(operator):
                    conditions.append(_condition(path, operator, operand, zone))
    return Rule(name, tuple(conditions))


def _mapping(value: object, place: str, example: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping) or not value:
        raise UsageError(
            message("conditions are expected, not {value}", value=shorten(value)),
            field=place,
            remedy=message("write for example {example}", example=example),
        )
    return ((str(name), part) for name, part in value.items())


def _condition(path: str, operator: str, operand: Any, zone: tzinfo | None) -> Condition:
    """A condition, unless nothing can be compared with its operand."""
    if operator not in OPERATORS:
        raise UsageError("unknown condition", remedy=nearest(operator, OPERATORS))
    if isinstance(operand, Mapping) and operator != "missing":
        query_path = operand.get(_QUERY)
        if operand.keys() == {_QUERY} and isinstance(query_path, str) and query_path.strip():
            return Condition(path, operator, query_path=query_path)
        raise UsageError(
            "a value or {{query: path}} is expected, not {value}",
            remedy="write {{query: metadata.tenant}}",
            value=shorten(dict(operand)),
        )
    operand = _stated(operand)
    if operator == "missing" and not isinstance(operand, bool):
        kind = message("true or false")
        raise UsageError("must be {kind}, not {value}", kind=kind, value=shorten(operand))
    if operand is None:
        raise UsageError(
            "a value is expected, not null",
            remedy="ask for a field that lacks by {missing: true}",
        )
    if operator in _COMPARED:
        _check_moment(operand, zone)
    if isinstance(operand, str) and operand.startswith("metadata."):
        raise UsageError(
            "{operand!r} is a text here, and no field of the question",
            remedy="write {{query: {operand}}}",
            operand=operand,
        )
    if operator in _MEMBERS and operand == []:
        raise UsageError("an empty list, in which nothing is")
    return Condition(path, operator, operand)


def _check_moment(operand: Any, zone: tzinfo | None) -> None:
    moment = _comparable(operand)
    if moment is None:
        raise UsageError(
            "a date, a time or a number is expected, not {value}",
            remedy="write it as 2026-01-31 or 2026-01-31T09:00:00+09:00",
            value=shorten(operand),
        )
    if isinstance(moment, datetime) and not (zone or moment.tzinfo):
        problem = message("{operand!r} has no time zone", operand=operand)
        raise UsageError(problem, remedy=_SAY_ZONE)


def _stated(value: Any) -> Any:
    """A value as JSON has it: YAML reads dates."""
    if isinstance(value, (date, time)):  # a datetime is a date, too
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): _stated(part) for name, part in value.items()}
    if isinstance(value, bytes):
        raise UsageError("a text is expected, not the bytes {value}", value=shorten(value))
    return [*map(_stated, value)] if isinstance(value, (list, tuple, set)) else value


def distinct_key(value: Any) -> Any:
    """What is equal of equal values: ``true`` is no text and no number, and ``1`` is no text."""
    if isinstance(value, str):
        return normalize("NFC", value)
    if isinstance(value, (list, tuple)):
        return (list, *map(distinct_key, value))
    if isinstance(value, Mapping):
        return Mapping, repr(value)
    return (bool, value) if isinstance(value, bool) else value


def _members(value: Any) -> set[Any]:
    """What tells the members of a list; any other value is its own."""
    return {*map(distinct_key, value if isinstance(value, (list, tuple)) else (value,))}


def plain_value(value: Any) -> Any:
    """A value as plain Python: arrays and sets as lists, numbers of numpy, whole ones as such.

    What says that there is none, as pandas does in an empty cell, is None.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [*map(plain_value, value)]
    if value is None or is_lacking(value):
        return None
    # A column of whole numbers with a gap becomes one of floats.
    return int(value) if isinstance(value, float) and value.is_integer() else value


_SAY_ZONE = message(
    "write it as 2026-01-31T09:00:00+09:00, or say forbidden: {{timezone: Asia/Seoul, ...}} for all"
)


def _is_before(first: Any, second: Any, zone: tzinfo | None) -> int:
    """Whether a value lies before another one; a date lasts to its end."""
    left, right = _comparable(first), _comparable(second)
    # A date and a number have no order.
    if left is None or right is None or isinstance(left, date) != isinstance(right, date):
        return UNKNOWN
    if isinstance(left, datetime) or isinstance(right, datetime):
        left, right = _moment(left, right, zone, time.max), _moment(right, left, zone, time.min)
    return int(left < right)


def _comparable(value: Any) -> Any:
    """A date, a moment or a number; None for anything else."""
    if isinstance(value, (int, float, date)) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        # Dates first: `datetime` reads one as its midnight, and a date lasts to its end.
        for read in (date.fromisoformat, datetime.fromisoformat):
            with suppress(ValueError):
                return read(value.strip())
    return None


def _moment(value: date, beside: date, zone: tzinfo | None, of_day: time) -> datetime:
    """A moment with its zone; of a date its first or last one, where the other moment is."""
    if not isinstance(value, datetime):
        of_beside = beside.tzinfo if isinstance(beside, datetime) else None
        value = datetime.combine(value, of_day, tzinfo=zone or of_beside)
    if value.tzinfo is None and zone is None:
        raise DataError(
            message("{time!r} has no time zone", time=value.isoformat()), remedy=_SAY_ZONE
        )
    return value if value.tzinfo is not None else value.replace(tzinfo=zone)
