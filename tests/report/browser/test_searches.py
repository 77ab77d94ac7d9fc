"""Searches on the page: a figure and counts above the questions, a line of searches in each."""

from __future__ import annotations

import pytest

from kragx import Run, evaluate, write_html
from kragx.comparison import Settings
from tests.accessibility import violations
from tests.browser import expect
from tests.report.searching import dataset, runs

OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
OVER_INSIDE = "(d => d.scrollWidth - d.clientWidth)(document.getElementById('detail'))"


def written(path, n: int, n_steps: int):
    """A page of so many questions, and so many steps of the agent that searches on."""
    results = evaluate(
        dataset(n),
        runs(n, n_steps),
        match="id",
        metrics=["ndcg@5", "first_search", "waste", "tokens_per_gold"],
    )
    write_html(
        results.evaluations,
        path,
        dataset=dataset(n),
        runs=runs(n, n_steps),
        losses=results.losses,
        settings=Settings(max_failed=0.1),
    )
    return path


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Six questions of five searches."""
    return written(tmp_path_factory.mktemp("few") / "few.html", 6, 4)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Thirty questions of twenty-one searches."""
    return written(tmp_path_factory.mktemp("many") / "many.html", 30, 20)


def shown(page, place: str) -> str:
    """A text without its line breaks."""
    return " ".join(page.inner_text(place).split())


def test_above_the_questions(opened, few):
    """The basis in the head, the figure with its values in words, and counts that are filters."""
    page = opened(path=few)
    assert "Metrics of a list are of the first search" in shown(page, "#top")
    spoken = page.locator("#figure-steps svg[role=img]").get_attribute("aria-label")
    assert "thorough: step 1 0.0000, step 2 0.5000, step 3 0.5000, step 4 0.5000" in spoken
    for leader in page.locator("#figure-steps .leader").all():  # a line that ends early stays level
        first, second, _ = (point.split(",") for point in leader.get_attribute("points").split())
        assert first[1] == second[1]
        assert leader.evaluate("leader => getComputedStyle(leader).strokeDasharray") != "none"
    page.click("#figure-steps summary")
    assert "0.5000" in shown(page, "#figure-steps table")
    table = page.locator("section.searches table").last
    assert "tokens per gold item found" in " ".join(table.inner_text().split())
    assert "870" in table.locator("tr", has_text="thorough").inner_text()
    row = table.locator("tr", has_text="quick")
    row.locator("button.link", has_text="3").click()
    assert page.inner_text("#count").startswith("3 of 6")
    assert page.input_value("#result") == "in_vainA"
    assert "result=in_vainA" in page.url
    assert "median: step 2" in shown(page, "table.metrics:has-text('first_search')")
    assert violations(page) == []


def test_an_opened_question(opened, few):
    """Words as text, tools, what was new or came again, failed, unmeasured and side by side."""
    page = opened(path=few)
    page.select_option("#a", label="thorough")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("#opened .search-line")
    line = page.locator(".series-a .search-line")
    text = " ".join(line.inner_text().split())
    assert "5 searches in 4 steps · gold found: 1 of 2 · 1 read · 870 tokens" in text
    assert "2 side by side" in text
    assert "return <b>period</b> handbook new: G1" in text
    assert "failed 50 tokens TimeoutError: 30 s" in text
    assert "again: G1" in text
    assert "sum of fees sql no documents" in text
    assert "thorough: found by step 2" in shown(page, ".side.gold")
    line.locator("summary", has_text="return <b>period</b>").click()
    docs = line.locator("details[open] .card")
    expect(docs).to_have_count(2)
    assert "came before" in docs.first.inner_text()
    assert docs.last.get_attribute("class") == "card hit"
    assert violations(page, "#detail") == []


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
@pytest.mark.parametrize("width", [390, 1280])
def test_many_searches_of_many_questions(opened, many, width, language):
    """What brought nothing new is folded, and nothing is wider than its place."""
    page = opened(path=many, width=width, language=language)
    assert page.evaluate(OVER) == 0
    page.locator("#a").select_option(label="thorough")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("#opened .search-line")
    assert page.evaluate(OVER_INSIDE) == 0
    line = page.locator(".series-a .search-line")
    folded = line.locator("details:not([open]) > ol.steps")
    assert folded.count() == 1
    assert line.locator("> ol.steps > li").count() == 4  # the first two, those folded, the last
    line.locator("li.folded-steps > details > summary").click()
    assert page.evaluate(OVER_INSIDE) == 0
    assert line.locator("details[open] > ol.steps > li.step").count() == 17


def test_costs_and_runs(opened, tmp_path):
    """What a found gold item costs each, and how several runs of one of them differ."""
    once = runs(6, 4)
    name, *_ = once
    several = {**once, name: Run.repeated([once[name], runs(6, 8)[name]])}
    results = evaluate(dataset(6), several, match="id", metrics=["first_search", "tokens_per_gold"])
    path = tmp_path / "runs.html"
    results.report(path)
    page = opened(path=path)
    assert "tokens per gold item found" in shown(page, "main")
    assert f"asked several times: {name} (2)" in shown(page, "main")
    assert "runs: " in shown(page, "main")


def test_nothing_of_it_without_searches(opened):
    """No section, figure, filter or word in the head."""
    page = opened()
    assert page.locator("section.searches, #figure-steps").count() == 0
    assert page.locator("#result option[value^=rescued]").count() == 0
    assert "first search" not in page.inner_text("#top")
