"""Korean words: what stands behind them, and texts whose words are written together or apart."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, Self

from kragx.data.tokens import common_runs

PARTICLES = (
    "에게서는|으로부터|에서는|에게는|까지는|부터는|이라는|이라고|으로는|인가요|인지요|일까요|입니까|"
    "합니까|됩니까|했나요|되나요|하나요|나요|까요|니까|습니다|입니다|합니다|됩니다|세요|해요|이에요|예요|네요|"
    "는데|은데|에서|에게|으로|까지|부터|처럼|보다|이나|이란|하고|이랑|하는|하여|해서|하면|되면|되는|된|한|할|"
    "이고|이며|이다|에는|에도|과는|와는|마다|은|는|이|가|을|를|의|에|와|과|도|만|로|나|란|랑"
)
# By their last syllable, the longer ones first.
_ENDINGS: defaultdict[str, list[str]] = defaultdict(list)
for _ending in sorted(PARTICLES.split("|"), key=len, reverse=True):
    _ENDINGS[_ending[-1]].append(_ending)
HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
"""A syllable of Hangul, or one of its letters."""

_NUMBER = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_LETTERS = re.compile(r"[^\W_]+")


def is_korean(text: str) -> bool:
    """Whether at least a quarter of a text's letters are Hangul."""
    return 4 * len(HANGUL.findall(text)) >= max(len(_LETTER.findall(text)), 1)


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
    words_of = {text: _Words.of(text) for text in dict.fromkeys((*some, *partners))}
    spaced = []
    for text, partner in zip(map(words_of.__getitem__, some), map(words_of.__getitem__, partners)):
        runs = common_runs(text.letters, partner.letters)
        mirrored = [(in_partner, in_text, size) for in_text, in_partner, size in runs]
        spaced.append((text.spaced_as(partner, runs), partner.spaced_as(text, mirrored)))
    return [pair[0] for pair in spaced], [pair[1] for pair in spaced]


class _Words(NamedTuple):
    """The words of a text, by its letters.

    Attributes:
        text: in NFKC.
        letters: its letters and digits alone, in lower case if there are as many: of a few letters
            it is two.
        begins: which letters another word begins with, and how many letters there are.
    """

    text: str
    letters: str
    begins: list[int]

    @classmethod
    def of(cls, text: str) -> Self:
        """Those of a text."""
        text = unicodedata.normalize("NFKC", text)
        words = _LETTERS.findall(text)
        letters = "".join(words)
        lower = letters.lower()
        is_as_long = len(lower) == len(letters)
        return cls(text, lower if is_as_long else letters, [*accumulate(map(len, words))])

    def spaced_as(self, partner: _Words, runs: Sequence[tuple[int, int, int]]) -> str:
        """The text with spaces where words of the other one begin, but for those within a number.

        Args:
            partner: the other text.
            runs: where letters in a row are the same here and there, and how many.
        """
        begins, letters = {0, *self.begins}, self.letters
        places = {
            place
            for here, there, size in runs
            for begin in partner.inner(there, there + size)
            if (place := here + begin - there) not in begins
            and not letters[place - 1 : place + 1].isdecimal()
        }
        if not places:  # as a rule all words that both have are written alike
            return self.text
        pieces, start = [], 0
        offsets = [offset for offset, char in enumerate(self.text) if char.isalnum()]
        for end in map(offsets.__getitem__, sorted(places)):
            pieces.append(self.text[start:end])
            start = end
        return " ".join([*pieces, self.text[start:]])

    def inner(self, first: int, last: int) -> list[int]:
        """The words that begin with some letters, but for the first word of the text."""
        begins, n = self.begins, max(0, len(self.begins) - 1)
        return begins[bisect_left(begins, first, 0, n) : bisect_right(begins, last, 0, n)]
