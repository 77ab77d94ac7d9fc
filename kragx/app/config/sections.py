"""Parts of a config that are made of dataclasses, whose fields are its keys, checks and schema."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from kragx.data.formats.parquet import is_address
from kragx.ground.options import is_needed, made_of, what_is_said


def anchored(path: str | Path, folder: Path) -> Path:
    """A path of a config file in the folder `folder`, where a relative one starts."""
    return Path(os.path.normpath(folder / Path(path).expanduser()))


def source_at(path: Any, folder: Path) -> Any:
    """The same of a path or several, if any; an address of Parquet files stays (``s3://...``)."""
    if path is None or (isinstance(path, str) and is_address(path)):
        return path
    return (
        [source_at(p, folder) for p in path] if isinstance(path, list) else anchored(path, folder)
    )


@dataclass(frozen=True)
class PartOf:
    """Reads what a config has a dataclass of.

    Attributes:
        kind: the dataclass.
        without: fields that no config gives here.
        short: the field that a mere text is; empty where a mapping is expected.
        said: what such a text is.
    """

    kind: type
    without: Collection[str] = ()
    short: str = ""
    said: str = ""

    def __call__(self, value: Any) -> Any:
        """The dataclass made of what stands in a config."""
        if isinstance(value, self.kind):
            return value
        is_short = isinstance(value, str) and self.short
        options = {self.short: value} if is_short else what_is_said(value)
        return made_of(self.kind, options, self.without)

    @property
    def schema(self) -> dict[str, Any]:
        """What editors know of it."""
        mapping = schema_of(self.kind, self.without)
        text = {"type": "string", "description": self.said}
        return {"anyOf": [mapping, text]} if self.short else mapping


def config_fields(kind: type, without: Collection[str] = ()) -> dict[str, Field[Any]]:
    """The fields of a dataclass that a config may give, by name."""
    return {field.name: field for field in fields(kind) if field.init and field.name not in without}


def plain_defaults(kind: type, without: Collection[str] = ()) -> dict[str, Any]:
    """What holds where a config says nothing, if that is more than nothing."""
    defaults = {name: field.default for name, field in config_fields(kind, without).items()}
    return {name: value for name, value in defaults.items() if isinstance(value, (str, int, float))}


def as_config(part: Any, without: Collection[str] = ()) -> dict[str, Any]:
    """A part of a config as plain values by its keys; what is None is left out."""
    values = {name: getattr(part, name) for name in config_fields(type(part), without)}
    plain = {name: _plain(value) for name, value in values.items() if value is not None}
    return {name.removesuffix("_"): value for name, value in plain.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if is_dataclass(value):
        return getattr(value, "as_config", None) or as_config(value)
    return to_jsonable_python(value, bytes_mode="base64")


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
    hints, said = get_type_hints(kind, include_extras=True), said_of(kind)
    options = config_fields(kind, without)
    return {
        "type": "object",
        "description": (kind.__doc__ or "").partition("\n")[0],
        "properties": {
            name.removesuffix("_"): {**_schema(hints[name]), **said.get(name, {})}
            for name in options
        },
        "required": [name for name, field in options.items() if is_needed(field)],
        "additionalProperties": False,
    }


def _schema(hint: Any) -> dict[str, Any]:
    """What editors know of an option of a type; its reader may know more."""
    readers = (reader for reader in getattr(hint, "__metadata__", ()) if isinstance(reader, PartOf))
    return next((reader.schema for reader in readers), None) or TypeAdapter(hint).json_schema()
