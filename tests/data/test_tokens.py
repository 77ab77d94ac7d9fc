"""A corpus numbers the tokens of its tokenizer, whatever the texts hold and however they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from kragx.data import tokens
from kragx.data.tokenizers import UnicodeTokenizer
from kragx.data.tokens import LetterCorpus, TokenCorpus
from kragx.data.words import words
from tests.thoroughness import examples

TEXT = st.text() | st.text(
    "aZé ßΣςЖ서울역각e\u0301\u1100東กé…·“”ㆍ①℃１ａ\ud800\uffff😀🄋\u200b\u0130\u0149C+#.,15",
    max_size=16,
)


def tokens_of(corpus: TokenCorpus, *batches: Sequence[str]) -> dict[str, list[str]]:
    """The tokens of each text, as a corpus numbers them that gets batches."""
    for batch in batches:
        corpus.add(batch)
    rows = corpus.of_rows(np.arange(len(corpus.texts)))
    assert len(set(corpus.words)) == len(corpus.words)
    found = [[corpus.words[token] for token in row.tolist()] for row in rows]
    return dict(zip(corpus.texts, found, strict=True))


@examples(300)
@given(st.lists(st.lists(TEXT, max_size=6), max_size=3))
@example([["", "\n", "a\x01b", "é 3.5 C++", "1,000", "한 글 東京 e\u0301"], ["한 글", "글 é"]])
def test_letters_are_those_of_the_words(batches: list[list[str]]) -> None:
    """Where letters are the tokens every text has those of its words, one after the other."""
    assert tokens_of(LetterCorpus(), *batches) == {
        text: [*"".join(words(text, is_split=False))] for batch in batches for text in batch
    }


def test_the_first_word_has_the_first_number() -> None:
    """Words have numbers in the order in which they come first."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["b a b longerthaneight", "c a d longerthan"])
    assert corpus.words == ["b", "a", "longerthaneight", "c", "d", "longerthan"]


@pytest.mark.parametrize("n_done", range(3))
def test_a_corpus_outlives_an_interrupt(monkeypatch: pytest.MonkeyPatch, n_done: int) -> None:
    """Whoever stops the work half way, anywhere, and begins again gets the words of each text."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["one two"])
    take = tokens._Growing.extend
    stops = iter([*[False] * n_done, True])

    def stopped(array: tokens._Growing, values: np.ndarray) -> None:
        if next(stops, False):
            raise KeyboardInterrupt
        take(array, values)

    monkeypatch.setattr(tokens._Growing, "extend", stopped)
    with pytest.raises(KeyboardInterrupt):
        corpus.add(["three two four", "three two five"])
    monkeypatch.setattr(tokens._Growing, "extend", take)
    texts = ["four one", "three two four", "one two"]
    corpus.add(texts)
    found = [[corpus.words[token] for token in row] for row in corpus.of(texts)]
    assert found == [["four", "one"], ["three", "two", "four"], ["one", "two"]]


class Backwards(UnicodeTokenizer):
    """A user's tokenizer over that of kragx."""

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """The words spelled backwards."""
        return ([word[::-1] for word in found] for found in super().tokens(texts))


def test_a_tokenizer_that_builds_on_this_one_is_asked() -> None:
    """Who overrides `tokens` gets the tokens of that, and not the words of the class below."""
    corpus = TokenCorpus(Backwards())
    corpus.add(["one two", "한 둘"])
    assert sorted(corpus.words) == ["eno", "owt", "둘", "한"]
