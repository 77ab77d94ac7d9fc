"""Tables with a row for each document."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, evaluate, read_dataset
from kragx.data.reading import read_run

GOLD = """query_id,question,answer_passage
q1,Can I return opened software?,Opened software can be returned within 14 days
q2,Do gift cards expire?,Gift cards do not expire
"""
RANKED = """query_id,Rank,Text,source
q1,2,Gift cards are sold here.,a
q2,1,Delivery takes two days.,b
q1,1,Returns: opened software can be returned within 14 days.,c
"""


@pytest.fixture
def write(tmp_path: Path):
    """Write a file; its path."""

    def call(text: str, name: str = "found.csv") -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return call


def test_by_rank(write):
    """Documents stand by their ranks, whatever the order of rows; other columns are metadata."""
    run = read_run(write(RANKED))
    assert [*run] == ["q1", "q2"]
    first, second = run.results["q1"].documents
    assert first.text == "Returns: opened software can be returned within 14 days."
    assert (first.metadata, second.metadata) == ({"source": "c"}, {"source": "a"})


def test_by_score(write):
    """Without ranks the highest score is first; rows of one score stay in order."""
    text = "qid,score,chunk_id,chunk\nq1,.5,b,x\nq1,.9,a,y\nq1,.5,c,z\n"
    documents = read_run(write(text)).results["q1"].documents
    assert [(doc.id, doc.text, doc.score) for doc in documents] == [
        ("a", "y", 0.9),
        ("b", "x", 0.5),
        ("c", "z", 0.5),
    ]


def test_the_same_as_in_json_lines(write):
    """Two files, a table and JSON Lines, with the same content have the same numbers."""
    lines = [
        {
            "query_id": "q1",
            "retrieved": [
                "Returns: opened software can be returned within 14 days.",
                "Gift cards are sold here.",
            ],
        },
        {"query_id": "q2", "retrieved": ["Delivery takes two days."]},
    ]
    for line in lines:
        line["retrieved"] = [{"text": text} for text in line["retrieved"]]
    gold = write(GOLD, "gold.csv")
    by_line = write("".join(json.dumps(line) + "\n" for line in lines), "found.jsonl")
    table, json_lines = (evaluate(gold, path) for path in (write(RANKED), by_line))
    assert table.queries == json_lines.queries
    assert table["mrr@10"] == 0.5


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_questions_without_ids(write, form):
    """A table without ids joins by its questions, in Korean too, however letters are composed."""
    gold = read_dataset(
        write("question,answer_passage\n상품권에 유효 기간이 있나요?,없습니다\n", "gold.csv")
    )
    question = unicodedata.normalize(form, "상품권에  유효 기간이 있나요?")
    run = read_run(write(f"질문,순위,내용\n{question},1,없습니다\n"), gold)
    assert [*run] == ["q1"]
    assert run.results["q1"].documents[0].text == "없습니다"


def test_a_question_that_the_gold_set_lacks(write):
    """It is left out and counted; the others join. One that is there twice has its list twice."""
    gold = write(GOLD + "q3,Do gift cards expire?,Gift cards do not expire\n", "gold.csv")
    rows = (
        "question,rank,text\nWho are you?,1,x\nDo gift cards expire?,1,Gift cards do not expire\n"
    )
    evaluation = evaluate(gold, write(rows), metrics=["mrr@5"])
    assert evaluation.counts["n_extra"] == evaluation.counts["n_missing"] == 1
    values = {query_id: of_query["mrr@5"] for query_id, of_query in evaluation.queries.items()}
    assert values == {"q1": 0, "q2": 1, "q3": 1}


def test_questions_that_are_not_in_the_gold_set(write):
    """Where no question is in the gold set, that is said."""
    gold = write(GOLD, "gold.csv")
    with pytest.raises(DataError, match="none of its 1 query ids is in the gold set"):
        evaluate(gold, write("question,rank,text\nWho are you?,1,x\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query_id,rank,text\nq1,1,a\nq1,1,b\n", "rank: 1 stands twice for the question"),
        ("query_id,rank,text\nq1,first,a\n", "rank: must be a number, not 'first'"),
        ("query_id,rank,text\nq1,,a\n", "rank: missing"),
        ("query_id,rank,text\nq1,1,a\nq1,2,\n", ":3: text: missing; a document needs a text"),
        ("query_id,rank,text\n,1,a\n", "query_id: missing; of which question is it?"),
        ("user,rank,text\nu,1,a\n", "no column says of which question"),
    ],
)
def test_mistakes(write, text, message):
    """What cannot be a list of documents is said, with its line and column."""
    with pytest.raises(DataError, match=message):
        read_run(write(text))


def test_rows_of_questions_stay(write):
    """A column called rank does not make a table of questions one of documents."""
    text = "question,answer_passage,rank,id\nWhat?,Something that is long enough,1,x\n"
    (query,) = read_dataset(write(text))
    assert (query.text, query.metadata["rank"]) == ("What?", "1")


@given(st.permutations(range(6)))
def test_order_of_rows_never_matters(order):
    """With ranks, rows in any order are the same run."""
    rows = [
        {"query_id": f"q{n % 2}", "rank": n // 2 + 1, "text": f"document {n}"} for n in range(6)
    ]
    documents = read_run([rows[n] for n in order]).results
    for query_id, odd in (("q0", 0), ("q1", 1)):
        texts = [doc.text for doc in documents[query_id].documents]
        assert texts == [f"document {n}" for n in range(odd, 6, 2)]
