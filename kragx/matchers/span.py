"""The matcher `span`: a share of the chunk, or of the gold text, is the other's own words."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kragx.data.tokenizers import Tokenizer, UnicodeTokenizer, tokenizer
from kragx.data.tokens import TokenCorpus
from kragx.errors import UsageError, nearest
from kragx.matchers.base import MatchItem, MatchWarning
from kragx.matchers.rouge import check_threshold
from kragx.metrics.spans.align import align
from kragx.metrics.spans.least import RUN, Words
from kragx.metrics.spans.reading import reading
from kragx.metrics.spans.rows import SEPARATOR, Rows
from kragx.metrics.table import Ints

Of = Literal["either", "chunk", "gold"]
Wrappers = Literal["removed", "kept"]

_BATCH = 256  # queries whose tokens are compared at once


@dataclass(frozen=True)
class SpanMatcher:
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
    threshold: float = 0.5
    run: int = RUN
    bridge: int = 0
    wrappers: Wrappers = "removed"
    tokenizer: Tokenizer = field(default_factory=UnicodeTokenizer)
    name: ClassVar[str] = "span"

    def __post_init__(self) -> None:
        for option, value, valid in (
            ("of", self.of, get_args(Of)),
            ("wrappers", self.wrappers, get_args(Wrappers)),
        ):
            if value not in valid:
                raise UsageError(
                    f"match.{option}: unknown value {value!r}; {nearest(str(value), valid)}"
                )
        for option, number, least in (("run", self.run, 2), ("bridge", self.bridge, 0)):
            is_whole = isinstance(number, int) and not isinstance(number, bool)
            if not (is_whole and least <= number <= 1000):
                raise UsageError(
                    f"match.{option}: {number!r} is not a whole number from {least} to 1000"
                )
        object.__setattr__(self, "threshold", check_threshold(self.threshold))
        object.__setattr__(self, "tokenizer", tokenizer(self.tokenizer))

    @cached_property
    def corpus(self) -> TokenCorpus:
        """The texts tokenised so far; kept, so that a second run of the same texts is free."""
        return TokenCorpus(self.tokenizer)

    def scores(
        self, items: Iterable[MatchItem], notes: Counter[str]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield n x t shares in [0, 1]; 0 for a target without text."""
        stream = iter(items)
        without: dict[str, None] = {}
        while batch := list(islice(stream, _BATCH)):
            docs = [[self._read(text) for text in item.doc_texts(self.name)] for item in batch]
            golds = [
                {at: self._read(text) for at, text in item.target_texts(self.name).items()}
                for item in batch
            ]
            self.corpus.add(
                text for of_item in zip(docs, golds) for text in (*of_item[0], *of_item[1].values())
            )
            if self.corpus.short:
                texts = {text for of in (*docs, *(gold.values() for gold in golds)) for text in of}
                short = sorted(self.corpus.short & texts)
                without.update((t, None) for t in short if not len(self.corpus.of([t])[0]))
            for item, gold, shares in zip(batch, golds, self._shares(docs, golds)):
                scores = np.zeros((len(item.docs), len(item.targets)))
                scores[:, list(gold)] = shares
                yield scores
        if without:
            notes["n_texts_without_tokens"] += len(without)
            name = getattr(self.tokenizer, "name", type(self.tokenizer).__name__)
            warnings.warn(
                f"texts that yield no token with the tokenizer {name!r} and can match nothing: "
                f"{len(without)}, for example {next(iter(without))!r}; check the tokenizer "
                "('unicode' reads every script)",
                MatchWarning,
                stacklevel=2,
            )

    def _read(self, text: str) -> str:
        return reading(text, wrappers=self.wrappers == "removed")

    def _shares(
        self, docs: Sequence[Sequence[str]], golds: Sequence[Mapping[int, str]]
    ) -> Iterator[NDArray[np.float64]]:
        """For each query documents x gold texts: the share that is aligned."""
        doc_tokens = [tokens for texts in docs for tokens in self.corpus.of(texts)]
        gold_tokens = [tokens for of in golds for tokens in self.corpus.of(of.values())]
        n_docs, n_golds = _lengths(docs), _lengths(golds)
        # So many separators that no bridge reaches from one document into the next.
        between = np.full(self.bridge + 1, SEPARATOR, np.int32)
        parts = Rows.of([np.concatenate((between, tokens, between)) for tokens in doc_tokens])
        first_doc = np.concatenate(([0], np.cumsum(n_docs)))
        streams = Rows(parts.tokens, parts.start[first_doc])
        rows = Rows.of(gold_tokens)
        query_of = np.repeat(np.arange(len(golds)), n_golds)
        words = Words(self.corpus.words)
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
        size = np.array([*map(len, words.texts), 0], np.float64)  # -1, a separator, is the last
        in_doc, in_gold = (
            _sums(pair, place, size[tokens], n_pairs)
            for place, tokens in ((cells.stream, parts.tokens), (cells.gold, rows.tokens))
        )
        doc_size = np.bincount(parts.row, size[parts.tokens], len(doc_tokens))
        gold_size = np.bincount(rows.row, size[rows.tokens], len(gold_tokens))
        for at, (n, m) in enumerate(zip(n_docs.tolist(), n_golds.tolist())):
            own = slice(first_pair[at], first_pair[at] + n * m)
            chunk = doc_size[first_doc[at] : first_doc[at] + n, None]
            text = gold_size[None, first_gold[at] : first_gold[at] + m]
            of_chunk = in_doc[own].reshape(n, m) / np.where(chunk > 0, chunk, 1.0)
            of_gold = in_gold[own].reshape(n, m) / np.where(text > 0, text, 1.0)
            match self.of:
                case "chunk":
                    yield of_chunk
                case "gold":
                    yield of_gold
                case "either":
                    yield np.maximum(of_chunk, of_gold)


def _lengths(lists: Sequence[Sized]) -> Ints:
    return np.fromiter(map(len, lists), np.int64, len(lists))


def _sums(pair: Ints, place: Ints, size: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """For each pair the characters of its aligned tokens, each of them once."""
    keys = np.unique(pair * len(size) + place)
    if not keys.size:
        return np.zeros(n)
    return np.asarray(np.bincount(keys // len(size), size[keys % len(size)], n), np.float64)
