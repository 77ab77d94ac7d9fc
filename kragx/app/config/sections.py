"""The smaller parts of a config: paths, short forms, keys with hints, and parts of dataclasses.

A dataclass of which a part is made says its keys, checks, defaults and schema by its fields.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, Field as DataField, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationInfo,
    model_validator,
)
from pydantic_core import core_schema

from kragx.data.formats.parquet import is_address
from kragx.data.gold_source import GoldSource
from kragx.ground.errors import KragxError, nearest
from kragx.ground.options import mistakes_in
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
    """A part of a config, which knows its keys, and what it was read with."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)
    _context: dict[str, Any] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any) -> None:
        """Keep the file, and what no text may show."""
        self._context = context or {}

    @property
    def secrets(self) -> Secrets:
        """What no text may show that comes of this config."""
        return self._context.get("secrets") or Secrets()

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


class MistakesError(ValueError):
    """What is wrong with some options, each with the path of its field."""

    def __init__(self, errors: Iterable[KragxError]) -> None:
        self.errors: list[KragxError] = list(errors)
        super().__init__("; ".join(map(str, self.errors)))


def checked(
    kind: type,
    options: Mapping[Any, Any],
    without: Collection[str] = (),
    also: Collection[str] = (),
    *,
    make: bool = True,
) -> dict[str, Any]:
    """The options of a mapping, but for what stands empty.

    Args:
        kind: the dataclass that is made of them.
        options: by the names of its fields.
        without: fields that no config has.
        also: keys of the mapping that are none of its fields.
        make: whether they are tried together, too; without, one by one.

    Raises:
        MistakesError: one is unknown, missing or refused.
    """
    # An empty key means the default, as everywhere in a config.
    given = {str(key): value for key, value in options.items() if value is not None}
    errors = mistakes_in(kind, given, without, also)
    if make:
        # Without what is wrong by itself: else the same mistake would be said twice.
        wrong = {*also, *(error.field.partition(".")[0] for error in errors)}
        right = {name: value for name, value in given.items() if name not in wrong}
        needed = (f.name for f in fields(kind) if f.default is f.default_factory is MISSING)
        try:
            # What lacks a field that it needs says nothing of the others.
            _ = right.keys() >= {*needed} and kind(**right)
        except KragxError as error:
            errors.append(error)
    if errors:
        raise MistakesError(errors)
    return given


def config_fields(kind: type, without: Collection[str] = ()) -> dict[str, DataField[Any]]:
    """The fields of a dataclass that a config may give, by name."""
    return {field.name: field for field in fields(kind) if field.init and field.name not in without}


def plain_defaults(kind: type, without: Collection[str] = ()) -> dict[str, Any]:
    """What holds where a config says nothing, if that is more than nothing."""
    defaults = {name: field.default for name, field in config_fields(kind, without).items()}
    return {name: value for name, value in defaults.items() if isinstance(value, (str, int, float))}


def said_of(*kinds: type) -> dict[str, dict[str, Any]]:
    """What the docstrings of dataclasses say of each attribute, with its default if it is plain."""
    options: dict[str, dict[str, Any]] = {}
    for base in (base for kind in kinds for base in reversed(kind.__mro__)):
        text = inspect.cleandoc(base.__doc__ or "")  # without docstrings (python -OO): nothing
        part = _ATTRIBUTES.search(text)
        for name, words in _ATTRIBUTE.findall("" if part is None else part[1]):
            options[name] = {"description": re.sub(r"\s+", " ", words.replace("``", "`"))}
    for kind in kinds:
        for name, default in plain_defaults(kind).items():
            options.setdefault(name, {})["default"] = default
    return options


_ATTRIBUTES = re.compile(r"^Attributes:\n((?:    .*\n?|\n)*)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)


def schema_of(kind: type, without: Collection[str] = ()) -> dict[str, Any]:
    """The JSON Schema of a mapping of which a dataclass is made."""
    hints, said, options = get_type_hints(kind), said_of(kind), config_fields(kind, without)
    return {
        "type": "object",
        "description": (kind.__doc__ or "").partition("\n")[0],
        "properties": {
            name: {**TypeAdapter(hints[name]).json_schema(), **said.get(name, {})}
            for name in options
        },
        "required": [name for name, field in options.items() if field.default is MISSING],
        "additionalProperties": False,
    }


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
