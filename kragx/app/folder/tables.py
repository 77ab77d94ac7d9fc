"""Folders that `kragx score --out` has written: values of questions in tables, and a summary."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.app.folder.sealed import MANIFEST
from kragx.comparison import Results
from kragx.comparison.tables import Tables
from kragx.data.formats.jsonl import read_object
from kragx.errors import DataError
from kragx.evaluation.part_tables.evaluated import SUMMARY


def is_scored(folder: Path) -> bool:
    """Whether a folder holds tables of values, and is no run's."""
    return (folder / SUMMARY).is_file() and not (folder / MANIFEST).exists()


@dataclass(frozen=True)
class ScoredFolder:
    """A folder's numbers; values are read when they are looked at.

    Attributes:
        folder: where it is.
        summary: what its summary says.
        tables: those of the values.
    """

    folder: Path
    summary: Mapping[str, Any]
    tables: Tables

    @property
    def results(self) -> Results:
        """The numbers.

        Raises:
            DataError: the summary is none.
        """
        return Results.read(str(self.folder), {"evaluations": [self.summary]}, None, self.tables)

    @property
    def places(self) -> list[object]:
        """Where the part of each table stands; None for one that nobody knows of."""
        places = self.summary.get("parts")
        n = len(self.tables.paths)
        return places if isinstance(places, list) and len(places) == n else [None] * n


def read_scored(folder: Path) -> ScoredFolder:
    """A folder of `kragx score --out`.

    Raises:
        DataError: it is not whole.
    """
    path = folder / SUMMARY
    summary = read_object(path, "summary of scores")
    names = summary.get("tables")
    if not (isinstance(names, list) and names and all(map(_is_inside, names))):
        raise DataError("names no tables", path=str(path), field="tables")
    paths = tuple(folder / name for name in names)
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise DataError(
            f"{len(missing)} of {len(paths)} tables are not there",
            path=str(missing[0]),
            remedy="run kragx score --out again; it computes what is missing",
        )
    return ScoredFolder(folder, summary, Tables(paths))


def _is_inside(name: object) -> bool:
    """Whether a table's name is one that stays in the folder."""
    return isinstance(name, str) and not Path(name).is_absolute() and ".." not in Path(name).parts
