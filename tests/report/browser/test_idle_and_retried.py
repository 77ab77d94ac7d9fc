"""A question whose search was tried again, and one for which nothing was searched."""

from __future__ import annotations

import pytest

from kragx import Doc, GoldDataset, Retrieved, Run, Search, evaluate, write_html


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Three questions: tried again; tried again beside another search; no search."""
    gold = GoldDataset.from_documents([[{"id": "a"}]] * 3, queries=["one?", "two?", "three?"])
    tried = (
        Search("hours", step=1, tool="web", error="TimeoutError"),
        Search("hours", (Doc("a", "It opens at ten."),), step=1, tool="web"),
    )
    beside = (*tried, Search("prices", (Doc("b", "It is free."),), step=1))
    answers = (Retrieved(searches=of, has_list=False) for of in (tried, beside, ()))
    run = Run(dict(zip([query.id for query in gold], answers)), name="agent")
    file = tmp_path_factory.mktemp("retried") / "page.html"
    result = evaluate(gold, run, match="id", metrics=["evidence_recall", "searches_per_gold"])
    write_html([result], file, dataset=gold, runs={"agent": run})
    return file


def test_a_question_without_a_search(opened, path):
    """Once it is said that no search was made, nothing more is said of what was found."""
    page = opened(path=path)
    page.click("#rows tr[data-at='2']")
    page.wait_for_selector("#opened .series-a")
    text = page.inner_text("#opened .series-a")
    assert "No search was made." in text
    assert "found nothing" not in text


@pytest.mark.parametrize(
    ("row", "said", "unsaid"),
    [
        (0, ["1 search ·", "hours web tried again new: G1"], ["side by side", "2 searches"]),
        (1, ["2 searches in 1 step ·", "2 side by side", "tried again"], ["3 searches"]),
    ],
)
def test_a_search_that_was_tried_again(opened, path, row, said, unsaid):
    """It is one search, and side by side with those of other words alone."""
    page = opened(path=path)
    page.click(f"#rows tr[data-at='{row}']")
    page.wait_for_selector("#opened .search-line")
    text = " ".join(page.inner_text("#opened .search-line").split())
    assert [words for words in said if words not in text] == []
    assert [words for words in unsaid if words in text] == []
