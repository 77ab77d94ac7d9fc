"""Results files: what one retriever returned, and the difference of missing, empty and failed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx import (
    DataError,
    Doc,
    GoldDataset,
    Query,
    Retrieved,
    Run,
    evaluate,
    read_results,
    write_results,
)
from tests.thoroughness import examples

from .support import datasets, docs, texts, written

seconds = st.none() | st.floats(0, 1e6)
answers = st.builds(Retrieved, st.lists(docs, max_size=3).map(tuple), seconds=seconds) | st.builds(
    Retrieved, seconds=seconds, error=texts
)


@pytest.mark.integration
@given(dataset=datasets, data=st.data())
@examples(80)
def test_what_is_written_is_read_back(dataset: GoldDataset, data: st.DataObject) -> None:
    """Any gold set and run, with failed and missing queries, come back the same."""
    run = Run({q.id: data.draw(answers) for q in dataset if data.draw(st.booleans())})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        write_results(dataset, run, path)
        same_dataset, same_run = read_results(path)
    assert same_dataset.queries == dataset.queries
    assert same_run.results == run.results


def test_a_line_holds_what_was_retrieved(tmp_path: Path) -> None:
    """Ids, texts, scores, metadata and seconds arrive, in the order of the list."""
    path = written(
        tmp_path,
        {
            "query_id": "a",
            "retrieved": [
                {"id": "d2", "score": 0.1},
                {"id": 1, "text": "수도는 서울이다", "metadata": {"page": 3}, "score": 2},
                {"text": "서울"},
            ],
            "seconds": 0.25,
        },
        name="bm25.jsonl",
    )
    dataset, run = read_results(path)
    assert (dataset.name, run.name) == ("bm25", "bm25")
    assert run["a"] == Retrieved(
        (
            Doc("d2", score=0.1),
            Doc("1", "수도는 서울이다", {"page": 3}, 2.0),
            Doc(text="서울"),
        ),
        0.25,
    )


def test_missing_empty_and_failed_are_told_apart(tmp_path: Path) -> None:
    """No `retrieved` is missing, `[]` found nothing, `error` failed; all score 0."""
    gold = [{"id": "d1"}]
    path = written(
        tmp_path,
        {"query_id": "missing", "gold": gold},
        {"query_id": "empty", "gold": gold, "retrieved": []},
        {"query_id": "failed", "gold": gold, "error": "TimeoutError: 30 s"},
        {"query_id": "found", "gold": gold, "retrieved": [{"id": "d1"}]},
    )
    _, run = read_results(path)
    assert list(run) == ["empty", "failed", "found"]
    assert run["empty"] == Retrieved()
    assert run["failed"] == Retrieved(error="TimeoutError: 30 s")
    result = evaluate(path, match="id", metrics=["recall@1"])
    assert result["recall@1"] == 0.25
    counted = {name: result.counts[name] for name in ("n_queries", "n_missing", "n_failed")}
    assert counted == {"n_queries": 4, "n_missing": 1, "n_failed": 1}


def test_a_file_without_any_answer_is_not_evaluated(tmp_path: Path) -> None:
    """A gold file alone is refused, instead of scoring 0 for every query."""
    path = written(tmp_path, {"query_id": "a", "gold": [{"id": "d1"}]})
    with pytest.raises(DataError, match="no query has 'retrieved'"):
        evaluate(path, match="id")


def test_a_file_gives_the_numbers_of_its_values(tmp_path: Path) -> None:
    """A written results file evaluates to the same numbers as the values it was written from."""
    gold = {"a": [{"text": "한강은 길다"}], "b": [{"text": "산이 높다"}, {"text": "들이 넓다"}]}
    retrieved = {"a": ["한강은 아주 길다", "한강은 길다"], "b": ["들이 넓다", "별이 밝다"]}
    dataset, run = GoldDataset.from_documents(gold), Run.from_documents(retrieved)
    path = tmp_path / "results.jsonl"
    write_results(dataset, run, path)
    expected = evaluate(dataset, run, match="rouge1")
    assert 0 < expected["ndcg@10"] < 1
    assert evaluate(path, match="rouge1").queries == expected.queries
    assert evaluate(gold, path, match="rouge1").queries == expected.queries


WRONG = [
    (
        {"retrieved": None},
        "retrieved: must be a list of documents, not None; leave the field out",
    ),
    ({"retrieved": {"d1": 0.5}}, "retrieved: must be a list"),
    ({"retrieved": "d1"}, "retrieved: must be a list"),
    (
        {"retrieved": [{"id": "a"}, "d1"]},
        "retrieved[1]: an object is expected, not the string",
    ),
    ({"retrieved": [{"id": "a"}, {}]}, "retrieved[1]: a document needs 'id' or 'text'"),
    ({"retrieved": [5]}, "retrieved[0]: int 5 is not a document"),
    ({"retrieved": [None]}, "retrieved[0]: None is not a document"),
    ({"retrieved": [["a"]]}, "retrieved[0]: list ['a'] is not a document"),
    ({"retrieved": [{"id": 0.5}]}, "retrieved[0]: an id must be a string or a whole number"),
    ({"retrieved": [{"text": ["a"]}]}, "retrieved[0]: a text must be a string, not list"),
    ({"retrieved": [{"id": "a", "score": "1"}]}, "retrieved[0].score: must be a number"),
    ({"retrieved": [{"id": "a", "score": float("nan")}]}, "retrieved[0].score: must be a number"),
    ({"retrieved": [{"id": "a", "metadata": 5}]}, "retrieved[0].metadata: must be a mapping"),
    ({"retrieved": [{"id": "a", "rank": 1}]}, "retrieved[0].rank: unknown field"),
    (
        {"retrieved": [{"id": "a", "scores": 1}]},
        "scores: unknown field; perhaps you meant 'score'?",
    ),
    ({"retrieved": [], "seconds": "fast"}, "seconds: must be a finite number"),
    ({"retrieved": [], "seconds": True}, "seconds: must be a finite number"),
    ({"error": 500}, "error: must be a text"),
]


@pytest.mark.parametrize(("fields", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_field_is_refused(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    """Each wrong field names file, line, query or rank, and the field."""
    path = written(tmp_path, {"query_id": "first", "retrieved": []}, {"query_id": "b"} | fields)
    with pytest.raises(DataError) as caught:
        read_results(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


def test_a_lone_surrogate_is_written_as_it_would_be_read(tmp_path: Path) -> None:
    """What no file can hold is written as U+FFFD, never as another character."""
    path = tmp_path / "results.jsonl"
    dataset = GoldDataset((Query("a", metadata={"title": "반쪽 \ud83d"}),))
    write_results(dataset, Run({"a": Retrieved()}), path)
    assert read_results(path)[0].queries[0].metadata == {"title": "반쪽 \ufffd"}
