"""Missing judgements: values, bounds and what may not be said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import evaluate
from kragx.errors import JudgingError
from kragx.judging import Failure
from kragx.judging.clients.scripted import ScriptedClient
from kragx.metrics import parse_all
from kragx.metrics.engine import compute
from kragx.metrics.match_table import MatchTable
from tests.judging.support import judge_of
from tests.thoroughness import examples

METRICS = parse_all(
    [
        *(f"{name}@{k}" for name in ("hit_rate", "mrr", "recall", "map", "ndcg") for k in (1, 3)),
        "hit_rate@3(need=all)",
        "precision@3",
        "precision@3(over=retrieved)",
        "f1@3",
        "f1",
        "map@3(norm=cut)",
        "map@3(norm=hits)",
        "ndcg@3(gain=exp2)",
        "redundancy@3",
        "recall@3(rel=2)",
        *("r_precision", "rbp@3", "err@3", "hits@3"),
    ]
)


@st.composite
def tables(draw):
    """A match table of 1 to 4 queries with unknown scores, and the same with all scores known."""
    n_docs = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    n_gold = [draw(st.integers(0, 3)) for _ in n_docs]
    docs, golds, shown, true = [], [], [], []
    doc_at = gold_at = 0
    for n, m in zip(n_docs, n_gold):
        for row in range(n):
            for column in range(m):
                score = draw(st.sampled_from([0.0, 0.0, 1.0]))
                unknown = draw(st.booleans())
                if score or unknown:
                    docs.append(doc_at + row)
                    golds.append(gold_at + column)
                    shown.append(np.nan if unknown else score)
                    true.append(score)
        doc_at, gold_at = doc_at + n, gold_at + m
    table = MatchTable(
        doc_start=np.concatenate(([0], np.cumsum(n_docs))).astype(np.int64),
        gold_start=np.concatenate(([0], np.cumsum(n_gold))).astype(np.int64),
        grade=np.array([draw(st.integers(1, 3)) for _ in range(gold_at)], np.float64),
        answered=np.ones(len(n_docs), bool),
        repeated=np.zeros(doc_at, bool),
        pair_doc=np.array(docs, np.int32),
        pair_gold=np.array(golds, np.int32),
        pair_score=np.array(shown, np.float64),
        threshold=1.0,
        unanswerable=np.zeros(len(n_docs), bool),
    )
    kept = np.array(true, np.float64) > 0
    known = replace(
        table,
        pair_doc=table.pair_doc[kept],
        pair_gold=table.pair_gold[kept],
        pair_score=np.array(true, np.float64)[kept],
    )
    return table, known


def test_bounds_are_in_order():
    """What is not known makes no difference here, and rounding makes none either."""
    table = MatchTable(
        doc_start=np.array([0, 2]),
        gold_start=np.array([0, 3]),
        grade=np.array([1.0, 2.0, 2.0]),
        answered=np.ones(1, bool),
        repeated=np.zeros(2, bool),
        pair_doc=np.array([0, 0, 1], np.int32),
        pair_gold=np.array([1, 2, 1], np.int32),
        pair_score=np.array([np.nan, 1.0, 1.0]),
        threshold=1.0,
        unanswerable=np.zeros(1, bool),
    )
    (scores,) = compute(table, parse_all(["ndcg@3"]))
    low, high = scores.bounds
    assert low <= scores.mean <= high


@pytest.mark.integration
@examples(400)
@given(tables())
def test_bounds_enclose_the_truth(pair):
    """Whatever the missing grades are, the bounds of every mean enclose what they give."""
    table, known = pair
    for shown, true in zip(compute(table, METRICS), compute(known, METRICS), strict=True):
        if shown.bounds is None:
            if true.mean is not None:
                assert shown.mean == pytest.approx(true.mean)
            continue
        low, high = shown.bounds
        if true.mean is not None:
            assert low - 1e-12 <= true.mean <= high + 1e-12, shown.spec
        if shown.mean is not None:
            assert low <= shown.mean <= high
        if shown.micro_bounds is not None:
            low, high = shown.micro_bounds
            assert low - 1e-12 <= true.micro <= high + 1e-12, shown.spec


@given(st.data())
def test_bounds_where_grades_are_missing(data):
    """What is gold and what is judged not relevant may both be open, as in a pool: so is bpref.

    Then a query may have no value, and the bounds allow for it.
    """
    shown = data.draw(st.lists(st.sampled_from([np.nan, 0.0, 1.0]), min_size=1, max_size=6))
    true = [data.draw(st.sampled_from([0.0, 1.0])) if np.isnan(g) else g for g in shown]
    n = len(shown)
    table = MatchTable(
        doc_start=np.array([0, n // 2, n]),
        gold_start=np.array([0, n // 2, n]),
        grade=np.array(shown),
        answered=np.ones(2, bool),
        repeated=np.zeros(n, bool),
        pair_doc=np.arange(n, dtype=np.int32),
        pair_gold=np.arange(n, dtype=np.int32),
        pair_score=np.ones(n),
        threshold=1.0,
        unanswerable=np.zeros(2, bool),
    )
    specs = parse_all(["bpref", "r_precision", "err", "rbp", "hits"])
    known = compute(replace(table, grade=np.array(true)), specs)
    for open_, given_ in zip(compute(table, specs), known, strict=True):
        if open_.bounds is not None and given_.mean is not None:
            low, high = open_.bounds
            assert low - 1e-12 <= given_.mean <= high + 1e-12, given_.spec
        if open_.bounds is None:
            assert open_.mean == given_.mean


@given(tables())
def test_nothing_unknown_no_bounds(pair):
    """A table in which all is known has values as ever, and no bounds."""
    _, known = pair
    assert all(each.bounds is None for each in compute(known, METRICS))


def judged(grades, store, metrics=("mrr@5", "recall@5", "ndcg@5", "precision@5"), **options):
    """An evaluation of one gold text and documents with these grades; None is refused."""
    documents = [f"document {at}" for at in range(len(grades))]
    script = {
        text: Failure("refusal") if grade is None else grade
        for text, grade in zip(documents, grades)
    }

    def reply(request):
        return next(script[text] for text in documents if f"{text}\n" in request.messages[1][1])

    judge = judge_of(ScriptedClient(reply), store, **{"max_missing": 1.0, **options})
    return evaluate(
        [["the gold"]], [documents], match={"method": "llm", "judge": judge}, metrics=metrics
    )


def test_by_hand(store):
    """Grades [missing, 3, 0]: MRR in [1/2, 1]; half of the known are relevant, so 3/4."""
    result = judged([None, 3, 0], store)
    assert result.bounds["mrr@5"] == (0.5, 1.0)
    assert result["mrr@5"] == 0.75
    assert result.bounds["precision@5"] == pytest.approx((0.2, 0.4))
    assert result["precision@5"] == pytest.approx(0.3)
    assert result.micro["precision@5"] == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert result.bounds["recall@5"] == (1.0, 1.0)
    assert result["recall@5"] == 1.0
    assert result.counts["judging"]["coverage"] == pytest.approx(2 / 3)


def test_all_missing_is_no_value(store):
    """Where nothing is known there is no value, and the bounds are as wide as they can be."""
    result = judged([None, None], store)
    assert result["mrr@5"] is None
    assert result.bounds["mrr@5"] == (0.0, 1.0)
    assert result.queries["q1"]["recall@5"] is None


def test_what_is_sure_needs_no_estimate(store):
    """A hit on a document of which other gold is not judged is a hit, though no rate is known."""
    replies = iter([3, Failure("refusal")])
    judge = judge_of(ScriptedClient(lambda _: next(replies)), store, max_missing=1.0, concurrency=1)
    match, metrics = {"method": "llm", "judge": judge}, ["hit_rate", "recall"]
    result = evaluate([["one", "other"]], [["document"]], match=match, metrics=metrics)
    assert (result["hit_rate"], result.bounds["hit_rate"]) == (1.0, (1.0, 1.0))
    assert (result["recall"], result.bounds["recall"]) == (None, (0.5, 1.0))


@pytest.mark.parametrize(("max_missing", "fails"), [(0.0, True), (0.24, True), (0.25, False)])
def test_max_missing(max_missing, fails, store):
    """Above the share that may be missing the run ends with an error of exit code 4."""
    if not fails:
        assert judged([3, None, 0, 0], store, max_missing=max_missing)["mrr@5"] == 1.0
        return
    with pytest.raises(JudgingError, match="1 of 4 judgements are missing") as caught:
        judged([3, None, 0, 0], store, max_missing=max_missing)
    assert caught.value.exit_code == 4


def test_kept_after_the_error(store):
    """What was judged before the error is stored: allowing it afterwards makes no call."""
    with pytest.raises(JudgingError):
        judged([3, None, 0, 0], store, max_missing=0.0)
    result = judged([3, None, 0, 0], store)
    assert result.counts["judging"]["n_calls"] == 0


def test_match_pairs_say_null(store, tmp_path):
    """A pair without a judgement is null, neither 0 nor a decision."""
    from kragx import match_pairs

    client = ScriptedClient([3, Failure("refusal"), 1])
    judge = judge_of(client, store, max_missing=1.0, concurrency=1)
    pairs = match_pairs([["g"]], [["a", "b", "c"]], match={"method": "llm", "judge": judge})
    (record,) = pairs
    assert record["scores"] == [[3.0], [None], [1.0]]
    assert record["matched"] == [[True], [None], [False]]
