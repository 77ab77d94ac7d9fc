"""Leaks compared: lower is better, limits are exact, and what is not known widens them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, compare, evaluate
from kragx.comparison import Results, RetrieverScores, check_gates
from kragx.comparison.best_first import best_first
from kragx.comparison.comparison import Settings
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


def evaluated(name: str, leaks: int, *, n_open: int = 0, could: int = N, metrics=("leak@2",)):
    """A retriever that leaks at rank 1 for the first questions, and is not known for the last."""
    run = Run({f"q{at}": Retrieved((Doc(f"d{at}"), Doc("x"))) for at in range(N)}, name=name)
    return leaking(
        evaluate(DATASET, run, match="id", metrics=["recall@2"]),
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
    assert (mean.n, mean.value) == (46, pytest.approx(3 / 46))
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
        assert 0 <= leaked.low <= leaked.value <= leaked.high


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
    assert read.n_open("leak@2") == 4
    assert read.doubt("leak@2") == pytest.approx(one.doubt("leak@2"))


@pytest.mark.parametrize("n_open", [0, 3])
def test_a_gate_looks_at_the_upper_limit(n_open):
    """It passes where the limit of known and unknown is below, and says it rounded up."""
    comparison = compare([evaluated("one", 0, n_open=n_open)])
    limit = upper(n_open, N)
    gates = parse_gates({"leak@2": [f"surely < {limit + 1e-6}", f"surely < {limit - 1e-6}"]}, [])
    passing, failing = check_gates(gates, [comparison])
    assert (passing.passed, failing.passed) == (True, False)
    assert passing.value == pytest.approx(limit)


def test_bounds_of_leaks_are_no_missing_judgements():
    """What is not known is said of leaks, and the verdict does not speak of judgements."""
    one, other = evaluated("one", 0, n_open=30), evaluated("other", 1)
    comparison = compare([one, other], metrics=["leak@2"])
    assert "judgements" not in comparison.recommendations[0].said
    table = comparison.means_table([one, other])
    assert "(a to b) of leaks: with none and with all of what is not known" in table.note
    assert "judgements" not in table.note
