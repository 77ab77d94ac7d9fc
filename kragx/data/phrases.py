"""Short texts such as answers are looked for as phrases: which are short, where they stand."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from kragx.data.lists import Bools, Ints
from kragx.data.tokens import TokenCorpus, Tokens

SHORT = 5
"""Gold of at most so many tokens is looked for as a phrase."""

UNSPACED_FOR_ONE = 3
"""So many characters of a script that writes without spaces count as one token."""

LONGEST = 8
"""More letters than that words in Hangul have on average only where their spaces were lost."""

LETTERS = 4
"""A phrase in Hangul of so many letters may be a compound, written together or apart elsewhere."""

# Before each token, and in place of one that equals no other: white space, so in no token.
_BEFORE, _NO_TOKEN = "\x1f", "\x1e"


def are_short(texts: Sequence[Tokens], corpus: TokenCorpus, size: int = SHORT) -> Bools:
    """Which texts have tokens, and at most `size`, with no more letters than so many words have.

    Args:
        texts: the token numbers of each text.
        corpus: where the numbers come from.
        size: a number of tokens; three characters are one in scripts that write without spaces.
    """
    lengths = np.array([*map(len, texts)], np.int64)
    short: Bools = (lengths > 0) & (lengths <= size * UNSPACED_FOR_ONE)
    for row in short.nonzero()[0].tolist():
        n_unspaced = int(corpus.unspaced[texts[row]].sum())
        n_words = len(texts[row]) - n_unspaced
        words = map(corpus.words.__getitem__, texts[row].tolist())
        n_letters = sum(len(word) for word in words if _is_hangul(word[-1]))
        short[row] = (
            n_words * UNSPACED_FOR_ONE + n_unspaced <= size * UNSPACED_FOR_ONE
            and n_letters <= size * LONGEST
        )
    return short


class Phrases:
    """Where the tokens of phrases stand in documents, one after the other.

    The last one may go on in Hangul there, as particles do: ``15일`` in ``15일에``. A particle
    stands in one word with its noun, and so do units and endings. A phrase without tokens stands
    nowhere, and none over the end of a document.

    A compound in Hangul is written together or apart: 손해배상, 손해 배상. With `compounds` a
    phrase of `LETTERS` letters or more stands where its letters do, whatever the spaces, from the
    beginning of a word on to the end of one.

    Args:
        docs: the token numbers of each document; negative ones equal no other.
        phrases: those of each phrase.
        corpus: where the numbers come from.
        compounds: whether such phrases are looked for by their letters.
    """

    def __init__(
        self,
        docs: Sequence[Tokens],
        phrases: Sequence[Tokens],
        corpus: TokenCorpus,
        *,
        compounds: bool = False,
    ) -> None:
        words = corpus.words
        # Behind the last token stands what no token goes on with.
        self._docs = [_joined(tokens, words) + _BEFORE + _NO_TOKEN for tokens in docs]
        self._phrases = [_joined(tokens, words) for tokens in phrases]
        self._in_letters: dict[int, tuple[str, set[int]]] = {}
        self._compounds = [
            phrase.replace(_BEFORE, "") if compounds and any(map(_is_hangul, phrase)) else ""
            for phrase in self._phrases
        ]

    def stand(self, doc: Ints, phrase: Ints) -> Bools:
        """Whether a phrase stands in a document, for pairs of them by their places."""
        # Where its words stand, its letters do.
        firsts = (next(self.letters(*pair), None) for pair in zip(doc.tolist(), phrase.tolist()))
        return np.array([first is not None for first in firsts], bool)

    def tokens(self, doc: int, phrase: int) -> Iterator[int]:
        """With which of a document's tokens a phrase begins, as it is."""
        for place in self._joints(doc, phrase):
            yield self._docs[doc].count(_BEFORE, 0, place)

    def letters(self, doc: int, phrase: int) -> Iterator[int]:
        """At which of a document's letters a phrase begins; of a short one as its words do."""
        compound = self._compounds[phrase]
        if len(compound) < LETTERS:
            for place in self._joints(doc, phrase):
                yield place - self._docs[doc].count(_BEFORE, 0, place)
            return
        if doc not in self._in_letters:
            words = self._docs[doc].split(_BEFORE)[1:-1]
            self._in_letters[doc] = "".join(words), {0, *accumulate(map(len, words))}
        letters, begins = self._in_letters[doc]
        for place in places(letters, compound):
            end = place + len(compound)
            if place in begins and (end in begins or _is_hangul(letters[end])):
                yield place

    def _joints(self, doc: int, phrase: int) -> Iterator[int]:
        """Where the tokens of a phrase stand in the joined ones of a document."""
        needle, text = self._phrases[phrase], self._docs[doc]
        for place in places(text, needle) if needle else ():
            behind = text[place + len(needle)]
            if behind == _BEFORE or _is_hangul(behind):
                yield place


def _joined(tokens: Tokens, words: Sequence[str]) -> str:
    """The tokens of a text, each behind a sign that is in none."""
    numbers = tokens.tolist()
    return "".join([_BEFORE + (_NO_TOKEN if n < 0 else words[n]) for n in numbers])


def places(text: str, part: str, start: int = 0) -> Iterator[int]:
    """Where a part stands in a text, from a letter on."""
    place = text.find(part, start)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _is_hangul(letter: str) -> bool:
    return "가" <= letter <= "힣"
