"""The page of a run in which retrievers failed, looked at in Chromium."""

from __future__ import annotations

import sys

import pytest

from kragx import evaluate
from kragx.app import config, pipeline
from tests.app.runs import six_retrievers as six


@pytest.fixture
def page_of(chromium, tmp_path, monkeypatch):
    """The page of a run of some of the six retrievers."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def opened(locale="en-US", **options):
        path = tmp_path / "report.html"
        report = pipeline.run(config.load(six.write(tmp_path, **options)), progress=False)
        report.to_html(path)
        page = chromium.new_page(locale=locale)
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield opened
    sys.modules.pop("half_dozen", None)


def text(page, selector):
    """What stands in an element, in one line."""
    return " ".join(page.inner_text(selector).split())


def test_the_winner_of_six(page_of):
    """The headline names the best of those that answered, and who is not compared, and why."""
    page = page_of()
    verdict = text(page, ".verdict-head")
    assert "good is best on hit_rate@2. certain" in verdict
    assert "it is better than every other retriever that can be compared" in verdict
    cautions = text(page, ".cautions")
    assert "dead failed on 36 of 36 questions, so it is not comparable" in cautions
    assert "slow failed on 12 of 36 questions, so it is not comparable" in cautions
    assert "nothing returned nothing for any of 36 questions, so it is not comparable" in cautions
    assert "ConnectionError: no index at localhost:9200" in cautions
    failed, *rows = page.query_selector_all("table.metrics tbody tr:not(.group)")
    assert "36 of 36 ✗" in failed.inner_text()
    assert len(rows) == 4  # metrics and slices
    for row in rows:
        cells = [own.inner_text().strip() for own in row.query_selector_all("td .number")]
        if row.query_selector("th button[id]"):  # slices are of those that are compared
            assert cells[-3:] == ["–"] * 3  # behind those that have values
            cells = cells[:-3]
        assert "–" not in cells
    figure = page.get_attribute("#figure-metrics svg[role=img]", "aria-label")
    assert "good" in figure
    assert "slow" not in figure
    # A question that failed has no value, not 0.
    assert "failed" in text(page, "#rows tr[data-at='0']")


def test_what_is_no_result_is_looked_at_and_set_against_nothing(page_of):
    """It cannot be chosen as one of two; its list can be looked at, which chooses nothing."""
    page = page_of()
    for side in ("#a", "#b"):
        options = page.locator(f"{side} option").all_inner_texts()
        assert options == ["good", "pairs", "fair"]  # the best first
    pair = page.input_value("#a"), page.input_value("#b")
    page.click("#rows tr[data-at='1']")
    page.wait_for_selector("dialog .card")
    page.select_option("#list-b", label="slow")
    page.wait_for_selector("dialog .list.series-b:has-text('not compared')")
    assert page.locator("dialog .all-retrievers .side-b").inner_text().startswith("slow")
    page.select_option("#list-b", label="dead")
    page.wait_for_selector("dialog .list.series-b .problem")
    assert page.inner_text("dialog .list.series-b .side-head b") == "failed"
    page.click("#close")
    assert (page.input_value("#a"), page.input_value("#b")) == pair
    page.click("#rows tr[data-at='1']")
    page.wait_for_selector("dialog .card")
    page.select_option("#list-b", label="fair")
    page.wait_for_selector("dialog .list.series-b .card")
    page.click("#close")
    assert page.locator("#b option:checked").inner_text() == "fair"


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("en-US", "Every retriever failed, so there is nothing to compare."),
        ("ko-KR", "모든 검색기가 실패하여 비교할 것이 없습니다."),
    ],
)
def test_nobody_is_best_where_all_failed(page_of, locale, said):
    """Where every retriever failed nobody shares the best value."""
    page = page_of(locale, retrievers={"dead": "half_dozen:dead", "late": six.RETRIEVERS["slow"]})
    assert said in text(page, ".verdict .headline")
    for untrue in ("best", "share", "공동", "1위", "★"):
        assert untrue not in text(page, ".verdict")
        assert untrue not in text(page, "table.metrics tbody")


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("en-US", "None found anything: hit_rate@2 is 0 for every retriever"),
        ("ko-KR", "아무것도 찾지 못했습니다"),
    ],
)
def test_nobody_is_best_where_none_found_anything(page_of, locale, said):
    """Zeros everywhere are no tie for the best value."""
    page = page_of(locale, retrievers={"one": "half_dozen:nothing", "two": "half_dozen:nothing"})
    assert said in text(page, ".verdict .headline")
    for untrue in ("share", "certain", "공동", "1위", "확실"):
        assert untrue not in text(page, ".verdict .headline")


def test_one_that_did_not_fail_has_not_won(page_of):
    """Beside retrievers that failed a single one is no winner."""
    retrievers = {"dead": "half_dozen:dead", "fair": "half_dozen:fair"}
    page = page_of(retrievers=retrievers)
    verdict = text(page, ".verdict")
    assert "Only fair can be compared, as dead failed." in verdict
    assert "dead failed on 36 of 36 questions, so it is not comparable" in verdict
    # Nor does the table set it against what failed; an opened question shows both.
    assert page.locator("#a, #b, #outcome, #head th.lead, #rows td.lead").count() == 0
    page.click("#rows tr[data-at='1']")
    page.wait_for_selector("dialog .card")
    assert page.locator("dialog .list").count() == 2


def test_tolerated_failures_are_said(page_of):
    """Failures that are tolerated count as empty lists, and the page says so."""
    page = page_of(
        max_failed=0.1, retrievers={"once": "half_dozen:once", "fair": "half_dozen:fair"}
    )
    assert "once failed on 1 of 36 questions, which score as empty" in text(page, ".cautions")
    assert "once is best on hit_rate@2." in text(page, ".verdict .headline")
    assert "1 of 36" in text(page, "table.metrics tbody tr >> nth=0")
    # Where neither is better: the question without an answer is in none of them.
    counts = []
    for outcome in ("a", "b", "tie", "differ"):
        page.select_option("#outcome", outcome)
        counts.append(int(page.inner_text("#count").split()[0]))
    assert sum(counts[:3]) == 35
    assert counts[0] + counts[1] == counts[3]
    page.click("#reset")
    row = page.locator("#rows tr", has_text="case 4")
    assert row.locator("td.a").inner_text() == "failed"
    assert row.locator("td.lead").inner_text() == "–"


@pytest.mark.filterwarnings("ignore:gold of one template")
def test_gold_of_one_template(opened, tmp_path):
    """What turns the verdict stands in it."""
    golds = [f"Order {n} is delivered within three working days of its payment" for n in range(9)]
    lists = {"one": [[own] for own in golds[1:] + golds[:1]], "two": [["another text"]] * 9}
    result = evaluate([[own] for own in golds], lists, match="rouge2", metrics=["mrr@5"])
    result.report(tmp_path / "page.html")
    page = opened(path=tmp_path / "page.html")
    assert "gold of one template: in 9 of 9 questions" in page.inner_text(".verdict .cautions")


@pytest.mark.parametrize(
    ("language", "badge", "how", "again", "nothing"),
    [
        (
            "en-US",
            "not certain",
            "The data does not say which retriever is best in mrr@5: good has the best value",
            ["The data does not say"],
            "nothing returned nothing for any of 20 questions",
        ),
        (
            "ko-KR",
            "확실하지 않음",
            "mrr@5 기준으로 어느 검색기가 가장 나은지 이 데이터로는 알 수 없습니다.",
            ["이 데이터로는 알 수 없습니다"],
            "질문 20개",
        ),
    ],
)
def test_not_decided_is_said_once(opened, tmp_path, language, badge, how, again, nothing):
    """In the head, with how many questions would; who returned nothing is not beaten, and said."""
    gold = [[f"the rule {at}"] for at in range(20)]
    runs = {
        "good": [gold[at] if at % 4 else ["another"] for at in range(20)],
        "fair": [gold[at] if at % 3 else ["another"] for at in range(20)],
        "nothing": [[] for _ in gold],
    }
    path = tmp_path / "page.html"
    evaluate(gold, runs, match="exact", metrics=["mrr@5", "recall@5"]).report(path)
    page = opened(path=path, language=language)
    verdict = page.inner_text(".verdict")
    assert verdict.count(badge) == 1
    assert page.locator(".verdict .how").first.inner_text().startswith(how)
    assert [verdict.count(own) for own in again] == [1]
    assert nothing in page.inner_text(".verdict .cautions")
    assert page.locator("#a option").all_inner_texts() == ["good", "fair"]
