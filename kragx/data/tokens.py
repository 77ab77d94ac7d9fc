"""Texts as arrays of token numbers: each distinct text is tokenised once."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from kragx.data.tokenizers import Tokenizer
from kragx.data.words import unspaced

Tokens = NDArray[np.int32]
Ints = NDArray[np.int64]

_NOWHERE = -1
"""The place of a token that stands nowhere."""

PIECE = 4
"""So many characters of a script that writes without spaces are compared as one token is."""

# Tokens that are kept for texts that may come again; a few hundred megabytes with the texts.
_MOST_TOKENS = 1 << 24


class TokenCorpus:
    """Remembers the tokens of the texts it has seen, as numbers that stand for distinct tokens.

    Two texts share a token exactly if they share its number, so counting numbers is exact. When
    the texts grow beyond some hundred megabytes, all but the latest batch are forgotten.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._tokens: dict[str, Tokens] = {}
        self._n_tokens = 0
        # Looking a new token up makes it the next number.
        self._numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
        self._places = np.empty(0, np.int64)
        self._placed: Tokens = np.empty(0, np.int32)
        self.short: set[str] = set()  # texts of fewer than two tokens
        self._pieces: dict[str, Tokens] = {}  # of texts that have any
        self._uncut: list[str] = []  # texts not yet looked at for them
        # Below 0, so that they are no tokens.
        self._of_pieces: defaultdict[bytes, int] = defaultdict(itertools.count(-1, -1).__next__)
        self._words: list[str] = []
        self._unspaced = np.empty(0, bool)

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
                word[:1] >= "\u0e00"
                and not "가" <= word[0] <= "힣"
                and unspaced(word)
                and not any(map(str.isalnum, word[1:]))  # only marks behind it
                for word in new
            ]
            self._unspaced = np.concatenate((self._unspaced, more))
        return self._unspaced

    def pieces(self, texts: Iterable[str]) -> list[Tokens]:
        """The token numbers of each text of the latest batch, characters in overlapping pieces.

        A character of a script that writes without spaces says less than a word: by chance alone
        a long text has many pairs of those of another. So their runs are cut into pieces of
        `PIECE` characters, one from each character on; shorter runs stay as they are. A piece's
        number is below 0.
        """
        if self._uncut:
            self._cut(self._uncut)
            self._uncut = []
        return [self._pieces.get(text, self._tokens[text]) for text in texts]

    def _cut(self, texts: Sequence[str]) -> None:
        """Remember the pieces of those texts that have a run long enough for one."""
        if not self.unspaced.any():
            return
        tokens, rows, _ = joined(self.of(texts))
        inside = self.unspaced[tokens]
        behind = max(0, len(tokens) - PIECE + 1)
        begins = np.zeros(len(tokens), bool)
        begins[:behind] = rows[:behind] == rows[PIECE - 1 :]  # not over the end of a text
        for place in range(PIECE):
            begins[:behind] &= inside[place : place + behind]
        if not begins.any():
            return
        covered = begins.copy()
        for place in range(1, PIECE):
            covered[place:] |= begins[:-place]
        # A piece's key is the bytes of its token numbers: a tenth of the time of joined letters.
        pieces = sliding_window_view(tokens, PIECE)[begins[:behind]]
        keys = pieces.view(f"V{pieces.itemsize * PIECE}").ravel().tolist()
        tokens[begins] = np.fromiter(map(self._of_pieces.__getitem__, keys), np.int32, len(keys))
        units = (begins | ~covered).nonzero()[0]
        ends = np.cumsum(np.bincount(rows[units], minlength=len(texts))).tolist()
        for row in np.unique(rows[begins]).tolist():
            of_text = slice(ends[row - 1] if row else 0, ends[row])
            self._pieces[texts[row]] = tokens[units[of_text]]

    def add(self, texts: Iterable[str]) -> None:
        """Tokenise the texts that are new, as one batch."""
        batch = dict.fromkeys(texts)
        if self._n_tokens > _MOST_TOKENS:
            self._tokens = {text: self._tokens[text] for text in batch if text in self._tokens}
            self._n_tokens = sum(map(len, self._tokens.values()))
            self.short &= self._tokens.keys()
            self._pieces.clear()
            self._uncut = list(self._tokens)
        new = [text for text in batch if text not in self._tokens]
        number = self._numbers.__getitem__
        for text, tokens in zip(new, self.tokenizer.tokens(new), strict=True):
            self._tokens[text] = np.fromiter(map(number, tokens), np.int32, len(tokens))
            self._n_tokens += len(tokens)
            if len(tokens) < 2:
                self.short.add(text)
        self._uncut += new

    def of(self, texts: Iterable[str]) -> list[Tokens]:
        """The token numbers of each text of the latest batch."""
        return [self._tokens[text] for text in texts]

    def places(self, tokens: Tokens) -> Ints:
        """A table from every token number to a place where it stands in `tokens`, else negative.

        Numbers of pieces, which are below 0, stand in it from its end. It is one array that is used
        again for every call, so use it before the next one.
        """
        size = self.n_distinct_tokens + len(self._of_pieces)
        if len(self._places) < size:
            self._places = np.full(2 * size, _NOWHERE, np.int64)
        else:
            self._places[self._placed] = _NOWHERE
        self._places[tokens] = np.arange(len(tokens))
        self._placed = tokens
        return self._places

    def letters(self, tokens: Tokens) -> str:
        """The tokens as one text, with nothing between them."""
        words = self.words
        return "".join(words[token] for token in tokens.tolist())

    def string(self, tokens: Tokens) -> str | list[int]:
        """The tokens as a sequence for rapidfuzz, which compares strings fastest.

        Each token number becomes a code point; a vocabulary beyond Unicode's range stays numbers.
        """
        if self.n_distinct_tokens > 0x110000:
            return tokens.tolist()  # type: ignore[no-any-return]
        return tokens.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def joined(texts: Sequence[Tokens]) -> tuple[Tokens, Ints, Ints]:
    """All tokens of several texts in a row, which text each is of, and how many each text has."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    tokens = np.concatenate(texts) if len(texts) else np.empty(0, np.int32)
    return tokens, np.repeat(np.arange(len(texts)), lengths), lengths
