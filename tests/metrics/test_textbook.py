"""Where one document matches one gold item, the numbers are the textbook's and its tools'."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from kragx import evaluate

from .support import TINY, Ranking, one_to_one, quick, score

KS = (1, 2, 3, 5, 10)


def gains(query: Ranking) -> list[float]:
    """The grade of each document, 0 for one that is no gold."""
    return [sum(g for s, g in zip(row, query.grades) if s) for row in query.scores]


@given(one_to_one(), st.integers(1, 12))
@quick
def test_textbook_definitions(query: Ranking, k: int) -> None:
    """Each metric equals its definition over a list of relevant and other documents."""
    found, m = gains(query), len(query.grades)
    hits = [rank for rank, gain in enumerate(found, start=1) if gain and rank <= k]
    best = sorted(query.grades, reverse=True)
    expected = {
        f"hit_rate@{k}": float(bool(hits)),
        f"hit_rate@{k}(need=all)": float(len(hits) == m),
        f"mrr@{k}": 1 / hits[0] if hits else 0.0,
        f"precision@{k}": len(hits) / k,
        f"recall@{k}": len(hits) / m,
        f"f1@{k}": 2 * len(hits) / (k + m),
        f"map@{k}": sum(i / rank for i, rank in enumerate(hits, start=1)) / m,
        f"ndcg@{k}": dcg(found[:k]) / dcg(best[:k]),
        f"ndcg@{k}(gain=exp2)": dcg(exp2(found[:k])) / dcg(exp2(best[:k])),
    }
    assert score(query, *expected) == pytest.approx(list(expected.values()), abs=TINY, rel=0)
    if hits:
        assert score(query, f"redundancy@{k}") == [0.0]


def dcg(of_gains: list[float]) -> float:
    """The sum of gain / log2(1 + rank)."""
    return sum(gain / log2(1 + rank) for rank, gain in enumerate(of_gains, start=1))


def exp2(of_grades: list[float]) -> list[float]:
    """2^grade - 1."""
    return [2**grade - 1 for grade in of_grades]


@given(one_to_one(complete=True))
@quick
def test_scikit_learn(query: Ranking) -> None:
    """With all gold in the list, nDCG and average precision are scikit-learn's."""
    truth, n = np.array(gains(query)), len(query.scores)
    ranks = np.arange(n, 0, -1.0)
    assert score(query, "map") == pytest.approx(
        [average_precision_score(truth > 0, ranks)], abs=TINY
    )
    if n > 1:  # scikit-learn refuses a list of one
        for k in (1, 2, 4, n):
            expected = ndcg_score(truth[None], ranks[None], k=k)
            assert score(query, f"ndcg@{k}") == pytest.approx([expected], abs=TINY)


TREC = {
    "P": "precision",
    "recall": "recall",
    "map_cut": "map",
    "ndcg_cut": "ndcg",
    "success": "hit_rate",
}
"""What trec_eval calls the metrics with a cut-off."""
TREC_UNCUT = {
    "map": "map",
    "ndcg": "ndcg",
    "recip_rank": "mrr",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f1(over=retrieved)",
}

names = st.sampled_from([f"d{number}" for number in range(12)])
# pytrec_eval crashes on a query whose grades are all negative.
qrels = st.dictionaries(names, st.integers(-1, 4), min_size=1, max_size=8).filter(
    lambda grades: max(grades.values()) >= 0
)
# pytrec_eval leaves out a query without documents.
lists = st.lists(names, min_size=1, max_size=12, unique=True)


@given(st.lists(st.tuples(qrels, lists), min_size=1, max_size=3))
@quick
def test_pytrec_eval(queries: list[tuple[dict[str, int], list[str]]]) -> None:
    """By ids and with graded qrels, every value is that of trec_eval."""
    gold = {f"q{number}": grades for number, (grades, _) in enumerate(queries)}
    run = {f"q{number}": found for number, (_, found) in enumerate(queries)}
    at = ",".join(map(str, KS))
    measures = {f"{name}.{at}" for name in TREC} | set(TREC_UNCUT)
    expected = pytrec_eval.RelevanceEvaluator(gold, measures).evaluate(
        {
            query: {doc: float(len(found) - rank) for rank, doc in enumerate(found)}
            for query, found in run.items()
        }
    )
    pairs = [(f"{trec}_{k}", f"{ours}@{k}") for trec, ours in TREC.items() for k in KS]
    pairs += TREC_UNCUT.items()
    result = evaluate(
        gold,
        {query: [{"id": doc} for doc in found] for query, found in run.items()},
        match="id",
        metrics=[ours for _, ours in pairs],
        no_gold="zero",
    )
    for query, of_query in expected.items():
        for trec, ours in pairs:
            value = result.queries[query][ours]
            assert value == pytest.approx(of_query[trec], abs=TINY, rel=0), (trec, ours)


@given(qrels, st.dictionaries(names, st.integers(-3, 3).map(float), min_size=1))
@quick
def test_pytrec_eval_ranks_by_score(grades: dict[str, int], scores: dict[str, float]) -> None:
    """A run of scores is ranked as by trec_eval: ties by document id descending."""
    measures = {"map", "ndcg", "recip_rank"}
    expected = pytrec_eval.RelevanceEvaluator({"q": grades}, measures).evaluate({"q": scores})["q"]
    metrics = [TREC_UNCUT[name] for name in expected]
    result = evaluate({"q": grades}, {"q": scores}, match="id", metrics=metrics, no_gold="zero")
    assert list(result.mean.values()) == pytest.approx(list(expected.values()), abs=TINY)
