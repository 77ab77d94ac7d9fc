"""Gates: read from YAML, held against numbers, and what they say when they fail."""

from __future__ import annotations

import pytest

from kragx import UsageError, compare
from kragx.app.pytest import assert_gates
from kragx.comparison import Change, check_gates, failed, gate_problems, parse_gates

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


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (">= 0.75", "TTF"),
        ("> 0.75", "TFF"),
        ("<= 0.75", "FTT"),
        ("< .75", "FFT"),
        (">=7.5e-1", "TTF"),
        ("surely >= 0.75", "TFF"),
        ("surely >= 0.5", "TTT"),
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
    """A run's own number has no interval, so nothing is sure of it."""
    timed = evaluation(GOLD, "x", lambda i: 1, metrics=["seconds_p95"], seconds=lambda i: i / 100)
    (found,) = check_gates(parsed({"seconds_p95": "surely < 9"}), [compare([timed])])
    assert not found.passed
    assert "no interval" in found.said


def test_earlier_results():
    """`no worse than earlier` looks at the same retriever before; a new one passes."""
    before = Change("fair", compare({"earlier": RUNS[0], "now": RUNS[1]}), (), ())
    found = check_gates(parsed({"mrr@10": "no worse than earlier by 0.1"}), [COMPARED], [before])
    assert {each.retriever: each.passed for each in found} == {
        "good": True,
        "fair": False,
        "half": True,
    }
    assert {each.said for each in found} == {"-0.2500 against earlier", "new: not in earlier"}
    (named,) = check_gates(
        parsed({"retrievers": {"good": {"mrr@10": "no worse than earlier"}}}),
        [COMPARED],
        [before],
    )
    assert not named.passed
    with pytest.raises(UsageError, match="--earlier FOLDER"):
        check_gates(parsed({"mrr@10": "no worse than earlier"}), [COMPARED])


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ([">= 1"], "gates: a mapping from metric to condition is expected"),
        ({"mrr@10": 0.75}, "gates.mrr@10: 0.75 is no condition; write '>= 0.75'"),
        ({"mrr@10": "=> 0.75"}, "gates.mrr@10: '=> 0.75' is no condition"),
        ({"mrr@10": "no worse than baseline by -1"}, "is no condition"),
        ({"mrr@10": ">= nan"}, "is no condition"),
        ({"mmr@10": ">= 1"}, "gates.mmr@10: metric 'mmr@10': unknown name 'mmr'; perhaps you me"),
        ({"p95_secnods": "< 1"}, "perhaps you meant 'p95_seconds'?"),
        ({"retriever": {"a": {}}}, "perhaps you meant 'retrievers'?"),
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
        "gates.mrr@10: there is no retriever besides the baseline 'fair'"
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


@pytest.mark.parametrize(
    ("results", "gates", "message"),
    [
        (COMPARED, None, "a comparison has none"),
        (COMPARED, {}, "gates: none is given"),
        (RUNS[0], {"mrr@10": "good"}, "gates.mrr@10: 'good' is no condition"),
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
