"""Folders that `kragx score --out` has written: values of questions in tables, and a summary."""

from pathlib import Path

from kragx.app.result_folder.atomic_folder import MANIFEST
from kragx.comparison import Results
from kragx.comparison.slices import Tables
from kragx.data.formats.jsonl import read_object
from kragx.evaluation.part_tables import SUMMARY
from kragx.ground.errors import DataError


def is_scored(folder: Path) -> bool:
    """Whether a folder holds tables of values, and is no run's."""
    return (folder / SUMMARY).is_file() and not (folder / MANIFEST).exists()


def read_scored(folder: Path) -> Results:
    """The numbers of a folder of `kragx score --out`.

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
            "{n_missing} of {n_paths} tables are not there",
            path=str(missing[0]),
            remedy="run kragx score --out again; it computes what is missing",
            n_missing=len(missing),
            n_paths=len(paths),
        )
    return Results.read(str(folder), {"evaluations": [summary]}, None, Tables(paths))


def _is_inside(name: object) -> bool:
    """Whether a table's name is one that stays in the folder."""
    return isinstance(name, str) and not Path(name).is_absolute() and ".." not in Path(name).parts
