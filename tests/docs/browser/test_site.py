"""The documentation site in Chromium: search, languages, widths, and nothing from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.accessibility import violations
from tests.docs.support import ROOT

pytestmark = pytest.mark.browser


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """No line for a request."""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The site, built and served on this machine; KRAGX_SITE names the folder of a built one."""
    if not (folder := os.environ.get("KRAGX_SITE")):
        pytest.importorskip("mkdocs")
        folder = tmp_path_factory.mktemp("site")
        built = subprocess.run(
            [sys.executable, str(ROOT / "docs/site/build.py"), str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert built.returncode == 0, built.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def page(chromium, address):
    """A page that notes what it asks for from elsewhere, and what it does not get."""
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    wrong = []
    page.on(
        "response",
        lambda answer: (
            wrong.append((answer.status, answer.url))
            if answer.status >= 400 or not answer.url.startswith(address)
            else None
        ),
    )
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    page.close()
    assert wrong == []


@pytest.mark.parametrize(
    ("start", "word", "target", "title"),
    [
        ("index.html", "threshold", "/matching.html", "Matching"),
        ("index.html", "nDCG", "/metrics.html", "Metrics"),
        ("index.html", "re-chunk", "/chunking.html", "A new chunking"),
        ("index.html", "judge", "/judge.html", "Letting a model judge"),
        ("ko/index.html", "임계값", "/ko/matching.html", "매칭"),
        ("ko/index.html", "재현율", "/ko/metrics.html", "지표"),
        ("ko/index.html", "작업장", "/ko/workshop.html", "작업장"),
    ],
)
def test_search(page, address, start, word, target, title):
    """A word finds the page about it first, and only pages of the same language."""
    page.goto(address + start)
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").fill(word)
    page.keyboard.press("End")
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    assert target in first.get_attribute("href")
    assert title in first.inner_text()
    found = page.locator(".md-search-result__link").evaluate_all("all => all.map(a => a.href)")
    assert {"/ko/" in link for link in found} == {"/ko/" in target}


def test_languages(page, address):
    """A page leads to its twin and back, also from the folder of the reference."""
    for path in ("matching.html", "reference/api/errors.html", "index.html"):
        page.goto(address + path)
        page.get_by_role("link", name="한국어").click()
        page.wait_for_url(f"{address}ko/{path}")
        assert page.locator("html").get_attribute("lang") == "ko"
        page.get_by_role("link", name="English").click()
        page.wait_for_url(address + path)


@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_is_wider_than_the_screen(page, address, width):
    """Tables and code scroll by themselves."""
    page.set_viewport_size({"width": width, "height": 844})
    for path in (
        *("index.html", "ko/matching.html", "reference/api/evaluating.html", "krag.html"),
        *("evidence/matchers.html", "ko/retriever.html", "reference/command.html"),
    ):
        page.goto(address + path)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path


def test_a_command_is_seen_whole(page, address):
    """A command or line of JSON goes on in the next line on a telephone; a table scrolls."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address + "index.html")
    hidden = "all => all.map(code => code.scrollWidth > code.clientWidth)"
    assert page.locator(".language-sh code").evaluate_all(hidden) == [False] * 4
    assert page.locator(".language-text code").evaluate_all(hidden) == [True]
    page.goto(address + "data.html")
    assert {*page.locator(".language-json code").evaluate_all(hidden)} == {False}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_breach_of_wcag(page, address, scheme):
    """axe-core finds nothing wrong: letters are legible, links are more than another colour."""
    page.emulate_media(color_scheme=scheme)
    for path in ("index.html", "ko/krag.html", "reference/api/errors.html"):
        page.goto(address + path)
        assert violations(page) == [], path
