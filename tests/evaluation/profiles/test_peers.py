"""Cases that other tools get wrong: kragx is right, and profile krag is as wrong as K-RAG."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from rouge_score.rouge_scorer import RougeScorer

from kragx import DataError, Evaluation, evaluate
from kragx.adapters.krag.rag_evaluator import RAGEvaluator
from kragx.matchers import MatchWarning
from kragx.metrics import MetricWarning

from .support import TINY, by_id

GOLD = "The harbour office opens at eight."
CHUNKS = [
    f"{GOLD} It closes at noon.",
    f"Please note: {GOLD}",
    f"Ferries leave later. {GOLD} Tickets are sold there.",
]
SEVEN = ("hit_rate", "mrr", "recall", "precision", "f1", "map", "ndcg")


def means(result: Evaluation, metrics: Iterable[str] = SEVEN) -> dict[str, float | None]:
    """Some means by the short name of their metric."""
    return {metric: result[metric] for metric in metrics}


@pytest.mark.parametrize("match", ["text", "overlap", "contains"])
def test_three_chunks_that_contain_one_gold_are_one_find(match: str):
    """Three chunks that hold the same gold give MAP 1 and nDCG 1, and two of them are redundant."""
    result = evaluate([[GOLD]], [CHUNKS], match=match, metrics=["map", "ndcg", "redundancy"])
    assert result.mean == {"map": 1.0, "ndcg": 1.0, "redundancy": pytest.approx(2 / 3)}


def test_under_profile_krag_they_are_three_finds():
    """Profile krag gives K-RAG's MAP 3.0 and nDCG 2.131, and warns of each."""
    with pytest.warns(MetricWarning) as warned:
        result = evaluate([[GOLD]], [CHUNKS], profile="krag", metrics=["map", "ndcg", "mrr"])
    assert result["map"] == 3.0
    assert result["ndcg"] == pytest.approx(2.1309297535714578, abs=TINY)
    assert [str(each.message).split(" is above")[0] for each in warned] == [
        "map(credit=document)",
        "ndcg(gain=exp2, ideal=ones)",
    ]
    with pytest.warns(MetricWarning):
        again = RAGEvaluator("text", profile="krag").evaluate_all([[GOLD]], [CHUNKS])
    assert (again["map"], f"{again['ndcg']['ndcg']:.3f}") == ({"map": 3.0}, "2.131")


WORDS = {"method": "rouge1", "tokenizer": "unicode", "measure": "recall"}
PART, PARTS = [["harbour office"]], [["harbour office", "harbour", "office"]]


def test_other_metrics_warn_as_well():
    """A number above 1 that `with_metrics` gives comes with a warning."""
    match = {**WORDS, "threshold": 0.5}
    result = evaluate(PART, PARTS, match=match, profile="krag", metrics=["mrr"])
    with pytest.warns(MetricWarning, match="map@2"):
        assert result.with_metrics(["map@2"])["map@2"] == 2.0


def test_another_threshold_warns_as_well():
    """A number above 1 that `at_threshold` gives, where all three match, comes with a warning."""
    match = {**WORDS, "threshold": 1.0}
    result = evaluate(PART, PARTS, match=match, profile="krag", metrics=["map@3"])
    assert result["map@3"] == 1.0
    with pytest.warns(MetricWarning, match="map@3"):
        assert result.at_threshold(0.5)["map@3"] == 3.0


@pytest.mark.parametrize("method", ["rouge1", "rouge2", "rougeL"])
def test_nothing_matched_is_0(method: str):
    """Where no document matches, every metric is 0; K-RAG's ROUGE evaluator calls its nDCG 1.0."""
    gold, docs = [["the old lighthouse stands on the cliff"]], [["the old mill by the river"]]
    options = {"match_method": method, "rouge_threshold": 0.8, "tokenizer": "whitespace"}
    ours = RAGEvaluator(**options).evaluate_all(gold, docs, k=5)
    assert {value for values in ours.values() for value in values.values()} == {0.0}
    theirs = RAGEvaluator(**options, profile="krag").evaluate_all(gold, docs, k=5)
    assert theirs.pop("ndcg") == {"ndcg": 1.0}
    assert theirs.pop("f1_score") == {}
    assert {value for values in theirs.values() for value in values.values()} == {0.0}


@pytest.mark.parametrize("match", ["id", "text", "overlap"])
def test_nothing_matched_is_0_by_every_method(match: str):
    """Where no document matches, all seven metrics are 0, cut or not."""
    gold = [[{"id": "a", "text": "alpha beta gamma"}]]
    docs = [[{"id": "b", "text": "delta epsilon zeta"}, {"id": "c", "text": "eta theta iota"}]]
    metrics = [*SEVEN, *(f"{metric}@1" for metric in SEVEN)]
    assert set(evaluate(gold, docs, match=match, metrics=metrics).mean.values()) == {0.0}


@pytest.mark.parametrize("n", [2, 3, 10])
def test_one_of_several_golds_at_rank_1_is_not_perfect(n: int):
    """One of n gold items at rank 1 has average precision 1/n; dividing by the hits gives 1.0."""
    gold, docs = {"q": by_id(*map(str, range(n)))}, {"q": by_id("0", "x", "y")}
    result = evaluate(gold, docs, match="id", metrics=["map", "map(norm=hits)"])
    assert result["map"] == pytest.approx(1 / n, abs=TINY)
    assert result["map(norm=hits)"] == 1.0


LONG = [
    (
        "접수 창구는 아침 여덟 시에 연다",
        "이 건물에는 식당과 매점이 있고 주차장은 뒤편에 있다. 접수 창구는 아침 여덟 시에 연다. "
        "토요일에는 정오까지만 일하고 일요일에는 문을 닫으니 미리 전화로 물어보는 편이 좋다.",
    ),
    (
        "the front desk opens at eight in the morning",
        "There is a canteen and a kiosk, and cars park behind the building. As a rule "
        "the front desk opens at eight in the morning. On Saturdays it works until noon only, and "
        "on Sundays and holidays it stays shut, so a call beforehand is a good idea.",
    ),
]


@pytest.mark.parametrize(("gold", "chunk"), LONG, ids=["ko", "en"])
def test_gold_inside_a_longer_chunk_is_found(gold: str, chunk: str):
    """Gold that stands verbatim in a long chunk matches by overlap and text, not by ROUGE-F."""
    for match in ("overlap", "text", "contains", {"method": "rouge1", "measure": "recall"}):
        assert evaluate([[gold]], [[chunk]], match=match, metrics=["recall"])["recall"] == 1.0
    for method in ("rouge1", "rouge2", "rougeL"):
        assert evaluate([[gold]], [[chunk]], match=method, metrics=["recall"])["recall"] == 0.0


SAME = "배송은 이틀 걸립니다"
NUMBERS = ("환불은 30일 안에", "정원은 30명입니다")


def test_two_identical_korean_texts_are_equal():
    """ROUGE of a Korean text with itself is 1; stock rouge-score sees no letter and says 0."""
    assert RougeScorer(["rouge1"]).score(SAME, SAME)["rouge1"].fmeasure == 0.0
    match: dict[str, Any] = {"method": "rouge1", "threshold": 1.0}
    assert evaluate([[SAME]], [[SAME]], match=match, metrics=["mrr"])["mrr"] == 1.0
    stock = {**match, "tokenizer": "rouge"}
    with (
        pytest.warns(MatchWarning, match="gold that can match nothing by 'rouge1'"),
        pytest.warns(MatchWarning, match="retrieved texts that can match nothing by 'rouge1'"),
        pytest.raises(DataError, match="no question can match"),
    ):
        evaluate([[SAME]], [[SAME]], match=stock, metrics=["mrr"])


def test_two_unrelated_korean_texts_that_share_a_number_differ():
    """Two texts that share '30' alone score 1.0 by stock rouge-score, and do not match here."""
    assert RougeScorer(["rouge1"]).score(*NUMBERS)["rouge1"].fmeasure == 1.0
    match: dict[str, Any] = {"method": "rouge1", "threshold": 0.5}
    gold, docs = [[NUMBERS[0]]], [[NUMBERS[1]]]
    assert evaluate(gold, docs, match=match, metrics=["mrr"])["mrr"] == 0.0
    stock = {**match, "tokenizer": "rouge"}
    assert evaluate(gold, docs, match=stock, metrics=["mrr"])["mrr"] == 1.0


def test_a_repeated_document_is_relevant_once():
    """The same document five times is one relevant document of five, by id and by text."""
    for docs in (by_id(*"ddddd"), ["one and the same"] * 5):
        gold = [docs[:1]]
        match = "id" if isinstance(docs[0], dict) else "text"
        result = evaluate(gold, [docs], match=match, metrics=["precision@5", "map@5"])
        assert result.mean == {"precision@5": 0.2, "map@5": 1.0}
        assert result.counts["n_duplicates"] == 4
