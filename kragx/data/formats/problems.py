"""What is wrong in a file: every problem with its file, line and field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from kragx.errors import DataError

Level = Literal["error", "warning"]
Report = Callable[..., None]
"""``report(field, message, level="error")`` for the row at hand."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, or looks wrong.

    Attributes:
        file: the file's path.
        line: the line, from 1; of Excel and DataFrames the row as a spreadsheet counts it; None
            where the file as a whole is meant.
        field: the field, with a position where it is a list (``relevant_chunk_ids[2]``).
        message: what is wrong, and what to do.
        level: an ``error`` makes numbers wrong or impossible, a ``warning`` may be meant.
        query_id: of the query, if it has one.
    """

    file: str
    line: int | None
    field: str | None
    message: str
    level: Level = "error"
    query_id: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        field = "" if self.field is None else f" {self.field}:"
        return f"{place}:{field} {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


Broken = Callable[[int, str], None]
"""``broken(line, message)``: says that a line cannot be read; reading goes on behind it."""


def refusing(file: object) -> Broken:
    """What a reader does with a broken line, unless all of them are wanted: it ends there."""

    def refuse(line: int, message: str) -> None:
        raise DataError(f"{file}:{line}: {message}")

    return refuse


class Problems:
    """Collects the problems of one file in the order in which they are found."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []

    def at(self, line: int | None, query_id: str | None = None) -> Report:
        """A function that reports problems of one row."""

        def report(field: str | None, message: str, level: Level = "error") -> None:
            self.found.append(Problem(self.file, line, field, message, level, query_id))

        return report

    def broken(self, line: int, message: str) -> None:
        """A line that cannot be read."""
        self.at(line)(None, message)
