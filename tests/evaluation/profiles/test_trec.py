"""Profile trec against pytrec_eval, and what pytrec_eval does not say, by hand."""

from __future__ import annotations

import re

import pytest
import pytrec_eval
from hypothesis import given, strategies as st

from kragx import DataError, Run, UsageError, evaluate
from kragx.evaluation.evaluation import Evaluation
from tests.thoroughness import all_cases, some

from .support import TINY, by_id, quick

CUTS = (1, 2, 3, 5, 10)
LEVELS = (1, 2, 3)

# Several code points and several lengths in bytes: the order of ties is that of UTF-8 bytes.
DOCUMENTS = ("d1", "d10", "d2", "D2", "a-b", "문서1", "문서10", "한글", "é", "ｄ", "😀", "0")
QUERIES = ("q1", "q2", "q10", "질문", "Q")

grades = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-2, 3), min_size=1).filter(
    lambda judged: max(judged.values()) >= 0  # pytrec_eval reads memory it must not where none is
)
qrels_sets = st.dictionaries(st.sampled_from(QUERIES), grades, min_size=1, max_size=4)
# Few values make ties; all are exact as 32-bit floats, which is what pytrec_eval compares.
scores = st.one_of(
    st.integers(-4, 4).map(lambda number: number / 4),
    st.floats(width=32, allow_nan=False),
    st.sampled_from((float("inf"), float("-inf"))),
)
rankings = st.dictionaries(st.sampled_from((*DOCUMENTS, "x1", "x2", "x3")), scores)


@st.composite
def qrels_and_runs(draw: st.DrawFn):
    """Qrels, and a run with missing, empty and extra queries; at least one query in common."""
    qrels = draw(qrels_sets)
    run = draw(st.dictionaries(st.sampled_from((*QUERIES, "extra")), rankings, max_size=5))
    if not set(qrels) & set(run):
        run[draw(st.sampled_from(sorted(qrels)))] = draw(rankings)
    return qrels, run


def names(level: int) -> dict[str, str]:
    """pytrec_eval's names and, for each, the metric of kragx at a relevance level."""
    pairs = {
        "map": f"map(rel={level})",
        "recip_rank": f"mrr(rel={level})",
        "set_P": f"precision(rel={level})",
        "set_recall": f"recall(rel={level})",
        "set_F": f"f1(over=retrieved, rel={level})",
        "ndcg": "ndcg",
    }
    for k in CUTS:
        pairs |= {
            f"P_{k}": f"precision@{k}(rel={level})",
            f"recall_{k}": f"recall@{k}(rel={level})",
            f"map_cut_{k}": f"map@{k}(rel={level})",
            f"success_{k}": f"hit_rate@{k}(rel={level})",
            f"ndcg_cut_{k}": f"ndcg@{k}",
        }
    return pairs


def oracle(qrels: dict, run: dict, level: int) -> dict[str, dict[str, float]]:
    """What pytrec_eval says of every query of the qrels; of a missing one, 0 throughout."""
    cuts = ",".join(map(str, CUTS))
    measures = {"map", "recip_rank", "set_P", "set_recall", "set_F", "ndcg"} | {
        f"{name}.{cuts}" for name in ("P", "recall", "map_cut", "success", "ndcg_cut")
    }
    scored = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=level).evaluate(run)
    assert set(scored) == set(qrels) & set(run)
    zero = dict.fromkeys(names(level), 0.0)
    return {query: scored.get(query, zero) for query in qrels}


def check(result: Evaluation, expected: dict[str, dict[str, float]], level: int) -> None:
    """Compare each query's values and the means over all queries of the qrels."""
    assert set(result.queries) == set(expected)
    for theirs, ours in names(level).items():
        for query, values in expected.items():
            assert abs(result.queries[query][ours] - values[theirs]) <= TINY, (query, ours)
        mean = sum(values[theirs] for values in expected.values()) / len(expected)
        assert abs(result[ours] - mean) <= TINY, ours


@pytest.mark.parametrize("level", some(LEVELS, 3))
@given(data=qrels_and_runs())
@quick
def test_every_number_is_that_of_pytrec_eval(level: int, data):
    """Every measure of every query, and its mean with missing as 0, is pytrec_eval's."""
    qrels, run = data
    result = evaluate(qrels, run, profile="trec", metrics=names(level).values())
    check(result, oracle(qrels, run, level), level)
    assert result.counts["n_missing"] == len(set(qrels) - set(run))
    assert result.counts["n_extra"] == len(set(run) - set(qrels))


@pytest.mark.integration
@given(data=qrels_and_runs())
@quick
def test_its_own_names_mean_its_own_numbers(data):
    """A measure named as in trec_eval is that measure, and makes the profile trec."""
    qrels, run = data
    result = evaluate(qrels, run, metrics=names(1))
    assert result.settings["profile"]["name"] == "trec"
    for query, values in oracle(qrels, run, 1).items():
        found = dict(zip(names(1), result.queries[query].values(), strict=True))
        assert found == pytest.approx({name: values[name] for name in found}, abs=TINY)


@pytest.mark.integration
@given(data=qrels_and_runs(), random=st.randoms(use_true_random=False))
@quick
def test_scores_order_a_list_whatever_its_order(data, random):
    """Lists of documents with scores are ranked by score; shuffling them changes nothing."""
    qrels, run = data
    lists = {}
    for query, scored in run.items():
        lists[query] = [{"id": document, "score": score} for document, score in scored.items()]
        random.shuffle(lists[query])
    result = evaluate(qrels, lists, profile="trec", metrics=names(1).values())
    check(result, oracle(qrels, run, 1), 1)


@pytest.mark.integration
@given(data=qrels_and_runs())
@quick
def test_lists_without_scores_keep_their_order(data):
    """A list without scores is ranked as it stands: as pytrec_eval ranks falling scores."""
    qrels, run = data
    lists = {query: by_id(*scored) for query, scored in run.items()}
    falling = {
        query: {document: float(-rank) for rank, document in enumerate(scored)}
        for query, scored in run.items()
    }
    result = evaluate(qrels, lists, profile="trec", metrics=names(1).values())
    check(result, oracle(qrels, falling, 1), 1)


def test_ndcg_takes_no_level():
    """Ndcg refuses a relevance level, and beside a metric that has one it uses every grade."""
    gold, run = {"q": {"a": 1, "b": 3}}, {"q": {"a": 2.0, "b": 1.0}}
    result = evaluate(gold, run, profile="trec", metrics=["map(rel=3)", "ndcg@1"])
    assert result.mean == {"map(rel=3)": 0.5, "ndcg@1": pytest.approx(1 / 3, abs=TINY)}
    with pytest.raises(UsageError, match="ndcg has no option 'rel'"):
        evaluate(gold, run, profile="trec", metrics=["ndcg@1(rel=3)"])


@pytest.mark.parametrize(
    ("tied", "order"),
    [
        (("d1", "d2", "d10"), ("d2", "d10", "d1")),
        (("가", "나", "z", "é"), ("나", "가", "é", "z")),
        (("문서", "문서1", "문"), ("문서1", "문서", "문")),
        # The full-width letter has the greater UTF-16 code unit, the emoji the greater first byte.
        (("ｚ", "😀"), ("😀", "ｚ")),
    ],
)
def test_ties_are_ordered_by_id_descending_as_bytes(tied: tuple[str, ...], order: tuple[str, ...]):
    """Of documents with one score, the id that is greater as UTF-8 bytes ranks first."""
    assert sorted(tied, key=lambda document: document.encode(), reverse=True) == list(order)
    scores = dict.fromkeys(tied, 0.5)
    documents = [{"id": document, "score": score} for document, score in scores.items()]
    for run in ({"q": scores}, {"q": documents}, Run.from_documents({"q": scores})):
        for rank, document in enumerate(order, start=1):
            result = evaluate({"q": {document: 1}}, run, profile="trec", metrics=["mrr"])
            assert result["mrr"] == 1 / rank


def test_a_partly_scored_list_is_an_error():
    """A list of which only some documents have a score cannot be ranked: the rank is named."""
    docs = [{"id": "a", "score": 2.0}, {"id": "b"}, {"id": "c", "score": 1.0}]
    with pytest.raises(DataError, match=r"query 'q': 2 of the list's 3 documents have"):
        evaluate({"q": {"a": 1}}, {"q": docs}, profile="trec")
    assert evaluate({"q": {"a": 1}}, {"q": docs}, match="id", metrics=["mrr"])["mrr"] == 1


def test_a_document_that_stands_twice_is_an_error():
    """A repeated document id is refused, as in trec_eval, and named; profile kragx counts it."""
    gold, run = {"q": {"a": 1}}, {"q": by_id("b", "a", "a")}
    with pytest.raises(DataError, match="query 'q': document 'a' stands twice"):
        evaluate(gold, run, profile="trec")
    assert evaluate(gold, run, match="id").counts["n_duplicates"] == 1


def test_missing_and_empty_queries_count_as_0():
    """Means are over every query of the qrels (trec_eval -c), and what was missing is counted."""
    gold = {"found": {"a": 1}, "missing": {"a": 1}, "empty": {"a": 1}, "no": {"a": 0}}
    run = {"found": {"a": 1.0}, "empty": {}, "no": {"a": 1.0}}
    result = evaluate(gold, run, profile="trec", metrics=["mrr", "ndcg@10", "precision@5"])
    assert result["mrr"] == result["ndcg@10"] == 0.25
    assert result["precision@5"] == pytest.approx(0.05, abs=TINY)
    assert result.counts["n_missing"] == 1
    assert result.counts["n_no_gold"] == 1
    assert result.counts["n_scored"] == 4


def test_a_level_that_no_grade_reaches_scores_0():
    """A query in which nothing reaches rel is scored 0 and counted as without gold there alone."""
    gold = {"low": {"a": 1}, "high": {"a": 3}}
    run = {"low": {"a": 1.0}, "high": {"a": 1.0}}
    result = evaluate(gold, run, profile="trec", metrics=["map(rel=2)", "map"])
    assert result.mean == {"map(rel=2)": 0.5, "map": 1.0}
    assert result.counts["metrics"] == {"map(rel=2)": {"n_scored": 2, "n_no_gold": 1}}


def test_a_query_with_negative_grades_alone_scores_0():
    """Where all judgements are negative every metric is 0 (there pytrec_eval cannot be asked)."""
    result = evaluate({"q": {"a": -1}}, {"q": {"a": 1.0}}, profile="trec")
    assert set(result.mean.values()) == {0.0}


def test_broken_ids_still_meet():
    """An id that holds a lone surrogate, half of an emoji, matches itself; also among ties."""
    gold, scores = {"q": {"a\ud83d": 1}}, {"a\ud83d": 1.0, "b": 0.5}
    tied = dict.fromkeys(scores, 0.5)
    documents = [{"id": document, "score": score} for document, score in scores.items()]
    for run, rank in (({"q": scores}, 1), ({"q": documents}, 1), ({"q": tied}, 2)):
        assert evaluate(gold, run, profile="trec", metrics=["mrr"])["mrr"] == 1 / rank


@all_cases("bad", ["1.5", True, float("nan"), float("inf"), [1]])
def test_what_is_no_number_is_no_grade_or_score(bad: object):
    """A text, a truth value or NaN is an error that shows it, and so is an infinite grade."""
    if bad != float("inf"):
        with pytest.raises(DataError, match=f"'d'.*{re.escape(repr(bad))}"):
            evaluate({"q": {"d": 1}}, {"q": {"d": bad}}, profile="trec")
    with pytest.raises(DataError, match=re.escape(repr(bad))):
        evaluate({"q": {"d": bad}}, {"q": {"d": 1.0}}, profile="trec")


def test_the_result_records_the_profile():
    """Settings hold profile trec with everything it fixes, and an option beside it as deviation."""
    result = evaluate(
        {"q": {"a": 1}}, {"q": {"a": 1.0}}, profile="trec", metrics=["f1(over=retrieved)", "map"]
    )
    recorded = result.settings["profile"]
    expected = {
        "name": "trec",
        "match": "id",
        "order": "score",
        "duplicates": "error",
        "over": "k",
        "norm": "m",
        "credit": "gold",
        "gain": "linear",
        "ideal": "gold",
        "rel": None,
        "no_gold": "zero",
        "missing": "empty",
    }
    assert {name: recorded[name] for name in expected} == expected
    assert result.settings["match"]["method"] == "id"
    assert result.settings["deviations"] == {"f1(over=retrieved)": {"over": "retrieved"}}
