"""Matchers that turn texts into numbers, many queries at once, and compare these."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import islice
from typing import Self

import numpy as np

from kragx.data import TokenCorpus, Tokenizer
from kragx.errors import shorten
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


class TokenMatcher(BatchMatcher):
    """Compares the tokens of documents and gold texts; each distinct text is tokenised once.

    A subclass says in `compare` what two lists of texts score. A text with fewer than
    `least_tokens` tokens matches nothing, is counted, and is warned of once.
    """

    tokenizer: Tokenizer
    least_tokens: int = 1
    count = "n_texts_without_tokens"

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

    def prepare(self, texts: Sequence[str]) -> Iterable[str]:
        """Tokenise the texts; those with too few tokens are returned."""
        self.corpus.add(texts)
        short = filter(self.corpus.short.__contains__, texts)
        return (text for text in short if len(self.corpus.of([text])[0]) < self.least_tokens)

    def complaint(self, texts: Sequence[str]) -> str:
        """How many texts have too few tokens, with an example and what to do."""
        (tokens,) = self.tokenizer.tokens(texts[:1])
        unit = "tokens" if self.least_tokens == 1 else "pairs of tokens"
        name = getattr(self.tokenizer, "name", type(self.tokenizer).__name__)
        return (
            f"texts that yield no {unit} with the tokenizer {name!r} and can match nothing: "
            f"{len(texts)}, for example {shorten(texts[0], 42)}; {self.remedy(tokens)}"
        )
