"""Matchers that compare tokens, in batches: ROUGE and aligned spans.

ROUGE (shared unigrams, bigrams or the longest common subsequence): Lin, "ROUGE: A Package for
Automatic Evaluation of Summaries" (2004). For the same tokens every score equals rouge-score's, to
the last bit. Spans: a share of the chunk, or of the gold text, is the other's own words.
"""

from collections.abc import Iterable, Iterator, Sequence, Sized
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np

from kragx.data import TokenCorpus, Tokenizer, UnicodeTokenizer, ngram_overlaps
from kragx.errors import shorten
from kragx.matchers.base import Threshold, TokenizerOption
from kragx.matchers.texts import BatchMatcher
from kragx.metrics import Floats, Ints, Profile
from kragx.metrics.spans.align import align
from kragx.metrics.spans.reading import reading
from kragx.metrics.spans.rows import RUN, SEPARATOR, Rows
from kragx.plugins import whole


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


# -- ROUGE -----------------------------------------------------------------------------------

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
    """

    method: Method = "rouge2"
    measure: Measure = "fmeasure"
    threshold: Threshold = 0.5
    tokenizer: TokenizerOption = field(default_factory=UnicodeTokenizer)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(name=self.method, least_tokens=2 if self.method == "rouge2" else 1)

    def remedy(self, tokens: Sequence[str]) -> str:
        """For texts without a pair of tokens."""
        if self.method == "rouge2" and tokens:
            return "use rouge1 or the tokenizer 'char' for texts this short"
        return super().remedy(tokens)

    def profile_for(self, profile: Profile) -> Profile:
        """What a profile says of matches that come from graded scores."""
        return profile.for_scores()

    def compare(
        self, docs: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]
    ) -> Iterator[Floats]:
        """ROUGE of each query's documents and gold texts, one query after another."""
        return map(self._rouge, docs, golds)

    def _rouge(self, docs: Sequence[str], golds: Sequence[str]) -> Floats:
        if not (docs and golds):
            return np.zeros((len(docs), len(golds)))
        doc_tokens, gold_tokens = self.corpus.of(docs), self.corpus.of(golds)
        if self.method == "rougeL":
            from rapidfuzz.distance import LCSseq
            from rapidfuzz.process import cdist

            shared = cdist(
                [self.corpus.string(tokens) for tokens in doc_tokens],
                [self.corpus.string(tokens) for tokens in gold_tokens],
                scorer=LCSseq.similarity,
                dtype=np.int64,
            )
            doc_lengths, gold_lengths = _lengths(doc_tokens), _lengths(gold_tokens)
        else:
            n = 1 if self.method == "rouge1" else 2
            shared, doc_lengths, gold_lengths = ngram_overlaps(
                doc_tokens, gold_tokens, n, self.corpus
            )
        return _share(self.measure, shared, shared, doc_lengths, gold_lengths)


def _share(
    of: Measure | Of,
    in_doc: Ints | Floats,
    in_gold: Ints | Floats,
    doc_sizes: Ints | Floats,
    gold_sizes: Ints | Floats,
) -> Floats:
    """What is shared of n documents and m gold texts, as a share of the sizes that count.

    Args:
        of: whose share counts, in the words of ROUGE or of spans.
        in_doc: (n x m) how much of each document is shared.
        in_gold: (n x m) how much of each gold text is.
        doc_sizes: (n) the sizes of documents: whole numbers, maybe 0.
        gold_sizes: (m) those of gold texts.
    """
    # The order of operations is rouge-score's, so that the results are the same floats.
    of_doc = in_doc / np.maximum(doc_sizes, 1)[:, None]
    of_gold = in_gold / np.maximum(gold_sizes, 1)[None, :]
    match of:
        case "precision" | "chunk":
            return of_doc
        case "recall" | "gold":
            return of_gold
        case "overlap" | "either":
            return np.maximum(of_doc, of_gold)
        case "fmeasure":
            total = of_doc + of_gold
            return 2 * of_doc * of_gold / np.where(total > 0, total, 1.0)


def _lengths(lists: Sequence[Sized]) -> Ints:
    return np.fromiter(map(len, lists), np.int64, len(lists))


# -- spans -----------------------------------------------------------------------------------

Wrappers = Literal["removed", "kept"]


@dataclass(frozen=True)
class SpanMatcher(TokenMatcher):
    """Aligned runs of tokens cover at least a share of the chunk, or of the gold text.

    The score is the characters of the aligned tokens over those of all tokens of the chunk
    (``of: chunk``), of the gold text (``gold``), or the larger of the two (``either``). How texts
    are read and aligned is said in `kragx.metrics.spans`.

    Attributes:
        of: whose share counts.
        threshold: the least share that is a match, in (0, 1].
        run: the least run that counts, in tokens.
        bridge: the longest gap within a run, in tokens.
        wrappers: what a pipeline put around texts is ``removed`` or ``kept``.
        tokenizer: a name, mapping, import path or `Tokenizer`.
    """

    of: Of = "either"
    threshold: Threshold = 0.5
    run: Annotated[int, whole(2, 1000)] = RUN
    bridge: Annotated[int, whole(0, 1000)] = 0
    wrappers: Wrappers = "removed"
    tokenizer: TokenizerOption = field(default_factory=UnicodeTokenizer)
    name = "span"

    def read(self, text: str) -> str:
        """A text as it was before a pipeline put something around it."""
        return reading(text, wrappers=self.wrappers == "removed")

    def compare(
        self, docs: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]
    ) -> Iterator[Floats]:
        """The share that is aligned; all queries are aligned at once."""
        doc_tokens = [tokens for texts in docs for tokens in self.corpus.of(texts)]
        gold_tokens = [tokens for texts in golds for tokens in self.corpus.of(texts)]
        n_docs, n_golds = _lengths(docs), _lengths(golds)
        # So many separators that no bridge reaches from one document into the next.
        between = np.full(self.bridge + 1, SEPARATOR, np.int32)
        parts = Rows.of([np.concatenate((between, tokens, between)) for tokens in doc_tokens])
        first_doc = np.concatenate(([0], np.cumsum(n_docs)))
        streams = Rows(parts.tokens, parts.start[first_doc])
        rows = Rows.of(gold_tokens)
        query_of = np.repeat(np.arange(len(golds)), n_golds)
        words = self.corpus.words
        cells = align(rows, streams, query_of, words, run=self.run, bridge=self.bridge, apart=True)

        doc, gold = parts.row[cells.stream], rows.row[cells.gold]
        query = query_of[gold]
        first_gold = np.cumsum(n_golds) - n_golds
        first_pair = np.cumsum(n_docs * n_golds) - n_docs * n_golds
        n_pairs = int((n_docs * n_golds).sum())
        pair = (
            first_pair[query]
            + (doc - first_doc[query]) * n_golds[query]
            + (gold - first_gold[query])
        )
        size = np.array([*map(len, words), 0], np.float64)  # -1, a separator, is the last
        in_doc, in_gold = (
            _sums(pair, place, size[tokens], n_pairs)
            for place, tokens in ((cells.stream, parts.tokens), (cells.gold, rows.tokens))
        )
        doc_size = np.bincount(parts.row, size[parts.tokens], len(doc_tokens))
        gold_size = np.bincount(rows.row, size[rows.tokens], len(gold_tokens))
        for row, (n, m) in enumerate(zip(n_docs.tolist(), n_golds.tolist())):
            own = slice(first_pair[row], first_pair[row] + n * m)
            yield _share(
                self.of,
                in_doc[own].reshape(n, m),
                in_gold[own].reshape(n, m),
                doc_size[first_doc[row] : first_doc[row] + n],
                gold_size[first_gold[row] : first_gold[row] + m],
            )


def _sums(pair: Ints, place: Ints, size: Floats, n: int) -> Floats:
    """For each pair the characters of its aligned tokens, each of them once."""
    keys = np.unique(pair * len(size) + place)
    if not keys.size:
        return np.zeros(n)
    return np.asarray(np.bincount(keys // len(size), size[keys % len(size)], n), np.float64)
