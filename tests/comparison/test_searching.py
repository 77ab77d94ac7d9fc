"""Agents compared: what a found gold item costs each, and who brings more documents."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from kragx import Doc, GoldDataset, Run, Search, Searches, UsageError, compare, evaluate
from kragx.comparison import (
    RetrieverScores,
    check_gates,
    compare_scores,
    gate_problems,
    parse_gates,
)
from kragx.metrics.intervals import Ratio, ratio_difference_interval
from kragx.report.csv_files import means_csv, queries_csv

N = 40
GOLD = GoldDataset.from_documents(
    [[f"answer {n}"] for n in range(N)], queries=[f"question {n}" for n in range(N)]
)


def searches(n, finds, steps, *, tokens=100, docs=3):
    """So many searches of some documents, of which the last has the answer if it is found."""
    noise = [tuple(Doc(text=f"noise {n} {step} {d}") for d in range(docs)) for step in range(steps)]
    if finds:
        noise[-1] = (Doc(text=f"answer {n}"), *noise[-1][1:])
    made = (
        Search(f"try {step}", found, tokens=tokens, seconds=0.5) for step, found in enumerate(noise)
    )
    return Searches(list(made))


def run(name, finds, steps, **options):
    """A run in which question n is found if `finds(n)`."""
    return Run.from_documents(
        {f"q{n + 1}": searches(n, finds(n), steps, **options) for n in range(N)}, name=name
    )


METRICS = ["evidence_recall", "tokens_per_gold", "searches_per_gold", "tokens_to_evidence"]


def compared(metrics=METRICS, *runs):
    """Evaluations of some runs, compared."""
    return evaluate(GOLD, {each.name: each for each in runs}, metrics=metrics, match="exact")


KEEN = run("keen", lambda n: n % 10 < 9, 4)  # 36 found in 160 searches, 16,000 tokens
THRIFTY = run("thrifty", lambda n: n % 10 < 4, 1)  # 16 found in 40 searches, 4,000 tokens


@cache
def both(*, keen_first=False):
    """The thrifty one and the keen one, compared."""
    return compared(METRICS, *((KEEN, THRIFTY) if keen_first else (THRIFTY, KEEN)))


def advice(results):
    """Recommendations by kind."""
    return {each.kind: each for each in results.comparison.recommendations}


def test_by_hand():
    """16,000 tokens for 36 gold items against 4,000 for 16: 444 and 250; searches 4.4, 2.5."""
    results = both(keen_first=True)
    keen, thrifty = (results.comparison.overall.means[name] for name in ("keen", "thrifty"))
    assert keen["tokens_per_gold"].value == pytest.approx(16_000 / 36)
    assert thrifty["tokens_per_gold"].value == 250
    assert keen["searches_per_gold"].value == pytest.approx(160 / 36)
    assert keen["tokens_per_gold"].low < 16_000 / 36 < keen["tokens_per_gold"].high
    assert keen["tokens_to_evidence"].value == 400
    assert thrifty["tokens_to_evidence"].value == np.inf
    text = str(results)
    assert "never" in text
    assert "[" + f"{keen['tokens_per_gold'].low:,.0f}" in text


def gate_results(condition, metric="tokens_per_gold"):
    """A gate held against two agents, of whom the thrifty one is the baseline."""
    (gate,) = parse_gates({metric: condition}, [])
    return check_gates([gate], [both().comparison])


def test_gates_on_costs_are_sure_by_their_interval():
    """Of a sum over a sum the interval's end counts, of one and of a difference."""
    comparison = both().comparison
    mean = comparison.overall.means["keen"]["tokens_per_gold"]
    difference = comparison.overall.difference("tokens_per_gold", "keen")
    for bound, passes in ((mean.high + 0.1, True), (mean.high - 0.1, False)):
        found = gate_results(f"surely <= {bound}")[1]
        assert (found.retriever, found.passed, found.value) == ("keen", passes, mean.high)
        assert "surely at most" in found.said
        assert "(n = 40)" in found.said
    for bound, passes in ((difference.high + 0.1, True), (difference.high - 0.1, False)):
        (found,) = gate_results(f"surely no worse than baseline by {bound}")
        assert (found.passed, found.value) == (passes, difference.high)
    for condition, metric, why in (
        ("surely <= 400", "tokens_to_evidence", "without an interval; write '<= 400'"),
        ("surely no worse than earlier", "tokens_per_gold", "against earlier results"),
    ):
        (gate,) = parse_gates({metric: condition}, [])
        (problem,) = gate_problems(
            [gate], metrics=METRICS, retrievers=["keen"], matchers=[], slices=[], baseline=None
        )
        assert problem.startswith(f"gates.{metric}: surely is not offered for {metric}")
        assert why in problem


def test_gates_against_never():
    """Never is no worse than never, worse than any number, and no number is worse than it."""
    lost = run("lost", lambda n: n % 10 < 3, 1)

    def result(metric, first, second, condition="no worse than baseline"):
        gates = parse_gates({metric: condition}, [])
        (found,) = check_gates(gates, [compared(METRICS, first, second).comparison])
        return found.passed, found.value, found.said

    metric = "tokens_to_evidence"
    assert result(metric, THRIFTY, lost) == (True, 0, "never, and baseline never")
    assert result(metric, THRIFTY, KEEN) == (True, None, "400, and baseline never")
    assert result(metric, KEEN, THRIFTY) == (False, None, "never, and baseline 400")
    nothing = run("nothing", lambda n: False, 1)
    assert result("tokens_per_gold", nothing, KEEN)[:2] == (True, None)
    passed, _, said = result(
        "tokens_per_gold", nothing, KEEN, "surely no worse than baseline by 10"
    )
    assert not passed
    assert said.startswith("444, and baseline never; nothing is sure of it")


def test_within_slices():
    """Of a slice the cost is that of its questions."""
    half = {f"q{n + 1}": "a" if n % 10 < 4 else "b" for n in range(N)}
    gold = GoldDataset(tuple(replace(query, query_type=half[query.id]) for query in GOLD))
    results = evaluate(gold, {"keen": KEEN, "thrifty": THRIFTY}, metrics=METRICS, match="exact")
    parts = {part.value: part for part in results.compared(slices=["query_type"]).comparison.slices}
    assert parts["a"].means["thrifty"]["tokens_per_gold"].value == 100
    assert parts["b"].means["thrifty"]["tokens_per_gold"].value == np.inf
    assert parts["b"].means["keen"]["tokens_per_gold"].value == pytest.approx(24 * 400 / 20)


def test_difference_to_the_baseline():
    """A difference of costs has an interval by questions, and no test."""
    comparison = both(keen_first=True).comparison
    (difference,) = (d for d in comparison.overall.differences if d.metric == "tokens_per_gold")
    assert difference.value == pytest.approx(250 - 16_000 / 36)
    assert difference.low < difference.value < difference.high < 0
    assert (difference.p, difference.verdict) == (None, "untested")
    never = next(d for d in comparison.overall.differences if d.metric == "tokens_to_evidence")
    assert never.value is None


def costly(name, tokens):
    """A run in which each answer is found at once, for so many tokens; None says none."""
    return Run.from_documents(
        {f"q{n + 1}": searches(n, True, 1, tokens=tokens(n)) for n in range(N)}, name=name
    )


def test_difference_over_the_questions_of_both():
    """Who counts no tokens on dear questions is no cheaper: 120 to 124 against 100 to 102."""
    base = costly("base", lambda n: 100 + n % 3 if n < 20 else 1000)
    silent = costly("silent", lambda n: 120 + n % 5 if n < 20 else None)
    gold = GoldDataset(tuple(replace(query, query_type="all") for query in GOLD))
    comparison = (
        evaluate(gold, {"base": base, "silent": silent}, metrics=METRICS, match="exact")
        .compared(slices=["query_type"])
        .comparison
    )
    for view in (comparison.overall, *comparison.slices):
        per_gold = view.difference("tokens_per_gold", "silent")
        # 7 times 100 and 101, 6 times 102; 4 times each of 120 to 124.
        assert per_gold.value == pytest.approx(122 - (700 + 707 + 612) / 20)
        assert (per_gold.n, per_gold.verdict) == (20, "untested")
        assert per_gold.low < per_gold.value < per_gold.high
        percentile = view.difference("tokens_to_evidence", "silent")
        assert (percentile.value, percentile.n) == (122 - 101, 20)
    gates = parse_gates({"tokens_per_gold": "no worse than baseline by 5"}, [])
    (result,) = check_gates(gates, [comparison])
    assert not result.passed


def test_no_question_of_both():
    """Of costs on other questions there is no difference."""
    early = costly("early", lambda n: 100 if n < 20 else None)
    late = costly("late", lambda n: 200 if n >= 20 else None)
    comparison = compared(METRICS, early, late).comparison
    for metric in ("tokens_per_gold", "tokens_to_evidence"):
        difference = comparison.overall.difference(metric, "late")
        assert (difference.value, difference.n) == (None, 0)


def test_json_and_csv():
    """Costs have their ends in both; what is infinite is null in one, and never in the other."""
    results = both(keen_first=True)
    plain = json.loads(json.dumps(results.comparison.to_dict()))
    mean = plain["overall"]["means"]["thrifty"]
    assert mean["tokens_per_gold"]["low"] < 250 < mean["tokens_per_gold"]["high"]
    assert mean["tokens_to_evidence"]["value"] is None
    evaluations = [*results.evaluations.values()]
    line, other = csv.DictReader(means_csv(evaluations, [results.comparison]).splitlines())
    assert float(line["tokens_per_gold low"]) < 16_000 / 36 < float(line["tokens_per_gold high"])
    assert (line["tokens_to_evidence"], other["tokens_to_evidence"]) == ("400.0", "never")
    queries = [*csv.DictReader(queries_csv(evaluations).splitlines())]
    assert [row["tokens_to_evidence"] for row in queries].count("never") == 4 + 24
    assert "inf" not in {cell for row in (line, other, *queries) for cell in row.values()}


def test_from_a_report():
    """Never is never in results that are read, and no slice takes what was found for all."""
    results = both(keen_first=True)
    rows = [
        {**evaluation.to_dict(queries=True), "retriever": name, "match": "exact"}
        for name, evaluation in results.evaluations.items()
    ]
    keen, thrifty = (RetrieverScores.read(json.loads(json.dumps(row)), {}) for row in rows)
    assert (keen.means["tokens_to_evidence"], thrifty.means["tokens_to_evidence"]) == (400, np.inf)
    assert np.isnan(thrifty.values["tokens_to_evidence"]).all()
    comparison = compare_scores([keen, thrifty], results.comparison.statistics)
    assert comparison.overall.means["thrifty"]["tokens_to_evidence"].number == "never"
    assert comparison.overall.means["thrifty"]["tokens_per_gold"].value == 250


# -- as many documents ----------------------------------------------------------------------------


# -- intervals ------------------------------------------------------------------------------------


def test_difference_of_ratios_by_resampling():
    """As drawing questions one by one does, within what resamples vary by."""
    rng = np.random.default_rng(5)
    tokens, found = rng.integers(50, 500, (2, 60)), rng.integers(0, 3, (2, 60))
    first, second = (Ratio(t.astype(float), f.astype(float)) for t, f in zip(tokens, found))
    low, high = ratio_difference_interval(first, second)
    sampled = []
    for _ in range(4_000):
        rows = rng.integers(0, 60, 60)
        one, other = (tokens[side, rows].sum() / found[side, rows].sum() for side in (0, 1))
        sampled.append(one - other)
    slow = np.quantile(sampled, [0.025, 0.975])
    np.testing.assert_allclose([low, high], slow, atol=0.08 * (high - low))


def test_difference_of_ratios_is_paired():
    """Of the same questions, at twice the cost, the difference is surer than of others."""
    rng = np.random.default_rng(6)
    cost, found = rng.integers(50, 500, 50).astype(float), rng.integers(0, 3, 50).astype(float)
    first = Ratio(2 * cost, found)
    paired = ratio_difference_interval(first, Ratio(cost, found))
    order = rng.permutation(50)
    apart = ratio_difference_interval(first, Ratio(cost[order], found[order]))
    assert paired[1] - paired[0] < apart[1] - apart[0]
    assert ratio_difference_interval(first, first) is None


def test_the_step_beside_the_mean():
    """Of several runs the median step is that of all answers, and not one of a mean."""
    late = run("keen", lambda n: True, 4)
    evaluation = evaluate(
        GOLD, Run.repeated([run("keen", lambda n: True, 1), late, late]), match="exact"
    )
    assert evaluation.mean_cell("first_search") == "0.5000 (median: step 4)"
    assert evaluation.with_metrics("first_search").runs[1].mean == {"first_search": 0.25}


def test_over_runs():
    """Over runs a question's tokens and found items are sums, and the runs' costs stand beside."""
    keen = Run.repeated([KEEN, run("keen", lambda n: n % 10 < 5, 2)])
    evaluation = evaluate(GOLD, keen, metrics=METRICS, match="exact")
    assert evaluation["tokens_per_gold"] == pytest.approx((16_000 + 8_000) / (36 + 20))
    assert evaluation.several_runs.mean["tokens_per_gold"] == (pytest.approx(16_000 / 36), 400)
    # Found in both runs of half of the questions, after 400 and 200 tokens: the greater of both.
    assert evaluation["tokens_to_evidence"] == 400
    assert evaluation["evidence_recall"] == pytest.approx(0.7)
    (scores,) = (s for s in evaluation.scores if str(s.spec) == "tokens_to_evidence")
    assert scores.counts["n_never"] == 20
    comparison = compare([evaluation])
    assert comparison.runs["keen"].n == 2


def apart(name, *, tokens=100, metrics=METRICS, hands_on=False):
    """Evaluated by itself: an agent that hands on a list, or not, and says its tokens, or not."""
    agent = run(
        name, lambda n: n % 10 < (4 if hands_on else 9), 1 if hands_on else 4, tokens=tokens
    )
    if hands_on:
        results = {
            query_id: replace(answer, documents=answer.searches[-1].documents, has_list=True)
            for query_id, answer in agent.results.items()
        }
        agent = replace(agent, results=results)
    return evaluate(GOLD, agent, metrics=metrics, match="exact")


PLAIN = Run.from_documents({f"q{n + 1}": [f"answer {n}"] for n in range(N)}, name="plain")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"hands_on": True}, "different lists (first and retrieved)"),
        ({"tokens": None}, "tokens of searches are known differently ("),
    ],
)
def test_agents_evaluated_apart_are_not_compared_where_searches_are_looked_at_differently(
    options, reason
):
    """Another list, or another way to know tokens: refused, and told to whoever compares anyway.

    A list alone stands first in neither's way, nor does it hide that the two others differ.
    """
    plain = evaluate(GOLD, PLAIN, metrics=["recall@3"], match="exact")
    metrics = ["recall@3", *METRICS]
    keen, other = apart("keen", metrics=metrics), apart("other", metrics=metrics, **options)
    assert "searches" not in plain.settings
    for agent in (keen, other):
        compare([plain, agent])
        compare([agent, plain])
    for results in ([keen, other], [plain, keen, other]):
        with pytest.raises(UsageError, match="'keen' and 'other' cannot be compared") as raised:
            compare(results)
        assert reason in str(raised.value)
        cautions = compare(results, anyway=True).cautions
        assert any("compared all the same" in each and reason in each for each in cautions)


def test_lists_alone_are_the_first_search_and_the_end():
    """Asked about searches, a list fits either agent, and hides no more that these differ."""
    metrics = ["recall@3", "evidence_recall"]
    plain = evaluate(GOLD, PLAIN, metrics=metrics, match="exact")
    assert plain.settings["searches"] == {"basis": "retrieved", "lists_alone": True}
    keen, other = apart("keen", metrics=metrics), apart("other", metrics=metrics, hands_on=True)
    for agent in (keen, other):
        assert "searches" in agent.settings
        compare([plain, agent])
        compare([agent, plain])
    with pytest.raises(UsageError, match="'keen' and 'other' cannot be compared"):
        compare([plain, keen, other])


def test_tokens_are_of_no_interest_where_no_metric_asks_for_them():
    """Whoever compares other metrics of both is not told of tokens."""
    metrics = ["evidence_recall"]
    results = [apart("keen", metrics=metrics), apart("other", metrics=metrics, tokens=None)]
    assert not compare(results).cautions


def advice_of(comparison):
    """The kinds of its recommendations."""
    return {each.kind for each in comparison.recommendations}
