"""A workshop in Chromium: people with a browser each."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kragx.data import tokenizer
from kragx.evaluation.retrievers import Bm25Index
from kragx.workshop.folder.starting import start
from kragx.workshop.questions.words import content_words
from tests.workshop.serving import Served, serving, written

TEXTS = {
    "refund": "전자상거래로 산 물건은 받은 날부터 7일 안에 청약을 철회할 수 있습니다. "
    "단순 변심이면 돌려보내는 비용은 소비자가 냅니다.",
    "delivery": "배송은 주문한 날부터 이틀이 걸립니다. 도서 산간은 하루가 더 걸립니다.",
    "repair": "보증 기간 안의 고장은 무료로 수리합니다.",
    "points": "적립금은 구매 후 30일이 지나면 쓸 수 있습니다.",
}
QUESTIONS = ("마음이 바뀌면 며칠 안에 돌려보내나요?", "주문하면 언제 오나요?")


def pytest_collection_modifyitems(items):
    """What needs a browser is marked as such."""
    for item in items:
        if "tests/workshop/browser" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


def shop(folder: Path, questions=QUESTIONS, texts=TEXTS, **options) -> Path:
    """The folder of a workshop in which every text is suggested for every question."""
    corpus = written(
        folder / "corpus.jsonl", ({"id": key, "text": text} for key, text in texts.items())
    )
    if questions:
        own = {"gold": [], "query_type": "문의", "metadata": {"sources": list(texts)}}
        options["questions"] = written(
            folder / "questions.jsonl",
            (
                {"query_id": f"q{number}", "query": text, **own}
                for number, text in enumerate(questions)
            ),
        )
    start(folder / "shop", corpus=corpus, name="소비자 상담", language="ko", **options)
    content_words("질문")  # Kiwi and bm25s load here, and not while a page waits
    Bm25Index(["글"], tokenizer("char"), "").best("글", 1)
    return folder / "shop"


@contextmanager
def browsing(chromium) -> Iterator:
    """Opens links in windows of their own; in the end nothing must have gone wrong in them."""
    contexts, errors, requests = ExitStack(), [], []

    def go(served: Served, token: str | None = None, *, allow=(), wait=True, **options):
        options = {"locale": "ko-KR", "viewport": {"width": 1366, "height": 768}, **options}
        context = chromium.new_context(**options)
        contexts.callback(context.close)
        served.visitors.callback(context.close)
        page = context.new_page()

        def note(text):
            if not any(part in text for part in allow):
                errors.append(text)

        page.on("request", lambda request: requests.append((served.port, request.url)))
        page.on("pageerror", lambda error: note(str(error)))
        # Chromium says there as well what the page's policy has refused.
        page.on("console", lambda line: note(line.text) if line.type == "error" else None)
        page.on("dialog", lambda dialog: note(dialog.message))
        page.goto(f"http://127.0.0.1:{served.port}/#{token or served.token}")
        if wait:
            page.wait_for_selector("html[data-ready]")
        return page

    with contexts:
        yield go
    assert errors == []
    assert all(url.startswith(f"http://127.0.0.1:{port}/") for port, url in requests)


@contextmanager
def withheld(page, pattern: str) -> Iterator[None]:
    """What the page asks of these addresses meanwhile is answered once the block is left."""
    routes, is_over = [], False

    def hold(route):
        if is_over:
            route.continue_()
        else:
            routes.append(route)

    page.context.route(pattern, hold)
    yield
    is_over = True
    for route in routes:
        route.continue_()


@pytest.fixture
def visit(chromium):
    """Opens a link in a window of its own; fails if anything goes wrong in it."""
    with browsing(chromium) as go:
        yield go


@pytest.fixture
def served(tmp_path):
    """The server of a workshop with eight pairs to judge."""
    with serving(shop(tmp_path)) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request) -> str | None:
    """None for a file, or the URL of an empty database."""
    if request.param == "sqlite":
        return None
    server = request.getfixturevalue("postgresql")
    server.psql("CREATE DATABASE browsed;")
    return server.get_uri(database="browsed")
