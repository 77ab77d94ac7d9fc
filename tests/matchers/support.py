"""Short ways to ask a matcher for its scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kragx import GoldDataset, Matcher, Run, match_pairs, matcher
from kragx.matchers import Diagnostics, MatchItem


def item(docs: Sequence[object], golds: Sequence[object]) -> MatchItem:
    """One query, `q1`, with its documents and gold items."""
    query = GoldDataset.from_documents([golds])["q1"]
    return MatchItem(query, Run.from_documents([docs])["q1"].documents)


def scored(chosen: Matcher, docs: Sequence[object], golds: Sequence[object]) -> NDArray[np.float64]:
    """The n x t scores of one query, straight from the matcher."""
    (scores,) = chosen.scores([item(docs, golds)], Diagnostics())
    return np.asarray(scores)


def decided(spec: object, docs: Sequence[object], golds: Sequence[object]) -> list[list[bool]]:
    """Which document matches which gold item, as a user gets it."""
    (pair,) = match_pairs([golds], [docs], match=matcher(spec))
    return pair["matched"]


class CountingTokenizer:
    """Splits at white space and counts how often it was given each text."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the words of each text."""
        for text in texts:
            self.seen[text] += 1
            yield text.split()
