"""Options of matchers are checked by the types of their dataclass fields.

A ``bool`` must be one, a ``Literal`` names what is valid, and a function that an annotation carries
(``Annotated[float, check_threshold]``) reads the value: it returns what is kept, or says what is
wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from types import SimpleNamespace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from kragx.data.tokenizers import Tokenizer
from kragx.data.tokenizers import tokenizer as read_tokenizer
from kragx.errors import UsageError, nearest

Read = Callable[[Any], Any]


def check_options(matcher: Any) -> None:
    """Check each option of a dataclass by its type, and keep it as it was read.

    Raises:
        UsageError: an option is wrong; the error's field is its name.
    """
    kind: Any = type(matcher)
    for name, read in _readers(kind).items():
        try:
            object.__setattr__(matcher, name, read(getattr(matcher, name)))
        except UsageError as error:
            raise (error if error.field else error.within(name)) from None


@cache
def _readers(kind: type) -> dict[str, Read]:
    if not is_dataclass(kind):
        return {}
    # Of the options alone: other annotations may name what is imported for type checkers only.
    options = SimpleNamespace(__annotations__={field.name: field.type for field in fields(kind)})
    try:
        hints = get_type_hints(options, vars(sys.modules[kind.__module__]), include_extras=True)
    except NameError:  # so may the options of somebody's own class
        return {}
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}
    return {name: read for name, read in readers.items() if read is not None}


def _reader(hint: Any) -> Read | None:
    if hint is bool:
        return _flag
    if get_origin(hint) is Literal:
        return lambda value: _choice(value, get_args(hint))
    if get_origin(hint) is Annotated:
        return next(filter(callable, hint.__metadata__))
    return None


def _flag(value: object) -> object:
    if not isinstance(value, bool):
        raise UsageError(f"{value!r} is neither true nor false")
    return value


def _choice(value: object, valid: tuple[str, ...]) -> object:
    if value not in valid:
        raise UsageError(f"unknown value {value!r}; {nearest(str(value), valid)}")
    return value


def whole(least: int, most: int | None = None) -> Read:
    """Whole numbers from `least` on, or to `most`."""

    def read(value: object) -> object:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if is_whole and least <= value <= (value if most is None else most):  # type: ignore[operator]
            return value
        end = "on" if most is None else f"to {most}"
        raise UsageError(f"{value!r} is not a whole number from {least} {end}")

    return read


def check_threshold(value: object) -> float:
    """A threshold as a float in (0, 1].

    Raises:
        UsageError: it is no number, or outside that range (a threshold of 0 matches everything).
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and 0 < float(value) <= 1:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise UsageError(
        f"{value!r} is out of range",
        field="threshold",
        remedy="give a number above 0 and at most 1",
    )


def optional(read: Read) -> Read:
    """None, or what `read` takes."""
    return lambda value: None if value is None else read(value)


Threshold = Annotated[float, check_threshold]
"""A number in (0, 1]."""

TokenizerOption = Annotated[Tokenizer, read_tokenizer]
"""A tokenizer, made from its name, mapping or import path."""
