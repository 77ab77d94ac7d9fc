"""The page of two versions, looked at in Chromium."""

from __future__ import annotations

import pytest

from kragx import diff
from kragx.report.html_page.page import write_diff_html
from tests.accessibility import violations
from tests.report.browser.conftest import HOSTILE

OLD = {
    "q0": ["first", "second", "third", "fourth"],
    "q1": [HOSTILE, "second", "third"],
    "q2": ["the same"],
}
NEW = {
    "q0": ["fifth", "first", "third", "second"],
    "q1": ["second", HOSTILE, "third"],
    "q2": ["the same"],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A page of three questions: one with a new document, one in another order, one the same."""
    page = tmp_path_factory.mktemp("diff") / "diff.html"
    write_diff_html(diff(OLD, NEW, gates=["unchanged@5 >= .9"]), page)
    return page


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
def test_lists_side_by_side(chromium, path, width, language):
    """What came, went and moved is marked; nothing is wider than the window, nothing else runs."""
    page = chromium.new_page(viewport={"width": width, "height": 900}, locale=language)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    questions = page.locator("details.changed")
    assert questions.count() == 2
    for at in range(2):
        questions.nth(at).locator("summary").click()
    page.wait_for_selector("details.changed:nth-of-type(2) .card")
    first = questions.nth(0)
    assert first.locator(".card.came .text").all_inner_texts() == ["fifth"]
    assert first.locator(".card.went .text").all_inner_texts() == ["fourth"]
    assert first.locator(".card.moved").count() == 4
    assert first.locator(".card.same").count() == 2
    moved = first.locator(".side").nth(1).locator(".card.moved .chip").all_inner_texts()
    assert moved == (["was 1", "was 2"] if language == "en-US" else ["이전 1위", "이전 2위"])
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("window.stolen") is None
    assert problems == []
    assert violations(page) == []
    page.locator("#language").click()
    assert page.locator("h2").first.inner_text() in ("게이트", "Gates")
    page.close()
