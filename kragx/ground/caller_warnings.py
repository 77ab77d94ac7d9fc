"""Warnings as whoever called kragx wants them: with the retriever's name, at their own line."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kragx.ground.messages import joined

_ABOUT = ContextVar[str]("about", default="")


@contextmanager
def about(name: str) -> Iterator[None]:
    """Within it, warnings begin with the name of what is worked on; an empty one is none."""
    token = _ABOUT.set(name)
    try:
        yield
    finally:
        _ABOUT.reset(token)


def warn(text: str, category: type[Warning]) -> None:
    """Warn whoever called kragx."""
    warnings.warn(joined(": ", [_ABOUT.get(), text]), category, stacklevel=outside())


_BETWEEN = {"kragx", "asyncio", "concurrent", "contextlib", "functools", "threading"}
"""Packages that stand between a line of kragx and the one that called for it."""


def outside() -> int:
    """The stacklevel, in the function that asks, of the line that called kragx."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    return level
