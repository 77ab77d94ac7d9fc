"""Matchers of texts: as numbers, in batches; or yes or no, as equal or one inside the other."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from kragx.data import normalise
from kragx.errors import DataError
from kragx.matchers.base import BaseMatcher, MatchItem, MatchWarning, Notes
from kragx.metrics import Floats

# Queries whose texts are compared at once: enough for a tokenizer or a model that works in batches,
# few enough to hold in memory.
_BATCH = 256


class BatchMatcher(BaseMatcher):
    """Turns texts into numbers, a batch of queries at a time, and compares these.

    A subclass makes the numbers in `prepare` and says in `compare` what they score. Texts that can
    match nothing are counted, and warned of once.
    """

    count: str
    """What the count of texts that can match nothing is called in the notes."""

    def read(self, text: str) -> str:
        """A text as it is compared."""
        return text

    def prepare(self, texts: Sequence[str]) -> Iterable[str]:
        """Make numbers of the texts of a batch; those that can match nothing are returned."""
        raise NotImplementedError

    def compare(
        self, docs: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]
    ) -> Iterator[Floats]:
        """Yield for each query of a batch the scores of its documents (down) and gold texts."""
        raise NotImplementedError

    def complaint(self, texts: Sequence[str]) -> str:
        """What a warning says of texts that can match nothing."""
        raise NotImplementedError

    def scores(self, items: Iterable[MatchItem], notes: Notes) -> Iterator[Floats]:
        """Yield n x t scores in [0, 1]; 0 for a target without text."""
        stream = iter(items)
        useless: dict[str, None] = {}
        while batch := list(islice(stream, _BATCH)):
            docs = [list(map(self.read, item.doc_texts(self.name))) for item in batch]
            targets = [item.target_texts(self.name) for item in batch]
            golds = [list(map(self.read, texts.values())) for texts in targets]
            texts = [text for of_query in (*docs, *golds) for text in of_query]
            useless.update(dict.fromkeys(self.prepare(texts)))
            for item, columns, scored in zip(batch, targets, self.compare(docs, golds)):
                scores = np.zeros(item.shape)
                scores[:, list(columns)] = scored
                yield scores
        if useless:
            notes[self.count] += len(useless)
            warnings.warn(self.complaint(list(useless)), MatchWarning, stacklevel=2)


# -- yes or no -------------------------------------------------------------------------------

Direction = Literal["either", "gold_in_document", "document_in_gold"]


class YesOrNo(BaseMatcher):
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

    def _read(self, text: str) -> str:
        return normalise(text, casefold=self.casefold) if self.normalised else text


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
