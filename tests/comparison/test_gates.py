"""Gates: read from YAML, held against numbers, and what they say when they fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kragx import UsageError, compare
from kragx.api.evaluations import Evaluations
from kragx.app.pytest import assert_gates
from kragx.comparison import (
    Change,
    RetrieverScores,
    Settings,
    check_gates,
    compare_scores,
    failed,
    gate_problems,
    gates_parts,
    parse_gates,
)
from tests.thoroughness import all_cases

from .support import evaluation, gold_set

GOLD = gold_set(40, query_type=lambda i: "lookup" if i < 30 else "why", easy=lambda i: i % 2 == 0)
# mrr@10: 1.0, 0.75 (queries in turns 1 and 0.5) and 0.5
RUNS = [
    evaluation(GOLD, "good", lambda i: 1),
    evaluation(GOLD, "fair", lambda i: 1 if i % 2 == 0 else 2),
    evaluation(GOLD, "half", lambda i: 2),
]
COMPARED = compare(RUNS, baseline="fair", slices=["query_type", "metadata.easy"])


def parsed(gates):
    """The gates, which must hold no mistake."""
    problems = []
    found = parse_gates(gates, problems)
    assert problems == []
    return found


def passed(gates, comparison=COMPARED, earlier=()):
    """For each result (retriever, whether it passed)."""
    return {
        (each.retriever, each.where): each.passed
        for each in check_gates(parsed(gates), [comparison], earlier)
    }


@all_cases(
    ("condition", "expected"),
    [
        (">= 0.75", "TTF"),
        ("> 0.75", "TFF"),
        ("<= 0.75", "FTT"),
        ("< .75", "FFT"),
        (">=7.5e-1", "TTF"),
        ("surely >= 0.75", "TFF"),
        ("surely >= 0.5", "TTF"),
        ("surely >= 0.45", "TTT"),
        ("surely <= 0.75", "FFT"),
        ("No worse than the baseline", "TF"),
        ("no worse than baseline by 0.25", "TT"),
        ("no worse than baseline by 0.2499", "TF"),
        ("no worse than baseline by more than 0.25", "TT"),
        ("surely no worse than baseline by 0.25", "TF"),
        ("surely no worse than baseline by 0.4", "TT"),
        ([">= 0.5", "<= 0.75"], "FTT"),
    ],
)
def test_conditions(condition, expected):
    """Each form holds for the retrievers that it should; the baseline is not held to itself."""
    results = check_gates(parsed({"mrr@10": condition}), [COMPARED])
    names = ["good", "fair", "half"] if len(expected) == 3 else ["good", "half"]
    found = {name: all(r.passed for r in results if r.retriever == name) for name in names}
    assert {each.retriever for each in results} == set(names)
    assert "".join("FT"[found[name]] for name in names) == expected


def test_less_is_better():
    """For times, no worse means not longer."""
    metrics = ["mrr@10", "p95_seconds", "seconds_mean"]
    seconds = {"a": lambda i: 0.1, "b": lambda i: 0.3}
    pair = [
        evaluation(GOLD, name, lambda i: 1, metrics=metrics, seconds=seconds[name]) for name in "ab"
    ]
    found = compare(pair)
    for gate, expected in (
        ("no worse than baseline by 0.1", False),
        ("no worse than baseline by 0.21", True),
    ):
        for metric in ("p95_seconds", "seconds_mean"):
            assert passed({metric: gate}, found) == {("b", ""): expected}
    assert passed({"p95_seconds": "< 0.2"}, found) == {("a", ""): True, ("b", ""): False}


def test_percentiles_within_a_slice():
    """A percentile is taken of the slice's own queries; a throughput has none there, and fails."""
    slow = evaluation(
        GOLD,
        "a",
        lambda i: 1,
        metrics=["p95_seconds", "throughput"],
        seconds=lambda i: 0.1 if i < 30 else 0.9,
    )
    found = compare([slow], slices=["query_type"])

    def holds(value, gate):
        return passed({"slices": {"query_type": {value: gate}}}, found)

    assert holds("lookup", {"p95_seconds": "< 0.5"}) == {("a", "query_type = lookup"): True}
    assert holds("why", {"p95_seconds": "< 0.5"}) == {("a", "query_type = why"): False}
    assert holds("why", {"throughput": "> 0"}) == {("a", "query_type = why"): False}


def test_the_grade_of_a_pool_need_not_be_said():
    """In a pool mrr@10 is computed as mrr@10(rel=2); a gate names what the config asked for."""
    graded = evaluation(GOLD, "a", lambda i: 2, metrics=["mrr@10(rel=1)", "ndcg@5"])
    assert passed({"mrr@10": ">= 0.5"}, compare([graded])) == {("a", ""): True}
    assert passed({"mrr@10": ">= 0.6"}, compare([graded])) == {("a", ""): False}
    both = evaluation(GOLD, "a", lambda i: 2, metrics=["mrr@10(rel=1)", "mrr@10(rel=0.5)"])
    with pytest.raises(UsageError, match=r"gates.mrr@10: mrr@10 is not computed; add it"):
        check_gates(parsed({"mrr@10": ">= 0.5"}), [compare([both])])


def test_blocks_in_each_other():
    """Retrievers, slices and matchers narrow what a gate concerns, in any order."""
    gates = {
        "retrievers": {"half": {"mrr@10": ">= 0.6"}},
        "slices": {
            "query_type": {"why": {"retrievers": {"fair": {"mrr@10": ">= 0.8"}}}},
            "metadata.easy": {True: {"mrr@10": ">= 1"}},
        },
        "matchers": {"id": {"retrievers": {"good": {"recall@10": ">= 1"}}}},
    }
    assert passed(gates) == {
        ("half", ""): False,
        ("fair", "query_type = why"): False,
        ("good", "metadata.easy = true"): True,
        ("fair", "metadata.easy = true"): True,
        ("half", "metadata.easy = true"): False,
        ("good", ""): True,
    }


def test_other_matchers_are_not_concerned():
    """A gate under one matcher is not held against another; an unknown one is an error."""
    with pytest.raises(UsageError, match=r"gates.matchers.ide.mrr@10: no matcher 'ide'.*'id'"):
        check_gates(parsed({"matchers": {"ide": {"mrr@10": ">= 1"}}}), [COMPARED])


def test_what_is_not_there_does_not_pass():
    """A slice value that no query has, and a metric without a value, fail and say why."""
    (nope, *_) = check_gates(
        parsed({"slices": {"query_type": {"lookupp": {"mrr@10": ">= 0"}}}}), [COMPARED]
    )
    assert not nope.passed
    assert nope.said == "no query has the value 'lookupp'; perhaps you meant 'lookup'?"
    nothing = evaluation(GOLD, "x", lambda i: None, metrics=["redundancy@5"])
    (none,) = check_gates(parsed({"redundancy@5": "<= 1"}), [compare([nothing])])
    assert (none.passed, none.value) == (False, None)
    assert "no value" in none.said


def test_surely_needs_an_interval():
    """Of a run's own number it is refused; nor is it sure of equal times, which nothing bounds."""
    for metric in ("seconds_p95", "throughput"):
        timed = evaluation(GOLD, "x", lambda i: 1, metrics=[metric], seconds=lambda i: i / 100)
        refusal = rf"surely is not offered for {metric}, .* without an interval; write '< 9'"
        with pytest.raises(UsageError, match=refusal):
            check_gates(parsed({metric: "surely < 9"}), [compare([timed])])
    timed = evaluation(GOLD, "x", lambda i: 1, metrics=["seconds_mean"], seconds=lambda i: 1.0)
    (found,) = check_gates(parsed({"seconds_mean": "surely < 9"}), [compare([timed])])
    assert not found.passed
    assert "no interval" in found.said
    varied = evaluation(GOLD, "x", lambda i: 1, metrics=["seconds_mean"], seconds=lambda i: i / 40)
    (found,) = check_gates(parsed({"seconds_mean": "surely < 0.7"}), [compare([varied])])
    assert found.passed


def hits(n, missed=0, name="x", metrics=("hit_rate@10", "mrr@10")):
    """An evaluation of n questions, the first few of which it misses."""
    return evaluation(gold_set(n), name, lambda i: None if i < missed else 1, metrics=metrics)


@all_cases(
    ("n", "missed", "condition", "passes"),
    [
        (2, 0, "surely >= 0.99", False),
        (2, 0, "surely >= 0.2", False),
        (20, 0, "surely >= 0.95", False),
        (72, 0, "surely >= 0.95", False),
        (73, 0, "surely >= 0.95", True),
        (73, 0, "surely > 0.95", True),
        (73, 1, "surely >= 0.95", False),
        (200, 3, "surely >= 0.95", True),
        (200, 4, "surely >= 0.95", False),
        (200, 0, "surely >= 1", False),
        (20, 20, "surely <= 0.05", False),
        (73, 73, "surely <= 0.05", True),
    ],
)
def test_surely_is_passed_by_evidence(n, missed, condition, passes):
    """All hits, of few questions, are no evidence; of 73 they are for .95. All misses likewise.

    MRR whose values are all 0 or 1 is a hit rate, and judged as one.
    """
    results = check_gates(
        parsed({"hit_rate@10": condition, "mrr@10": condition}), [compare([hits(n, missed)])]
    )
    assert [result.passed for result in results] == [passes, passes]


def test_what_surely_says():
    """The mean, what is sure, of how many; and of too few questions, how many can decide."""
    gates = parsed({"hit_rate@10": "surely >= 0.95"})
    (few,) = check_gates(gates, [compare([hits(20)])])
    assert few.said == (
        "1.0000, surely at least 0.8316 (n = 20); cannot be decided with 20 questions: even "
        "1.0000 on each would only be surely at least 0.8316; 73 questions can"
    )
    (many,) = check_gates(gates, [compare([hits(80)])])
    assert (many.passed, many.said) == (True, "1.0000, surely at least 0.9542 (n = 80)")
    assert many.value == pytest.approx(80 / 83.8415, abs=1e-6)
    (never,) = check_gates(parsed({"hit_rate@10": "surely > 1"}), [compare([hits(80)])])
    assert "cannot be decided with any number of questions: 1.0000 is the best" in never.said
    (missed,) = check_gates(gates, [compare([hits(80, 40)])])
    assert missed.said.startswith("0.5000, surely at least 0.3")
    assert "cannot be decided" not in missed.said


def test_surely_no_worse_of_equal_retrievers():
    """Equal at each of 188 questions is not surely within .02, at each of 189 it is."""
    for n, passes in ((2, False), (188, False), (189, True)):
        pair = compare([hits(n, name="a"), hits(n, name="b")])
        (result,) = check_gates(parsed({"mrr@10": "surely no worse than baseline by 0.02"}), [pair])
        assert result.passed == passes
    (few,) = check_gates(
        parsed({"mrr@10": "surely no worse than baseline by 0.02"}),
        [compare([hits(50, name="a"), hits(50, name="b")])],
    )
    assert few.said == (
        "+0.0000 against baseline, surely at least -0.0713 (n = 50); cannot be decided with 50 "
        "questions unless it is better: even no difference on any would only be surely at least "
        "-0.0713; 189 questions can"
    )
    (bare,) = check_gates(
        parsed({"mrr@10": "surely no worse than baseline"}),
        [compare([hits(50, name="a"), hits(50, name="b")])],
    )
    assert bare.said.endswith("any number of questions unless it is better; leave room: 'by 0.02'")


def test_what_fails_by_its_mean_is_not_said_to_be_undecidable():
    """A loss beyond what is allowed fails, and more questions like these would not change that."""
    (lost,) = check_gates(
        parsed({"mrr@10": "surely no worse than baseline by 0.02"}),
        [compare([hits(50, name="a"), hits(50, 25, name="b")])],
    )
    assert not lost.passed
    assert lost.said.startswith("-0.5000 against baseline, surely at least -0.")
    assert "cannot be decided" not in lost.said


def test_a_better_one_of_few_questions_is_surely_no_worse():
    """Where it is better at most questions, fewer than for equal ones will do."""
    pair = compare([hits(20, 20, name="a"), hits(20, 2, name="b")])
    (result,) = check_gates(parsed({"mrr@10": "surely no worse than baseline by 0.02"}), [pair])
    assert result.passed


def test_missing_judgements_are_no_evidence():
    """What missing judgements may become is taken at its worst, for means and differences."""
    pair = [RetrieverScores.of(hits(200, name=name)) for name in "ab"]
    gates = parsed(
        {"mrr@10": ["surely >= 0.95", "surely no worse than baseline by 0.02"], "hit_rate@10": ">0"}
    )
    judged = replace(pair[1], bounds={"mrr@10": (0.9, 1.0)})
    sure = check_gates(gates, [compare_scores(pair, Settings())])
    assert all(result.passed for result in sure)
    unsure = check_gates(gates, [compare_scores([pair[0], judged], Settings())])
    assert [result.said.partition(" (n")[0] for result in unsure if not result.passed] == [
        "1.0000, surely at least 0.8812",
        "+0.0000 against baseline, surely at least -0.1188",
    ]
    # Of the baseline it is what it may gain: it may then be ahead.
    (worse,) = check_gates(
        parsed({"mrr@10": "surely no worse than baseline by 0.02"}),
        [compare_scores([replace(pair[0], bounds={"mrr@10": (1.0, 1.1)}), pair[1]], Settings())],
    )
    assert worse.value == pytest.approx(-3.8415 / 203.8415 - 0.1, abs=1e-6)


def test_a_point_estimate_is_said_to_be_one():
    """`no worse than` without `surely` says so, where it fails and where it passes."""
    gates = parsed({"mrr@10": "no worse than baseline by 0.3", "recall@10": ">= 1"})
    results = check_gates(gates, [COMPARED])
    assert {result.said for result in results if "baseline" in result.condition} == {
        "+0.2500 against baseline (point estimate)",
        "-0.2500 against baseline (point estimate)",
    }
    assert [line.text for line in gates_parts(results)] == ["gates: all 5 passed"]
    without = check_gates(parsed({"recall@10": ">= 1"}), [COMPARED])
    assert [line.text for line in gates_parts(without)] == ["gates: all 3 passed"]
    assert [line.text for line in gates_parts(without[:1])] == ["gates: passed"]


def test_earlier_results():
    """`no worse than earlier` looks at the same retriever before; a new one passes."""
    before = Change("fair", compare({"earlier": RUNS[0], "now": RUNS[1]}), (), (), 0, 0)
    found = check_gates(parsed({"mrr@10": "no worse than earlier by 0.1"}), [COMPARED], [before])
    assert {each.retriever: each.passed for each in found} == {
        "good": True,
        "fair": False,
        "half": True,
    }
    assert {each.said for each in found} == {
        "-0.2500 against earlier (point estimate)",
        "new: not in earlier",
    }
    (named,) = check_gates(
        parsed({"retrievers": {"good": {"mrr@10": "no worse than earlier"}}}),
        [COMPARED],
        [before],
    )
    assert not named.passed
    with pytest.raises(UsageError, match="--earlier FOLDER"):
        check_gates(parsed({"mrr@10": "no worse than earlier"}), [COMPARED])


@all_cases(
    ("gates", "message"),
    [
        ([">= 1"], "gates: a mapping from metric to condition is expected"),
        ({"mrr@10": 0.75}, "gates.mrr@10: 0.75 is no condition; write '>= 0.75'"),
        ({"mrr@10": "=> 0.75"}, "gates.mrr@10: '=> 0.75' is no condition"),
        ({"mrr@10": []}, "gates.mrr@10: [] is no condition; write '>= 0.75'"),
        ({"mrr@10": "no worse than baseline by -1"}, "is no condition"),
        ({"mrr@10": ">= nan"}, "is no condition"),
        ({"mmr@10": ">= 1"}, "gates.mmr@10: metric 'mmr@10': unknown name 'mmr'; perhaps you me"),
        ({"p95_secnods": "< 1"}, "perhaps you meant 'p95_seconds'?"),
        ({"retriever": {"a": {}}}, "perhaps you meant 'retrievers'?"),
        ({"good": {"mrr@10": ">= 1"}}, "stand as retrievers: {NAME: {METRIC: CONDITION}}"),
        ({"mrr@10": {"good": ">= 1"}}, "gates.mrr@10: a condition is expected, not a mapping"),
        ({"retrievers": ["a"]}, "gates.retrievers: a mapping from name to gates is expected"),
        ({"slices": {"easy": ">= 1"}}, "gates.slices.easy: a mapping from a value"),
    ],
)
def test_mistakes(gates, message):
    """A mistake is told with its path and what to write."""
    problems = []
    parse_gates(gates, problems)
    assert len(problems) == 1
    assert message in problems[0]


def test_what_will_not_be_there():
    """Names that the run will not have are told before it, each with the nearest."""
    gates = parsed(
        {
            "mrr@5": ">= 1",
            "redundancy@5": "no worse than baseline",
            "judged@5": "no worse than baseline",
            "retrievers": {"goood": {"mrr@10": ">= 1"}},
            "slices": {"query_typ": {"x": {"mrr@10": ">= 1"}}},
            "matchers": {"loos": {"mrr@10": ">= 1"}},
        }
    )
    found = list(
        gate_problems(
            gates,
            metrics=["mrr@10", "redundancy@5", "judged@5"],
            retrievers=["good", "fair"],
            matchers=["loose"],
            slices=["query_type"],
            baseline=None,
        )
    )
    assert found == [
        "gates.mrr@5: mrr@5 is not computed; add it to 'metrics'; perhaps you meant 'mrr@10'?",
        "gates.redundancy@5: 'no worse than baseline' needs one; name a retriever: baseline: good",
        "gates.judged@5: judged@5 has no direction, so nothing is worse",
        "gates.judged@5: 'no worse than baseline' needs one; name a retriever: baseline: good",
        "gates.retrievers.goood.mrr@10: no retriever 'goood'; perhaps you meant 'good'?",
        "gates.slices.query_typ.x.mrr@10: 'query_typ' is not among the slices; add it to "
        "'slices'; perhaps you meant 'query_type'?",
        "gates.matchers.loos.mrr@10: no matcher 'loos'; perhaps you meant 'loose'?",
    ]


def test_the_baseline_is_not_held_to_itself():
    """A gate that could never fail is a mistake, not a gate that passes."""
    named = parsed({"retrievers": {"fair": {"mrr@10": "no worse than baseline"}}})
    with pytest.raises(UsageError, match="'fair' is the baseline, which is not held to itself"):
        check_gates(named, [COMPARED])

    def problems(gates, retrievers):
        return list(
            gate_problems(
                gates,
                metrics=["mrr@10"],
                retrievers=retrievers,
                matchers=["id"],
                slices=[],
                baseline="fair",
            )
        )

    assert problems(named, ["fair", "good"]) == [
        "gates.retrievers.fair.mrr@10: 'fair' is the baseline, which is not held to itself"
    ]
    every = parsed({"mrr@10": "no worse than baseline"})
    assert problems(every, ["fair", "good"]) == []
    assert problems(every, ["fair"]) == [
        "gates.mrr@10: 'fair' is the baseline, which is not held to itself"
    ]


def test_assert_gates():
    """The pytest helper raises with a line for each gate that fails, and returns all of them."""
    assert len(assert_gates(COMPARED, {"recall@10": ">= 1"})) == 3
    with pytest.raises(AssertionError) as raised:
        assert_gates(COMPARED, {"mrr@10": ">= 0.8", "recall@10": ">= 1"})
    assert str(raised.value).splitlines() == [
        "2 of 6 gates failed",
        "mrr@10 >= 0.8: fair (id): 0.7500",
        "mrr@10 >= 0.8: half (id): 0.5000",
    ]
    assert_gates(RUNS[0], {"mrr@10": ">= 1"})
    # As they were compared, whatever `compare` would make of them alone.
    several = Evaluations.of(RUNS[1:], baseline="half")
    (outcome,) = assert_gates(several, {"mrr@10": "no worse than baseline"})
    assert (outcome.retriever, outcome.value) == ("fair", 0.25)


@all_cases(
    ("results", "gates", "message"),
    [
        (COMPARED, None, "a comparison has none"),
        (COMPARED, {}, "gates: none is given"),
        (RUNS[0], {"mrr@10": "good"}, "gates.mrr@10: 'good' is no condition"),
        (Evaluations.of(RUNS), None, "a comparison has none"),
        (RUNS[0], {"mrr@5": ">= 1"}, "gates.mrr@5: mrr@5 is not computed"),
        (3, {"mrr@5": ">= 1"}, "results: int is none; pass a config file"),
    ],
)
def test_assert_gates_with_wrong_arguments(results, gates, message):
    """Nothing to hold, or nothing to hold it against, is an error and no pass."""
    with pytest.raises(UsageError) as raised:
        assert_gates(results, gates)
    assert message in str(raised.value)


def test_nothing_is_registered_into_pytest():
    """The distribution has no entry point that pytest would load."""
    from importlib.metadata import entry_points

    assert not [e for e in entry_points(group="pytest11") if e.value.startswith("kragx")]


def test_to_dict():
    """A result as plain values says what was asked, of whom, and what was found."""
    (only,) = failed(
        check_gates(parsed({"slices": {"query_type": {"why": {"mrr@10": ">= 0.6"}}}}), [COMPARED])
    )
    assert only.to_dict() == {
        "path": "gates.slices.query_type.why.mrr@10",
        "metric": "mrr@10",
        "condition": ">= 0.6",
        "match": "id",
        "retriever": "half",
        "slice": {"field": "query_type", "value": "why"},
        "value": 0.5,
        "passed": False,
        "said": "0.5000",
    }
