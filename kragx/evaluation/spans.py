"""Reads the texts of an evaluation as spans, batch by batch."""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np

from kragx.data import Doc, Gold, TokenCorpus, Tokenizer, describe, tokenizer
from kragx.data.phrases import Compounds, is_short
from kragx.data.tokenizers import LETTERS, AutoTokenizer, without_hanja
from kragx.errors import DataError
from kragx.matchers import MatchWarning
from kragx.metrics import Ints, MatchTable, RankedList
from kragx.metrics.spans.align import Cells, align
from kragx.metrics.spans.cover import Part
from kragx.metrics.spans.grams import repetitions, twins
from kragx.metrics.spans.offsets import Placed, locate, placed
from kragx.metrics.spans.reading import SpanOptions, reading
from kragx.metrics.spans.rows import Rows, ranges
from kragx.printing import phrase
from kragx.warned import warn

_BATCH = 256  # queries whose tokens are compared at once
_HELD = ("_lists", "_repeated", "_corpus", "_words")  # by a reader, while it reads
_NO_TOKENS = np.empty(0, np.int32)


GoldTexts = list[list[Gold | Doc]]
"""For each gold item of a query its texts: its own and those of its alternatives."""


class Reader:
    """Reads the answers of an evaluation, or of a part of it, batch by batch.

    What it knows of them afterwards can be sent to another process, and be added up.
    """

    def __init__(self, lists: Sequence[RankedList], table: MatchTable, how: SpanOptions) -> None:
        self._lists = lists
        self._repeated = [table.repeated[a:b] for a, b in pairwise(table.doc_start)]
        self._how = how
        self._words = TokenCorpus(self._tokenizer)
        self._corpus = TokenCorpus(LETTERS, in_letters=True) if self._by_letters else self._words
        self._n_offsets = self._n_texts = 0
        self._without: dict[str, None] = {}
        self._sources: tuple[dict[str, None], dict[str, None]] = ({}, {})

    @property
    def _by_letters(self) -> bool:
        return self._how.tokenizer == "auto" and self._how.passages == "characters"

    @property
    def _tokenizer(self) -> Tokenizer:
        how = self._how
        return AutoTokenizer(how.passages) if how.tokenizer == "auto" else tokenizer(how.tokenizer)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _HELD}

    def add(self, later: Self) -> None:
        """Add what is known of the answers behind these."""
        self._n_offsets += later._n_offsets
        self._n_texts += later._n_texts
        self._without |= later._without
        for sources, more in zip(self._sources, later._sources):
            sources.update(more)

    def settings(self) -> dict[str, Any]:
        """What a result records."""
        how = self._how
        return {
            "run": how.run,
            "bridge": how.bridge,
            "short": how.short,
            "wrappers": how.wrappers,
            "tokenizer": describe(self._tokenizer),
            "offsets": how.offsets,
            "keys": [how.source, how.start, how.end],
            "n_queries_by_offsets": self._n_offsets,
            "n_queries_by_text": self._n_texts,
        }

    def warn(self) -> None:
        """Say which gold texts have no token, and that offsets are of different sources."""
        gold, docs = self._sources
        if gold and docs and not gold.keys() & docs.keys():
            warn(
                phrase(
                    "offsets: no document is of a source that gold is of, so nothing is covered "
                    "(gold: {gold!r}, retrieved: {retrieved!r}); name the key with the same ids in "
                    "both (source=...), or compare texts (offsets=off)",
                    gold=next(iter(gold)),
                    retrieved=next(iter(docs)),
                ),
                MatchWarning,
            )
        if self._without:
            warn(
                phrase(
                    "gold texts that yield no token with the tokenizer {tokenizer!r} and are never "
                    "covered: {n}, for example {example!r}",
                    tokenizer=self._how.tokenizer,
                    n=len(self._without),
                    example=next(iter(self._without)),
                ),
                MatchWarning,
            )

    def parts(self) -> Iterator[Part]:
        """A part for each batch of queries with text, and for each query with offsets."""
        # One part holds consecutive queries, so that rows keep their order.
        batch: list[tuple[GoldTexts, list[str]]] = []
        for ranked, repeated in zip(self._lists, self._repeated):
            golds = _gold_texts(ranked)
            exact = self._placed(ranked, list(chain(*golds))) if golds else None
            if exact is None:
                docs = zip(ranked.docs, repeated)
                batch.append((golds, ["" if again else doc.text or "" for doc, again in docs]))
                self._n_texts += bool(golds)
            if batch and (exact is not None or len(batch) == _BATCH):
                yield self._aligned(batch)
                batch = []
            if exact is not None:
                self._n_offsets += 1
                yield self._located(golds, *exact)
        if batch:
            yield self._aligned(batch)

    def _placed(
        self, ranked: RankedList, golds: Sequence[Gold | Doc]
    ) -> tuple[list[Placed], list[Placed]] | None:
        """The places of all texts of a query; None if they are to be compared instead."""
        how = self._how
        if how.offsets == "off":
            return None

        def place(text: Gold | Doc) -> Placed | None:
            return placed(text.text, text.metadata, how)

        of_gold, of_docs = list(map(place, golds)), list(map(place, ranked.docs))
        known = [place for place in of_gold if place is not None]
        known_docs = [place for place in of_docs if place is not None]
        if len(known) == len(of_gold) and len(known_docs) == len(of_docs):
            return known, known_docs
        if how.offsets == "only":
            what = "a gold text" if None in of_gold else f"rank {of_docs.index(None) + 1}"
            raise DataError(
                f"query {ranked.query.id!r}: offsets=only, and the metadata of {what} do not say "
                f"where it stands ({how.source!r} and {how.start!r} that fit its length)"
            )
        return None

    def _aligned(self, batch: Sequence[tuple[GoldTexts, list[str]]]) -> Part:
        def read(text: str) -> str:
            as_read = reading(text, wrappers=self._how.wrappers == "removed")
            return without_hanja(as_read) if self._by_letters else as_read

        golds = [[read(gold.text or "") for gold in chain(*golds)] for golds, _ in batch]
        docs = [[read(text) for text in texts] for _, texts in batch]
        corpus = self._corpus
        corpus.add(chain(*golds, *docs))
        gold_tokens = [tokens for texts in golds for tokens in corpus.of(texts)]
        self._without.update(
            (text, None) for text, tokens in zip(chain(*golds), gold_tokens) if not len(tokens)
        )
        doc_tokens = [corpus.of(texts) for texts in docs]
        gold_rows = Rows.of(gold_tokens)
        streams = Rows.of([np.concatenate((_NO_TOKENS, *of)) for of in doc_tokens])
        item_query, text_item, stream_of = _items_of([golds for golds, _ in batch])
        cells = align(
            gold_rows,
            streams,
            stream_of,
            corpus,
            run=self._how.run,
            bridge=self._how.bridge,
            short=self._how.short,
        )
        if self._by_letters:
            cells = self._short_by_words(
                cells, [*chain(*golds)], docs, gold_rows, streams, stream_of
            )
        lengths = [np.fromiter(map(len, of), np.int64, len(of)) for of in doc_tokens]
        repeats = repetitions(streams, self._how.run, corpus)
        twin = twins(gold_rows, stream_of, self._how.run, corpus)
        return Part(cells, repeats, twin, gold_rows.lengths, text_item, item_query, lengths)

    def _short_by_words(
        self,
        cells: Cells,
        golds: Sequence[str],
        docs: Sequence[Sequence[str]],
        gold_rows: Rows,
        streams: Rows,
        stream_of: Ints,
    ) -> Cells:
        """Cells of letters, those of short gold where it begins and ends as words do."""
        words = self._words
        words.add([*golds, *chain(*docs)])
        phrases = words.of(golds)
        short = [is_short(tokens, words, self._how.short) for tokens in phrases]
        rows = np.flatnonzero(short)
        if not rows.size:
            return cells
        of_streams = [np.concatenate((_NO_TOKENS, *words.of(texts))) for texts in docs]
        compounds = Compounds(of_streams, phrases, words)
        first, size = gold_rows.start, gold_rows.lengths
        found = [
            (first[row], streams.start[stream_of[row]] + place, size[row])
            for row in rows.tolist()
            for place in compounds.starts(int(stream_of[row]), row)
        ]
        begin, place, length = np.array(found, np.int64).reshape(-1, 3).T
        step = ranges(length)
        stays = ~np.array(short)[gold_rows.row[cells.gold]]
        columns = (
            (cells.gold, np.repeat(begin, length) + step),
            (cells.stream, np.repeat(place, length) + step),
            (cells.known, np.repeat(place + length - 1, length)),
        )
        gold, stream, known = (np.concatenate((own[stays], more)) for own, more in columns)
        equal = np.concatenate((cells.equal[stays], np.ones(len(step), bool)))
        return Cells(gold, stream, known, equal)

    def _located(self, golds: GoldTexts, of_gold: Sequence[Placed], docs: Sequence[Placed]) -> Part:
        # Repeated documents need no care: the same place counts once, another is another.
        for sources, texts in zip(self._sources, (of_gold, docs)):
            sources.update((text.source, None) for text in texts)
        cells, repeats, twin = locate(of_gold, docs)
        item_query, text_item, _ = _items_of([golds])
        gold_lengths, lengths = (
            np.array([len(text.words) for text in texts], np.int64) for texts in (of_gold, docs)
        )
        return Part(cells, repeats, twin, gold_lengths, text_item, item_query, [lengths])


def _gold_texts(ranked: RankedList) -> GoldTexts:
    """The texts of a query's gold: of its items of a grade above 0.

    Raises:
        DataError: a gold item has none, or a document that is compared with them.
    """
    wanted = [(n, gold) for n, gold in enumerate(ranked.query.gold, start=1) if gold.grade > 0]
    golds: GoldTexts = [
        [text for text in _texts_of(gold) if text.text is not None] for _, gold in wanted
    ]
    textless = [
        *(f"gold {n}: {gold.id!r}" for (n, gold), texts in zip(wanted, golds) if not texts),
        *(
            f"rank {rank}: document {doc.id!r}"
            for rank, doc in enumerate(ranked.docs if golds else (), start=1)
            if doc.text is None
        ),
    ]
    if textless:
        raise DataError(
            f"query {ranked.query.id!r}, {textless[0]} has no text, and coverage, density and iou "
            "compare texts; add it, or leave them out"
        )
    return golds


def _texts_of(gold: Gold) -> tuple[Gold | Doc, ...]:
    return (gold, *gold.alternatives)


def _items_of(golds: Sequence[GoldTexts]) -> tuple[Ints, Ints, Ints]:
    """The query of each gold item; the item and the query of each gold text."""
    item_query = _numbered(list(map(len, golds)))
    text_item = _numbered([len(texts) for of_query in golds for texts in of_query])
    return item_query, text_item, item_query[text_item]


def _numbered(lengths: Sequence[int]) -> Ints:
    """For each element of lists of these lengths the number of its list."""
    return np.repeat(np.arange(len(lengths), dtype=np.int64), np.array(lengths, np.int64))
