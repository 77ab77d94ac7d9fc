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
    """Header, slices, the filters' count and a question say how many asks they are."""
    page = opened(path=weighted, language=language, width=390)
    korean = language == "ko-KR"
    assert ("실제 질문 100건" if korean else "100 asks") in page.inner_text(".brand")
    page.fill("#search", "q00")
    assert ("실제 질문의 61%" if korean else "61 % of asks") in page.inner_text("#count")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector(".tags")
    assert ("실제 질문 61건" if korean else "61 asks") in page.inner_text(".tags")
    page.keyboard.press("Escape")
    assert ("실제 질문의" if korean else "% of asks") in page.inner_text("td.n >> nth=0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
