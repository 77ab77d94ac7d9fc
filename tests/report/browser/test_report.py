"""The HTML report in Chromium: what a reader does with it, and what hostile texts do not."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from kragx import Gold, GoldDataset, Query, Run, compare, evaluate, write_html
from kragx.comparison import Results, RetrieverScores, Settings, changes, check_gates, parse_gates
from kragx.data import Turn
from kragx.judging import Failure, Judge
from kragx.judging.clients.scripted import ScriptedClient
from tests.browser import expect, until
from tests.report.browser.chains import write_chains
from tests.report.browser.conftest import HOSTILE, dataset, runs


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


def test_gold_of_earlier_results(opened, tmp_path):
    """What is not the same, how many and the first of them, in both languages.

    By hand: of 40 questions six change, one goes and one is new; the gold of another has moved, and
    of one more it has the same text under another id.
    """
    path = tmp_path / "gold.html"
    named = (  # ids are compared as well, so each item has one
        replace(query, gold=tuple(replace(own, id=own.id or query.id) for own in query.gold))
        for query in dataset()
    )
    gold = replace(dataset(), queries=tuple(named))
    evidence = [query.gold[0] if query.gold else None for query in gold]
    record = {"move": {"from": ["g6"], "to": ["n6"]}}
    later = [
        *(replace(query, reference="<i>other</i>") for query in gold.queries[:6]),
        replace(gold.queries[6], gold=(replace(evidence[6], id="n6", metadata=record),)),
        replace(gold.queries[7], gold=(replace(evidence[7], id="n7"),)),
        *gold.queries[8:39],
        replace(gold.queries[0], id="new"),
    ]
    after = replace(gold, queries=tuple(later), version="2")
    sides = []
    for own in (gold, after):
        found = runs(own)
        evaluations = [
            replace(evaluate(own, run, match=spec, metrics=["recall@5"]), match_name=name)
            for name, spec in {"texts": "overlap", "ids": "id"}.items()
            for run in list(found.values())[:1]
        ]
        scores = tuple(map(RetrieverScores.of, evaluations))
        sides.append(Results("these", scores, own))
    changed = changes(*sides, Settings())
    write_html(evaluations, path, dataset=after, changes=changed)
    page = opened(path=path)
    line = " ".join(page.locator(".cautions li").first.inner_text().split())
    counts = "6 changed, 1 only in the later, 1 only in the earlier"
    assert f"8 questions are not the same ({counts}: q00, q01, q02, q03, q04 and 3 more)" in line
    assert "left out here; 33 are the same, and compared" in line
    page.click("#language")
    korean = " ".join(page.locator(".cautions li").first.inner_text().split())
    assert "q00, q01, q02, q03, q04 외 3개" in korean
    page.select_option("label:has-text('매처') select", "1")
    by_id = " ".join(page.locator(".cautions li").first.inner_text().split())
    assert "7개" in by_id


def test_gates_that_failed_come_first_and_the_rest_is_folded(opened, tmp_path):
    """Which failed, of whom and why, in English and Korean; a hostile name stays text."""
    gold, path = dataset(), tmp_path / "gates.html"
    lists = runs(gold)
    metrics = ["hit_rate@5", "mrr@5"]
    evaluations = [evaluate(gold, run, match="overlap", metrics=metrics) for run in lists.values()]
    compared = compare(evaluations, max_failed=0.1)
    conditions = {"hit_rate@5": ["surely >= 0.95", ">= 0.01"], "mrr@5": [">= 0.9"] * 3}
    gates = check_gates(parse_gates(conditions, []), [compared])
    write_html(evaluations, path, dataset=gold, runs=lists, gates=gates)
    page = opened(path=path)
    section = page.locator(".gates")
    assert section.locator("p").first.inner_text() == "gates: 8 of 10 failed"
    failed, passed = section.locator("table").all()
    assert failed.locator("tbody tr").count() == 8
    first = failed.locator("tbody tr").first.inner_text()
    assert [part.strip() for part in first.split("\t")][:3] == [
        "✗",
        "hit_rate@5 surely >= 0.95",
        "좋은 검색기",
    ]
    assert "cannot be decided with 39 questions" in first
    assert "weak</script>" in failed.inner_text()
    assert section.locator("summary").all_inner_texts() == ["Passed: 2"]
    section.locator("summary").click()
    assert passed.locator("tbody tr").first.inner_text().split()[:2] == ["✓", "hit_rate@5"]
    korean = opened(path=path, language="ko-KR").locator(".gates")
    assert "10개 중 8개" in korean.locator("p").first.inner_text()
    assert opened().locator(".gates").count() == 0


def test_the_first_screen_leads_to_questions_that_fail(opened):
    """A few failing questions stand there and open; both values stand beside the lead."""
    page = opened()
    assert page.locator(".examples li").count() == 4
    first = page.locator(".examples button").first
    said = first.inner_text()
    first.click()
    page.wait_for_selector("dialog .card")
    assert page.inner_text("#detail-title") == said
    both = page.locator(".both").inner_text()
    assert both.split() == ["좋은", "검색기", "0.8718", "weak</script>", "0.1667"]


HARD = {
    "a": lambda at: 8 if at < 3 else 1 + at % 2,
    "b": lambda at: 8 if at < 3 else 2,
}
"""At which rank two retrievers find the gold of questions, three of which neither does."""


@pytest.mark.parametrize(
    ("language", "said"),
    [("en-US", "3 of 20 queries have recall@3 = 0"), ("ko-KR", "질문 20개 중 3개는")],
)
def test_advice_is_in_the_language_of_the_page(opened, tmp_path, language, said):
    """Ids in it open questions."""
    page = opened(path=marked(tmp_path, HARD, 20)[0], language=language)
    assert said in page.text_content(".advice")
    assert page.locator(".advice [lang=en]").count() == 0
    page.locator(".advice button.link").first.click()
    page.wait_for_selector("dialog .card")


@pytest.mark.parametrize(
    ("language", "behind", "distance"),
    [
        ("en-US", "told from late: the difference is", "as distances do"),
        ("ko-KR", "late 쪽과는 구별되지 않습니다(", "거리처럼"),
    ],
)
def test_equal_retrievers(opened, tmp_path, language, behind, distance):
    """The verdict is about the others, and distances are told from scores."""
    gold, path = dataset(), tmp_path / "equal.html"
    lists = {name: {} for name in ("one", "two", "late")}
    for number, query in enumerate(gold):
        texts = ["관계없는 문서", *(item.text for item in query.gold)]
        for name, own in lists.items():
            is_first = number % 2 and not (name == "late" and number == 3)
            ranked = reversed(texts) if is_first else texts
            own[query.id] = [({"text": text}, n / 4) for n, text in enumerate(ranked, start=1)]
    made = {name: Run.from_documents(own, name=name) for name, own in lists.items()}
    results = [evaluate(gold, run, match="exact", metrics=["mrr@5"]) for run in made.values()]
    write_html(results, path, dataset=gold, runs=made)
    page = opened(path=path, language=language)
    assert behind in page.inner_text(".verdict .how")
    page.locator("#rows tr").first.click()
    assert distance in page.locator("dialog .list .card").first.inner_text()


def test_advice_counts_the_questions_that_it_is_of(opened, tmp_path):
    """Where most questions are found by nobody, the page says of how many these are."""
    gold, path = dataset(), tmp_path / "unfound.html"
    asked = [query for query in gold if query.gold]
    made = {
        name: Run.from_documents(
            {query.id: [asked[0].gold[0].text, name] for query in gold}, name=name
        )
        for name in ("one", "two")
    }
    results = [evaluate(gold, run, match="exact", metrics=["recall@5"]) for run in made.values()]
    n_found = sum(value["recall@5"] == 1 for value in results[0].queries.values())
    write_html(results, path, dataset=gold, runs=made)
    said = f"{len(asked) - n_found} of {len(asked)} queries have recall@5 = 0"
    assert said in opened(path=path).text_content(".advice")


def test_advice_by_another_metric_says_so(opened, tmp_path):
    """Numbers of a metric that is not the chosen one are not taken for its own."""
    page = opened(path=marked(tmp_path, HARD, 20)[0])
    assert "(by recall@3, not mrr@5)" in page.inner_text(".advice")
    page.locator("select:has(option:text-is('recall@3'))").first.select_option(label="recall@3")
    expect(page.locator(".advice")).not_to_contain_text("(by recall@3")


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
    assert (wins, losses, count(page)) == (33, 5, 0)  # not the one that the weak one failed on
    page.click("#reset")
    page.select_option("#result", "failedB")
    page.select_option("#outcome", "a")
    assert count(page) == 25  # of the 33, those where the weak one finds nothing
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


def test_the_reason_is_the_closest_thing_in_the_list(opened, missed):
    """Much alike, another passage of the document, similar, nothing: each for what it is."""
    page = opened(path=missed)
    assert page.locator("#rows td.why").all_inner_texts() == [
        "alike, no match",
        "wrong passage",
        "similar text",
        "nothing similar",
        "below rank 1",
    ]
    hint = page.get_attribute("button.reason:has-text('similar text')", "title")
    assert "25 % or more of its word pairs" in hint
    assert "below 50 %" in hint
    page.select_option(".controls select >> nth=0", label="score")
    assert page.locator("#rows td.why").nth(1).inner_text() == "wrong passage"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "kin",
            "one: the list lacks law:1. At rank 1 stands x. "
            "Another passage of the right document stands at rank 2: law:2.",
        ),
        (
            "similar",
            "one: the list lacks law:1. At rank 1 stands x. "
            "The closest is x at rank 1, which shares 38 % of word pairs.",
        ),
        ("nothing", "one: the list lacks law:1. At rank 1 stands x."),
        ("late", "one: law:1 stands at rank 2, and recall@1 looks at the first document."),
    ],
)
def test_an_opened_question_says_first_what_went_wrong(opened, missed, query, said):
    """Which gold was missed, what stands first, and what comes closest."""
    page = opened(path=missed)
    page.fill("#search", query)
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .card")
    assert page.inner_text("dialog .told").strip() == said


def test_an_opened_question_says_how_far_the_score_is(opened):
    """The highest score with its rank, against the threshold."""
    page = opened()
    page.fill("#search", "q09")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .card")
    assert "the list lacks g9. At rank 1 stands near. The closest is itself" in page.inner_text(
        "dialog .told"
    )


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
    assert page.inner_text(".figure-number b") == "0.0000"
    assert before != "0.0000"


def test_failures_are_said_beside_the_verdict(opened):
    """A retriever that failed is named above the questions, and how often it did."""
    assert (
        "weak</script> failed on 1 of 40 questions, which score as empty lists; the first: "
        in opened().inner_text(".cautions")
    )


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en-US", "once they are known, hit_rate@1 of one can be anything from 0.5000 to 1.0000."),
        (
            "ko-KR",
            "채워지면 one의 hit_rate@1 값은 0.5000~1.0000 범위의 어떤 값이든 될 수 있습니다.",
        ),
    ],
)
def test_missing_judgements_are_said_beside_the_value(opened, tmp_path, language, said):
    """One of two questions has no grade: the value that is shown is no more than a guess."""
    documents = {"q1": ["강이 흐른다"], "q2": ["산이 높다"]}
    client = ScriptedClient([3, Failure("refusal", "no")])
    judge = Judge(client, store=tmp_path / "store.sqlite", max_missing=0.9, concurrency=1)
    result = evaluate(
        GoldDataset.from_documents(documents),
        Run.from_documents(documents, name="one"),
        match={"method": "llm", "mode": "support", "judge": judge},
        metrics=["hit_rate@1"],
    )
    write_html([result], tmp_path / "report.html")
    page = opened(path=tmp_path / "report.html", language=language)
    assert said in page.inner_text(".verdict")


def test_a_failure_is_one_where_the_lists_are_not_given_too(opened, tmp_path):
    """Without the runs it is no missing answer, and no value beside others."""
    gold, path = dataset(), tmp_path / "report.html"
    results = [evaluate(gold, run, match="overlap", metrics=["mrr"]) for run in runs(gold).values()]
    write_html(results, path, settings=Settings(max_failed=0.1))
    page = opened(path=path)
    (caution,) = page.locator(".cautions li").all_inner_texts()
    assert caution.startswith("weak</script> failed on 1 of 40 questions, which score as empty")
    page.fill("#search", "failed")
    assert page.locator("#rows td.b").inner_text() == "failed"


@pytest.mark.parametrize(
    ("options", "said", "korean"),
    [
        (
            {},
            "differences between retrievers cannot be decided with 2 questions: the least p that "
            "they can reach is .500; 6 questions can, if all of them agree; some fifty are a "
            "start",
            "질문 2개로는 검색기 간의 차이를 판단할 수 없습니다(p의 최솟값 .500). "
            "6개면 가능하지만 모든 질문에서 같은 쪽이 나아야 합니다. 50개쯤으로 시작하세요",
        ),
        (
            {"confidence": 0.995, "resamples": 100},
            "no p of 100 resamples is small enough, so raise 'resamples'",
            "100번 다시 뽑아서는 p가 충분히 작아질 수 없으니 'resamples'를 늘리세요",
        ),
    ],
)
def test_what_so_few_questions_cannot_decide_is_said_in_both_languages(
    opened, tmp_path, options, said, korean
):
    """In the words of the page: none of English in Korean, and once."""
    lists = {"one": [["a"], ["b"]], "two": [["a"], ["c"]]}
    results = {
        name: evaluate([["a"], ["b"]], run, match="exact", metrics=["mrr"])
        for name, run in lists.items()
    }
    path = tmp_path / "report.html"
    write_html(results, path, settings=Settings(**options))
    page = opened(path=path)
    assert said in page.inner_text(".cautions")
    assert "So few queries (2) do not say how many would decide" in page.text_content("#main")
    page.click("#language")
    assert "질문이 2개뿐이라 몇 개가 더 있어야" in page.text_content("#main")
    assert korean in page.inner_text(".cautions")
    assert page.locator(".cautions li").count() == 1
    assert page.locator(".cautions [lang=en]").count() == 0


def test_a_combination_says_which_matcher_decided(opened, combined):
    """Each member that was asked, its score and limit, and in bold the one that decided."""
    page = opened(path=combined)
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .card")
    said = page.locator("dialog .list.series-a .decision").all_inner_texts()
    assert said == [
        "overlap 1 ≥ 0.9 → is a match",
        "overlap 0.6 (between 0.1 and 0.9: left open) → rouge1 0.5714 ≥ 0.5 → is a match",
        "overlap 0.4 (between 0.1 and 0.9: left open) → rouge1 0.4615 < 0.5 → no match",
    ]
    bold = page.locator("dialog .list.series-a .decision b").all_inner_texts()
    assert bold == ["overlap 1 ≥ 0.9", "rouge1 0.5714 ≥ 0.5", "rouge1 0.4615 < 0.5"]


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


def test_an_order_that_the_threshold_decides_is_said_where_it_matters(opened, tmp_path):
    """A warning beside the verdict, once; in Korean, too."""
    from kragx import GoldDataset, Run, evaluate, write_html

    words = list("가나다라마바사아자차카")
    gold = GoldDataset.from_documents({"q1": [" ".join(words)]}, queries=["?"])
    runs = {
        "one": Run.from_documents({"q1": [" ".join([*words[:6], "x"])]}, name="one"),
        "two": Run.from_documents({"q1": ["딴 글", " ".join(words)]}, name="two"),
    }
    chosen = {"method": "rouge1", "threshold": 0.65}
    path = tmp_path / "report.html"
    results = [
        evaluate(gold, run, match=chosen, metrics=["mrr", "redundancy"]) for run in runs.values()
    ]
    write_html(results, path, runs=runs)
    page = opened(path=path)
    said = "at 0.65 'one' is ahead of 'two' in mrr, at 0.675 behind"
    assert said in page.inner_text(".cautions")
    page.click("#language")
    said = "임계값 0.65에서는 'one' 쪽이 'two'보다 앞서지만 0.675에서는 순서가 뒤집힙니다"
    assert said in page.inner_text(".cautions")


def test_back_closes_a_question_and_leaves_the_report_open(opened):
    """An opened question is one place in the history, however many are stepped through."""
    page = opened(width=390, height=844)
    before = page.evaluate("history.length")
    page.click("#rows tr[data-at='1']")
    page.wait_for_selector("dialog .card")
    page.click("#next")
    page.wait_for_selector("#detail-title:has-text('규정 2번')")
    expect(page).to_have_url(re.compile("#q=q02$"))
    assert page.evaluate("history.length") == before + 1
    page.go_back()
    page.wait_for_selector("#detail", state="hidden")
    assert page.locator("#rows tr").count() > 0
    page.go_forward()
    page.wait_for_selector("#detail-title:has-text('규정 2번')")
    page.keyboard.press("Escape")
    page.wait_for_selector("#detail", state="hidden")
    until(page, "!location.hash.startsWith('#q=')")


@pytest.mark.parametrize("soon", ["before", "after"])
def test_a_question_opened_at_once_after_another_was_closed_stays(opened, soon):
    """Before or after the closing is told, and while the page still goes back in the history."""
    page = opened()
    before = page.evaluate("history.length")
    page.click("#rows tr[data-at='1']")
    page.wait_for_selector("dialog .card")
    page.evaluate(
        """(soon) => {
          const open = () => document.querySelector("#rows tr[data-at='2']").click();
          const dialog = document.getElementById("detail");
          if (soon === "after") dialog.addEventListener("close", open, { once: true });
          dialog.close();
          if (soon === "before") open();
        }""",
        soon,
    )
    expect(page).to_have_url(re.compile("#q=q02$"))
    expect(page.locator("#detail-title")).to_have_text("수리 규정 2번은 무엇인가요?")
    expect(page.locator("dialog .card").first).to_be_visible()
    assert page.evaluate("history.length") == before + 1
    page.go_back()
    page.wait_for_selector("#detail", state="hidden")
    until(page, "!location.hash.includes('q=')")


def test_a_link_to_a_question_opens_it(opened, report):
    """The address of an opened question leads to it, and Back from there to the report."""
    page = opened()
    page.goto("about:blank")
    page.goto(report.as_uri() + "#q=q03")
    page.wait_for_selector("#detail-title:has-text('규정 3번')")
    page.keyboard.press("Escape")
    page.wait_for_selector("#detail", state="hidden")
    page.wait_for_selector("#rows tr")


def test_the_head_of_a_question_stays_in_view_on_a_phone(opened):
    """Title, previous, next and close are there wherever one has scrolled to."""
    page = opened(width=390, height=844)
    page.click("#rows tr[data-at='1']")
    page.wait_for_selector("dialog .card")
    page.evaluate("document.getElementById('detail').scrollTop = 1e6")
    assert page.evaluate("document.getElementById('detail').scrollTop") > 100
    for name in ("#detail-title", "#previous", "#next", "#close"):
        box = page.locator(name).bounding_box()
        assert 0 <= box["y"] < 200, name
    assert page.locator(".detail-head").bounding_box()["height"] < 844 / 4


def test_a_phone_sees_the_winner_first_and_that_there_is_more(opened, combined):
    """The leader's column comes first, and a table wider than the page says so."""
    page = opened(path=combined, width=320, height=700)
    page.select_option(".controls select", label="recall@40chars")
    heads = page.locator(".metrics >> nth=0").locator("thead th").all_inner_texts()
    assert heads[1].strip().endswith("v2")
    assert page.locator(".scroll-hint").first.is_visible()
    page = opened(path=combined)
    assert not page.locator(".scroll-hint").first.is_visible()


def test_a_retriever_has_one_colour_everywhere(opened):
    """In tables, the chosen pair, an opened question and figures."""
    page = opened()
    colours = page.evaluate(
        """() => {
          const of = (node) => node && getComputedStyle(node).fill;
          const root = getComputedStyle(document.documentElement);
          return {
            table: of(document.querySelector(".metrics thead th:nth-child(2) .marker")),
            head: of(document.querySelector("#head th.a .marker")),
            lead: of(document.querySelector(".both .marker")),
            figure: of(document.querySelector("#figure-metrics .marker")),
            a: getComputedStyle(document.querySelector("#a")).borderLeftColor,
          };
        }"""
    )
    assert len(set(colours.values())) == 1, colours
    assert colours["a"].startswith("rgb")


def marked(tmp_path, ranks, n):
    """The path of a page on retrievers that find each gold at a rank, and their comparison."""
    from kragx import GoldDataset, Run, compare, evaluate, write_html

    gold = GoldDataset.from_documents({f"q{at}": [f"g{at}"] for at in range(n)})
    queries = [replace(query, query_type="ab"[at % 2]) for at, query in enumerate(gold)]
    gold = replace(gold, queries=tuple(queries))
    results = []
    for name, rank in ranks.items():
        lists = {
            f"q{at}": [*[f"other{other}" for other in range(rank(at) - 1)], f"g{at}"]
            for at in range(n)
        }
        run = Run.from_documents(lists, name=name)
        results.append(evaluate(gold, run, match="exact", metrics=["mrr@5", "recall@3"]))
    comparison = compare(results, slices=["query_type"])
    path = tmp_path / "report.html"
    write_html(results, path, comparisons=[comparison])
    return path, comparison


def marks_of(page):
    """For each metric the marks of the retrievers, as the page shows them."""
    rows = page.locator(".metrics >> nth=0").locator("tbody tr").all()
    return {
        row.locator("th button").inner_text(): [
            (cell.locator(".number > :first-child").inner_text() + " ")[0]
            if cell.locator("[class$=-mark]").count()
            else ""
            for cell in row.locator("td").all()
        ]
        for row in rows
    }


def test_marks_are_those_of_the_terminal_and_of_markdown(opened, tmp_path):
    """Who gets ★, = or ≈ is decided once: the page, the terminal and Markdown show the same."""
    from kragx.ground.printing import as_markdown, as_text

    ranks = {
        "first": lambda at: 1,
        "second": lambda at: 1 + at % 2,
        "third": lambda at: 1 + (at + 1) % 2,
        "last": lambda at: 3 if at % 9 else 4,
    }
    path, comparison = marked(tmp_path, ranks, 36)
    leaders = comparison.overall.leaders
    assert leaders["mrr@5"].marks == {"first": "★"}
    assert leaders["recall@3"].marks == dict(zip(ranks, "===≈", strict=True))
    expected = {
        metric: [leader.marks.get(name, "") for name in ranks] for metric, leader in leaders.items()
    }
    page = opened(path=path)
    assert marks_of(page) == expected
    assert comparison.means_table().note in page.locator(".legend", has_text="★").all_inner_texts()
    assert "first is best on mrr@5." in page.inner_text(".headline")
    for text in (as_text([comparison.means_table()]), as_markdown([comparison.means_table()])):
        line = {
            metric: next(each for each in text.splitlines() if metric in each) for metric in leaders
        }
        assert line["mrr@5"].count("★") == 1
        assert (line["recall@3"].count("="), line["recall@3"].count("≈")) == (3, 1)


def test_equal_values_have_equal_marks(opened, tmp_path):
    """Two that share the best value, though not at the same questions: both have ``=``."""
    ranks = {"even": lambda at: 1 + at % 2, "odd": lambda at: 2 - at % 2, "bad": lambda at: 2}
    path, comparison = marked(tmp_path, ranks, 6)
    page = opened(path=path)
    assert marks_of(page)["mrr@5"] == ["=", "=", "≈"]
    assert "share the best value" in page.inner_text(".headline")
    assert page.locator("#slices-title").count() == 0  # three questions each
    path, comparison = marked(tmp_path, ranks, 20)
    page = opened(path=path)
    slices = page.locator(".metrics >> nth=1").locator("tbody tr").all()
    assert [row.locator("td:not(:last-child) .number > span").count() for row in slices] == [
        len(part.leaders["mrr@5"].marks) for part in comparison.slices
    ]
    assert len(slices) == 2


def test_help_is_reached_by_keyboard(opened, tmp_path):
    """What p after correction is stands behind a question mark, said to all readers."""
    names = {"a": lambda at: 1, "b": lambda at: 1 + at % 2, "c": lambda at: 2 + at % 2}
    path, comparison = marked(tmp_path, names, 20)
    page = opened(path=path)
    mark = page.locator(".verdict .help").first
    mark.focus()
    assert comparison.n_tests == 3
    said = "from the paired test, corrected together with others"
    assert said in mark.get_attribute("aria-label")
    assert page.evaluate("getComputedStyle(document.activeElement, '::after').content").startswith(
        '"How often'
    )
    page.click(".meanings summary")
    assert "The share of a question's gold" in page.inner_text(".meanings")


def test_no_row_of_questions_is_cut_in_half(opened):
    """The table of questions is as high as whole rows."""
    for height in (700, 900, 1100):
        page = opened(height=height)
        room = page.evaluate(
            "document.getElementById('scroller').clientHeight"
            " - document.getElementById('head').offsetHeight"
        )
        assert room % 60 < 3, (height, room)


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
        "figure svg[role=img]", "all => all.map(each => each.getAttribute('aria-label'))"
    )
    assert len(labels) >= 4
    assert all(labels)
    assert "threshold 0.5" in page.inner_text("#figure-scores")


def test_the_report_of_the_consumer_config(opened, tmp_path, monkeypatch):
    """Six retrievers on 150 questions: nothing is certain, and the page says so; questions open."""
    pytest.importorskip("bm25s")
    from kragx.app import config, pipeline
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
    assert page.inner_text("#count") == "질문 150개 중 30개"
    page.fill("#search", "ko-q01")
    page.click("#reset")
    page.fill("#search", "ko-q01")
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .card")
    assert page.locator(".all-retrievers button").count() == 6
    assert page.locator("dialog .gold mark").count() > 0


@pytest.mark.parametrize(
    ("language", "said", "chip"),
    [
        (
            "en-US",
            "Questions marked unanswerable: 3; always retrieves something for 2",
            "none the less",
        ),
        ("ko-KR", "답이 없다고 표시된 질문 3개 가운데 2개에서 always 쪽이", "문서를 가져옴"),
    ],
)
def test_what_is_retrieved_where_nothing_answers(opened, tmp_path, language, said, chip):
    """The page counts it, leads to those questions, and says so beside what was retrieved."""
    gold = {f"q{at}": [f"a text {at} to be found"] for at in range(4)}
    unanswerable = ["u0", "u1", "u2"]
    dataset = GoldDataset.from_documents(
        gold | {name: [] for name in unanswerable}, unanswerable=unanswerable
    )
    lists = gold | {"u0": ["beside the point"], "u1": [], "u2": ["beside the point too"]}
    run = Run.from_documents(lists, name="always")
    path = tmp_path / "report.html"
    write_html(
        [evaluate(dataset, run, metrics=["recall@3", "abstention"])], path, runs={"always": run}
    )
    page = opened(path=path, language=language)
    told = page.locator("p", has_text=said)
    told.get_by_role("button").click()
    assert ids(page) == ["u0", "u2"]
    page.click("#rows tr:has-text('u0')")
    assert chip in page.inner_text(".why-line")


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
@pytest.mark.parametrize(("n_retrievers", "n_stages"), [(3, 1), (3, 8), (10, 4)])
@pytest.mark.parametrize("width", [390, 1280])
def test_where_the_gold_is_lost(opened, tmp_path, language, n_retrievers, n_stages, width):
    """The section names each stage, links to questions, and leaves the page its width."""
    path = tmp_path / "report.html"
    write_chains(path, n_retrievers, n_stages)
    page = opened(width=width, language=language, path=path)
    section = page.locator("section.stages")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if n_stages == 1:
        assert section.count() == 0
        return
    assert section.locator("> details").count() == n_retrievers
    section.locator("> details").first.evaluate("details => { details.open = true; }")
    assert (
        section.locator("> details").first.locator("tbody tr").count() == n_stages + 1
    )  # the answer
    assert section.locator("table").first.locator("tbody tr").count() == n_retrievers
    section.locator(".lost-gold button").first.click()
    assert page.locator("dialog#detail[open]").count() == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_what_was_said_before_stands_above_the_question(opened, tmp_path, width):
    """The turns of a conversation are shown in order, as texts; other questions have none."""
    said = (Turn("user", "환불은?"), Turn("assistant", "<b>7일</b> 안에 됩니다."))
    gold = GoldDataset(
        (
            Query("q1", "환불은?", (Gold(text="일곱 날 안에"),)),
            Query("q2", "그럼 교환은요?", (Gold(text="열흘 안에"),), history=said),
        )
    )
    run = Run.from_documents({"q1": ["일곱 날 안에"], "q2": ["딴 글"]}, name="one")
    path = tmp_path / "report.html"
    write_html([evaluate(gold, run, metrics=["recall@1"])], path, dataset=gold, runs={"one": run})
    page = opened(width=width, language="ko-KR", path=path)
    page.locator("#rows tr", has_text="그럼 교환은요?").first.click()
    turns = page.locator("dialog#detail .history li")
    expect(turns).to_have_text(
        ["사용자: 환불은?", "어시스턴트: <b>7일</b> 안에 됩니다."], use_inner_text=True
    )
    page.click("#previous")
    expect(page.locator("#detail-title")).to_have_text("환불은?")
    assert page.locator("dialog#detail .history").count() == 0
