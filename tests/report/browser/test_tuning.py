"""Grids on the page: which setting to take, at its head, in both languages and any width."""

from __future__ import annotations

import numpy as np
import pytest

from kragx import evaluate, write_html
from kragx.comparison import Settings
from kragx.comparison.threshold_study import sweep_of_grid
from kragx.comparison.tuning import Setting, SettingResult, settings, tuned
from tests.browser import expect
from tests.report.browser.conftest import HOSTILE, dataset, runs


@pytest.fixture
def written(tmp_path):
    """Write a page with a grid of so many settings beside the usual retrievers."""

    def write(count, *, hostile=False):
        gold = dataset()
        found = runs(gold)
        evaluations = [evaluate(gold, run, metrics=["ndcg@5"]) for run in found.values()]
        rng = np.random.default_rng(1)
        hard = rng.random(40)
        grid = settings("bm25", {"chunk_size": [*range(100, 100 + count)]})
        tried = [
            SettingResult(
                own,
                own.name,
                np.clip(hard + 0.02 * place + rng.normal(0, 0.05, 40), 0, 1),
                tokens=float(own.values["chunk_size"]),
                seconds=0.01,
            )
            for place, own in enumerate(grid)
        ]
        broken = SettingResult(
            Setting("x"), HOSTILE if hostile else "x", hard, failed="failed on 3"
        )
        tuning = tuned([*tried, broken], "ndcg@5", Settings(resamples=300), "overlap")
        under = [
            (own.name, {"a": 0.5 + place / 10, "b": 0.55})
            for place, own in enumerate(settings("overlap", {"threshold": [0.4, 0.6]}))
        ]
        path = tmp_path / f"{count}.html"
        write_html(
            evaluations,
            path,
            runs=found,
            tunings=[tuning],
            matcher_grids=[sweep_of_grid("overlap", "ndcg@5", under)],
        )
        return path, tuning

    return write


def test_the_head_says_which_to_take_and_how_sure(written, opened):
    """The sentence, both numbers and the table stand first, in English and in Korean."""
    path, tuning = written(2)
    page = opened(path=path)
    section = page.locator("main > section").first
    assert section.get_attribute("class") == "tuning"
    said = " ".join(section.inner_text().split())
    assert f"Take {tuning.take}" in said or "Cannot tell" in said
    assert f"on the {tuning.n_choosing} questions that chose" in said
    assert "failed on 3" in said
    assert "1 setting failed, and is not compared." in said
    page = opened(path=path, language="ko-KR")
    said = page.locator("section.tuning").inner_text()
    assert "어느 설정을 쓸까" in said
    assert "남겨 둔 질문" in said
    assert "{0}" not in said


@pytest.mark.parametrize("width", [360, 1280])
def test_many_settings_fold_and_nothing_is_wider_than_the_window(written, opened, width):
    """Of 24 settings twelve and the one to take are open; hostile names stay texts."""
    path, tuning = written(24, hostile=True)
    page = opened(path=path, width=width)
    rows = page.locator("section.tuning .scroll").first.locator("tbody tr")
    places = [own.name for own in tuning.settings]
    assert rows.count() == (12 if places.index(tuning.take) < 12 else 13)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.stolen") is None


def test_a_matchers_settings_stand_under_its_name(written, opened, tmp_path):
    """A grid of another matcher than the one that is shown is not on the page."""
    path, _ = written(2)
    page = opened(path=path)
    assert "depends on the setting" not in page.locator("main").inner_text()


def test_what_failed_is_no_other_setting(opened, tmp_path):
    """The page counts as the terminal does: of two settings of which one failed, one is left."""
    gold = dataset()
    found = runs(gold)
    one, other = settings("bm25", {"k": [1, 2]})
    hard = np.random.default_rng(1).random(40)
    broken = SettingResult(other, other.name, hard, failed="failed on 3")
    tuning = tuned(
        [SettingResult(one, one.name, hard), broken], "ndcg@5", Settings(resamples=300), "overlap"
    )
    path = tmp_path / "page.html"
    evaluations = [evaluate(gold, run, metrics=["ndcg@5"]) for run in found.values()]
    write_html(evaluations, path, runs=found, tunings=[tuning])
    said = " ".join(opened(path=path).locator("section.tuning").inner_text().split())
    assert "Take bm25[k=1]: no other can be compared." in said
    assert "1 setting failed, and is not compared." in said


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "which setting to take stands above"), ("ko", "어느 설정을 쓸지는 위에 있습니다")],
)
def test_the_page_has_one_verdict(opened, tmp_path, language, said):
    """A retriever that is better than every other is not called so beside a grid's choice."""
    gold = dataset()
    found = runs(gold)
    hard = np.random.default_rng(1).random(40)
    tried = [SettingResult(Setting(name), name, hard) for name in found]
    tuning = tuned(tried, "ndcg@5", Settings(resamples=300), "overlap")
    evaluations = [evaluate(gold, run, metrics=["ndcg@5"]) for run in found.values()]
    for tunings, badges in (([], 1), ([tuning], 0)):
        path = tmp_path / f"{badges}.html"
        write_html(evaluations, path, runs=found, tunings=tunings, settings=Settings(max_failed=1))
        section = opened(path=path, language=language).locator("section.verdict")
        assert section.locator(".badge").count() == badges
        assert (said in section.locator(".headline").inner_text()) == (not badges)


@pytest.mark.parametrize(
    ("means", "verdict"), [((0.1, 0.6, 0.6), "simplest"), ((0.6, 0.1, 0.1), "best")]
)
def test_confirmed_is_what_was_tested(opened, tmp_path, means, verdict):
    """The best was tested on no other questions, so only a simpler setting is called confirmed."""
    gold = dataset()
    found = runs(gold)
    rng = np.random.default_rng(1)
    tried = [
        SettingResult(own, own.name, np.clip(mean + rng.normal(0, 0.05, 40), 0, 1))
        for own, mean in zip(settings("bm25", {"k": [1, 2, 3]}), means)
    ]
    tuning = tuned(tried, "ndcg@5", Settings(resamples=300), "overlap")
    assert tuning.verdict == verdict
    path = tmp_path / "page.html"
    evaluations = [evaluate(gold, run, metrics=["ndcg@5"]) for run in found.values()]
    write_html(evaluations, path, runs=found, tunings=[tuning])
    head = opened(path=path).locator("section.tuning .headline")
    expect(head).to_contain_text(f"Take {tuning.take}")
    assert head.locator(".badge").all_inner_texts() == (
        ["confirmed on questions held out"] if verdict == "simplest" else []
    )
