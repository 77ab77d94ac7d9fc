"""R-precision, RBP with its residual, ERR, bpref and hits: by hand, and against slow references."""

from __future__ import annotations

from math import isnan

import pytest
import pytrec_eval
from hypothesis import assume, given, strategies as st

from kragx import DataError, evaluate
from kragx.metrics import parse_all
from tests.thoroughness import all_cases

from .support import TINY, Ranking, quick, ranking, rankings, score, table
from .test_textbook import lists, names

EXAMPLE = ranking(["", "ab", "a", "", "c"], [1, 3, 2])
"""Gold A, B and C of grades 1, 3, 2: A and B at rank 2, A again at 3, C at 5."""


@all_cases(
    ("metric", "value"),
    [
        ("r_precision", 2 / 3),
        ("r_precision(rel=3)", 0.0),
        ("rbp", 0.2 * (0.8 + 0.8**4)),
        ("rbp@2(p=0.5)", 0.5 * 0.5),
        ("rbp(rel=2)", 0.2 * (0.8 + 0.8**4)),
        ("rbp_residual", 1 - 0.2 * (0.8 + 0.8**2 + 0.8**4)),
        ("rbp_residual@2(p=0.5)", 0.5 + 0.25),
        ("err", 7 / 16 / 2 + 9 / 16 * 3 / 16 / 5),
        ("err@3", 7 / 16 / 2),
        ("err@3(max=3)", 7 / 8 / 2),
        ("hits@2", 2.0),
        ("hits@5(rel=2)", 2.0),
    ],
)
def test_by_hand(metric: str, value: float) -> None:
    """What a rank finds first counts, and a rank that finds nothing new does not."""
    assert score(EXAMPLE, metric) == pytest.approx([value], abs=TINY)


def test_bpref_by_hand() -> None:
    """Of two gold items one is found behind one of two judged not relevant: (1 - 1/2) / 2."""
    query = ranking(["x", "", "a", "y", ""], [1, 1, 0, 0, -1], gold="abxyz")
    assert score(query, "bpref") == [0.25]
    assert score(ranking(["a"], [2, 1], gold="ab"), "bpref(rel=2)") == [1.0]
    assert all(isnan(value) for value in score(ranking(["a"], [1, -1]), "bpref"))


def test_the_residual_stands_beside() -> None:
    """What asks for RBP gets the residual with the same options behind it, and it once."""
    specs = parse_all(["rbp@5(p=0.5, rel=2)", "rbp_residual@5(p=0.5, rel=2)", "mrr"])
    expected = ["rbp@5(p=0.5, rel=2)", "rbp_residual@5(p=0.5, rel=2)", "mrr"]
    assert [str(spec) for spec in specs] == expected


def test_a_grade_above_the_scale() -> None:
    """ERR refuses a grade above the greatest, which would make it no probability."""
    gold, run = {"q": {"a": 1}, "p": {"b": 5}}, {"q": [{"id": "a"}], "p": [{"id": "x"}]}
    with pytest.raises(DataError, match=r"query .*err: a grade .* scale, 4; .*\(max=5\)"):
        evaluate(gold, run, match="id", metrics=["err@3"])
    assert evaluate(gold, run, match="id", metrics=["err@3(max=5)"])["err@3(max=5)"] is not None


def relevances(query: Ranking) -> list[float]:
    """The largest grade that each rank finds first, 0 for what is nothing new or repeated."""
    missing, of_ranks = {*range(len(query.grades))}, []
    for row, repeated in zip(query.scores, query.repeated):
        new = {at for at in missing if row[at] >= 0.5 and query.grades[at] > 0 and not repeated}
        missing -= new
        of_ranks.append(max((query.grades[at] for at in new), default=0.0))
    return of_ranks


@given(rankings(min_gold=1), st.sampled_from([1, 2, 4, 99]), st.sampled_from([0.3, 0.8, 0.95]))
@quick
def test_slow_reference(query: Ranking, k: int, p: float) -> None:
    """Any matches, also many to many and repeated: RBP, its residual, and ERR as gdeval has it."""
    assume(any(grade > 0 for grade in query.grades))
    rbp, known, err, goes_on = 0.0, 0.0, 0.0, 1.0
    for rank, grade in enumerate(relevances(query)[:k], start=1):
        rbp += (1 - p) * p ** (rank - 1) * (grade > 0)
        known += (1 - p) * p ** (rank - 1) * any(s >= 0.5 for s in query.scores[rank - 1])
        r = (2**grade - 1) / 2**6
        err += goes_on * r / rank
        goes_on *= 1 - r
    found = score(query, f"rbp@{k}(p={p})", f"rbp_residual@{k}(p={p})", f"err@{k}(max=6)")
    assert found == pytest.approx([rbp, 1 - known, err], abs=TINY, rel=0)


grades = st.dictionaries(names, st.integers(-1, 3), min_size=1, max_size=9).filter(
    lambda of_docs: max(of_docs.values()) > 0 and 0 in of_docs.values()
)


@given(grades, lists, st.sampled_from([1, 2]))
@quick
def test_trec_eval(qrels: dict[str, int], found: list[str], rel: int) -> None:
    """By ids R-precision and bpref are trec_eval's at any level; grades below 0 are not judged."""
    assume(max(qrels.values()) >= rel)
    scores = {doc: float(-rank) for rank, doc in enumerate(found)}
    measures = {"Rprec", "bpref"}
    peer = pytrec_eval.RelevanceEvaluator({"q": qrels}, measures, relevance_level=rel)
    expected = peer.evaluate({"q": scores})["q"]
    metrics = [f"r_precision(rel={rel})", f"bpref(rel={rel})"]
    result = evaluate(
        {"q": qrels}, {"q": [{"id": doc} for doc in found]}, match="id", metrics=metrics
    )
    values = [expected["Rprec"], expected["bpref"]]
    assert list(result.mean.values()) == pytest.approx(values, abs=TINY, rel=0)


def test_many_queries_are_as_each_alone() -> None:
    """Neighbours do not change a query's values: one without documents, one without gold."""
    from kragx.metrics import parse

    from .support import compute

    queries = [EXAMPLE, ranking([], [1]), ranking(["ab", "c"], [1, 0, 2]), ranking(["", ""], [0])]
    specs = [parse(name) for name in ("r_precision", "rbp", "rbp_residual", "err", "bpref", "hits")]
    together = compute(table(*queries), specs)
    for at, query in enumerate(queries):
        for alone, of_all in zip(compute(table(query), specs), together):
            assert alone.values[0] == pytest.approx(of_all.values[at], nan_ok=True)
