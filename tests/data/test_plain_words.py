"""Words that numpy cuts and numbers are those of `words`, whatever the texts hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from kragx.data import spellings, tokens
from kragx.data.plain_words import Words, _table
from kragx.data.spellings import Growing
from kragx.data.tokenizers import LETTERS, Tokenizer, UnicodeTokenizer
from kragx.data.tokens import TokenCorpus
from kragx.data.words import words
from tests.thoroughness import examples


@pytest.fixture(autouse=True)
def any_text_comes_in_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few texts would be tokenised one by one."""
    monkeypatch.setattr(tokens, "_MANY_LETTERS", -1)
    monkeypatch.setattr(tokens, "_MANY_AT_FIRST", -1)


def by_letters(
    *batches: Sequence[str], casefold: bool = True, tokenizer: Tokenizer | None = None
) -> dict[str, list[str]]:
    """The words of each text, as a corpus numbers them that gets batches."""
    corpus = TokenCorpus(tokenizer or UnicodeTokenizer(casefold))
    for batch in batches:
        corpus.add(batch)
    rows = corpus.of_rows(np.arange(len(corpus.texts)))
    assert len(set(corpus.words)) == len(corpus.words)
    found = [[corpus.words[token] for token in row.tolist()] for row in rows]
    return dict(zip(corpus.texts, found, strict=True))


def expected(*batches: Sequence[str], casefold: bool = True) -> dict[str, list[str]]:
    """The same by the tokenizer's rules, one by one."""
    return {text: words(text, casefold=casefold) for batch in batches for text in batch}


ASCII = st.text(st.characters(max_codepoint=127), max_size=30)
MARKS = st.text("aC+#.,15 _'-\n\x00\x01\x02\x03é한…，．\u00a0\u00ad", max_size=16)
SCRIPTS = st.text(
    "aZé ßΣςЖ서울역각e\u0301\u1100東กé…·“”ㆍ①℃１ａ\ud800\uffff😀🄋\u200b\u0130\u0149", max_size=16
)
LONG = st.integers(0, 70).map(lambda n: "abcdefgh" * 9 and ("xyz" * 30)[:n]) | st.integers(
    0, 40
).map(lambda n: ("가나다라마" * 9)[:n])
TEXT = (
    ASCII | MARKS | SCRIPTS | st.text() | st.lists(LONG | ASCII | SCRIPTS, max_size=4).map(" ".join)
)


@examples(800)
@given(st.lists(st.lists(TEXT, max_size=6), max_size=3), st.booleans())
@example(
    [["", "\n", "\x00", "a\x01b", "é\x01b", "é\x02 C++", "é C++ 3.5", "1,000", "é 1,000.5"]], True
)
@example([["abcdefg abcdefgh abcdefghi", "abcdefghi abcdefg"], ["é abcdefg abcdefgh"]], True)
@example([["a" * n for n in (1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40)]] * 2, True)
@example([["é " + "가" * n for n in (1, 3, 4, 5, 8, 9, 31, 32, 33, 40)]] * 2, True)
@example([["١٫٥ é", "٣٬٠٠٠", "１，０００", "3．5", "3․5", "C＋＋", "C＃", "Kelvin ſ"]], False)
def test_words_by_letters_are_those_of_the_tokenizer(
    batches: list[list[str]], casefold: bool
) -> None:
    """Every text has the words that the tokenizer gives, in whatever batches they come."""
    found = by_letters(*batches, casefold=casefold)
    assert found == expected(*batches, casefold=casefold)


@examples(300)
@given(st.lists(st.lists(TEXT, max_size=6), max_size=3))
@example([["", "\n", "a\x01b", "é 3.5 C++", "1,000", "한 글 東京 e\u0301"], ["한 글", "글 é"]])
def test_letters_are_those_of_the_words(batches: list[list[str]]) -> None:
    """Where letters are the tokens every text has those of its words, one after the other."""
    found = by_letters(*batches, tokenizer=LETTERS)
    assert found == {
        text: [*"".join(words(text, is_split=False))] for batch in batches for text in batch
    }


@pytest.mark.integration
@pytest.mark.parametrize("casefold", [True, False])
def test_every_plain_character(casefold: bool) -> None:
    """A character that the table knows becomes that, or parts words, wherever it stands."""
    plain = [*map(chr, (_table(casefold) != 0xFFFF).nonzero()[0].tolist())]
    assert not set("서éж…") - set(plain)
    texts = [
        f"한 {char} a{char}b 1{char}2 1{char}234{char}567 C{char}{char} {char}c++ f{char} {char}F#"
        for char in plain
    ]
    taken = [number for part in Words(texts, casefold=casefold).letters() for number in part.texts]
    assert len(taken) == len(texts) - 3  # all but those of \x01, \x02 and \x03
    assert by_letters(texts, casefold=casefold) == expected(texts, casefold=casefold)


def test_plain_texts_come_in_letters_and_others_do_not() -> None:
    """ASCII and texts of plain characters are cut by numpy; what needs more is left."""
    texts = ["plain", "서울은 café", "東京", "ﬁ", "", "e\u0301", "😀", "한 3.5\u00a0C++…"]
    taken = [number for part in Words(texts, casefold=True).letters() for number in part.texts]
    assert sorted(taken) == [0, 1, 4, 7]


def test_very_many_words() -> None:
    """The table of pieces grows, and finds again what it held."""
    texts = [" ".join(f"w{n}" for n in range(start, start + 700)) for start in range(0, 9000, 300)]
    batches = texts[:9], texts[9:20], [f"é {text}" for text in texts], texts[20:]
    assert by_letters(*batches) == expected(*batches)


def test_words_whose_hashes_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all pieces want the same slot each word still has a number of its own."""
    monkeypatch.setattr(spellings, "_ODD", (np.uint64(0), np.uint64(0)))
    texts = [f"word{n} longerword{n} {n}" for n in range(200)]
    assert by_letters(texts[:90], texts) == expected(texts)


def test_the_first_word_has_the_first_number() -> None:
    """Words of one script have numbers in the order in which they come first."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["b a b longerthaneight", "c a d longerthan"])
    assert corpus.words == ["b", "a", "longerthaneight", "c", "d", "longerthan"]


@pytest.mark.parametrize("n_done", range(7))
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
    with pytest.raises(KeyboardInterrupt):
        corpus.add(["three two four", "three two five"])
    monkeypatch.setattr(Growing, "extend", take)
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
