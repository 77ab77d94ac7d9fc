"""Where a gold set is, as a config says it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from kragx.data.formats import format_names
from kragx.data.gold import GoldDataset
from kragx.data.reading import read_dataset
from kragx.data.validation import target_problems
from kragx.ground.errors import UsageError, inside
from kragx.ground.options import OneOf, check_options, fitting, is_text, optional

_path = fitting(
    lambda value: isinstance(value, Path) or is_text(value), "a path is expected ({!r})"
)
_text = fitting(lambda value: isinstance(value, str), "a text is expected ({!r})")


def _names(value: Any) -> Any:
    """Columns by the names of fields."""
    if not isinstance(value, Mapping):
        raise UsageError("a mapping is expected")
    for name, column in value.items():
        with inside(str(name)):
            _text(column)
    return value


def _version(value: Any) -> Any:
    """YAML reads 2026-01-31 as a date and 1.0 as a number."""
    return _text(str(value) if isinstance(value, (int, float, date)) else value)


def _targets(value: Any) -> Any:
    """Shares by the names of slices and their values."""
    if not isinstance(value, Mapping) or not all(isinstance(v, Mapping) for v in value.values()):
        raise UsageError("a mapping is expected")
    for name, shares in value.items():
        for of, share in shares.items():
            if isinstance(share, bool) or not isinstance(share, (int, float)):
                raise UsageError("{share!r} is no number", field=f"{name}.{of}", share=share)
    if problems := "; ".join(target_problems(value)):
        raise UsageError(problems)
    return value


@dataclass(frozen=True)
class GoldSource:
    """The gold set: a file of any format that `kragx.read_dataset` knows.

    Attributes:
        path: JSON Lines, JSON, CSV, TSV, Excel, Parquet or qrels; of Parquet also a folder, a
            pattern of files or an address
        name: in results; default: the file's
        version: recorded in results
        format: default: recognised by the fields
        columns: of tables: for each field the column that holds it
        encoding: of CSV; default: utf-8, then cp949
        corpus: file or folder with the texts of ids, for gold and documents without one; 'kragx
            gold validate' checks that gold comes from it
        targets: for 'kragx gold validate': shares, for example {query_type: {lookup: 0.5}}
    """

    path: Annotated[str | Path, _path]
    name: Annotated[str | None, optional(_text)] = None
    version: Annotated[str | None, optional(_version)] = None
    format: Annotated[str | None, optional(OneOf(format_names))] = None
    columns: Annotated[Mapping[str, str] | None, optional(_names)] = None
    encoding: Annotated[str | None, optional(_text)] = None
    corpus: Annotated[Path | None, optional(_path)] = None
    targets: Annotated[Mapping[str, Mapping[str, float]] | None, optional(_targets)] = None

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def how(self) -> dict[str, Any]:
        """How the file is read: arguments of `read_dataset`."""
        return {"format": self.format, "columns": self.columns, "encoding": self.encoding}

    def read(self) -> GoldDataset:
        """The gold set.

        Raises:
            DataError: as `read_dataset`.
        """
        return read_dataset(self.path, name=self.name, version=self.version, **self.how)
