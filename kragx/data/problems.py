"""What is wrong in a file: every problem with its file, line and field."""

import warnings
from dataclasses import dataclass, field
from typing import Literal

from kragx.data.text import SurrogateRepair
from kragx.ground.caller_warnings import outside
from kragx.ground.errors import DataError
from kragx.ground.printing import joined, message


class DataWarning(UserWarning):
    """What is worth to know of a file that was read."""


Level = Literal["error", "warning"]


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

    def error(self, n_more: int = 0, *, is_file: bool = True) -> DataError:
        """The same as an error that can be raised, which says how many more there are.

        Of a file it says what lists them.
        """
        text = message(
            "{problem} (and {n} more; 'kragx gold validate' lists them)"
            if is_file
            else "{problem} (and {n} more)",
            problem=self.message,
            n=n_more,
        )
        return DataError(text if n_more else self.message, path=self._place, field=self.field or "")

    @property
    def text(self) -> str:
        """File, line, field, and what is wrong."""
        return joined(": ", [self._place, self.field or "", self.message])

    @property
    def _place(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return str(self.error())


@dataclass
class Problems:
    """What is noticed while one file is read, in the order in which it is found.

    Attributes:
        file: the file's path; of what is no file, what it is.
        strict: an error is raised instead, so that reading ends there; warnings are passed over.
        found: what was added.
        repair: replaces the file's lone surrogates, and counts them.
        is_file: whether it is one, which commands can read.
        encoding: of the file, where it had to be guessed.
        n_numbered: how many rows without an id have their number as one.
    """

    file: str
    strict: bool = field(default=False, kw_only=True)
    is_file: bool = field(default=True, kw_only=True)
    found: list[Problem] = field(default_factory=list, init=False)
    repair: SurrogateRepair = field(default_factory=SurrogateRepair, init=False)
    encoding: str | None = field(default=None, init=False)
    n_numbered: int = field(default=0, init=False)

    def add(
        self,
        line: int | None,
        field: str | None,
        text: str,
        level: Level = "error",
        query_id: str | None = None,
    ) -> None:
        """Add a problem.

        Raises:
            DataError: it is an error, and the file is read strictly.
        """
        problem = Problem(self.file, line, field, text, level, query_id)
        if not self.strict:
            self.found.append(problem)
        elif level == "error":
            raise problem.error()

    def guessed(self, encoding: str) -> None:
        """Note the encoding as which the file is read because it is not UTF-8, and warn of it."""
        self.encoding = encoding
        text = message(
            "{file}: not UTF-8, so it is read as {encoding}; if that is wrong, save it as UTF-8",
            file=self.file,
            encoding=encoding,
        )
        warnings.warn(text, DataWarning, stacklevel=outside())

    def refuse(self) -> None:
        """Raise the first error as a `DataError` that says how many more there are, if any is."""
        errors = [problem for problem in self.found if problem.level == "error"]
        if errors:
            raise errors[0].error(len(errors) - 1, is_file=self.is_file)
