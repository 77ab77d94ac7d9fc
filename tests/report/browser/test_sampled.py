"""The page of scored folders in Chromium: what a sample shows, and what it must not claim."""

from __future__ import annotations

import json

import pytest

from kragx.app.compare_folders import compare_folders
from kragx.comparison import sampling
from kragx.evaluation.part_tables import evaluate_in_parts
from tests.browser import expect

pytest.importorskip("pyarrow")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two folders of forty questions, of which a page holds thirty."""
    monkeypatch.setattr(sampling, "MOST", 30)
    for name, luck in (("before", 2), ("after", 5)):
        path = tmp_path / f"{name}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for number in range(40):
                answer = f"질문 {number}의 답은 여기에 있는 이 글이다"
                texts = ["아무 상관이 없는 다른 글", answer if number % luck else "또 다른 글"]
                row = {
                    "query_id": f"q{number}",
                    "query": f"질문 {number}의 답은?",
                    "gold": [{"text": answer}],
                    "retrieved": [{"text": text} for text in texts],
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        evaluate_in_parts(path, tmp_path / f"s-{name}", metrics=["mrr@5"])
    return tmp_path


def written(folders):
    """The page of both."""
    page = folders / "page.html"
    compare_folders([folders / "s-before", folders / "s-after"], page=page)
    return page


def test_a_sample_with_texts(folders, opened):
    """Numbers of all questions, texts and ranks of some, and no figure of these alone."""
    page = opened(path=written(folders))
    assert "after is best on mrr@5" in page.inner_text(".verdict")
    assert "The page holds 30 of 40 questions" in page.inner_text("body")
    assert page.locator("#figure-times").count() == page.locator("#figure-scores").count() == 0
    page.locator("#rows tr").filter(has_text="질문 2의 답은?").click()
    expect(page.locator("dialog")).to_contain_text("질문 2의 답은 여기에 있는 이 글이다")
    assert "rank 2" in page.locator("dialog").inner_text()


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en-US", "is not known here, as the results are not at hand"), ("ko-KR", "알 수 없습니다")],
)
def test_ids_alone(folders, opened, language, sentence):
    """Without the results nothing is said of ranks; values stand, and a sentence says why."""
    (folders / "after.jsonl").unlink()
    page = opened(path=written(folders), language=language)
    assert sentence in page.inner_text(".verdict")
    assert page.locator("#rows .chip").count() == 0
    page.locator("#rows tr").first.click()
    expect(page.locator("dialog .side.list")).to_have_count(2)
