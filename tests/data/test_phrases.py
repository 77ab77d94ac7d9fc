"""Phrases in many documents at once, and the forms that a word takes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.data import tokens
from kragx.data.phrases import Phrases
from kragx.data.tokenizers import UnicodeTokenizer
from kragx.data.tokens import TokenCorpus, Tokens
from kragx.matchers.overlap import OverlapMatcher, PhraseMatcher
from tests.matchers.support import scored
from tests.thoroughness import examples

WORDS = st.sampled_from(["a", "b", "15일", "15일에", "15", "15가", "15a", "京"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), min_size=1, max_size=5)


def words(tokens: Tokens, corpus: TokenCorpus) -> list[str]:
    """The words of a text."""
    return [corpus.words[token] for token in tokens.tolist()]


def starts(doc: list[str], phrase: list[str]) -> Iterator[int]:
    """Where the words of a phrase stand, of which the last one may go on in Hangul."""
    for place in range(len(doc) - len(phrase) + 1 if phrase else 0):
        *first, last = doc[place : place + len(phrase)]
        goes_on = "가" <= last.removeprefix(phrase[-1])[:1] <= "힣"
        if first == phrase[:-1] and last.startswith(phrase[-1]) and (goes_on or last == phrase[-1]):
            yield place


@examples(400)
@given(TEXTS, TEXTS)
def test_phrases_stand_where_their_words_do(docs: list[str], phrases: list[str]) -> None:
    """Each pair is as their words say one by one."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add([*docs, *phrases])
    of_docs, of_phrases = corpus.of(docs), corpus.of(phrases)
    alone = [
        (row, number, place)
        for number, phrase in enumerate(of_phrases)
        for row, doc in enumerate(of_docs)
        for place in starts(words(doc, corpus), words(phrase, corpus))
    ]
    doc = np.repeat(np.arange(len(docs)), len(phrases))
    phrase = np.tile(np.arange(len(phrases)), len(docs))
    looked_for = Phrases(of_docs, of_phrases, corpus)
    at_once = looked_for.stand(doc, phrase)
    assert alone == [
        (row, number, place)
        for number in range(len(phrases))
        for row in range(len(docs))
        for place in looked_for.tokens(row, number)
    ]
    pairs = zip(doc.tolist(), phrase.tolist())
    assert at_once.tolist() == [pair in {own[:2] for own in alone} for pair in pairs]


def test_separators_stand_in_no_phrase() -> None:
    """A token below 0 equals no other, as the one between two documents of a stream."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["a b", "b", "a"])
    (pair, one, other), sep = corpus.of(["a b", "b", "a"]), np.array([-1], np.int32)
    stream = np.concatenate((sep, other, sep, one, sep, pair, sep))
    looked_for = Phrases([stream], [pair, one, other], corpus)
    assert [[*looked_for.tokens(0, phrase)] for phrase in range(3)] == [[5], [3, 6], [1, 5]]


def test_nothing_stands_nowhere() -> None:
    """Without documents, phrases or tokens nothing stands."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["", "a b"])
    none, one = np.empty(0, np.int64), np.zeros(1, np.int64)
    for docs, phrases in (([], []), (["a b"], []), ([], ["a b"])):
        assert Phrases(corpus.of(docs), corpus.of(phrases), corpus).stand(none, none).size == 0
    for docs, phrases in (([""], [""]), (["a b"], [""]), ([""], ["a b"])):
        looked_for = Phrases(corpus.of(docs), corpus.of(phrases), corpus)
        assert looked_for.stand(one, one).tolist() == [False]


@pytest.mark.parametrize("kind", [OverlapMatcher, PhraseMatcher])
def test_a_corpus_that_forgets_scores_the_same(
    kind: type[OverlapMatcher | PhraseMatcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts and words forgotten between batches change no score, and memory stays bounded."""
    draw = random.Random(0)
    texts = [
        " ".join(draw.choices(["서울", "서울에", "1919", "1919년", "a", "b", "c"], k=12))
        for _ in range(60)
    ]
    golds = ["서울", "1919 a", " ".join(texts[7].split()[:8])]
    expected, matcher = scored(kind(), texts, golds), kind()
    monkeypatch.setattr(tokens, "_MOST_TOKENS", 50)
    for at in range(0, 60, 5):
        assert (scored(matcher, texts[at : at + 5], golds) == expected[at : at + 5]).all()
        assert len(matcher.token_corpus.words) < 20
        assert len(matcher.token_corpus.texts) <= 16
