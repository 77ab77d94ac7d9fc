"""A retriever that returned nothing for any question is no result, as one that failed is none."""

from __future__ import annotations

import pytest

from kragx import Retrieved, Run, compare, evaluate

N = 30
GOLD = {f"q{at}": [f"the rule {at} holds for {at} days after the order"] for at in range(N)}
METRICS = ["mrr@5", "recall@5"]


def run(name, hits=None):
    """Finds the gold of the first questions; None for empty lists alone."""
    lists = {
        query_id: [] if hits is None else [*(gold if at < hits else []), f"another text {at}"]
        for at, (query_id, gold) in enumerate(GOLD.items())
    }
    return Run.from_documents(lists, name=name)


def several(**hits):
    """The comparison of retrievers that find so much."""
    return evaluate(GOLD, {name: run(name, own) for name, own in hits.items()}, metrics=METRICS)


def test_it_stands_beside_those_that_failed():
    """Above the verdict and in the table; nobody is better than it."""
    result = several(good=28, nothing=None, fair=10)
    comparison = result.comparison
    assert comparison.retrievers == ("good", "fair")
    assert comparison.not_comparable == ("nothing",)
    lines = str(result).splitlines()
    first = next(at for at, line in enumerate(lines) if "nothing returned nothing" in line)
    verdict = next(at for at, line in enumerate(lines) if "Use good" in line)
    assert lines[first].startswith(f"nothing returned nothing for any of {N} questions, so it is")
    assert first < verdict
    assert "better than every other retriever that can be compared" in lines[verdict]
    assert comparison.leader.differences[0].against == "fair"
    assert len(comparison.leader.differences) == 1
    assert "returned nothing ✗" in str(result)
    assert "✗ not comparable, as it failed or returned nothing" in str(result)
    assert result.table["nothing"]["mrr@5"] is None
    assert result["nothing"]["mrr@5"] == 0.0  # its own numbers are what they are


def test_in_korean(monkeypatch):
    """The same in Korean."""
    monkeypatch.setenv("KRAGX_LANG", "ko")
    said = str(several(good=28, empty=None))
    assert f"empty: 질문 {N}개 모두에서 아무것도 가져오지 않음, 비교할 수 없음" in said
    assert "결과 없음 ✗" in said


def test_with_failures():
    """Tolerated failures beside empty lists are nothing as well; beyond that it has failed."""
    results = dict(run("nothing").results) | {"q0": Retrieved(error="timeout")}
    pair = {"good": run("good", 20), "nothing": Run(results, name="nothing")}
    for max_failed, said in (
        (0.1, f"returned nothing for any of {N}"),
        (0.0, f"failed on 1 of {N}"),
    ):
        result = evaluate(GOLD, pair, metrics=METRICS).compared(max_failed=max_failed)
        assert result.comparison.not_comparable == ("nothing",)
        (own,) = result.comparison.failures
        assert (own.text.startswith(said), own.failed) == (True, max_failed == 0)


@pytest.mark.parametrize("hits", [{"one": None}, {"one": None, "other": None}])
def test_where_nobody_found_anything(hits):
    """Then it is the question for all of them, and the verdict says where to look."""
    comparison = compare(
        [evaluate(GOLD, run(name, own), metrics=METRICS) for name, own in hits.items()]
    )
    assert comparison.not_comparable == ()
    if len(hits) > 1:
        assert comparison.recommendations[0].values["nothing_found"]


def test_nothing_is_right_where_nothing_answers():
    """Without any gold an empty list is no fault."""
    gold = {query_id: [] for query_id in GOLD}
    pair = [
        evaluate(gold, run(name, hits), metrics=[*METRICS, "judged@5"])
        for name, hits in (("a", None), ("b", 1))
    ]
    assert compare(pair).not_comparable == ()
