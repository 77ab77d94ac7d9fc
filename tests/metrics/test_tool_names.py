"""Names of ir_measures, ranx, trec_eval and pytrec_eval: their numbers, by their own names."""

from __future__ import annotations

from functools import cache
from math import log2
from typing import Any

import ir_measures
import pytest
from hypothesis import given, strategies as st

from kragx import UsageError, evaluate
from kragx.metrics import METRICS, parse, profile
from tests.thoroughness import all_cases

from .support import TINY, quick
from .test_textbook import exp2, lists, names

IR_MEASURES = (
    *("P@5", "P@3", "R@10", "RR", "RR@10", "AP", "AP@10", "Success@5", "P(rel=2)@5", "AP(rel=2)"),
    *("R(rel=2)@2", "nDCG@10", "nDCG", "Judged@10", "Judged", "Rprec", "Rprec(rel=2)", "Bpref"),
    *("SetP", "SetR", "SetF(beta=1.0)", "MAP", "MRR", "Precision@2", "Recall@2", "NDCG@3"),
    *("Success(rel=2)@1", "RR(rel=2)", "P(judged_only=False)@5"),
)

qrels = st.dictionaries(names, st.integers(0, 3), min_size=1, max_size=9).filter(
    lambda grades: max(grades.values()) >= 2 and 0 in grades.values()
)


def run_of(found: list[str]) -> dict[str, list[dict[str, str]]]:
    """A run of one query."""
    return {"q": [{"id": doc} for doc in found]}


def values(grades: dict[str, int], found: list[str], metrics: list[Any]) -> dict[str, float | None]:
    """Each metric of one query, by ids."""
    return evaluate({"q": grades}, run_of(found), match="id", metrics=metrics, profile="kragx").mean


def shown(name: str) -> str:
    """A name of ir_measures as results have it."""
    own = {"nDCG", "Judged", "MAP", "MRR", "Precision", "Recall", "NDCG", "Bpref"}
    return name.lower() if name.split("@", maxsplit=1)[0] in own else name


@given(qrels, lists)
@quick
def test_ir_measures(grades: dict[str, int], found: list[str]) -> None:
    """Each name has ir_measures' number and stands as it was written, as a text or an object.

    What is kragx's name in other letters, and nothing more, stands as kragx's.
    """
    # They are Python's expressions; its own parser of names needs what Python 3.14 has no more.
    measures = {name: eval(name, vars(ir_measures)) for name in IR_MEASURES}
    scores = {"q": {doc: float(len(found) - rank) for rank, doc in enumerate(found)}}
    expected = ir_measures.calc_aggregate([*measures.values()], {"q": grades}, scores)
    as_texts = values(grades, found, [*IR_MEASURES])
    assert list(as_texts) == [*map(shown, IR_MEASURES)]
    as_objects = values(grades, found, [*measures.values()])
    for name, measure in measures.items():
        value = as_texts[shown(name)]
        assert value == pytest.approx(expected[measure], abs=TINY, rel=0), name
        assert as_objects[shown(str(measure))] == value


@given(qrels, lists, st.sampled_from([1, 3, 20]))
@quick
def test_gdeval(grades: dict[str, int], found: list[str], k: int) -> None:
    """ERR and the nDCG with exponential gains are by gdeval's formulas."""
    gains = [grades.get(doc, 0) for doc in found]
    err, goes_on = 0.0, 1.0
    for rank, grade in enumerate(gains[:k], start=1):
        r = (2**grade - 1) / 2**4
        err, goes_on = err + r * goes_on / rank, goes_on * (1 - r)

    def dcg(of_gains: list[int]) -> float:
        discounted = enumerate(exp2([*map(float, of_gains[:k])]), start=2)
        return sum(gain / log2(place) for place, gain in discounted)

    ndcg = dcg(gains) / dcg(sorted(grades.values(), reverse=True))
    asked = [ir_measures.ERR @ k, f"nDCG(dcg='exp-log2')@{k}"]
    assert values(grades, found, asked) == pytest.approx(
        {f"err@{k}": err, f"nDCG(dcg='exp-log2')@{k}": ndcg}, abs=TINY, rel=0
    )


RANX = (
    *("hits", "hits@5", "hits@2-l2", "hit_rate@1-l2", "precision@5-l2", "recall@5-l2", "f1@3-l2"),
    *("map-l2", "map@3-l2", "mrr@2-l2", "r-precision", "r-precision-l2", "ndcg_burges", "bpref"),
    *("ndcg_burges@4", "ndcg@5", "map", "recall@2", "f1"),
)


@cache
def ranx() -> Any:
    """Ranx, whose functions are compiled when they are first called."""
    import ranx

    return ranx


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # numba's, while it compiles
@given(qrels, lists)
@quick
def test_ranx(grades: dict[str, int], found: list[str]) -> None:
    """Each name has ranx's number: hits are a count, -l2 asks for grade 2."""
    scores = {"q": {doc: float(len(found) - rank) for rank, doc in enumerate(found)}}
    expected = ranx().evaluate(ranx().Qrels({"q": grades}), ranx().Run(scores), [*RANX])
    assert values(grades, found, [*RANX]) == pytest.approx(expected, abs=TINY, rel=0)


def test_trec_names_stand_as_written() -> None:
    """trec_eval's names choose its profile and stand as written."""
    asked = ["P_5", "map_cut_10", "ndcg_cut.2", "recip_rank", "set_F", "bpref", "recall.3"]
    result = evaluate({"q": {"a": 1, "n": 0}}, {"q": {"n": 2.0, "a": 1.0}}, metrics=asked)
    assert result.profile.name == "trec"
    assert list(result.mean) == asked
    assert [result["precision@5"], result["map@10"], result["bpref"]] == [0.2, 0.5, 0.0]


def test_a_name_is_its_tools_whatever_the_profile() -> None:
    """Under a profile that divides by what was retrieved, P@5 still divides by 5."""
    spec = parse("P@5", profile("krag"))
    assert (str(spec), spec["over"]) == ("P@5", "k")
    assert str(spec.with_options(rel=2.0)) == "precision@5(rel=2)"


@pytest.mark.parametrize(
    ("written", "name"), [("MAP(norm=hits)", "map(norm=hits)"), ("ERR", "err"), ("RBP", "rbp")]
)
def test_options_of_kragx_make_it_kragx(written: str, name: str) -> None:
    """What has kragx's options, or lacks what its tool demands, is kragx's in other letters."""
    assert str(parse(written)) == name


def test_other_than_the_tool() -> None:
    """Where a document holds two gold items, it is said in how many questions; of P it is not."""
    gold, run = [["A", "B"], ["C"]], [["A and B"], ["C"]]
    result = evaluate(gold, run, match="text", metrics=["AP", "R@5", "P@5", "map"])
    assert result.counts["not_one_to_one"] == {"AP": 1, "R@5": 1}
    (said,) = [remark for remark in result.remarks if remark.startswith("AP")]
    assert "(n: 1)" in said
    one = evaluate([["A"], ["C"]], run, match="text", metrics=["AP"])
    assert "not_one_to_one" not in one.counts


@all_cases(
    ("written", "hint"),
    [
        ("NERR8@10", "'err@10'"),
        ("hitrate", "'hit_rate'"),
        ("reciprocal_rank", "'mrr'"),
        ("average_precision@5", "'map'"),
        ("dcg@10", "'ndcg@10'"),
        ("contextual_precision", r"'map@5\(norm=hits\)'"),
        ("LLMContextRecall", "write 'recall'"),
        ("infAP", "'bpref'"),
        ("NumRelRet", "'hits@5'"),
        ("faithfulness", "it judges answers"),
        ("P", "'precision@5'"),
    ],
)
def test_the_nearest_by_meaning(written: str, hint: str) -> None:
    """A name that is not known is answered with what means the same, not what is spelled alike."""
    with pytest.raises(UsageError, match=hint):
        parse(written)


def test_what_is_proposed_is_there() -> None:
    """Every name that is proposed by meaning can be asked for."""
    from kragx.metrics.tool_names import _MEANINGS

    for name in _MEANINGS:
        assert parse(name).name in METRICS


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("P(judged_only=True)@5", "precision has no option 'judged_only'"),
        ("SetF(beta=2.0)", "f1 has no option 'beta'"),
        ("ndcg@10-l2", "ndcg has no option 'rel'"),
        ("Rprec@5", "r_precision concerns whole answers"),
    ],
)
def test_what_kragx_does_not_have(written: str, problem: str) -> None:
    """An option that kragx lacks is refused by the name that was asked for, and never ignored."""
    with pytest.raises(UsageError, match=problem) as caught:
        parse(written)
    assert repr(written) in str(caught.value)
