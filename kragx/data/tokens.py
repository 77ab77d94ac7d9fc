"""Texts as arrays of token numbers: each distinct text is tokenised once."""

import itertools
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from kragx.data.known import OfTexts
from kragx.data.lists import Lists
from kragx.data.stretches import Growing, distinct, ranges, starts
from kragx.data.tokenizers import Tokenizer
from kragx.data.words import unspaced

Tokens = NDArray[np.int32]
Ints = NDArray[np.int64]

HASH_BITS = 16
# Knuth's multiplier, and other odd numbers.
_ODD = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F], np.uint32)

PIECE = 4
"""So many characters of a script that writes without spaces are compared as one token is."""

# Tokens that are kept for texts that may come again; a few hundred megabytes with the texts.
_MOST_TOKENS = 1 << 24
_MOST_STRETCHES = 8
_MOST_CODES = 0x110000  # of Unicode


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
        self._tokens = Growing(np.empty(0, np.int32))  # of all rows
        self._starts, self._lengths = (Growing(np.empty(0, np.int64)) for _ in range(2))
        self._hashes = {n: Growing(np.empty(0, np.uint16)) for n in (1, 2, 4)}
        # Looking a new token up makes it the next number.
        self._numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
        self._strings: dict[int, str | list[int]] = {}
        self._in_pieces = Growing(np.empty(0, np.int64))  # the row of the same text in pieces
        # Below 0, so that they are no tokens.
        self._of_pieces: defaultdict[bytes, int] = defaultdict(itertools.count(-1, -1).__next__)
        self._words: list[str] = []
        self._unspaced = np.empty(0, bool)
        self._read_by: dict[Callable[[str], str], OfTexts] = {}
        self._sorted: list[list[int]] = []  # token numbers by their words, in several stretches
        self._n_sorted = 0

    def make_room(self) -> bool:
        """Forget texts and tokens if there are many; each text of a long run may be a new one."""
        is_full = self._tokens.size > _MOST_TOKENS
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
        if new and self.in_letters:
            self._unspaced = np.ones(len(self.words), bool)
        elif new:
            flags = [
                # Most words are known by their first letter to be of another script.
                word[:1] >= "\u0e00"
                and not "가" <= word[0] <= "힣"
                and unspaced(word)
                and not any(map(str.isalnum, word[1:]))  # only marks behind it
                for word in new
            ]
            self._unspaced = np.concatenate((self._unspaced, flags))
        return self._unspaced

    def pieces(self, rows: Ints) -> Ints:
        """The rows of the same texts with their characters in overlapping pieces.

        A character of a script that writes without spaces says less than a word: by chance alone
        a long text has many pairs of those of another. So their runs are cut into pieces of
        `PIECE` characters, one from each character on; shorter runs stay as they are. A piece's
        number is below 0.
        """
        n_rows = len(self.texts)
        if self._in_pieces.size < n_rows:
            first = self._in_pieces.size
            self._in_pieces.extend(np.arange(first, n_rows))  # as they are
            self._cut(first)
            self._in_pieces.extend(np.arange(n_rows, len(self.texts)))
        return self._in_pieces.values[rows]

    def _cut(self, first: int) -> None:
        """Add rows for those texts from a row on that have a run long enough for a piece."""
        if not self.unspaced.any():
            return
        lengths = self.lengths[first:]
        tokens = self._tokens.values[self._starts.values[first] :].copy()
        rows = np.repeat(np.arange(len(lengths)), lengths)
        inside = self.unspaced[tokens]
        n_starts = max(0, len(tokens) - PIECE + 1)
        begins = np.zeros(len(tokens), bool)
        begins[:n_starts] = rows[:n_starts] == rows[PIECE - 1 :]  # not over the end of a text
        for place in range(PIECE):
            begins[:n_starts] &= inside[place : place + n_starts]
        if not begins.any():
            return
        covered = begins.copy()
        for place in range(1, PIECE):
            covered[place:] |= begins[:-place]
        # A piece's key is the bytes of its token numbers: a tenth of the time of joined letters.
        pieces = sliding_window_view(tokens, PIECE)[begins[:n_starts]]
        keys = pieces.view(f"V{pieces.itemsize * PIECE}").ravel().tolist()
        tokens[begins] = np.fromiter(map(self._of_pieces.__getitem__, keys), np.int32, len(keys))
        cut = distinct(rows[begins])
        units = (begins | ~covered) & np.isin(rows, cut)
        n_units = np.bincount(rows[units], minlength=len(lengths))[cut]
        self._in_pieces.values[first + cut] = np.arange(len(cut)) + len(self.texts)
        self._append([self.texts[first + row] for row in cut.tolist()], tokens[units], n_units)

    def _append(self, texts: Sequence[str], tokens: Tokens, lengths: Ints) -> None:
        """Add rows."""
        self._starts.extend(self._tokens.size + starts(lengths))
        self._lengths.extend(lengths)
        self._tokens.extend(tokens)
        self.texts += texts

    def add(self, texts: Iterable[str]) -> None:
        """Tokenise the texts that are new, as one batch; where that is interrupted, forget all."""
        try:
            self._add_new([*texts])
        except BaseException:  # half done, while a matcher may be used again
            self._forget()
            raise

    def _add_new(self, texts: Sequence[str]) -> None:
        new = [*dict.fromkeys(itertools.filterfalse(self._rows.__contains__, texts))]
        if not new:
            return
        if self.make_room():
            new = [*dict.fromkeys(texts)]
        stream = self.tokenizer.tokens(new)
        lengths: list[int] = []

        def counted() -> Iterator[list[str]]:
            for tokens in stream:
                lengths.append(len(tokens))
                yield tokens

        number = self._numbers.__getitem__
        tokens = np.fromiter(map(number, itertools.chain.from_iterable(counted())), np.int32)
        self._add(new, tokens, np.array(lengths, np.int64))

    def _add(self, texts: Sequence[str], tokens: Tokens, lengths: Ints) -> None:
        """Add rows for texts that can be looked up."""
        first = len(self.texts)
        self._rows.update(zip(texts, range(first, first + len(lengths)), strict=True))
        self._append(texts, tokens, lengths)

    @property
    def lengths(self) -> Ints:
        """How many tokens each row has."""
        return self._lengths.values

    @property
    def starts(self) -> Ints:
        """Where the tokens of each row begin in `tokens`."""
        return self._starts.values

    @property
    def tokens(self) -> Tokens:
        """The tokens of all rows, one behind the other."""
        return self._tokens.values

    def hashes(self, n: int) -> NDArray[np.uint16]:
        """A hash of the n tokens (1, 2 or 4) that begin at each of `tokens`, made once.

        Those of a row's last n - 1 tokens mean nothing.
        """
        hashes, tokens = self._hashes[n], self.tokens.view(np.uint32)
        hashes.size = max(0, hashes.size - n + 1)  # what follows the last one was not known
        new = tokens[hashes.size :]
        mixed = new * _ODD[0]
        for place in range(1, n):
            mixed[:-place] += new[place:] * _ODD[place]
        hashes.extend((mixed >> np.uint32(32 - HASH_BITS)).astype(np.uint16))
        return hashes.values

    def rows_of(self, read: Callable[[str], str], sources: Sequence[str], numbers: Ints) -> Ints:
        """The row of each text as it is read; every text is read once.

        Args:
            read: says how a text is read.
            sources: texts by number, which stay what they are.
            numbers: of the texts.
        """

        def rows(texts: list[str]) -> Ints:
            as_read = [*map(read, texts)]
            self.add(as_read)
            return self.rows(as_read)

        return self._read_by.setdefault(read, OfTexts(rows)).of(sources, numbers)

    def numbered(self, read: Callable[[str], str], *lists: Lists) -> list[Lists]:
        """Lists of a batch, of one known list of texts, by the rows of their texts as read."""
        self.make_room()
        # All at once: what is added may need the room of what was there before.
        rows = self.rows_of(read, lists[0].known, np.concatenate([part.numbers for part in lists]))
        ends = np.cumsum([len(part.numbers) for part in lists])
        return [
            Lists(self.texts, of_list, part.n_texts)
            for part, of_list in zip(lists, np.split(rows, ends[:-1]))
        ]

    def rows(self, texts: Sequence[str]) -> Ints:
        """The row of each text of the latest batch."""
        return np.fromiter(map(self._rows.__getitem__, texts), np.int64, len(texts))

    def tokens_of(self, rows: Ints) -> Tokens:
        """The tokens of some rows, one behind the other."""
        places = ranges(self._starts.values[rows], self.lengths[rows])
        tokens: Tokens = self._tokens.values.take(places)
        return tokens

    def of(self, texts: Iterable[str]) -> list[Tokens]:
        """The token numbers of each text of the latest batch."""
        return self.of_rows(self.rows([*texts]))

    def of_rows(self, rows: Ints) -> list[Tokens]:
        """The token numbers of each row."""
        tokens, begins = self._tokens.values, self._starts.values[rows]
        ends = begins + self.lengths[rows]
        return [tokens[begin:end] for begin, end in zip(begins.tolist(), ends.tolist())]

    def strings(self, rows: Ints) -> list[str | list[int]]:
        """The tokens of each row as a sequence for rapidfuzz, which compares strings fastest.

        Each token number becomes a code point; a vocabulary beyond Unicode's range stays numbers.
        """
        if self.n_distinct_tokens > _MOST_CODES:
            return [tokens.tolist() for tokens in self.of_rows(rows)]
        memo, of_text = self._strings, rows.tolist()
        new = [row for row in dict.fromkeys(of_text) if row not in memo]
        new_rows = np.array(new, np.int64)
        codes = self.tokens_of(new_rows).astype("<u4").tobytes()
        letters = codes.decode("utf-32-le", "surrogatepass")
        ends = np.cumsum(self.lengths[new_rows]).tolist()
        memo.update(zip(new, [letters[start:end] for start, end in itertools.pairwise([0, *ends])]))
        return [*map(memo.__getitem__, of_text)]

    def forms(self, token: int) -> list[int]:
        """The tokens that are this one, or that one going on in Hangul, as with a particle.

        A particle stands in one word with its noun, and so do units and endings: ``15일에`` and
        ``1919년`` are forms of ``15일`` and ``1919``.
        """
        words = self.words
        word_of = words.__getitem__
        if self._n_sorted < len(words):
            self._sorted.append(sorted(range(self._n_sorted, len(words)), key=word_of))
            self._n_sorted = len(words)
        if len(self._sorted) > _MOST_STRETCHES:
            self._sorted = [sorted(itertools.chain.from_iterable(self._sorted), key=word_of)]
        first, stop = words[token] + "가", words[token] + chr(ord("힣") + 1)
        forms = [token]
        for stretch in self._sorted:
            start = bisect_left(stretch, first, key=word_of)
            forms += stretch[start : bisect_left(stretch, stop, start, key=word_of)]
        return forms

    def letters(self, tokens: Tokens) -> str:
        """The tokens as one text, with nothing between them."""
        words = self.words
        return "".join(words[token] for token in tokens.tolist())


def joined(texts: Sequence[Tokens]) -> tuple[Tokens, Ints, Ints]:
    """All tokens of several texts in a row, which text each is of, and how many each text has."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    tokens = np.concatenate(texts) if len(texts) else np.empty(0, np.int32)
    return tokens, np.repeat(np.arange(len(texts)), lengths), lengths
