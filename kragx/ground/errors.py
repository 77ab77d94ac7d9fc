"""What can go wrong, and with which exit code the command ends.

    KragxError                 70
    ├── UsageError             2   an argument, option or metric that does not exist or does not fit
    │   ├── ConfigError        2   the same in a config file; lists every problem with its YAML path
    │   ├── MissingExtraError  2   an optional package that is not installed
    │   └── UntrustedError     2   code that a folder names and that nobody has allowed to run
    ├── DataError              3   a document, gold item, file or answer that cannot be used
    ├── RetrieverError         5   a retriever failed on more questions than is tolerated
    ├── JudgingError           4   judgements are missing, or the budget is used up
    └── WorkerError            70  a process that shares the work has died

Every error is also a `ValueError` (a missing extra: an `ImportError`), so that plain Python code
can catch it without importing kragx. An error says where it is (``path``, ``field``), what is
wrong, and what to do (``remedy``), as attributes; its text is made of these and is never cut up.
"""

import difflib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from kragx.ground.messages import joined, message, plural, sentence, spoken_text

__all__ = [
    "ConfigError",
    "DataError",
    "JudgingError",
    "KragxError",
    "MissingExtraError",
    "RetrieverError",
    "UntrustedError",
    "UsageError",
    "WorkerError",
]
"""Those for users; what helps to raise them, below, is for the rooms."""

_MOST_NAMES = 60
"""Names that a hint lists."""

_LONGEST_NAME = 80
"""Characters; what is longer is no misspelt name."""

_LONGEST_TEXT = 10_000
"""Characters of an error's text; a key in a file may be a megabyte long."""


class KragxError(Exception):
    """The root of the tree: catch this to catch everything that kragx raises on purpose.

    Its text is in the language that results are shown in (KRAGX_LANG), as far as its sentences
    stand in the catalogue.

    Args:
        problem: what is wrong, with the value that is.
        path: the file, with the line where there is one (``gold.jsonl:3``).
        field: the field or option, as a path (``match.threshold``, ``gold[0].grade``).
        remedy: what to do about it.
        values: what stands in the braces of `problem` and `remedy`, where these are literals.

    Examples:
        >>> from kragx import KragxError
        >>> error = KragxError("{n} is too low", field="threshold", remedy="give 0.5 or so", n=0)
        >>> str(error)
        'threshold: 0 is too low; give 0.5 or so'
        >>> error.field
        'threshold'
    """

    exit_code = 70

    def __init__(
        self, problem: str, *, path: str = "", field: str = "", remedy: str = "", **values: object
    ) -> None:
        self.problem: str = sentence(problem, values)
        self.path: str = path
        self.field: str = field
        self.remedy: str = sentence(remedy, values)
        super().__init__(self.problem)

    @property
    def problem_and_remedy(self) -> str:
        """What is wrong, and what to do about it, without where it is."""
        return joined("; ", (self.problem, self.remedy))

    @property
    def text(self) -> str:
        """In English, as files have it; a phrase, which can be said in another language."""
        return joined(": ", (self.path, self.field, self.problem_and_remedy))

    def __str__(self) -> str:
        text = spoken_text(self.text)
        if len(text) <= _LONGEST_TEXT:
            return text
        half = _LONGEST_TEXT // 2  # what is wrong stands first, the remedy last
        return f"{text[:half]} [...] {text[-half:]}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_error, (type(self), self.args, self.__dict__)  # for another process

    def within(self, field: str = "", *, path: str = "") -> Self:
        """The same error seen from further outside: its field stands inside `field`, in `path`.

        Examples:
            >>> str(UsageError("must be above 0", field="threshold").within("match"))
            'match.threshold: must be above 0'
        """
        outer = _restore_error(type(self), self.args, self.__dict__)
        outer.field = ".".join(filter(None, (field, self.field))).replace(".[", "[")
        outer.path = path or self.path
        return outer


_Error = TypeVar("_Error", bound=KragxError)


def _restore_error(
    kind: type[_Error], args: tuple[Any, ...], attributes: Mapping[str, Any]
) -> _Error:
    error = kind.__new__(kind, *args)  # subclasses take other arguments
    error.__dict__.update(attributes)
    return error


class UsageError(KragxError, ValueError):
    """A wrong argument: an unknown name, an option out of its range, two options that clash.

    Examples:
        >>> from kragx import UsageError, evaluate
        >>> try:
        ...     evaluate([["gold"]], [["found"]], match="ruoge1")
        ... except UsageError as error:
        ...     print(error)
        match: unknown method 'ruoge1'; perhaps you meant 'rouge1'?
    """

    exit_code = 2


class ConfigError(UsageError):
    r"""A config file that cannot be used; `problems` holds one line for each mistake in it.

    Examples:
        >>> from kragx import ConfigError
        >>> str(ConfigError("kragx.yaml", ["metrics: unknown metric 'mr'", "k: unknown field"]))
        "kragx.yaml: 2 problems\n  metrics: unknown metric 'mr'\n  k: unknown field"
    """

    def __init__(self, path: str, problems: Sequence[str]) -> None:
        self.problems: tuple[str, ...] = tuple(problems)
        n = len(self.problems)
        number = plural(n, "1 problem", "{n} problems")
        super().__init__(joined("\n  ", [number, *self.problems]), path=path)


class MissingExtraError(UsageError, ImportError):  # type: ignore[misc]  # path: both texts
    """An optional package is needed and not installed; the remedy says how to install it.

    Examples:
        >>> from kragx import MissingExtraError
        >>> error = MissingExtraError("reading Excel files", extra="pandas")
        >>> str(error).partition(": ")[0]
        'reading Excel files needs an optional package'
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            message(
                "{what} needs an optional package: {install}",
                what=what,
                install=installing(extra),
            )
        )


class UntrustedError(UsageError):
    """What a folder asks for needs code, a model or a file elsewhere, and nobody has allowed it.

    Examples:
        >>> from kragx import UntrustedError
        >>> issubclass(UntrustedError, ValueError)
        True
    """

    def __init__(self, problem: str, **values: object) -> None:
        super().__init__(
            sentence(problem, values),
            remedy=message("if you trust its author, --trust runs it (docs/security.md)"),
        )


def installing(extra: str) -> str:
    """The command that adds an extra to the kragx that runs, from wherever that came."""
    python = "py" if sys.platform == "win32" else "python3"
    # pip keeps what is installed, and adds what its extra names; not every environment has a pip.
    return f'{python} -m pip --python "{sys.executable}" install "kragx[{extra}]"'


@contextmanager
def inside(
    field: str = "", *, path: str = "", kind: type[KragxError] = KragxError
) -> Iterator[None]:
    """Around what may raise: errors of a kind are seen from outside, `within` the field."""
    try:
        yield
    except kind as error:
        raise error.within(field, path=path) from error.__cause__


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Around imports of an optional package: says how to install it where it is missing."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(what, extra) from None


class DataError(KragxError, ValueError):
    """Bad data: a broken line, a duplicated query id, gold without what the matcher needs.

    Examples:
        >>> from kragx import DataError, evaluate
        >>> try:
        ...     evaluate([[{"id": "c1"}]], [[{"id": "c1"}]], match="overlap")
        ... except DataError as error:
        ...     print(str(error).split(";")[0])
        gold: 1 id has no text: 'c1' (query 'q1', gold 1)
    """

    exit_code = 3


class JudgingError(KragxError, ValueError):
    """Judging is incomplete or over budget; what was judged is stored, so a new run goes on."""

    exit_code = 4


class RetrieverError(KragxError, ValueError):
    """A retriever failed on every question, or at the first one that it was to stop at.

    Examples:
        >>> from kragx import GoldDataset, RetrieverError, evaluate
        >>> def broken(question):
        ...     raise TimeoutError("no answer")
        >>> gold = GoldDataset.from_documents([["Seoul"]], queries=["Which city?"])
        >>> try:
        ...     evaluate(gold, broken)
        ... except RetrieverError as error:
        ...     print(error)
        broken failed on every question, 1 of them; the first: query 'q1': TimeoutError: no answer
    """

    exit_code = 5


class WorkerError(KragxError, RuntimeError):
    """A process that shares the work has died; the error names what it worked on."""


def near(value: str, valid: Iterable[str]) -> str | None:
    """The valid name that a slip of the hand or of memory may have made `value`, if one is."""
    # The time that a search takes grows with the product of the lengths.
    if len(value) > _LONGEST_NAME:
        return None
    folded = {name.casefold(): name for name in valid if len(name) <= _LONGEST_NAME}
    for name in difflib.get_close_matches(value.casefold(), folded, n=3, cutoff=0.6):
        if _is_near(value.casefold(), name) or _is_near(value.casefold(), name.rpartition(".")[2]):
            return folded[name]
    return None


def nearest(value: str, valid: Iterable[str]) -> str:
    """A hint that ends an error message: the valid name nearest to `value`, or all of them.

    Near is what a slip of the hand or of memory makes of it: a third of its letters or fewer are
    others, or it is a part of the name, or the name one of it, of three letters at least.

    >>> nearest("treshold", ["threshold", "measure"])
    "perhaps you meant 'threshold'?"
    >>> nearest("queries", ["retries", "timeout"])
    'valid: retries, timeout'
    """
    names = list(valid)
    if (name := near(value, names)) is not None:
        return message("perhaps you meant {name!r}?", name=name)
    if not names:
        return message("it takes none")
    listing, n_more = ", ".join(names[:_MOST_NAMES]), len(names) - _MOST_NAMES
    if n_more > 0:
        return message("valid: {names}, and {n} more", names=listing, n=n_more)
    return message("valid: {names}", names=listing)


def _is_near(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    if len(short) > 2 and short in long:
        return True
    from rapidfuzz.distance.OSA import distance  # an error's time, not that of every command

    # Letters changed, left out, put in, or swapped with the next one.
    return distance(first, second) <= max(1, len(long) // 3)


def check_whole(field: str, value: object, lowest: int = 1, *, highest: int | None = None) -> None:
    """Raise a `UsageError` unless `value` is a whole number from `lowest` to `highest`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
        raise UsageError(
            "{value!r} is not a whole number of at least {least}",
            field=field,
            value=value,
            least=lowest,
        )
    if highest is not None and value > highest:
        raise UsageError(
            "{value} is more than {highest}", field=field, value=value, highest=highest
        )


def shorten(value: object, width: int = 60) -> str:
    """The `repr` of a value for an error message, cut to `width` characters."""
    text = repr(value)
    return text if len(text) <= width else text[: width - 3] + "..."
