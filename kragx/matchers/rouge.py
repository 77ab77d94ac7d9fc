"""ROUGE: shared unigrams, bigrams or the longest common subsequence.

Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004). For the same tokens every
score equals rouge-score's, to the last bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, get_args

import numpy as np

from kragx.data import TokenCorpus, UnicodeTokenizer
from kragx.data.lists import Lists
from kragx.data.tokens import Pairs, ngram_overlaps, of_pairs
from kragx.matchers.base import Numbers, Threshold, TokenizerOption
from kragx.matchers.text_base import TokenMatcher
from kragx.metrics import Floats, Ints

Method = Literal["rouge1", "rouge2", "rougeL"]
Measure = Literal["fmeasure", "precision", "recall", "overlap"]
Of = Literal["either", "chunk", "gold"]


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
        numbers: ``alike`` reads Korean amounts alike where a unit settles them: 300만원,
            3,000,000원, 삼백만 원 (`kragx.data.amounts`). None reads them as they are written.
    """

    method: Method = "rouge2"
    measure: Measure = "fmeasure"
    threshold: Threshold = 0.5
    tokenizer: TokenizerOption = field(default_factory=UnicodeTokenizer)
    numbers: Numbers = None
    graded = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(name=self.name or self.method, least_tokens=2 if self.method == "rouge2" else 1)

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records; of a subclass, which is a method of its own, also which ROUGE."""
        variant = {} if self.name == self.method else {"method": self.name, "rouge": self.method}
        return super().settings | variant

    @classmethod
    def methods(cls) -> Mapping[str, Mapping[str, str]]:
        """Each ROUGE."""
        return {name: {"method": name} for name in get_args(Method)}

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """ROUGE of each query's documents and gold texts, one query after another."""
        if self.method == "rougeL":
            return scores_of_counts(self.measure, _subsequences(docs, golds, self.token_corpus))
        n = 1 if self.method == "rouge1" else 2
        return scores_of_counts(self.measure, ngram_overlaps(docs, golds, n, self.token_corpus))


def scores_of_counts(measure: Measure, pairs: Pairs) -> Floats:
    """ROUGE of pairs for what they share."""
    return shared_part(measure, pairs.shared, pairs.shared, pairs.doc_sizes, pairs.gold_sizes)


def shared_part(
    measure: Measure | Of,
    in_doc: Ints | Floats,
    in_gold: Ints | Floats,
    doc_sizes: Ints | Floats,
    gold_sizes: Ints | Floats,
) -> Floats:
    """What is shared of pairs of a document and a gold text, as a share of the sizes that count.

    The arrays have one shape, or such as numpy makes one of.

    Args:
        measure: whose share counts, in the words of ROUGE or of spans.
        in_doc: how much of each document is shared.
        in_gold: how much of each gold text is.
        doc_sizes: the sizes of the documents: whole numbers, maybe 0.
        gold_sizes: those of the gold texts.
    """
    # The order of operations is rouge-score's, so that the results are the same floats.
    of_doc = in_doc / np.maximum(doc_sizes, 1)
    of_gold = in_gold / np.maximum(gold_sizes, 1)
    match measure:
        case "precision" | "chunk":
            return of_doc
        case "recall" | "gold":
            return of_gold
        case "overlap" | "either":
            return np.maximum(of_doc, of_gold)
        case "fmeasure":
            total = of_doc + of_gold
            return 2 * of_doc * of_gold / np.where(total > 0, total, 1.0)


def _subsequences(docs: Lists, golds: Lists, corpus: TokenCorpus) -> Pairs:
    """How long the longest common subsequence of each pair is, for all queries at once."""
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    texts, wanted = iter(corpus.strings(docs.numbers)), iter(corpus.strings(golds.numbers))
    shared = [np.empty(0, np.int64)]
    for n, m in zip(docs.n_texts.tolist(), golds.n_texts.tolist()):
        # rapidfuzz prepares what stands on the left, once a text: gold is less and shorter.
        sides = [*islice(wanted, m)], [*islice(texts, n)]
        if n and m:
            shared.append(cdist(*sides, scorer=LCSseq.similarity, dtype=np.int64).T.ravel())
    doc, gold = of_pairs(docs.n_texts, golds.n_texts)
    sizes = corpus.lengths[docs.numbers][doc], corpus.lengths[golds.numbers][gold]
    return Pairs(np.concatenate(shared), *sizes)
