"""Matchers that say yes or no of two texts: equal, or one stands inside the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np

from kragx.data import normalise
from kragx.data.documents import Remembered
from kragx.errors import DataError
from kragx.matchers.base import ID_AND_TEXT, BaseMatcher, MatchItem
from kragx.matchers.notes import Notes
from kragx.metrics import Floats

Direction = Literal["either", "gold_in_document", "document_in_gold"]


class YesOrNo(BaseMatcher):
    """Compares texts after normalisation (NFC, white space collapsed, stripped).

    Attributes:
        casefold: also ignore case.
        normalised: False compares the texts as they are, an empty gold text among them.
    """

    casefold: bool = False
    normalised: bool = True
    looks_at = ID_AND_TEXT
    yes_or_no = True

    def matches(self, gold: str, doc: str) -> bool:
        """Whether a document with this text matches gold with that one."""
        raise NotImplementedError

    def scores(self, items: Iterable[MatchItem], notes: Notes) -> Iterator[Floats]:
        """Yield 1 where a document matches, else 0.

        Raises:
            DataError: a gold text is empty after normalisation; it would match anything.
        """
        for item in items:
            docs = [self._read(text) for text in item.doc_texts(self.name)]
            scores = np.zeros(item.shape)
            for column, text in item.target_texts(self.name).items():
                gold = self._read(text)
                if self.normalised and not gold:
                    raise DataError(
                        f"query {item.query.id!r}, gold {item.targets[column].gold + 1}: the gold "
                        "text is empty, so it would match anything; give it a text or remove it"
                    )
                scores[:, column] = [self.matches(gold, doc) for doc in docs]
            yield scores

    def pair_scores(self, docs: Sequence[str], golds: Sequence[str]) -> Floats:
        """1 or 0."""
        pairs = zip(map(self._read, golds), map(self._read, docs))
        return np.array([float(self.matches(*pair)) for pair in pairs])

    @cached_property
    def _as_read(self) -> Mapping[str, str]:
        """Texts as they are compared; one that comes again is read once."""
        return Remembered(partial(normalise, casefold=self.casefold))

    def _read(self, text: str) -> str:
        return self._as_read[text] if self.normalised else text


@dataclass(frozen=True)
class ExactMatcher(YesOrNo):
    """Equal texts after normalisation (NFC, white space collapsed, stripped).

    Attributes:
        casefold: also ignore case.
    """

    casefold: bool = False
    name = "exact"

    def matches(self, gold: str, doc: str) -> bool:
        """Whether they are equal."""
        return gold == doc


@dataclass(frozen=True)
class TextMatcher(YesOrNo):
    """The gold text is contained in the document (K-RAG's meaning of the word; equality included).

    Attributes:
        casefold: also ignore case.
        normalised: compare after normalisation. False compares the texts as they are, and an
            empty gold text is contained in every document (as in K-RAG).
    """

    casefold: bool = False
    normalised: bool = True
    name = "text"

    def matches(self, gold: str, doc: str) -> bool:
        """Whether the gold text is in the document."""
        return gold in doc


_INSIDE: Mapping[Direction, Callable[[str, str], bool]] = {
    "gold_in_document": lambda gold, doc: gold in doc,
    # An empty document stands in every text; it carries nothing, so it matches nothing.
    "document_in_gold": lambda gold, doc: bool(doc) and doc in gold,
    "either": lambda gold, doc: gold in doc or (bool(doc) and doc in gold),
}


@dataclass(frozen=True)
class ContainsMatcher(YesOrNo):
    """One text contains the other, after normalisation (NFC, white space collapsed, stripped).

    Attributes:
        direction: ``either``, ``gold_in_document`` or ``document_in_gold``.
        casefold: also ignore case.
    """

    direction: Direction = "either"
    casefold: bool = False
    name = "contains"

    def matches(self, gold: str, doc: str) -> bool:
        """Whether one stands inside the other, as `direction` says."""
        return _INSIDE[self.direction](gold, doc)
