"""What AutoRAG, ranx, pytrec_eval and ir_measures save is read as it is."""

from __future__ import annotations

import json

import pandas
import pytest

from kragx import DataError, evaluate, read_corpus, read_dataset
from kragx.data.reading import read_run
from tests.app.commands.conftest import here, kragx

__all__ = ["here", "kragx"]

GRADES = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1, "d5": 0}}
SCORES = {"q1": {"d2": 0.9, "d9": 0.8, "d1": 0.7}, "q2": {"d4": 0.5, "d3": 0.4}}


@pytest.fixture
def saved(here):
    """Save grades and scores in every form; the names of the forms."""
    for name, numbers in (("gold", GRADES), ("run", SCORES)):
        (here / f"{name}.json").write_text(json.dumps(numbers, indent=1))
        rows = [(q, d, n) for q, of_query in numbers.items() for d, n in of_query.items()]
        frame = pandas.DataFrame(rows, columns=["q_id", "doc_id", "score"])
        frame.to_parquet(here / f"{name}.parquet")
        names = ["query_id", "doc_id", "relevance" if name == "gold" else "score"]
        frame.set_axis(names, axis=1).to_csv(here / f"{name}.csv", index=False)
    return ("json", "parquet", "csv")


def test_numbers_by_document_by_question(saved, kragx):
    """Files of ranx and ir_measures have the numbers of the same values in Python."""
    expected = evaluate(GRADES, SCORES, metrics=["map", "ndcg@2"]).mean
    for kind in saved:
        files = ("--qrels", f"gold.{kind}", "--run", f"run.{kind}")
        scored = kragx("score", *files, "-m", "map", "-m", "ndcg@2", "--format", "json").json()
        assert scored["mean"] == expected, kind


def test_a_json_file_of_numbers(here):
    """It is what is looked for; ties are ranked as of a TREC run, and nothing is guessed."""
    (here / "tie.json").write_text('{"q1": {"d3": 0.5, "d4": 0.5}}')
    assert [doc.id for doc in read_run("tie.json").results["q1"].documents] == ["d4", "d3"]
    (here / "empty.json").write_text('{"q1": {"d1": 1}, "q2": {}}')
    dataset = read_dataset("empty.json")
    assert [(gold.id, gold.grade) for gold in dataset["q1"].gold] == [("d1", 1.0)]
    assert not dataset["q2"].gold
    (here / "flags.json").write_text('{"q1": {"d1": true}}')
    with pytest.raises(DataError, match="not recognised"):
        read_dataset("flags.json")


def test_a_gold_set_of_numbers_may_be_either(saved, kragx):
    """Where nobody says what a file holds, whole numbers are asked back."""
    assert "say --as gold or --as results" in kragx("convert", "gold.json", "-").err
    lines = kragx("convert", "gold.json", "-", "--as", "gold").out.splitlines()
    assert json.loads(lines[0])["gold"] == [{"id": "d1", "grade": 2.0}, {"id": "d2"}]


def test_results_of_autorag(tmp_path):
    """Its best results are gold and lists; its corpus has the texts of the gold's ids."""
    path = tmp_path / "best_0.parquet"
    row = {"qid": "q1", "query": "When?", "retrieval_gt": [["d1"]], "generation_gt": ["1919"]}
    lists = {"retrieved_ids": ["d7", "d8"], "retrieved_contents": ["in 1918", "in 1919"]}
    pandas.DataFrame([row | lists | {"retrieve_scores": [0.9, 0.8]}]).to_parquet(path)
    run = read_run(path)
    assert [(doc.id, doc.text, doc.score) for doc in run.results["q1"].documents] == [
        ("d7", "in 1918", 0.9),
        ("d8", "in 1919", 0.8),
    ]
    corpus = tmp_path / "corpus.parquet"
    pandas.DataFrame({"doc_id": ["d1"], "contents": ["in 1919"]}).to_parquet(corpus)
    result = evaluate(path, corpus=corpus, metrics=["mrr@2"])
    assert result["mrr@2"] == 0.5
    pandas.DataFrame([lists | {"retrieve_scores": [0.9, 0.8]}]).to_parquet(path)
    with pytest.raises(
        DataError, match=r"qid: missing.* best_\*\.parquet"
    ):  # rows are joined by id alone
        read_run(path)


@pytest.mark.parametrize("header", ["chunk_id,chunk", "ID,본문", "id,text", "docno,Content"])
def test_a_corpus_calls_its_columns_as_tables_of_documents_do(tmp_path, header):
    """Id and text are told by the same names; what else there is stays metadata."""
    path = tmp_path / "corpus.csv"
    path.write_text(f"{header},page\nd1,some text,3\n", encoding="utf-8")
    (doc,) = read_corpus(path)
    assert (doc.id, doc.text, doc.metadata) == ("d1", "some text", {"page": "3"})
