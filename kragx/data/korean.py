"""Korean words: what stands behind them, and texts whose words are written together or apart."""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kragx.data.stretches import Ints, distinct, ranges

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
_RUN = re.compile(r"[^\W_]+")


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


def spaced_alike(one: str, other: str) -> tuple[str, str]:
    """Two texts, each with the spaces that only the other has between letters of both.

    Compounds are written together or apart (``손해배상청구권``, ``손해 배상 청구권``); so written
    they are the same words. No number is cut.
    """
    from rapidfuzz.distance import LCSseq

    first, second = _Letters.of(one), _Letters.of(other)
    blocks = LCSseq.opcodes(first.letters, second.letters).as_matching_blocks()
    runs = [(run.a, run.b, run.size) for run in blocks if run.size > 1]
    in_first = [b_to_a for a, b, size in runs for b_to_a in second.spaces_in(b, size, a)]
    in_second = [a_to_b for a, b, size in runs for a_to_b in first.spaces_in(a, size, b)]
    return first.with_spaces(in_first), second.with_spaces(in_second)


def all_spaced_alike(some: Sequence[str], others: Sequence[str]) -> tuple[list[str], list[str]]:
    """`spaced_alike` of many texts and the text beside each."""
    from rapidfuzz.distance import LCSseq

    numbers = {text: number for number, text in enumerate(dict.fromkeys([*some, *others]))}
    texts = [unicodedata.normalize("NFKC", text) for text in numbers]
    places = _Places.of(texts)
    pairs = [(numbers[one], numbers[other]) for one, other in zip(some, others)]
    runs = [
        (pair, one, other, run.a, run.b, run.size)
        for pair, (one, other) in enumerate(pairs)
        for run in LCSseq.opcodes(places.letters[one], places.letters[other]).as_matching_blocks()
        if run.size > 1
    ]
    pair, one, other, in_one, in_other, size = np.array(runs, np.int64).reshape(-1, 6).T
    here = ranges(places.starts[one] + in_one, size + 1)
    there = ranges(places.starts[other] + in_other, size + 1)
    # As a rule all words that both have are written alike.
    differ = places.lack(here, there) | places.lack(there, here)
    in_some, in_others = ([texts[pair[side]] for pair in pairs] for side in (0, 1))
    for number in distinct(np.repeat(pair, size + 1)[differ]).tolist():
        in_some[number], in_others[number] = spaced_alike(in_some[number], in_others[number])
    return in_some, in_others


class _Places(NamedTuple):
    """Where words begin in many texts: there is a place for each letter and for each text's end.

    Attributes:
        letters: of each text, as `_Letters` has them.
        starts: the place of the first letter of each.
        begins: whether something else stands before the letter at each place.
        is_edge: whether a text begins or ends there.
    """

    letters: list[str]
    starts: Ints
    begins: NDArray[np.bool_]
    is_edge: NDArray[np.bool_]

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Places:
        """Those of texts in NFKC."""
        joined = "\n".join((*texts, "")).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(joined, "<u4")
        is_letter = np.zeros(sys.maxunicode + 1, bool)
        is_letter[codes] = True
        known = is_letter.nonzero()[0]
        is_letter[known] = [chr(code).isalnum() for code in known.tolist()]
        in_word = is_letter.take(codes)
        n_before = np.concatenate(([0], np.cumsum(in_word)))
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
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
        return cls(letters, starts, begins, is_edge)

    def lack(self, here: Ints, there: Ints) -> NDArray[np.bool_]:
        """Whether a word begins at places of one text, and none at those of the other."""
        lacking: NDArray[np.bool_] = self.begins[there] & ~self.begins[here] & ~self.is_edge[here]
        return lacking


class _Letters(NamedTuple):
    """A text by its letters.

    Attributes:
        text: as it is.
        letters: letters and digits alone.
        spaces: the numbers of those before which something else stands.
    """

    text: str
    letters: str
    spaces: list[int]

    @classmethod
    def of(cls, text: str) -> _Letters:
        """A text."""
        text = unicodedata.normalize("NFKC", text)
        runs = _RUN.findall(text)
        letters, spaces = "".join(runs), [*accumulate(map(len, runs))][:-1]
        return cls(text, _lower(letters), spaces)

    def spaces_in(self, start: int, size: int, other: int) -> Iterator[int]:
        """Those of a stretch of letters, its ends included, if it began with another number."""
        first = bisect_left(self.spaces, start)
        last = bisect_right(self.spaces, start + size)
        return (space - start + other for space in self.spaces[first:last])

    def with_spaces(self, numbers: Iterable[int]) -> str:
        """The text with spaces before these letters, but for those within a number."""
        wanted = sorted({*numbers} - {0, len(self.letters), *self.spaces})
        if not wanted:  # as a rule
            return self.text
        begins = [run.start() for run in _RUN.finditer(self.text)]
        pieces, start, firsts = [], 0, [0, *self.spaces]
        for number in wanted:
            if not self.letters[number - 1 : number + 1].isdecimal():
                run = bisect_right(self.spaces, number)
                place = begins[run] + number - firsts[run]
                pieces.append(self.text[start:place])
                start = place
        return " ".join([*pieces, self.text[start:]])


def _lower(letters: str) -> str:
    """Letters in lower case, if there are as many: of a few letters it is two."""
    lower = letters.lower()
    return lower if len(lower) == len(letters) else letters
