"""What a user names by import path (`package.module:name`), and the arguments it is given."""

import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Self

from kragx.ground.errors import KragxError, UntrustedError, UsageError, nearest

# What stands before is looked at, lest every letter of a long word be tried as a beginning.
_IMPORT_PATH = re.compile(r"(?<![\w.])[^\W\d][\w.]*:[^\W\d][\w.]*")
_FOLDER = ContextVar[Path | None]("folder", default=None)
"""The first place where modules are looked for; None for Python's own places alone."""
_ALLOWED = ContextVar[frozenset[str] | None]("allowed", default=None)
"""The import paths that may be imported; None if all may."""


@contextmanager
def looking_in(folder: Path | None) -> Iterator[None]:
    """Within this, find modules that import paths name in this folder first, if there is one.

    It comes onto Python's path with the first import path that is loaded, not before: nothing in a
    folder that is only looked at stands in for a package.
    """
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


@contextmanager
def data_alone(*values: object, trust: bool = False) -> Iterator[None]:
    """Within this, import paths are refused: what others have written is read as data.

    Args:
        values: what the user has written himself; import paths that stand in it are his own.
        trust: refuse none after all.
    """
    if trust or _ALLOWED.get() is not None:
        yield  # what is around decides
        return
    paths = frozenset(path for value in values for path in _IMPORT_PATH.findall(str(value)))
    token = _ALLOWED.set(paths)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def is_import_path(value: str) -> bool:
    """Whether a text looks like ``package.module:name``."""
    return _IMPORT_PATH.fullmatch(value) is not None


def imported(path: str) -> Any:
    """What an import path names, if its module is imported already; else None."""
    module_name, _, name = path.partition(":")
    value: Any = sys.modules.get(module_name)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


_VARIABLE = re.compile(r"\$\{([^}]*)\}")


def variables(text: str) -> list[str]:
    """The names in each ``${NAME}`` of a text."""
    return _VARIABLE.findall(text, 0, _last_end(text))


def with_variables(text: str, replacement: Callable[[re.Match[str]], str]) -> str:
    """A text with what `replacement` makes of each ``${NAME}``, whose name is the match's group."""
    end = _last_end(text)
    return _VARIABLE.sub(replacement, text[:end]) + text[end:]


def _last_end(text: str) -> int:
    # Behind it, the end of each ``${`` would be looked for in vain through all that follows.
    return text.rfind("}") + 1


class FromVariable(str):
    """A text into which environment variables were put.

    Attributes:
        written: the text before, with their names.
    """

    written: str

    def __new__(cls, text: str, written: str = "") -> Self:  # noqa: D102
        value = super().__new__(cls, text)
        value.written = written
        return value

    @property
    def plain(self) -> str:
        """The same as a text like any other."""
        return str.__str__(self)

    def __repr__(self) -> str:
        return repr(self.written or self.plain)


_PASSWORD = re.compile(
    r"(?:password|passwd|pwd|pass|secret|(?:^|_)(?:passphrase|pw|credentials?))$"
)
_KEY = re.compile(r"(?:token|key|(?:^|_)(?:authorization|auth|bearer|cookie|jwt|pat|dsn))$")
# Signs of a model's vocabulary, names of fields, and words that merely end so.
_NO_SECRET = re.compile(
    r"(?:(?:pad|eos|bos|sep|cls|unk|mask)_?token|(?:id|text|sort|content|metadata)_?key"
    r"|(?:by|com|sur|tres|over|under|low|high|band|multi)pass"
    r"|(?:mon|don|tur|hoc|joc|whis|hot)key)$"
)


def named_secret(name: str, *, surely: bool = False) -> bool:
    """Whether an argument or variable is called as secrets are: ``api_key``, not ``max_tokens``.

    So are ``PGPASSWORD`` and ``APITOKEN``: people leave out the line between the words.

    Args:
        name: of it.
        surely: whether only names count that mean nothing else, as ``password``.
    """
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
    is_called_so = _PASSWORD.search(snake) or (not surely and _KEY.search(snake))
    return bool(is_called_so) and not _NO_SECRET.search(snake)


def without_secrets(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as keys hold them: all but secrets that came from environment variables."""
    return _with(args, lambda text, is_secret: None if is_secret else text)


def without_variables(args: Mapping[str, Any]) -> dict[str, Any]:
    """The same, other texts that came from variables as their hashes: keys differ, nobody reads."""

    def read(text: str, is_secret: bool) -> str | None:
        hashed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return None if is_secret else f"sha256:{hashed}"

    return _with(args, read)


def as_written(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as results show them: variables by their names, and no other text of a secret."""
    return _with(args, lambda text, _: text.written, hides_others=True)


def _with(
    args: Mapping[str, Any],
    of_variable: Callable[[FromVariable, bool], str | None],
    *,
    hides_others: bool = False,
) -> dict[str, Any]:
    """Arguments with what is made of each text that came from a variable, secret or not."""

    def read(text: str, _: str, name: str) -> str | None:
        if isinstance(text, FromVariable):
            return of_variable(text, named_secret(name))
        return None if hides_others and named_secret(name) else text

    return each_text(dict(args), read)  # type: ignore[no-any-return]  # a mapping stays one


def each_text(
    value: Any, read: Callable[[str, str, str], str | None], path: str = "", name: str = ""
) -> Any:
    """A plain value with what `read` makes of each text, its path, and the name of its field.

    An entry of which it makes None goes.
    """
    if isinstance(value, str):
        return read(value, path, name)
    if type(value) is list:
        places = enumerate(value)
        return [each_text(entry, read, f"{path}[{place}]", name) for place, entry in places]
    if type(value) is not dict:
        return value
    entries = {
        key: each_text(entry, read, f"{path}.{key}".lstrip("."), str(key))
        for key, entry in value.items()
    }
    return {key: new for key, new in entries.items() if new is not None or value[key] is None}


def load(path: str) -> Any:
    """The object that an import path such as ``my_package.matchers:BgeMatcher`` names.

    Raises:
        UsageError: the path is malformed, the module cannot be imported or has no such name.
        UntrustedError: nothing may be imported here (`data_alone`).
    """
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise UsageError("{place!r} is not an import path; write 'package.module:name'", place=path)
    if module_name.endswith(".py"):
        meant = f"{module_name.removesuffix('.py').removeprefix('./').replace('/', '.')}:{name}"
        raise UsageError(
            "{place!r} is a file, and a module is expected; write {meant!r}",
            place=path,
            meant=meant,
        )
    allowed, folder = _ALLOWED.get(), _FOLDER.get()
    if allowed is not None and path not in allowed:
        raise UntrustedError("{place} is code, and a folder's data alone is read", place=path)
    if folder is not None and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        value: Any = importlib.import_module(module_name)
    except KragxError:
        raise
    # Whatever a user's module raises, an attempt to exit too, the message must say where.
    except (Exception, SystemExit) as error:
        raise UsageError(
            "{place}: cannot import {module!r}: {kind}: {error}; install its package, or start "
            "kragx in the folder that holds it",
            place=path,
            module=module_name,
            kind=type(error).__name__,
            error=error,
        ) from error
    for part in name.split("."):
        if not hasattr(value, part):
            public = [attribute for attribute in vars(value) if not attribute.startswith("_")]
            raise UsageError(
                "{place}: {module!r} has no {name!r}",
                remedy=nearest(part, public),
                place=path,
                module=module_name,
                name=name,
            )
        value = getattr(value, part)
    return value


def maker(
    path: str,
    args: Mapping[str, Any] | None,
    *,
    takes_one: bool = False,
    also: Collection[str] = (),
) -> Callable[[], Any]:
    """Load an import path; what is returned makes, when it is called, what the path stands for.

    A class makes something, and so do a class method and a function that is given arguments. A
    function without them that requires one is used as it is where that may be meant (`takes_one`),
    and one that requires none is called. Any other object is itself what is meant. No arguments and
    empty ones are the same.

    Args:
        path: the import path.
        args: its arguments.
        takes_one: whether a function is used as it is that requires one thing: a question, a text.
        also: what such a function may take besides, by name.

    Raises:
        UsageError: it cannot be loaded, or does not take these arguments; when it is called: it
            fails.
    """
    value = load(path)
    # What it gets are texts like any others.
    arguments = each_text(dict(args or {}), lambda text, *_: getattr(text, "plain", text))
    is_function = inspect.isroutine(value) or isinstance(value, partial)
    is_class = inspect.isclass(value) or inspect.isclass(getattr(value, "__self__", None))
    if not is_class and not arguments and not is_function:
        return lambda: value
    if not callable(value):
        raise UsageError("{place}: takes no arguments; it is not a class or function", place=path)
    if (
        is_function
        and not (is_class or arguments)
        and _is_meant_itself(value, also, takes_one=takes_one)
    ):
        return lambda: value
    check_arguments(value, arguments, path)

    def make() -> Any:
        try:
            return value(**arguments)
        except KragxError:
            raise
        # Whatever foreign code raises, the user must learn where.
        except (Exception, SystemExit) as error:
            raise UsageError(
                "{place}: {kind}: {error}", place=path, kind=type(error).__name__, error=error
            ) from error

    return make


def _is_meant_itself(
    function: Callable[..., Any], also: Collection[str], *, takes_one: bool
) -> bool:
    """Whether a function that is given no arguments is used as it is, instead of being called."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some C functions have none
        return True
    any_number = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    n_required = sum(
        parameter.default is parameter.empty
        and parameter.kind not in any_number
        and parameter.name not in also
        for parameter in signature.parameters.values()
    )
    return n_required == 1 if takes_one else n_required > 0


def build(path: str, args: Mapping[str, Any] | None, *, takes_one: bool = False) -> Any:
    """What an import path stands for, made with these arguments; see `maker`.

    Raises:
        UsageError: as `maker`, and what it returns.
    """
    return maker(path, args, takes_one=takes_one)()


def check_arguments(factory: Any, args: Mapping[str, Any], path: str) -> None:
    """Raise a `UsageError` if `factory(**args)` has unknown or missing arguments."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):  # some C classes have none; the call itself will tell
        return
    fields = getattr(factory, "model_fields", {})  # pydantic's, which may be given by other names
    parameters = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    anything = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for name in args:
        if name not in parameters and name not in fields and not anything:
            raise UsageError(
                "{place}: unknown argument {name!r}; {hint}",
                place=path,
                name=name,
                hint=nearest(str(name), dict.fromkeys([*parameters, *fields])),
            )
    try:
        if not fields:
            signature.bind(**args)
    except TypeError as error:
        raise UsageError("{place}: {error}", place=path, error=error) from None
