"""What a judge's grades are worth: by hand, against peers, and in simulated data."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import Run
from kragx.agreement import Labels, Scale, calibrate_grades
from kragx.agreement.calibrated_means import JudgedDocuments, calibrated_means
from kragx.agreement.grade_probabilities import isotonic
from kragx.agreement.scoring import as_gold, scored_by
from kragx.errors import DataError, UsageError
from kragx.judging.examples import is_held_out
from kragx.judging.votes import decided
from tests.agreement.simulation import CUTS, JUDGES, PANELS, graded, graded_by, probability_coverage
from tests.thoroughness import examples

values = st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=8)


@examples(200)
@given(values)
def test_isotonic(pairs):
    """The greatest least mean: max over starts of the min over ends of the mean between."""
    x, w = map(np.array, zip(*pairs))

    def mean(first, last):
        return (x[first : last + 1] * w[first : last + 1]).sum() / w[first : last + 1].sum()

    slow = [
        max(min(mean(i, j) for j in range(at, len(x))) for i in range(at + 1))
        for at in range(len(x))
    ]
    assert isotonic(x, w) == pytest.approx(slow)


@examples(50)
@given(values)
def test_isotonic_as_scikit_learn(pairs):
    """The same as scikit-learn's."""
    peer = pytest.importorskip("sklearn.isotonic")
    x, w = map(np.array, zip(*pairs))
    own = peer.IsotonicRegression().fit_transform(np.arange(len(x)), x, sample_weight=w)
    assert isotonic(x, w) == pytest.approx(own, abs=1e-9)


def labelled(n=40, n_labelled=20):
    """Two documents a query; of those graded 3 first, 15 of 20 are relevant; of those graded 0, 2.

    In the queries that people have not labelled the judge gave both documents 3.
    """
    judge = {f"q{i}": {"a": 3, "b": 0 if i < n_labelled else 3} for i in range(n)}
    human = {f"q{i}": {"a": 2 * (i < 15), "b": 3 * (i < 2)} for i in range(n_labelled)}
    run = Run.from_documents({query: [{"id": "a"}, {"id": "b"}] for query in judge}, name="mine")
    return human, judge, run


def test_by_hand():
    """P(3) = 15 / 20 and P(0) = 2 / 20; the mean is (20 (.75 + .1) + 20 (1.5)) / 80."""
    human, judge, run = labelled()
    result = calibrate_grades(human, judge, [run], metrics=["precision@2(rel=2)"])
    assert [(own.grade, own.n, own.n_relevant) for own in result.levels] == [
        (0, 20, 2),
        (3, 20, 15),
    ]
    assert result.probability(3) == pytest.approx(0.75)
    assert result.probability(1.5) == pytest.approx((0.75 + 0.1) / 2)
    mean = result["mine"]["precision@2(rel=2)"]
    assert mean.value == pytest.approx(0.5875)
    assert mean.plain == pytest.approx(0.75)
    assert mean.interval[0] < 0.5875 < mean.interval[1]
    assert (mean.n_pairs, mean.n_labelled, mean.n_queries) == (40, 20, 40)


def test_variance_by_hand():
    """A query's part: how far its value is from the mean, and its labels from their shares."""
    people, judge = graded(np.random.default_rng(4), 60, "lenient", 2)
    label = np.where(np.arange(60)[:, None] < 30, people, np.nan)
    names = {f"q{i}": [{"id": "0"}, {"id": "1"}] for i in range(60)}
    everything = Labels({(query, str(at)): 0.0 for query in names for at in range(2)})
    evaluation = scored_by(
        as_gold(everything, Scale(0, 3), list(names)),
        Run.from_documents(names),
        ["precision@2(rel=2)"],
    )
    judge = np.where(judge >= 2, 3, 0)
    (spec,) = evaluation.specs
    documents = JudgedDocuments(
        evaluation, judge.ravel().astype(float), label.ravel(), Scale(0, 3), 0.95
    )
    mean = documents.precision(spec)
    y, known = people[:30] >= 2, judge[:30]
    share = {grade: y[known == grade].mean() for grade in (0, 3)}
    assert mean.value == pytest.approx(np.vectorize(share.get)(judge).mean())
    count = {grade: (known == grade).sum() for grade in (0, 3)}
    weight = {grade: (judge == grade).sum() / judge.size for grade in (0, 3)}
    own = np.array([np.mean([share[g] for g in row]) - mean.value for row in judge]) / 60
    by_labels = np.zeros(60)
    for query in range(30):
        for at in range(2):
            grade = judge[query, at]
            by_labels[query] += weight[grade] / count[grade] * (y[query, at] - share[grade])
    variance = 60 / 59 * ((own + (30 / 28) ** 0.5 * by_labels) ** 2).sum()
    width = mean.interval[1] - mean.interval[0]
    assert width == pytest.approx(2 * 2.03 * variance**0.5, rel=0.08)  # t of 30 to 60


def test_only_labels_within_the_cut():
    """Documents below the cut say nothing of it: a first document graded 0 is another one."""
    human, judge, run = labelled(n_labelled=40, n=40)
    deeper = {query: {**docs, "c": 3} for query, docs in human.items()}
    judge = {query: {**docs, "c": 0} for query, docs in judge.items()}
    long = Run.from_documents(
        {query: [{"id": name} for name in "abc"] for query in judge}, name="mine"
    )
    plain = calibrate_grades(human, judge, [run], metrics=["precision@2(rel=2)"])
    more = calibrate_grades(deeper, judge, [long], metrics=["precision@2(rel=2)"])
    assert more["mine"]["precision@2(rel=2)"].value == plain["mine"]["precision@2(rel=2)"].value


def test_what_the_judge_has_not_graded():
    """It is a grade of its own: what people say of it counts, and not a 0."""
    human, judge, run = labelled()
    for query, docs in judge.items():
        if int(query[1:]) >= 20 or int(query[1:]) < 10:
            del docs["b"]
    human |= {f"q{i}": {"a": 0, "b": 3} for i in range(10)}
    result = calibrate_grades(human, judge, [run], metrics=["precision@2(rel=2)"])
    mean = result["mine"]["precision@2(rel=2)"]
    # Graded 3: 40, of 20 labelled 5 relevant; graded 0: 10, none; no grade: 30, of 10 labelled all.
    assert mean.value == pytest.approx((40 * 5 / 20 + 0 + 30) / 80)


def test_metrics_of_order_need_whole_queries():
    """Of single pairs precision has a value, MRR has none, and it is said what to do."""
    human, judge, run = labelled(n=80, n_labelled=40)
    parts = {
        query: {"ab"[int(query[1:]) % 2]: docs["ab"[int(query[1:]) % 2]]}
        for query, docs in human.items()
    }
    metrics = ["precision@2(rel=2)", "mrr@2(rel=2)"]
    result = calibrate_grades(parts, judge, [run], metrics=metrics)
    assert result["mine"]["precision@2(rel=2)"].value is not None
    assert result["mine"]["mrr@2(rel=2)"].value is None
    assert "mrr@2(rel=2): documents of a query resemble each other" in " ".join(result.notes)
    assert "--queries 30" in " ".join(result.notes)
    whole = calibrate_grades(human, judge, [run], metrics=metrics)["mine"]["mrr@2(rel=2)"]
    assert whole.interval[0] < whole.value < whole.interval[1]


def test_a_query_s_own_labels_are_not_in_its_value():
    """Cross-prediction: other labels of a fold change no drawn value of that fold's queries."""
    people, judge = graded(np.random.default_rng(1), 60, "lenient")
    names = {f"q{i}": [{"id": str(at)} for at in range(5)] for i in range(60)}
    everything = Labels({(query, str(at)): 0.0 for query in names for at in range(5)})
    evaluation = scored_by(
        as_gold(everything, Scale(0, 3), list(names)), Run.from_documents(names), ["mrr@5(rel=2)"]
    )
    label = np.where(np.arange(60)[:, None] < 30, people, np.nan)
    documents = JudgedDocuments(
        evaluation, judge.ravel().astype(float), label.ravel(), Scale(0, 3), 0.95
    )
    known = np.arange(60) < 30

    def drawn(labels):
        own = replace(documents, label=labels.ravel())
        return own.drawn(evaluation.specs, known, 5, 0)[0]

    before = drawn(label)
    for query in range(0, 30, 7):
        other = label.copy()
        other[query] = 3 - other[query]
        after = drawn(other)
        assert after[query] == before[query]
        assert (after[known] != before[known]).any()
        assert (after[~known] != before[~known]).any()


@pytest.mark.parametrize("grade", [0, 3])
def test_a_judge_that_says_one_thing(grade):
    """There is no cut, it is said, and the mean is that of people alone."""
    human, judge, run = labelled()
    alike = {query: dict.fromkeys(docs, grade) for query, docs in judge.items()}
    result = calibrate_grades(human, alike, [run], metrics=["precision@2(rel=2)"])
    assert (result.cut, result.cuts) == (None, ())
    assert f"gave every labelled pair the grade {grade}" in " ".join(result.notes)
    assert result["mine"]["precision@2(rel=2)"].value == pytest.approx(17 / 40)
    assert result.skill.value <= 0.01


@pytest.mark.integration
def test_a_judge_that_guesses_is_not_to_be_trusted():
    """Skill and kappa that may be chance are said to be."""
    rng = np.random.default_rng(7)
    people, judge = graded(rng, 40, "guessing")
    human, machine = (
        {f"q{i}": dict(enumerate(map(int, row))) for i, row in enumerate(side)}
        for side in (people, judge)
    )
    result = calibrate_grades(human, machine)
    assert result.skill.low <= 0
    assert "do not trust this judge" in " ".join(result.notes)
    people, judge = graded(rng, 40, "lenient")
    machine = {f"q{i}": dict(enumerate(map(int, row))) for i, row in enumerate(judge)}
    human = {f"q{i}": dict(enumerate(map(int, row))) for i, row in enumerate(people)}
    good = calibrate_grades(human, machine)
    assert good.skill.low > 0.2
    assert good.cut == 3  # 2 is too lenient
    assert not good.notes


def test_the_usual_cut_stays_unless_another_is_surely_better():
    """Of cuts that cannot be told apart, 2 is taken."""
    rng = np.random.default_rng(2)
    people, judge = graded(rng, 12, "noisy")
    human, machine = (
        {f"q{i}": dict(enumerate(map(int, row))) for i, row in enumerate(side)}
        for side in (people, judge)
    )
    result = calibrate_grades(human, machine)
    assert len([own for own in result.cuts if own.tied]) > 1
    assert result.cut == 2
    assert result.levels[0].probability is None  # 12 queries are too few for probabilities
    assert "too few labels for probabilities" in result.notes[0]


def test_the_command(kragx, here, qrels, tmp_path):
    """The table, JSON, and what it refuses."""
    human, judge, _ = labelled()
    qrels("human.qrels", human)
    qrels("judge.qrels", judge)
    lines = [f"q{i} Q0 {doc} 0 {-at} mine\n" for i in range(40) for at, doc in enumerate("ab")]
    (tmp_path / "mine.run").write_text("".join(lines))
    command = ("judge", "calibrate", "human.qrels", "judge.qrels")
    done = kragx(*command, "--runs", "mine.run", "-m", "precision@2", "-m", "precision@2(rel=2)")
    assert done.code == 0, done.err
    out = " ".join(done.out.split())
    assert "40 labelled pairs of 20 queries; a label of 2 or more is relevant" in out
    assert "match: {method: llm, threshold: 3}" in out
    assert "0.5875" in out
    assert "precision@2 counts labels of 1 or more as relevant" in out
    plain = json.loads(kragx(*command, "--runs", "mine.run", "--format", "json").out)
    assert plain["levels"][1]["probability"] == 0.75
    assert plain["systems"]["mine"]["precision@10(rel=2)"]["value"] == pytest.approx(0.5875 / 5)
    assert kragx(*command, "-m", "precision@2").code == 2
    settings = {"design": "stratified", "asks": "relevance"}
    item = {"query_id": "q", "document_id": "d", "query": "?", "document": "."}
    sample = tmp_path / "human.qrels.sample.jsonl"
    sample.write_text(f"{json.dumps({'sample': settings})}\n{json.dumps(item)}\n")
    refused = kragx(*command, "--runs", "mine.run")
    assert refused.code == 3
    assert "--simple, or --queries 30" in refused.err
    done = kragx(*command)
    assert done.code == 0
    assert "a stratified sample" in done.out


def test_refusals():
    """All relevant, no common pair, a label that is none: each is refused."""
    human, judge, run = labelled()
    with pytest.raises(DataError, match="every pair is labelled relevant"):
        calibrate_grades({q: dict.fromkeys(docs, 3) for q, docs in human.items()}, judge)
    with pytest.raises(DataError, match="no pair has a label from both sides"):
        calibrate_grades({"other": {"x": 1, "y": 0}}, judge)
    with pytest.raises(UsageError, match="relevant: 4 is no label"):
        calibrate_grades(human, judge, relevant=4)
    with pytest.raises(UsageError, match="cut it"):
        calibrate_grades(human, judge, [run], metrics=["precision"])


def test_labels_from_1_to_5():
    """Relevant is 3 or more, which metrics call rel=2, and a reader is told."""
    human, judge, run = labelled()
    up = {query: {doc: grade + 1 for doc, grade in docs.items()} for query, docs in human.items()}
    machine = {
        query: {doc: grade + 1 for doc, grade in docs.items()} for query, docs in judge.items()
    }
    result = calibrate_grades(up, machine, [run], scale="1-5", metrics=["precision@2(rel=2)"])
    assert result.relevant == 3
    assert result["mine"]["precision@2(rel=2)"].value == pytest.approx(0.5875)
    assert "count as grades 0 to 4" in " ".join(result.notes)


def test_each_mean_equals_the_metric_where_people_say_what_the_judge_says():
    """Probabilities of 0 and 1 give precision itself: cut lists, repeats, missing queries."""
    judge = {f"q{i}": {"a": 3, "b": 0, "c": 3} for i in range(30)}
    lists = {f"q{i}": [{"id": name} for name in ("a", "a", "b", "c")] for i in range(28)}
    run = Run.from_documents({**lists, "q28": [{"id": "c"}]}, name="mine")
    for metric in ("precision@3(rel=2)", "precision@3(over=retrieved, rel=2)", "precision@10"):
        people, machine = (
            Labels({(q, d): float(g) for q, docs in judge.items() for d, g in docs.items()})
            for _ in range(2)
        )
        means = calibrated_means(
            people, machine, Scale(0, 3), run, [metric], folds=5, confidence=0.95, seed=0
        )
        (mean,) = means.values()
        assert mean.value == pytest.approx(mean.plain)


def test_a_query_of_which_nothing_is_left():
    """Nothing found, and the judge's grades off the scale: it counts as 0, as in the plain mean."""
    people = {f"q{i}": {"a": 3 * (i % 2), "b": 0} for i in range(30)}
    run = Run.from_documents({q: [{"id": "a"}, {"id": "b"}] for q in people}, name="mine")
    metrics = ["precision@2(rel=1)", "mrr@2(rel=1)"]
    result = calibrate_grades(people, people | {"off": {"a": 7}}, [run], metrics=metrics)
    for mean, share in zip(result["mine"].values(), (0.25, 0.5), strict=True):
        assert mean.n_queries == 31
        assert mean.plain == pytest.approx(share * 30 / 31)
        assert mean.value == pytest.approx(mean.plain, abs=0.02)


@pytest.mark.parametrize(
    ("panel", "nearer"), [("lenient, strict, noisy", 0.05), ("lenient three times", -0.01)]
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
@pytest.mark.parametrize("design", ["queries", "random"])
@pytest.mark.parametrize("kind", [*JUDGES, *PANELS])
def test_precision_by_probabilities_covers(kind, design):
    """Of 2,000 runs 93 to 97 of 100 hold the truth; the mean is nearer to it than the judge's."""
    n = {"queries": 30, "random": 100}[design]
    held, mean, plain, truth = probability_coverage(
        kind, n, 180, "precision@5(rel=2)", design=design
    )
    # That a perfect judge errs nowhere cannot be known from 100 pairs: that much wider it is.
    assert 0.93 <= held <= (0.98 if (kind, design) == ("perfect", "random") else 0.97)
    assert abs(mean - truth) <= max(abs(plain - truth), 0.003)
    assert abs(mean - truth) < 0.003


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["lenient", "lenient, strict, noisy"])
def test_mrr_by_probabilities_covers(kind):
    """The same of a metric of order, which rests on whole queries."""
    held, mean, plain, truth = probability_coverage(kind, 30, 180, "mrr@5(rel=2)")
    assert 0.93 <= held <= 0.97
    assert abs(mean - truth) <= max(abs(plain - truth), 0.005)


def test_examples_do_not_judge_themselves():
    """Of a judge that was shown labels only the half counts whose labels are never examples."""
    people, judge = graded(np.random.default_rng(3), 80, "lenient")
    human, machine = (
        {
            f"q{i}": {f"d{at}": int(grade) for at, grade in enumerate(row)}
            for i, row in enumerate(side)
        }
        for side in (people, judge)
    )
    whole = calibrate_grades(human, machine)
    half = calibrate_grades(human, machine, held_out=True)
    assert whole.n_queries == 80
    assert half.n_queries == sum(map(is_held_out, human)) < 60
    assert half.settings["held_out"] is True
    assert "held-out" in str(half)
