"""The study of thresholds: any metric at any of them from one scoring, and where orders hold."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn, strategies as st

from kragx import Gold, GoldDataset, Query, Run, UsageError, compare, evaluate, sweep
from kragx.comparison import RetrieverScores, orders_warning
from kragx.comparison.threshold_study import Order, orders_near, orders_of
from kragx.judging import Judge
from kragx.judging.clients.scripted import ScriptedClient
from kragx.report.csv_files import sweeps_csv
from kragx.report.figures.comparison import sweep_figure
from tests.evaluation.sweep.support import given
from tests.thoroughness import all_cases, examples

METRICS = ["recall@1", "recall@3", "mrr@3", "precision@3", "ndcg@3", "f1@3", "redundancy@3"]
scores = st.sampled_from([0.0, 0.1, 0.25, 0.4, 0.5, 0.55, 0.7, 0.9, 1.0])
runs = st.lists(st.lists(scores.map(str), min_size=0, max_size=4), min_size=1, max_size=5)


@examples(60)
@drawn(runs, st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8))
def test_each_value_is_that_of_an_evaluation_at_that_threshold(
    queries: list[list[str]], thresholds: list[float]
):
    """The sweep equals evaluating anew with each threshold, the slow and obvious way."""
    swept = sweep(given(*queries, metrics=METRICS), thresholds=thresholds)
    assert swept.thresholds == tuple(sorted(set(thresholds)))
    for at, threshold in enumerate(swept.thresholds):
        anew = given(*queries, metrics=METRICS, threshold=threshold)
        assert {name: values[at] for name, values in swept.values["run"].items()} == anew.mean
        assert swept.n_matches["run"][at] == int(anew.table.matched.sum())


@examples(60)
@drawn(runs, st.floats(0.01, 1.0))
def test_every_score_misses_no_change(queries: list[list[str]], threshold: float):
    """Between two distinct scores every threshold has the value of the upper one."""
    result = given(*queries)
    scores = {*result.table.pair_score.tolist(), 1.0} - {0.0}
    swept = sweep(result, thresholds=scores)
    above = [at for at, each in enumerate(swept.thresholds) if each >= threshold]
    expected = given(*queries, threshold=threshold).mean["recall@3"]
    if above:
        assert swept.values["run"]["recall@3"][above[0]] == expected
    else:
        assert not expected


def test_nothing_is_matched_again(monkeypatch: pytest.MonkeyPatch):
    """A sweep asks the matcher for nothing."""
    result = given(["0.4", "0.8"], ["0.6"])
    monkeypatch.setattr(
        "tests.evaluation.sweep.support.Given.scores", lambda *_: pytest.fail("matched again")
    )
    assert sweep(result).values["run"]["recall@3"][49] == 1.0


def test_the_default_is_a_grid_of_hundredths():
    """.01 to 1, the chosen threshold among them; the values fall as the threshold rises."""
    swept = sweep(given(["0.4", "0.8"], ["0.6"], golds=1))
    assert swept.thresholds == tuple(at / 100 for at in range(1, 101))
    assert swept.chosen == 0.5
    assert swept.values["run"]["recall@3"] == (1.0,) * 60 + (0.5,) * 20 + (0.0,) * 20
    assert swept.n_matches["run"] == (3,) * 40 + (2,) * 20 + (1,) * 20 + (0,) * 20


def test_other_metrics_and_measures_can_be_asked_for():
    """A metric that the evaluation did not have; a measure needs documents, which it kept not."""
    result = given(["0.4", "0.8"], ["0.6"])
    assert list(sweep(result, "mrr@3").values["run"]) == ["mrr@3"]
    with pytest.raises(UsageError, match="looks at documents"):
        sweep(result, ["source_diversity@3"])
    measured = evaluate(
        [["a b c d"]], [["a b x y", "a b c d"]], match="rouge1", metrics=["mrr@2", "judged@2"]
    )
    swept = sweep(measured, thresholds=[0.5, 0.9])
    assert swept.values == {"run": {"mrr@2": (1.0, 0.5), "judged@2": (1.0, 0.5)}}


words = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6).map(" ".join)
BUDGETS = ["recall@4tokens", "ndcg@9chars", "precision@6tokens", "coverage@2", "coverage@5tokens"]


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:gold of one template")
@examples(40)
@drawn(
    st.lists(
        st.tuples(st.lists(words, max_size=3), st.lists(words, max_size=4)), min_size=1, max_size=4
    )
)
def test_budgets_and_measures_are_those_of_an_evaluation_at_that_threshold(
    queries: list[tuple[list[str], list[str]]],
):
    """What looks at documents equals evaluating anew too: lists cut at a budget, coverage."""
    gold, found = [list(each) for each in zip(*queries)]
    spec = {"method": "rouge1", "measure": "recall"}
    result = evaluate(gold, found, match=spec, metrics=["recall@3", *BUDGETS])
    swept = sweep(result, thresholds=[0.2, 0.5, 0.8, 1.0])
    for at, threshold in enumerate(swept.thresholds):
        anew = evaluate(gold, found, match={**spec, "threshold": threshold}, metrics=result.mean)
        assert {name: values[at] for name, values in swept.values["run"].items()} == anew.mean


def test_facts_follow_the_threshold():
    """context_completeness matches facts as gold is matched, so another threshold moves it too."""
    facts = {"facts": ["a b c d", "e f g h"]}
    dataset = GoldDataset((Query("q1", gold=(Gold(text="x y"),), metadata=facts),))
    run = Run.from_documents({"q1": ["a b c d", "e f"]})
    metrics = ["context_completeness", "recall@2"]
    spec = {"method": "rouge1", "measure": "recall"}
    result = evaluate(dataset, run, match=spec, metrics=metrics)
    swept = sweep(result, thresholds=[0.5, 0.6])
    assert swept.values["run"]["context_completeness"] == (1.0, 0.5)
    assert swept.n_matches["run"] == (0, 0)  # no match changes, the facts do
    apart = evaluate(dataset, run, match=spec, facts_match=spec, metrics=metrics)
    assert sweep(apart, thresholds=[0.5, 0.6]).values["run"]["context_completeness"] == (1.0, 1.0)


@pytest.mark.integration
def test_profile_krag_reads_scores_below_the_threshold_too():
    """K-RAG's nDCG takes scores that are no matches, so no pair may be left out for it."""
    gold, found = [["a b c d"]], [["a x y z", "a b c d"]]
    result = evaluate(gold, found, match="rouge1", profile="krag", metrics=["ndcg@2"])
    swept = sweep(result, thresholds=[0.1, 0.9])
    assert next(iter(swept.values["run"].values())) == (result["ndcg@2"],) * 2


# -- what is said ----------------------------------------------------------------------------


def lines(swept: Any) -> list[str]:
    """The lines of a description, but for its table."""
    return [part.plain() for part in swept.describe() if not hasattr(part, "rows")]


def test_the_chosen_threshold_is_marked_or_missed():
    """Below the table stands what marks it; or that it was not looked at."""
    swept = sweep(given(["0.25"], ["0.52"]), thresholds=[0.1, 0.4, 0.5, 0.8])
    assert lines(swept)[1:] == ["*: the chosen threshold"]
    assert "0.5 *" in swept.to_text()
    elsewhere = sweep(given(["0.9"]), thresholds=[0.6, 0.7])
    assert lines(elsewhere)[-1] == "the chosen threshold 0.5 is none of those looked at"


# -- plateaus: where retrievers keep their order ---------------------------------------------


def order(*evaluations: Any, thresholds: Any = None) -> Order:
    """Of several evaluations, in their only metric."""
    return sweep(evaluations, thresholds=thresholds).orders["recall@3"]


def test_a_plateau_is_where_the_order_holds():
    """By hand: a has 2 of 3 at .5, b 1; above .52 a has 1 and above .6 none; up to .1 b has 3."""
    a = given(["0.6"], ["0.52"], ["0.05"], name="a")
    b = given(["0.9"], ["0.1"], ["0.1"], name="b")
    plateau = order(a, b)
    assert (plateau.low, plateau.high) == (0.11, 0.52)
    assert plateau.tiers == (("a",), ("b",))
    assert str(plateau) == (
        "recall@3: plateau: the order a > b holds from threshold 0.11 to 0.52, around the chosen "
        "0.5"
    )
    assert json.loads(json.dumps(plateau.to_dict()))["tiers"] == [["a"], ["b"]]


def test_where_everything_matches_is_no_plateau_of_an_order():
    """Equal because all match, below; the plateau begins where the two are told apart."""
    a, b = given(["0.9"], ["0.9"], name="a"), given(["0.9"], ["0.3"], name="b")
    plateau = order(a, b)
    assert (plateau.low, plateau.high) == (0.31, 0.9)


@pytest.mark.filterwarnings("error")
def test_who_has_no_value_is_in_no_order():
    """No value is no rank, never is as good as never and behind all, and one alone is no order."""
    inf = float("inf")
    costs = {
        "none": {"cost": [None, None], "alone": [None, 1.0]},
        "slow": {"cost": [inf, inf], "alone": [None, 2.0]},
        "lost": {"cost": [inf, 9.0], "alone": [1.0, 3.0]},
        "fast": {"cost": [4.0, 5.0], "alone": [None, 4.0]},
    }
    orders = orders_of(costs, {"cost": "lower", "alone": "higher"}, [0.25, 0.5], 0.25)
    assert [*orders] == ["cost"]
    assert orders["cost"].tiers == (("fast",), ("slow", "lost"))
    assert orders["cost"].swapped == ()


def test_what_is_merely_saturated_is_no_order():
    """Equal retrievers have none that could depend on the threshold, wherever it lies."""
    same = [given(["0.9"], ["0.7"], name=name) for name in "abc"]
    plateau = order(*same)
    assert (plateau.low, plateau.high) == (0.01, 1.0)
    assert str(plateau) == (
        "recall@3: no order: all are equal from threshold 0.01 to 1, around the chosen 0.5"
    )
    lone = given(["0.5"], ["0.9"], name="d")
    narrow = order(given(["0.5"], name="x"), given(["0.9"], name="y"))
    assert (narrow.low, narrow.high) == (0.01, 0.5)
    assert sweep(lone).orders == {}


def test_what_cannot_be_set_side_by_side_is_refused():
    """Other matchers, one name twice, nothing; an order needs the chosen threshold itself."""
    a, b = given(["0.9"], name="a"), given(["0.4"], name="b")
    with pytest.raises(UsageError, match="of several matchers"):
        sweep([a, given(["0.4"], name="b", threshold=0.3)])
    with pytest.raises(UsageError, match="several have one name"):
        sweep([a, a])
    with pytest.raises(UsageError, match="there is none"):
        sweep([])
    assert sweep([a, b], thresholds=[0.6, 0.7]).orders == {}
    alone = order(a, b, thresholds=[0.4, 0.5, 0.95])
    assert "holds at the chosen threshold 0.5 alone" in str(alone)


@pytest.mark.integration
@examples(60)
@drawn(st.lists(runs.filter(lambda each: len(each) >= 2), min_size=2, max_size=4))
def test_plateaus_are_those_that_values_show(lists: list[list[list[str]]]):
    """Against comparing every pair at every threshold, the slow and obvious way."""
    n = min(map(len, lists))
    several = sweep([given(*each[:n], name=f"r{at}") for at, each in enumerate(lists)])
    plateau = several.orders["recall@3"]
    curves = [values["recall@3"] for values in several.values.values()]

    def standing(position: int) -> list[int]:
        return [
            (one[position] > other[position]) - (one[position] < other[position])
            for one in curves
            for other in curves
        ]

    here = several.thresholds.index(0.5)
    for at, threshold in enumerate(several.thresholds):
        if plateau.low <= threshold <= plateau.high:
            assert standing(at) == standing(here)
    ends = [several.thresholds.index(end) for end in (plateau.low, plateau.high)]
    for at in (ends[0] - 1, ends[1] + 1):
        if 0 <= at < len(several.thresholds):
            assert standing(at) != standing(here)
    assert [name for tier in plateau.tiers for name in tier] == sorted(
        several.values,
        key=lambda name: -curves[int(name[1:])][here],  # type: ignore[operator]
    )


# -- what has no threshold -------------------------------------------------------------------


@pytest.mark.parametrize("match", ["exact", "text", {"any": ["text", "overlap"]}])
def test_a_matcher_without_threshold_is_refused(match: Any):
    """There is nothing to sweep, and it says so."""
    result = evaluate([["a b"]], [["a b"]], match=match)
    with pytest.raises(UsageError, match="decides yes or no and has no threshold"):
        sweep(result)


@all_cases("thresholds", [[0.0], [1.5], [], "all", 0.5, ["a", 0.5]])
def test_thresholds_out_of_range_are_refused(thresholds: Any):
    """0 would match everything; nothing scores above 1."""
    with pytest.raises(UsageError, match="threshold"):
        sweep(given(["0.5"]), thresholds=thresholds)


def judged(grades: list[int], tmp_path: Path, gold: bool = True) -> Any:
    """An evaluation of one query by a judge with these grades."""
    docs = [f"document {at}" for at in range(len(grades))]
    said = dict(zip(docs, grades))

    def grade(request: Any) -> int:
        return next(grade for doc, grade in said.items() if doc in str(request.messages))

    client = ScriptedClient(grade)
    dataset = GoldDataset.from_documents([["gold"] if gold else []], queries=["why?"])
    judge = Judge(client, store=tmp_path / "judged.sqlite")
    run = Run.from_documents([docs])
    return evaluate(dataset, run, match={"method": "llm", "judge": judge}, metrics=["mrr@3"])


def test_a_judge_is_swept_over_its_grades(tmp_path: Path):
    """Thresholds are the grades 1, 2 and 3."""
    swept = sweep(judged([1, 2, 3], tmp_path))
    assert swept.thresholds == (1.0, 2.0, 3.0)
    assert swept.values["run"]["mrr@3"] == (1.0, 0.5, 1 / 3)
    assert sweep(judged([1, 2, 3], tmp_path), thresholds=np.arange(1, 4)).values == swept.values
    for wrong in (4, "2", None, True):
        with pytest.raises(UsageError, match=rf"{wrong!r} is no grade from 1 to 3"):
            sweep(judged([1, 2, 3], tmp_path), thresholds=[wrong])


def test_a_pool_has_no_other_threshold(tmp_path: Path):
    """Without gold the cut made the gold, so another one would be another evaluation."""
    pooled = judged([1, 2, 3], tmp_path, gold=False)
    with pytest.raises(UsageError, match="in a pool the grade"):
        sweep(pooled)
    assert near(pooled, replace(pooled, name="other")) == {}


# -- the order near the chosen threshold -----------------------------------------------------


def near(*evaluations: Any) -> dict[str, Order]:
    """The orders that a comparison looks at."""
    return orders_near([*map(RetrieverScores.of, evaluations)], evaluations[0].mean)


def test_an_order_that_another_threshold_reverses_is_said():
    """By hand: at .5 a finds two of two; at .55 only one, and b is ahead."""
    a = given(["0.5"], ["0.52"], ["0.9"], name="a")
    b = given(["0.9"], ["0.9"], ["0.1"], name="b")
    swept = sweep([a, b], thresholds=a.nearby.thresholds)
    assert swept.thresholds[0] == 0.4
    assert swept.thresholds[-1] == 0.6
    flipped = swept.orders["recall@3"]
    assert near(a, b) == {"recall@3": flipped}
    assert flipped.swapped == (("a", "b", 0.525),)
    warning = flipped.warning()
    assert warning is not None
    assert "at 0.5 'a' is ahead of 'b' in recall@3, at 0.525 behind" in warning
    nearer = order(a, b, thresholds=[0.49, 0.5, 0.51])
    assert nearer.swapped == ()
    assert nearer.warning() is None
    assert json.loads(json.dumps(flipped.to_dict()))["swapped"] == [["a", "b", 0.525]]


def test_becoming_equal_is_no_reversal():
    """A lead that only vanishes reverses nothing."""
    a, b = given(["0.5"], ["0.9"], name="a"), given(["0.9"], ["0.1"], name="b")
    order = near(a, b)["recall@3"]
    assert order.swapped == ()


@pytest.mark.integration
@examples(60)
@drawn(st.lists(runs.filter(lambda each: len(each) >= 2), min_size=2, max_size=3))
def test_reversals_are_those_that_evaluating_anew_shows(lists: list[list[list[str]]]):
    """Against sweeps of each run: a pair is swapped exactly if its order is reversed somewhere."""
    n = min(map(len, lists))
    several = [given(*each[:n], name=f"r{at}") for at, each in enumerate(lists)]
    swept = sweep(several, thresholds=several[0].nearby.thresholds)
    curves = [
        np.array(sweep(each, thresholds=swept.thresholds).values[each.name]["recall@3"])
        for each in several
    ]
    here = swept.thresholds.index(0.5)
    expected = set()
    for one in range(len(several)):
        for other in range(len(several)):
            lead = curves[one] - curves[other]
            if lead[here] > 0 and (lead < 0).any():
                expected.add((f"r{one}", f"r{other}"))
    assert {each[:2] for each in swept.orders["recall@3"].swapped} == expected


def test_retrievers_are_compared_at_budgets():
    """A comparison looks at neighbouring thresholds of metrics at a budget as of any other."""
    dataset = GoldDataset.from_documents([["a b c d e f g h i j k"]])
    lists = {"long": ["x y z", "a b c d e f g h i j k"], "near": ["a b c d e f x y z 1 2"]}
    metrics, match = ["mrr@20tokens", "mrr@10"], {"method": "overlap", "short": 0}
    of = [
        evaluate(
            dataset,
            Run.from_documents([docs], name=name),
            match=match,
            metrics=metrics,
        )
        for name, docs in lists.items()
    ]
    assert near(*of)["mrr@20tokens"].swapped == (("near", "long", 0.525),)
    assert any("the order depends" in each for each in compare(of).cautions)


def test_there_is_no_order_without_a_common_threshold():
    """One run, other matchers or thresholds, yes-or-no matchers, a metric without direction."""
    one = given(["0.5"], name="a")
    assert near(one) == {}
    assert near(one, given(["0.5"], name="b", threshold=0.6)) == {}
    exact = evaluate([["a"]], [["a"]], match="exact", metrics=["recall@3"])
    assert near(exact, replace(exact, name="b")) == {}
    assert near(one, replace(one, name="b")).keys() == {"recall@3"}


def test_a_comparison_says_when_its_order_depends_on_the_threshold():
    """Compare has one caution for all metrics; none where the order holds, or for exact matches."""
    metrics = ["recall@3", "mrr@3"]
    a = given(["0.5"], ["0.52"], ["0.9"], name="a", metrics=metrics)
    b = given(["0.9"], ["0.9"], ["0.1"], name="b", metrics=metrics)
    (caution,) = (each for each in compare([a, b]).cautions if "threshold" in each)
    assert "at 0.5 'a' is ahead of 'b' in recall@3, at 0.525 behind" in caution
    sure = given(["0.9"], ["0.9"], ["0.9"], name="sure", metrics=metrics)
    assert not [each for each in compare([sure, b]).cautions if "threshold" in each]
    exact = [
        replace(evaluate([["a"], ["b"]], found, match="exact", metrics=metrics), name=name)
        for name, found in (("x", [["a"], ["b"]]), ("y", [["a"], ["a"]]))
    ]
    assert not [each for each in compare(exact).cautions if "threshold" in each]
    assert orders_warning([]) is None


# -- what people get -------------------------------------------------------------------------


def test_a_sweep_as_plain_values_and_as_a_table():
    """JSON has every field; pandas and CSV a row for each threshold."""
    swept = sweep(given(["0.4", "0.8"], ["0.6"], name="검색기"), thresholds=[0.3, 0.5, 0.7])
    plain = json.loads(json.dumps(swept.to_dict()))
    assert plain["values"] == {"검색기": {"recall@3": [1.0, 1.0, 0.5]}}
    lines = sweeps_csv([swept]).splitlines()
    assert lines[0] == "retriever,match,threshold,chosen,n_matches,recall@3"
    assert lines[2].startswith("검색기,")
    assert lines[2].endswith(",0.5,1,2,1.0")


def plotting() -> None:
    """Skip where figures cannot be drawn; the font's package itself is never imported."""
    if find_spec("koreanize_matplotlib") is None or find_spec("matplotlib") is None:
        pytest.skip("needs the extra 'plot'")


@pytest.mark.integration
def test_the_figure_draws_the_values(tmp_path: Path):
    """A line for each retriever at its values, chosen threshold and order marked."""
    plotting()
    one = given(["0.4", "0.8"], ["0.6"], name="검색기 $x$")
    two = given(["0.9"], ["0.1"], name="other", metrics=["recall@3", "mrr@3"])
    both = sweep([one, two])
    figure = sweep_figure(both, tmp_path / "sweep.svg")
    first, second = figure.axes
    drawn_lines = {line.get_gid(): line for line in first.lines if line.get_gid()}
    assert drawn_lines["sweep-1-0"].get_ydata().tolist() == list(both.values[one.name]["recall@3"])
    assert drawn_lines["sweep-1-1"].get_ydata().tolist() == list(both.values["other"]["recall@3"])
    assert [line.get_gid() for line in second.lines if line.get_gid()] == ["sweep-2-1"]
    chosen = [line for line in first.lines if not line.get_gid()]
    assert {tuple(line.get_xdata()) for line in chosen} == {(0.5, 0.5)}
    (shaded,) = first.patches  # where the order holds, once for both; of one metric alone nothing
    assert (shaded.get_x(), shaded.get_x() + shaded.get_width()) == pytest.approx((0.11, 0.6))
    assert not [*first.collections, *second.patches]
    alone = sweep(one)
    (panel,) = sweep_figure(alone, tmp_path / "alone.svg").axes
    assert not [*panel.collections, *panel.patches]
    svg = (tmp_path / "sweep.svg").read_text(encoding="utf-8")
    assert "검색기 $x$" in svg
    again = tmp_path / "again.svg"
    sweep_figure(both, again)
    assert again.read_bytes() == (tmp_path / "sweep.svg").read_bytes()
    sweep_figure(alone, tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["sweep.gif", "sweep", "nowhere/sweep.png"])
def test_a_figure_that_cannot_be_written_is_an_error(tmp_path: Path, name: str):
    """Another ending, none, or a folder that is not there."""
    plotting()
    with pytest.raises(UsageError, match="written"):
        sweep_figure(sweep(given(["0.5"])), tmp_path / name)


def test_columns_are_those_of_their_metrics():
    """Where a measure was asked for before a metric, each still has its own values."""
    gold, lists = [["one two three"], ["four five six"]], [["one two x"], ["four y z"]]
    metrics = ["seconds_mean", "mrr@5", "judged@1", "recall@1"]
    evaluation = evaluate(
        gold, lists, match={"method": "rouge1", "threshold": 0.5}, metrics=metrics
    )
    swept = sweep(evaluation, thresholds=[0.2, 0.5, 0.9])
    for threshold in swept.thresholds:
        at = evaluation.at_threshold(threshold)
        assert list(at.mean) == metrics
        for metric in ("mrr@5", "judged@1"):
            position = swept.thresholds.index(threshold)
            assert swept.values["run"][metric][position] == at.mean[metric]
