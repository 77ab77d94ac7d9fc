"""How ROUGE keeps tokens: each text once, any vocabulary, any number of queries."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kragx import evaluate
from kragx.data import tokens
from kragx.data.tokenizers import UnicodeTokenizer
from kragx.data.tokens import PIECE, TokenCorpus
from kragx.data.words import unspaced, words
from kragx.matchers import Diagnostics, RougeMatcher
from tests.matchers.support import CountingTokenizer, item, scored
from tests.thoroughness import examples


@pytest.mark.parametrize("method", ["rouge1", "rouge2", "rougeL"])
def test_each_distinct_text_is_tokenised_once(method: str) -> None:
    """A matcher tokenises a text once, over several queries, runs and thresholds."""
    counting = CountingTokenizer()
    chosen = RougeMatcher(method, tokenizer=counting)
    gold = [["한강은 길다", "낙동강도 길다"], ["한강은 길다"]]
    first = evaluate(gold, [["한강은 길다", "산이 높다"], ["산이 높다"]], match=chosen)
    first.at_threshold(0.9)
    evaluate(gold, [["산이 높다", "들이 넓다"], ["한강은 길다"]], match=chosen)
    assert counting.seen == dict.fromkeys(
        ("한강은 길다", "낙동강도 길다", "산이 높다", "들이 넓다"), 1
    )


def test_another_text_is_another_text() -> None:
    """Texts that differ only in case are tokenised apart: the tokenizer decides what is equal."""
    counting = CountingTokenizer()
    assert scored(RougeMatcher("rouge1", tokenizer=counting), ["Han"], ["han"]).item() == 0.0
    assert counting.seen == {"Han": 1, "han": 1}


@pytest.mark.parametrize("measure", ["fmeasure", "overlap"])
def test_a_vocabulary_beyond_unicode_scores_the_same(
    measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ROUGE-L is the same when there are more distinct tokens than code points."""
    docs = ["가 나 다 라 마", "마 라 다 나 가", "나 라 바", "사"]
    golds = ["가 나 라 마", "바 사", "다"]
    expected = scored(RougeMatcher("rougeL", measure), docs, golds)
    monkeypatch.setattr(tokens, "_MOST_CODES", 2)
    corpus = TokenCorpus(CountingTokenizer())
    corpus.add(docs)
    assert corpus.strings(corpus.add(docs[-1:])) == [[6]]
    assert (scored(RougeMatcher("rougeL", measure), docs, golds) == expected).all()


def test_token_numbers_that_look_like_surrogates() -> None:
    """ROUGE-L is right for tokens whose numbers fall where Unicode has surrogates."""
    chosen = RougeMatcher("rougeL")
    numbered = " ".join(f"t{number}" for number in range(0xE100))
    scored(chosen, [numbered], ["t0"])  # each token gets its own number
    doc, gold = "t55296 t56319 t57343 t57344", "t55296 t57343 t56319 t57344"
    assert scored(chosen, [doc, numbered], [gold])[0, 0] == 3 / 4
    (tokens,) = chosen.token_corpus.of([doc])
    assert tokens.tolist() == [0xD800, 0xDBFF, 0xDFFF, 0xE000]


@pytest.mark.integration
@pytest.mark.parametrize("method", ["rouge1", "rouge2", "rougeL"])
def test_many_queries_score_as_each_alone(method: str) -> None:
    """A stream of more queries than one batch gives the scores of each query asked alone."""
    items = [
        item([f"강 {n} 개와 산 {n % 7} 개", "강 하나"], [f"산 {n % 5} 개와 강 {n} 개"])
        for n in range(600)
    ]
    streamed = list(RougeMatcher(method).scores(iter(items), Diagnostics()))
    assert len(streamed) == len(items)
    for each, scores in zip(items, streamed, strict=True):
        (alone,) = RougeMatcher(method).scores([each], Diagnostics())
        assert scores.tolist() == alone.tolist()


def pieces_by_hand(text: str) -> list[str]:
    """The words of a text, runs of characters without spaces in overlapping pieces."""
    tokens = words(text)
    begins = [
        len(tokens[place : place + PIECE]) == PIECE
        and all(map(unspaced, tokens[place : place + PIECE]))
        for place in range(len(tokens))
    ]
    return [
        "|".join(tokens[place : place + PIECE]) if begins[place] else token
        for place, token in enumerate(tokens)
        if begins[place] or not any(begins[max(0, place - PIECE + 1) : place])
    ]


@examples(400)
@given(st.lists(st.text("北京市在東กำ서울 a1", max_size=12), max_size=6), st.integers(0, 6))
def test_pieces_are_what_they_are_by_hand(texts: list[str], first: int) -> None:
    """Two texts share a piece's number exactly if they share the piece, also in another batch."""
    corpus = TokenCorpus(UnicodeTokenizer())
    numbers: list[int] = []
    for batch in (texts[:first], texts[first:]):
        corpus.add(batch)
        numbers += corpus.tokens_of(corpus.pieces(corpus.add(batch))).tolist()
    expected = [piece for text in texts for piece in pieces_by_hand(text)]
    assert len(numbers) == len(expected)
    assert len(set(zip(numbers, expected))) == len(set(numbers)) == len(set(expected))
    assert [number < 0 for number in numbers] == ["|" in piece for piece in expected]
    assert sorted(corpus.words) == sorted({word for text in texts for word in words(text)})
