"""What every result can do: print itself, show itself in a notebook, and be plain values."""

from collections.abc import Iterable
from typing import Any

from kragx.ground.json_values import jsonable_fields
from kragx.ground.printing.markdown import as_html, as_markdown
from kragx.ground.printing.parts import Part
from kragx.ground.printing.terminal import as_text, show


class Shown:
    """What shows itself to a person, from its `describe`: printed, as Markdown, in a notebook."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # A dataclass would write out its fields, of which some have an entry for each question.
        if "__repr__" not in vars(cls):
            type.__setattr__(cls, "__repr__", Shown.__str__)

    def describe(self) -> Iterable[Part]:
        """What a person wants to read, plainly."""
        raise NotImplementedError

    def print(self, *, language: str | None = None) -> None:
        """Print it for a person, in ``en`` or ``ko``; None for what KRAGX_LANG says, or English."""
        show(self.describe(), language=language)

    def to_text(self, *, language: str | None = None) -> str:
        """The same as plain text."""
        return as_text(self.describe(), language=language)

    def to_markdown(self, *, language: str | None = None) -> str:
        """The same as Markdown."""
        return as_markdown(self.describe(), language=language)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return as_html(self.describe())

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


class Result(Shown):
    """What every result can do, from its `describe` and its fields.

    The base of frozen dataclasses: ``to_dict`` gives the fields as plain values
    (`kragx.ground.json_values.plain`), ``print`` and ``str`` what a person wants to read.
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return jsonable_fields(self)
