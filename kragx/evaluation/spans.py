"""Reads the texts of an evaluation as spans, batch by batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np

from kragx.data import Doc, Gold, TokenCorpus, Tokenizer, describe, tokenizer
from kragx.data.phrases import Phrases, are_short
from kragx.data.tokenizers import LETTERS, AutoTokenizer, without_hanja
from kragx.data.tokens import Tokens
from kragx.ground.caller_warnings import warn
from kragx.ground.errors import DataError
from kragx.ground.printing import message
from kragx.matchers import MatchWarning
from kragx.metrics import Ints, MatchTable, RankedList
from kragx.metrics.spans.align import Cells, align
from kragx.metrics.spans.cover import Spread
from kragx.metrics.spans.grams import repetitions, twins
from kragx.metrics.spans.offsets import PlacedText, locate, placed
from kragx.metrics.spans.reading import SpanOptions, reading
from kragx.metrics.spans.rows import TokenRows

_BATCH = 256
"""Queries whose tokens are compared at once."""

GoldTexts = list[list[Gold | Doc]]
"""For each gold item of a query its texts: its own and those of its alternatives."""


@dataclass
class Reader:
    """Reads the answers of an evaluation, batch by batch.

    It keeps how it read them and what is wrong with them.

    Attributes:
        options: how texts are read.
        n_offsets: how many queries were read by offsets.
        n_texts: how many were compared by their texts.
        without: gold texts that yield no token, in order.
        gold_sources: of which sources gold is, in order.
        doc_sources: of which sources documents are.
    """

    options: SpanOptions
    n_offsets: int = 0
    n_texts: int = 0
    without: dict[str, None] = field(default_factory=dict)
    gold_sources: dict[str, None] = field(default_factory=dict)
    doc_sources: dict[str, None] = field(default_factory=dict)

    @property
    def _tokenizer(self) -> Tokenizer:
        options = self.options
        return (
            AutoTokenizer(options.passages)
            if options.tokenizer == "auto"
            else tokenizer(options.tokenizer)
        )

    def add(self, later: Self) -> None:
        """Add what is known of the answers behind these."""
        self.n_offsets += later.n_offsets
        self.n_texts += later.n_texts
        self.without |= later.without
        self.gold_sources |= later.gold_sources
        self.doc_sources |= later.doc_sources

    def settings(self) -> dict[str, Any]:
        """What a result records."""
        options = self.options
        return {
            "run": options.run,
            "bridge": options.bridge,
            "short": options.short,
            "tokenizer": describe(self._tokenizer),
            "offsets": options.offsets,
            "keys": [options.source, options.start, options.end],
            "n_queries_by_offsets": self.n_offsets,
            "n_queries_by_text": self.n_texts,
        }

    def warn(self) -> None:
        """Say which gold texts have no token, and that offsets are of different sources."""
        gold, docs = self.gold_sources, self.doc_sources
        if gold and docs and not gold.keys() & docs.keys():
            warn(
                message(
                    "offsets: no document is of a source that gold is of, so nothing is covered "
                    "(gold: {gold!r}, retrieved: {retrieved!r}); name the key with the same ids in "
                    "both (source=...), or compare texts (offsets=off)",
                    gold=next(iter(gold)),
                    retrieved=next(iter(docs)),
                ),
                MatchWarning,
            )
        if self.without:
            warn(
                message(
                    "gold texts that yield no token with the tokenizer {tokenizer!r} and are never "
                    "covered: {n}, for example {example!r}",
                    tokenizer=self.options.tokenizer,
                    n=len(self.without),
                    example=next(iter(self.without)),
                ),
                MatchWarning,
            )

    def spread(self, lists: Sequence[RankedList], table: MatchTable) -> Spread:
        """Where the gold of each query stands in what was retrieved for it.

        Raises:
            DataError: a gold item or a document has no text.
        """
        return Spread.joined(self._spreads(lists, table))

    def _spreads(self, lists: Sequence[RankedList], table: MatchTable) -> Iterator[Spread]:
        """One for each batch of queries with text, and for each query with offsets."""
        words = TokenCorpus(self._tokenizer)
        by_letters = (self.options.tokenizer, self.options.passages) == ("auto", "characters")
        letters = TokenCorpus(LETTERS, in_letters=True) if by_letters else None
        # A batch holds consecutive queries, so that rows keep their order.
        batch: list[tuple[GoldTexts, list[str]]] = []
        for ranked, (first, last) in zip(lists, pairwise(table.doc_start)):
            golds = _gold_texts(ranked)
            places = self._placed(ranked, list(chain(*golds))) if golds else None
            if places is None:
                docs = zip(ranked.docs, table.repeated[first:last])
                # A repeat is left empty and not out, so that ranks stay; what it holds was read
                # before.
                batch.append((golds, ["" if repeat else doc.text or "" for doc, repeat in docs]))
                self.n_texts += bool(golds)
            if batch and (places is not None or len(batch) == _BATCH):
                yield self._aligned(batch, words, letters)
                batch = []
            if places is not None:
                self.n_offsets += 1
                yield self._located(golds, *places)
        if batch:
            yield self._aligned(batch, words, letters)

    def _placed(
        self, ranked: RankedList, golds: Sequence[Gold | Doc]
    ) -> tuple[list[PlacedText], list[PlacedText]] | None:
        """The places of all texts of a query; None if they are to be compared instead."""
        options = self.options
        if options.offsets == "off":
            return None
        n, texts = len(golds), (*golds, *ranked.docs)
        places = [placed(text.text, text.metadata, options) for text in texts]
        told = [place for place in places if place is not None]
        if len(told) == len(places):
            return told[:n], told[n:]
        return None

    def _aligned(
        self,
        batch: Sequence[tuple[GoldTexts, list[str]]],
        words: TokenCorpus,
        letters: TokenCorpus | None,
    ) -> Spread:
        options, corpus = self.options, letters or words

        def read(text: str) -> str:
            text = reading(text)
            return without_hanja(text) if letters else text

        item_query, text_item = _items_of([golds for golds, _ in batch])
        golds = [read(gold.text or "") for of_query, _ in batch for gold in chain(*of_query)]
        docs = [list(map(read, texts)) for _, texts in batch]
        corpus.add(chain(golds, *docs))
        gold_tokens, doc_tokens = corpus.of(golds), [corpus.of(texts) for texts in docs]
        self.without |= {text: None for text, tokens in zip(golds, gold_tokens) if not len(tokens)}
        gold_rows, streams = TokenRows.of(gold_tokens), _streams(doc_tokens)
        stream_of = item_query[text_item]
        cells = align(
            gold_rows,
            streams,
            stream_of,
            corpus,
            run=options.run,
            bridge=options.bridge,
            short=options.short,
        )
        if letters:
            # Short gold stands where it begins and ends as words do.
            words.add(chain(golds, *docs))
            phrases = words.of(golds)
            short = are_short(phrases, words, options.short)
            in_words = _streams([words.of(texts) for texts in docs]).texts()
            compounds = Phrases(in_words, phrases, words, compounds=True)
            cells = cells.where(~short[gold_rows.row[cells.gold]]).joined(
                Cells.of_phrases(
                    (gold_rows.start[row], streams.start[query] + place, gold_rows.lengths[row])
                    for row in np.flatnonzero(short).tolist()
                    for query in (int(stream_of[row]),)
                    for place in compounds.letters(query, row)
                )
            )
        return Spread.of(
            cells,
            repetitions(streams, options.run, corpus),
            twins(gold_rows, stream_of, options.run, corpus),
            gold_rows.lengths,
            text_item,
            item_query,
            [np.array([*map(len, token)], np.int64) for token in doc_tokens],
        )

    def _located(
        self, golds: GoldTexts, of_gold: Sequence[PlacedText], docs: Sequence[PlacedText]
    ) -> Spread:
        # Repeated documents need no care: the same place counts once, another is another.
        self.gold_sources.update((text.source, None) for text in of_gold)
        self.doc_sources.update((text.source, None) for text in docs)
        item_query, text_item = _items_of([golds])
        gold_lengths, lengths = (
            np.array([len(text.words) for text in texts], np.int64) for texts in (of_gold, docs)
        )
        located = locate(of_gold, docs)
        return Spread.of(*located, gold_lengths, text_item, item_query, [lengths])


def _streams(texts: Sequence[Sequence[Tokens]]) -> TokenRows:
    """A stream for each query: the tokens of its documents, one after another."""
    return TokenRows.of([np.concatenate((np.empty(0, np.int32), *text)) for text in texts])


def _gold_texts(ranked: RankedList) -> GoldTexts:
    """The texts of a query's gold: of its items of a grade above 0.

    Raises:
        DataError: a gold item has none, or a document that is compared with them.
    """
    relevant = [(n, gold) for n, gold in enumerate(ranked.query.gold, start=1) if gold.grade > 0]
    golds: GoldTexts = [
        [text for text in chain[Gold | Doc]([gold], gold.alternatives) if text.text is not None]
        for _, gold in relevant
    ]
    docs = enumerate(ranked.docs if golds else (), start=1)
    textless = [f"gold {n}: {gold.id!r}" for (n, gold), texts in zip(relevant, golds) if not texts]
    textless += [f"rank {rank}: document {doc.id!r}" for rank, doc in docs if doc.text is None]
    if textless:
        raise DataError(
            "query {id!r}, {textless} has no text, and coverage, density and iou "
            "compare texts; add it, or leave them out",
            id=ranked.query.id,
            textless=textless[0],
        )
    return golds


def _items_of(golds: Sequence[GoldTexts]) -> tuple[Ints, Ints]:
    """The query of each gold item, and the item of each gold text."""
    n_items, n_texts = map(len, golds), (len(texts) for of_query in golds for texts in of_query)
    item_query, text_item = (
        np.repeat(np.arange(len(sizes)), sizes)
        for sizes in (np.array([*lengths], np.int64) for lengths in (n_items, n_texts))
    )
    return item_query, text_item
