"""Agreement, correction and probes in Korean: nothing in English is left but names."""

from __future__ import annotations

import re

import pytest

from kragx import GoldDataset, Run, agree
from kragx.agreement import correct, probe
from kragx.judging import Failure, Judge
from kragx.testing import ScriptedClient
from tests.thoroughness import some

HUMAN = {f"q{q}": {f"d{d}": (q + d) % 4 for d in range(6)} for q in range(24)}
JUDGE = {
    query: {f"d{d}": min(3, docs[f"d{d}"] + (d + len(query)) % 2) for d in range(6)}
    for query, docs in HUMAN.items()
}
RUNS = [
    Run.from_documents({query: [{"id": doc} for doc in docs] for query in HUMAN}, name=name)
    for name, docs in (("up", ["d0", "d1"]), ("down", ["d5", "d4"]))
]
ENGLISH = re.compile(
    r"\b[a-z]+ (?:the|of|to|with|are|is|by|as|and|no|than|in|on)\b|\b[a-z]{3,} [a-z]{3,} [a-z]{3,}"
)


def english(result):
    """What is left in English of a result in Korean, but for the name of a method."""
    text = result.to_text(language="ko").replace("expanded percentile bootstrap", "")
    assert re.search("[가-힣]", text)
    return ENGLISH.findall(text)


def test_labels():
    """How labels agree, and what they correct."""
    few = {query: HUMAN[query] for query in list(HUMAN)[:12]}
    assert english(agree(HUMAN, JUDGE, runs=RUNS, resamples=50)) == []
    assert english(agree({"q": {"a": 1, "b": 7}}, {"q": {"a": 1, "c": 1}}, scale="0-3")) == []
    shown = agree({"q": {"a": 1, "b": 7}}, {"q": {"a": 1}}, scale="0-3").to_text(language="ko")
    assert "사람 q b 7" in shown
    assert "human" not in shown
    assert english(correct(few, JUDGE, RUNS, metrics=["ndcg@2"], least=5)) == []


def refuses_apples(request):
    """A judge that refuses some passages and takes the rest for a match."""
    return Failure("refusal") if "apples" in request.messages[-1][1] else 3


@pytest.mark.parametrize("reply", some([lambda _: 3, lambda _: 0, refuses_apples], 3))
def test_a_probe(tmp_path, reply):
    """The verdict, what it rests on, and what was added."""
    texts = ["apples are red", "ships sail far", "snow falls down", "pears are green"]
    data = GoldDataset.from_documents(
        [[own] for own in texts], queries=["사과?", "배?", "눈?", "?"]
    )
    judge = Judge(ScriptedClient(reply), store=tmp_path / "store.sqlite")
    probed = probe(judge, data, passages=4)
    assert english(probed) == []
    assert "refusal" not in probed.to_text(language="ko")
