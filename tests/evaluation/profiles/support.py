"""What the tests of several profiles share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.thoroughness import examples

TINY = 1e-12

quick = examples(150)
"""For property tests: enough examples to find a mistake, and no clock."""


class StoredTokens:
    """A tokenizer that looks its tokens up, and counts the texts that it was asked for."""

    name = "stored"

    def __init__(self, tokens: Mapping[str, list[str]]) -> None:
        self.stored = tokens
        self.asked: list[str] = []

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the list of tokens of each text, in order."""
        for text in texts:
            self.asked.append(text)
            yield self.stored[text]


class Words:
    """A tokenizer that splits at white space, and counts the texts that it was asked for."""

    name = "words"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the list of tokens of each text, in order."""
        for text in texts:
            self.asked.append(text)
            yield text.split()


def by_id(*ids: str) -> list[dict[str, Any]]:
    """Documents or gold items that have an id alone."""
    return [{"id": each} for each in ids]
