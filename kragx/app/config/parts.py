"""The smaller parts of a config, and what they are made of: paths, short forms, keys with hints."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import core_schema

from kragx.comparison.tuning import MAX_SETTINGS
from kragx.data.formats import format_names
from kragx.data.formats.located import is_address
from kragx.data.validation import target_problems
from kragx.ground.errors import nearest
from kragx.ground.secrets import Secrets


def anchored(path: str | Path, folder: Path) -> Path:
    """A path of a config file in the folder `folder`, where a relative one starts."""
    return Path(os.path.normpath(folder / Path(path).expanduser()))


def _local(path: Path, info: ValidationInfo) -> Path:
    return anchored(path, info.context["here"])  # type: ignore[index]  # `parse_config` gives it


LocalPath = Annotated[Path, AfterValidator(_local)]
"""A path; a relative one starts at the config file's folder."""


def _source(path: str | Path, info: ValidationInfo) -> str | Path:
    return path if isinstance(path, str) and is_address(path) else _local(Path(path), info)


SourcePath = Annotated[str | Path, AfterValidator(_source)]
"""The same, or the address of Parquet files (``s3://bucket/results``)."""


class Model(BaseModel):
    """A part of a config, which knows its keys, and what no text may show of it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)
    _secrets: Secrets = PrivateAttr(default_factory=Secrets)

    def model_post_init(self, context: Any) -> None:
        """Keep what no text may show."""
        self._secrets = (context or {}).get("secrets", self._secrets)

    @classmethod
    def keys(cls) -> list[str]:
        """What its fields are called in a config."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        """Leaves out what stands empty; an unknown key gets a hint as its value, for the error."""
        if not isinstance(value, Mapping):
            return value
        valid = cls.keys()
        entries = {key: item for key, item in value.items() if key in valid and item is not None}
        return entries | {str(key): nearest(str(key), valid) for key in value if key not in valid}


def short_form(expand: Callable[[str], object], kind: Any, description: str) -> BeforeValidator:
    """A short form, which is a text: `expand` spells it out; the schema has it beside `kind`."""
    text = Annotated[str, Field(description=description)]
    return BeforeValidator(
        lambda value: expand(value) if isinstance(value, str) else value,
        json_schema_input_type=kind | text,
    )


_NameList = Annotated[list[str], Field(min_length=1)] | None
Names = Annotated[_NameList, short_form(lambda name: [name], _NameList, "one of them")]


@dataclass(frozen=True)
class OneOf:
    """Of a text: one of the names that a registry has, which is asked when it is checked.

    Attributes:
        names: gives them.
    """

    names: Callable[[], Collection[str]]

    def __get_pydantic_core_schema__(self, kind: Any, of: Callable[[Any], Any]) -> Any:
        return core_schema.no_info_after_validator_function(self._read, of(kind))

    def __get_pydantic_json_schema__(self, schema: Any, of: Callable[[Any], Any]) -> Any:
        return {**of(schema), "enum": [*self.names()]}

    def _read(self, value: str) -> str:
        if value not in self.names():
            raise ValueError(f"unknown value {value!r}; {nearest(value, self.names())}")
        return value


class DatasetConfig(Model):
    """The gold set: a file of any format that `kragx.read_dataset` knows."""

    path: SourcePath = Field(
        description="JSON Lines, JSON, CSV, TSV, Excel, Parquet or qrels; of Parquet "
        "also a folder, a pattern of files or an address"
    )
    name: str | None = Field(default=None, description="in results; default: the file's")
    version: Annotated[
        str | None,
        # YAML reads 2026-01-31 as a date and 1.0 as a number.
        BeforeValidator(
            lambda value: str(value) if isinstance(value, (int, float, date)) else value,
            json_schema_input_type=str | float | None,
        ),
    ] = Field(default=None, description="recorded in results")
    format: Annotated[str, OneOf(format_names)] | None = Field(
        default=None, description="default: recognised by the fields"
    )
    columns: dict[str, str] | None = Field(
        default=None, description="of tables: for each field the column that holds it"
    )
    encoding: str | None = Field(default=None, description="of CSV; default: utf-8, then cp949")
    corpus: LocalPath | None = Field(
        default=None,
        description="file or folder with the texts of ids, for gold and documents without one; "
        "'kragx gold validate' checks that gold comes from it",
    )
    targets: dict[str, dict[str, float]] | None = Field(
        default=None,
        description="for 'kragx gold validate': shares, for example {query_type: {lookup: 0.5}}",
    )

    @field_validator("targets")
    @classmethod
    def _real_shares(cls, value: Any) -> Any:
        problems = "; ".join(target_problems(value or {}))
        if problems:
            raise ValueError(problems)
        return value


Dataset = Annotated[
    DatasetConfig, short_form(lambda path: {"path": path}, DatasetConfig, "the path of a gold set")
]


class GoldConfig(Model):
    """The part of a config that says what the gold set is."""

    dataset: Dataset


class HtmlConfig(Model):
    """How much of the texts report.html holds; numbers always count everything."""

    max_docs: int = Field(default=50, ge=1, description="documents of each list")
    max_chars: int | None = Field(
        default=None, ge=1, description="characters of each text; default: all"
    )


class TuningConfig(Model):
    """What becomes of grids: `kragx.comparison.tuning`."""

    metric: str | None = Field(
        default=None, description="by which settings are compared; default: the first of metrics"
    )
    max_settings: int = Field(
        default=MAX_SETTINGS, ge=1, description="of all grids together; more are an error"
    )
