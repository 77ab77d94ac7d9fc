"""Content words: how many of a question's its sources have, and where they stand in a text.

A question in its source's own words is found by whoever looks for words, whatever it asks: a set of
such questions flatters BM25. The leak of a question is the share of its distinct content words
that its sources have.

Content words are, in a text with Hangul, the nouns, verbs, adjectives, roots, numbers and foreign
words that Kiwi finds (without Kiwi: words without the particles and endings that they end in), and
in any other the words of the tokenizer `unicode`, an English plural as its singular. The commonest
words, and those that merely ask (``알리다``, ``know``, ``question``), are none: ``common.yaml``.

Who reads a text to judge it is shown where a question's words stand, with whatever particle, ending
or plural: that says where to look first, and nothing of relevance.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import yaml

from kragx.data.korean import HANGUL, stem
from kragx.data.text import normalise
from kragx.data.tokenizers import KiwiTokenizer
from kragx.data.words import words

_TAGS = ("NNG", "NNP", "XR", "SL", "SH", "SN", "VV", "VA")
COMMON: Mapping[str, str] = yaml.safe_load(
    Path(__file__).with_name("common.yaml").read_text(encoding="utf-8")
)
"""Lists of words; see the file."""
ASKING_EN, _ASKING_KO = (frozenset(COMMON[language].split()) for language in ("en", "ko"))


def leak(question: str, sources: Iterable[str]) -> float | None:
    """The share of a question's distinct content words that its sources have.

    Of several sources together: who copies half a question from each has copied it whole.

    Returns:
        0 to 1; None for a question without a content word.
    """
    content = content_words(question)
    if not content:
        return None
    texts = [*sources]
    whole = "\n".join(normalise(text, casefold=True) for text in texts)
    # Kiwi may cut a word in one way in the question, and in another in the text.
    inside = {word for word in content if len(word) > 1 and HANGUL.search(word) and word in whole}
    return len(content & inside.union(*map(content_words, texts))) / len(content)


def mean_leak(leaks: Iterable[float | None]) -> float | None:
    """The mean of those that are known; None if none is."""
    values = [value for value in leaks if value is not None]
    return sum(values) / len(values) if values else None


def has_kiwi() -> bool:
    """Whether Kiwi is installed (extra ``korean``)."""
    return find_spec("kiwipiepy") is not None


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """The distinct content words of a text; see the module."""
    if HANGUL.search(text) and has_kiwi():
        spans = morphemes(unicodedata.normalize("NFC", text))
        return frozenset[str]().union(*(roots for roots, _, _ in spans))
    roots = (_singular(stem(word)) for word in words(text) if word not in ASKING_EN)
    return frozenset(roots) - _ASKING_KO - {""}


def morphemes(text: str) -> Iterator[tuple[frozenset[str], int, int]]:
    """The content words of a text of NFC by Kiwi, each with where it starts and ends."""
    for morpheme in KiwiTokenizer().tokenize(text):
        # Kiwi marks irregular verbs behind the tag: VV-I is a verb, too.
        tag, form = morpheme.tag.partition("-")[0], morpheme.form
        if tag in _TAGS and form not in _ASKING_KO:
            # A foreign word is read as in a text of its own: as its singular, and maybe as none.
            roots = content_words(form) if tag == "SL" else frozenset((form,))
            yield roots, morpheme.start, morpheme.start + morpheme.len


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    is_plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if is_plural else word


_RUN = re.compile(r"\w+(?:[.,]\d+)*[+#]*")
_ENDING = re.compile(r"(?<=[a-z]{4})(?:ing|ed|es|s|ly)$")

Span = tuple[int, int]


def word_places(words: str, text: str) -> list[Span]:
    """Where the content words of a question, or of a search, stand in a text: [start, end)."""
    roots = _roots(content_words(words))
    return [(start, end) for placed, start, end in _placed(text) if placed & roots]


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
