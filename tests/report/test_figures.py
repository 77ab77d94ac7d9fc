"""Figures: what they show, that they are the same every time, and Korean on a bare machine."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from kragx import (
    Gold,
    GoldDataset,
    Query,
    Retrieved,
    Run,
    UsageError,
    compare,
    evaluate,
    write_figures,
)
from kragx.evaluation.curves import curves, histogram, times
from kragx.evaluation.ranked_lists import gold_outcome, lists_of_run
from kragx.metrics import metric

# Not importorskip: importing the font's package would change matplotlib's settings.
pytestmark = pytest.mark.skipif(
    not (find_spec("matplotlib") and find_spec("koreanize_matplotlib")), reason="extra plot"
)


@pytest.fixture(scope="module")
def gold():
    """Ten queries with a gold text of ten words each."""
    return GoldDataset(
        tuple(
            Query(f"q{at}", gold=(Gold(text=" ".join(f"단어{at}-{n}" for n in range(10))),))
            for at in range(10)
        )
    )


def run(gold, name, skill, seconds=0.01):
    """Finds the first `skill` golds, at rank 1 + position modulo 3, in `seconds` and more."""
    results = {}
    for at, query in enumerate(gold):
        docs = ["딴 글 하나", "딴 글 둘", "딴 글 셋"]
        if at < skill:
            docs[at % 3] = query.gold[0].text
        listed = Run.from_documents([docs]).results["q1"].documents
        results[query.id] = Retrieved(listed, seconds=seconds * (at + 1))
    return Run(results, name=name)


def evaluated(gold, *runs, match="overlap"):
    """The evaluations of these runs."""
    return [evaluate(gold, each, match=match, metrics=["ndcg@5", "recall@3"]) for each in runs]


def test_a_curve_is_the_metric_at_each_k(gold):
    """Each point of a curve is what the metric at that k says by itself."""
    [result] = evaluated(gold, run(gold, "one", 7))
    [[ndcg, recall]] = curves([result])
    assert recall.ks == (1, 2, 3)
    assert recall.values == pytest.approx((0.3, 0.5, 0.7))
    again = result.with_metrics([f"ndcg@{k}" for k in ndcg.ks])
    assert ndcg.values == pytest.approx(tuple(again.mean.values()))


def test_a_score_at_the_threshold_stands_with_the_matches():
    """Highest scores 0, .25, .5 and 1: none, below, on the border (a match), and the last bin."""
    words = [f"w{n}" for n in range(9)]  # eight pairs of words
    text = " ".join(words)
    lists = [
        ["x y z"],
        [" ".join([*words[:3], *"abcdef"])],
        [" ".join([*words[:5], *"abcd"])],
        [text],
    ]
    many = GoldDataset(tuple(Query(f"q{at}", gold=(Gold(text=text),)) for at in range(4)))
    match = {"method": "overlap", "short": 0}
    result = evaluate(many, lists, match=match, metrics=["recall@1"])
    got = histogram(result)
    assert got.nothing == 1
    assert {at: count for at, count in enumerate(got.counts) if count} == {5: 1, 10: 1, 19: 1}
    matched = sum(count for at, count in enumerate(got.counts) if at / 20 >= got.threshold)
    assert matched == 4 * result["recall@1"] == 2


def test_first_ranks_are_the_slow_obvious_ones(gold):
    """The first rank and highest score of each gold item, against a loop over dense matrices."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), 6)) for _ in range(40)]
    lists = [list(rng.choice(texts, 5)) for _ in range(30)]
    golds = [list(rng.choice(texts, 2)) for _ in range(30)]
    result = evaluate(golds, lists, match="overlap", metrics=["recall@5"])
    table, got = result.table, gold_outcome(result)
    for query in range(30):
        dense = table.dense(query)
        for column in range(2):
            at = table.gold_start[query] + column
            hits = np.flatnonzero(dense[:, column] >= table.threshold)
            assert got.first[at] == (hits[0] + 1 if hits.size else 0)
            assert got.best[at] == dense[:, column].max()
            if got.best[at]:
                assert got.best_rank[at] == dense[:, column].argmax() + 1


def test_times_leave_failures_out(gold):
    """Quantiles of the answered queries' seconds; None without any."""
    one = run(gold, "one", 5)
    broken = dict(one.results) | {"q9": Retrieved(error="down", seconds=99.0)}
    [result] = evaluated(gold, replace(one, results=broken))
    got = times(lists_of_run(result, gold, replace(one, results=broken)))
    assert (got.n, got.p50, got.most) == pytest.approx((9, 0.05, 0.09))
    [plain] = evaluated(gold, one)
    bare = replace(
        one, results={key: Retrieved(each.documents) for key, each in one.results.items()}
    )
    assert times(lists_of_run(plain, gold, bare)) is None


def drawn(gold, folder):
    """All four figures of two retrievers with Korean words."""
    runs = {name: run(gold, name, skill) for name, skill in {"하나": 7, "two $x$ _y_": 4}.items()}
    results = evaluated(gold, *runs.values())
    write_figures([compare(results)], results, folder, dataset=gold, runs=runs, language="ko")
    return folder


@pytest.fixture(scope="module")
def figures(gold, tmp_path_factory):
    """The folder with all four figures."""
    return drawn(gold, tmp_path_factory.mktemp("figures"))


@pytest.mark.integration
def test_each_figure_is_written_and_the_same_every_time(gold, figures, tmp_path):
    """PNG and SVG of all four, byte for byte the same on a second call, and without a date."""
    names = {
        f"{stem}.{kind}"
        for stem in ("metrics", "metric_at_k", "scores", "seconds")
        for kind in ("png", "svg")
    }
    drawn(gold, tmp_path)
    assert {path.name for path in figures.iterdir()} == names
    assert all((figures / name).read_bytes() == (tmp_path / name).read_bytes() for name in names)
    assert b"<dc:date>" not in (figures / "metrics.svg").read_bytes()


@pytest.mark.integration
def test_korean_is_drawn_with_the_font_that_comes_along(figures):
    """Letters are shapes of NanumGothic in the SVG, so no font of the system is needed."""
    svg = (figures / "metrics.svg").read_text(encoding="utf-8")
    assert re.search(r'id="NanumGothic-', svg)
    assert "<text" not in svg


@pytest.mark.integration
def test_a_matcher_that_says_yes_or_no_has_no_figure_of_scores(gold, tmp_path):
    """Nothing is drawn where there is nothing to show; several matchers have a folder each."""
    one = run(gold, "one", 7)
    loose = evaluated(gold, one)
    strict = evaluated(gold, one, match="exact")
    files = write_figures([compare(loose), compare(strict)], [*loose, *strict], tmp_path)
    found_ = {str(each.relative_to(tmp_path).as_posix()) for each in files}
    assert "overlap/scores.png" in found_
    assert "exact/metrics.png" in found_
    assert not any(each.startswith("exact/scores") or "seconds" in each for each in found_)


def test_an_unknown_language_is_refused(gold, tmp_path):
    """The error names the value and the valid ones."""
    results = evaluated(gold, run(gold, "one", 7))
    with pytest.raises(UsageError, match=r"language.*'kr'.*ko"):
        write_figures([compare(results)], results, tmp_path, language="kr")


@pytest.mark.integration
@pytest.mark.parametrize(
    "names",
    [
        ["검색기 " + "가나다 " * 20 + "일"],
        pytest.param(
            [f"아주 긴 이름의 검색기 {n}" for n in range(8)], marks=pytest.mark.integration
        ),
    ],
)
def test_nothing_written_reaches_over_the_edge(gold, tmp_path, monkeypatch, names):
    """Names of any length and number stand within the picture."""
    from kragx.report.figures import drawing

    pixels = pytest.importorskip("matplotlib.image")
    save = drawing.save  # an SVG shows the same, and takes longer to draw
    monkeypatch.setattr(
        drawing, "save", lambda figure, path: path.suffix == ".svg" or save(figure, path)
    )
    results = evaluated(gold, *(run(gold, name, at + 2) for at, name in enumerate(names)))
    write_figures([compare(results)], results, tmp_path)
    for path in sorted(tmp_path.glob("*.png")):
        image = pixels.imread(path)[:, :, :3]
        edge = np.concatenate([image[[0, -1]].reshape(-1, 3), image[:, [0, -1]].reshape(-1, 3)])
        assert edge.min() > 0.98, path.name


def test_figures_of_metrics_show_shares(gold):
    """What lies in [0, 1] and is better the higher: measures too, times and bits not."""
    names = [
        "ndcg@5",
        "map",
        "coverage@1000chars",
        "seconds_mean",
        "source_diversity@5",
        "judged@5",
    ]
    assert [name for name in names if metric(name).is_share] == names[:3]


@pytest.mark.integration
def test_metrics_that_not_all_have_are_left_out(gold, tmp_path):
    """Retrievers with other metrics are drawn by those that all have, as they are compared."""
    one, two = (
        evaluate(gold, run(gold, name, skill), metrics=metrics)
        for name, skill, metrics in (("one", 7, ["ndcg@5", "map@3"]), ("two", 5, ["ndcg@5"]))
    )
    written = write_figures([compare([one, two])], [one, two], tmp_path)
    assert "metric_at_k.svg" in {path.name for path in written}
    text = (tmp_path / "metric_at_k.svg").read_text(encoding="utf-8")
    assert "<!-- ndcg -->" in text
    assert "<!-- map -->" not in text
