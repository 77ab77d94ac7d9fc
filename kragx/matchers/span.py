"""Aligned spans: a share of the chunk, or of the gold text, is the other's own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.lists import Lists
from kragx.data.ngrams import of_pairs
from kragx.data.phrases import SHORT, UNSPACED_FOR_ONE, are_short, is_short
from kragx.data.stretches import distinct
from kragx.data.tokenizers import AutoTokenizer, without_hanja
from kragx.data.tokens import Tokens
from kragx.matchers.base import Threshold, TokenizerOption
from kragx.matchers.passages import PassageMatcher
from kragx.matchers.phrase import phrases
from kragx.matchers.shares import Of, lengths, shared_part
from kragx.matchers.siblings import Siblings
from kragx.metrics import Floats, Ints
from kragx.metrics.spans.align import align
from kragx.metrics.spans.reading import reading
from kragx.metrics.spans.rows import RUN, SEPARATOR, Rows, weights
from kragx.plugins import one_of, whole

Wrappers = Literal["removed", "kept"]


@dataclass(frozen=True)
class SpanMatcher(PassageMatcher):
    """Aligned runs of tokens cover at least a share of the chunk, or of the gold text.

    The score is the characters of the aligned tokens over those of all tokens of the chunk
    (``of: chunk``), of the gold text (``gold``), or the larger of the two (``either``). How texts
    are read and aligned is said in `kragx.metrics.spans`.

    Attributes:
        of: whose share counts.
        threshold: the least share that is a match, in (0, 1].
        run: the least run that counts, in tokens.
        bridge: the longest gap within a run, in tokens.
        short: gold of at most so many tokens is looked for as a phrase; three characters are a
            token in scripts that write without spaces. 0 for none.
        siblings: ``apart`` makes a document no match that has other known words between the words
            of the gold text, as texts made from one template have (`kragx.matchers.siblings`).
        wrappers: what a pipeline put around texts, and markup, is ``removed`` or ``kept``.
        tokenizer: a name, mapping, import path or `Tokenizer`.
    """

    of: Of = "either"
    threshold: Threshold = 0.5
    run: Annotated[int, whole(2, 1000)] = RUN
    bridge: Annotated[int, whole(0, 1000)] = 0
    short: Annotated[int, whole(0, 1000)] = SHORT
    siblings: Annotated[Siblings, one_of("apart", "together")] = "apart"
    wrappers: Wrappers = "removed"
    tokenizer: TokenizerOption = field(default_factory=AutoTokenizer)
    name = "span"

    def read(self, text: str) -> str:
        """A text as it was before a pipeline put something around it."""
        return reading(text, wrappers=self.wrappers == "removed")

    def compare_all(self, docs: Lists, golds: Lists) -> Floats:
        """The share that is aligned, by words or by letters."""
        if not self._by_characters:
            return np.concatenate([*map(np.ravel, self._shares(docs, golds, self.corpus))])
        letters = self._letters
        in_docs, in_golds = (
            Lists([*map(without_hanja, texts.known)], texts.numbers, texts.n_texts)
            for texts in (docs, golds)
        )
        letters.add([*in_docs.distinct(), *in_golds.distinct()])
        shares = np.concatenate([*map(np.ravel, self._shares(in_docs, in_golds, letters))])
        # Short gold begins and ends where words do.
        is_short = are_short(golds.numbers, self.corpus, self.short)
        if is_short.any():
            _, gold = of_pairs(docs.n_texts, golds.n_texts)
            those = golds.those(is_short)
            of_docs = docs.those((those.n_texts > 0)[docs.of_text])
            shares[is_short[gold]] *= phrases(of_docs, those, self.corpus)
        return shares

    def _shares(
        self,
        docs: Sequence[Sequence[str]],
        golds: Sequence[Sequence[str]],
        corpus: TokenCorpus,
    ) -> Iterator[Floats]:
        """The shares of each query; all queries are aligned at once."""
        doc_tokens = [tokens for texts in docs for tokens in corpus.of(texts)]
        gold_tokens = [tokens for texts in golds for tokens in corpus.of(texts)]
        n_docs, n_golds = lengths(docs), lengths(golds)
        first_doc, first_gold = _firsts(n_docs), _firsts(n_golds)
        query_of_doc, query_of_gold = _numbered(n_docs), _numbered(n_golds)
        first_pair = _firsts(n_docs * n_golds)
        size = np.array([*map(len, corpus.words), 0], np.float64)  # -1, a separator, is last

        def shared(doc: Shared, gold: Shared) -> tuple[Floats, Floats]:
            """For each pair how many characters of the document are shared, and of the gold."""
            query = query_of_gold[gold.row]
            pair = (
                first_pair[query]
                + (doc.row - first_doc[query]) * n_golds[query]
                + (gold.row - first_gold[query])
            )
            sizes = (_sums(pair, of.place, size[of.tokens], first_pair[-1]) for of in (doc, gold))
            return next(sizes), next(sizes)

        gold, doc = self._aligned(gold_tokens, query_of_gold, doc_tokens, first_doc, corpus)
        in_doc, in_gold = shared(doc, gold)
        doc_size = np.array([size[tokens].sum() for tokens in doc_tokens])
        gold_size = np.array([size[tokens].sum() for tokens in gold_tokens])

        # The other way round for documents that are shorter than a run.
        few = [tokens if self._is_few(tokens, corpus) else tokens[:0] for tokens in doc_tokens]
        if any(map(len, few)):
            passages = [
                tokens[:0] if is_short(tokens, corpus, self.short) else tokens
                for tokens in gold_tokens
            ]
            doc, gold = self._aligned(few, query_of_doc, passages, first_gold, corpus)
            of_doc, of_gold = shared(doc, gold)
            query = _numbered(n_docs * n_golds)
            whole = doc_size[
                first_doc[query]
                + (np.arange(len(query)) - first_pair[query]) // np.maximum(n_golds[query], 1)
            ]
            is_whole = (of_doc > 0) & (of_doc == whole)
            in_doc = np.where(is_whole, whole, in_doc)
            in_gold = np.where(is_whole, np.maximum(of_gold, in_gold), in_gold)

        for row, (n, m) in enumerate(zip(n_docs.tolist(), n_golds.tolist())):
            own = slice(first_pair[row], first_pair[row + 1])
            yield shared_part(
                self.of,
                in_doc[own].reshape(n, m),
                in_gold[own].reshape(n, m),
                doc_size[first_doc[row] : first_doc[row + 1], None],
                gold_size[first_gold[row] : first_gold[row + 1]],
            )

    def _aligned(
        self,
        texts: Sequence[Tokens],
        query_of: Ints,
        others: Sequence[Tokens],
        first: Ints,
        corpus: TokenCorpus,
    ) -> tuple[Shared, Shared]:
        """What texts and the other texts of their query share, in the one and in the other.

        Args:
            texts: the tokens of each text, which is looked for.
            query_of: the query of each text.
            others: the tokens of each text in which it is looked for.
            first: the first of `others` of each query, and how many there are.
            corpus: where the tokens come from.
        """
        rows = Rows.of(texts)
        # So many separators that no bridge reaches from one text into the next.
        between = np.full(self.bridge + 1, SEPARATOR, np.int32)
        parts = Rows.of([np.concatenate((between, tokens, between)) for tokens in others])
        cells = align(
            rows,
            Rows(parts.tokens, parts.start[first]),
            query_of,
            corpus,
            run=self.run,
            bridge=self.bridge,
            short=self.short,
            apart=True,
        )
        return (
            Shared(rows.tokens, cells.gold, rows.row[cells.gold]),
            Shared(parts.tokens, cells.stream, parts.row[cells.stream]),
        )

    def _is_few(self, tokens: Tokens, corpus: TokenCorpus) -> bool:
        """Whether a document is shorter than a run, but more than one word."""
        most = self.run * UNSPACED_FOR_ONE
        if len(tokens) >= most:
            return False
        return UNSPACED_FOR_ONE < int(weights(tokens, corpus).sum()) < most


class Shared(NamedTuple):
    """Tokens of texts that are shared.

    Attributes:
        tokens: of all texts, one after another.
        place: where the shared ones stand in `tokens`.
        row: the text of each of those.
    """

    tokens: Tokens
    place: Ints
    row: Ints


def _firsts(lengths: Ints) -> Ints:
    """Where each of several lists begins that stand one after another, and where the last ends."""
    return np.concatenate(([0], np.cumsum(lengths)))


def _numbered(lengths: Ints) -> Ints:
    """For each element of lists of these lengths the number of its list."""
    return np.repeat(np.arange(len(lengths)), lengths)


def _sums(pair: Ints, place: Ints, size: Floats, n: int) -> Floats:
    """For each pair the characters of its aligned tokens, each of them once."""
    keys = distinct(pair * len(size) + place)
    if not keys.size:
        return np.zeros(n)
    return np.asarray(np.bincount(keys // len(size), size[keys % len(size)], n), np.float64)
