"""A file of labels that is whole after each label: whatever ends the work, nothing is lost."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from kragx.agreement.labels import Pair, Scale, collected
from kragx.data.formats.trec import iter_qrels
from kragx.errors import DataError, UsageError


@dataclass
class LabelFile:
    """Labels as qrels, written anew after each: whatever ends the work, what was said is kept.

    Attributes:
        path: the file; what it holds already is kept, in its order.
        scale: of the labels.
        grades: by pair, in the order in which they were given.

    Raises:
        DataError: the file holds a label off the scale, or two different ones of a pair.
        UsageError: the file's name is that of a compressed one.
    """

    path: Path
    scale: Scale
    grades: dict[Pair, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.suffix == ".gz":
            raise UsageError(
                f"{self.path}: labels are written one by one, not compressed; name a file without "
                ".gz"
            )
        if not self.path.exists():
            return
        rows = []
        for number, query, document, grade in iter_qrels(self.path):
            if grade not in self.scale:
                raise DataError(
                    f"{self.path}:{number}: the label {grade:g} is not on the scale of "
                    f"{self.scale}; name the scale it belongs to with --scale, or another file"
                )
            rows.append((query, document, grade, f"line {number}"))
        if rows:
            labels = collected(rows, str(self.path)).grades
            self.grades.update((pair, int(grade)) for pair, grade in labels.items())

    def put(self, pair: Pair, grade: int) -> None:
        """Add a label, or change one, and write the file."""
        self.grades.pop(pair, None)
        self.grades[pair] = grade
        self._write()

    def take_back(self, pair: Pair) -> None:
        """Remove a label, and write the file."""
        del self.grades[pair]
        self._write()

    def _write(self) -> None:
        lines = [f"{query} 0 {doc} {grade}\n" for (query, doc), grade in self.grades.items()]
        part = self.path.with_name(self.path.name + ".part")
        try:
            with part.open("w", encoding="utf-8", newline="") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path)  # whole or not at all
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {error.strerror or error}") from None
