"""Aligned spans: a share of the chunk, or of the gold text, is the other's own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.lists import Lists, distinct, starts
from kragx.data.phrases import UNSPACED_FOR_ONE, are_short
from kragx.data.tokenizers import without_hanja
from kragx.data.tokens import Tokens, of_pairs
from kragx.ground.options import whole
from kragx.matchers.overlap import PassageMatcher, part_of, phrases
from kragx.matchers.texts import Of, shared_part
from kragx.metrics import Floats, Ints
from kragx.metrics.spans.align import align
from kragx.metrics.spans.reading import reading
from kragx.metrics.spans.rows import RUN, SEPARATOR, TokenRows, weights


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
        short: gold of at most so many tokens is looked for as a phrase; three characters are a
            token in scripts that write without spaces. 0 for none.
        siblings: ``apart`` makes a document no match that has other known words between the words
            of the gold text, as texts made from one template have (`kragx.matchers.siblings`).
        tokenizer: a name, mapping, import path or `Tokenizer`.
        numbers: ``alike`` reads Korean amounts alike where a unit settles them: 300만원,
            3,000,000원, 삼백만 원 (`kragx.data.amounts`). None reads them as they are written.
    """

    of: Of = "either"
    run: Annotated[int, whole(2, 1000)] = RUN
    name = "span"
    # A text as it was before a pipeline put something around it.
    clean: ClassVar[staticmethod[[str], str]] = staticmethod(reading)

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """The share that is aligned, by words or by letters."""
        if not self._by_characters:
            return self._shares(docs, golds, self.token_corpus)
        in_letters, of_golds = self._letters.numbered(without_hanja, docs, golds)
        shares = self._shares(in_letters, of_golds, self._letters)
        # Short gold begins and ends where words do.
        is_short = self.as_phrases(golds)
        if is_short.any():
            _, gold = of_pairs(docs.n_texts, golds.n_texts)
            shares[is_short[gold]] *= phrases(*part_of(docs, golds, is_short), self.token_corpus)
        return shares

    def _shares(self, docs: Lists, golds: Lists, corpus: TokenCorpus) -> Floats:
        """The share of each pair; all queries are aligned at once."""
        doc_tokens, gold_tokens = (corpus.of_rows(texts.numbers) for texts in (docs, golds))
        doc, gold = of_pairs(docs.n_texts, golds.n_texts)
        size = np.array([*map(len, corpus.words), 0], np.float64)  # -1, a separator, is last
        doc_size, gold_size = (
            np.array([size[tokens].sum() for tokens in texts])[of_pair]
            for texts, of_pair in ((doc_tokens, doc), (gold_tokens, gold))
        )
        first_pair = starts(golds.n_texts[docs.of_text])  # of each document

        def sums(in_docs: Shared, in_golds: Shared) -> Iterator[Floats]:
            """For each pair the characters of the document that are shared, and of the gold."""
            place_of_gold = in_golds.row - golds.starts[golds.of_text[in_golds.row]]
            pair = first_pair[in_docs.row] + place_of_gold
            for side in (in_docs, in_golds):  # each token once
                keys = distinct(pair * len(side.tokens) + side.place)
                of_pair, place = np.divmod(keys, max(1, len(side.tokens)))
                yield np.bincount(of_pair, size[side.tokens[place]], len(doc)).astype(np.float64)

        in_golds, in_docs = self._aligned(gold_tokens, golds, doc_tokens, docs, corpus)
        of_doc, of_gold = sums(in_docs, in_golds)
        # The other way round for documents of more than one word that are shorter than a run.
        limit = self.run * UNSPACED_FOR_ONE
        brief = [
            tokens
            # Its length is quicker to see than its weight.
            if len(tokens) < limit and UNSPACED_FOR_ONE < weights(tokens, corpus).sum() < limit
            else tokens[:0]
            for tokens in doc_tokens
        ]
        if any(map(len, brief)):
            is_short = are_short(gold_tokens, corpus, self.short).tolist()
            passages = [
                tokens[:0] if short else tokens for tokens, short in zip(gold_tokens, is_short)
            ]
            of_brief, in_passages = sums(*self._aligned(brief, docs, passages, golds, corpus))
            is_whole = (of_brief > 0) & (of_brief == doc_size)
            of_doc = np.where(is_whole, doc_size, of_doc)
            of_gold = np.where(is_whole, np.maximum(in_passages, of_gold), of_gold)
        return shared_part(self.of, of_doc, of_gold, doc_size, gold_size)

    def _aligned(
        self,
        texts: Sequence[Tokens],
        of_query: Lists,
        streams: Sequence[Tokens],
        beside: Lists,
        corpus: TokenCorpus,
    ) -> tuple[Shared, Shared]:
        """What texts and the other texts of their query share, in the one and in the other.

        Args:
            texts: the tokens of each text, which is looked for.
            of_query: says of which query each is.
            streams: the tokens of each text in which it is looked for.
            beside: says the same of those.
            corpus: where the tokens come from.
        """
        rows = TokenRows.of(texts)
        between = np.full(1, SEPARATOR, np.int32)
        parts = TokenRows.of([np.concatenate((between, tokens, between)) for tokens in streams])
        cells = align(
            rows,
            TokenRows(parts.tokens, parts.start[np.append(beside.starts, len(streams))]),
            of_query.of_text,
            corpus,
            run=self.run,
            short=self.short,
            apart=True,
        )
        return (
            Shared(rows.tokens, cells.gold, rows.row[cells.gold]),
            Shared(parts.tokens, cells.stream, parts.row[cells.stream]),
        )


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
