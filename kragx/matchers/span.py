"""Aligned spans: a share of the chunk, or of the gold text, is the other's own words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np

from kragx.data import UnicodeTokenizer
from kragx.matchers.base import Threshold, TokenizerOption
from kragx.matchers.batches import TokenMatcher
from kragx.matchers.shares import Of, lengths, shared_part
from kragx.metrics import Floats, Ints
from kragx.metrics.spans.align import align
from kragx.metrics.spans.reading import reading
from kragx.metrics.spans.rows import RUN, SEPARATOR, Rows
from kragx.plugins import whole

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
        wrappers: what a pipeline put around texts, and markup, is ``removed`` or ``kept``.
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
        n_docs, n_golds = lengths(docs), lengths(golds)
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
            yield shared_part(
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
