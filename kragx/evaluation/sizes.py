"""Budgets: how far down its list each query gets for so many tokens or characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kragx.data.documents import Doc
from kragx.data.tokenizers import Tokenizer, UnicodeTokenizer, describe
from kragx.errors import DataError
from kragx.metrics.evidence import RankedList
from kragx.metrics.spans.cover import Spread
from kragx.metrics.spans.reading import reading
from kragx.metrics.syntax import TextBudget
from kragx.metrics.table import Ints


@dataclass
class Sizes:
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

    def depths(self, lists: Sequence[RankedList], budget: TextBudget) -> Ints:
        """(q) how many documents of each list fit whole, up to the first that does not."""
        lengths = self._of(lists, budget)
        return np.array(
            [int(np.searchsorted(np.cumsum(of), budget.n, "right")) for of in lengths], np.int64
        )

    def begun(self, lists: Sequence[RankedList], budget: TextBudget) -> Ints:
        """(q) how many documents of each list are read, the one in which the budget ends too."""
        lengths = self._of(lists, budget)
        return np.array(
            [min(len(of), int(np.searchsorted(np.cumsum(of), budget.n)) + 1) for of in lengths],
            np.int64,
        )

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
        if budget.unit == "tokens":
            parts, wholes = rests, [int(lengths[row][cut_at]) for row, cut_at in crossing]
        else:
            texts = [_read(lists[row].docs[cut_at].text or "") for row, cut_at in crossing]
            parts, wholes = self._counted(map(_whole_words, texts, rests)), self._counted(texts)
        for (row, cut_at), part, whole in zip(crossing, parts, wholes):
            doc = int(spread.ends[row][cut_at + 1] - spread.ends[row][cut_at])
            # Another tokenizer, or wrappers: the same share of the document.
            cut[row] += part if doc == whole else doc * part // max(whole, 1)
        return cut

    def _counted(self, texts: Iterable[str]) -> list[int]:
        return [len(tokens) for tokens in self.tokenizer.tokens(texts)]

    def _of(self, lists: Sequence[RankedList], budget: TextBudget) -> list[Ints]:
        if budget.unit not in self._lengths:
            texts = [[_text(a, rank, doc) for rank, doc in enumerate(a.docs, 1)] for a in lists]
            distinct = list(dict.fromkeys(text for of in texts for text in of))
            read = map(_read, distinct)
            counts = self._counted(read) if budget.unit == "tokens" else map(len, read)
            sizes = dict(zip(distinct, counts))
            self._lengths[budget.unit] = [
                np.array([sizes[text] for text in of], np.int64) for of in texts
            ]
        return self._lengths[budget.unit]


def _text(ranked: RankedList, rank: int, doc: Doc) -> str:
    if doc.text is None:
        raise DataError(
            f"query {ranked.query.id!r}, rank {rank}: document {doc.id!r} has no text, and a "
            "budget counts its length; add it, or cut at a rank (ndcg@10)"
        )
    return doc.text


def _read(text: str) -> str:
    return reading(text).strip()


def _whole_words(text: str, size: int) -> str:
    """The first characters of a text, less the part of a word that they end in."""
    end = size
    if size < len(text) and text[size].isalnum():
        while end and text[end - 1].isalnum():
            end -= 1
    return text[:end]
