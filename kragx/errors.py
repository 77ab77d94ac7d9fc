"""What can go wrong, and with which exit code the command ends.

    KragxError                 70
    ├── UsageError             2   an argument, option or metric that does not exist or does not fit
    │   ├── ConfigError        2   the same in a config file; lists every problem with its YAML path
    │   ├── MissingExtraError  2   an optional package that is not installed
    │   └── UntrustedError     2   code that a folder names and that nobody has allowed to run
    ├── DataError              3   a document, gold item, file or answer that cannot be used
    ├── RetrieverError         5   a retriever failed on more questions than is tolerated
    └── JudgingError           4   judgements are missing, or the budget is used up

Every error is also a `ValueError` (a missing extra: an `ImportError`), so that plain Python code
can catch it without importing kragx. An error says where it is (``path``, ``field``), what is
wrong, and what to do (``remedy``), as attributes; its text is made of these and is never cut up.
"""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

_LONGEST_NAME = 80
"""Characters; what is longer is no misspelt name."""

_MOST_NAMES = 60
"""Names that a hint lists."""

_LONGEST_TEXT = 10_000
"""Characters of an error's text; a key in a file may be a megabyte long."""


class KragxError(Exception):
    """The root of the tree: catch this to catch everything that kragx raises on purpose.

    Args:
        problem: what is wrong, with the value that is.
        path: the file, with the line where there is one (``gold.jsonl:3``).
        field: the field or option, as a path (``match.threshold``, ``gold[0].grade``).
        remedy: what to do about it.
    """

    exit_code = 70

    def __init__(self, problem: str, *, path: str = "", field: str = "", remedy: str = "") -> None:
        self.problem, self.path, self.field, self.remedy = problem, path, field, remedy
        super().__init__(problem)

    def __str__(self) -> str:
        where = ": ".join(filter(None, (self.path, self.field, self.problem)))
        text = f"{where}; {self.remedy}" if self.remedy else where
        if len(text) <= _LONGEST_TEXT:
            return text
        half = _LONGEST_TEXT // 2  # what is wrong stands first, the remedy last
        return f"{text[:half]} [...] {text[-half:]}"

    def within(self, field: str = "", *, path: str = "") -> Self:
        """The same error seen from further outside: its field stands inside `field`, in `path`.

        >>> str(UsageError("must be above 0", field="threshold").within("match"))
        'match.threshold: must be above 0'
        """
        outer = type(self).__new__(type(self), *self.args)  # subclasses take other arguments
        outer.__dict__.update(self.__dict__)
        outer.field = ".".join(filter(None, (field, self.field))).replace(".[", "[")
        outer.path = path or self.path
        return outer


class UsageError(KragxError, ValueError):
    """A wrong argument: an unknown name, an option out of its range, two options that clash."""

    exit_code = 2


class ConfigError(UsageError):
    """A config file that cannot be used; `problems` holds one line for each mistake in it."""

    def __init__(self, path: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        noun = "problem" if len(self.problems) == 1 else "problems"
        lines = "\n  ".join([f"{len(self.problems)} {noun}", *self.problems])
        super().__init__(lines, path=path)


class MissingExtraError(UsageError, ImportError):  # type: ignore[misc]  # path: both texts
    """An optional package is needed and not installed; the remedy says how to install it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: pip install 'kragx[{extra}]'")


class UntrustedError(UsageError):
    """What a folder asks for needs code, a model or a file elsewhere, and nobody has allowed it."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            problem, remedy="if you trust its author, --trust runs it (docs/security.md)"
        )


@contextmanager
def inside(field: str = "", *, path: str = "") -> Iterator[None]:
    """Around what may raise: its errors are seen from outside, `KragxError.within` the field."""
    try:
        yield
    except KragxError as error:
        raise error.within(field, path=path) from error.__cause__


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Around imports of an optional package: says how to install it where it is missing."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(what, extra) from None


class DataError(KragxError, ValueError):
    """Bad data: a broken line, a duplicated query id, gold without what the matcher needs."""

    exit_code = 3


class JudgingError(KragxError, ValueError):
    """Judging is incomplete or over budget; what was judged is stored, so a new run goes on."""

    exit_code = 4


class RetrieverError(KragxError, ValueError):
    """A retriever failed on every question, or at the first one that it was to stop at."""

    exit_code = 5


def nearest(value: str, valid: Iterable[str]) -> str:
    """A hint that ends an error message: the valid name nearest to `value`, or all of them.

    >>> nearest("treshold", ["threshold", "measure"])
    "perhaps you meant 'threshold'?"
    """
    names = list(valid)
    folded = {name.casefold(): name for name in names if len(name) <= _LONGEST_NAME}
    # The time that a search takes grows with the product of the lengths.
    if len(value) <= _LONGEST_NAME:
        close = difflib.get_close_matches(value.casefold(), folded, n=1, cutoff=0.6)
        if close:
            return f"perhaps you meant {folded[close[0]]!r}?"
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return "valid: " + ", ".join(names[:_MOST_NAMES]) + more if names else "it takes none"


def check_whole(field: str, value: object, least: int = 1, *, most: int | None = None) -> None:
    """Raise a `UsageError` unless `value` is a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{value!r} is not a whole number of at least {least}", field=field)
    if most is not None and value > most:
        raise UsageError(f"{value} is more than {most}", field=field)


def shorten(value: object, width: int = 60) -> str:
    """The `repr` of a value for an error message, cut to `width` characters."""
    shown = repr(value)
    return shown if len(shown) <= width else shown[: width - 3] + "..."
