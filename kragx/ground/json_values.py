"""Plain values for JSON: one mechanism for every result."""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any, Final

HIDDEN: Final = {"plain": False}
"""``field(metadata=HIDDEN)``: a field that is no part of a result's plain values."""

IF_KNOWN: Final = {"plain": "if known"}
"""The same: a field that is a part of them only where it is not None."""


def to_jsonable(value: Any) -> Any:  # noqa: PLR0911  # a line for each kind of value
    """A value as JSON holds it.

    A dataclass becomes a mapping of its fields (without those marked `HIDDEN`), followed by the
    properties that its class names in ``also_plain``; an object with a ``to_dict`` of its own is
    asked for it; counts (`Counter`) stand in the order of their names; tuples and sets become
    lists, paths and enums texts, numbers of numpy those of Python, and what is not finite None.
    """
    match value:
        case Enum():
            return to_jsonable(value.value)
        case None | str() | int():
            return value
        case float():
            return float(value) if isfinite(value) else None
        case Counter():
            return {str(key): count for key, count in sorted(value.items())}
        case Mapping():
            return {str(key): to_jsonable(entry) for key, entry in value.items()}
        case list() | tuple():
            return [to_jsonable(entry) for entry in value]
        case Set():
            return sorted(map(to_jsonable, value))
        case PurePath():
            return str(value)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    # Else an array, or a number, of numpy.
    return jsonable_fields(value) if is_dataclass(value) else to_jsonable(value.tolist())


def jsonable_fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass as plain values, with the properties that ``also_plain`` names."""
    names = [
        entry.name
        for entry in fields(value)
        if (kind := entry.metadata.get("plain", True))
        and (kind is True or getattr(value, entry.name) is not None)
    ]
    names += getattr(value, "also_plain", ())
    return {name: to_jsonable(getattr(value, name)) for name in names}
