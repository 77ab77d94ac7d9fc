"""Phrases in many documents at once, and the forms that a word takes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.data import tokens
from kragx.data.phrases import phrase_starts, stand
from kragx.data.tokenizers import UnicodeTokenizer
from kragx.data.tokens import TokenCorpus
from kragx.matchers.phrase import OverlapMatcher, PhraseMatcher
from tests.matchers.support import scored
from tests.thoroughness import examples

WORDS = st.sampled_from(["a", "b", "15일", "15일에", "15", "15가", "15a", "京"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), min_size=1, max_size=5)


@examples(400)
@given(TEXTS, TEXTS)
def test_many_at_once_as_each_alone(docs: list[str], phrases: list[str]) -> None:
    """Each pair is as `phrase_starts` says of the two alone."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add([*docs, *phrases])
    of_docs, of_phrases = corpus.of(docs), corpus.of(phrases)
    alone = [
        bool(phrase_starts(doc, phrase, corpus).size) for doc in of_docs for phrase in of_phrases
    ]
    doc = np.repeat(corpus.rows(docs), len(phrases))
    phrase = np.tile(corpus.rows(phrases), len(docs))
    assert stand(doc, phrase, corpus).tolist() == alone


def test_nothing_stands_nowhere() -> None:
    """Without documents, phrases or tokens nothing stands."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["", "a b"])
    none = np.empty(0, np.int64)
    assert stand(none, none, corpus).tolist() == []
    for doc, phrase in (("", ""), ("a b", ""), ("", "a b")):
        assert stand(corpus.rows([doc]), corpus.rows([phrase]), corpus).tolist() == [False]


def test_a_word_stands_where_it_goes_on_in_hangul() -> None:
    """Also where the forms come in many batches later."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["서울"])
    for particle in "가나다라마바사아자차카타파하":
        docs = [f"{word}{particle}" for word in ("서울", "1919", "서울x", "북서울")]
        corpus.add(docs)
        phrase = np.repeat(corpus.rows(["서울"]), len(docs))
        assert stand(corpus.rows(docs), phrase, corpus).tolist() == [True, False, False, False]


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
        assert matcher.corpus.n_distinct_tokens < 20
        assert len(matcher.corpus.texts) <= 16
