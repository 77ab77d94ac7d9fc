"""Leaks compared: lower is better, limits are exact, and what is not known widens them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, compare, evaluate
from kragx.comparison import Results, RetrieverScores, check_gates
from kragx.comparison.aligned import Column
from kragx.comparison.compare_retrievers import best_first
from kragx.comparison.estimates import Settings
from kragx.comparison.gate_conditions import parse_gates
from tests.leaks import leaking

N = 60
DATASET = GoldDataset(
    tuple(
        Query(
            f"q{at}", None, (Gold(id=f"d{at}"),), metadata={"half": "first" if at < 30 else "last"}
        )
        for at in range(N)
    ),
    name="shop",
)


def evaluated(name: str, leaks: int, *, n_open=0, could=N, metrics=("leak@2",), dataset=DATASET):
    """A retriever that leaks at rank 1 for the first questions, and is not known for the last."""
    run = Run({f"q{at}": Retrieved((Doc(f"d{at}"), Doc("x"))) for at in range(N)}, name=name)
    return leaking(
        evaluate(dataset, run, match="id", metrics=["recall@2"]),
        {f"q{at}": {1: "tenant"} for at in range(leaks)},
        metrics=metrics,
        could=[f"q{at}" for at in range(could)],
        unknown=[f"q{at}" for at in range(could - n_open, could)],
    )


def of_leaks(evaluation) -> RetrieverScores:
    """Its scores by leak@2 alone."""
    scores, name = RetrieverScores.of(evaluation), "leak@2"
    return replace(scores, means={name: scores.means[name]}, values={name: scores.values[name]})


def upper(hits: int, n: int) -> float:
    """The peer: scipy's beta distribution."""
    return float(beta.ppf(0.975, hits + 1, n - hits))


def test_the_limits_of_what_is_known_and_of_all():
    """The lower one is that of no further leak, the upper one that of a leak for each open one."""
    comparison = compare([evaluated("one", 3, n_open=4, could=50)])
    mean = comparison.overall.means["one"]["leak@2"]
    assert (mean.n, mean.value) == (46, None)
    assert mean.bounds == (pytest.approx(3 / 50), pytest.approx(7 / 50))
    assert mean.low == mean.sure_low == pytest.approx(beta.ppf(0.025, 3, 48))
    assert mean.high == mean.sure_high == pytest.approx(upper(7, 50))
    assert mean.ends == "[1.2%, 26.8%]"
    known = compare([evaluated("one", 0)]).overall.means["one"]["leak@2"]
    assert known.text == "0.0000 (at most 6.0%)"


def test_of_a_slice_no_more_is_open_than_has_no_value():
    """Its limits rest on its own questions."""
    one = evaluated("one", 1, n_open=4)
    first, last = compare([one], slices=["metadata.half"]).by("metadata.half")
    means = {part.value: part.means["one"]["leak@2"] for part in (first, last)}
    assert means["first"].high == pytest.approx(upper(1, 30))
    assert means["last"].high == pytest.approx(upper(4, 30))


def test_the_share_is_sure_of_no_more_than_the_question():
    """leaked@k has the interval of other metrics, but for an upper end above leak@k's."""
    metrics = ["leak@2", "leaked@2"]
    for leaks, n_open in ((0, 0), (2, 0), (5, 3)):
        comparison = compare([evaluated("one", leaks, n_open=n_open, metrics=metrics)])
        means = comparison.overall.means["one"]
        leak, leaked = means["leak@2"], means["leaked@2"]
        assert leaked.high <= leak.high
        assert leaked.sure_high <= leak.sure_high
        assert 0 <= leaked.low <= leaked.least <= leaked.greatest <= leaked.high


def test_lower_is_better_everywhere():
    """Verdict, marks, the best first, and gates against the baseline."""
    few, many = evaluated("few", 1), evaluated("many", 30)
    comparison = compare([many, few], metrics=["leak@2"])
    verdict = comparison.recommendations[0]
    assert (comparison.best, verdict.kind) == ("few", "winner")
    assert verdict.text.startswith("Use few, which leaks: in leak@2 it is better")
    assert comparison.overall.standing("leak@2", "few") == "★"
    (difference,) = comparison.overall.differences
    assert (difference.retriever, difference.verdict) == ("few", "better")
    results = [Results(own.name, (of_leaks(own),)) for own in (many, few)]
    (ordered,) = best_first(results, Settings())
    assert ordered.retrievers[0] == "few"
    gates = parse_gates({"leak@2": "surely no worse than baseline by 0.05"}, [])
    (worse,) = check_gates(gates, [compare([few, many])])
    (better,) = check_gates(gates, [comparison])
    assert (worse.passed, better.passed) == (False, True)


def test_a_clean_winner_is_not_called_leaking():
    """Nor is a loser that leaks left out."""
    clean, other = evaluated("clean", 0), evaluated("other", 30)
    verdict = compare([other, clean], metrics=["leak@2"]).recommendations[0]
    assert verdict.text.startswith("Use clean: in leak@2")
    assert verdict.said.endswith("Caution: other leaks, leak@2 is 0.5000 [36.8%, 63.2%].")


def test_of_many_that_leak_the_caution_names_some():
    """The best one first."""
    several = [evaluated(f"r{at}", 10 - at) for at in range(6)]
    (caution,) = compare(several, metrics=["leak@2"]).recommendations[0].cautions
    assert caution.text.startswith("r5 leaks, ")
    assert caution.text.endswith("; and 3 more")


def test_what_was_read_back_has_the_same_limits():
    """Counts say how many are open, so a report that is read has the limits of its evaluation."""
    one = RetrieverScores.of(evaluated("one", 3, n_open=4))
    row = {
        "retriever": "one",
        "match": one.match,
        "settings": {**one.settings, "dataset": dict(one.settings["dataset"])},
        "counts": one.counts,
        "mean": one.means,
        "bounds": one.bounds,
        "queries": {
            name: {
                metric: None if np.isnan(own[at]) else own[at] for metric, own in one.values.items()
            }
            for at, name in enumerate(one.query_ids)
        },
    }
    read = RetrieverScores.read(row, {})
    column, again = (Column.of(scores, "leak@2", None) for scores in (one, read))
    assert again.n_open == 4
    assert again.doubt == pytest.approx(column.doubt)


def test_the_interval_of_a_share_that_is_open_is_that_of_the_evaluation():
    """What is not known may be clean, so it puts the lower end lower, and never higher."""
    one, two = (evaluated(name, 3, n_open=7, metrics=("leaked@2",)) for name in ("one", "two"))
    mean = compare([one, two]).overall.means["one"]["leaked@2"]
    assert (mean.low, mean.high) == pytest.approx(one.intervals["leaked@2"])


@pytest.mark.parametrize("n_open", [0, 3])
def test_a_gate_looks_at_the_upper_limit(n_open):
    """It passes where the limit of known and unknown is below, and says it rounded up."""
    comparison = compare([evaluated("one", 0, n_open=n_open)])
    limit = upper(n_open, N)
    gates = parse_gates({"leak@2": [f"surely < {limit + 1e-6}", f"surely < {limit - 1e-6}"]}, [])
    passing, failing = check_gates(gates, [comparison])
    assert (passing.passed, failing.passed) == (True, False)
    assert passing.value == pytest.approx(limit)


def test_what_is_not_known_is_sure_by_its_weight():
    """Three open questions that are asked most are no surer to a gate than to the interval."""
    queries = (replace(query, weight=1 + 9 * (at >= N - 3)) for at, query in enumerate(DATASET))
    dataset = replace(DATASET, queries=tuple(queries))
    for leaks, n_open in ((0, 0), (0, 3), (2, 3)):
        comparison = compare([evaluated("one", leaks, n_open=n_open, dataset=dataset)])
        mean = comparison.overall.means["one"]["leak@2"]
        assert (mean.sure_low, mean.sure_high) == pytest.approx((mean.low, mean.high))
    assert mean.sure_high > 30 / 87  # the share of the open ones, which may all leak


def test_bounds_of_leaks_are_no_missing_judgements():
    """What is not known is said of leaks, and the verdict does not speak of judgements."""
    one, other = evaluated("one", 0, n_open=30), evaluated("other", 1)
    comparison = compare([one, other], metrics=["leak@2"])
    assert "judgements" not in comparison.recommendations[0].said
    table = comparison.means_table([one, other])
    assert "leaks from a to b: if none, and if all of what is not known leaks" in table.note
    assert "judgements" not in table.note


def plain_gate(comparison, condition: str):
    """What becomes of a gate without `surely`, of the retriever that is no baseline if any."""
    (*_, result) = check_gates(parse_gates({"leak@2": condition}, []), [comparison])
    return result


def test_a_plain_gate_goes_by_the_worst():
    """Of 30 questions 25 are not known, and 5 are clean: every unknown one may leak."""
    one = evaluated("one", 0, n_open=25, could=30)
    result = plain_gate(compare([one]), "< 0.1")
    assert (result.passed, result.value) == (False, pytest.approx(25 / 30))
    assert result.said == "0.8333 at worst, as 25 of 30 questions are not known"
    assert plain_gate(compare([one]), "< 0.84").passed
    assert not plain_gate(compare([one]), "> 0").passed


def test_no_worse_goes_by_the_worst_of_both():
    """What is not known leaks in the retriever, and does not in the baseline."""
    clean, one = evaluated("clean", 0), evaluated("one", 0, n_open=25, could=30)
    worse = plain_gate(compare([clean, one]), "no worse than baseline by 0.1")
    assert (worse.passed, worse.value) == (False, pytest.approx(25 / 30))
    assert worse.said.startswith("+0.8333 against ")
    some = evaluated("some", 3, n_open=0, could=30)
    against_open = plain_gate(compare([one, some]), "no worse than baseline by 0.05")
    assert (against_open.passed, against_open.value) == (False, pytest.approx(0.1))
    surely = plain_gate(compare([clean, one]), "surely no worse than baseline by 0.1")
    assert not surely.passed
    assert surely.value >= 25 / 30
    (difference,) = compare([clean, one], metrics=["leak@2"]).overall.differences
    assert (difference.value, difference.p, difference.verdict) == (None, None, "untested")


def test_of_a_slice_a_plain_gate_goes_by_its_own_worst():
    """Four of the last 30 questions are not known, and none of the first."""
    comparison = compare([evaluated("one", 1, n_open=4)], slices=["metadata.half"])
    gates = parse_gates({"slices": {"metadata.half": {"last": {"leak@2": "< 0.13"}}}}, [])
    (last,) = check_gates(gates, [comparison])
    assert (last.passed, last.value) == (False, pytest.approx(4 / 30))


def test_nobody_is_best_while_another_may_be():
    """The third of these leaks for no question that is known, and so may leak least."""
    three = [evaluated("few", 1), evaluated("many", 30), evaluated("open", 0, n_open=20)]
    comparison = compare(three, metrics=["leak@2"])
    assert comparison.overall.standing("leak@2", "few") == ""
    assert comparison.recommendations[0].kind == "no_winner"
    assert compare(three[:2], metrics=["leak@2"]).overall.standing("leak@2", "few") == "★"


def test_what_is_not_all_known_has_a_range_and_no_mean():
    """9 questions leak and 21 are not known: from .3 to 1, and no mean that looks certain."""
    one = evaluated("one", 9, n_open=21, could=30)
    comparison = compare([one, evaluated("other", 1)])
    assert one.mean["leak@2"] is None
    assert one.bounds["leak@2"] == pytest.approx((0.3, 1.0))
    assert one.mean_cell("leak@2") == "0.3000 to 1.0000"
    mean = comparison.overall.means["one"]["leak@2"]
    assert (mean.value, mean.low, mean.high) == (None, pytest.approx(beta.ppf(0.025, 9, 22)), 1.0)
    assert mean.text == "0.3000 to 1.0000 (at least 14.7%)"
    verdict = compare([one, evaluated("other", 1)], metrics=["leak@2"]).recommendations[0]
    assert verdict.text.startswith("leak@2 is not known for every question, so it does not say")
    (caution, *_) = comparison.recommendations[0].cautions
    assert "one leaks, leak@2 is 0.3000 to 1.0000" in caution.text
    assert comparison.to_dict()["overall"]["means"]["one"]["leak@2"]["value"] is None
