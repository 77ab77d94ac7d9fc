"""What a shape is: how objects of a tool are told, and what they hold in plain values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BOTH = frozenset({"gold", "results"})


@dataclass(frozen=True)
class Shape:
    """Objects of one tool.

    Attributes:
        name: what people call them, in the plural.
        holds: ``gold``, ``results``, or both.
        fits: whether a value is one.
        read: what it holds: ``{query: {document: number}}``, rows of a format, or a `GoldDataset`.
    """

    name: str
    holds: frozenset[str]
    fits: Callable[[Any], bool]
    read: Callable[[Any], object]


def has(value: object, *names: str) -> bool:
    """Whether a value has all of these attributes."""
    return all(hasattr(value, name) for name in names)


def first_of(value: object) -> object:
    """The first of a list; None of whatever is none, or empty."""
    return value[0] if isinstance(value, (list, tuple)) and value else None
