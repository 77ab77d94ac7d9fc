"""The schema of managed gold sets: three lists of ids, texts beside them, alternatives."""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st

from kragx import (
    DataError,
    Doc,
    Gold,
    evaluate,
    read_dataset,
    validate,
)

RECORD = {
    "query_id": "q1",
    "query": "무선 이어폰을 뜯었는데 환불되나요?",
    "query_type": "similar_case",
    "expected_doc_types": ["case", "faq"],
    "relevant_chunk_ids": ["c3", ["c4", "c5"]],
    "highly_relevant_chunk_ids": ["c1"],
    "irrelevant_chunk_ids": ["c9"],
    "metadata": {
        "difficulty": "hard",
        "category": "환불",
        "created_at": "2026-03-02",
        "annotator": "lee",
    },
}


def written(folder, *records, name="goldset.jsonl"):
    """A file of records."""
    path = folder / name
    lines = (json.dumps(each, ensure_ascii=False) + "\n" for each in records)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_grades_and_alternatives(tmp_path):
    """Grades 2, 1 and 0 by list; an inner list is one item with alternatives."""
    (query,) = read_dataset(written(tmp_path, RECORD))
    assert query.gold == (
        Gold("c1", grade=2.0),
        Gold("c3", grade=1.0),
        Gold("c4", grade=1.0, alternatives=(Doc("c5"),)),
        Gold("c9", grade=0.0),
    )
    assert query.expected_doc_types == ("case", "faq")
    assert query.metadata["annotator"] == "lee"


def test_text_and_id_together(tmp_path):
    """`gold` beside the lists gives ids their texts, alternatives too, and adds further items."""
    gold = [
        {"id": "c1", "text": "the text of one"},
        {"id": "c4", "alternatives": [{"id": "c5", "text": "the text of five"}]},
        {"text": "only a text"},
    ]
    (query,) = read_dataset(written(tmp_path, {**RECORD, "gold": gold}))
    assert query.gold[0] == Gold("c1", "the text of one", 2.0)
    assert query.gold[2].alternatives == (Doc("c5", "the text of five"),)
    assert query.gold[-1] == Gold(text="only a text")


def test_highly_relevant_chunks_stand_among_the_relevant_ones(tmp_path):
    """As its authors list them: an id in both lists has the higher grade, and is one gold item."""
    both = {
        "highly_relevant_chunk_ids": ["c1", ["c4", "c5"]],
        "relevant_chunk_ids": ["c1", "c3", "c5", ["c5", "c4"]],
    }
    (query,) = read_dataset(written(tmp_path, {**RECORD, **both}))
    assert query.gold == (
        Gold("c1", grade=2.0),
        Gold("c4", grade=2.0, alternatives=(Doc("c5"),)),
        Gold("c3", grade=1.0),
        Gold("c9", grade=0.0),
    )
    assert validate(str(tmp_path / "goldset.jsonl")).problems == ()


ids = st.text("abcdef", min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("change", "field", "hint"),
    [
        ({"relevant_chunk_id": []}, "relevant_chunk_id", "'relevant_chunk_ids'"),
        ({"query_id": None}, "query_id", "missing"),
        ({"query": ""}, "query", "missing"),
        ({"relevant_chunk_ids": "c1"}, "relevant_chunk_ids", "list of ids"),
        ({"relevant_chunk_ids": [1.5]}, "relevant_chunk_ids[0]", "whole number"),
        ({"irrelevant_chunk_ids": ["c4"]}, "irrelevant_chunk_ids[0]", "relevant_chunk_ids"),
        ({"irrelevant_chunk_ids": ["c1"]}, "irrelevant_chunk_ids[0]", "one grade"),
        ({"relevant_chunk_ids": [["c1", "c3"]]}, "relevant_chunk_ids[0]", "one grade"),
        ({"relevant_chunk_ids": [[]]}, "relevant_chunk_ids[0]", "empty list"),
        ({"relevant_chunk_ids": [""]}, "relevant_chunk_ids[0]", "empty"),
        ({"expected_doc_types": [1]}, "expected_doc_types[0]", "text"),
        ({"metadata": []}, "metadata", "object"),
        ({"answerable": "no"}, "answerable", "true or false"),
        ({"gold": ["c1"]}, "gold[0]", '{"id": ...}'),
        ({"gold": [{"id": "c1", "grade": 1.5}]}, "gold[0].grade", "contradicts"),
    ],
)
def test_mistakes(tmp_path, change, field, hint):
    """A mistake is named by file, line and field, with the remedy."""
    path = written(tmp_path, {**RECORD, "query_id": "q0"}, {**RECORD, **change})
    with pytest.raises(DataError) as caught:
        read_dataset(path)
    assert str(caught.value).startswith(f"{path}:2: {field}:")
    assert hint in str(caught.value)


def test_positions_behind_a_broken_entry(tmp_path):
    """What stands behind a broken id or gold item is named by its own position."""
    lists = {"relevant_chunk_ids": ["", "c3", "c3"], "highly_relevant_chunk_ids": ["c1"]}
    gold = [5, {"id": "c1", "grade": 1.5}]
    found = validate(str(written(tmp_path, {**RECORD, **lists, "gold": gold}))).problems
    assert [problem.field for problem in found] == [
        "gold[0]",
        "relevant_chunk_ids[0]",
        "gold[1].grade",
    ]


def test_more_mistakes_are_counted(tmp_path):
    """The first mistake is named, with how many more there are."""
    path = written(tmp_path, {**RECORD, "query": 5, "answerable": "x"}, {**RECORD, "querry": ""})
    with pytest.raises(DataError, match=r"and 3 more; 'kragx gold validate'"):
        read_dataset(path)


def test_name_version_and_hash_in_every_result(tmp_path):
    """A result records name, version and content hash; the order of lines does not matter."""
    two = {**RECORD, "query_id": "q2"}
    dataset = read_dataset(written(tmp_path, RECORD, two), name="mine", version="3")
    turned = read_dataset(written(tmp_path, two, RECORD, name="turned.jsonl"))
    result = evaluate(dataset, {"q1": [{"id": "c1"}]}, match="id", metrics=["mrr"])
    assert result.settings["dataset"] == {
        "name": "mine",
        "version": "3",
        "hash": dataset.content_hash,
    }
    assert turned.content_hash == dataset.content_hash
    other = read_dataset(written(tmp_path, {**RECORD, "query": "?"}, two, name="other.jsonl"))
    assert other.content_hash != dataset.content_hash


def test_more_mistakes_of_what_is_no_file_are_counted():
    """Of rows in Python nothing names a command that reads files."""
    rows = [{"query_id": "a", "query": "?", "gold": [{"id": 3.5}]}, {"query_id": "b", "gold": 7}]
    with pytest.raises(DataError, match=r"^gold:1: gold\[0\]: an id must be .* \(and 1 more\)$"):
        evaluate(rows, [["a"], ["b"]])
