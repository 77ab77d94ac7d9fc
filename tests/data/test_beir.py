"""BEIR's folders as gold sets and as corpora."""

from __future__ import annotations

import gzip
import json

import pytest

from kragx import DataError, evaluate, read_corpus, read_dataset
from tests.app.commands.conftest import kragx

__all__ = ["kragx"]

CORPUS = [
    {"_id": "d1", "title": "수도", "text": "서울은 대한민국의 수도다.", "metadata": {"year": 2020}},
    {"_id": "d2", "title": "Port", "text": "Busan has a port."},
    {"_id": "d3", "title": "A title alone", "text": ""},
]
QUERIES = [
    {"_id": "q1", "text": "수도는?"},
    {"_id": "q2", "text": "Which port?", "metadata": {"a": 1}},
]
HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with two splits."""
    path = tmp_path / "cities"
    (path / "qrels").mkdir(parents=True)
    for name, records in (("corpus", CORPUS), ("queries", QUERIES)):
        lines = "".join(json.dumps(own, ensure_ascii=False) + "\n" for own in records)
        (path / f"{name}.jsonl").write_text(lines)
    (path / "qrels" / "test.tsv").write_text(HEADER + "q1\td1\t2\nq1\td2\t0\nq2\td2\t1\n")
    (path / "qrels" / "dev.tsv").write_text(HEADER + "q2\td3\t1\n")
    return path


def test_a_folder_is_a_gold_set(folder):
    """The queries of the split `test`, with grades, and with texts and titles of the corpus."""
    dataset = read_dataset(folder)
    assert dataset.name == "cities-test"
    assert [(query.id, query.text) for query in dataset] == [
        ("q1", "수도는?"),
        ("q2", "Which port?"),
    ]
    first, other = dataset["q1"].gold
    assert (first.id, first.text, first.grade) == ("d1", CORPUS[0]["text"], 2.0)
    assert first.metadata == {"year": 2020, "title": "수도"}
    assert (other.id, other.grade) == ("d2", 0.0)
    assert dataset["q2"].metadata == {"a": 1}
    run = {"q1": ["서울은 대한민국의 수도다. 인구가 많다."], "q2": ["Seoul"]}
    assert evaluate(str(folder), run, metrics=["hit_rate@1"])["hit_rate@1"] == 0.5


def test_another_split(folder):
    """The file of a split means its folder; a document without text has its title."""
    dataset = read_dataset(folder / "qrels" / "dev.tsv")
    assert (dataset.name, [query.id for query in dataset]) == ("cities-dev", ["q2"])
    assert dataset["q2"].gold[0].text == "A title alone"


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_document(folder, text):
    """Gold that has neither text nor title is known by its id, and found by it."""
    with (folder / "corpus.jsonl").open("a") as file:
        file.write(json.dumps({"_id": "d4", "title": "", "text": text}) + "\n")
    (folder / "qrels" / "test.tsv").write_text(HEADER + "q1\td4\t1\nq2\td2\t1\n")
    dataset = read_dataset(folder)
    assert [(gold.id, gold.text) for gold in dataset["q1"].gold] == [("d4", None)]
    run = {"q1": {"d4": 1.0}, "q2": {"d1": 1.0}}
    assert evaluate(dataset, run, match="id", metrics=["hit_rate@1"])["hit_rate@1"] == 0.5
    with pytest.raises(DataError, match=r"1 id has no text: 'd4' \(query 'q1', gold 1\)"):
        evaluate(dataset, [["a"], ["b"]], metrics=["hit_rate@1"])


def test_packed(folder):
    """Packed files are read as well."""
    path = folder / "corpus.jsonl"
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert read_dataset(folder)["q2"].gold[0].text == "Busan has a port."


def test_as_a_corpus(folder):
    """Folder and file are corpora, so that documents named by id have texts."""
    for source in (folder, folder / "corpus.jsonl"):
        assert [doc.id for doc in read_corpus(source)] == ["d1", "d2", "d3"]
    run = {"q1": [{"id": "d1"}], "q2": [{"id": "d1"}]}
    result = evaluate(folder, run, corpus=folder, match="text", metrics=["hit_rate@1"])
    assert result["hit_rate@1"] == 0.5


def test_which_split(folder):
    """Without `test` the only split is meant; of several one has to be named."""
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "train.tsv")
    with pytest.raises(DataError, match=r"cities: .*it has .*dev.tsv, .*train.tsv; name one"):
        read_dataset(folder)
    (folder / "qrels" / "dev.tsv").unlink()
    assert read_dataset(folder).name == "cities-train"
    (folder / "qrels" / "train.tsv").unlink()
    with pytest.raises(DataError, match=r"it has no \.tsv file"):
        read_dataset(folder)


def test_a_query_that_is_not_there(folder):
    """Qrels of an unknown query are an error with file and line."""
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write("q9\td1\t1\n")
    with pytest.raises(DataError, match=r"test.tsv:5: query-id: 'q9' is not in .*queries.jsonl"):
        read_dataset(folder)


def test_a_document_that_is_not_there(folder):
    """Gold that the corpus lacks is named where its text is needed, and found by id."""
    (folder / "qrels" / "test.tsv").write_text(HEADER + "q1\td9\t1\n")
    assert evaluate(folder, {"q1": [{"id": "d9"}]}, match="id")["hit_rate@10"] == 1.0
    with pytest.raises(DataError, match="d9"):
        evaluate(folder, {"q1": ["a"]}, match="text")


def test_from_the_command(folder, kragx):
    """`gold validate` and `score` take the folder as they take a file."""
    outcome = kragx("gold", "validate", folder)
    assert outcome.code == 0, outcome.err
    run = folder.parent / "a.run"
    run.write_text("q1 Q0 d1 1 2.0 a\nq2 Q0 d1 1 2.0 a\n")
    config = folder.parent / "kragx.yaml"
    config.write_text(
        f"dataset: {folder.name}\nretrievers: {{a: {{run: a.run}}}}\n"
        "match: id\nmetrics: [hit_rate@1]\noutput: out\n"
    )
    outcome = kragx("run", config)
    assert outcome.code == 0, outcome.err
    assert "0.5000" in outcome.out
