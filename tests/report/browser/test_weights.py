"""The page of questions that stand for unlike many asks: what it counts itself follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kragx import GoldDataset, evaluate, write_html
from kragx.comparison import Settings

from .conftest import dataset, runs


@pytest.fixture(scope="module")
def weighted(tmp_path_factory):
    """The path of the report of questions of which the first is asked 61 times."""
    queries = [
        replace(query, weight=61.0 if place == 0 else 1.0) for place, query in enumerate(dataset())
    ]
    gold = GoldDataset(tuple(queries), name="asked")
    results = runs(gold)
    evaluations = [
        evaluate(gold, run, match="text", metrics=["recall@1", "mrr@5"]) for run in results.values()
    ]
    path = tmp_path_factory.mktemp("asked") / "report.html"
    write_html(evaluations, path, runs=results, settings=Settings(resamples=300))
    return path


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
def test_asks_stand_wherever_questions_are_counted(opened, weighted, language):
    """Header, the filters' count and a question say how many asks they are."""
    page = opened(path=weighted, language=language, width=390)
    korean = language == "ko-KR"
    assert ("실제 질문 100건" if korean else "100 asks") in page.inner_text(".brand")
    page.fill("#search", "q00")
    assert ("실제 질문의 61%" if korean else "61 % of asks") in page.inner_text("#count")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector(".tags")
    assert ("실제 질문 61건" if korean else "61 asks") in page.inner_text(".tags")
    page.keyboard.press("Escape")
    assert ("실제 질문 61건" if korean else "61 asks") in page.inner_text("#rows tr >> nth=0")
    interval = "합의 비에 대한 스튜던트 t" if korean else "Student’s of the ratio of sums, else"
    assert interval in page.inner_text(".about")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_questions_are_sorted_by_asks(opened, weighted):
    """The most asked first at a click, the least at another; the address holds it."""
    page = opened(path=weighted)
    page.click("button[data-sort=asks]")
    assert page.get_attribute("th.q", "aria-sort") == "descending"
    assert "q00" in page.inner_text("#rows tr >> nth=0")
    assert "sort=-asks" in page.url
    page.click("button[data-sort=asks]")
    assert "q00" not in page.inner_text("#rows tr >> nth=0")


def test_weights_that_are_shares_are_no_asks(opened, tmp_path):
    """Of weights that sum to 1 the header says so, and not "1 asks"."""
    gold = dataset()
    total = len(gold) * (len(gold) + 1) / 2
    queries = [replace(query, weight=(i + 1) / total) for i, query in enumerate(gold)]
    gold = GoldDataset(tuple(queries), name="shares")
    run = next(iter(runs(gold).values()))
    write_html([evaluate(gold, run, match="text", metrics=["mrr@5"])], tmp_path / "r.html")
    brand = opened(path=tmp_path / "r.html", language="en-US").inner_text(".brand")
    assert "weights sum to 1" in brand
    assert "asks" not in brand
