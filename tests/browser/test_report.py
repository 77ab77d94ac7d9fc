"""The HTML report in Chromium: what a reader does with it, and what hostile texts do not."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.browser.conftest import HOSTILE


def ids(page):
    """The ids of the rows in view, from the top."""
    return page.locator("#rows td.q small").all_inner_texts()


def count(page):
    """How many questions the filters leave."""
    return int(page.inner_text("#count").split()[0])


def test_the_verdict_names_the_winner_and_says_how_sure(opened):
    """Which retriever won, that it is certain, where it fails and why stand on the first screen."""
    page = opened()
    verdict = page.locator(".verdict")
    assert "좋은 검색기 is best on ndcg@5." in verdict.inner_text()
    assert verdict.locator(".badge").inner_text() == "certain"
    assert "leaves out 0" in verdict.inner_text()
    assert (
        "finds none of the gold passages in the first 5 documents for 5 of 39 questions"
        in verdict.inner_text()
    )
    assert verdict.bounding_box()["y"] + verdict.bounding_box()["height"] < 900
    verdict.locator("button.reason").first.click()
    assert count(page) == 5
    assert page.input_value("#result") == "failedA"


def test_it_sorts(opened):
    """A click on a column sorts by it, a second one the other way; questions without value last."""
    page = opened()
    assert ids(page)[:2] == ["q00", "q01"]
    page.click("button[data-sort='0']")
    assert page.get_attribute("th:has([data-sort='0'])", "aria-sort") == "ascending"
    rising = page.locator("#rows td.a").all_inner_texts()
    assert [float(value) for value in rising[:5]] == sorted(map(float, rising[:5]))
    assert float(rising[0]) == 0
    page.click("button[data-sort='0']")
    assert page.get_attribute("th:has([data-sort='0'])", "aria-sort") == "descending"
    assert float(page.locator("#rows td.a").first.inner_text()) == 1
    page.evaluate("document.getElementById('scroller').scrollTop = 1e6")
    page.wait_for_selector("#rows bdi:text-is('nothing')")
    assert ids(page)[-1] == "nothing"


def test_it_filters(opened):
    """By text, slice, win or loss, failure and reason; together they narrow, reset brings back."""
    page = opened()
    page.fill("#search", "환불")
    assert count(page) == 10
    page.click("#reset")
    assert count(page) == 40
    page.select_option("#slice", label="query_type: easy")
    assert count(page) == 19
    page.click("#reset")
    page.select_option("#outcome", "a")
    wins = count(page)
    page.select_option("#outcome", "b")
    losses = count(page)
    page.select_option("#outcome", "tie")
    assert (wins, losses, count(page)) == (34, 5, 0)
    page.click("#reset")
    page.select_option("#result", "failedB")
    page.select_option("#outcome", "a")
    assert count(page) == 26  # of the 34, those where the weak one finds nothing
    page.click("#reset")
    page.select_option("#why", "near")
    assert set(ids(page)) <= {"q00", "q09", "q18", "q27", "q36", "failed"}
    page.fill("#search", "no such question")
    assert count(page) == 0
    assert "No question fits" in page.inner_text("#rows")


def test_a_question_shows_gold_beside_what_was_retrieved(opened):
    """Both lists, the matched words marked, scores beside the threshold, the first rank."""
    page = opened()
    page.click("#rows tr[data-at='3']")
    page.wait_for_selector("dialog .card")
    dialog = page.locator("dialog")
    assert dialog.locator(".side").count() == 3
    assert dialog.locator(".gold mark").first.inner_text() == "보증 규정 3번은 3일 안에 신청한다"
    good, weak = dialog.locator(".list").all()
    assert "≥ 0.5" in good.locator(".card").first.inner_text()
    assert good.locator(".card.hit").count() == weak.locator(".card.hit").count() == 1
    assert good.locator("mark").first.inner_text() == "보증 규정 3번은 3일 안에 신청한다"
    ranks = dialog.locator(".ranks").inner_text()
    assert "좋은 검색기: rank 1" in ranks
    assert ": rank 3" in ranks
    page.click("#next")
    page.wait_for_selector("#detail-title:has-text('규정 4번')")


def test_a_near_miss_and_a_failure_are_explained(opened):
    """Not found: with the highest score below the threshold, or with the retriever's error."""
    page = opened()
    page.fill("#search", "q09")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .card")
    assert "highest score" in page.inner_text(".ranks")
    page.click("#close")
    page.fill("#search", "failed")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .problem")
    assert "TimeoutError: <i>30 s</i>" in page.inner_text("dialog .problem")


def test_it_speaks_korean_and_english(opened):
    """The browser's language at first, the other one at a click; values and choices stay."""
    page = opened(language="ko-KR")
    assert page.inner_text("#questions-title") == "질문"
    assert page.get_attribute("html", "lang") == "ko"
    page.select_option("#slice", label="query_type: easy")
    page.click("#language")
    assert page.inner_text("#questions-title") == "Questions"
    assert page.get_attribute("html", "lang") == "en"
    assert count(page) == 19


def test_it_has_a_light_and_a_dark_theme(opened):
    """The system's theme at first, the other one at a click."""
    page = opened(theme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(ground)
    page.click("#theme")
    light = page.evaluate(ground)
    assert dark != light
    assert page.get_attribute("html", "data-theme") == "light"


def test_it_works_by_keyboard(opened):
    """/ searches, j and k and arrows move, Enter opens, Esc closes and gives the focus back."""
    page = opened()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("배송")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.dataset.at") == "1"
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog .card")
    first = page.inner_text("#detail-title")
    page.keyboard.press("j")
    page.wait_for_selector(f"#detail-title:not(:text-is({first!r}))")
    page.keyboard.press("Escape")
    page.wait_for_selector("#detail", state="hidden")
    page.wait_for_selector("#rows tr[data-at='2']:focus")


def test_several_matchers_are_chosen_between(opened):
    """Another matcher shows its own numbers."""
    page = opened()
    before = page.inner_text(".figure-number b")
    page.select_option(".controls select >> nth=0", label="strict")
    assert page.inner_text(".figure-number b") == "0.000"
    assert before != "0.000"


def test_failures_are_said_beside_the_verdict(opened):
    """A retriever that failed is named above the questions, and how often it did."""
    assert (
        "weak</script> failed on 1 of 40 questions; they count as empty lists."
        in opened().inner_text(".cautions")
    )


def test_a_combination_says_which_matcher_decided(opened, combined):
    """Each member that was asked, its score and limit, and in bold the one that decided."""
    page = opened(path=combined)
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .card")
    said = page.locator("dialog .list.series-a .decision").all_inner_texts()
    assert said == [
        "rouge2 overlap 1 ≥ 0.9 → match",
        "rouge2 overlap 0.6 (between 0.1 and 0.9: left open) → rouge1 0.5714 ≥ 0.5 → match",
        "rouge2 overlap 0.4 (between 0.1 and 0.9: left open) → rouge1 0.4615 < 0.5 → no match",
    ]
    bold = page.locator("dialog .list.series-a .decision b").all_inner_texts()
    assert bold == ["rouge2 overlap 1 ≥ 0.9", "rouge1 0.5714 ≥ 0.5", "rouge1 0.4615 < 0.5"]


def test_a_budget_is_where_the_page_says_so(opened, combined):
    """Failing means not within the budget, in words too, and a list shows where it ends."""
    page = opened(path=combined)
    page.select_option(".controls select", label="recall@40chars")
    assert "none of the gold passages in the first 40 characters" in page.inner_text(".verdict")
    page.select_option("#a", "0")
    page.select_option("#why", "late")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .cut")
    why = page.inner_text("dialog .list.series-a .why-line")
    assert why == "gold found, but not in the first 40 characters"
    cards = page.locator("dialog .list.series-a > *").all_inner_texts()
    assert cards.index("recall@40chars looks no further") == 4  # below head, reason and two


def test_the_best_by_the_chosen_metric_is_compared(opened, combined):
    """Another metric brings its own winner into the table, unless the reader chose whom to see."""
    page = opened(path=combined)
    assert page.input_value("#a") == "0"
    page.select_option(".controls select", label="recall@40chars")
    assert page.input_value("#a") == "1"
    page.select_option("#a", "0")
    page.select_option(".controls select", label="recall@3")
    page.select_option(".controls select", label="recall@40chars")
    assert page.input_value("#a") == "0"


@pytest.mark.parametrize("width", [390, 700, 1000, 1440])
def test_long_names_overlap_nothing(opened, combined, width):
    """Lists stand beside or below each other, and nothing is wider than its place."""
    page = opened(path=combined, width=width)
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .card")
    boxes = [each.bounding_box() for each in page.locator("dialog .side").all()]
    for box, after in pairwise(boxes):
        beside = box["x"] + box["width"] <= after["x"]
        assert beside or box["y"] + box["height"] <= after["y"]
    for card in page.locator("dialog .card, dialog .side-head select").all():
        inside = card.bounding_box()
        assert any(
            box["x"] - 1 <= inside["x"]
            and inside["x"] + inside["width"] <= box["x"] + box["width"] + 1
            for box in boxes
        )


def test_hostile_text_is_shown_and_not_run(opened):
    """Markup stands there letter by letter, marks that turn text are visible, no script runs."""
    page = opened()
    page.fill("#search", "hostile")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .card")
    title = page.inner_text("#detail-title")
    assert "</script><script>window.stolen = 1</script><img src=x onerror=" in title
    assert "userU+202Egnp.exe" in title
    assert "\u202e" not in page.inner_text("body")
    assert "\ufffd" in page.inner_text("dialog .gold .text")
    assert page.evaluate("window.stolen") is None
    assert page.locator("img").count() == page.locator("#main b > b").count() == 0
    assert page.locator("script").count() == page.evaluate(
        "document.querySelectorAll('body > script').length"
    )
    assert page.inner_text("h1").startswith("가상 <b>골드셋</b>")
    assert "\u202e" in HOSTILE


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
def test_a_phone_needs_no_scrolling_sideways(opened, language):
    """At 390 pixels nothing is wider than the page, neither the page nor an opened question."""
    page = opened(width=390, height=844, language=language)
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0
    page.click("#rows tr[data-at='1']")
    page.wait_for_selector("dialog .card")
    inner = "(d => d.scrollWidth - d.clientWidth)(document.getElementById('detail'))"
    assert page.evaluate(inner) == 0


def test_only_rows_in_view_are_drawn_and_printing_draws_all(opened):
    """A long table holds a window of rows; for the printer it holds all (up to 500)."""
    page = opened(height=500)
    assert page.locator("#rows tr[data-at]").count() < 40
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#rows tr[data-at]").count() == 40
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#rows tr[data-at]").count() < 40


def test_figures_have_names_for_those_who_do_not_see_them(opened):
    """Each picture says what it shows; scores stand beside the threshold."""
    page = opened()
    labels = page.eval_on_selector_all(
        "figure svg", "all => all.map(each => each.getAttribute('aria-label'))"
    )
    assert len(labels) >= 4
    assert all(labels)
    assert "threshold 0.5" in page.inner_text("#figure-scores")


def test_the_report_of_the_consumer_config(opened, tmp_path, monkeypatch):
    """Six retrievers on 60 questions: nothing is certain, and the page says so; questions open."""
    pytest.importorskip("bm25s")
    from kragx import config, pipeline
    from tests.docs.support import ROOT

    monkeypatch.syspath_prepend(str(ROOT))
    names = ("bm25", "tfidf", "hybrid")
    loaded = config.load(
        ROOT / "configs" / "consumer.yaml",
        [f"retrievers.{name}{more}.repeat=1" for name in names for more in ("", "+context")],
    )
    path = tmp_path / "report.html"
    pipeline.run(loaded).to_html(path)
    page = opened(path=path, language="ko-KR")
    assert page.inner_text(".badge") == "확실하지 않음"
    assert page.locator("#head th").count() == 9
    page.select_option("#slice", label="difficulty: hard")
    assert page.inner_text("#count") == "질문 60개 중 12개"
    page.fill("#search", "ko-q03")
    page.click("#reset")
    page.fill("#search", "ko-q03")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .card")
    assert page.locator(".all-retrievers button").count() == 6
    assert page.locator("dialog .gold mark").count() > 0
