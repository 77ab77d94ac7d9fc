"""What must not be found, on the page: first of all, as a filter, and marked in a list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kragx import compare, evaluate, write_html
from tests.leaks import leaking
from tests.report.browser.conftest import dataset, runs


@pytest.fixture(scope="module")
def leaks_path(tmp_path_factory):
    """A page on which the best retriever leaks for two questions."""
    gold = dataset()
    both = [
        evaluate(gold, run, match="text", metrics=["ndcg@5"], name=name)
        for name, run in runs(gold).items()
    ]
    rules = {"tenant": {"metadata.tenant": {"not": "north"}}}
    leaks = {"q03": {1: "tenant"}, "q05": {1: "version", 2: "tenant"}}
    marked = [
        leaking(own, leaks if at == 0 else {}, metrics=["leak@5"]) for at, own in enumerate(both)
    ]
    marked = [
        replace(own, settings={**own.settings, "forbidden": {"rules": rules}}) for own in marked
    ]
    path = tmp_path_factory.mktemp("leaks") / "leaks.html"
    comparisons = [compare(marked, max_failed=0.1)]
    write_html(marked, path, dataset=gold, runs=runs(gold), comparisons=comparisons)
    return path


def test_they_stand_above_the_verdict(opened, leaks_path):
    """How many questions leak, which come first, and the winner's badge; in both languages."""
    page = opened(path=leaks_path)
    section, verdict = page.locator("section.leaks"), page.locator(".verdict")
    assert section.bounding_box()["y"] < verdict.bounding_box()["y"]
    assert (
        "leaks for 2 of 40 questions that could leak (leak@5: [0.6%, 17.0%])"
        in section.inner_text()
    )
    assert "at rank 1 must not come: tenant" in " ".join(section.inner_text().split())
    assert section.locator("code").all_inner_texts() == ['{"metadata.tenant":{"not":"north"}}']
    assert verdict.locator(".badge.bad").inner_text() == "leaks"
    assert ", which leaks: in ndcg@5" in verdict.inner_text()
    page = opened(path=leaks_path, language="ko-KR")
    assert "40개 중 2개에서 누출" in page.locator("section.leaks").inner_text()


def test_a_filter_and_marks_in_a_list(opened, leaks_path):
    """Show leaves the questions that leak; an opened one has its documents marked."""
    page = opened(path=leaks_path)
    page.locator("section.leaks button.link", has_text="show all 2 questions").first.click()
    assert page.inner_text("#count").startswith("2 of 40")
    assert page.input_value("#result") == "leaksA"
    page.locator("#rows tr").nth(1).click()
    page.wait_for_selector("#opened .side.series-a")
    chips = page.locator("#opened .series-a .chip.leak")
    assert chips.all_inner_texts() == ["must not come: version", "must not come: tenant"]


def test_limits_are_rounded_outward_as_in_tables(opened, leaks_path):
    """The page says them as the terminal does."""
    page = opened(path=leaks_path)
    table = page.locator("table.metrics").first.inner_text()
    assert "[0.6%, 17.0%]" in table
    assert "at most 8.9%" in table


def test_what_is_not_all_known_has_a_range(opened, tmp_path):
    """In the table and above it, and there is no mean that looks certain."""
    gold = dataset()
    unknown = [f"q{at:02}" for at in range(10, 20)]
    measured = [
        evaluate(gold, run, match="text", metrics=["ndcg@5"], name=name)
        for name, run in runs(gold).items()
    ]
    marked = [
        leaking(own, {"q03": {1: "tenant"}}, metrics=["leak@5"], unknown=unknown * (at == 0))
        for at, own in enumerate(measured)
    ]
    path = tmp_path / "open.html"
    comparisons = [compare(marked, max_failed=0.1)]
    write_html(marked, path, dataset=gold, runs=runs(gold), comparisons=comparisons)
    page = opened(path=path)
    assert "not known for 10 (items that no document can match: 10)" in page.inner_text(".leaks")
    assert "0.0250 to 0.2750" in page.locator("table.metrics").first.inner_text()
    page.locator("table.metrics button.link", has_text="leak@5").click()
    assert "is anything from 0.0250 to 0.2750" in page.inner_text(".verdict")
    assert page.locator(".verdict .headline").count() == 0  # nobody is best, or alone


def test_nothing_of_it_where_nothing_is_forbidden(opened):
    """No section, badge, filter or chip."""
    page = opened()
    assert page.locator("section.leaks, .chip.leak, .badge.bad").count() == 0
    assert page.locator("#result option[value=leaksA]").count() == 0
