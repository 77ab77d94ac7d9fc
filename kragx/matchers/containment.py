"""Matchers by containment: one text stands inside the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kragx.data.text import normalise
from kragx.matchers.base import BaseMatcher
from kragx.matchers.equality import normalised_targets
from kragx.matchers.items import MatchItem, Notes
from kragx.metrics.table import Floats

Direction = Literal["either", "gold_in_document", "document_in_gold"]

_TESTS: Mapping[Direction, Callable[[str, str], bool]] = {
    "gold_in_document": lambda gold, doc: gold in doc,
    # An empty document stands in every text; it carries nothing, so it matches nothing.
    "document_in_gold": lambda gold, doc: bool(doc) and doc in gold,
    "either": lambda gold, doc: gold in doc or (bool(doc) and doc in gold),
}


@dataclass(frozen=True)
class ContainsMatcher(BaseMatcher):
    """One text contains the other, after normalisation (NFC, white space collapsed, stripped).

    Attributes:
        direction: ``either``, ``gold_in_document`` or ``document_in_gold``.
        casefold: also ignore case.
    """

    direction: Direction = "either"
    casefold: bool = False
    name = "contains"
    yes_or_no = True

    def scores(self, items: Iterable[MatchItem], notes: Notes) -> Iterator[Floats]:
        """Yield 1 where one text contains the other, else 0."""
        return containment(items, self.name, self.direction, casefold=self.casefold)


@dataclass(frozen=True)
class TextMatcher(BaseMatcher):
    """The gold text is contained in the document (K-RAG's meaning of the word; equality included).

    Attributes:
        casefold: also ignore case.
        normalised: compare after normalisation. False compares the texts as they are, and an
            empty gold text is contained in every document (as in K-RAG).
    """

    casefold: bool = False
    normalised: bool = True
    name = "text"
    yes_or_no = True

    def scores(self, items: Iterable[MatchItem], notes: Notes) -> Iterator[Floats]:
        """Yield 1 where the document contains the gold text, else 0."""
        if not self.normalised:
            return _raw_containment(items, self.name)
        return containment(items, self.name, "gold_in_document", casefold=self.casefold)


def _raw_containment(items: Iterable[MatchItem], method: str) -> Iterator[Floats]:
    for item in items:
        docs = item.doc_texts(method)
        scores = np.zeros((len(docs), len(item.targets)))
        for column, gold in item.target_texts(method).items():
            scores[:, column] = [gold in doc for doc in docs]
        yield scores


def containment(
    items: Iterable[MatchItem], method: str, direction: Direction, *, casefold: bool
) -> Iterator[Floats]:
    """Yield, for each item, n x t ones and zeros: whether the texts contain one another."""
    test = _TESTS[direction]
    for item in items:
        docs = [normalise(text, casefold=casefold) for text in item.doc_texts(method)]
        golds = normalised_targets(item, method, casefold=casefold)
        scores = np.zeros((len(docs), len(item.targets)))
        for column, gold in golds.items():
            scores[:, column] = [test(gold, doc) for doc in docs]
        yield scores
