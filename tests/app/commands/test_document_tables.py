"""Commands that are given tables with a row for each document."""

import pytest
import yaml

WHOLE = "query_id,doc_id,score\nq,a,1\nq,b,3\n"
NAMED = ("--column", "query=Frage", "--column", "doc_id=Nr", "--column", "grade=Note")


@pytest.fixture
def write(tmp_path):
    """Write a file; its path."""

    def call(text, name):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return call


@pytest.fixture
def gold(write):
    """Gold whose columns have names of their own."""
    return write("Frage,Nr,Note\nq,b,1\nq,c,1\n", "gold.csv")


def test_two_tables(kragx, write):
    """Two tables of ids give numbers at once, by id."""
    gold = write("query,docid,rating\nq,b,1\nq,c,1\nempty\n", "labels.csv")
    found = write("query;rank;doc_id\nq;2;a\nq;1;b\nempty;;\n", "found.csv")
    shown = kragx(
        "score", found, "--gold", gold, "-m", "recall@1", "-m", "mrr@5", "--format", "json"
    )
    assert shown.json()["mean"] == {"recall@1": 0.5, "mrr@5": 1}
    assert shown.json()["settings"]["match"]["method"] == "id"


def test_asked_back(kragx, write, gold):
    """What may be gold or results ends with 3 and one line, which says what to write."""
    found = write(WHOLE, "found.csv")
    options = ("--gold", gold, *NAMED, "-m", "recall@1", "--format", "json")
    asked = kragx("score", found, *options)
    assert (asked.code, asked.out, asked.err.count("\n")) == (3, "", 1)
    assert "say --as gold or --as results" in asked.err
    assert kragx("score", found, *options, "--as", "results").json()["mean"] == {"recall@1": 0.5}
    both = ("--as", "results", "--as", "gold", "-m", "recall@1", "--format", "json")
    assert kragx("score", found, "--gold", found, *both).json()["mean"] == {"recall@1": 0.5}
    wrong = kragx("score", found, *options, "--as", "gold")
    assert (wrong.code, wrong.err) == (3, asked.err)
    assert kragx("score", found, *options, "--as", "golds").code == 2


def test_other_commands(kragx, write, gold):
    """`convert`, `gold validate`, `match` and `explain` take the same options."""
    found = write(WHOLE, "found.csv")
    (line,) = kragx("convert", found, "-", "--as", "gold").lines()
    assert line["gold"] == [{"id": "a"}, {"id": "b", "grade": 3}]
    assert kragx("gold", "validate", gold, *NAMED, "--format", "json").json()["n_errors"] == 0
    judged = write("Frage,Platz,Nr,Note\nq,2,a,0\nq,1,b,1\n", "judged.csv")
    named = (*NAMED, "--column", "rank=Platz", "--match", "id")
    (pair,) = kragx("match", judged, *named).lines()
    assert (pair["retrieved_ids"], pair["matched"]) == (["b", "a"], [[False, True], [True, False]])
    assert kragx("explain", judged, "--query", "q", *named).code == 0


def test_several(kragx, write, gold):
    """Several tables share the options; each takes those whose columns it has."""
    first = write("Frage,place,Nr\nq,1,b\nq,2,a\n", "first.csv")
    second = write("query,rank,doc_id\nq,1,a\nq,2,b\n", "second.csv")
    options = ("--gold", gold, *NAMED, "--column", "rank=place", "-m", "mrr@5", "--format", "json")
    runs = kragx("score", first, second, *options).json()["runs"]
    assert [run["mean"]["mrr@5"] for run in runs] == [1, 0.5]


def test_config(kragx, write, gold, tmp_path, monkeypatch):
    """In a config columns stand beside the gold set's path, and beside results."""
    monkeypatch.chdir(tmp_path)
    write("Frage,Score,Nr\nq,3,b\nq,1,a\n", "found.csv")
    named = {"query": "Frage", "doc_id": "Nr"}
    config = {
        "dataset": {"path": gold.name, "columns": {**named, "grade": "Note"}},
        "retrievers": {"a": {"results": "found.csv", "columns": {**named, "score": "Score"}}},
        "match": "id",
        "metrics": ["recall@1"],
        "output": "out",
    }
    path = write(yaml.safe_dump(config), "kragx.yaml")
    assert kragx("run", path).code == 0
    config["retrievers"]["a"] = {"class": "m:f", "columns": named}
    refused = kragx("run", write(yaml.safe_dump(config), "kragx.yaml"))
    assert refused.code == 2
    assert "'columns' belongs to 'results'" in refused.err
