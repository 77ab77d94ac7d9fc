"""A Korean page speaks Korean: no sentence in English but names, values and foreign errors."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kragx import GoldDataset, Run, compare, evaluate, pooled, write_html
from kragx.comparison import check_gates, parse_gates
from kragx.judging import Failure, Judge
from kragx.judging.clients.scripted import ScriptedClient
from kragx.report.html_page.page import page_words
from tests.accessibility import violations
from tests.report.browser.chains import write_chains
from tests.report.browser.conftest import dataset, runs

pytestmark = pytest.mark.filterwarnings("ignore:gold of one template")

# Three words of Latin letters, one after the other.
ENGLISH = re.compile(r"[A-Za-z']{2,}(?: [A-Za-z']+){2,}")

# Every text that is shown or read out, but for names, conditions of gates, and texts of data.
SAID = """() => {
  const left = "bdi, code, mark, .retriever, [lang=en], .text, script, style, noscript, option";
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest(left)) texts.push(walker.currentNode.data);
  }
  for (const name of ["title", "aria-label", "placeholder", "data-tip"]) {
    for (const own of document.body.querySelectorAll(`[${name}]:not([lang=en])`)) {
      texts.push(own.getAttribute(name));
    }
  }
  return texts;
}"""


def english(page):
    """What is said in English on a page, everything unfolded, and in an opened question."""
    matcher = page.locator("#top .brand p[title]").get_attribute("title")  # options, as written

    def found():
        texts = (text.replace(matcher, "") for text in page.evaluate(SAID))
        return [text for text in texts if ENGLISH.search(text)]

    page.evaluate("document.querySelectorAll('details').forEach((own) => { own.open = true; })")
    on_page = found()
    page.click("#rows tr[data-at='1']")
    page.wait_for_selector("dialog .side")
    return on_page + found()


def judged(tmp_path, *, gold):
    """The path of a page on which a judge has failed once; of a pool, where there is no gold."""
    texts = {"q1": ["강이 흐른다", "들이 넓다"], "q2": ["산이 높다", "들이 넓다"]}
    given = texts if gold else {key: [] for key in texts}
    queries = GoldDataset.from_documents(given, queries=["강은?", "산은?"])
    both = {
        "one": Run.from_documents(texts, name="one"),
        "two": Run.from_documents({"q1": ["들이 넓다"], "q2": ["산이 높다"]}, name="two"),
    }

    def reply(request):
        return Failure("refusal", "no") if "산이" in request.messages[1][1] else 3

    judge = Judge(ScriptedClient(reply), store=tmp_path / "store.sqlite", max_missing=0.9)
    match = {"method": "llm", "judge": judge, **({"mode": "support"} if gold else {"depth": 2})}
    if not gold:
        match = pooled(queries, both.values(), match=match)
    results = [
        evaluate(queries, run, match=match, metrics=["hit_rate@1", "recall@2"])
        for run in both.values()
    ]
    write_html(results, tmp_path / "report.html", runs=both, dataset=queries)
    return tmp_path / "report.html"


def gated(tmp_path):
    """The path of a page with gates of all kinds, remarks and too few questions."""
    gold, lists = dataset(), runs(dataset())
    metrics = ["hit_rate@5", "mrr@5", "seconds_mean"]
    results = [evaluate(gold, run, match="overlap", metrics=metrics) for run in lists.values()]
    conditions = {
        "hit_rate@5": ["surely >= 0.95", ">= 0.01", "no worse than baseline by 0.1"],
        "mrr@5": ["surely no worse than baseline by 0.01"],
        "n_failed": ["<= 0"],
    }
    gates = check_gates(parse_gates(conditions, []), [compare(results, max_failed=0.1)])
    write_html(results, tmp_path / "report.html", dataset=gold, runs=lists, gates=gates)
    return tmp_path / "report.html"


def chained(tmp_path):
    """The path of a page with stages."""
    write_chains(tmp_path / "report.html", 3, 4)
    return tmp_path / "report.html"


@pytest.mark.parametrize("made", ["gold", "pool", "gates", "stages"])
def test_no_sentence_is_english(opened, tmp_path, made):
    """Gates, remarks, cautions, stages, judged pools, labels that are read out; also opened."""
    path = {
        "gold": lambda: judged(tmp_path, gold=True),
        "pool": lambda: judged(tmp_path, gold=False),
        "gates": lambda: gated(tmp_path),
        "stages": lambda: chained(tmp_path),
    }[made]()
    page = opened(path=path, language="ko-KR")
    assert page.locator(".about [lang=en], .cautions [lang=en]").count() == 0
    assert english(page) == []
    assert english(opened(path=path)) != []  # that the search finds what there is


def test_fixed_pages(opened, report, combined, missed):
    """The reasons, combinations and failures of the other pages, too."""
    for path in (report, combined, missed):
        assert english(opened(path=path, language="ko-KR")) == []


def test_no_word_of_the_page_is_english():
    """Hangul in Korean alone, and English in English alone; commands are neither."""
    words = page_words()
    for key, text in words["en"].items():
        assert not re.search("[가-힣]", text), key
        assert not ENGLISH.search(re.sub(r"kragx [a-z ]+", "", words["ko"][key])), key


@pytest.mark.parametrize(
    ("language", "title"), [("en-US", "The judged pool"), ("ko-KR", "판정한 풀")]
)
def test_a_pool_has_its_numbers(opened, tmp_path, language, title):
    """Depth, documents, who graded, what is open, and what each value can become."""
    page = opened(path=judged(tmp_path, gold=False), language=language)
    section = page.locator("section.pool")
    assert section.locator("h2").inner_text() == title
    facts = dict(
        zip(
            section.locator("dt").all_inner_texts(),
            section.locator("dd").all_inner_texts(),
            strict=True,
        )
    )
    depth, documents, relevant, labels, known, _ = facts.values()
    assert "2" in depth
    assert documents == "4"
    assert relevant == "3"
    assert labels.endswith(": 3")
    assert "(75%)" in known
    rows = section.locator("tbody tr").all_inner_texts()
    assert len(rows) == 2
    assert any(("possible" if language == "en-US" else "가능 범위") in row for row in rows)
    assert violations(page, ".pool") == []
    plain = replace(evaluate([["a"]], [["a"]], match="exact"), name="one")
    write_html([plain], tmp_path / "plain.html")
    assert opened(path=tmp_path / "plain.html").locator("section.pool").count() == 0


def test_a_page_that_begins_in_korean(opened, tmp_path):
    """In an English browser, too; a button changes it. Two that tie are not each other's rivals."""
    gold = GoldDataset.from_documents(
        [[f"정답 {n}"] for n in range(20)], queries=[f"질문 {n}" for n in range(20)]
    )
    # Each is second where the other is first, for one question: the same mean, other values.
    lists = {
        name: Run.from_documents(
            [["딴 글"] * (n == second) + [f"정답 {n}"] for n in range(20)], name=name
        )
        for name, second in (("하나", 3), ("둘", 7))
    }
    results = {
        name: evaluate(gold, run, match="exact", metrics=["ndcg@5"]) for name, run in lists.items()
    }
    assert len({own["ndcg@5"] for own in results.values()}) == 1
    write_html(results, tmp_path / "tied.html", runs=lists, language="ko")
    page = opened(path=tmp_path / "tied.html")
    assert page.locator("html").get_attribute("lang") == "ko"
    assert "서로 구별되지 않습니다" in page.inner_text(".verdict")
    assert "하나, 둘의 값이 똑같이 가장 좋지만" in page.inner_text(".verdict .how")
    page.click("#language")
    assert page.locator("html").get_attribute("lang") == "en"
    assert "cannot be told from each other" in page.inner_text(".verdict")
