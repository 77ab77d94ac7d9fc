"""Parts of a config of which a dataclass is made: its fields are keys, checks and schema."""

import inspect
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from kragx.ground.errors import KragxError
from kragx.ground.options import mistakes_in


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


def config_fields(kind: type, without: Collection[str] = ()) -> dict[str, Field[Any]]:
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
