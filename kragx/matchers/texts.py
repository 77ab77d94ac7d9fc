"""Matchers that say yes or no of two texts: equal, or one stands inside the other."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kragx.data import normalise
from kragx.data.batch import Batch
from kragx.data.lists import Lists
from kragx.data.tokens import of_pairs
from kragx.ground.errors import DataError
from kragx.matchers.items import Targets
from kragx.matchers.notes import Notes
from kragx.matchers.text_base import TextsMatcher
from kragx.metrics import Floats

Direction = Literal["either", "gold_in_document", "document_in_gold"]


class YesOrNo(TextsMatcher):
    """Compares texts after normalisation (NFC, white space collapsed, stripped).

    Attributes:
        casefold: also ignore case.
        normalised: False compares the texts as they are, an empty gold text among them.
    """

    casefold: bool = False
    normalised: bool = True
    yes_or_no = True

    def matches(self, gold: str, doc: str) -> bool:
        """Whether a document with this text matches gold with that one."""
        raise NotImplementedError

    def read(self, text: str) -> str:
        """A text as it is compared."""
        return normalise(text, casefold=self.casefold) if self.normalised else text

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """1 where a document matches, else 0."""
        doc, gold = of_pairs(docs.n_texts, golds.n_texts)
        n = len(golds.known)
        # Each two texts are compared once, however many questions have both.
        pairs, places = np.unique(docs.numbers[doc] * n + golds.numbers[gold], return_inverse=True)
        texts = ((golds.known[pair % n], docs.known[pair // n]) for pair in pairs.tolist())
        return np.array([self.matches(*pair) for pair in texts], np.float64)[places]

    def note(self, batch: Batch, targets: Targets, docs: Lists, golds: Lists, notes: Notes) -> None:
        """Refuse gold that is empty after normalisation; it would match anything.

        Raises:
            DataError: there is some.
        """
        for place, number in enumerate(golds.numbers.tolist()):
            if self.normalised and not golds.known[number]:
                query = int(golds.of_text[place])
                position = targets.gold[place] - int(batch.golds.texts.starts[query]) + 1
                raise DataError(
                    "query {query_ids!r}, gold {position}: the gold text is empty, "
                    "so it would match anything; give it a text or remove it",
                    query_ids=batch.query_ids[query],
                    position=position,
                )


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
        if gold in doc and self.direction != "document_in_gold":
            return True
        # An empty document stands in every text; it carries nothing, so it matches nothing.
        return bool(doc) and doc in gold and self.direction != "gold_in_document"
