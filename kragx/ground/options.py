"""The options that a dataclass is made with, checked by its fields' types and what these carry."""

import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from inspect import get_annotations
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from kragx.ground.errors import (
    KragxError,
    UsageError,
    check_whole,
    inside,
    near,
    nearest,
    shorten,
)
from kragx.ground.messages import joined, message, sentence

Made = TypeVar("Made")
Read = Callable[[Any], Any]
"""From what a user writes for an option to what is kept."""


def check_options(value: Any) -> None:
    """Check each option of a dataclass by its field's type, and keep it as it was read.

    A ``bool`` must be one, a ``Literal`` names what is valid, and a function that an annotation
    carries (``Annotated[int, whole(1)]``) reads the value: it returns what is kept, or raises what
    is wrong.

    Raises:
        UsageError: an option is wrong; the error's field is its name.
    """
    kind: Any = type(value)
    for name, read in _readers(kind).items():
        try:
            object.__setattr__(value, name, read(getattr(value, name)))
        except KragxError as error:
            raise _inside(name, error) from None


class MistakesError(UsageError):
    """All that is wrong with some options.

    Attributes:
        errors: each mistake, with the path of its field.
    """

    def __init__(self, errors: Iterable[KragxError]) -> None:
        self.errors: list[KragxError] = list(errors)
        super().__init__(joined("; ", (error.text for error in self.errors)))

    def within(self, field: str = "", *, path: str = "") -> Self:
        """The same of each mistake."""
        return type(self)(error.within(field, path=path) for error in self.errors)


def refusal(errors: Sequence[KragxError]) -> KragxError:
    """What to raise where these are wrong."""
    return errors[0] if len(errors) == 1 else MistakesError(errors)


def mistakes_of(error: KragxError) -> list[KragxError]:
    """What an error says is wrong, one by one."""
    return error.errors if isinstance(error, MistakesError) else [error]


def from_options(kind: type[Made], options: Mapping[Any, Any]) -> Made:
    """The dataclass `kind` made of a mapping of its fields.

    Raises:
        UsageError: an option is unknown, missing or wrong; the error's field is its name.
    """
    try:
        return made_of(kind, options)
    except KragxError as error:
        raise mistakes_of(error)[0] from None


def made_of(
    kind: type[Made],
    options: object,
    without: Collection[str] = (),
    also: Collection[str] = (),
) -> Made:
    """The dataclass `kind` made of a mapping of its fields.

    Args:
        kind: the dataclass.
        options: by the names of its fields.
        without: fields that may not be given.
        also: what may stand among them.

    Raises:
        UsageError: it is no mapping; or options are unknown, missing, refused, or do not go
            together: several of them as a `MistakesError`.
    """
    values = {str(key): value for key, value in a_mapping(options).items()}
    errors = mistakes_in(kind, values, without, also)
    # Without what is wrong by itself: else the same mistake would be said twice.
    wrong, by_name = set(map(_top, errors)), _fields(kind, without)
    right = {name: values[name] for name in by_name if name in values and name not in wrong}
    # What lacks a field that it needs says nothing of the others.
    if not any(is_needed(field) and name not in right for name, field in by_name.items()):
        try:
            made = kind(**{by_name[name].name: option for name, option in right.items()})
        except KragxError as error:
            errors += mistakes_of(error)
    if errors:
        raise refusal(errors)
    return made


def is_needed(field: Field[Any]) -> bool:
    """Whether a field of a dataclass has no default."""
    return field.init and field.default is field.default_factory is MISSING


def mistakes_in(
    kind: type,
    options: Mapping[Any, Any],
    without: Collection[str] = (),
    also: Collection[str] = (),
) -> list[KragxError]:
    """Each option of a mapping that is unknown, missing or refused by the dataclass made of it.

    Args:
        kind: the dataclass.
        options: by the names of its fields.
        without: fields that may not be given.
        also: what may stand among them.
    """
    field_of = _fields(kind, without)
    valid = [*also, *field_of]
    errors: list[KragxError] = [
        UsageError("unknown key", field=str(name), remedy=_meant(kind, str(name), valid))
        for name in options
        if name not in valid
    ]
    for name, field in field_of.items():
        if is_needed(field) and name not in options:
            errors.append(UsageError("missing; it is required", field=name))
    for name in [name for name in options if name in field_of]:
        try:
            _readers(kind).get(field_of[name].name, str)(options[name])
        except KragxError as error:
            errors += mistakes_of(_inside(name, error))
    return errors


def _meant(kind: type, name: str, valid: Collection[str]) -> str:
    """What an unknown key may have been meant to be, or the part in which it stands.

    A dataclass may know by itself what is meant: `said_elsewhere`, the hint by name.
    """
    hints: Mapping[str, str] = getattr(kind, "said_elsewhere", {})
    if name in hints:
        return hints[name]
    for part, read in _readers(kind).items() if near(name, valid) is None else ():
        inner = getattr(read, "kind", None)
        if is_dataclass(inner) and name in _fields(inner, ()):
            return message("write it under {part!r}", part=part)
    return nearest(name, valid)


def _fields(kind: Any, without: Collection[str]) -> dict[str, Field[Any]]:
    # A trailing line is Python's, where a key is one of its words: ``class_``.
    by_name = {field.name.removesuffix("_"): field for field in fields(kind) if field.init}
    return {name: field for name, field in by_name.items() if name not in without}


def _inside(name: str, error: KragxError) -> KragxError:
    """An error of an option, whose reader may have named it already."""
    return error if _top(error) == name else error.within(name)


def _top(error: KragxError) -> str:
    return re.split(r"[.\[]", error.field, maxsplit=1)[0]


@cache
def _readers(kind: type) -> dict[str, Read]:
    hints: dict[str, Any] = {}
    for base in filter(is_dataclass, reversed(kind.__mro__)):
        # Of the options alone: other annotations may name what is imported for type checkers only.
        names = {field.name for field in fields(base)}
        options = SimpleNamespace(
            __annotations__={
                name: hint for name, hint in get_annotations(base).items() if name in names
            }
        )
        module = sys.modules.get(base.__module__)
        try:
            hints |= get_type_hints(options, vars(module) if module else {}, include_extras=True)
        except NameError:  # so may the options of somebody's own class
            continue
    readers = {name: _reader(hint) for name, hint in hints.items()}
    return {name: read for name, read in readers.items() if read is not None}


def _reader(hint: Any) -> Read | None:
    if hint is bool:
        return a_bool
    if get_origin(hint) is Literal:
        return one_of(*get_args(hint))
    if get_origin(hint) is Annotated:
        return next(filter(callable, hint.__metadata__))
    return None


@dataclass(frozen=True)
class OneOf:
    """Nothing but some values, which are known where the thing is: by a registry, and by packages.

    Attributes:
        names: them; or gives them, when one is read and not before.
    """

    names: Collection[str | None] | Callable[[], Collection[str]]

    def __call__(self, value: Any) -> Any:
        """The value, if it is one of them."""
        # A list, as what cannot be hashed may be looked for.
        if value not in (valid := [*(self.names() if callable(self.names) else self.names)]):
            raise UsageError(
                "unknown value {value!r}; {hint}",
                value=value,
                hint=nearest(str(value), filter(None, valid)),
            )
        return value


def one_of(*valid: str | None) -> Read:
    """Nothing but these values, as a ``Literal`` of them."""
    return OneOf(valid)


def fitting(fits: Callable[[Any], bool], problem: str) -> Read:
    """Values that fit; `problem` says what is wrong with others, ``{value!r}`` in it which it is.

    It stands in the catalogues, as a message does.
    """

    def read(value: Any) -> Any:
        if fits(value):
            return value
        raise UsageError(sentence(problem, {"value": value}))

    return read


MOST = 999_999_999
"""Of what is counted or done again, where nothing else is said."""


def whole(lowest: int, highest: int = MOST) -> Read:
    """Whole numbers from `lowest` to `highest`."""

    def read(value: Any) -> Any:
        check_whole("", value, lowest, highest=highest)
        return value

    return read


def number(fits: Callable[[float], bool], problem: str) -> Read:
    """Numbers that fit; `problem` as of `fitting`."""
    return fitting(
        lambda value: (
            isinstance(value, (int, float)) and not isinstance(value, bool) and fits(value)
        ),
        problem,
    )


def is_text(value: object) -> bool:
    """Whether it is a text, with more than white space in it."""
    return isinstance(value, str) and bool(value.strip())


a_bool: Read = fitting(lambda value: isinstance(value, bool), "{value!r} is neither true nor false")


def a_text(value: Any) -> Any:
    """A text."""
    if not isinstance(value, str):
        raise UsageError("a text is expected ({value})", value=shorten(value))
    return value


def a_mapping(value: Any) -> Any:
    """A mapping."""
    if not isinstance(value, Mapping):
        raise UsageError("a mapping as {{name: value}} is expected ({value})", value=shorten(value))
    return value


def what_is_said(options: object) -> dict[str, Any]:
    """A mapping without what stands empty in it, which means the default."""
    return {str(name): value for name, value in a_mapping(options).items() if value is not None}


def texts_by_name(value: Any) -> Any:
    """A mapping of names to texts."""
    for name, text in a_mapping(value).items():
        with inside(str(name)):
            a_text(text)
    return value


def filled_mapping(value: Any) -> dict[str, Any]:
    """A mapping with something in it, by names: YAML reads some of these as numbers or dates."""
    if not a_mapping(value):
        raise UsageError("is empty; give at least one")
    named = {str(name): entry for name, entry in value.items()}
    if not all(map(is_text, named)):
        raise UsageError("a name is empty")
    return named


def texts(value: Any) -> Any:
    """One text, or several as a list."""
    several = [value] if isinstance(value, str) else value
    if not isinstance(several, (list, tuple)):
        raise UsageError("a list is expected ({value})", value=shorten(value))
    if not several:
        raise UsageError("is empty; give at least one")
    for place, entry in enumerate(several):
        with inside(f"[{place}]"):
            a_text(entry)
    return several


def a_path(value: Any) -> Any:
    """A path."""
    if not isinstance(value, Path) and not is_text(value):
        raise UsageError("a path is expected ({value})", value=shorten(value))
    return value


above_zero: Read = number(lambda value: value > 0, "{value!r} is not a number above 0")
some_seconds: Read = number(
    lambda value: 0 < value < float("inf"), "{value!r} is not a number of seconds above 0"
)


def optional(read: Read) -> Read:
    """None, or what `read` takes."""
    return lambda value: None if value is None else read(value)


def options_of(value: object) -> dict[str, Any]:
    """The options that a matcher or tokenizer was made with: its fields, if it is a dataclass."""
    options = {}
    for field in fields(value) if is_dataclass(value) else ():
        if (option := getattr(value, field.name)) is not None:
            options[field.name] = option
    return options


def path_of(kind: type) -> str:
    """The import path of a class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def shown_name(value: Any) -> str:
    """What results call somebody's object: its `name`, or its import path if it has none.

    A name that its class only inherits is another's, which works in another way.
    """
    attributes = {**vars(type(value)), **getattr(value, "__dict__", {})}
    return str(value.name) if "name" in attributes else path_of(type(value))


def plain_attributes(value: object, names: Iterable[str]) -> dict[str, Any]:
    """Attributes that hold a plain value; of a pydantic model only those that somebody gave it."""
    names_set = getattr(value, "model_fields_set", None)
    values = {
        name: getattr(value, name, None) for name in names if names_set is None or name in names_set
    }
    kinds = (str, int, float, dict, list)
    return {
        name: entry
        for name, entry in values.items()
        if isinstance(entry, kinds) and entry not in ("", [], {})
    }
