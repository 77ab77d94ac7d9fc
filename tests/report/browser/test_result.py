"""The page of corrected means, looked at in Chromium."""

from __future__ import annotations

import pytest

from kragx.agreement import correct
from kragx.report.html_page.page import write_result_html
from tests.accessibility import violations
from tests.agreement.test_corrected import files, traffic_of
from tests.report.browser.conftest import HOSTILE


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A page of a retriever with a hostile name, of weighted questions."""
    from dataclasses import replace

    human, judge, run = files()
    result = correct(
        human,
        judge,
        [replace(run, name=HOSTILE)],
        metrics=["precision@5(rel=2)"],
        questions=traffic_of(judge),
    )
    page = tmp_path_factory.mktemp("corrected") / "corrected.html"
    write_result_html(result, page)
    return page


@pytest.mark.parametrize("width", [390, 1280])
def test_numbers_in_both_languages(chromium, path, width):
    """One language is shown at a time; nothing is wider than the window, nothing runs."""
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.goto(path.as_uri())
    for language, words in (("en", "over 220 asks"), ("ko", "실제 질문 220건")):
        page.locator(f"#{language}").check()
        shown = page.locator("body > div:visible")
        assert shown.count() == 1
        assert words in shown.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert violations(page) == []
    assert page.evaluate("window.stolen") is None
    page.close()
