"""What reports say of searches; and nothing where nobody searches twice."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kragx import (
    Doc,
    GoldDataset,
    Query,
    Retrieved,
    Run,
    Search,
    evaluate,
    write_figures,
    write_html,
)
from kragx.ground.printing import as_markdown, speaking
from kragx.judging import Judge
from kragx.report.findings import Findings
from kragx.testing import ScriptedClient
from tests.report.searching import N, dataset, runs
from tests.report.test_page import parts

METRICS = ["ndcg@5", "evidence_recall", "first_search", "waste", "recall@3(of=all)"]


@pytest.fixture(scope="module")
def results():
    """The agents and the retriever, compared."""
    return evaluate(dataset(), runs(), match="id", metrics=METRICS)


@pytest.fixture(scope="module")
def data(results, tmp_path_factory):
    """What their page holds."""
    path = tmp_path_factory.mktemp("searches") / "page.html"
    write_html(results.evaluations, path, dataset=dataset(), runs=runs(), losses=results.losses)
    return parts(path)


def test_questions_by_what_their_searches_came_to(data):
    """As lists of the page's questions, and what was found by step; the basis stands above all."""
    index = data["index"]
    cells = dict(zip(index["retrievers"], index["cells"][0]))
    everyone = list(range(N))
    assert index["basis"] == "first"
    assert cells["thorough"]["searches"] == {
        "found": {"steps": [1, 2, 3, 4], "values": [0.0, 0.5, 0.5, 0.5]},
        "rescued": everyone,
        "in_vain": [],
        "wasted": everyone,
        "unread": everyone,
    }
    assert cells["quick"]["searches"]["in_vain"] == [1, 3, 5]
    assert cells["quick"]["searches"]["found"]["values"] == [0.25, None, None, None]
    assert cells["once"]["searches"]["found"]["values"] == [0.5, None, None, None]


def test_where_gold_stands_in_the_list_of_a_metric(data):
    """Reasons are of the list that a metric is about: the step of searches, the rank in all."""
    index = data["index"]
    lists = {metric["name"]: metric.get("list") for metric in index["metrics"]}
    assert lists["ndcg@5"] is None
    assert lists["first_search"] == lists["evidence_recall"] == "steps"
    assert lists["recall@3(of=all)"] == "all turns"
    cells = dict(zip(index["retrievers"], index["cells"][0]))
    assert cells["thorough"]["first"][0] == [0, 0]
    assert cells["thorough"]["ranks"] == {"steps": [[2, 0]] * N, "all turns": [[2, 0]] * N}
    assert cells["once"]["ranks"]["steps"][0] == [1, 0]


def test_what_stands_beside_a_mean(data, results):
    """The step that it stands for, searches in vain, and never; in print and on the page."""
    means = json.dumps(data["index"]["standings"]["id"]["means"], ensure_ascii=False)
    assert "0.5000 (median: step 2)" in means
    assert "중앙값: 2단계" in means
    assert "in vain: 3" in means
    printed = str(results)
    assert "0.5000 (median: step 2)" in printed
    assert "in vain: 3" in printed
    with speaking("ko"):
        assert "중앙값: 2단계" in str(results)


def test_never(tmp_path):
    """What fewer than half of the questions find has no cost that is a number."""
    gold, run = dataset(), runs()["quick"]
    answers = {name: run[name] for name in ("q1", "q3", "q5", "q0")}
    given = {
        name: replace(answer, searches=tuple(replace(s, tokens=100) for s in answer.searches))
        for name, answer in answers.items()
    }
    some = replace(gold, queries=tuple(query for query in gold if query.id in given))
    result = evaluate(
        some, Run(given, name="quick"), match="id", metrics=["ndcg@5", "tokens_to_evidence"]
    )
    assert "never" in str(result)
    path = tmp_path / "page.html"
    write_html([result], path, dataset=some, runs={"quick": Run(given, name="quick")})
    index = parts(path)["index"]
    assert "never" in json.dumps(index["standings"]["id"]["means"])
    assert index["cells"][0][0]["mean"]["tokens_to_evidence"] is None


def test_an_opened_question(data):
    """Documents once, searches by step with their places among them, matches, and what was read."""
    index, detail = data["index"], data["detail-0"][0]
    searches = detail["runs"]["thorough"]["searches"]
    assert [entry[0] for entry in searches["docs"]] == ["x0", "y0", "a0"]
    assert searches["read"] == [1]
    assert [row[1:] for row in searches["list"]] == [
        ["handbook", 1, 0, 0.5, 300, None, 1, [0, 1], 2],
        ["handbook", 2, 0, None, 400, None, 1, [0, 2], 2],
        ["web", 2, 1, None, 50, "TimeoutError: 30 s", 0, [], 0],
        ["web", 3, 0, None, 100, None, 1, [2, 1], 2],
        ["sql", 4, 0, None, 20, None, 0, [], 0],
    ]
    column = index["retrievers"].index("thorough")
    assert detail["searched"][0][column] == [2, 0, 1.0]
    assert "searches" not in detail["runs"]["once"]
    assert detail["searched"][0][index["retrievers"].index("once")] == []


def test_gold_of_which_only_the_id_is_known(tmp_path):
    """Its text is that of a document of any search, not of the list of metrics alone."""
    gold = GoldDataset.from_documents({"q1": [{"id": "late"}, {"id": "never"}]})
    searches = (Search("a", (Doc("x", "an other"),)), Search("b", (Doc("late", "the text"),)))
    run = Run({"q1": Retrieved(searches=searches, has_list=False)}, name="agent")
    result = evaluate(gold, run, match="id", metrics=["ndcg@5"])
    path = tmp_path / "page.html"
    write_html([result], path, dataset=gold, runs={"agent": run})
    page = parts(path)
    late, never = (item["text"] for item in page["detail-0"][0]["gold"])
    assert (page["texts-0"][late], never) == ("the text", -1)


def test_a_question_that_failed(tmp_path):
    """Its searches are shown, and nothing is said of what is gold; of who made none that."""
    answers = {**runs()["quick"].results}
    answers["q0"] = Retrieved(searches=answers["q0"].searches, error="limit of 1 step")
    answers["q2"] = Retrieved(has_list=False)
    run = Run(answers, name="quick")
    result = evaluate(dataset(), run, match="id", metrics=["ndcg@5"])
    path = tmp_path / "page.html"
    write_html([result], path, dataset=dataset(), runs={"quick": run})
    failed, other, idle = parts(path)["detail-0"][:3]
    assert idle["runs"]["quick"]["searches"] == {"docs": [], "list": [], "read": []}
    assert failed["runs"]["quick"]["error"] == "limit of 1 step"
    assert failed["runs"]["quick"]["searches"]["unmatched"] == 1
    assert len(failed["runs"]["quick"]["searches"]["docs"]) == 2
    assert failed["searched"] == [[[]]]
    assert "unmatched" not in other["runs"]["quick"]["searches"]


def test_where_gold_is_lost(data, results):
    """In the report, side by side, in both languages, and on the page."""
    page = data["index"]["losses"]["id"]
    of_page = {part["retriever"]: part for part in page["retrievers"]}
    reasons = {name: {own["text"]["en"] for own in of_page[name]["lost"]} for name in of_page}
    assert "never retrieved" in reasons["thorough"]
    assert any(text.startswith("retrieved, not read") for text in reasons["thorough"])
    assert any(text.startswith("cut · ") for text in reasons["quick"])
    evaluations = list(results.evaluations.values())
    findings = Findings(evaluations, [results.comparison], losses=results.losses)
    report = as_markdown(findings.parts())
    assert "retrieved, not read" in report
    assert "rerank" in report
    assert "0.5000 (median: step 2)" in report


def test_nothing_of_it_without_searches(tmp_path):
    """Neither keys on the page nor a figure, nor a word in print."""
    gold, run = dataset(), runs()["once"]
    result = evaluate(gold, {"once": run}, match="id", metrics=["ndcg@5"])
    path = tmp_path / "page.html"
    write_html(result.evaluations, path, dataset=gold, runs={"once": run})
    data = parts(path)
    assert "basis" not in data["index"]
    assert "list" not in data["index"]["metrics"][0]
    assert {"searches", "ranks"}.isdisjoint(data["index"]["cells"][0][0])
    assert "searched" not in data["detail-0"][0]
    assert "search" not in json.dumps(data["detail-0"])
    files = write_figures([result.comparison], list(result.evaluations.values()), tmp_path)
    assert not [file for file in files if "steps" in file.name]
    assert "search" not in as_markdown([*result.describe()])


def test_a_pool_knows_what_only_later_searches_brought(tmp_path):
    """Its relevant documents have their texts, and where gold is lost is not said of it."""
    gold = GoldDataset((Query("q1", "who pays?"),))
    searches = (Search("a", (Doc("x", "an other"),)), Search("b", (Doc("g", "the member pays"),)))
    run = Run({"q1": Retrieved(searches=searches, has_list=False)}, name="agent")
    client = ScriptedClient(lambda request: 3 if "the member pays" in str(request) else 0)
    judge = Judge(client, store=tmp_path / "judge.sqlite")
    results = evaluate(
        gold, {"agent": run}, match={"method": "llm", "judge": judge}, metrics=["ndcg@2"]
    )
    path = tmp_path / "page.html"
    write_html(results.evaluations, path, dataset=gold, runs={"agent": run})
    data = parts(path)
    detail = data["detail-0"][0]
    relevant = [
        item
        for item, rank in zip(detail["pool"][0], data["index"]["cells"][0][0]["first"][0])
        if rank != -1
    ]
    assert [data["texts-0"][item["text"]] for item in relevant] == ["the member pays"]
    assert detail["searched"][0][0][0::3] == [0, 1]  # each matches itself
    assert results.losses[0].stages == ()
    assert "texts: overlap" in str(results.losses[0])
