"""Ids that differ only by white space or Unicode form match nothing, and that is said."""

from __future__ import annotations

import unicodedata
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, evaluate
from kragx.data.text import look_alikes, normalise
from kragx.matchers import MatchWarning
from tests.app.commands.conftest import here, jsonl, kragx
from tests.data.support import names

__all__ = ["here", "jsonl", "kragx"]

NFC = "규정.pdf"
NFD = unicodedata.normalize("NFD", NFC)
WARNING = "kragx: warning: "


def row(query_id: str, gold: list[Any], *retrieved: str) -> dict[str, Any]:
    """A line of a results file."""
    return {"query_id": query_id, "gold": gold, "retrieved": [{"id": own} for own in retrieved]}


def test_documents(kragx: Any, jsonl: Any) -> None:
    """`score` counts the questions, names a pair and says what to do; what is found counts not."""
    path = jsonl(
        row("q1", [{"id": "c1 "}], "c1"),
        row("q2", [{"id": NFC}], "x", NFD),
        row("q3", [{"id": "a b"}], "a b", "a  b"),
        row("q4", [{"id": NFC, "alternatives": [{"id": NFD}]}], NFD),
    )
    score = kragx("score", path, "--match", "id", "--metric", "mrr@5", "--format", "json")
    assert score.json()["mean"]["mrr@5"] == 0.5
    assert score.json()["counts"]["n_queries_ids_alike"] == 2
    assert score.err == (
        f"{WARNING}ids of gold and documents that only look equal in 2 questions: in 'q1' 'c1 ' "
        "and 'c1' differ by white space alone; write them the same\n"
    )
    text = kragx("score", path, "--match", "id").out
    assert "questions with ids that differ only by white space or Unicode form: 2" in text


def test_ids_that_never_meet(kragx: Any, jsonl: Any, here: Path) -> None:
    """`score` says it in the language that is asked for, in parts too, and the result counts it."""
    path = jsonl(*(row(f"q{n}", [{"id": f"d{n}"}], f"d{n}#0") for n in range(4)))
    score = ["score", path, "--match", "id", "--metric", "mrr@5"]
    plain = kragx(*score)
    assert plain.err == (
        f"{WARNING}no retrieved id is any gold id (questions compared: 4): in 'q0' 'd0#0' was "
        "retrieved, 'd0' is gold; if the corpus was chunked anew, or a vector store made its ids, "
        "compare texts: match 'overlap', 'rouge2' or 'text'; if your ids stand elsewhere, name "
        "their metadata key with 'id_key' or 'gold_id_key'\n"
    )
    assert "of which no retrieved one is any gold id: 4 (no match by id)" in plain.out
    for _ in range(2):  # computed, and read again
        kept = kragx(*score, "--out", str(here / "tables"))
        assert plain.err in kept.err
    korean = kragx("--language", "ko", *score)
    assert "검색된 id 가운데 정답 id가 하나도 없습니다(비교한 질문 4개): 'q0'에서" in korean.err
    assert "정답 id가 하나도 없는 질문: 4" in korean.out


def test_queries(kragx: Any, here: Path) -> None:
    """The same of the ids that join a run with its gold set, also where none is in it."""
    (here / "a.qrels").write_text(f"{NFC} 0 c 1\nq2 0 c 1\n", encoding="utf-8")
    (here / "b.run").write_text(f"{NFD} Q0 c 1 1 t\n", encoding="utf-8")
    alike = f"'{NFC}' differ by Unicode form, NFC and NFD alone; write them the same"
    refused = kragx("score", "--qrels", "a.qrels", "--run", "b.run")
    assert (refused.code, f"'{NFD}' and {alike}" in refused.err) == (3, True)
    with pytest.raises(DataError, match="differ by white space alone"):
        evaluate({"q ": ["a"]}, {"q": ["a"]}, match="exact")


@given(st.lists(names, min_size=1, max_size=4), st.lists(names, max_size=4))
def test_against_all_pairs(gold: list[str], retrieved: list[str]) -> None:
    """A question is counted where some missing id equals a retrieved one once normalised."""
    missing = [own for own in gold if own not in retrieved]
    pairs = {own for own in missing for doc in retrieved if normalise(own) == normalise(doc)}
    assert look_alikes(missing, retrieved).keys() == pairs
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MatchWarning)
        lists = [[{"id": own} for own in ids] for ids in (gold, retrieved)]
        evaluation = evaluate([lists[0]], [lists[1]], match="id", metrics=["mrr"])
    counted = evaluation.counts.get("n_queries_ids_alike", 0)
    assert (counted, len(caught)) == (bool(pairs), bool(pairs))
