"""Finds out whether texts are broken: whether characters agree where words do not.

Spaces that were lost or put in, words cut at line ends and misread characters change words, and
leave most runs of characters as they are. So a pair that shares a passage scores less by words than
by characters without spaces, where in whole texts the two scores are nearly equal. Gold and
document say it together: the length of words alone would blame German, code and addresses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kragx.data import TokenCorpus
from kragx.data.lists import Lists
from kragx.errors import shorten
from kragx.metrics import Floats, Ints
from kragx.printing import phrase

QUERIES, PAIRS, AGREEING = 100, 80, 30
"""How many queries are looked at, how many of their pairs are compared by characters, and after how
many that agree it is enough."""

GAP, GAP_HANGUL = 0.1, 0.055
"""How far the median score by words may lie below that by characters. Measured by
examples/broken_texts.py: whole texts have .01 in Korean (with Markdown .03) and .04 in English, and
with 3 % of the characters misread .07 and .12."""

_LEAST_PAIRS = 5
_N = 4  # a pair of neighbouring n-grams of three, as {name: char, n: 3} gives `overlap`
_LEAST_CHARACTERS = 60  # shorter texts share so many runs of characters by chance
_LEAST_BY_WORDS = 0.04
_LEAST_BY_CHARACTERS = 0.5
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, and about 2**64 by the golden ratio
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
class Gaps:
    """What the first questions have shown: for each of them its pairs that were compared.

    Attributes:
        looks: of each question the gap of each pair; None where characters do not agree.
    """

    looks: list[list[Gap | None]] = field(default_factory=list)
    n_compared: int = 0
    known: list[Gap] = field(default_factory=list)

    def enough(self) -> bool:
        """Whether no more questions are looked at."""
        return len(self.looks) >= QUERIES or self.n_compared >= PAIRS or len(self.known) >= AGREEING

    def look(self, pairs: Iterator[Gap | None]) -> None:
        """Look at one more question, and at its pairs until there are enough."""
        if self.enough():
            return
        self.looks.append([])
        for gap in pairs:
            self.looks[-1].append(gap)
            self.n_compared += 1
            if gap is not None:
                self.known.append(gap)
            if self.enough():
                return

    def merge(self, later: Self) -> None:
        """Look at the questions that came after these."""
        for pairs in later.looks:
            self.look(iter(pairs))

    @property
    def median(self) -> float:
        """The median gap; 0 for too few pairs."""
        if len(self.known) < _LEAST_PAIRS:
            return 0.0
        return median(gap.size for gap in self.known)

    def problem(self) -> str:
        """That the texts are broken, where the median is more than whole texts have."""
        hangul = 2 * sum(gap.hangul for gap in self.known) > len(self.known)
        if self.median <= (GAP_HANGUL if hangul else GAP):
            return ""
        return phrase(
            "texts look broken (spaces lost or put in, words cut, characters misread): {n} pairs "
            "agree by characters, and by words {less:.0%} less, for example {example}; use the "
            "tokenizer {{name: char, n: 3, spaces: ignored}}",
            n=len(self.known),
            less=self.median,
            example=max(self.known).text,
        )


class BrokenTexts:
    """Compares pairs by characters in the first questions of an evaluation."""

    def __init__(self, corpus: TokenCorpus, gaps: Gaps) -> None:
        self._corpus = corpus
        self._gaps = gaps
        self._runs: dict[str, tuple[NDArray[np.uint64], Ints]] = {}

    def look(self, docs: Lists, golds: Lists, scores: Floats) -> None:
        """Look at the questions of a batch and their scores by words, until there are enough."""
        end = 0
        for query, (n, m) in enumerate(zip(docs.n_texts.tolist(), golds.n_texts.tolist())):
            if self._gaps.enough():
                return
            of_query = scores[end : (end := end + n * m)].reshape(n, m)
            self._gaps.look(self._pairs(docs[query], golds[query], of_query))

    def _pairs(
        self, docs: Sequence[str], golds: Sequence[str], scores: Floats
    ) -> Iterator[Gap | None]:
        """The gaps of those pairs of a question that may agree."""
        for column, gold in enumerate(golds):
            if len(gold) < _LEAST_CHARACTERS or not docs:
                continue
            row = int(scores[:, column].argmax())
            # The best document alone: those made from one template have other words by right.
            # Without spaces between words they say nothing of which one it is.
            rows = [row] if scores[row, column] >= _LEAST_BY_WORDS else range(len(docs))
            for row in rows:
                doc = docs[row]
                if len(doc) >= _LEAST_CHARACTERS and (
                    scores[row, column] >= _LEAST_BY_WORDS or _unspaced(doc) or _unspaced(gold)
                ):
                    yield self._gap(doc, gold, float(scores[row, column]))

    def _gap(self, text: str, gold: str, score: float) -> Gap | None:
        (runs, in_text), (gold_runs, in_gold) = self._of(text), self._of(gold)
        n_runs = int(min(in_text.sum(), in_gold.sum()))
        if 2 * n_runs < _LEAST_CHARACTERS:
            return None
        _, of_text, of_gold = np.intersect1d(
            runs, gold_runs, assume_unique=True, return_indices=True
        )
        by_characters = int(np.minimum(in_text[of_text], in_gold[of_gold]).sum()) / n_runs
        if by_characters < _LEAST_BY_CHARACTERS:
            return None
        hangul = any("가" <= char <= "힣" for char in gold)
        return Gap(by_characters - score, shorten(text, 42), hangul)

    def _of(self, text: str) -> tuple[NDArray[np.uint64], Ints]:
        """The distinct runs of `_N` characters of a text that was tokenised, and their numbers."""
        if text not in self._runs:
            (tokens,) = self._corpus.of([text])
            codes = np.frombuffer(self._corpus.letters(tokens).encode("utf-32-le"), np.uint32)
            runs = np.zeros(max(0, len(codes) - _N + 1), np.uint64)
            for place in range(_N):  # modulo 2**64: runs that share a number are as good as none
                runs = runs * _FACTOR + codes[place : place + len(runs)]
            self._runs[text] = np.unique(runs, return_counts=True)
        return self._runs[text]


def _unspaced(text: str) -> bool:
    return len(text) > _LONG_WORDS * (text.count(" ") + text.count("\n") + 1)
