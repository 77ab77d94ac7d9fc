"""What can go wrong, and with which exit code the command ends.

    KragxError                 1
    ├── UsageError             2   an argument, option or metric that does not exist or does not fit
    │   ├── ConfigError        2   the same in a config file; lists every problem with its YAML path
    │   └── MissingExtraError  2   an optional package that is not installed
    ├── DataError              3   a document, gold item, file or answer that cannot be used
    └── JudgingError           4   judgements are missing, or the budget is used up

Every error is also a `ValueError` (a missing extra: an `ImportError`), so that plain Python code
can catch it without importing kragx. A message names the field, the value and the remedy.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class KragxError(Exception):
    """The root of the tree: catch this to catch everything that kragx raises on purpose."""

    exit_code = 1


class UsageError(KragxError, ValueError):
    """A wrong argument: an unknown name, an option out of its range, two options that clash."""

    exit_code = 2


class ConfigError(UsageError):
    """A config file that cannot be used; `problems` holds one line for each mistake in it."""

    def __init__(self, path: str, problems: Sequence[str]) -> None:
        self.path = path
        self.problems = tuple(problems)
        noun = "problem" if len(self.problems) == 1 else "problems"
        super().__init__("\n  ".join([f"{path}: {len(self.problems)} {noun}", *self.problems]))


class MissingExtraError(UsageError, ImportError):
    """An optional package is needed and not installed; the message says how to install it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: pip install 'kragx[{extra}]'")


class DataError(KragxError, ValueError):
    """Bad data: a broken line, a duplicated query id, gold without what the matcher needs."""

    exit_code = 3


class JudgingError(KragxError, ValueError):
    """Judging is incomplete or over budget; what was judged is stored, so a new run goes on."""

    exit_code = 4


def nearest(value: str, valid: Iterable[str]) -> str:
    """A hint that ends an error message: the valid name nearest to `value`, or all of them.

    >>> nearest("treshold", ["threshold", "measure"])
    "perhaps you meant 'threshold'?"
    """
    names = list(valid)
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(value.casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"perhaps you meant {folded[close[0]]!r}?"
    return "valid: " + ", ".join(names) if names else "it takes none"


def shorten(value: object, width: int = 60) -> str:
    """The `repr` of a value for an error message, cut to `width` characters."""
    shown = repr(value)
    return shown if len(shown) <= width else shown[: width - 3] + "..."
