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
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo
from functools import cached_property
from math import inf
from typing import Any, Self
from unicodedata import normalize
from zoneinfo import ZoneInfo

from kragx.data.documents import value_at
from kragx.errors import DataError, UsageError, nearest, shorten

RULES_EXAMPLE = "write for example {tenant: {metadata.tenant: {not: {query: metadata.tenant}}}}"
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
        if self.operator in _COMPARED:
            return _compared(self.operator, value, operand, zone)
        are = _is_member(value, operand) if self.operator in _MEMBERS else _same(value, operand)
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
        paths = (part.query_path for part in self.conditions if part.query_path is not None)
        return tuple(dict.fromkeys(paths))

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
                f"rules by name are expected, not {shorten(value)}",
                remedy=RULES_EXAMPLE,
            )
        zone = None if value.get(TIMEZONE) is None else _zone(value[TIMEZONE])
        rules = {str(name): rule for name, rule in value.items() if name != TIMEZONE}
        made = tuple(_rule(name, rules[name], zone) for name in sorted(rules))
        return cls(made, zone, _stated(value))

    def __bool__(self) -> bool:
        return bool(self.rules)


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
                problem = f"no question has {path!r}, for which the rule asks"
                remedy = nearest(path, sorted(names)) if names else "give the questions metadata"
                raise UsageError(problem, field=f"forbidden.{rule.name}", remedy=remedy)


def _zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(value))
    except (ValueError, OSError, KeyError):  # of ZoneInfo, which looks into files
        raise UsageError(
            f"unknown time zone {value!r}",
            field=TIMEZONE,
            remedy="name one as Asia/Seoul, Europe/Berlin or UTC",
        ) from None


_EXAMPLE = "{not: {query: metadata.tenant}}"


def _rule(name: str, value: object, zone: tzinfo | None) -> Rule:
    if not name.strip():
        raise UsageError("a rule needs a name, which is its kind")
    conditions: list[Condition] = []
    for path, operators in _mapping(value, name, f"{{metadata.tenant: {_EXAMPLE}}}"):
        place = f"{name}.{path}"
        if not path.removeprefix("metadata.").strip():
            raise UsageError("no path to a field", field=place, remedy="write metadata.tenant")
        for operator, operand in _mapping(operators, place, _EXAMPLE):
            conditions.append(_condition(path, operator, operand, f"{place}.{operator}", zone))
    return Rule(name, tuple(conditions))


def _mapping(value: object, place: str, example: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping) or not value:
        problem = f"conditions are expected, not {shorten(value)}"
        raise UsageError(problem, field=place, remedy=f"write for example {example}")
    return ((str(name), part) for name, part in value.items())


def _condition(
    path: str, operator: str, operand: Any, place: str, zone: tzinfo | None
) -> Condition:
    if operator not in OPERATORS:
        raise UsageError("unknown condition", field=place, remedy=nearest(operator, OPERATORS))
    if operator == "missing":
        if not isinstance(operand, bool):
            problem = f"must be true or false, not {shorten(operand)}"
            raise UsageError(problem, field=place)
        return Condition(path, operator, operand)
    if isinstance(operand, Mapping):
        query_path = operand.get(_QUERY)
        if operand.keys() != {_QUERY} or not isinstance(query_path, str) or not query_path.strip():
            problem = f"a value or {{query: path}} is expected, not {shorten(dict(operand))}"
            raise UsageError(problem, field=place, remedy="write {query: metadata.tenant}")
        return Condition(path, operator, query_path=query_path)
    operand = _stated(operand)
    if operand is None:
        remedy = "ask for a field that lacks by {missing: true}"
        raise UsageError("a value is expected, not null", field=place, remedy=remedy)
    _check_operand(operator, operand, place, zone)
    return Condition(path, operator, operand)


def _check_operand(operator: str, operand: Any, place: str, zone: tzinfo | None) -> None:
    """Refuse a value of a rule that nothing can be compared with."""
    if operator in _COMPARED:
        span = _span(operand)
        if span is None:
            raise UsageError(
                f"a date, a time or a number is expected, not {shorten(operand)}",
                field=place,
                remedy="write it as 2026-01-31 or 2026-01-31T09:00:00+09:00",
            )
        if zone is None and isinstance(span, datetime) and span.tzinfo is None:
            problem = f"{operand!r} has no time zone"
            raise UsageError(problem, field=place, remedy=_SAY_ZONE)
    if isinstance(operand, str) and operand.startswith("metadata."):
        problem = f"{operand!r} is a text here, and no field of the question"
        raise UsageError(problem, field=place, remedy=f"write {{query: {operand}}}")
    if operator in _MEMBERS and operand == []:
        raise UsageError("an empty list, in which nothing is", field=place)


def _stated(value: Any) -> Any:
    """A value as JSON has it: YAML reads dates."""
    if isinstance(value, (date, time)):  # a datetime is a date, too
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): _stated(part) for name, part in value.items()}
    if isinstance(value, bytes):
        raise UsageError(f"a text is expected, not the bytes {shorten(value)}")
    return [*map(_stated, value)] if isinstance(value, (list, tuple, set)) else value


# -- equal, and in ---------------------------------------------------------------------------------


def _same(left: Any, right: Any) -> bool:
    """Whether two values are equal: ``true`` is no text and no number, and ``1`` is no text."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right or normalize("NFC", left) == normalize("NFC", right)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return _kind(left) is _kind(right) and bool(left == right)


def _kind(value: Any) -> type:
    return float if isinstance(value, (int, float)) else type(value)


def _is_member(value: Any, operand: Any) -> bool:
    """Whether a value, or of a list a member, is one of some."""
    values, operands = (
        part if isinstance(part, (list, tuple)) else (part,) for part in (value, operand)
    )
    return any(_same(member, wanted) for member in values for wanted in operands)


# -- before, and after -----------------------------------------------------------------------------

_SAY_ZONE = (
    "write it as 2026-01-31T09:00:00+09:00, or say forbidden: {timezone: Asia/Seoul, ...} for all"
)


def _compared(operator: str, value: Any, operand: Any, zone: tzinfo | None) -> int:
    """Whether a value lies before, or after, another one; a date lasts to its end."""
    left, right = _span(value), _span(operand)
    if left is None or right is None or isinstance(left, float) != isinstance(right, float):
        return UNKNOWN
    if operator == "after":
        left, right = right, left
    if isinstance(left, float) or isinstance(right, float):
        return int(left < right)  # type: ignore[operator]  # both are numbers
    if type(left) is date and type(right) is date:
        return int(left < right)
    last, first = _moment(left, right, zone, time.max), _moment(right, left, zone, time.min)
    return int(last < first)


def _span(value: Any) -> date | float | None:
    """A date, a moment or a number; None for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return inf if value > 0 else -inf
    if isinstance(value, str):
        text = value.strip()
        for read in (date.fromisoformat, datetime.fromisoformat):
            try:
                return read(text)
            except ValueError:
                continue
    return value if isinstance(value, date) else None


def _moment(value: date, beside: date, zone: tzinfo | None, of_day: time) -> datetime:
    """A moment with its zone; of a date its first or last one, where the other moment is."""
    if not isinstance(value, datetime):
        of_beside = beside.tzinfo if isinstance(beside, datetime) else None
        value = datetime.combine(value, of_day, tzinfo=zone or of_beside)
    if value.tzinfo is not None:
        return value
    if zone is None:
        text = value.isoformat() if isinstance(value, datetime) else str(value)
        raise DataError(f"{text!r} has no time zone", remedy=_SAY_ZONE)
    return value.replace(tzinfo=zone)


def compared(value: Any) -> Any:
    """A value as rules compare it: arrays and sets as lists, numbers of numpy as those of Python.

    What says that there is none, as pandas does in an empty cell, is None.
    """
    if isinstance(value, (set, frozenset)):
        return [*map(compared, sorted(value, key=repr))]
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [*map(compared, value)]
    # NaN, NaT and NA are what is not equal to itself, or cannot tell.
    is_lacking = type(value).__name__ in ("NAType", "NaTType") or value != value  # noqa: PLR0124
    return None if is_lacking else value


def distinct_key(value: Any) -> Any:
    """What tells a value from all that a rule may tell from it: 1 from true and from "1"."""
    if isinstance(value, (list, tuple)):
        return ("list", *map(distinct_key, value))
    if isinstance(value, Mapping):
        return ("mapping", repr(value))
    return type(value).__name__, value
