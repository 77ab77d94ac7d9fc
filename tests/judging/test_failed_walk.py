"""How a failed judgement travels: the modules from a client's failure to the bounds of a metric."""

from __future__ import annotations

import ast
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from kragx import GoldDataset, evaluate, write_html
from kragx.ground.event_loop import run_sync
from kragx.judging import Failure
from kragx.testing import ScriptedClient
from tests.judging.support import judge_of

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
MOST_ENTERED = {"bounds": 42, "page": 78}
MOST_THAT_TREAT_IT = 12
OF_A_FAILURE = {
    *("Failure", "FailureKind", "failure", "n_missing"),  # with a reason
    *("is_unknown", "has_unknown", "Unknown"),  # a pair without a score
}
"""What code calls a failed judgement where it is a case of its own."""


class Walk:
    """The modules of kragx of which a function is entered once a client has failed.

    Args:
        reply: the failure, or an answer that holds no grade.
    """

    def __init__(self, reply):
        self.reply = reply
        self.modules = set()
        self.has_failed = False

    def heard(self, frame, event, _):
        """What Python tells of each call."""
        module = frame.f_globals.get("__name__", "")
        if event == "call" and self.has_failed and module.startswith("kragx."):
            self.modules.add(module)

    def answer(self, request):
        """A grade, and then the failure; from there on the judge's thread is heard as well."""
        if "1998" in request.messages[-1][1].partition("<<<document")[2]:
            return 3
        self.has_failed = True
        sys.setprofile(self.heard)
        return self.reply


def evaluated(walk, store):
    """A metric of two documents, of which one has no grade."""
    judge = judge_of(ScriptedClient(walk.answer), store, max_missing=1, concurrency=1)
    match, found = {"method": "llm", "judge": judge}, [["founded in 1998", "founded in 2004"]]
    gold = GoldDataset.from_documents([["since 1998"]])
    return evaluate(gold, found, match=match, metrics=["precision@2"])


def paged(walk, store):
    """The same on its page."""
    result = evaluated(walk, store)
    write_html([result], store.with_suffix(".html"))
    return result


async def deaf():
    """In the judge's thread nothing is heard any more."""
    sys.setprofile(None)


def walked(reply, folder, evaluate=evaluated):
    """The modules that a failed judgement passes; what is loaded on first use is loaded before."""
    folder.mkdir()
    evaluate(Walk(reply), folder / "first.sqlite")
    walk = Walk(reply)
    sys.setprofile(walk.heard)
    try:
        found = evaluate(walk, folder / "second.sqlite")
    finally:
        sys.setprofile(None)
        run_sync(deaf)
    assert found.bounds == {"precision@2": (0.5, 1.0)}
    return walk.modules


def names_in(module):
    """What a module's code names, its comments and docstrings aside."""
    spec = find_spec(module)
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        for field in ("id", "attr", "arg", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield name


def test_the_walk(tmp_path):
    """It is no longer than it was, and few treat the failure as such: those that the page names."""
    refused = walked(Failure("refusal", "no"), tmp_path / "refused")
    prose = walked("prose", tmp_path / "prose")
    treating = {module for module in refused | prose if OF_A_FAILURE & {*names_in(module)}}
    assert len(refused) <= MOST_ENTERED["bounds"]
    assert len(treating) <= MOST_THAT_TREAT_IT
    part = PAGE.read_text(encoding="utf-8").partition("### A failed judgement")[2]
    named = re.findall(r"`(\w+(?:/\w+)+)`", part.partition("\n## ")[0])
    assert {f"kragx.{name.replace('/', '.')}" for name in named} == treating


def test_the_walk_to_the_page(tmp_path):
    """From the failure to report.html of one retriever, which computes nothing of several."""
    entered = walked(Failure("refusal", "no"), tmp_path / "page", paged)
    assert len(entered) <= MOST_ENTERED["page"]
