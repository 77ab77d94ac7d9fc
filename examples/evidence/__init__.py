"""Texts with a known truth, for the card of evidence in docs/evidence/matchers.md.

Each module makes the cases of one kind: `cases()` yields them, always the same ones. One more kind
is one more module here. Words and patterns stand in `languages/`; the words between them are coined
from syllables. The truth is where a text was put or cut, never where a string was found.
"""

from collections.abc import Iterator

from . import answers, broken, code, passages, tables, templates
from .case import Case

__all__ = ["KINDS", "cases"]

KINDS = (answers, passages, code, tables, templates, broken)
"""The modules whose cases the card has, in its order."""


def cases() -> Iterator[Case]:
    """The cases of every kind: the rows of the card."""
    for kind in KINDS:
        yield from kind.cases()
