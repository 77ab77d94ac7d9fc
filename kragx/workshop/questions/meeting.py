"""Where a question's own words stand in a text, for who reads the text to judge it.

A word of the question is a content word (`leak.content_words`), and stands in the text whatever
particle, ending or plural it has there. It says where to look first, and nothing of relevance.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from kragx.data.text import normalise
from kragx.workshop.questions.leak import HANGUL, content_words, has_kiwi, morphemes

WINDOW = 300
"""Characters: so much is read at a glance."""

COMMON = 1 / 3
"""What stands in more than this share of the documents says nothing of where to look."""

_SAMPLE = 500
_FEWEST = 30

_RUN = re.compile(r"\w+(?:[.,]\d+)*[+#]*")
_ENDING = re.compile(r"(?<=[a-z]{4})(?:ing|ed|es|s|ly)$")

Span = tuple[int, int]


@dataclass(frozen=True)
class Meeting:
    """Where words stand in a text.

    Attributes:
        spans: the places, as [start, end) in characters, in order.
        densest: the first place of the stretch of `WINDOW` characters that has most of the
            different words; None where none has two.
    """

    spans: tuple[Span, ...] = ()
    densest: int | None = None


class Meetings:
    """Finds words in the texts of a corpus.

    Args:
        texts: of the corpus. What more than `COMMON` of the first 500 hold is looked for only if
            there is nothing else; of fewer than 30 texts nothing is common.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._sample = [normalise(text, casefold=True) for text in islice(texts, _SAMPLE)]
        self._common: dict[str, bool] = {}

    def of(self, words: str, text: str) -> Meeting:
        """Where the content words of a question, or of a search, stand in a text."""
        content = content_words(words)
        rare = _roots(word for word in content if not self._is_common(word)) or _roots(content)
        places = [
            (start, end, word)
            for roots, start, end in _placed(text)
            for word in [min(roots & rare, default=None)]
            if word is not None
        ]
        return Meeting(tuple((start, end) for start, end, _ in places), _densest(places))

    def _is_common(self, word: str) -> bool:
        n = len(self._sample)
        if word not in self._common:
            share = sum(word in text for text in self._sample) / max(n, 1)
            self._common[word] = n >= _FEWEST and share > COMMON
        return self._common[word]


def _densest(places: list[tuple[int, int, str]]) -> int | None:
    best, n_best = None, 1
    for first, (start, _, _) in enumerate(places):
        near: set[str] = set()
        for n in range(first, len(places)):
            _, end, word = places[n]
            if end > start + WINDOW:
                break
            near.add(word)
        if len(near) > n_best:
            best, n_best = first, len(near)
    return best


@lru_cache(maxsize=4096)
def _placed(text: str) -> tuple[tuple[frozenset[str], int, int], ...]:
    """The content words of a text by where they stand, as `_roots` has them."""
    if HANGUL.search(text) and has_kiwi() and unicodedata.is_normalized("NFC", text):
        return tuple((_roots(words), start, end) for words, start, end in morphemes(text))
    # Word by word: Kiwi's places are those of NFC, and none is needed for what has no Hangul.
    runs = ((content_words(run[0]), *run.span()) for run in _RUN.finditer(text))
    return tuple((_roots(words), start, end) for words, start, end in runs if words)


def _roots(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_root, words))


def _root(word: str) -> str:
    """An English word without its commonest endings, so that `returned` meets `return`."""
    if not word.isascii():
        return word
    root = _ENDING.sub("", word)
    if root != word and root[-1] == root[-2]:
        root = root[:-1]
    return root.removesuffix("e") if len(root) > 4 else root
