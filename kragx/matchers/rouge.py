"""ROUGE: shared unigrams, bigrams or the longest common subsequence.

Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004). For the same tokens every
score equals rouge-score's, to the last bit.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from kragx.data import TokenCorpus, UnicodeTokenizer, ngram_overlaps
from kragx.data.tokens import Tokens
from kragx.matchers.base import Threshold, TokenizerOption
from kragx.matchers.batches import TokenMatcher
from kragx.matchers.shares import Measure, lengths, shared_part
from kragx.metrics import Floats, Profile

Method = Literal["rouge1", "rouge2", "rougeL"]


@dataclass(frozen=True)
class RougeMatcher(TokenMatcher):
    """ROUGE between each document and each gold text, a match at or above the threshold.

    Attributes:
        method: ``rouge1`` (tokens), ``rouge2`` (pairs of tokens) or ``rougeL`` (longest common
            subsequence).
        measure: of what is shared, the share of the document (``precision``), of the gold text
            (``recall``), their harmonic mean (``fmeasure``, as K-RAG), or the larger of the two
            (``overlap``, the overlap coefficient), which does not mind how large the chunks are.
        threshold: the least score that is a match, in (0, 1].
        tokenizer: a name, mapping, import path or `Tokenizer`.
    """

    method: Method = "rouge2"
    measure: Measure = "fmeasure"
    threshold: Threshold = 0.5
    tokenizer: TokenizerOption = field(default_factory=UnicodeTokenizer)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(name=self.method, least_tokens=2 if self.method == "rouge2" else 1)

    @classmethod
    def methods(cls) -> Mapping[str, Mapping[str, str]]:
        """Each ROUGE."""
        return {name: {"method": name} for name in get_args(Method)}

    def profile_for(self, profile: Profile) -> Profile:
        """What a profile says of matches that come from graded scores."""
        return profile.for_scores()

    def compare(
        self, docs: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]
    ) -> Iterator[Floats]:
        """ROUGE of each query's documents and gold texts, one query after another."""
        for of_docs, of_golds in zip(docs, golds):
            doc_tokens, gold_tokens = self.corpus.of(of_docs), self.corpus.of(of_golds)
            yield rouge(self.method, self.measure, doc_tokens, gold_tokens, self.corpus)


def rouge(
    method: Method,
    measure: Measure,
    docs: Sequence[Tokens],
    golds: Sequence[Tokens],
    corpus: TokenCorpus,
) -> Floats:
    """The ROUGE scores of a query's n documents and m gold texts, by token numbers: n x m."""
    if not (docs and golds):
        return np.zeros((len(docs), len(golds)))
    if method == "rougeL":
        from rapidfuzz.distance import LCSseq
        from rapidfuzz.process import cdist

        shared = cdist(
            [corpus.string(tokens) for tokens in docs],
            [corpus.string(tokens) for tokens in golds],
            scorer=LCSseq.similarity,
            dtype=np.int64,
        )
        doc_lengths, gold_lengths = lengths(docs), lengths(golds)
    else:
        n = 1 if method == "rouge1" else 2
        shared, doc_lengths, gold_lengths = ngram_overlaps(docs, golds, n, corpus)
    return shared_part(measure, shared, shared, doc_lengths, gold_lengths)
