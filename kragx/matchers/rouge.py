"""ROUGE: shared unigrams, bigrams or the longest common subsequence.

Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004). For the same tokens every
score equals rouge-score's, to the last bit.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from kragx.data import TokenCorpus, UnicodeTokenizer
from kragx.data.ngrams import Pairs, Texts, ngram_overlaps
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
        doc_tokens, gold_tokens = map(self.corpus.of, docs), map(self.corpus.of, golds)
        yield from rouge(self.method, self.measure, [*doc_tokens], [*gold_tokens], self.corpus)


def rouge(
    method: Method, measure: Measure, docs: Texts, golds: Texts, corpus: TokenCorpus
) -> Iterator[Floats]:
    """Yield the ROUGE scores of each query's n documents and m gold texts, n x m."""
    of_queries = _subsequences(docs, golds, corpus)
    if method != "rougeL":
        of_queries = ngram_overlaps(docs, golds, 1 if method == "rouge1" else 2, corpus)
    for pairs in of_queries:
        shares = shared_part(measure, pairs.shared, pairs.shared, pairs.doc_sizes, pairs.gold_sizes)
        start = 0
        for n, m in pairs.shapes:
            yield shares[start : start + n * m].reshape(n, m)
            start += n * m


def _subsequences(docs: Texts, golds: Texts, corpus: TokenCorpus) -> Iterator[Pairs]:
    """How long the longest common subsequence of each pair is."""
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    for of_docs, of_golds in zip(docs, golds):
        n, m = len(of_docs), len(of_golds)
        shared = np.zeros((n, m), np.int64)
        if n and m:
            shared = cdist(
                [corpus.string(tokens) for tokens in of_docs],
                [corpus.string(tokens) for tokens in of_golds],
                scorer=LCSseq.similarity,
                dtype=np.int64,
            )
        doc_sizes, gold_sizes = np.repeat(lengths(of_docs), m), np.tile(lengths(of_golds), n)
        yield Pairs([(n, m)], shared.ravel(), doc_sizes, gold_sizes)
