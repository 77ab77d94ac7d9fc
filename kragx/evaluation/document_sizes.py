"""How long documents are, in characters or tokens: what a budget of text holds of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from kragx.data import Doc, Tokenizer, UnicodeTokenizer, describe
from kragx.ground.errors import DataError
from kragx.metrics import Cut, Ints, RankedList, TextBudget
from kragx.metrics.spans.cover import Spread
from kragx.metrics.spans.reading import reading


@dataclass
class DocumentSizes:
    """The lengths of the documents of an evaluation, measured once for each unit.

    A document is measured as it is read for spans, without wrappers and white space around it.

    Attributes:
        tokenizer: says what a token is.
    """

    tokenizer: Tokenizer = field(default_factory=UnicodeTokenizer)
    _lengths: dict[str, list[Ints]] = field(default_factory=dict, repr=False)

    def described(self) -> dict[str, Any] | None:
        """What a result records of the tokenizer; None if no token was counted."""
        return describe(self.tokenizer) if "tokens" in self._lengths else None

    def depths(
        self, lists: Sequence[RankedList], budget: TextBudget, *, begun: bool = False
    ) -> Ints:
        """(q) how many documents of each list fit whole, up to the first that does not.

        With `begun` how many are read: the one in which the budget ends too.
        """
        # A document that fills the budget to the last fits whole, so nothing of the next one is
        # read.
        side: Literal["left", "right"] = "left" if begun else "right"
        return np.array(
            [
                min(len(lengths), int(np.searchsorted(np.cumsum(lengths), budget.n, side)) + begun)
                for lengths in self._of(lists, budget)
            ],
            np.int64,
        )

    def held_within(self, lists: Sequence[RankedList], k: Cut) -> Ints:
        """(q) how many documents of each list a cut-off holds."""
        if isinstance(k, TextBudget):
            return self.depths(lists, k)
        lengths = np.array([len(ranked.docs) for ranked in lists], np.int64)
        return lengths if k is None else np.minimum(lengths, k)

    def read(self, lists: Sequence[RankedList], budget: TextBudget, spread: Spread) -> Ints:
        """(q) how many tokens of each stream the budget pays for.

        The document in which the budget is spent is cut there: a stream is read token by token, so
        it does not matter how it was cut into chunks.
        """
        depths = self.depths(lists, budget)
        cut = spread.after(depths)
        crossing = [
            (row, int(depth)) for row, depth in enumerate(depths) if depth < len(lists[row].docs)
        ]
        lengths = self._lengths[budget.unit]
        rests = [budget.n - int(lengths[row][:cut_at].sum()) for row, cut_at in crossing]
        texts = [counted_text(lists[row].docs[cut_at].text or "") for row, cut_at in crossing]
        # In one call for all lists: some tokenizers take long to begin with each.
        wholes = [*self.tokenizer.tokens(texts)]
        if budget.unit == "tokens":
            parts = [tokens[:rest] for tokens, rest in zip(wholes, rests)]
        else:
            parts = [*self.tokenizer.tokens(map(_whole_words, texts, rests))]
        for (row, cut_at), part, whole in zip(crossing, parts, wholes):
            doc = int(spread.ends[row][cut_at + 1] - spread.ends[row][cut_at])
            if doc == sum(map(len, whole)):  # letters
                cut[row] += sum(map(len, part))
            else:  # all of its tokens, or of those of another tokenizer the same share
                cut[row] += doc * len(part) // max(len(whole), 1)
        return cut

    def _of(self, lists: Sequence[RankedList], budget: TextBudget) -> list[Ints]:
        if budget.unit not in self._lengths:
            texts = [[_text(a, rank, doc) for rank, doc in enumerate(a.docs, 1)] for a in lists]
            distinct = list(dict.fromkeys(text for doc_texts in texts for text in doc_texts))
            read = map(counted_text, distinct)
            units = self.tokenizer.tokens(read) if budget.unit == "tokens" else read
            sizes = dict(zip(distinct, map(len, units)))
            self._lengths[budget.unit] = [
                np.array([sizes[text] for text in doc_texts], np.int64) for doc_texts in texts
            ]
        return self._lengths[budget.unit]


def _text(ranked: RankedList, rank: int, doc: Doc) -> str:
    if doc.text is None:
        raise DataError(
            "query {id!r}, rank {rank}: document {id_2!r} has no text, and a "
            "budget counts its length; add it, or cut at a rank (ndcg@10)",
            id=ranked.query.id,
            rank=rank,
            id_2=doc.id,
        )
    return doc.text


def counted_text(text: str) -> str:
    """A text as budgets count it: as it is read for spans, without white space around it."""
    return reading(text, markup=True).strip()


def _whole_words(text: str, size: int) -> str:
    """The first characters of a text, less the part of a word that they end in."""
    if text[size : size + 1].isalnum():
        while size and text[size - 1].isalnum():
            size -= 1
    return text[:size]
