"""Gold and results of other tools, told by their shapes: a table of them, one file a family.

None of the packages is imported. What a shape reads becomes what the one way in reads anyway:
numbers by document by question, rows of a format, or a gold set.
"""

from collections.abc import Iterator
from pathlib import Path
from types import NoneType

from kragx.data.objects.ir import IR
from kragx.data.objects.samples import SAMPLES, examples_gold
from kragx.data.objects.shape import Shape
from kragx.errors import UsageError

SHAPES: tuple[Shape, ...] = (*IR, *SAMPLES)

_PLAIN = (str, int, float, list, dict, Path, NoneType)
"""What no tool's objects are, and what their lists do not begin with."""


def shape_of(value: object) -> Shape | None:
    """The shape that a value has, if it is one of these."""
    entry = value[0] if type(value) in (list, tuple) and value else value  # type: ignore[index]
    if isinstance(entry, _PLAIN):
        return None
    return next((shape for shape in SHAPES if shape.fits(value)), None)


def gold_of(value: object) -> object:
    """A gold set in plain values; any value that has none of the shapes is itself.

    Raises:
        UsageError: it holds what was retrieved, and no gold.
    """
    return _of(value, "gold")


def results_of(value: object) -> object:
    """The same of what was retrieved."""
    return _of(value, "results")


def _of(value: object, side: str) -> object:
    if isinstance(value, Iterator):
        value = list(value)
    shape = shape_of(value)
    if shape is None:
        return value
    if side not in shape.holds:
        (other,) = shape.holds
        place = {"gold": "first, as the gold set", "results": "second, as what was retrieved"}
        raise UsageError(
            f"{shape.name} hold {other}", field=side, remedy=f"pass them {place[other]}"
        )
    return shape.read(value)


__all__ = ["SHAPES", "examples_gold", "gold_of", "results_of", "shape_of"]
