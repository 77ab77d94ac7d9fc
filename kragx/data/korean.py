"""Korean words: what stands behind them, and texts whose words are written together or apart."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

_PARTICLES = (
    "에게서는|으로부터|에서는|에게는|까지는|부터는|이라는|이라고|으로는|인가요|인지요|일까요|입니까|"
    "합니까|됩니까|했나요|되나요|하나요|나요|까요|니까|습니다|입니다|합니다|됩니다|세요|해요|이에요|예요|네요|"
    "는데|은데|에서|에게|으로|까지|부터|처럼|보다|이나|이란|하고|이랑|하는|하여|해서|하면|되면|되는|된|한|할|"
    "이고|이며|이다|에는|에도|과는|와는|마다|은|는|이|가|을|를|의|에|와|과|도|만|로|나|란|랑"
)
# By their last syllable, the longer ones first.
_ENDINGS: defaultdict[str, list[str]] = defaultdict(list)
for _ending in sorted(_PARTICLES.split("|"), key=len, reverse=True):
    _ENDINGS[_ending[-1]].append(_ending)
_NUMBER = re.compile(r"\d")
_WORD = re.compile(r"[^\W_]+")


@lru_cache(1 << 16)
def stem(word: str) -> str:
    """A Korean word without one particle or ending, if two syllables or a number are left."""
    if word.isascii():
        return word
    for ending in _ENDINGS.get(word[-1:], ()):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            return stem if len(stem) > 1 or _NUMBER.match(stem) else word
    return word


def spaced_alike(some: Sequence[str], partners: Sequence[str]) -> tuple[list[str], list[str]]:
    """Texts and the text beside each, in NFKC, with the spaces that only its pair has in a word.

    Compounds are written together or apart (``손해배상청구권``, ``손해 배상 청구권``); so written
    they are the same words. No number is cut.
    """
    from rapidfuzz.distance import LCSseq

    words = {text: _Words.of(unicodedata.normalize("NFKC", text)) for text in {*some, *partners}}
    spaced: tuple[list[str], list[str]] = ([], [])
    for pair in zip(some, partners):
        text, mate = (words[text] for text in pair)
        in_text, in_mate = set[int](), set[int]()
        for run in LCSseq.opcodes(text.letters, mate.letters).as_matching_blocks():
            if run.size > 1:
                in_text.update(mate.begins_within(run.b, run.size, run.a))
                in_mate.update(text.begins_within(run.a, run.size, run.b))
        # As a rule all words that both have are written alike.
        spaced[0].append(text.with_spaces(in_text))
        spaced[1].append(mate.with_spaces(in_mate))
    return spaced


class _Words(NamedTuple):
    """Where words begin in a text.

    Attributes:
        text: in NFKC.
        letters: its letters and digits alone, in lower case.
        begins: which of them are a word's first.
        at: where in the text these stand.
    """

    text: str
    letters: str
    begins: list[int]
    at: list[int]

    @classmethod
    def of(cls, text: str) -> _Words:
        """Those of a text in NFKC."""
        words = _WORD.findall(text)
        begins = [0, *accumulate(map(len, words))][: len(words)]
        at = [word.start() for word in _WORD.finditer(text)]
        return cls(text, _lower("".join(words)), begins, at)

    def begins_within(self, first: int, size: int, partner: int) -> list[int]:
        """Before which letters of another text, as many from `partner` on, a word would begin."""
        begins = self.begins
        within = begins[bisect_left(begins, first, 1) : bisect_right(begins, first + size)]
        return [letter - first + partner for letter in within]

    def with_spaces(self, letters: Collection[int]) -> str:
        """The text with spaces before these letters, but for those within a number."""
        pieces, start = [], 0
        for letter in sorted({*letters}.difference(self.begins, (0, len(self.letters)))):
            if not self.letters[letter - 1 : letter + 1].isdecimal():
                word = bisect_right(self.begins, letter) - 1
                end = self.at[word] + letter - self.begins[word]
                pieces.append(self.text[start:end])
                start = end
        return " ".join([*pieces, self.text[start:]])


def _lower(letters: str) -> str:
    """Letters in lower case, if there are as many: of a few letters it is two."""
    lower = letters.lower()
    return lower if len(lower) == len(letters) else letters
