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
from kragx.ground.errors import UsageError
from kragx.ground.options import (
    OneOf,
    a_mapping,
    a_path,
    a_text,
    check_options,
    optional,
    texts_by_name,
)


def _version(value: Any) -> Any:
    """YAML reads 2026-01-31 as a date and 1.0 as a number."""
    return a_text(str(value) if isinstance(value, (int, float, date)) else value)


def read_targets(value: Any) -> Any:
    """Shares by the names of slices and their values."""
    for name, shares in a_mapping(value).items():
        for of, share in a_mapping(shares).items():
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

    path: Annotated[str | Path, a_path]
    name: Annotated[str | None, optional(a_text)] = None
    version: Annotated[str | None, optional(_version)] = None
    format: Annotated[str | None, optional(OneOf(format_names))] = None
    columns: Annotated[Mapping[str, str] | None, optional(texts_by_name)] = None
    encoding: Annotated[str | None, optional(a_text)] = None
    corpus: Annotated[Path | None, optional(a_path)] = None
    targets: Annotated[Mapping[str, Mapping[str, float]] | None, optional(read_targets)] = None

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
