"""The workshop's page for those who use a keyboard or a screen reader."""

import pytest

from tests.accessibility import violations


@pytest.mark.parametrize(("theme", "width"), [("light", 1366), ("dark", 390)])
def test_axe_finds_nothing(visit, served, theme, width):
    """No breach of WCAG A and AA: judging, with the help open, and each of the owner's views."""
    look = {"color_scheme": theme, "viewport": {"width": width, "height": 768}}
    page = visit(served, served.annotator("김판정"), **look)
    assert violations(page) == []
    page.keyboard.press("?")
    page.wait_for_selector(".guidelines > *")
    assert violations(page) == []
    owner = visit(served, **look)
    links = owner.eval_on_selector_all("nav a", "all => all.map((own) => own.getAttribute('href'))")
    assert len(links) >= 3
    for link in links:
        owner.evaluate("(own) => document.querySelector(`nav a[href='${own}']`).click()", link)
        owner.wait_for_selector(f"html[data-ready={link.rpartition('/')[2]}]")
        assert violations(owner) == [], link
