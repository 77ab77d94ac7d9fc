"""Short texts such as answers are looked for as phrases: which are short, where they stand."""

import numpy as np
from numpy.typing import NDArray

from kragx.data.tokens import Ints, TokenCorpus, Tokens

SHORT = 5
"""Gold of at most so many tokens is looked for as a phrase."""

UNSPACED_FOR_ONE = 3
"""So many characters of a script that writes without spaces count as one token."""


def is_short(tokens: Tokens, corpus: TokenCorpus, most: int = SHORT) -> bool:
    """Whether a text has tokens, and at most `most`.

    Args:
        tokens: the token numbers of the text.
        corpus: where the numbers come from.
        most: a number of tokens; three characters are one in scripts that write without spaces.
    """
    if not 0 < len(tokens) <= most * UNSPACED_FOR_ONE:
        return False
    unspaced = int(corpus.unspaced[tokens].sum())
    return (len(tokens) - unspaced) * UNSPACED_FOR_ONE + unspaced <= most * UNSPACED_FOR_ONE


def phrase_starts(tokens: Tokens, phrase: Tokens, corpus: TokenCorpus) -> Ints:
    """The places at which the tokens of a phrase stand one after the other.

    The last one may go on in Hangul there, as particles do: ``15일`` in ``15일에``. A phrase
    without tokens stands nowhere.

    Args:
        tokens: the token numbers of a text; negative ones equal no other.
        phrase: those of the phrase.
        corpus: where the numbers come from.
    """
    behind = len(phrase) - 1
    if not 0 <= behind < len(tokens):
        return np.empty(0, np.int64)
    starts: Ints = np.arange(len(tokens) - behind)
    for offset, token in enumerate(phrase[:-1]):
        starts = starts[tokens[starts + offset] == token]
    ends, numbers = np.unique(tokens[starts + behind], return_inverse=True)
    words, last = corpus.words, corpus.words[phrase[-1]]
    forms = np.array([end >= 0 and _is_form(words[end], last) for end in ends.tolist()], bool)
    stands: NDArray[np.bool_] = forms[numbers]
    return starts[stands]


def _is_form(word: str, of: str) -> bool:
    """Whether a word is another one, or that one going on in Hangul.

    A particle stands in one word with its noun, and so do units and endings: ``15일에`` and
    ``1919년`` are forms of ``15일`` and ``1919``.
    """
    return word.startswith(of) and (len(word) == len(of) or "가" <= word[len(of)] <= "힣")
