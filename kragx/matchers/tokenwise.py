"""What matchers that compare tokens have in common: batches, and texts without tokens."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import islice
from typing import Self

import numpy as np

from kragx.data.tokenizers import Tokenizer
from kragx.data.tokens import TokenCorpus
from kragx.errors import shorten
from kragx.matchers.base import BaseMatcher
from kragx.matchers.items import MatchItem, MatchWarning, Notes
from kragx.metrics.table import Floats

# Queries whose tokens are compared at once: enough for a tokenizer that works in batches, few
# enough to hold in memory.
_BATCH = 256


class TokenMatcher(BaseMatcher):
    """Compares the tokens of documents and gold texts; each distinct text is tokenised once.

    A subclass says in `compare` what two lists of texts score. A text with fewer than
    `least_tokens` tokens matches nothing, is counted, and is warned of once.
    """

    tokenizer: Tokenizer
    least_tokens: int = 1

    def compare(
        self, docs: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]
    ) -> Iterator[Floats]:
        """Yield for each query of a batch the scores of its documents (down) and gold texts."""
        raise NotImplementedError

    def read(self, text: str) -> str:
        """A text as it is compared."""
        return text

    def remedy(self, tokens: Sequence[str]) -> str:
        """What to do about a text that has these tokens, which are too few."""
        return "check the tokenizer ('unicode' reads every script)"

    @cached_property
    def corpus(self) -> TokenCorpus:
        """The texts tokenised so far; kept, so that a second run of the same texts is free."""
        return TokenCorpus(self.tokenizer)

    def sharing(self, corpora: dict[Tokenizer, TokenCorpus]) -> Self:
        """This matcher with the corpus of another one that has the same tokenizer, if there is one.

        Several matchers side by side then tokenise each text once between them.
        """
        twin = copy(self)
        try:
            twin.__dict__["corpus"] = corpora.setdefault(self.tokenizer, self.corpus)
        except TypeError:  # a user's tokenizer that cannot be hashed has a corpus of its own
            return self
        return twin

    def scores(self, items: Iterable[MatchItem], notes: Notes) -> Iterator[Floats]:
        """Yield n x t scores in [0, 1]; 0 for a target without text."""
        stream = iter(items)
        short: dict[str, None] = {}
        while batch := list(islice(stream, _BATCH)):
            docs = [[self.read(text) for text in item.doc_texts(self.name)] for item in batch]
            targets = [item.target_texts(self.name) for item in batch]
            golds = [[self.read(text) for text in texts.values()] for texts in targets]
            self.corpus.add(text for texts in (*docs, *golds) for text in texts)
            if self.corpus.short:
                short.update(
                    (text, None)
                    for texts in (*docs, *golds)
                    for text in texts
                    if text in self.corpus.short
                    and len(self.corpus.of([text])[0]) < self.least_tokens
                )
            for item, columns, scored in zip(batch, targets, self.compare(docs, golds)):
                scores = np.zeros((len(item.docs), len(item.targets)))
                scores[:, list(columns)] = scored
                yield scores
        if short:
            notes["n_texts_without_tokens"] += len(short)
            self._warn(list(short))

    def _warn(self, short: Sequence[str]) -> None:
        (tokens,) = self.tokenizer.tokens(short[:1])
        unit = "tokens" if self.least_tokens == 1 else "pairs of tokens"
        name = getattr(self.tokenizer, "name", type(self.tokenizer).__name__)
        warnings.warn(
            f"texts that yield no {unit} with the tokenizer {name!r} and can match nothing: "
            f"{len(short)}, for example {shorten(short[0], 42)}; {self.remedy(tokens)}",
            MatchWarning,
            stacklevel=3,
        )
