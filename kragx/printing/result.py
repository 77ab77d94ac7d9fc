"""What every result can do: print itself, show itself in a notebook, and be plain values."""

from collections.abc import Iterable
from typing import Any

from kragx.plain import plain_fields
from kragx.printing.notebook import as_html
from kragx.printing.parts import Part
from kragx.printing.terminal import as_text, show


class Result:
    """What every result can do, from its `describe` and its fields.

    The base of frozen dataclasses: ``to_dict`` gives the fields as plain values
    (`kragx.plain.plain`), ``print`` and ``str`` what a person wants to read.
    """

    __slots__ = ()

    def describe(self) -> Iterable[Part]:
        """What a person wants to read, plainly."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_fields(self)

    def print(self) -> None:
        """Print it for a person."""
        show(self.describe())

    def __str__(self) -> str:
        return as_text(self.describe())

    def _repr_html_(self) -> str:
        return as_html(self.describe())
