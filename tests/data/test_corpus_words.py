"""The words that a corpus numbers are those of the rules, whatever the texts hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from kragx.data import words as module
from kragx.data.tokenizers import LETTERS, Tokenizer, UnicodeTokenizer
from kragx.data.tokens import Growing, TokenCorpus
from kragx.data.words import words
from tests.thoroughness import examples


def numbered(
    *batches: Sequence[str], tokenizer: Tokenizer | None = None, spelled: bool = False
) -> dict[str, list[str]]:
    """The words, or letters, of each text, as a corpus numbers them that gets batches."""
    corpus = TokenCorpus(tokenizer or UnicodeTokenizer(), in_letters=tokenizer == LETTERS)
    for batch in batches:
        corpus.add(batch)
        letters = corpus.spelled() if spelled else corpus
    corpus = letters if batches and spelled else corpus
    rows = corpus.of_rows(np.arange(len(corpus.texts)))
    assert len(set(corpus.words)) == len(corpus.words)
    found = [[corpus.words[token] for token in row.tolist()] for row in rows]
    return dict(zip(corpus.texts, found, strict=True))


ASCII = st.text(st.characters(max_codepoint=127), max_size=30)
MARKS = st.text("aC+#.,15 _'-\n\x00\x01\x02\x03é한…，．\u00a0\u00ad·“", max_size=16)
SCRIPTS = st.text(
    "aZé ßΣςЖ서울역각e\u0301\u1100東กé…·“”ㆍ①℃１ａ\ud800\uffff😀🄋\u200b\u0130\u0149", max_size=16
)
HANGUL = st.text("aC+#.,15 _\n\x00\x01서울…·“\u00a0", max_size=16)
TEXT = ASCII | MARKS | SCRIPTS | HANGUL | st.text()


@examples(800)
@given(TEXT, st.booleans())
@example("한\x01글 3.5", True)
@example("“3…5” C++ 서울", True)
@example("·c++ 1,000·5 F#", False)
def test_plain_texts_have_the_words_of_the_rules(text: str, casefold: bool) -> None:
    """ASCII, and Hangul with signs beside it, are cut as texts of any other script are."""
    expected = words(f"{text} é", casefold=casefold)[:-1]
    # In ASCII these stand for what stays in a word; nobody writes them.
    if not (text.isascii() and any(mark in text for mark in "\x01\x02\x03")):
        assert words(text, casefold=casefold) == expected


@pytest.mark.integration
@pytest.mark.parametrize("casefold", [True, False])
def test_every_plain_character(casefold: bool) -> None:
    """A character of plain texts is or parts what it is, or parts, in any text."""
    plain = [char for char in map(chr, range(0x10000)) if module._plain(f"한{char}") is not None]
    assert not {*"서…·“\u3000"} - {*plain}
    for char in plain:
        text = f"한 {char} a{char}b 1{char}2 1{char}234{char}567 C{char}{char} {char}c++ f{char} F#"
        expected = words(f"{text} é", casefold=casefold)[:-1]
        assert words(text, casefold=casefold) == expected


@examples(200)
@given(st.lists(st.lists(TEXT, max_size=6), max_size=3))
@example([["", "\n", "\x00", "a\x01b", "é\x02 C++", "é 1,000.5"], ["é abcdefg"]])
def test_a_corpus_has_the_words_of_its_tokenizer(batches: list[list[str]]) -> None:
    """Every text has the words that the tokenizer gives, in whatever batches they come."""
    assert numbered(*batches) == {text: words(text) for batch in batches for text in batch}


@examples(300)
@given(st.lists(st.lists(TEXT, max_size=6), max_size=3))
@example([["", "\n", "a\x01b", "é 3.5 C++", "1,000", "한 글 東京 e\u0301"], ["한 글 \U0003134b"]])
def test_letters_are_those_of_the_words(batches: list[list[str]]) -> None:
    """Where letters are the tokens every text has those of its words, one after the other."""
    expected = {text: [*"".join(words(text, apart=False))] for batch in batches for text in batch}
    assert numbered(*batches, tokenizer=LETTERS) == expected
    assert numbered(*batches, spelled=True) == expected


def test_the_first_word_has_the_first_number() -> None:
    """Words have numbers in the order in which they come first."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["b a b longerthaneight", "c a d longerthan"])
    assert corpus.words == ["b", "a", "longerthaneight", "c", "d", "longerthan"]


@pytest.mark.parametrize("n_done", range(4))
def test_a_corpus_outlives_an_interrupt(monkeypatch: pytest.MonkeyPatch, n_done: int) -> None:
    """Whoever stops the work half way, anywhere, and begins again gets the words of each text."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["one two"])
    take = Growing.extend
    stops = iter([*[False] * n_done, True])

    def stopped(array: Growing, values: np.ndarray) -> None:
        if next(stops, False):
            raise KeyboardInterrupt
        take(array, values)

    monkeypatch.setattr(Growing, "extend", stopped)
    if n_done < 3:
        with pytest.raises(KeyboardInterrupt):
            corpus.add(["three two four", "three two five"])
    else:
        corpus.add(["three two four", "three two five"])
        with pytest.raises(KeyboardInterrupt):
            corpus.ngrams(2)
    monkeypatch.setattr(Growing, "extend", take)
    texts = ["four one", "three two four", "one two"]
    corpus.add(texts)
    found = [[corpus.words[token] for token in row] for row in corpus.of(texts)]
    assert found == [["four", "one"], ["three", "two", "four"], ["one", "two"]]
    assert corpus.ngrams(2)[corpus.rows(texts)].sum(axis=1).tolist() == [1, 2, 1]


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
