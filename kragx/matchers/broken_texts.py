"""Finds out whether texts are broken: whether characters agree where words do not.

Spaces that were lost or put in, words cut at line ends and misread characters change words, and
leave most runs of characters as they are. So a pair that shares a passage scores less by words than
by characters without spaces, where in whole texts the two scores are nearly equal. Gold and
document say it together: the length of words alone would blame German, code and addresses.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from statistics import median
from typing import NamedTuple, Self

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.lists import Lists
from kragx.data.tokens import codes_of, hashed
from kragx.ground.errors import shorten
from kragx.ground.printing import phrase
from kragx.matchers.notes import Finding
from kragx.metrics import Floats

QUERIES = 100
"""How many queries are looked at; of each one pair is compared."""

GAP, GAP_HANGUL = 0.1, 0.055
"""How far the median score by words may lie below that by characters. Measured by
examples/broken_texts.py: whole texts have .01 in Korean (with Markdown .03) and .04 in English, and
with 3 % of the characters misread .07 and .12."""

_LEAST_PAIRS = 5
_N = 4  # a pair of neighbouring n-grams of three, as {name: char, n: 3} gives `overlap`
_LEAST_CHARACTERS = 60  # shorter texts share so many runs of characters by chance
_LEAST_BY_WORDS = 0.04
_LEAST_BY_CHARACTERS = 0.5
_LONG_WORDS = 14  # characters to a space, from which on all spaces may be lost


class Gap(NamedTuple):
    """How much less a pair that agrees by characters scores by words.

    Attributes:
        size: the difference of the two scores.
        text: the beginning of the document.
        hangul: whether the gold text has any.
    """

    size: float
    text: str
    hangul: bool


@dataclass
class Gaps(Finding):
    """What the first questions have shown.

    Attributes:
        of_queries: of each question the gap of its pair, if that agrees.
    """

    of_queries: list[Gap | None] = field(default_factory=list)

    def merge(self, later: Self) -> None:
        """Look at the questions that came after these."""
        self.of_queries = (self.of_queries + later.of_queries)[:QUERIES]

    def look(self, docs: Lists, golds: Lists, scores: Floats, corpus: TokenCorpus) -> None:
        """Look at the questions of a batch and their scores by words, until there are enough."""
        end = 0
        for texts, of_query in islice(zip(docs, golds), QUERIES - len(self.of_queries)):
            start, end = end, end + len(texts) * len(of_query)
            by_words = scores[start:end].reshape(len(texts), len(of_query))
            pair = next(_pairs(texts, of_query, by_words), None)
            self.of_queries.append(pair and _gap(*pair, corpus))

    def problem(self) -> str:
        """That the texts are broken, where the median is more than whole texts have."""
        gaps = [*filter(None, self.of_queries)]
        if len(gaps) < _LEAST_PAIRS:
            return ""
        is_hangul = 2 * sum(gap.hangul for gap in gaps) > len(gaps)
        gap_size = median(gap.size for gap in gaps)
        if gap_size <= (GAP_HANGUL if is_hangul else GAP):
            return ""
        return phrase(
            "texts look broken (spaces lost or put in, words cut, characters misread): {n} pairs "
            "agree by characters, and by words {less:.0%} less, for example {example}; use the "
            "tokenizer {{name: char, n: 3, spaces: ignored}}",
            n=len(gaps),
            less=gap_size,
            # The greatest by its first field, the size: the pair that shows it most.
            example=max(gaps).text,
        )


def _pairs(docs: list[str], golds: list[str], scores: Floats) -> Iterator[tuple[str, str, float]]:
    """Those documents and gold texts of a question that may agree, with their score by words."""
    for column, gold in enumerate(golds):
        if len(gold) < _LEAST_CHARACTERS or not docs:
            continue
        best = int(scores[:, column].argmax())
        # The best document alone: those made from one template have other words by right.
        # Without spaces between words they say nothing of which one it is.
        rows = [best] if scores[best, column] >= _LEAST_BY_WORDS else range(len(docs))
        for row in rows:
            doc, score = docs[row], float(scores[row, column])
            may_agree = score >= _LEAST_BY_WORDS or _is_unspaced(doc) or _is_unspaced(gold)
            if may_agree and len(doc) >= _LEAST_CHARACTERS:
                yield doc, gold, score


def _gap(doc: str, gold: str, score: float, corpus: TokenCorpus) -> Gap | None:
    """The gap of a pair; None where characters do not agree."""
    n_common, n_runs = _n_common(*map(corpus.letters, corpus.of([doc, gold])))
    if 2 * n_runs < _LEAST_CHARACTERS:
        return None
    by_characters = n_common / n_runs
    if by_characters < _LEAST_BY_CHARACTERS:
        return None
    is_hangul = any("가" <= char <= "힣" for char in gold)
    return Gap(by_characters - score, shorten(doc, 42), is_hangul)


def _n_common(doc: str, gold: str) -> tuple[int, int]:
    """How many runs of `_N` characters two texts have in common, and how many the shorter has."""
    runs = [hashed(codes_of(text), _N)[: max(len(text) - _N + 1, 0)] for text in (doc, gold)]
    (in_doc, n_doc), (in_gold, n_gold) = (np.unique(part, return_counts=True) for part in runs)
    _, at_doc, at_gold = np.intersect1d(in_doc, in_gold, assume_unique=True, return_indices=True)
    return int(np.minimum(n_doc[at_doc], n_gold[at_gold]).sum()), min(map(len, runs))


def _is_unspaced(text: str) -> bool:
    return len(text) > _LONG_WORDS * (text.count(" ") + text.count("\n") + 1)
