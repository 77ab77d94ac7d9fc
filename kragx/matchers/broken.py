"""Finds out whether texts are broken: whether characters agree where words do not.

Spaces that were lost or put in, words cut at line ends and misread characters change words, and
leave most runs of characters as they are. So a pair that shares a passage scores less by words than
by characters without spaces, where in whole texts the two scores are nearly equal. Gold and
document say it together: the length of words alone would blame German, code and addresses.
"""

import warnings
from collections import Counter
from statistics import median

from kragx.data.words import words
from kragx.errors import shorten
from kragx.matchers.base import MatchItem, MatchWarning
from kragx.metrics import Floats
from kragx.metrics.spans.reading import plain

QUERIES, PAIRS = 100, 80
"""How many queries are looked at, and how many of their pairs are compared by characters."""

GAP, GAP_HANGUL = 0.1, 0.055
"""How far the median score by words may lie below that by characters. Measured by
examples/broken_texts.py: whole texts have .02 in Korean (with Markdown .05), .04 in English (.05),
.06 in code, and with 3 %
of the characters misread .07 and .14."""

_LEAST_PAIRS = 5
_N = 4  # a pair of neighbouring n-grams of three, as {name: char, n: 3} gives `overlap`
_LEAST_CHARACTERS = 60  # shorter texts share so many runs of characters by chance
_LEAST_BY_WORDS = 0.04
_LEAST_BY_CHARACTERS = 0.5
_LONG_WORDS = 14  # characters to a space, from which on all spaces may be lost


class BrokenTexts:
    """The scores of pairs by words and by characters, in the first queries of an evaluation."""

    def __init__(self) -> None:
        self._n_queries = self._n_compared = self._n_hangul = 0
        self._gaps: list[tuple[float, str]] = []
        self._runs: dict[str, Counter[str]] = {}

    @property
    def enough(self) -> bool:
        """Whether no more queries are looked at."""
        return self._n_queries >= QUERIES or self._n_compared >= PAIRS

    def see(self, item: MatchItem, scores: Floats) -> None:
        """Look at one query and its scores by words, n x t."""
        if self.enough:
            return
        self._n_queries += 1
        for column, target in enumerate(item.targets):
            gold = target.text or ""
            if len(gold) < _LEAST_CHARACTERS:
                continue
            for doc, score in zip(item.docs, scores[:, column].tolist()):
                text = doc.text or ""
                if len(text) >= _LEAST_CHARACTERS and (
                    score >= _LEAST_BY_WORDS or _unspaced(text) or _unspaced(gold)
                ):
                    self._compare(text, gold, score)
                    if self._n_compared >= PAIRS:
                        return

    @property
    def gap(self) -> float:
        """The median difference of the scores by characters and by words; 0 for too few pairs."""
        if len(self._gaps) < _LEAST_PAIRS:
            return 0.0
        return median(gap for gap, _ in self._gaps)

    def warn(self) -> None:
        """Warn if that is more than whole texts have."""
        hangul = 2 * self._n_hangul > len(self._gaps)
        if self.gap > (GAP_HANGUL if hangul else GAP):
            warnings.warn(
                "texts look broken (spaces lost or put in, words cut, characters misread): "
                f"{len(self._gaps)} pairs agree by characters, and by words {self.gap:.0%} less, "
                f"for example {shorten(max(self._gaps)[1], 42)}; use the tokenizer "
                "{name: char, n: 3, spaces: ignored}",
                MatchWarning,
                stacklevel=3,
            )

    def _compare(self, text: str, gold: str, score: float) -> None:
        self._n_compared += 1
        one, two = self._of(text), self._of(gold)
        least = min(one.total(), two.total())
        if 2 * least < _LEAST_CHARACTERS:
            return
        by_characters = (one & two).total() / least
        if by_characters >= _LEAST_BY_CHARACTERS:
            self._gaps.append((by_characters - score, text))
            self._n_hangul += any("가" <= char <= "힣" for char in gold)

    def _of(self, text: str) -> Counter[str]:
        if text not in self._runs:
            joined = "".join(words(plain(text), apart=False))
            self._runs[text] = Counter(joined[n : n + _N] for n in range(len(joined) - _N + 1))
        return self._runs[text]


def _unspaced(text: str) -> bool:
    return len(text) > _LONG_WORDS * (text.count(" ") + text.count("\n") + 1)
