"""Porter stems as NLTK's `PorterStemmer` gives them, each distinct word once."""

from typing import Any

_SHORT = 3
"""rouge-score, and so K-RAG, leaves words of so many characters as they are."""

# In one of these ends every word that some rule changes: what the rules replace, by its last
# letters, and the words with a stem of their own. NLTK takes ten times as long to find that out.
_ENDINGS = (
    *("s", "e", "y", "ed", "ing", "al", "er", "ic", "ant", "ent", "ion", "ou", "ism", "ful", "ll"),
    *("nci", "li", "iti", "logi", "ator"),
)


class Stems(dict[str, str]):
    """The stems of words in lower case.

    Examples:
        >>> from kragx.data.stems import Stems
        >>> [*map(Stems().__getitem__, ["relational", "running", "as", "seoul"])]
        ['relat', 'run', 'as', 'seoul']
    """

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self._porter: Any = PorterStemmer()

    def __missing__(self, word: str) -> str:
        is_stemmed = len(word) > _SHORT and word.endswith(_ENDINGS)
        stem: str = self._porter.stem(word) if is_stemmed else word
        self[word] = stem
        return stem
