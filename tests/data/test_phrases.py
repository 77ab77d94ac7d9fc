"""Phrases in many documents at once, and the forms that a word takes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.data import stretches, tokens
from kragx.data.phrases import phrase_starts, stand
from kragx.data.tokenizers import UnicodeTokenizer
from kragx.data.tokens import TokenCorpus
from kragx.matchers.phrase import OverlapMatcher, PhraseMatcher
from tests.matchers.support import scored
from tests.thoroughness import examples

WORDS = st.sampled_from(["a", "b", "15일", "15일에", "15", "15가", "15a", "京"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), min_size=1, max_size=5)


@examples(400)
@given(TEXTS, TEXTS, st.integers(1, 5))
def test_many_at_once_as_each_alone(docs: list[str], phrases: list[str], most: int) -> None:
    """Each pair is as `phrase_starts` says of the two alone, however few are looked at at once."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add([*docs, *phrases])
    of_docs, of_phrases = corpus.of(docs), corpus.of(phrases)
    alone = [
        bool(phrase_starts(doc, phrase, corpus).size) for doc in of_docs for phrase in of_phrases
    ]
    doc = np.repeat(np.arange(len(docs)), len(phrases))
    phrase = np.tile(np.arange(len(phrases)), len(docs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "_MOST_AT_ONCE", most)
        at_once = stand(of_docs, of_phrases, doc, phrase, corpus)
    assert at_once.tolist() == alone


def test_nothing_stands_nowhere() -> None:
    """Without documents, phrases or tokens nothing stands."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["", "a b"])
    none, one = np.empty(0, np.int64), np.zeros(1, np.int64)
    for docs, phrases in (([], []), (["a b"], []), ([], ["a b"])):
        assert stand(corpus.of(docs), corpus.of(phrases), none, none, corpus).tolist() == []
    for docs, phrases in (([""], [""]), (["a b"], [""]), ([""], ["a b"])):
        assert stand(corpus.of(docs), corpus.of(phrases), one, one, corpus).tolist() == [False]


def test_forms_are_those_of_all_words_so_far() -> None:
    """A word and what goes on from it in Hangul, also of words that came in many batches later."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["서울 1919"])
    later = [*"가나다라마바사아자차카타파하"]
    for particle in later:
        corpus.add([f"서울{particle} 1919{particle} 서울x{particle} 북서울{particle}"])
        number, *forms = corpus.forms(0)
        assert number == 0
    words = [corpus.words[number] for number in forms]
    assert sorted(words) == sorted(f"서울{particle}" for particle in later)


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
