"""Short texts such as answers are looked for as phrases: which are short, where they stand."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from kragx.data.tokens import TokenCorpus, Tokens, joined

SHORT = 5
"""Gold of at most so many tokens is looked for as a phrase."""

UNSPACED_FOR_ONE = 3
"""So many characters of a script that writes without spaces count as one token."""

_BYTES = np.dtype(np.int32).itemsize


def are_short(texts: Sequence[Tokens], corpus: TokenCorpus, size: int = SHORT) -> NDArray[np.bool_]:
    """Which texts have tokens, and at most `size`.

    Args:
        texts: the token numbers of each text.
        corpus: where the numbers come from.
        size: a number of tokens; three characters are one in scripts that write without spaces.
    """
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    short = (lengths > 0) & (lengths <= size * UNSPACED_FOR_ONE)
    rows = short.nonzero()[0]
    if rows.size:
        tokens, of_token, n = joined([texts[text] for text in rows.tolist()])
        unspaced = np.bincount(of_token, corpus.unspaced[tokens], len(rows))
        short[rows] = (n - unspaced) * UNSPACED_FOR_ONE + unspaced <= size * UNSPACED_FOR_ONE
    return short


class Phrases:
    """Wherever the tokens of a phrase stand in a document one after the other.

    The last one may go on in Hangul there, as particles do: ``15일`` in ``15일에``. A phrase
    without tokens stands nowhere.

    Args:
        docs: the token numbers of each document; negative ones equal no other.
        phrases: those of each phrase.
        corpus: where the numbers come from.
    """

    def __init__(
        self, docs: Sequence[Tokens], phrases: Sequence[Tokens], corpus: TokenCorpus
    ) -> None:
        self._docs, self._phrases, self._corpus = docs, phrases, corpus
        # Python looks for bytes many times as fast as numpy compares tokens.
        self._doc = cache(lambda doc: docs[doc].tobytes())
        self._needles = cache(self._written)

    def _written(self, phrase: int) -> list[bytes]:
        """The tokens of a phrase with each form of the last one, as bytes."""
        tokens = self._phrases[phrase]
        forms = self._corpus.forms(int(tokens[-1])) if len(tokens) else []
        return [np.append(tokens[:-1], np.int32(form)).tobytes() for form in forms]

    def stands(self, doc: int, phrase: int) -> bool:
        """Whether a phrase stands in a document, by their places in the arguments."""
        return next(self.places(doc, phrase), None) is not None

    def places(self, doc: int, phrase: int) -> Iterator[int]:
        """At which of the document's tokens the phrase begins, by form and place."""
        stream = self._doc(doc)
        for needle in self._needles(phrase):
            place = stream.find(needle)
            while place >= 0:
                token, rest = divmod(place, _BYTES)
                if not rest:  # not from within a token on
                    yield token
                place = stream.find(needle, place + 1)


class Compounds:
    """Phrases in Hangul whose words are written together or apart elsewhere: 손해배상, 손해 배상.

    A phrase of `LETTERS` letters or more stands where its letters do, whatever the spaces, from the
    beginning of a word on; the last word may go on in Hangul.

    Args:
        docs: the token numbers of each document.
        phrases: those of each phrase.
        corpus: where the numbers come from.

    Attributes:
        may_be: which phrases are long enough and have Hangul.
    """

    LETTERS = 4

    def __init__(
        self, docs: Sequence[Tokens], phrases: Sequence[Tokens], corpus: TokenCorpus
    ) -> None:
        self._docs, self._corpus = docs, corpus
        self._by_words = Phrases(docs, phrases, corpus)
        self._letters = [corpus.letters(tokens) for tokens in phrases]
        self._in_letters: dict[int, tuple[str, list[int], set[int]]] = {}
        self.may_be: NDArray[np.bool_] = np.array(
            [
                len(letters) >= self.LETTERS and any("가" <= letter <= "힣" for letter in letters)
                for letters in self._letters
            ],
            bool,
        )

    def stand(self, doc: int, phrase: int) -> bool:
        """Whether a phrase stands in a document, by their places in the arguments."""
        return any(True for _ in self.starts(doc, phrase))

    def starts(self, doc: int, phrase: int) -> Iterator[int]:
        """At which of a document's letters a phrase begins; of a short one as its words do."""
        if doc not in self._in_letters:
            words = [*map(self._corpus.words.__getitem__, self._docs[doc].tolist())]
            firsts = [0, *accumulate(map(len, words))]
            self._in_letters[doc] = "".join(words), firsts, {*firsts}
        letters, firsts, begins = self._in_letters[doc]
        if not self.may_be[phrase]:
            yield from map(firsts.__getitem__, sorted(self._by_words.places(doc, phrase)))
            return
        needle = self._letters[phrase]
        place = letters.find(needle)
        while place >= 0:
            end = place + len(needle)
            goes_on = end < len(letters) and "가" <= letters[end] <= "힣"
            if place in begins and (end in begins or goes_on):
                yield place
            place = letters.find(needle, place + 1)
