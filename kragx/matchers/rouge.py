"""ROUGE matchers: shared unigrams, bigrams or the longest common subsequence of tokens.

Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004). For the same tokens every
score equals rouge-score's, to the last bit.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kragx.data.tokenizers import Tokenizer, UnicodeTokenizer, tokenizer
from kragx.data.tokens import TokenCorpus, Tokens, ngram_overlaps
from kragx.errors import UsageError, nearest
from kragx.matchers.base import MatchItem, MatchWarning

Method = Literal["rouge1", "rouge2", "rougeL"]
Measure = Literal["fmeasure", "precision", "recall", "overlap"]

# Enough for a tokenizer that works in batches, few enough to hold in memory.
_BATCH = 256


@dataclass(frozen=True)
class RougeMatcher:
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
    threshold: float = 0.5
    tokenizer: Tokenizer = field(default_factory=UnicodeTokenizer)
    name: ClassVar[str] = "rouge"

    def __post_init__(self) -> None:
        for option, value, valid in (
            ("method", self.method, get_args(Method)),
            ("measure", self.measure, get_args(Measure)),
        ):
            if value not in valid:
                raise UsageError(
                    f"match.{option}: unknown value {value!r}; {nearest(str(value), valid)}"
                )
        object.__setattr__(self, "threshold", check_threshold(self.threshold))
        object.__setattr__(self, "tokenizer", tokenizer(self.tokenizer))

    @cached_property
    def corpus(self) -> TokenCorpus:
        """The texts tokenised so far; kept, so that a second run of the same texts is free."""
        return TokenCorpus(self.tokenizer)

    def sharing(self, corpora: dict[Tokenizer, TokenCorpus]) -> RougeMatcher:
        """This matcher with the corpus of another one that has the same tokenizer, if there is one.

        Several matchers side by side then tokenise each text once between them.
        """
        twin = replace(self)
        try:
            twin.__dict__["corpus"] = corpora.setdefault(self.tokenizer, self.corpus)
        except TypeError:  # a user's tokenizer that cannot be hashed has a corpus of its own
            return self
        return twin

    def scores(
        self, items: Iterable[MatchItem], notes: Counter[str]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield n x t scores in [0, 1]; 0 for a target without text."""
        stream = iter(items)
        least = 2 if self.method == "rouge2" else 1
        without: dict[str, None] = {}
        while batch := list(islice(stream, _BATCH)):
            texts = [(i.doc_texts(self.method), i.target_texts(self.method)) for i in batch]
            self.corpus.add(text for docs, golds in texts for text in (*docs, *golds.values()))
            for item, (docs, golds) in zip(batch, texts):
                if self.corpus.short:
                    without.update(self._without(docs, least))
                    without.update(self._without(golds.values(), least))
                scores = np.zeros((len(docs), len(item.targets)))
                if docs and golds:
                    scores[:, list(golds)] = self._score(docs, list(golds.values()))
                yield scores
        if without:
            notes["n_texts_without_tokens"] += len(without)
            self._warn(list(without))

    def _without(self, texts: Iterable[str], least: int) -> dict[str, None]:
        """The texts of fewer tokens than the method needs."""
        short = self.corpus.short.intersection(texts)
        return {text: None for text in short if len(self.corpus.of([text])[0]) < least}

    def _score(self, docs: Sequence[str], golds: Sequence[str]) -> NDArray[np.float64]:
        doc_tokens, gold_tokens = self.corpus.of(docs), self.corpus.of(golds)
        if self.method == "rougeL":
            shared = self._common_subsequences(doc_tokens, gold_tokens)
            doc_lengths = np.fromiter(map(len, doc_tokens), np.int64)
            gold_lengths = np.fromiter(map(len, gold_tokens), np.int64)
        else:
            n = 1 if self.method == "rouge1" else 2
            shared, doc_lengths, gold_lengths = ngram_overlaps(
                doc_tokens, gold_tokens, n, self.corpus
            )
        return _measure(shared, doc_lengths, gold_lengths, self.measure)

    def _common_subsequences(
        self, docs: Sequence[Tokens], golds: Sequence[Tokens]
    ) -> NDArray[np.int64]:
        from rapidfuzz.distance import LCSseq
        from rapidfuzz.process import cdist

        string = self.corpus.string
        return cdist(
            [string(tokens) for tokens in docs],
            [string(tokens) for tokens in golds],
            scorer=LCSseq.similarity,
            dtype=np.int64,
        )

    def _warn(self, without: Sequence[str]) -> None:
        (tokens,) = self.tokenizer.tokens(without[:1])
        unit = "pairs of tokens" if self.method == "rouge2" else "tokens"
        example = without[0] if len(without[0]) <= 40 else without[0][:37] + "..."
        remedy = (
            "use rouge1 or the tokenizer 'char' for texts this short"
            if self.method == "rouge2" and tokens
            else "check the tokenizer ('unicode' reads every script)"
        )
        name = getattr(self.tokenizer, "name", type(self.tokenizer).__name__)
        warnings.warn(
            f"texts that yield no {unit} with the tokenizer {name!r} and can match nothing: "
            f"{len(without)}, for example {example!r}; {remedy}",
            MatchWarning,
            stacklevel=2,
        )


def _measure(
    shared: NDArray[np.int64],
    doc_lengths: NDArray[np.int64],
    gold_lengths: NDArray[np.int64],
    measure: Measure,
) -> NDArray[np.float64]:
    # The order of operations is rouge-score's, so that the results are the same floats.
    precision = shared / np.maximum(doc_lengths, 1)[:, None]
    recall = shared / np.maximum(gold_lengths, 1)[None, :]
    match measure:
        case "precision":
            return precision
        case "recall":
            return recall
        case "overlap":
            return np.maximum(precision, recall)
        case "fmeasure":
            total = precision + recall
            return 2 * precision * recall / np.where(total > 0, total, 1.0)


def check_threshold(threshold: object) -> float:
    """A threshold as a float in (0, 1].

    Raises:
        UsageError: it is no number, or outside that range (a threshold of 0 matches everything).
    """
    is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    if is_number and 0 < float(threshold) <= 1:  # type: ignore[arg-type]
        return float(threshold)  # type: ignore[arg-type]
    raise UsageError(
        f"match.threshold: {threshold!r} is out of range; give a number above 0 and at most 1"
    )
