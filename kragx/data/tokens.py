"""Texts as arrays of token numbers: each distinct text is tokenised once."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import DTypeLike, NDArray

from kragx.data.stretches import parts, ranges, starts
from kragx.data.tokenizers import LETTERS, Tokenizer
from kragx.data.words import unspaced, words

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Tokens = NDArray[np.int32]
Ints = NDArray[np.int64]

PIECE = 4
"""So many characters of a script that writes without spaces are compared as one token is."""

# Tokens that are kept for texts that may come again; a few hundred megabytes with the texts.
_MOST_TOKENS = 1 << 24
_MOST_CODES = 0x110000  # of Unicode
_GRAM_BITS, _MOST_GRAMS = 60, 1 << 62  # the number of an n-gram: those of its tokens side by side
_FIRST_PIECE = 1 << 29  # more than any token's number, so that pieces are no tokens


class Growing:
    """An array that grows at its end.

    Attributes:
        size: how many values there are.
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._array = np.empty(0, dtype)
        self.size: int = 0

    @property
    def values(self) -> NDArray[Any]:
        """It, so far."""
        return self._array[: self.size]

    def extend(self, values: NDArray[Any]) -> None:
        """Add values."""
        size = self.size + len(values)
        if size > len(self._array):
            grown = np.empty(max(size, 2 * len(self._array)), self._array.dtype)
            grown[: self.size] = self.values
            self._array = grown
        self._array[self.size : size] = values
        self.size = size


class TokenCorpus:
    """Remembers the tokens of the texts it has seen, as numbers that stand for distinct tokens.

    Two texts share a token exactly if they share its number, so counting numbers is exact. Each
    distinct text has a row. When the texts grow beyond some hundred megabytes, all but the next
    batch are forgotten, and rows begin anew.

    Attributes:
        texts: by row.
        age: how often texts were forgotten.
        in_letters: whether its tokens are letters, of which three count as a word in any script.
    """

    def __init__(self, tokenizer: Tokenizer, *, in_letters: bool = False) -> None:
        self.tokenizer = tokenizer
        self.in_letters = in_letters
        self.age: int = 0
        self._begin()

    def _begin(self) -> None:
        self._rows: dict[str, int] = {}
        self.texts: list[str] = []
        self._tokens = Growing(np.int32)
        self._lengths, self._starts = Growing(np.int64), Growing(np.int64)
        # Looking a new token up makes it the next number.
        self._numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
        self._words: list[str] = []
        self._unspaced = np.empty(0, bool)
        self._number_of_letter = np.empty(0, np.int32)  # by code point, if tokens are letters
        self._ngrams: dict[int, tuple[Growing, Growing, Growing]] = {}
        self._letters: TokenCorpus | None = None
        self._pieces: TokenCorpus | None = None

    def make_room(self) -> bool:
        """Forget texts and tokens if there are many; each text of a long run may be a new one."""
        corpora = filter(None, (self, self._letters, self._pieces))
        is_full = sum(own.tokens.size for own in corpora) > _MOST_TOKENS
        if is_full:
            self._forget()
        return is_full

    def _forget(self) -> None:
        self._begin()
        self.age += 1

    @property
    def n_distinct_tokens(self) -> int:
        """How many distinct tokens were seen; every token number is below it."""
        return len(self._numbers)

    @property
    def words(self) -> Sequence[str]:
        """The token that each number stands for."""
        new = len(self._numbers) - len(self._words)
        if new:  # read from the end, as going past those that are there takes time
            self._words += [*itertools.islice(reversed(self._numbers), new)][::-1]
        return self._words

    @property
    def unspaced(self) -> NDArray[np.bool_]:
        """For each token number whether it is a character of a script that writes without spaces.

        Longer tokens of such scripts, as other tokenizers give them, are words.
        """
        new = self.words[len(self._unspaced) :]
        if new:
            more = [
                # Most words are known by their first letter to be of another script.
                self.in_letters
                or (
                    word[:1] >= "\u0e00"
                    and not "가" <= word[0] <= "힣"
                    and unspaced(word)
                    and not any(map(str.isalnum, word[1:]))  # only marks behind it
                )
                for word in new
            ]
            self._unspaced = np.concatenate((self._unspaced, more))
        return self._unspaced

    def add(self, texts: Iterable[str]) -> None:
        """Tokenise the texts that are new, as one batch; where that is interrupted, forget all."""
        texts = [*texts]
        new = [*dict.fromkeys(itertools.filterfalse(self._rows.__contains__, texts))]
        if not new:
            return
        if self.make_room():
            new = [*dict.fromkeys(texts)]
        try:
            if self.in_letters:
                letters = ["".join(words(text, apart=False)) for text in new]
                lengths = np.array([*map(len, letters)], np.int64)
                self._append(new, self._letters_of("".join(letters)), lengths)
            else:
                self._add_tokens(new, self.tokenizer.tokens(new))
            self._rows.update(zip(new, range(len(self._rows), len(self.lengths)), strict=True))
        except BaseException:  # half done, while a matcher may be used again
            self._forget()
            raise

    def _add_tokens(self, texts: Sequence[str], tokens: Iterable[list[str]]) -> None:
        lengths: list[int] = []

        def counted() -> Iterator[list[str]]:  # each is forgotten before the next is made
            for own in tokens:
                lengths.append(len(own))
                yield own

        number = self._numbers.__getitem__
        numbers = np.fromiter(map(number, itertools.chain.from_iterable(counted())), np.int32)
        self._append(texts, numbers, np.array(lengths, np.int64))

    def _letters_of(self, text: str) -> Tokens:
        """The number of each letter."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
        if not self._number_of_letter.size:
            self._number_of_letter = np.full(_MOST_CODES, -1, np.int32)
        numbers = self._number_of_letter.take(codes)
        if (numbers < 0).any():
            new = np.bincount(codes[numbers < 0]).nonzero()[0].tolist()
            self._number_of_letter[new] = [self._numbers[chr(code)] for code in new]
            numbers = self._number_of_letter.take(codes)
        return numbers

    def _append(self, texts: Sequence[str], tokens: Tokens, lengths: Ints) -> None:
        """Add rows."""
        self._starts.extend(self._tokens.size + starts(lengths))
        self._lengths.extend(lengths)
        self._tokens.extend(tokens)
        self.texts += texts

    @property
    def tokens(self) -> Tokens:
        """The tokens of all rows, one behind the other."""
        return self._tokens.values

    @property
    def lengths(self) -> Ints:
        """How many tokens each row has."""
        return self._lengths.values

    @property
    def starts(self) -> Ints:
        """Where the tokens of each row begin in `tokens`."""
        return self._starts.values

    def spelled(self) -> TokenCorpus:
        """The same texts in the same rows, a letter of their words a token."""
        letters = self._letters = self._letters or TokenCorpus(LETTERS, in_letters=True)
        first = len(letters.texts)
        if first < len(self.texts):
            # What no version of Unicode knows yet is a word of its own there, and no letter.
            spelled = [
                word[1:] if word >= "\U00020000" and not word[0].isalnum() else word
                for word in self.words
            ]
            n_letters = np.array([*map(len, spelled)], np.int64)
            of_words = letters._letters_of("".join(spelled))
            for part in parts(self.lengths[first:]):
                rows = np.arange(first + part.start, first + part.stop)
                tokens = self.tokens_of(rows)
                n_of_token = n_letters[tokens]
                up_to = np.concatenate(([0], np.cumsum(n_of_token)))
                ends = up_to[np.cumsum(self.lengths[rows])]
                numbers = of_words.take(ranges(starts(n_letters)[tokens], n_of_token))
                letters._append(
                    self.texts[rows[0] : rows[-1] + 1], numbers, np.diff(ends, prepend=0)
                )
        return letters

    def in_pieces(self) -> TokenCorpus:
        """The same texts in the same rows with their characters in overlapping pieces.

        A character of a script that writes without spaces says less than a word: by chance alone
        a long text has many pairs of those of another. So their runs are cut into pieces of
        `PIECE` characters, one from each character on; shorter runs stay as they are. A piece's
        number is none of a token.
        """
        if not self.unspaced.any():
            return self
        pieces = self._pieces = self._pieces or TokenCorpus(self.tokenizer)
        first = len(pieces.texts)
        if first < len(self.texts):
            pieces._append(self.texts[first:], *pieces._cut(self, first))
        return pieces

    def _cut(self, corpus: TokenCorpus, first: int) -> tuple[Tokens, Ints]:
        """The tokens and pieces of a corpus's rows from one on, and how many each row has."""
        lengths = corpus.lengths[first:]
        tokens = corpus.tokens[corpus.starts[first] :].copy()
        rows = np.repeat(np.arange(len(lengths)), lengths)
        inside = corpus.unspaced[tokens]
        behind = max(0, len(tokens) - PIECE + 1)
        begins, covered = np.zeros(len(tokens), bool), np.zeros(len(tokens) + PIECE, bool)
        begins[:behind] = rows[:behind] == rows[PIECE - 1 :]  # not over the end of a text
        for place in range(PIECE):
            begins[:behind] &= inside[place : place + behind]
        for place in range(PIECE):
            covered[place : place + len(tokens)] |= begins
        if begins.any():
            # A piece's key is the bytes of its token numbers, a tenth of the time of its letters.
            windows = sliding_window_view(tokens, PIECE)[begins[:behind]]
            keys = windows.view(f"V{windows.itemsize * PIECE}").ravel().tolist()
            number = self._numbers.__getitem__
            tokens[begins] = np.fromiter(map(number, keys), np.int32, len(keys)) + _FIRST_PIECE
        units = begins | ~covered[: len(tokens)]
        return tokens[units], np.bincount(rows[units], minlength=len(lengths))

    def ngrams(self, n: int) -> csr_array:
        """How often each row has each n tokens in a row, numbered side by side; counted once.

        Of four letters that is exact as long as there are at most 32,768 distinct ones.
        """
        from scipy.sparse import csr_array

        if n not in self._ngrams:
            self._ngrams[n] = Growing(np.int32), Growing(np.int64), Growing(np.int64)
        counts, grams, ends = self._ngrams[n]
        first = ends.size
        counts.size = grams.size = int(ends.values[-1]) if first else 0  # whatever was interrupted
        for part in parts(self.lengths[first:]):
            lengths = self.lengths[first:][part]
            start = self.starts[first + part.start]
            new = _counted(self.tokens[start : start + lengths.sum()], lengths, n)
            ends_here = grams.size + new.indptr[1:]
            grams.extend(new.indices)
            counts.extend(new.data)
            ends.extend(ends_here)
        bounds = np.concatenate(([0], ends.values))
        shape = (len(self.texts), _MOST_GRAMS)
        return csr_array((counts.values, grams.values, bounds), shape=shape)

    def rows(self, texts: Sequence[str]) -> Ints:
        """The row of each text of the latest batch."""
        return np.fromiter(map(self._rows.__getitem__, texts), np.int64, len(texts))

    def tokens_of(self, rows: Ints) -> Tokens:
        """The tokens of some rows, one behind the other."""
        return self.tokens.take(ranges(self.starts[rows], self.lengths[rows]))

    def of(self, texts: Iterable[str]) -> list[Tokens]:
        """The token numbers of each text of the latest batch."""
        return self.of_rows(self.rows([*texts]))

    def of_rows(self, rows: Ints) -> list[Tokens]:
        """The token numbers of each row."""
        begins = self.starts[rows]
        ends = begins + self.lengths[rows]
        return [self.tokens[begin:end] for begin, end in zip(begins.tolist(), ends.tolist())]

    def strings(self, rows: Ints) -> list[str | list[int]]:
        """The tokens of each row as a sequence for rapidfuzz, which compares strings fastest.

        Each token number becomes a code point; a vocabulary beyond Unicode's range stays numbers.
        """
        if self.n_distinct_tokens > _MOST_CODES:
            return [tokens.tolist() for tokens in self.of_rows(rows)]
        distinct, which = np.unique(rows, return_inverse=True)
        made = [
            tokens.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
            for tokens in self.of_rows(distinct)
        ]
        return [*map(made.__getitem__, which.tolist())]

    def letters(self, tokens: Tokens) -> str:
        """The tokens as one text, with nothing between them."""
        return "".join(map(self.words.__getitem__, tokens.tolist()))


def _counted(tokens: Tokens, lengths: Ints, n: int) -> csr_array:
    """How often each of some texts in a row has each n tokens in a row."""
    from scipy.sparse import csr_array

    numbers = np.zeros(len(tokens), np.int64)
    followed = np.concatenate((tokens, np.zeros(n, np.int32)))
    for offset in range(n):
        numbers <<= _GRAM_BITS // n
        numbers += followed[offset : offset + len(tokens)]
    is_whole = np.ones(len(tokens), bool)
    ends = np.cumsum(lengths)
    for n_left in range(1, n):
        is_whole[(ends - n_left)[lengths >= n_left]] = False
    grams = numbers[is_whole] & _MOST_GRAMS - 1
    bounds = np.concatenate(([0], np.cumsum(np.maximum(lengths - n + 1, 0))))
    shape = (len(lengths), _MOST_GRAMS)
    counted = csr_array((np.ones(len(grams), np.int32), grams, bounds), shape=shape)
    counted.sum_duplicates()
    return counted
