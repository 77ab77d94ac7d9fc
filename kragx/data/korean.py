"""Korean words: what stands behind them, and texts whose words are written together or apart."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kragx.data.stretches import Ints, counted, distinct, ranges

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
_NUMBER = re.compile(r"\d")


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

    numbers = {text: number for number, text in enumerate(dict.fromkeys([*some, *partners]))}
    texts = [unicodedata.normalize("NFKC", text) for text in numbers]
    places = _Places.of(texts)
    sides = [[*map(numbers.__getitem__, side)] for side in (some, partners)]
    runs = [
        (pair, row, mate, run.a, run.b, run.size)
        for pair, (row, mate) in enumerate(zip(*sides))
        for run in LCSseq.opcodes(places.letters[row], places.letters[mate]).as_matching_blocks()
        if run.size > 1
    ]
    pair, row, mate, in_row, in_mate, size = np.array(runs, np.int64).reshape(-1, 6).T
    row_gaps = ranges(places.starts[row] + in_row, size + 1)
    mate_gaps = ranges(places.starts[mate] + in_mate, size + 1)
    pairs = np.repeat(pair, size + 1)
    spaced = []
    for gaps, beside, side in ((row_gaps, mate_gaps, sides[0]), (mate_gaps, row_gaps, sides[1])):
        in_texts = [texts[number] for number in side]
        # As a rule all words that both have are written alike.
        lacking = places.lack(gaps, beside)
        rows, spaces = pairs[lacking], gaps[lacking]
        for number, first, n in zip(*(column.tolist() for column in counted(rows))):
            before = distinct(spaces[first : first + n])
            in_texts[number] = places.with_spaces(in_texts[number], side[number], before)
        spaced.append(in_texts)
    return spaced[0], spaced[1]


class _Places(NamedTuple):
    """Where words begin in many texts: there is a place for each letter and for each text's end.

    Attributes:
        letters: of each text its letters and digits alone, in lower case.
        starts: the place of the first letter of each.
        begins: whether something else stands before the letter at each place.
        is_edge: whether a text begins or ends there.
        at: where in its text each letter stands.
    """

    letters: list[str]
    starts: Ints
    begins: NDArray[np.bool_]
    is_edge: NDArray[np.bool_]
    at: Ints

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Places:
        """Those of texts in NFKC."""
        joined = "\n".join((*texts, "")).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(joined, "<u4")
        is_letter = np.zeros(sys.maxunicode + 1, bool)
        is_letter[codes] = True
        points = is_letter.nonzero()[0]
        is_letter[points] = [chr(code).isalnum() for code in points.tolist()]
        in_word = is_letter.take(codes)
        n_before = np.concatenate(([0], np.cumsum(in_word)))
        lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
        ends = np.cumsum(lengths)
        bounds = np.concatenate(([0], n_before[ends]))
        whole = codes[in_word].tobytes().decode("utf-32-le", "surrogatepass")
        # At once, but where what stands beside a letter counts.
        lower = whole if "Σ" in whole else _lower(whole)
        letters = [lower[start:end] for start, end in pairwise(bounds.tolist())]
        if lower is whole:
            letters = [*map(_lower, letters)]
        starts = bounds[:-1] + np.arange(len(texts))
        begins, is_edge = np.zeros((2, len(whole) + len(texts)), bool)
        of_words = (in_word[1:] & ~in_word[:-1]).nonzero()[0] + 1
        begins[n_before[of_words] + np.searchsorted(ends, of_words, side="right")] = True
        begins[starts] = False
        is_edge[starts] = is_edge[starts + np.diff(bounds)] = True
        offsets = in_word.nonzero()[0] - np.repeat(ends - lengths, np.diff(bounds))
        return cls(letters, starts, begins, is_edge, offsets)

    def lack(self, gaps: Ints, mates: Ints) -> NDArray[np.bool_]:
        """Whether a word begins at places of one text, and none at those of the other."""
        lacking: NDArray[np.bool_] = self.begins[mates] & ~self.begins[gaps] & ~self.is_edge[gaps]
        return lacking

    def with_spaces(self, text: str, number: int, places: Ints) -> str:
        """A text with spaces before the letters at these places, but for those within a number."""
        letters, first = self.letters[number], int(self.starts[number])
        pieces, start = [], 0
        for place in places.tolist():
            letter = place - first
            if not letters[letter - 1 : letter + 1].isdecimal():
                end = int(self.at[place - number])
                pieces.append(text[start:end])
                start = end
        return " ".join([*pieces, text[start:]])


def _lower(letters: str) -> str:
    """Letters in lower case, if there are as many: of a few letters it is two."""
    lower = letters.lower()
    return lower if len(lower) == len(letters) else letters
