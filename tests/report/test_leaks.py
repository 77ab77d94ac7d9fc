"""What reports say of what must not be found: first, and nothing where nothing is forbidden."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, compare, evaluate
from kragx.adapters.junit import gates_xml
from kragx.api.evaluations import Evaluations
from kragx.app.run_summary import screen
from kragx.comparison import Comparison, check_gates
from kragx.comparison.gate_conditions import parse_gates
from kragx.evaluation.leaks import LeakReport, leak_parts, leak_texts, leaks_table
from kragx.ground.printing import Table, as_markdown, speaking
from kragx.report.csv_files import queries_csv
from kragx.report.findings import Findings, summary_markdown
from kragx.report.html_page.cells import Sources
from kragx.report.html_page.payload import payload
from tests.leaks import leaking
from tests.report.test_page import unpacked

N = 40
DATASET = GoldDataset(
    tuple(Query(f"q{at}", f"question {at}", (Gold(id=f"d{at}"),)) for at in range(N)), name="shop"
)


def found(name: str, n_found: int, **options):
    """What a retriever found that has gold first for so many questions."""
    run = Run(
        {
            f"q{at}": Retrieved(
                tuple(Doc(f"{own}{at}") for own in ("dxy" if at < n_found else "xyz"))
            )
            for at in range(N)
        },
        name=name,
    )
    return evaluate(DATASET, run, match="id", metrics=["mrr@3"], **options)


@pytest.fixture(scope="module")
def several():
    """The best retriever leaks for two questions; the other does not, though not all is known."""
    best = leaking(found("best", 40), {"q3": {2: "tenant"}, "q9": {1: "tenant", 3: "version"}})
    other = leaking(found("other", 8), {}, could=[f"q{at}" for at in range(30)], unknown=["q1"])
    return [best, other]


@pytest.fixture(scope="module")
def comparison(several) -> Comparison:
    """Both of them."""
    return compare(several)


def reports(evaluations) -> list[LeakReport]:
    """What each retriever let through."""
    return [evaluation.leak_report for evaluation in evaluations]


def shown(parts) -> list[str]:
    """The lines that are not empty."""
    return [line for line in as_markdown(list(parts)).splitlines() if line]


def test_how_many_leak_and_the_first_three(several):
    """A line for each retriever, those that leak first, and what has come."""
    assert [line.text for line in leak_parts(reports(several[::-1]), most=2)] == [
        "best: leaks for 2 of 40 questions that could leak (leak@3: [0.6%, 17.0%])",
        "other: no leak is known for 30 questions that could leak (leak@3: at most 17.3%); not "
        "known for 1 (items that no document can match: 1)",
        "best: q3: q3-doc2 at rank 2 (tenant)",
        "best: q9: q9-doc1 at rank 1 (tenant)",
        "and 1 more",
    ]
    with speaking("ko"):
        korean = shown(leak_parts(reports(several)))
    assert korean[0].startswith("best: 누출이 일어날 수 있는 질문 40개 중 2개에서 누출 (leak@3:")


def test_a_winner_that_leaks_is_called_that(comparison):
    """The verdict has the word, and its caution says how often."""
    verdict = comparison.recommendations[0]
    assert verdict.kind == "winner"
    assert verdict.text.startswith("Use best, which leaks: in mrr@3 it is better")
    assert [caution.code for caution in verdict.cautions] == ["leaks"]
    assert verdict.said.endswith("Caution: best leaks, leak@3 is 0.0500 [0.6%, 17.0%].")


def test_they_come_first(several, comparison):
    """On the screen, in Markdown, for CI and in Python leaks stand above verdict and means."""
    screened = shown(screen(Findings(several, [comparison])))
    described = shown(Evaluations.of(several).describe())
    report = as_markdown(Findings(several, [comparison]).parts()).splitlines()
    summary = summary_markdown(Findings(several, [comparison])).splitlines()
    for lines in (screened, described, report, summary):
        (leak,) = [at for at, line in enumerate(lines) if line.startswith("best: leaks for 2 of")]
        verdict = [at for at, line in enumerate(lines) if "Use best, which leaks" in line]
        means = [at for at, line in enumerate(lines) if line.startswith("| metric")]
        assert leak < min(verdict + means)
        assert verdict, "the verdict is there"
    assert "| best | q9 | q9-doc3 | 3 | version |" in report
    assert "- best: q3: q3-doc2 at rank 2 (tenant)" in summary


def test_the_rule_stands_in_the_report(several):
    """It stands there once, below the leaks; what is forbidden by an item has none."""
    rules = {"tenant": {"metadata.tenant": {"not": "north"}}}
    by_rule = replace(several[0], settings={**several[0].settings, "forbidden": {"rules": rules}})
    assert [leak.rules for leak in by_rule.leaks] == [rules, rules, {}]
    assert [leak.rules for leak in several[0].leaks] == [{}, {}, {}]
    report = as_markdown(Findings([by_rule], [compare(several)]).parts())
    assert "| q3 | q3-doc2 | 2 | tenant |" in report.splitlines()
    (rule,) = (line for line in report.splitlines() if "metadata.tenant" in line)
    assert rule.startswith("- rule tenant: ")


def test_the_table_has_rows_of_each_retriever():
    """The first leak of each, then the second, until there are as many as fit."""
    many = {f"q{at}": {1: "tenant"} for at in range(N)}
    parts = [*leaks_table(reports(leaking(found(name, 40), many) for name in "abc"), most=5)]
    (table,) = (part for part in parts if isinstance(part, Table))
    assert [row[:2] for row in table.rows] == [
        ["a", "q0"],
        ["b", "q0"],
        ["c", "q0"],
        ["a", "q1"],
        ["b", "q1"],
    ]
    assert table.note == "and 115 more"


def test_each_retriever_keeps_its_line():
    """All have one, the clean ones too; those that leak come first, and old versions last."""
    leak = {"q1": {1: "tenant"}}
    metrics = ["leak@3", "stale_first@3"]
    clean = [leaking(found(f"clean{at}", 40), {}, metrics=metrics) for at in range(9)]
    bad = leaking(found("bad", 40), leak, metrics=metrics)
    texts = [line.text for line in leak_parts(reports([*clean, bad]), most=0)]
    names = [text.partition(":")[0] for text in texts]
    assert names[:10] == ["bad", *(own.name for own in clean)]
    assert ["stale_first" in text for text in texts] == [False] * 10 + [True] * 10


def test_the_column_of_leaks(several):
    """Each line of queries.csv says what came; without anything forbidden there is no column."""
    header, *lines = queries_csv(several).splitlines()
    assert header == "query_id,retriever,match,mrr@3,leak@3,failure,leaks"
    assert lines[9] == 'q9,best,id,1.0,1.0,,"1: q9-doc1 (tenant); 3: q9-doc3 (version)"'
    assert lines[N + 1] == "q1,other,id,1.0,,,"
    assert "leaks" not in queries_csv([found("best", 40)])


def test_json(several):
    """Counts of the metric, and the leaks where queries are asked for."""
    record = json.loads(json.dumps(several[0].to_dict(queries=True)))
    assert record["counts"]["metrics"]["leak@3"] == {
        "n_scored": 40,
        "n_could": 40,
        "n_leaked": 2,
        "n_open": 0,
        "n_unanswered": 0,
        "n_lost": 0,
        "n_lacking": 0,
        "n_empty": 0,
        "n_short": 0,
    }
    assert record["leaks"][0] == {
        "query_id": "q3",
        "rank": 2,
        "document": "q3-doc2",
        "kinds": ["tenant"],
        "rules": {},
    }
    assert "leaks" not in several[1].to_dict(queries=True)
    assert several[1].counts["metrics"]["leak@3"]["n_open"] == 1


def test_junit(several):
    """Leaks are a suite of their own that passes, as a gate says how much is too much."""
    root = ElementTree.fromstring(gates_xml((), leaks=leak_texts(reports(several))))
    (suite,) = root
    assert suite.get("name") == "kragx leaks"
    assert [case.get("classname") for case in suite] == ["best", "other"]
    assert "leaks for 2 of 40 questions" in suite[0].findtext("system-out")
    assert "q9: q9-doc1 at rank 1 (tenant)" in suite[0].findtext("system-out")
    assert (root.get("tests"), root.get("failures")) == ("2", "0")
    assert "leaks" not in gates_xml((), leaks=leak_texts(reports([found("best", 40)])))


def test_gates_look_at_the_exact_limit(comparison):
    """Of what is known and what is not; shown rounded up."""
    gates = parse_gates({"leak@3": ["surely < 0.18", "surely < 0.17"]}, [])
    results = {
        (result.retriever, result.condition): result for result in check_gates(gates, [comparison])
    }
    assert results["best", "surely < 0.18"].passed
    assert results["other", "surely < 0.18"].passed
    other = results["other", "surely < 0.17"]
    assert not other.passed
    assert other.value == pytest.approx(0.17217, abs=1e-5)  # beta.ppf(.975, 2, 29)
    assert other.said == (
        "0.0333 at worst, as 1 of 30 questions is not known, surely at most 17.3% (n = 29)"
    )


def test_the_page_holds_them(several, comparison):
    """By question what came, what is said of each retriever, and that limits are exact."""
    index = unpacked(payload(Findings(several, [comparison]), Sources(DATASET))["index"])
    (best, other) = index["cells"][0]
    assert best["leaks"]["found"]
    assert not other["leaks"]["found"]
    rows = {
        "3": [[2, "q3-doc2", ["tenant"], None]],
        "9": [[1, "q9-doc1", ["tenant"], None], [3, "q9-doc3", ["version"], None]],
    }
    assert best["leaks"]["rows"] == rows
    ((line, is_bad),) = best["leaks"]["lines"]
    assert is_bad
    assert set(line) == {"en", "ko"}
    assert [metric.get("exact") for metric in index["metrics"]] == [None, True]


def test_nothing_where_nothing_is_forbidden():
    """No line, column or key says anything of leaks."""
    plain = [found("best", 40), found("other", 8)]
    comparison = compare(plain)
    index = json.dumps(unpacked(payload(Findings(plain, [comparison]), Sources(DATASET))["index"]))
    texts = (
        as_markdown(Findings(plain, [comparison]).parts()),
        summary_markdown(Findings(plain, [comparison])),
        *shown(screen(Findings(plain, [comparison]))),
        json.dumps([own.to_dict(queries=True) for own in plain]),
        json.dumps(comparison.to_dict()),
        index,
    )
    assert not any("leak" in text.lower() or "exact" in text.lower() for text in texts)
