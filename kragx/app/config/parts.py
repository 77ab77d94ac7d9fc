"""The smaller parts of a config, and what they are made of: paths, short forms, keys with hints."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
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
    model_validator,
)
from pydantic_core import core_schema

from kragx.app.config.options import checked, config_fields, schema_of
from kragx.data.formats.parquet import is_address
from kragx.data.gold_source import GoldSource
from kragx.ground.errors import nearest
from kragx.ground.printing import message
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
        # `key:` with nothing behind it is what people write for the default.
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
class PartOf:
    """What a config has a dataclass of: its fields are keys, checks, defaults and schema.

    Attributes:
        kind: the dataclass.
        without: fields that no config gives here.
        paths: fields that are paths, which start at the config file's folder.
        short: the field that a mere text is; empty where a mapping is expected.
        said: what such a text is.
    """

    kind: type
    without: Collection[str] = ()
    paths: Collection[str] = ()
    short: str = ""
    said: str = ""

    def __get_pydantic_core_schema__(self, source: Any, of: Any) -> core_schema.CoreSchema:
        """What pydantic reads and writes it by."""
        written = core_schema.plain_serializer_function_ser_schema(self._plain)
        return core_schema.with_info_plain_validator_function(self._read, serialization=written)

    def __get_pydantic_json_schema__(self, source: Any, of: Any) -> dict[str, Any]:
        """What editors know of it."""
        text = {"type": "string", "description": self.said}
        fields = schema_of(self.kind, self.without)
        return {"anyOf": [fields, text]} if self.short else fields

    def _read(self, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, self.kind):
            return value
        if isinstance(value, str) and self.short:
            value = {self.short: value}
        if not isinstance(value, Mapping):
            raise ValueError(message("a mapping is expected"))
        # Checked as they are written, so that messages name no folder that nobody wrote.
        options = checked(self.kind, value, self.without)
        return self.kind(
            **{
                name: _source(option, info) if name in self.paths else option
                for name, option in options.items()
            }
        )

    def _plain(self, part: Any) -> dict[str, Any]:
        values = {name: getattr(part, name) for name in config_fields(self.kind, self.without)}
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in values.items()
            if value is not None
        }


Dataset = Annotated[
    GoldSource,
    PartOf(GoldSource, paths=("path", "corpus"), short="path", said="the path of a gold set"),
]
