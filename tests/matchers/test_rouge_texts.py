"""ROUGE on texts that trip other tools: Korean, NFD, texts without tokens, one-word texts."""

from __future__ import annotations

import unicodedata
import warnings

import pytest

from kragx import DataError, evaluate, match_pairs
from kragx.matchers import MatchWarning, RougeMatcher
from tests.thoroughness import all_cases

from .support import scored

METHODS = ("rouge1", "rouge2", "rougeL")
GOLD, DOCS = "n_queries_gold_unmatchable", "n_queries_docs_unmatchable"


@all_cases("measure", ["fmeasure", "precision", "recall", "overlap"])
@all_cases("method", METHODS)
def test_identical_korean_texts_score_one(method: str, measure: str) -> None:
    """Two identical Korean texts score 1 with the default tokenizer, whatever is measured."""
    text = "경복궁은 1395년에 처음 지어졌다"
    assert scored(RougeMatcher(method, measure), [text], [text]).item() == 1.0


@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")
@pytest.mark.parametrize("method", METHODS)
def test_the_stock_tokenizer_finds_nothing_in_korean_and_says_so(method: str) -> None:
    """With rouge-score's tokenizer no Korean question can match: an error with what would work."""
    text = "경복궁은 조선의 으뜸 궁궐이다"
    match = {"method": method, "tokenizer": "rouge"}
    with pytest.raises(DataError, match=r"no question can match.*경복궁.* the tokenizer 'unicode'"):
        evaluate([[text]], [[text]], match=match)
    result = evaluate([[text], ["a b"]], [[text], ["a b"]], match=match)
    assert result["recall@10"] == 0.5
    assert result.counts[GOLD] == result.counts[DOCS] == 1


def test_a_shared_number_is_not_a_match_of_unrelated_korean_texts() -> None:
    """Two unrelated Korean texts that share only "30" do not match, as they do in rouge-score."""
    docs, golds = ["회의는 30분 뒤에 끝났다"], ["그 섬에는 30가구가 산다"]
    stock = RougeMatcher("rouge1", tokenizer="rouge")
    assert scored(stock, docs, golds).item() == 1.0
    assert scored(RougeMatcher("rouge1", "overlap"), docs, golds).item() < 0.5


@all_cases("name", ["unicode", "whitespace", "char"])
@all_cases("method", METHODS)
def test_decomposed_korean_equals_composed(method: str, name: str) -> None:
    """A text in NFD, as macOS writes it, scores 1 against the same text in NFC."""
    text = "훈민정음은 세종이 만들었다"
    decomposed = unicodedata.normalize("NFD", text)
    assert decomposed != text
    assert scored(RougeMatcher(method, tokenizer=name), [decomposed], [text]).item() == 1.0


def test_questions_with_texts_without_tokens_are_counted() -> None:
    """A question counts once however many such texts it has, and all are warned of at once."""
    gold = [["바다"], ["바다"], ["강"]]
    retrieved = [["...", "", "바다"], ["...", "강"], ["강"]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = evaluate(gold, retrieved, match="rouge1")
    assert [warning.category for warning in caught] == [MatchWarning]
    assert "match nothing by 'rouge1' in 2 questions, for example '...'" in str(caught[0].message)
    assert result.counts[DOCS] == 2
    assert GOLD not in result.counts


def test_a_text_without_tokens_matches_nothing() -> None:
    """Two equal texts without tokens score 0, which is no match, rather than an undefined value."""
    with pytest.warns(MatchWarning):
        (pair,) = match_pairs([["?!"]], [["?!"]], match="rouge1")
    assert (pair["scores"], pair["matched"]) == ([[0.0]], [[False]])


def test_texts_with_tokens_are_not_warned_about() -> None:
    """Without such texts there is neither a warning nor a count."""
    counts = evaluate([["바다 위의 달"]], [["산 위의 달"]], match="rouge2").counts
    assert not {GOLD, DOCS} & counts.keys()


@pytest.mark.filterwarnings("ignore:retrieved texts:kragx.matchers.MatchWarning")
def test_one_word_has_no_pair_of_tokens() -> None:
    """ROUGE-2 of one-word gold is 0, counted, and the warning names what would find it."""
    gold, retrieved = [["세종대왕"], ["왕의 이름"]], [["세종대왕", "세종대왕 동상"], ["왕의 이름"]]
    with pytest.warns(MatchWarning, match=r"in 1 question, .*'세종대왕'.*'overlap' or 'phrase'"):
        result = evaluate(gold, retrieved, match="rouge2")
    assert result.counts[GOLD] == 1
    assert result["recall@10"] == 0.5
    for method in ("overlap", "phrase"):
        assert evaluate(gold, retrieved, match=method)["recall@10"] == 1.0


@pytest.mark.parametrize("method", ["rouge1", "rougeL"])
def test_one_word_is_enough_for_single_tokens(method: str) -> None:
    """ROUGE-1 and ROUGE-L match one-word texts without a warning."""
    assert evaluate([["세종대왕"]], [["세종대왕"]], match=method)["recall@10"] == 1.0


def test_a_second_evaluation_counts_its_own_texts() -> None:
    """A matcher used twice warns of the second evaluation's texts, not of all it has ever seen."""
    chosen = RougeMatcher("rouge1")
    with pytest.warns(MatchWarning, match=r"in 1 question, for example '\?'"):
        evaluate([["봄"]], [["?", "여름"]], match=chosen)
    with pytest.warns(MatchWarning, match="in 1 question, for example '!'"):
        evaluate([["가을"]], [["!"]], match=chosen)


def test_the_best_alternative_counts() -> None:
    """A gold item scores as its best alternative does, and matches if any of them does."""
    gold = {"text": "왕의 이름은 이도", "alternatives": [{"text": "세종의 이름은 이도이다"}]}
    docs = ["세종의 이름은 이도이다", "왕의 이름은 이도", "달은 밝다"]
    (pair,) = match_pairs([[gold]], [docs], match="rouge1")
    assert pair["scores"] == [[1.0], [1.0], [0.0]]
    assert pair["matched"] == [[True], [True], [False]]


def test_an_alternative_may_be_the_only_text() -> None:
    """A gold item without a text of its own is matched through an alternative that has one."""
    gold = {"id": "sejong", "alternatives": [{"id": "other"}, {"text": "한글을 만든 왕"}]}
    (pair,) = match_pairs([[gold]], [["한글을 만든 왕", "다른 글"]], match="rouge2")
    assert pair["scores"] == [[1.0], [0.0]]
