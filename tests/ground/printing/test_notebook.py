"""Notebooks: the last line of a cell, and progress, in a real kernel without ipywidgets."""

from __future__ import annotations

import re

import pytest

from kragx import (
    Doc,
    GoldDataset,
    OfflineRetrievalEvaluators,
    RAGEvaluator,
    Retrieved,
    Run,
    evaluate,
)
from kragx.ground.printing.progress import _picture

CELL = """
from kragx import GoldDataset, evaluate
gold = GoldDataset.from_documents(
    [[f"answer {i}"] for i in range(20)], queries=[f"question {i}" for i in range(20)]
)
def number(question):
    return question.split()[1]
def first(question):
    return [f"answer {number(question)}"]
async def second(question):
    return ["other", f"answer {number(question)}"]
result = evaluate(
    gold, {"first": first, "second": second}, match="exact", metrics=["mrr@5"], concurrency=4
)
result
"""
BM25 = """
from langchain_core.documents import Document
from kragx.retrievers import KiWiBM25RetrieverWithScore
KiWiBM25RetrieverWithScore([Document("first words"), Document("others")]).invoke("words")
"""
PRINTED = """
print(result["first"])
result["first"].print()
"""
AWAITED = """
from kragx import aevaluate
both = {"first": first, "second": second}
(await aevaluate(gold, both, match="exact", metrics=["mrr@5"])).verdict
"""


def test_a_bar_is_a_picture_of_what_is_done():
    """A bar says what is done and how far; what comes from data is shown, not obeyed."""
    shown = _picture("asking <b>\x1b", 3, 10, "2 failed")
    assert shown["text/plain"] == "asking <b>‹U+001B› 3/10 2 failed"
    assert "<progress value='3' max='10' aria-label='asking &lt;b&gt;" in shown["text/html"]
    assert "<b>" not in shown["text/html"]
    assert "<progress aria" in _picture("reading", 3, None, "")["text/html"]


def test_every_form_of_a_last_line():
    """A result shows itself as HTML, as Markdown and in a terminal, with the same table.

    In a terminal it is no list of its fields, which grows with the questions.
    """
    result = evaluate([["a"]], [["a"]], match="exact", metrics=["mrr@5"])
    several = evaluate([["a"]], {"one": [["a"]], "two": [["a"]]}, metrics=["mrr@5"])
    for value in (result, several, several.comparison, GoldDataset.from_documents([["a"]])):
        assert repr(value) == str(value)
    assert "<td style='text-align:left'>mrr@5</td><td>1.0000</td>" in result._repr_html_()
    assert "| mrr@5 | 1.0000 |" in result._repr_markdown_()


def test_gold_and_runs_show_themselves():
    """A gold set and a run say how much they hold, and on how much a retriever failed."""
    gold = GoldDataset.from_documents({"a": ["x"], "b": []}, queries=["첫 질문", ""], name="mine")
    assert "gold set mine: 2 questions, 1 gold items" in str(gold)
    assert "골드셋 mine: 질문 2개, 정답 항목 1개" in gold.to_text(language="ko")
    failed = Retrieved(error="TimeoutError: too late")
    run = Run({f"q{i}": Retrieved((Doc("d1"),), 0.5) for i in range(6)} | {"z": failed}, "bm25")
    assert "run bm25: 6 of 7 questions answered, 6 documents" in str(run)
    assert "failed on 1 of 7 questions" in str(run)


def test_evaluators_of_krag_show_themselves(monkeypatch):
    """As a cell's last line an evaluator says what it matches by, and then what came out."""
    monkeypatch.setenv("KRAGX_LANG", "en")
    evaluator = RAGEvaluator(match_method="rouge2", rouge_threshold=0.6)
    text = "RAGEvaluator(match_method='rouge2', profile='kragx')"
    assert str(evaluator).strip() == text == repr(evaluator)
    evaluator.evaluate_all([["a b c"]], [["a b c"]], k=3)
    assert "│ mrr@3                       │ 1.0000 │" in str(evaluator)
    asked = OfflineRetrievalEvaluators([["a"]], [["a"]])
    assert "match: text; profile: kragx" in str(asked)
    assert asked._evaluation is None


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # what the packages of the notebook warn of themselves
def test_in_a_real_kernel(monkeypatch):
    """A comparison is shown as table and verdict, its bar goes away, and nothing is warned of."""
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("KRAGX_LANG", "ko")
    cells = [nbformat.v4.new_code_cell(source) for source in (CELL, AWAITED, BM25, PRINTED)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    *others, printed = notebook.cells
    # Lines and tables are one text, in their order; rich would display tables apart from it.
    assert {own.output_type for own in printed.outputs} == {"stream"}
    text = re.sub(r"\x1b\[[0-9]*m", "", "".join(own.text for own in printed.outputs))
    first, again = text.split("매칭: exact")[1:]
    assert first.strip() == again.strip()
    assert 0 < first.index("프로파일") < first.index("mrr@5") < first.index("질문 20개")
    for cell in others:
        kinds = [own.output_type for own in cell.outputs]
        assert not {"stream", "error"} & set(kinds), cell.outputs
    bars = [own.data["text/html"] for own in outputs if own.output_type == "display_data"]
    assert bars == ["", ""]
    (last,) = [own.data for own in outputs if own.output_type == "execute_result"]
    assert "first 사용을 권합니다" in last["text/html"]
    assert "<table>" in last["text/html"]
    assert "first 사용을 권합니다" in last["text/markdown"]
    (verdict,) = [
        own.data["text/plain"]
        for own in notebook.cells[1].outputs
        if own.output_type == "execute_result"
    ]
    assert "first 사용을 권합니다" in verdict
