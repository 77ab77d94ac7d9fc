"""Gates as JUnit XML, which GitLab, Jenkins and most other CI systems show as tests.

There is no standard of it. What is written is what the readers agree in: ``testsuites`` holds a
``testsuite`` for each matcher, which holds a ``testcase`` for each gate and retriever, which holds
a ``failure`` where the gate failed; counts stand on both outer elements. Names stay the same from
run to run, whatever the numbers are, as readers tell by them what is new.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from xml.etree import ElementTree

from kragx.comparison import Failures, GateResult
from kragx.ground.printing import visible

__all__ = ["gates_xml"]


def gates_xml(
    gates: Sequence[GateResult],
    failures: Mapping[str, Failures] | None = None,
    *,
    leaks: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Gates as JUnit XML.

    Args:
        gates: each of them a test case.
        failures: retrievers that failed on more questions than is tolerated: each of them a test
            case that ended in an error.
        leaks: by retriever what is said of what must not be found, where something is: each of them
            a test case that passes, as it is a gate that says how much is too much.
    """
    root = ElementTree.Element("testsuites", name="kragx")
    by_match = attrgetter("match")
    # Sorted, as groupby joins neighbours alone; sorting is stable, so gates keep their order.
    for match, group in groupby(sorted(gates, key=by_match), by_match):
        suite = ElementTree.SubElement(root, "testsuite", name=_text(f"kragx gates ({match})"))
        for gate in group:
            _add_gate(suite, match, gate)
    if failures:
        _add_failures(root, failures)
    if leaks:
        _add_leaks(root, leaks)
    _count(root)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def _add_gate(suite: ElementTree.Element, match: str, gate: GateResult) -> None:
    suffix = f" ({gate.where})" if gate.where else ""
    name = f"{gate.metric} {gate.condition}{suffix}"
    place = _text(f"{match}.{gate.retriever}")
    case = ElementTree.SubElement(suite, "testcase", classname=place, name=_text(name))
    if gate.passed:
        ElementTree.SubElement(case, "system-out").text = _text(gate.said)
        return
    text = _text(f"{gate.retriever}: {gate.said}")
    failure = ElementTree.SubElement(case, "failure", type="gate", message=text)
    failure.text = _text(f"{gate.path}: {name}: {text}")


def _add_failures(root: ElementTree.Element, failures: Mapping[str, Failures]) -> None:
    # A suite of their own, as who failed has failed under each matcher.
    suite = ElementTree.SubElement(root, "testsuite", name="kragx retrievers")
    for retriever, failed in failures.items():
        name = "answers the questions"
        case = ElementTree.SubElement(suite, "testcase", classname=_text(retriever), name=name)
        text = _text(failed.text)
        ElementTree.SubElement(case, "error", type="retriever", message=text).text = text


def _add_leaks(root: ElementTree.Element, leaks: Mapping[str, Sequence[str]]) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name="kragx leaks")
    for retriever, texts in leaks.items():
        name = "finds nothing that is forbidden"
        case = ElementTree.SubElement(suite, "testcase", classname=_text(retriever), name=name)
        ElementTree.SubElement(case, "system-out").text = "\n".join(map(_text, texts))


def _count(root: ElementTree.Element) -> None:
    """Say on both outer elements how many tests there are, failed and ended in an error."""
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        element.set("tests", str(len(cases)))
        for kind in ("failure", "error"):
            element.set(f"{kind}s", str(sum(case.find(kind) is not None for case in cases)))
        element.set("skipped", "0")


def _text(text: str) -> str:
    """A text in one line without what no XML may hold."""
    # `visible` leaves these two, which no terminal obeys; a reader of XML refuses the whole file.
    return re.sub("[\ufffe\uffff]", "\ufffd", visible(text))
