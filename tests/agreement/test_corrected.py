"""Prediction-powered means: by hand, and whether their intervals cover with the query as unit."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kragx import Gold, GoldDataset, Query, Retrieved, Run
from kragx.agreement import LEAST_QUERIES, correct, prediction_powered
from kragx.errors import DataError, UsageError
from kragx.judging import Judge, Question
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.examples import Example, Examples, is_held_out
from kragx.judging.question import decided
from kragx.judging.rubric import RUBRICS
from kragx.metrics.intervals import student_t
from tests.agreement.simulation import (
    CUTS,
    EASY,
    EXPECTED,
    HARD,
    JUDGES,
    PANELS,
    correction_coverage,
    difference_coverage,
    grade_coverage,
    graded_by,
    pair_coverage,
)


def test_by_hand():
    """The judge is 1 too high throughout: 4.5 - 1, and as sure as the human spread of all six."""
    human, judge, rest = (np.array(values, float) for values in ([1, 2, 3], [2, 3, 4], [5, 6, 7]))
    found = prediction_powered(human, judge, rest)
    assert (found.plain, found.human, found.weight) == (4.5, 2, pytest.approx(1))
    assert found.value == pytest.approx(3.5)
    margin = 4.302653 * (1 / 6) ** 0.5  # var(y) = 1 of 6 units
    assert found.interval == pytest.approx((3.5 - margin, 3.5 + margin), rel=1e-6)


def test_weights_by_hand():
    """A question asked six times that came for sure, and three of others by a chance of 1/2."""
    found = prediction_powered(
        np.array([1.0, 0, 1, 0]),
        np.array([0.5, 0.5, 0.5, 0.5]),
        np.array([0.5, 0.5, 0.5]),
        weights=np.array([6.0, 1, 1, 1, 1, 1, 1]),
        chances=np.array([1.0, 0.5, 0.5, 0.5]),
    )
    assert found.value == found.human == pytest.approx((6 + 2) / 12)
    shares, chances = np.array([6, 2, 2, 2]) / 12, np.array([1, 0.5, 0.5, 0.5])
    apart = (np.array([1, 0, 1, 0]) - 2 / 3) / (1 - shares)
    drawn = (shares**2 * (1 - chances)) @ apart**2
    whole = (shares**2 * chances) @ apart**2
    margin = 4.302653 * ((drawn + whole) * 3 / 4) ** 0.5  # Kish: 144 / 48 = 3 of equal weight
    assert found.interval == pytest.approx((2 / 3 - margin, 2 / 3 + margin), rel=1e-6)


def slow(human, judge, rest, weights, chances):
    """The estimate and its variance, each labelled unit left out by a loop."""
    everything, n = [*judge, *rest], len(human)
    w = [weight / sum(weights) for weight in weights]
    v = [weight / chance for weight, chance in zip(weights[:n], chances)]
    v = [share / sum(v) for share in v]
    plain = sum(weight * value for weight, value in zip(w, everything))
    terms, left_out = [], []
    for out in range(n):
        others = [row for row in range(n) if row != out]
        total = sum(v[row] for row in others)
        y = sum(v[row] * human[row] for row in others) / total
        f = sum(v[row] * judge[row] for row in others) / total
        both = sum(v[row] * (human[row] - y) * (judge[row] - f) for row in others) / total
        spread = sum(v[row] * (judge[row] - f) ** 2 for row in others) / total
        part = min(1, max(0, both / spread)) if spread > 1e-9 and len(rest) else 0
        terms.append(v[out] * (human[out] + part * (plain - judge[out])))
        left_out.append(y + part * (plain - f))
    middle = sum((1 - share) * value for share, value in zip(v, left_out)) / (n - 1)
    mean = sum(share * value for share, value in zip(v, human))
    drawn = sum((1 - chance) * (middle - value) ** 2 for chance, value in zip(chances, left_out))
    whole = sum(
        chance * ((value - mean) * share / (1 - share)) ** 2
        for share, chance, value in zip(v, chances, human)
    )
    return sum(terms), (drawn + whole) * (n - 1) / n


tenths = st.integers(0, 10).map(lambda tenth: tenth / 10)


@st.composite
def samples(draw):
    """Values of 4 to 9 labelled units and up to 6 others, with weights and chances."""
    n, n_rest = draw(st.integers(4, 9)), draw(st.integers(0, 6))
    lists = [st.lists(tenths, min_size=size, max_size=size) for size in (n, n, n_rest)]
    weight = st.integers(1, 9).map(float)
    weights = st.lists(weight, min_size=n + n_rest, max_size=n + n_rest)
    chances = st.lists(st.integers(1, 10).map(lambda c: c / 10), min_size=n, max_size=n)
    return [np.array(draw(one)) for one in (*lists, weights, chances)]


@given(samples())
@settings(deadline=None)
def test_against_loops(sample):
    """Estimate and margin are those of leaving out by hand, whatever the weights and chances."""
    human, judge, rest, weights, chances = sample
    found = prediction_powered(human, judge, rest, weights=weights, chances=chances)
    value, variance = slow(*(one.tolist() for one in sample))
    assert found.value == pytest.approx(value)
    if found.interval is not None:
        shares = weights[: len(human)] / chances
        kish = shares.sum() ** 2 / (shares**2).sum()
        reach = student_t(0.975, max(1, int(kish + 1e-9) - 1))
        half = (found.interval[1] - found.interval[0]) / 2
        assert half == pytest.approx(reach * variance**0.5, abs=1e-9)


@given(samples(), st.sampled_from([1.0, 3.0, 0.7]))
@settings(deadline=None)
def test_equal_weights_are_none(sample, weight):
    """Where all weights are alike and all chances, the numbers are those without."""
    human, judge, rest, weights, _ = sample
    plain = prediction_powered(human, judge, rest, bounds=(0, 1))
    chance = np.full(len(human), len(human) / len(weights))
    alike = prediction_powered(
        human, judge, rest, bounds=(0, 1), weights=np.full(len(weights), weight), chances=chance
    )
    assert alike.value == pytest.approx(plain.value)
    assert alike.interval == (plain.interval and pytest.approx(plain.interval, abs=1e-9))


def test_wrong_weights():
    """Weights of another number, chances of 0, and nothing that weighs anything are refused."""
    four = np.array([0, 0.5, 1, 0.5])
    for options in (
        {"weights": np.ones(5)},
        {"weights": np.zeros(6)},
        {"chances": np.zeros(4)},
        {"chances": np.full(4, 1.5)},
        {"chances": np.ones(3)},
    ):
        with pytest.raises(UsageError, match="weights of 6 units"):
            prediction_powered(four, four, np.ones(2), **options)
    with pytest.raises(UsageError, match="at least 3"):
        prediction_powered(four, four, np.ones(2), weights=np.array([1.0, 1, 0, 0, 1, 1]))


def test_nothing_to_learn_from():
    """Without other queries, or of a judge that says one thing, the human mean is what is left."""
    human = np.array([0, 0.5, 1, 0.5])
    for judge, rest in ((human, np.array([])), (np.full(4, 0.7), np.full(9, 0.7))):
        found = prediction_powered(human, judge, rest)
        assert (found.value, found.weight) == (0.5, 0)
        assert found.interval == found.human_interval


def test_a_perfect_judge_narrows_the_interval():
    """Where people and judge agree the interval is that of all queries."""
    rng = np.random.default_rng(0)
    values = rng.random(400)
    found = prediction_powered(values[:40], values[:40], values[40:])
    widths = [ends[1] - ends[0] for ends in (found.interval, found.human_interval)]
    assert widths[0] < 0.45 * widths[1]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("metric", "ease"),
    [
        ("precision@10", EASY),
        ("hit rate@3", EASY),
        ("hit rate@3", HARD),
        ("MRR", EASY),
        ("MRR", HARD),
    ],
)
def test_intervals_cover(metric, ease):
    """With 30 of 180 queries labelled, 93 to 97 of 100 hold the truth; the judge's own do not."""
    share = correction_coverage(30, 180, metric, ease, count=2_000)
    assert 0.93 <= share["corrected"] <= 0.97
    assert 0.93 <= share["people"] <= 0.98
    assert share["judge"] < 0.6


@pytest.mark.integration
@pytest.mark.parametrize("coverage", [grade_coverage, difference_coverage])
@pytest.mark.parametrize("kind", [*JUDGES, *PANELS, EXPECTED])
def test_intervals_cover_by_each_judge(kind, coverage):
    """With 50 of 300 queries labelled, 92 to 98 of 100 hold the truth, and 94 to 96 on average.

    So it is for each metric and each judge, however biased: what is estimated is the truth, where
    the judge's own mean is not.
    """
    shares = []
    for held, mean, plain, truth in coverage(kind, 50, 300).values():
        assert 0.92 <= held <= 0.98
        assert abs(mean - truth) <= 0.01
        if kind in ("lenient", "strict") and coverage is grade_coverage:
            assert abs(plain - truth) > 0.05
        shares.append(held)
    assert 0.94 <= np.mean(shares) <= 0.96


@pytest.mark.parametrize(
    ("panel", "nearer"),
    [("median of lenient, strict, noisy", 0.05), ("median of three lenient", -0.01)],
)
def test_a_panel_moves_the_metric_towards_the_truth(panel, nearer):
    """Where its judges' errors differ; one that all of them share stays."""
    rng = np.random.default_rng(5)
    latent = rng.normal(0.4, 1.3, (4_000, 5))
    truth = (np.searchsorted(CUTS, latent) >= 2).mean()
    votes = np.array([graded_by(rng, latent, kind) for kind in PANELS[panel]])
    median = np.sort(votes, axis=0)[1]
    rows = votes.reshape(3, -1).T[:200]
    assert [decided(row.tolist(), "median") for row in rows] == median.ravel()[:200].tolist()
    alone = np.mean([abs((own >= 2).mean() - truth) for own in votes])
    together = abs((median >= 2).mean() - truth)
    assert alone - together > nearer


@pytest.mark.integration
def test_pair_level_intervals_do_not():
    """With pairs as units, the same estimate's interval misses it far too often."""
    assert pair_coverage(30, 180, count=2_500) < 0.9


def test_between_bounds_by_hand():
    """Without the judge's help it is Wilson's by t: 4 values as good as 16/3, t of 3 is 3.1824."""
    human = np.array([0, 0.5, 1, 0.5])
    found = prediction_powered(human, np.full(4, 0.7), np.full(9, 0.7), bounds=(0, 1))
    wider = 3.182446**2 / (16 / 3)
    margin = (wider / 4 + wider**2 / 4) ** 0.5 / (1 + wider)
    assert found.interval == pytest.approx((0.5 - margin, 0.5 + margin), abs=1e-6)
    assert found.human_interval == found.interval


def files(n_queries=60, n_labelled=25, depth=5):
    """People's labels of some queries, the judge's of all, and a run."""
    rng = np.random.default_rng(3)
    human, judge, lists = {}, {}, {}
    for query in (f"q{at}" for at in range(n_queries)):
        grades = rng.integers(0, 4, depth)
        lists[query] = [{"id": f"d{at}"} for at in range(depth)]
        judge[query] = {
            f"d{at}": int(min(3, g + rng.integers(0, 2))) for at, g in enumerate(grades)
        }
        if len(human) < n_labelled:
            human[query] = {f"d{at}": int(grade) for at, grade in enumerate(grades)}
    return human, judge, Run.from_documents(lists, name="mine")


def test_from_labels():
    """Means of the metrics by label, with plain, corrected and human side by side."""
    human, judge, run = files()
    found = correct(human, judge, [run], metrics=["precision@5(rel=2)"])["mine"]
    each = found["precision@5(rel=2)"]
    assert (each.n_labelled, each.n_queries) == (25, 60)
    plain = np.mean([sum(g >= 2 for g in docs.values()) / 5 for docs in judge.values()])
    people = np.mean([sum(g >= 2 for g in docs.values()) / 5 for docs in human.values()])
    assert each.plain == pytest.approx(plain)
    assert each.human == pytest.approx(people)
    by_judge = [
        sum(g >= 2 for g in docs.values()) / 5 for query, docs in judge.items() if query in human
    ]
    assert each.value == pytest.approx(people + each.weight * (plain - np.mean(by_judge)), abs=0.01)
    assert 0 < each.weight <= 1


def test_partly_labelled_queries_are_left_out():
    """A query counts as labelled only if people labelled all that the metric looks at."""
    human, judge, run = files()
    del human["q0"]["d4"]
    found = correct(human, judge, [run], metrics=["ndcg@5"])
    assert "q0" not in found.systems["mine"].labelled
    assert found.systems["mine"].n_partly_labelled == 1
    assert "q0" in correct(human, judge, [run], metrics=["ndcg@4"]).systems["mine"].labelled


def test_what_is_left_out_is_counted():
    """Queries that only people have labels for, or that the judge has none for, are in no mean."""
    human, judge, run = files()
    human["unasked"] = {"d0": 3}
    del judge["q59"], judge["q58"]["d0"]
    found = correct(human, judge, [run], metrics=["precision@5"])
    assert found.systems["mine"].n_unscored == 1
    assert found.systems["mine"].judged == pytest.approx((58 + 4 / 5) / 59)
    assert found["mine"]["precision@5"].n_queries == 59


def test_results_that_lack_questions():
    """What a system's results lack, or it failed on, counts as an empty list, and is said."""
    human, judge, run = files()
    lists = dict(run.results)
    for at in range(30, 60):
        del lists[f"q{at}"]
    lists["q29"] = Retrieved(error="TimeoutError: no answer")
    half = replace(run, results=lists, name="half")
    found = correct(human, judge, [run, half], metrics=["precision@5"])
    counts = [(system.n_missing, system.n_failed) for system in found.systems.values()]
    assert counts == [(0, 0), (30, 1)]
    remark = "half: judged queries that its results lack: 30, or failed on: 1 (scored as empty"
    assert remark in str(found)
    assert "mine: judged queries" not in str(found)


def test_labels_off_the_scale(capsys):
    """What people's labels do not reach is not used, counted, and the remedy is named."""
    human, judge, run = files()
    low = {
        query: {doc: min(grade, 1) for doc, grade in docs.items()} for query, docs in human.items()
    }
    found = correct(low, judge, [run], metrics=["precision@5"])
    off = sum(grade > 1 for docs in judge.values() for grade in docs.values())
    assert found.n_out_of_scale == found.to_dict()["n_out_of_scale"] == off > 0
    found.print()
    out = " ".join(capsys.readouterr().out.split())
    assert f"not used: {off} labels; the scale, 0 to 1, was taken from the human labels" in out
    assert correct(low, judge, [run], metrics=["precision@5"], scale="0-3").n_out_of_scale == 0


def test_no_interval_without_width():
    """Where people's values are all the same, and not 0 or 1, there is none."""
    human, judge, run = files()
    alike = {query: {doc: 3 * (doc == "d0") for doc in docs} for query, docs in human.items()}
    found = correct(alike, judge, [run], metrics=["precision@5(rel=2)"], scale="0-3")
    each = found["mine"]["precision@5(rel=2)"]
    assert (each.interval, each.human_interval) == (None, None)
    every = {query: dict.fromkeys(docs, 3) for query, docs in human.items()}
    hits = correct(every, judge, [run], metrics=["precision@5(rel=2)"], scale="0-3")
    assert hits["mine"]["precision@5(rel=2)"].interval == pytest.approx((0.8544, 1), abs=1e-4)
    assert found.to_dict()["systems"]["mine"]["metrics"]["precision@5(rel=2)"]["interval"] is None
    tenths = np.full(30, 0.1)
    tenths[::2] = 0.3 - 0.2
    assert prediction_powered(tenths, np.full(30, 0.5), np.array([])).interval is None


def test_ends_lie_between_0_and_1():
    """Every metric does, so the ends of its interval do."""
    human, judge, run = files()
    nearly = {query: dict.fromkeys(docs, 3) for query, docs in human.items()}
    nearly["q0"]["d0"] = 0
    each = correct(nearly, judge, [run], metrics=["precision@5"])["mine"]["precision@5"]
    assert each.interval[0] < each.value < each.interval[1] <= 1


def test_too_few_are_refused():
    """Below the stated number there is no correction, whatever the data."""
    human, judge, run = files(n_labelled=LEAST_QUERIES - 1)
    with pytest.raises(DataError, match=f"labelled 19 queries .* at least {LEAST_QUERIES}"):
        correct(human, judge, [run], metrics=["ndcg@5"])
    assert correct(human, judge, [run], metrics=["ndcg@5"], least=10)["mine"]["ndcg@5"].n_labelled


def test_refusals():
    """No cut, no system, a least number of two: each is refused with the remedy."""
    human, judge, run = files()
    with pytest.raises(UsageError, match="cut it, for example ndcg@10"):
        correct(human, judge, [run], metrics=["ndcg"])
    with pytest.raises(UsageError, match="at least one"):
        correct(human, judge, [])
    with pytest.raises(UsageError, match="least: 2"):
        correct(human, judge, [run], least=2)
    with pytest.raises(UsageError, match="same name"):
        correct(human, judge, [run, run])
    with pytest.raises(UsageError, match="not made of labels"):
        correct(human, judge, [run], metrics=["ndcg@5", "judged@5"])


def test_differences_of_systems():
    """Of each metric what a system has beyond the first, over the queries labelled for both."""
    human, judge, run = files()
    lists = {
        query: [{"id": doc.id} for doc in reversed(result.documents)]
        for query, result in run.results.items()
    }
    back = Run.from_documents(lists, name="back")
    found = correct(human, judge, [run, back], metrics=["ndcg@5", "precision@3"])
    assert found.systems["mine"].differences is None
    apart = found.systems["back"].differences["ndcg@5"]
    first, other = (found[name]["ndcg@5"] for name in ("mine", "back"))
    assert apart.plain == pytest.approx(other.plain - first.plain)
    assert apart.human == pytest.approx(other.human - first.human)
    assert apart.interval[0] < apart.value < apart.interval[1]
    # Paired: as sure as the differences of queries are, not as two means.
    alike = correct(human, judge, [run, replace(run, name="again")], metrics=["ndcg@5"])
    none = alike.systems["again"].differences["ndcg@5"]
    assert (none.value, none.interval) == (0, None)
    assert "minus mine" in str(found)
    assert found.to_dict()["systems"]["back"]["differences"]["ndcg@5"]["value"] == apart.value


def test_no_difference_of_systems_that_are_labelled_apart():
    """Of too few queries labelled for both there is none, and it is said."""
    human, judge, run = files()
    halves = [
        Run.from_documents(
            {
                query: [{"id": "x" if int(query[1:]) in unlabelled else "d0"}]
                for query in run.results
            },
            name=name,
        )
        for name, unlabelled in (("one", range(10)), ("two", range(15, 25)))
    ]
    found = correct(human, judge, halves, metrics=["precision@1"], least=10)
    assert found.systems["two"].differences is None
    assert "two and one: no difference, as 5 queries are labelled for both" in found.notes


def test_grades_between_labels():
    """Expected grades and the means of panels are the judge's as well; of people they are not."""
    human, judge, run = files()
    between = {
        query: {doc: min(3, grade + 0.4) for doc, grade in docs.items()}
        for query, docs in judge.items()
    }
    found = correct(human, between, [run], metrics=["ndcg@5"])
    assert found.n_out_of_scale == 0
    whole = correct(human, judge, [run], metrics=["ndcg@5"])
    assert found["mine"]["ndcg@5"].plain != whole["mine"]["ndcg@5"].plain
    assert found["mine"]["ndcg@5"].human == whole["mine"]["ndcg@5"].human
    human["q0"]["d0"] = 1.5
    assert correct(human, between, [run], metrics=["ndcg@5"]).n_out_of_scale == 1


def test_few_are_said_to_be_rough():
    """Below 50 labelled queries; from there on nothing is said."""
    for n, said in ((49, True), (50, False)):
        human, judge, run = files(n_queries=80, n_labelled=n)
        assert (
            "intervals are rough" in str(correct(human, judge, [run], metrics=["ndcg@5"]))
        ) is said


def sampled(qrels, tmp_path, human, **settings):
    """The path of people's labels, with a sample of `kragx judge label` beside them."""
    qrels("human.qrels", human)
    item = {"query_id": "q", "document_id": "d", "query": "?", "document": "."}
    sample = tmp_path / "human.qrels.sample.jsonl"
    sample.write_text(f"{json.dumps({'sample': settings})}\n{json.dumps(item)}\n")
    return tmp_path / "human.qrels"


def test_a_stratified_sample_needs_chances(qrels, tmp_path):
    """What was drawn by strata is no random part of the queries; chances are of whole ones."""
    human, judge, run = files()
    path = sampled(qrels, tmp_path, human, design="stratified", asks="relevance")
    with pytest.raises(DataError, match="a stratified sample"):
        correct(path, judge, [run])
    chances = {query: 0.9 if int(query[1:]) < 10 else 0.3 for query in human}
    path = sampled(qrels, tmp_path, human, design="queries", chances=chances)
    mean = correct(path, judge, [run], metrics=["precision@5(rel=2)"])["mine"]["precision@5(rel=2)"]
    values = [sum(grade >= 2 for grade in human[query].values()) / 5 for query in human]
    shares = [1 / chances[query] for query in human]
    assert mean.human == pytest.approx(np.average(values, weights=shares))
    path = sampled(qrels, tmp_path, human, design="queries", chances={**chances, "q0": 2})
    with pytest.raises(DataError, match="'q0': people's labels have a greater chance"):
        correct(path, judge, [run])
    del chances["q3"]
    path = sampled(qrels, tmp_path, human, design="queries", chances=chances)
    with pytest.raises(DataError, match="'q3': nothing says"):
        correct(path, judge, [run])


def traffic_of(judge, inclusion=None):
    """The judged questions: every third is asked nine times."""
    return GoldDataset(
        tuple(
            Query(
                query,
                weight=9.0 if int(query[1:]) % 3 == 0 else 1.0,
                inclusion=(inclusion or {}).get(query, 1.0),
            )
            for query in judge
        ),
        name="traffic",
    )


def test_questions_that_stand_for_many_asks(capsys):
    """Means count each question by its asks, and the first line says of how many and by whom."""
    human, judge, run = files()
    traffic = traffic_of(judge)
    found = correct(human, judge, [run], metrics=["precision@5(rel=2)"], questions=traffic)
    mean = found["mine"]["precision@5(rel=2)"]
    values = [sum(grade >= 2 for grade in docs.values()) / 5 for docs in judge.values()]
    assert mean.plain == pytest.approx(np.average(values, weights=traffic.weights))
    assert found.to_dict()["settings"]["asks"] == 20 * 9 + 40
    found.print()
    out = " ".join(capsys.readouterr().out.split())
    assert f"mine: precision@5(rel=2) is {mean.value:.4f} [" in out
    assert "over 220 asks, by people's labels of 25 questions and the judge's of 60" in out
    less = GoldDataset(tuple(query for query in traffic if query.id != "q7"), name="less")
    with pytest.raises(DataError, match="'q7': nothing says"):
        correct(human, judge, [run], questions=less)


def test_the_sample_knows_the_asks(qrels, tmp_path):
    """Labels drawn by asks give means of asks without a file of questions, and it is said."""
    human, judge, run = files()
    weights = dict(zip(judge, map(float, traffic_of(judge).weights)))
    chances = {query: min(1, weights[query] / 10) for query in human}
    how = {"design": "queries", "chances": chances}
    path = sampled(qrels, tmp_path, human, **how, weights=weights)
    metrics = ["precision@5(rel=2)"]
    found = correct(path, judge, [run], metrics=metrics)
    named = correct(path, judge, [run], metrics=metrics, questions=traffic_of(judge))
    assert found["mine"] == named["mine"]
    assert found.settings["asks"] == 220
    assert "as the sample" not in str(named)


def test_folded_questions_mean_what_unfolded_do():
    """Nine copies of a question and one with weight 9 give the same means."""
    human, judge, run = files(n_queries=30, n_labelled=30)
    traffic = traffic_of(judge)
    copies = {f"{q.id}-{at}": q.id for q in traffic for at in range(int(q.weight))}
    unfolded = [{copy: side[query] for copy, query in copies.items()} for side in (human, judge)]
    lists = {copy: run.results[query].documents for copy, query in copies.items()}
    long = Run.from_documents(lists, name="mine")
    metrics = ["precision@5(rel=2)", "mrr@5(rel=2)"]
    one = correct(human, judge, [run], metrics=metrics, questions=traffic)["mine"]
    many = correct(*unfolded, [long], metrics=metrics)["mine"]
    for metric in metrics:
        assert one[metric].value == pytest.approx(many[metric].value)
        assert one[metric].plain == pytest.approx(many[metric].plain)
        assert (one[metric].n_labelled, many[metric].n_labelled) == (30, 110)


def test_people_have_a_gold_set_of_what_was_drawn():
    """Its ``inclusion`` is the chance, over that of the judged questions."""
    human, judge, run = files()
    chances = {query: 0.8 if int(query[1:]) % 3 == 0 else 0.2 for query in human}
    people = GoldDataset(
        tuple(
            Query(
                query,
                gold=tuple(Gold(id=doc, grade=grade) for doc, grade in docs.items()),
                inclusion=chances[query],
            )
            for query, docs in human.items()
        ),
        name="people",
    )
    metrics = ["precision@5(rel=2)"]
    found = correct(people, judge, [run], metrics=metrics, scale="0-3", questions=traffic_of(judge))
    values = [sum(grade >= 2 for grade in docs.values()) / 5 for docs in human.values()]
    shares = [(9 if int(q[1:]) % 3 == 0 else 1) / chances[q] for q in human]
    mean = found["mine"]["precision@5(rel=2)"]
    assert mean.human == pytest.approx(np.average(values, weights=shares))
    alike = correct(
        people, judge, [run], metrics=metrics, scale="0-3", questions=traffic_of(judge, chances)
    )
    weights = [traffic_of(judge, chances).weights[int(q[1:])] for q in human]
    assert alike["mine"][metrics[0]].human == pytest.approx(np.average(values, weights=weights))


def test_a_judge_that_was_shown_labels(store):
    """Only questions whose labels it never sees correct it: the others flatter it."""
    human, grades, run = files(n_queries=90, n_labelled=60)
    rubric = RUBRICS["relevance-en-1"]
    questions = [
        Question(
            rubric, f"{query} {doc} .", query=f"about {query}", query_id=query, document_id=doc
        )
        for query, docs in grades.items()
        for doc in docs
    ]

    def reply(request):
        query, doc = re.findall(r"(q\d+) (d\d+) \.", request.messages[-1][1])[-1]
        return grades[query][doc]

    shown = [
        Example(f"text {query}", docs["d0"], query=f"about {query}", query_id=query)
        for query, docs in human.items()
    ]
    judge = Judge(ScriptedClient(reply), store=store, progress=False, examples=Examples(shown))
    judge.judge(questions)
    found = correct(human, store, [run], metrics=["precision@5"])
    labelled = found.systems["mine"].labelled
    assert {*labelled} == {query for query in human if is_held_out(query)}
    assert 20 <= len(labelled) < 60
    assert found["mine"]["precision@5"].n_queries == 90
    assert "only the half that it never sees counts" in str(found)


def test_what_needs_all_gold_is_relative_to_a_pool():
    """NDCG is said to be, with a hash that follows the labels; precision is not."""
    human, judge, run = files()
    found = correct(human, judge, [run], metrics=["precision@5", "ndcg@5", "recall@5"])
    pool = found.settings["pool"]
    assert f"ndcg@5, recall@5: relative to pool {pool}" in str(found)
    human["q0"]["d0"] = 3 - human["q0"]["d0"]
    assert correct(human, judge, [run], metrics=["ndcg@5"]).settings["pool"] != pool
    assert "relative to pool" not in str(correct(human, judge, [run], metrics=["precision@5"]))
