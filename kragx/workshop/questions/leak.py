"""Word leak: how much of a question stands in the text that it was made from.

A question in its source's own words is found by whoever looks for words, whatever it asks: a set of
such questions flatters BM25. The leak of a question is the share of its distinct content words
that its sources have.

Content words are, in a text with Hangul, the nouns, verbs, adjectives, roots, numbers and foreign
words that Kiwi finds (without Kiwi: words without the particles and endings that they end in), and
in any other the words of the tokenizer `unicode`, an English plural as its singular. The commonest
words, and those that merely ask (``알리다``, ``know``, ``question``), are none: ``common.yaml``.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import yaml

from kragx.data.korean import stem
from kragx.data.text import normalise
from kragx.data.tokenizers import KiwiTokenizer
from kragx.data.words import words

HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")

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
    words = content_words(question)
    if not words:
        return None
    texts = [*sources]
    words_known = frozenset[str]().union(*map(content_words, texts))
    whole = "\n".join(normalise(text, casefold=True) for text in texts)
    # Kiwi may cut a word in one way in the question, and in another in the text.
    in_another = {word for word in words if len(word) > 1 and HANGUL.search(word) and word in whole}
    return len(words & words_known | in_another) / len(words)


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
    if HANGUL.search(text) is None:
        return _english(text)
    if not has_kiwi():
        return frozenset(map(_stem, words(text))) - _ASKING_KO - ASKING_EN - {""}
    word_sets = (words for words, _, _ in morphemes(unicodedata.normalize("NFC", text)))
    return frozenset[str]().union(*word_sets)


def morphemes(text: str) -> Iterator[tuple[frozenset[str], int, int]]:
    """The content words of a text of NFC by Kiwi, each with where it starts and ends."""
    for morpheme in KiwiTokenizer().tokenize(text):
        tag = morpheme.tag.partition("-")[0]
        if tag in _TAGS and morpheme.form not in _ASKING_KO:
            roots = _english(morpheme.form) if tag == "SL" else frozenset((morpheme.form,))
            yield roots, morpheme.start, morpheme.start + morpheme.len


def _english(text: str) -> frozenset[str]:
    return frozenset(_singular(word) for word in words(text) if word not in ASKING_EN)


@cache
def _stem(word: str) -> str:
    """A Korean word without one particle or ending, an English one in the singular."""
    if HANGUL.search(word) is None:
        return word if word in ASKING_EN else _singular(word)
    return stem(word)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    is_plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if is_plural else word
