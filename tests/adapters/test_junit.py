"""Gates as JUnit XML."""

import shutil
from pathlib import Path
from xml.etree import ElementTree

from kragx.adapters.junit import gates_xml
from kragx.comparison import GateResult
from tests.thoroughness import all_cases

GOLD = [
    {"query_id": f"q{n}", "query": f"question {n}", "gold": [{"id": f"g{n}"}]} for n in range(6)
]
CONFIG = """
dataset: gold.jsonl
retrievers: {good: good.jsonl, bad: "toy_junit:bad"}
match: id
metrics: [mrr@5]
statistics: {resamples: 100}
gates: {mrr@5: ">= 0.9", retrievers: {good: {max_failed: 0}}}
output: out
"""

# What GitLab's and Jenkins's readers, and the schema of Jenkins's xunit plugin, have in common:
# for each element the attributes that must stand there, those that may, and what it may hold.
RULES = {
    "testsuites": ((), {"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": (
        ("name", "tests", "failures", "errors"),
        {"skipped", "time", "timestamp"},
        {"testcase"},
    ),
    "testcase": (
        ("name", "classname"),
        {"time"},
        {"failure", "error", "skipped", "system-out", "system-err"},
    ),
    "failure": (("message", "type"), set(), set()),
    "error": (("message", "type"), set(), set()),
    "system-out": ((), set(), set()),
}


def checked(text: str) -> ElementTree.Element:
    """The root of a report that keeps to the rules, and whose counts are true."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)
    for element in root.iter():
        needed, allowed, inner = RULES[element.tag]
        assert set(needed) <= set(element.keys()) <= {*needed, *allowed, "skipped"}
        assert {child.tag for child in element} <= inner
        if element.tag in ("testsuites", "testsuite"):
            counts = {"tests": "testcase", "failures": "failure", "errors": "error"}
            for name, tag in counts.items():
                assert int(element.get(name)) == len(list(element.iter(tag)))
    return root


def gate(passed=True, said="0.9100", retriever="bm25", slice_=None, **more) -> GateResult:
    """A gate's result."""
    named = {"path": "gates.mrr@5", "metric": "mrr@5", "condition": ">= 0.9", "match": "id"}
    return GateResult(
        **{**named, **more}, retriever=retriever, slice=slice_, value=0.91, passed=passed, said=said
    )


def test_by_hand():
    """A gate that failed is a failure with what was found; the name has no number of the run."""
    where = {"field": "query_type", "value": "질문"}
    root = checked(gates_xml([gate(), gate(False, "0.1000", "dense", where), gate(match="text")]))
    assert [suite.get("name") for suite in root] == ["kragx gates (id)", "kragx gates (text)"]
    case = root[0][1]
    assert dict(case.attrib) == {
        "classname": "id.dense",
        "name": "mrr@5 >= 0.9 (query_type = 질문)",
    }
    assert case[0].get("message") == "dense: 0.1000"
    assert (root.get("tests"), root.get("failures")) == ("3", "1")


@all_cases("name", ["a<b&\"c'", "x\x00\x1b[31m", "\ufffe\uffff", "]]>", "두\n줄"])
def test_any_text(name):
    """Whatever retrievers, slices and errors are called, the file is XML."""
    checked(
        gates_xml([gate(False, said=name, retriever=name, slice_={"field": "f", "value": name})])
    )


def test_of_a_run(jsonl, module, here, kragx):
    """The command writes gates and retrievers that failed, from a run, a folder and two folders."""
    jsonl(*GOLD, name="gold.jsonl")
    jsonl(*({**q, "retrieved": q["gold"]} for q in GOLD), name="good.jsonl")
    module("toy_junit", "def bad(question):\n    raise RuntimeError('no index')\n")
    Path("run.yaml").write_text(CONFIG)
    assert kragx("run", "run.yaml", "--junit", "gates.xml").code == 5
    root = checked(Path("gates.xml").read_text())
    cases = {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}
    assert cases["id.good", "mrr@5 >= 0.9"].find("failure") is None
    assert (
        cases["id.bad", "mrr@5 >= 0.9"]
        .find("failure")
        .get("message")
        .endswith("failed on 6 of 6 questions")
    )
    error = cases["bad", "answers the questions"].find("error")
    assert error.get("message") == "failed on 6 of 6 questions"
    assert error.text.endswith("RuntimeError: no index")
    shutil.copytree("out", "before")
    for command in (("report", "out"), ("compare", "before", "out")):
        assert kragx(*command, "--junit", "again.xml").code in (0, 5)
        checked(Path("again.xml").read_text())


def test_of_a_run_without_gates(jsonl, here, kragx):
    """A report without a test, which readers take for a job gone wrong, is said to be one."""
    jsonl(*GOLD, name="gold.jsonl")
    jsonl(*({**q, "retrieved": q["gold"]} for q in GOLD), name="good.jsonl")
    retrievers = "retrievers: {good: {results: good.jsonl}}"
    Path("run.yaml").write_text(f"dataset: gold.jsonl\n{retrievers}\nmetrics: mrr@5\n")
    done = kragx("run", "run.yaml", "--junit", "gates.xml")
    assert done.code == 0
    assert done.err.endswith("gates.xml has no test, as there are no gates\n")
    assert not [*checked(Path("gates.xml").read_text()).iter("testcase")]
