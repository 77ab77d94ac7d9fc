"""Gates as JUnit XML, which GitLab, Jenkins and most other CI systems show as tests.

There is no standard of it. What is written is what the readers agree in: ``testsuites`` holds a
``testsuite`` for each matcher, which holds a ``testcase`` for each gate and retriever, which holds
a ``failure`` where the gate failed; counts stand on both outer elements. Names stay the same from
run to run, whatever the numbers are, as readers tell by them what is new.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
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
    # Of each suite its cases: class and name, what it came to, and its text.
    suites: dict[str, list[tuple[str, str, str, dict[str, str], str]]] = defaultdict(list)
    for gate in sorted(gates, key=attrgetter("match")):
        name = f"{gate.metric} {gate.condition}" + (f" ({gate.where})" if gate.where else "")
        kind, attributes, text = "system-out", dict[str, str](), gate.said
        if not gate.passed:
            said = _text(f"{gate.retriever}: {gate.said}")
            kind, attributes = "failure", {"type": "gate", "message": said}
            text = f"{gate.path}: {name}: {said}"
        place = f"{gate.match}.{gate.retriever}"
        cases = suites[f"kragx gates ({gate.match})"]
        cases.append((place, name, kind, attributes, _text(text)))
    # A suite of their own, as who failed has failed under each matcher.
    for retriever, failed in (failures or {}).items():
        error = {"type": "retriever", "message": _text(failed.text)}
        cases = suites["kragx retrievers"]
        reason = _text(failed.first or failed.text)
        cases.append((retriever, "answers the questions", "error", error, reason))
    for retriever, texts in (leaks or {}).items():
        text, name = "\n".join(map(_text, texts)), "finds nothing that is forbidden"
        suites["kragx leaks"].append((retriever, name, "system-out", {}, text))
    root = ElementTree.Element("testsuites", name="kragx")
    for suite_name, cases in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", name=_text(suite_name))
        for place, name, kind, attributes, text in cases:
            names = {"classname": _text(place), "name": _text(name)}
            case = ElementTree.SubElement(suite, "testcase", names)
            ElementTree.SubElement(case, kind, attributes).text = text
    for element in (root, *root):
        outcomes = [case[0].tag for case in element.iter("testcase")]
        element.set("tests", str(len(outcomes)))
        for kind in ("failure", "error"):
            element.set(f"{kind}s", str(outcomes.count(kind)))
        element.set("skipped", "0")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def _text(text: str) -> str:
    """A text in one line without what no XML may hold."""
    # `visible` leaves these two, which no terminal obeys; a reader of XML refuses the whole file.
    return re.sub("[\ufffe\uffff]", "\ufffd", visible(text))
