"""Load what a user names by import path: `package.module:name`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from kragx.errors import KragxError, UsageError, nearest


def load(path: str) -> Any:
    """The object that an import path such as ``my_package.matchers:BgeMatcher`` names.

    Raises:
        UsageError: the path is malformed, the module cannot be imported or has no such name.
    """
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise UsageError(f"{path!r} is not an import path; write 'package.module:name'")
    try:
        value: Any = importlib.import_module(module_name)
    except KragxError:
        raise
    except ImportError as error:
        raise UsageError(
            f"{path}: cannot import {module_name!r}: {error}; install its package, or start "
            "kragx in the folder that holds it"
        ) from error
    except Exception as error:  # whatever a user's module raises, the message must say where
        raise UsageError(
            f"{path}: importing {module_name!r} failed: {type(error).__name__}: {error}"
        ) from error
    for part in name.split("."):
        if not hasattr(value, part):
            public = [other for other in vars(value) if not other.startswith("_")]
            raise UsageError(f"{path}: {module_name!r} has no {name!r}; {nearest(part, public)}")
        value = getattr(value, part)
    return value


def maker(path: str, args: Mapping[str, Any] | None) -> Callable[[], Any]:
    """Load an import path; what is returned makes, when it is called, what the path stands for.

    A class makes something, and so does a class method; a function does if arguments are given
    (an empty mapping is enough), and is itself what is meant if they are not (None).

    Raises:
        UsageError: it cannot be loaded, or does not take these arguments; when it is called: it
            fails with them.
    """
    value = load(path)
    makes = inspect.isclass(value) or inspect.isclass(getattr(value, "__self__", None))
    if args is None and not makes:
        return lambda: value
    given = args or {}
    if not callable(value):
        raise UsageError(f"{path}: takes no arguments; it is not a class or function")
    check_arguments(value, given, path)

    def make() -> Any:
        try:
            return value(**given)
        except KragxError:
            raise
        except Exception as error:  # whatever foreign code raises, the user must learn where
            raise UsageError(f"{path}: {type(error).__name__}: {error}") from error

    return make


def build(path: str, args: Mapping[str, Any] | None) -> Any:
    """What an import path stands for, made with these arguments; see `maker`.

    Raises:
        UsageError: as `maker`, and what it returns.
    """
    return maker(path, args)()


def options(value: object) -> dict[str, Any]:
    """The options that a matcher or tokenizer was made with: its fields, if it is a dataclass."""
    if not is_dataclass(value):
        return {}
    found = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: option for name, option in found.items() if option is not None}


def check_arguments(factory: Any, args: Mapping[str, Any], where: str) -> None:
    """Raise a `UsageError` if `factory(**args)` has unknown or missing arguments."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):  # some C classes have none; the call itself will tell
        return
    known = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    anything = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for name in args:
        if name not in known and not anything:
            raise UsageError(f"{where}: unknown argument {name!r}; {nearest(name, known)}")
    try:
        signature.bind(**args)
    except TypeError as error:
        raise UsageError(f"{where}: {error}") from None
