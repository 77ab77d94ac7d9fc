"""Words that were misread: which spellings of a word, or of a number, may be another one's."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest

# Letters of which two words agree, of all of both: measured on texts of which 3 and 10 % of the
# letters were misread, in English and Korean (docs/evidence/matchers.md).
RESPELT_IN_GOLD, RESPELT, RESPELT_TOGETHER = 0.8, 0.5, 0.75
_SHORT = 4  # letters of a word of which one may be misread

# With its unit, or as an article (14일, 5kg, 제14조제2항).
_NUMBER = re.compile(r"제?\d[\d.]*(?:[가-힣]+\d[\d.]*)*(?:[가-힣]*|\D{0,3})")
_OF_NUMBER = re.compile(r"\d[\d.]*[십백천만억조]*")
_ROUND = str.maketrans(dict.fromkeys("035689", "0"))
_SYLLABLES = re.compile("[가-힣]+")
_DIGITS = re.compile(r"\d+")


def number_of(word: str) -> str:
    """The digits of a number with its unit; empty for any other word."""
    if _NUMBER.fullmatch(word) is None:
        return ""
    return " ".join(_OF_NUMBER.findall(word))


def in_one(words: Sequence[str]) -> str:
    """The figures of numbers one behind the other, however spaces part them."""
    return "".join(words).replace(".", "")


def may_be(number: str, gold: str) -> bool:
    """Whether a number may be another one of which a figure is lost, or read as one as round.

    A comma of thousands is read as a point.
    """
    from rapidfuzz.distance.Indel import distance

    in_doc, in_gold = number.replace(".", ""), gold.replace(".", "")
    return distance(in_doc, in_gold) <= 1 or number.translate(_ROUND) == gold.translate(_ROUND)


@lru_cache(1 << 12)
def _in_letters(word: str) -> str:
    """A word in letters: of a Hangul syllable, as a rule, one letter is misread."""
    return unicodedata.normalize("NFD", word)


def is_respelt(word: str, gold: Sequence[str], floor: float) -> bool:
    """Whether a word is much like one of some others, which has no other number in it."""
    from rapidfuzz.distance import Indel

    letters, number = _in_letters(word), _DIGITS.findall(word)
    if len(letters) == _SHORT:
        floor = min(floor, 1 - 1 / _SHORT)
    return any(
        Indel.normalized_similarity(letters, _in_letters(gold_word)) >= floor
        and (floor < RESPELT_IN_GOLD or _has_like_syllables(word, gold_word))
        and (not number or _DIGITS.findall(gold_word) in ([], number))
        for gold_word in gold
    )


def _has_like_syllables(word: str, gold: str) -> bool:
    """Whether Hangul words of as many syllables differ in one letter of each syllable at most."""
    if len(word) != len(gold) or not _SYLLABLES.fullmatch(word + gold):
        return True
    pairs = (zip_longest(*map(_in_letters, pair)) for pair in zip(word, gold))
    return all(sum(a != b for a, b in pair) <= 1 for pair in pairs)


def is_part(word: str, letters: str) -> bool:
    """Whether letters much like a word's stand in others, as where a space was put in or lost."""
    from rapidfuzz.fuzz import partial_ratio

    return len(word) > 1 and partial_ratio(_in_letters(word), _in_letters(letters)) >= 80
