"""Sweeps: any metric at any threshold from one scoring, plateaus, flips."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn, strategies as st

from kragx import Gold, GoldDataset, Query, Run, UsageError, compare, evaluate, flips, sweep
from kragx.comparison.flips import all_flips, flips_warning
from kragx.comparison.plateaus import plateaus
from kragx.evaluation.sweep import stretch
from kragx.judging import Judge
from kragx.judging.clients.scripted import ScriptedClient
from kragx.report.csv_files import sweeps_csv
from kragx.report.figures.sweep import sweep_figure
from tests.thoroughness import examples

from .support import given

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
        assert {name: values[at] for name, values in swept.values.items()} == anew.mean
        assert swept.n_matches[at] == int(anew.table.matched.sum())


@examples(60)
@drawn(runs, st.floats(0.01, 1.0))
def test_every_score_misses_no_change(queries: list[list[str]], threshold: float):
    """Between two distinct scores every threshold has the value of the upper one."""
    swept = sweep(given(*queries), thresholds="scores")
    above = [at for at, each in enumerate(swept.thresholds) if each >= threshold]
    expected = given(*queries, threshold=threshold).mean["recall@3"]
    if above:
        assert swept.values["recall@3"][above[0]] == expected
    else:
        assert not expected


def test_nothing_is_matched_again(monkeypatch: pytest.MonkeyPatch):
    """A sweep asks the matcher for nothing."""
    result = given(["0.4", "0.8"], ["0.6"])
    monkeypatch.setattr(
        "tests.evaluation.sweep.support.Given.scores", lambda *_: pytest.fail("matched again")
    )
    assert sweep(result).values["recall@3"][49] == 1.0


def test_the_default_is_a_grid_of_hundredths():
    """.01 to 1, the chosen threshold among them; the values fall as the threshold rises."""
    swept = sweep(given(["0.4", "0.8"], ["0.6"], golds=1))
    assert swept.thresholds == tuple(at / 100 for at in range(1, 101))
    assert swept.chosen == 0.5
    assert swept.values["recall@3"] == (1.0,) * 60 + (0.5,) * 20 + (0.0,) * 20
    assert swept.n_matches == (3,) * 40 + (2,) * 20 + (1,) * 20 + (0,) * 20


def test_other_metrics_and_measures_can_be_asked_for():
    """A metric that the evaluation did not have; a measure needs documents, which it kept not."""
    result = given(["0.4", "0.8"], ["0.6"])
    assert list(sweep(result, "mrr@3").values) == ["mrr@3"]
    with pytest.raises(UsageError, match="looks at documents"):
        sweep(result, ["source_diversity@3"])
    measured = evaluate(
        [["a b c d"]], [["a b x y", "a b c d"]], match="rouge1", metrics=["mrr@2", "judged@2"]
    )
    swept = sweep(measured, thresholds=[0.5, 0.9])
    assert swept.values == {"mrr@2": (1.0, 0.5), "judged@2": (1.0, 0.5)}


words = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6).map(" ".join)
BUDGETS = ["recall@4tokens", "ndcg@9chars", "precision@6tokens", "coverage@2", "coverage@5tokens"]


@pytest.mark.integration
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
        assert {name: values[at] for name, values in swept.values.items()} == anew.mean


def test_facts_follow_the_threshold():
    """context_completeness matches facts as gold is matched, so another threshold moves it too."""
    facts = {"facts": ["a b c d", "e f g h"]}
    dataset = GoldDataset((Query("q1", gold=(Gold(text="x y"),), metadata=facts),))
    run = Run.from_documents({"q1": ["a b c d", "e f"]})
    metrics = ["context_completeness", "recall@2"]
    spec = {"method": "rouge1", "measure": "recall"}
    result = evaluate(dataset, run, match=spec, metrics=metrics)
    swept = sweep(result, thresholds=[0.5, 0.6])
    assert swept.values["context_completeness"] == (1.0, 0.5)
    assert swept.n_matches == (0, 0)  # no match changes, the facts do
    apart = evaluate(dataset, run, match=spec, facts_match=spec, metrics=metrics)
    assert sweep(apart, thresholds=[0.5, 0.6]).values["context_completeness"] == (1.0, 1.0)


@pytest.mark.integration
def test_profile_krag_reads_scores_below_the_threshold_too():
    """K-RAG's nDCG takes scores that are no matches, so no pair may be left out for it."""
    gold, found = [["a b c d"]], [["a x y z", "a b c d"]]
    result = evaluate(gold, found, match="rouge1", profile="krag", metrics=["ndcg@2"])
    swept = sweep(result, thresholds=[0.1, 0.9])
    assert swept.values[next(iter(swept.values))] == (result["ndcg@2"],) * 2


# -- where a metric is stable ----------------------------------------------------------------


def by_looking(values: list[float | None], place: int, tolerance: float) -> tuple[int, int] | None:
    """The slow reference: every stretch that holds the place, the widest that qualifies."""
    value = values[place]
    if not value:
        return None
    return max(
        (
            (first, last)
            for first in range(place + 1)
            for last in range(place, len(values))
            if all(
                own is not None and abs(own - value) <= tolerance + 1e-12
                for own in values[first : last + 1]
            )
        ),
        key=lambda ends: ends[1] - ends[0],
    )


@examples(200)
@drawn(
    st.lists(
        st.one_of(st.none(), st.sampled_from([0.0, 0.3, 0.5, 0.505, 0.51, 0.6, 1.0])),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([0.0, 0.01, 0.2]),
    st.data(),
)
def test_a_metric_is_stable_around_the_chosen_threshold(
    values: list[float | None], tolerance: float, data: st.DataObject
):
    """Against the slow reference, missing values included; the chosen one is always inside."""
    thresholds = [round(0.05 * number, 2) for number in range(1, len(values) + 1)]
    place = data.draw(st.integers(0, len(values) - 1))
    counts = list(range(len(values), 0, -1))
    found = stretch(thresholds, values, counts, thresholds[place], tolerance)
    expected = by_looking(values, place, tolerance)
    if expected is None:
        assert found is None
        return
    first, last = expected
    assert found is not None
    assert (found.low, found.high) == (thresholds[first], thresholds[last])
    assert thresholds[place] in found
    inside = [own for own in values[first : last + 1] if own is not None]
    assert (found.least, found.greatest) == (min(inside), max(inside))
    assert (found.most_matches, found.fewest_matches) == (counts[first], counts[last])


def lines(swept: Any) -> list[str]:
    """The lines of a description, but for its table."""
    return [part.plain() for part in swept.describe() if not hasattr(part, "rows")]


def test_what_is_flat_elsewhere_is_not_held_against_the_chosen_threshold():
    """By hand: all is found up to .25, and .5 lies in a narrower stretch of its own."""
    swept = sweep(given(["0.25"], ["0.52"]), thresholds=[0.1, 0.2, 0.4, 0.5, 0.8, 0.9, 1.0])
    assert swept.values["recall@3"] == (1.0, 1.0, 0.5, 0.5, 0.0, 0.0, 0.0)
    stable = swept.stable["recall@3"]
    assert stable is not None
    assert (stable.low, stable.high, stable.least) == (0.4, 0.5, 0.5)
    _, line, marks = lines(swept)
    assert line == (
        "recall@3: within 0.01 of 0.5000 from threshold 0.4 to 0.5, around the chosen 0.5 "
        "(1 matches)"
    )
    assert marks == "*: the chosen threshold; |: within 0.01 of the value there"


def test_what_is_saturated_is_inside_and_says_what_matches():
    """A metric that has all it can have is as at the chosen threshold, while matches fall."""
    swept = sweep(given(["0.9", "0.3"], ["0.9", "0.2"]), thresholds=[0.1, 0.25, 0.5, 0.9])
    assert lines(swept)[1] == (
        "recall@3: within 0.01 of 1.0000 from threshold 0.1 to 0.9, around the chosen 0.5 "
        "(4 to 2 matches)"
    )


def test_where_nothing_is_found_nothing_is_stable():
    """0 at the chosen threshold is no stretch; one that was not looked at has none either."""
    assert lines(sweep(given(["0.2"])))[1] == "recall@3: 0.0000 at the chosen threshold 0.5"
    assert sweep(given(["0"], [])).stable == {"recall@3": None}
    elsewhere = sweep(given(["0.9"]), thresholds=[0.6, 0.7])
    assert elsewhere.stable == {"recall@3": None}
    assert lines(elsewhere)[1] == ("recall@3: the chosen threshold 0.5 is none of those looked at")
    alone = sweep(given(["0.5"]), thresholds=[0.5, 0.6])
    assert lines(alone)[1] == "recall@3: 1.0000 at the chosen threshold 0.5 alone"


# -- plateaus: where retrievers keep their order ---------------------------------------------


def swept_at(*evaluations: Any, thresholds: Any = None) -> list[Any]:
    """Sweeps of several evaluations."""
    return [sweep(each, thresholds=thresholds) for each in evaluations]


def test_a_plateau_is_where_the_order_holds():
    """By hand: a has 2 of 3 at .5, b 1; above .52 a has 1 and above .6 none; up to .1 b has 3."""
    a = given(["0.6"], ["0.52"], ["0.05"], name="a")
    b = given(["0.9"], ["0.1"], ["0.1"], name="b")
    (plateau,) = plateaus(swept_at(a, b))
    assert (plateau.low, plateau.high) == (0.11, 0.52)
    assert plateau.order == (("a",), ("b",))
    assert str(plateau) == (
        "recall@3: plateau: the order a > b holds from threshold 0.11 to 0.52, around the chosen "
        "0.5; at 0.1 'b' is ahead of 'a'; at 0.53 'a' and 'b' are equal"
    )
    assert json.loads(json.dumps(plateau.to_dict()))["above"] == {
        "threshold": 0.53,
        "ahead": "a",
        "behind": "b",
        "equal": True,
        "n_more": 0,
    }


def test_where_everything_matches_is_no_plateau_of_an_order():
    """Equal because all match, below; the plateau begins where the two are told apart."""
    a, b = given(["0.9"], ["0.9"], name="a"), given(["0.9"], ["0.3"], name="b")
    (plateau,) = plateaus(swept_at(a, b))
    assert (plateau.low, plateau.high) == (0.31, 0.9)
    assert plateau.below is not None
    assert str(plateau.below) == "at 0.3 'a' and 'b' are equal"


def test_what_is_merely_saturated_is_no_order():
    """Equal retrievers have none that could depend on the threshold, wherever it lies."""
    same = [given(["0.9"], ["0.7"], name=name) for name in "abc"]
    (plateau,) = plateaus(swept_at(*same))
    assert (plateau.low, plateau.high, plateau.value) == (0.01, 1.0, 1.0)
    assert str(plateau) == (
        "recall@3: no order: all are equal, 1.0000, from threshold 0.01 to 1, around the chosen 0.5"
    )
    lone = given(["0.5"], ["0.9"], name="d")
    (narrow,) = plateaus(swept_at(given(["0.5"], name="x"), given(["0.9"], name="y")))
    assert str(narrow.above) == "at 0.51 'y' is ahead of 'x'"
    assert plateaus([sweep(lone)]) == ()


def test_sweeps_that_cannot_be_set_side_by_side_have_no_plateau():
    """Other thresholds looked at, others chosen, or the chosen one not looked at."""
    a, b = given(["0.9"], name="a"), given(["0.4"], name="b")
    assert plateaus([sweep(a), sweep(b, thresholds=[0.5])]) == ()
    assert plateaus(swept_at(a, given(["0.4"], name="b", threshold=0.3))) == ()
    assert plateaus(swept_at(a, b, thresholds=[0.6, 0.7])) == ()
    (alone,) = plateaus(swept_at(a, b, thresholds=[0.4, 0.5, 0.95]))
    assert "holds at the chosen threshold 0.5 alone; at 0.4" in str(alone)


@pytest.mark.integration
@examples(60)
@drawn(st.lists(runs.filter(lambda each: len(each) >= 2), min_size=2, max_size=4))
def test_plateaus_are_those_that_sweeps_show(lists: list[list[list[str]]]):
    """Against comparing every pair at every threshold, the slow and obvious way."""
    n = min(map(len, lists))
    several = swept_at(*(given(*each[:n], name=f"r{at}") for at, each in enumerate(lists)))
    (plateau,) = plateaus(several)
    curves = [each.values["recall@3"] for each in several]

    def order(position: int) -> list[int]:
        return [
            (one[position] > other[position]) - (one[position] < other[position])
            for one in curves
            for other in curves
        ]

    here = several[0].thresholds.index(0.5)
    for at, threshold in enumerate(several[0].thresholds):
        if plateau.low <= threshold <= plateau.high:
            assert order(at) == order(here)
    for end in (plateau.below, plateau.above):
        if end is not None:
            at = several[0].thresholds.index(end.threshold)
            assert order(at) != order(here)
            ahead, behind = (curves[int(name[1:])][at] for name in (end.ahead, end.behind))
            assert ahead == behind if end.equal else ahead > behind
    assert [name for tier in plateau.order for name in tier] == sorted(
        (each.retriever for each in several),
        key=lambda name: -curves[int(name[1:])][here],  # type: ignore[operator]
    )


def test_short_gold_has_no_threshold():
    """Answers of one word are decided as phrases: a value that is flat is not called a choice."""
    words = ["서울", "부산"]
    of_short = sweep(evaluate([[word] for word in words], [[f"{word}은 도시다"] for word in words]))
    short = (
        "questions with short gold: 2 of 2; it is looked for as a phrase, whatever the threshold"
    )
    same = "the same pairs match at each of these thresholds: they say nothing of which to choose"
    assert of_short.notes == (short, same)
    assert same in of_short.to_text()
    assert "정답이 짧은 질문: 2개 중 2개" in of_short.to_text(language="ko")
    nothing = sweep(evaluate([["old red door"]], [["a sky"]], match="rouge1"))
    assert nothing.notes == ("no pair matches at any of these thresholds",)
    assert sweep(evaluate([["old red door"]], [["old red sky"]], match="rouge1")).notes == ()
    assert sweep(evaluate([["old red door"]], [["x"]], match="rouge1"), None, [0.5]).notes == ()


# -- what has no threshold -------------------------------------------------------------------


@pytest.mark.parametrize("match", ["exact", "text", {"any": ["text", "overlap"]}])
def test_a_matcher_without_threshold_is_refused(match: Any):
    """There is nothing to sweep, and it says so."""
    result = evaluate([["a b"]], [["a b"]], match=match)
    with pytest.raises(UsageError, match="decides yes or no and has no threshold"):
        sweep(result)


@pytest.mark.parametrize("thresholds", [[0.0], [1.5], [], "all", 0.5, ["a", 0.5]])
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
    assert swept.values["mrr@3"] == (1.0, 0.5, 1 / 3)
    assert sweep(judged([1, 2, 3], tmp_path), thresholds=np.arange(1, 4)).values == swept.values
    for wrong in (4, "2", None, True):
        with pytest.raises(UsageError, match=rf"{wrong!r} is no grade from 1 to 3"):
            sweep(judged([1, 2, 3], tmp_path), thresholds=[wrong])


def test_a_pool_has_no_other_threshold(tmp_path: Path):
    """Without gold the cut made the gold, so another one would be another evaluation."""
    pooled = judged([1, 2, 3], tmp_path, gold=False)
    with pytest.raises(UsageError, match="in a pool the grade"):
        sweep(pooled)
    assert flips([pooled, replace(pooled, name="other")], "mrr@3") is None


# -- flips -----------------------------------------------------------------------------------


def test_an_order_that_another_threshold_reverses_is_said():
    """By hand: at .5 a finds two of two; at .55 only one, and b is ahead."""
    a = given(["0.5"], ["0.52"], ["0.9"], name="a")
    b = given(["0.9"], ["0.9"], ["0.1"], name="b")
    flipped = flips([a, b], "recall@3")
    assert flipped
    assert flipped.leader == "a"
    assert flipped.led_by == {"b": 0.525}
    assert flipped.swapped == (("a", "b", 0.525),)
    assert flipped.thresholds[0] == 0.4
    assert flipped.thresholds[-1] == 0.6
    warning = flipped.warning()
    assert warning is not None
    assert "at 0.5 'a' is ahead of 'b' in recall@3, at 0.525 behind" in warning
    near = flips([a, b], "recall@3", neighbourhood=0.01)
    assert near is not None
    assert not near
    assert near.warning() is None
    assert json.loads(json.dumps(flipped.to_dict()))["swapped"] == [["a", "b", 0.525]]


def test_becoming_equal_is_no_flip():
    """A lead that only vanishes reverses nothing; a tie at the chosen threshold has no leader."""
    a, b = given(["0.5"], ["0.9"], name="a"), given(["0.9"], ["0.1"], name="b")
    flipped = flips([a, b], "recall@3")
    assert flipped is not None
    assert not flipped
    assert flipped.leader == "a"
    assert flipped.led_by == {}
    tied = flips([b, replace(b, name="c")], "recall@3")
    assert tied is not None
    assert tied.leader is None


@pytest.mark.integration
@examples(60)
@drawn(st.lists(runs.filter(lambda each: len(each) >= 2), min_size=2, max_size=3))
def test_flips_are_those_that_evaluating_anew_shows(lists: list[list[list[str]]]):
    """Against sweeps of each run: a pair is swapped exactly if its order is reversed somewhere."""
    n = min(map(len, lists))
    several = [given(*each[:n], name=f"r{at}") for at, each in enumerate(lists)]
    flipped = flips(several, "recall@3")
    assert flipped is not None
    curves = [
        np.array(sweep(each, thresholds=list(flipped.thresholds)).values["recall@3"])
        for each in several
    ]
    here = flipped.thresholds.index(0.5)
    expected = set()
    for one in range(len(several)):
        for other in range(len(several)):
            lead = curves[one] - curves[other]
            if lead[here] > 0 and (lead < 0).any():
                expected.add((f"r{one}", f"r{other}"))
    assert {each[:2] for each in flipped.swapped} == expected


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
    assert flips(of, "mrr@20tokens").swapped == (("near", "long", 0.525),)  # type: ignore[union-attr]
    assert any("the order depends" in each for each in compare(of).cautions)


def test_there_are_no_flips_without_a_common_threshold():
    """One run, other matchers or thresholds, yes-or-no matchers, a metric without direction."""
    one = given(["0.5"], name="a")
    assert flips([one], "recall@3") is None
    assert flips([one, given(["0.5"], threshold=0.6)], "recall@3") is None
    exact = evaluate([["a"]], [["a"]], match="exact", metrics=["recall@3"])
    assert flips([exact, exact], "recall@3") is None
    assert all_flips([one, one]).keys() == {"recall@3"}


def test_a_comparison_says_when_its_order_depends_on_the_threshold():
    """Compare has one caution for all metrics; none where the order holds, or for exact matches."""
    metrics = ["recall@3", "mrr@3"]
    a = given(["0.5"], ["0.52"], ["0.9"], name="a", metrics=metrics)
    b = given(["0.9"], ["0.9"], ["0.1"], name="b", metrics=metrics)
    (caution,) = (each for each in compare([a, b]).cautions if "threshold" in each)
    assert "at 0.5 'a' is ahead of 'b' in recall@3, at 0.525 behind" in caution
    assert caution.endswith("(also in mrr@3)")
    sure = given(["0.9"], ["0.9"], ["0.9"], name="sure", metrics=metrics)
    assert not [each for each in compare([sure, b]).cautions if "threshold" in each]
    exact = [
        replace(evaluate([["a"], ["b"]], found, match="exact", metrics=metrics), name=name)
        for name, found in (("x", [["a"], ["b"]]), ("y", [["a"], ["a"]]))
    ]
    assert not [each for each in compare(exact).cautions if "threshold" in each]
    assert flips_warning([]) is None


# -- what people get -------------------------------------------------------------------------


def test_a_sweep_as_plain_values_and_as_a_table():
    """JSON has every field; pandas and CSV a row for each threshold."""
    swept = sweep(given(["0.4", "0.8"], ["0.6"], name="검색기"), thresholds=[0.3, 0.5, 0.7])
    plain = json.loads(json.dumps(swept.to_dict()))
    assert plain["values"] == {"recall@3": [1.0, 1.0, 0.5]}
    assert plain["stable"]["recall@3"] == {
        "low": 0.3,
        "high": 0.5,
        "least": 1.0,
        "greatest": 1.0,
        "most_matches": 3,
        "fewest_matches": 2,
    }
    frame = swept.to_pandas()
    assert frame["recall@3"].tolist() == [1.0, 1.0, 0.5]
    assert frame.index.tolist() == [0.3, 0.5, 0.7]
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
    """A line for each sweep at its values, chosen threshold and order marked; text stays text."""
    plotting()
    one = sweep(given(["0.4", "0.8"], ["0.6"], name="검색기 $x$"))
    two = sweep(given(["0.9"], ["0.1"], name="other", metrics=["recall@3", "mrr@3"]))
    figure = sweep_figure([one, two], tmp_path / "sweep.svg")
    first, second = figure.axes
    drawn_lines = {line.get_gid(): line for line in first.lines if line.get_gid()}
    assert drawn_lines["sweep-1-0"].get_ydata().tolist() == list(one.values["recall@3"])
    assert drawn_lines["sweep-1-1"].get_ydata().tolist() == list(two.values["recall@3"])
    assert [line.get_gid() for line in second.lines if line.get_gid()] == ["sweep-2-1"]
    chosen = [line for line in first.lines if not line.get_gid()]
    assert {tuple(line.get_xdata()) for line in chosen} == {(0.5, 0.5)}
    (shaded,) = first.patches  # where the order holds, once for both; of one metric alone nothing
    assert (shaded.get_x(), shaded.get_x() + shaded.get_width()) == pytest.approx((0.11, 0.6))
    assert not [*first.collections, *second.patches]
    (alone,) = sweep_figure(one, tmp_path / "alone.svg").axes
    stable = alone.collections[0].get_paths()[0].get_extents()
    assert (stable.x0, stable.x1) == pytest.approx((0.01, 0.6))
    svg = (tmp_path / "sweep.svg").read_text(encoding="utf-8")
    assert "검색기 $x$" in svg
    again = tmp_path / "again.svg"
    sweep_figure([one, two], again)
    assert again.read_bytes() == (tmp_path / "sweep.svg").read_bytes()
    sweep_figure(one, tmp_path / "one.png")
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
            assert swept.values[metric][position] == at.mean[metric]
