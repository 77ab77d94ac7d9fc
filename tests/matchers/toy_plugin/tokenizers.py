"""A tokenizer that a user of kragx might write, as a class and as a function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Syllables:
    """Single characters without white space.

    Attributes:
        skip: characters to leave out.
    """

    skip: str = ""

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the characters of each text."""
        for text in texts:
            yield [char for char in text if not (char.isspace() or char in self.skip)]


def at_bars(text: str) -> list[str]:
    """The parts of a text between bars."""
    return [part.strip() for part in text.split("|")]
