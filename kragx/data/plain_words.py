"""The words, or letters, of many texts at once, where each character says what it becomes.

That is so in ASCII, and in most texts of scripts that `kragx.data.words` reads the short way. A
table says of each character which letter it becomes, or that it parts words.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kragx.data.spellings import Letters
from kragx.data.stretches import Ints, parts
from kragx.data.words import (
    ASCII,
    ASCII_FOLDED,
    BEYOND,
    COMMA,
    KEPT,
    marked,
    whole_numbers,
    words,
)

_HARD = 0xFFFF  # depends on what stands beside it, becomes several, or stands for none of these
_AT_ONCE = 1 << 19  # letters: arrays of some megabytes
_PLAIN = (*range(0x80, 0x560), *range(0x2010, 0x2C00), *range(0x3000, 0x3021))
_SYLLABLES = slice(ord("가"), ord("힣") + 1)


class Words(Iterator[list[str]]):
    """The words of each text, in order, as `kragx.data.words.words` gives them.

    Attributes:
        texts: the texts.
        casefold: ignore case.
        are_tokens: whether the letters of the words are the tokens, and not the words.
    """

    def __init__(self, texts: Iterable[str], *, casefold: bool, are_tokens: bool = False) -> None:
        self.texts = texts
        self.casefold = casefold
        self.are_tokens = are_tokens
        self._lists = (words(text, casefold=casefold, is_split=not are_tokens) for text in texts)

    def __next__(self) -> list[str]:
        """The tokens of the next text."""
        tokens = next(self._lists)
        return [*"".join(tokens)] if self.are_tokens else tokens

    def letters(self) -> Iterator[Letters]:
        """Yield the same words as letters, of all texts whose characters are plain."""
        texts = [*self.texts]
        is_ascii = np.fromiter(map(str.isascii, texts), bool, len(texts))
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        for numbers in (is_ascii.nonzero()[0], (~is_ascii).nonzero()[0]):
            for part in parts(lengths[numbers], _AT_ONCE):
                rows = numbers[part]
                yield self._letters(rows, [texts[number] for number in rows.tolist()])

    def _letters(self, numbers: Ints, texts: Sequence[str]) -> Letters:
        whole = [whole_numbers(text) if COMMA.search(text) else text for text in texts]
        lengths = np.fromiter(map(len, whole), np.int64, len(whole)) + 1
        ends = np.cumsum(lengths)
        joined = marked("\n".join(("", *whole, "")))
        if joined.isascii():
            codes = np.frombuffer(joined.encode().translate(_ascii(self.casefold)), np.uint8)
            return Letters(numbers, codes, ends)
        points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), "<u4")
        letters = _table(self.casefold).take(points, mode="clip")
        is_hard = np.zeros(len(texts), bool)
        is_hard[np.searchsorted(ends, (letters == _HARD).nonzero()[0])] = True
        as_read = "\n".join(texts)
        if any(mark in as_read for mark in KEPT):  # which stand for what they are not here
            is_hard |= [any(mark in text for mark in KEPT) for text in texts]
        letters[1:][np.repeat(is_hard, lengths)] = 0
        return Letters(numbers[~is_hard], letters, ends[~is_hard])


@cache
def _ascii(casefold: bool) -> bytes:
    """What each character of ASCII becomes; what is behind it stays unused."""
    return (ASCII_FOLDED if casefold else ASCII).replace(" ", "\0").encode().ljust(256)


@cache
def _table(casefold: bool) -> NDArray[np.uint16]:
    """What each character below U+FFFF becomes; that one, like those above it, is hard."""
    table = np.full(0x10000, _HARD, "<u2")
    table[_SYLLABLES] = np.arange(_SYLLABLES.start, _SYLLABLES.stop)
    table[:128] = np.frombuffer(_ascii(casefold), np.uint8)[:128]
    for code in _PLAIN:
        char = chr(code)
        composed = unicodedata.normalize("NFKC", char)
        folded = composed.casefold() if casefold else composed
        if BEYOND.search(char + folded):
            continue
        if not any(map(str.isalnum, char + folded)):
            # A wide comma is one between digits; of an ellipsis no point stands between two.
            if folded == char or len(folded) > 1 or folded not in ".,+#":
                table[code] = 0
        elif composed == char and len(folded) == 1 and folded.isalnum() and not char.isdecimal():
            table[code] = ord(folded)
    return table
