"""Reports to look at in Chromium."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

from kragx import Gold, GoldDataset, Query, Retrieved, Run, evaluate
from kragx.comparison import Settings
from kragx.matchers import matcher
from kragx.report.html_page.page import write_html

HOSTILE = (
    "</script><script>window.stolen = 1</script>"
    "<img src=x onerror='window.stolen = 2'><!-- {{data}} \u2028\u2029 "
    "user\u202egnp.exe \u2067abc\u2069 \ufffd &lt;b&gt;"
)


# What is left of a hostile text once markup is out of it: its comment has no end.
SEEN = "표시가 아닌 글자만 서로 견준다:"


def pytest_collection_modifyitems(items):
    """What needs a browser is marked as such."""
    for item in items:
        if "tests/report/browser" in str(item.path.as_posix()):
            item.add_marker(pytest.mark.browser)


def dataset() -> GoldDataset:
    """40 questions in two types; the last ones are troublesome."""
    topics = ("환불", "배송", "수리", "보증")
    queries = [
        Query(
            f"q{at:02}",
            f"{topics[at % 4]} 규정 {at}번은 무엇인가요?",
            gold=(Gold(id=f"g{at}", text=f"{topics[at % 4]} 규정 {at}번은 {at}일 안에 신청한다."),),
            query_type="easy" if at % 2 else "hard",
            metadata={"note": "plain"},
        )
        for at in range(37)
    ]
    queries += [
        Query(
            "hostile",
            f"질문 {HOSTILE}",
            gold=(Gold(text=f"{SEEN} 정답 {HOSTILE}"),),
            query_type="hard",
        ),
        Query("failed", "실패하는 질문", gold=(Gold(text="아무도 찾지 못하는 정답 글"),)),
        Query("nothing", "정답이 없는 질문", query_type="easy"),
    ]
    return GoldDataset(tuple(queries), name="가상 <b>골드셋</b>")


def runs(gold: GoldDataset) -> dict[str, Run]:
    """`좋은 검색기` finds nearly all golds first; `weak` finds one in three, at the third rank."""
    good, weak = {}, {}
    for at, query in enumerate(gold):
        text = query.gold[0].text if query.gold else None
        near = f"전혀 다른 이야기 {at} 하나. {' '.join((text or '').split()[:3])} 그리고 끝"
        others = [{"id": f"n{at}-{n}", "text": f"관계없는 문서 {n} {query.id}"} for n in range(3)]
        hit = [{"id": f"g{at}", "text": f"앞 문장. {text} 뒤 문장."}] if text else []
        good[query.id] = [*(hit if at % 9 else [{"id": "near", "text": near}]), *others]
        weak[query.id] = [*others[:2], *(hit if at % 3 == 0 else []), others[2]]
    good["hostile"] = [{"id": HOSTILE, "text": f"{SEEN} 문서 {HOSTILE}"}]
    made = {
        "좋은 검색기": Run.from_documents(good, name="좋은 검색기"),
        "weak</script>": Run.from_documents(weak, name="weak</script>"),
    }
    broken = dict(made["weak</script>"].results)
    broken["failed"] = Retrieved(error="TimeoutError: <i>30 s</i>")
    broken["nothing"] = Retrieved()
    made["weak</script>"] = replace(made["weak</script>"], results=broken)
    return made


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """The path of a report on them, with two matchers."""
    gold = dataset()
    found = runs(gold)
    pairs = {"method": "overlap", "short": 0, "siblings": "together", "tokenizer": "unicode"}
    evaluations = [
        replace(evaluate(gold, run, match=spec, metrics=["ndcg@5", "recall@5"]), match_name=name)
        for name, spec in {"overlap": pairs, "strict": "exact"}.items()
        for run in found.values()
    ]
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_html(evaluations, path, runs=found, settings=Settings(max_failed=0.1))
    return path


LONG = "아주 긴 이름을 가진 한국어 하이브리드 검색기 (BM25 + 벡터, 재순위화 포함)"


@pytest.fixture(scope="session")
def combined(tmp_path_factory):
    """The path of a report with a cascade, a budget, long names and a long error."""
    gold = GoldDataset(
        tuple(
            Query(f"q{at}", f"{at}번 질문", gold=(Gold(text=f"가{at} 나 다 라 마 바"),))
            for at in range(6)
        )
    )
    pairs = {"method": "overlap", "short": 0, "siblings": "together", "tokenizer": "unicode"}
    chosen = matcher(
        {
            "cascade": [
                {**pairs, "accept": 0.9, "reject": 0.1},
                {"method": "rouge1", "threshold": 0.5},
            ]
        }
    )
    first, second = {}, {}
    for at, query in enumerate(gold):
        whole = f"앞 {query.gold[0].text} 뒤"
        part, less = f"가{at} 나 다 라 하나 둘 셋 넷", f"가{at} 나 다 하나 둘 셋 넷"
        filler = "관계없는 긴 문서가 앞에 서서 자리를 스무 글자 넘게 차지한다"
        first[query.id] = [whole, part, less] if at < 3 else [filler, "딴 글", whole]
        second[query.id] = [whole] if at < 4 else ["딴 글"]
    made = {
        f"{LONG} v1": Run.from_documents(first, name=f"{LONG} v1"),
        f"{LONG} v2": Run.from_documents(second, name=f"{LONG} v2"),
    }
    broken = dict(made[f"{LONG} v2"].results) | {"q5": Retrieved(error="x" * 500)}
    made[f"{LONG} v2"] = replace(made[f"{LONG} v2"], results=broken)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "gold of one template")
        evaluations = [
            evaluate(gold, run, match=chosen, metrics=["recall@3", "recall@40chars"])
            for run in made.values()
        ]
    path = tmp_path_factory.mktemp("combined") / "report.html"
    write_html(
        evaluations,
        path,
        runs=made,
        matchers={evaluations[0].match_name: chosen},
        settings=Settings(max_failed=0.2),
    )
    return path


@pytest.fixture(scope="session")
def missed(tmp_path_factory):
    """The path of a report with a question for each way of missing gold, by id and by score."""
    words = "하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉"
    lists = {
        "alike": [("x", f"앞 {words} 뒤", None)],
        "kin": [("x", "딴 글 하나", "faq"), ("law:2", "법의 다른 글", "law")],
        "similar": [("x", "하나 둘 셋 넷 말 글 책 참 곧 또", "faq")],
        "nothing": [("x", "딴 글", "faq")],
        "late": [("x", "딴 글", "faq"), ("law:1", words, "law")],
    }
    gold = GoldDataset(
        tuple(
            Query(name, f"{name}?", gold=(Gold("law:1", words, metadata={"source": "law"}),))
            for name in lists
        )
    )
    run = Run.from_documents(
        {
            name: [
                {"id": id_, "text": text, "metadata": {"source": source} if source else {}}
                for id_, text, source in docs
            ]
            for name, docs in lists.items()
        },
        name="one",
    )
    evaluations = [
        replace(evaluate(gold, run, match=spec, metrics=["recall@1"]), match_name=name)
        for name, spec in {"id": "id", "score": {"method": "rouge1", "threshold": 0.99}}.items()
    ]
    path = tmp_path_factory.mktemp("missed") / "report.html"
    write_html(evaluations, path, runs={"one": run})
    return path


@pytest.fixture
def opened(chromium, report):
    """Opens the report in a new window; fails if anything but the file itself is asked for."""
    contexts, requests, errors = [], [], []

    def go(*, width=1440, height=900, language="en-US", theme="light", path=report):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, locale=language, color_scheme=theme
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield go
    for context in contexts:
        context.close()
    assert errors == []
    assert all(url.startswith("file://") and url.endswith(".html") for url in requests), requests
