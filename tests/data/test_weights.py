"""What a question stands for: read, written, hashed, checked and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kragx import (
    DataError,
    Doc,
    Gold,
    GoldDataset,
    Query,
    Retrieved,
    Run,
    evaluate,
    read_dataset,
    read_results,
    validate,
    write_gold,
    write_results,
)
from kragx.data.formats.format import STANDS_FOR
from kragx.data.gold_diff import diff_gold
from kragx.data.problems import DataWarning
from kragx.data.reading import read_run
from kragx.data.source import Reading
from kragx.evaluation.part_tables import evaluate_in_parts

GOLD = (Gold(id="d1"),)
DATASET = GoldDataset(
    (
        Query("q1", "one?", GOLD, weight=3),
        Query("q2", "two?", GOLD, inclusion=0.25),
        Query("q3", "three?", GOLD, weight=0, inclusion=0.5),
        Query("q4", "four?", GOLD),
    )
)
RUN = Run({query.id: Retrieved((Doc("d1"),)) for query in DATASET})


def test_by_hand() -> None:
    """Asked 3 times; drawn with a chance of a quarter; never asked; asked once."""
    assert DATASET.weights is not None
    assert DATASET.weights.tolist() == [3.0, 4.0, 0.0, 1.0]
    assert GoldDataset((Query("q1", weight=2), Query("q2", inclusion=0.5))).weights is None


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_what_is_written_is_read_back(tmp_path: Path, ending: str) -> None:
    """Gold files and results keep weights, and the hash that stands for them."""
    gold, results = tmp_path / f"gold.{ending}", tmp_path / f"results.{ending}"
    write_gold(DATASET, gold)
    write_results(DATASET, RUN, results)
    for dataset in map(read_dataset, map(str, (gold, results))):
        assert dataset.queries == DATASET.queries
        assert dataset.content_hash == DATASET.content_hash
    assert evaluate(str(results), match="id").settings["dataset"]["hash"] == DATASET.content_hash


def test_what_is_1_is_not_written(tmp_path: Path) -> None:
    """A file says what is not 1 alone, so that one without weights is what it always was."""
    write_gold(DATASET, tmp_path / "gold.jsonl")
    lines = (tmp_path / "gold.jsonl").read_text().splitlines()
    said = [
        {k: v for k, v in json.loads(line).items() if k in ("weight", "inclusion")}
        for line in lines
    ]
    assert said == [{"weight": 3}, {"inclusion": 0.25}, {"weight": 0, "inclusion": 0.5}, {}]
    assert '"weight": 3}' in lines[0]
    pq = pytest.importorskip("pyarrow.parquet")
    write_gold(GoldDataset((Query("q1", gold=GOLD),)), tmp_path / "plain.parquet")
    assert "weight" not in pq.read_schema(tmp_path / "plain.parquet").names


def test_a_hash_without_weights_is_what_it_was() -> None:
    """The hash of a set that says nothing of weights is that of earlier versions."""
    plain = GoldDataset((Query("q1", "one?", GOLD),))
    assert plain.content_hash.startswith("90163141fb7d129a")
    assert GoldDataset((Query("q1", "one?", GOLD, weight=1, inclusion=1),)).content_hash == (
        plain.content_hash
    )
    others = [Query("q1", "one?", GOLD, weight=2), Query("q1", "one?", GOLD, inclusion=0.5)]
    assert len({GoldDataset((query,)).content_hash for query in others} | {plain.content_hash}) == 3


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("weight", -1, "must be a finite number, how often the question is asked, 0 .*, not -1"),
        ("weight", "two", "must be a"),
        ("weight", True, "must be a"),
        ("weight", float("nan"), "must be a finite number"),
        ("weight", float("inf"), "must be a finite number"),
        ("inclusion", 0, "must be the chance with which the question was drawn, above 0"),
        ("inclusion", 1.5, "must be the chance with which the question was drawn, above 0"),
        ("inclusion", -0.5, "must be the chance with which the question was drawn, above 0"),
    ],
)
def test_what_is_no_weight(tmp_path: Path, field: str, value: Any, message: str) -> None:
    """It is refused with line, field and value, in files and in Python."""
    with pytest.raises(DataError, match=f"{field}: {message}"):
        Query("q1", **{field: value})
    lines = [
        {"query_id": "q1", "gold": [{"id": "d1"}], "retrieved": []},
        {"query_id": "q2", "gold": [{"id": "d1"}], "retrieved": [], field: value},
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    for read in (read_results, lambda source: evaluate(source, match="id")):
        with pytest.raises(DataError, match=rf"results\.jsonl:2: {field}: {message}"):
            read(str(path))
    (problem,) = [problem for problem in validate(str(path)).problems if problem.level == "error"]
    assert (problem.line, problem.field) == (2, field)


def test_a_cell_that_is_no_weight(tmp_path: Path) -> None:
    """Of a table the row is named; an empty cell says nothing."""
    path = tmp_path / "gold.csv"
    path.write_text("query_id,query,gold,weight\nq1,one?,[],2\nq2,two?,[],\nq3,three?,[],many\n")
    with pytest.raises(
        DataError, match=r"gold\.csv:4: weight: must be a number, not 'many'; write how"
    ):
        read_dataset(str(path))
    path.write_text("query_id,query,gold,asked\nq1,one?,[],2\nq2,two?,[],\n")
    dataset = read_dataset(str(path), columns={"weight": "asked"})
    assert [query.weight for query in dataset] == [2.0, 1.0]


TABLE = """query_id,question,doc_id,grade,rank,weight,inclusion
q1,one?,a,1,1,5,1
q1,one?,b,,2,,1.0
q2,two?,a,1,2,2,0.5
q2,two?,c,,1,,
q3,three?,,,,1,
"""


def test_a_row_a_document(tmp_path: Path) -> None:
    """A table's columns weigh its questions, as gold and as results, and are no metadata."""
    path = tmp_path / "both.csv"
    path.write_text(TABLE)
    dataset, _ = read_results(str(path))
    for gold in (dataset, read_dataset(str(path))):
        assert [(query.weight, query.inclusion) for query in gold] == [(5, 1), (2, 0.5), (1, 1)]
        assert not any(item.metadata for query in gold for item in query.gold)
    assert evaluate(str(path), match="id", metrics=["mrr@5"])["mrr@5"] == pytest.approx(7 / 9)
    path.write_text(TABLE.replace("weight", "asks").replace("inclusion", "chance"))
    columns = {"weight": "asks", "inclusion": "chance"}
    assert read_dataset(str(path), columns=columns).weights is not None
    (row, *_) = TABLE.replace("weight", "Weight").splitlines()
    path.write_text(TABLE.replace(TABLE.splitlines()[0], row))
    assert Reading(str(path)).may_hold(*STANDS_FOR)
    assert read_dataset(str(path)).queries == dataset.queries


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "b,,2,,1.0",
            "b,,2,4,1.0",
            "3: weight: 4 here, and 5 on line 2; a question has one weight",
        ),
        ("b,,2,,1.0", "b,,2,,0.5", "3: inclusion: 0.5 here, and 1 on line 2; a question has one"),
        ("2,2,0.5", "2,-1,0.5", "4: weight: must be a finite number, how often.*-1.*; write"),
        ("2,2,0.5", "2,abc,0.5", "4: weight: must be a.*'abc'.*; write how many asks"),
        ("2,2,0.5", "2,nan,0.5", "4: weight: must be a.*'nan'.*; write how many asks"),
        ("2,2,0.5", "2,2,1.5", "4: inclusion: must be the chance.*1.5; write a share"),
    ],
)
def test_a_row_a_document_that_is_wrong(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    """What is no weight, and rows of one question that disagree, are refused by line."""
    path = tmp_path / "both.csv"
    path.write_text(TABLE.replace(before, after))
    with pytest.raises(DataError, match=message):
        read_dataset(str(path))


def test_other_tools_and_beir(tmp_path: Path) -> None:
    """Samples of ragas, AutoRAG and DeepEval and queries of BEIR weigh, too."""
    asks = {"weight": 5, "inclusion": 0.5}
    for row in (
        {"user_input": "one?", "reference_contexts": ["a"]},
        {"qid": "q1", "query": "one?", "retrieval_gt": ["a"]},
        {"input": "one?", "context": ["a"], "retrieval_context": ["a"]},
    ):
        (query,) = read_dataset([row | asks])
        assert (query.weight, query.inclusion, dict(query.metadata)) == (5, 0.5, {})
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\n")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "A"}')
    queries = tmp_path / "queries.jsonl"
    queries.write_text(json.dumps({"_id": "q1", "text": "one?", **asks}))
    (query,) = read_dataset(str(tmp_path))
    assert (query.weight, query.inclusion) == (5, 0.5)
    assert Reading(str(tmp_path)).may_hold(*STANDS_FOR)
    queries.write_text('\n{"_id": "q1", "text": "one?", "weight": -1}')
    with pytest.raises(DataError, match=r"queries\.jsonl:2: weight: must be a finite number"):
        read_dataset(str(tmp_path))


def test_results_beside_gold(tmp_path: Path) -> None:
    """Weights of results count by the gold set alone: said where it has none, else the same."""
    results = tmp_path / "results.jsonl"
    write_results(DATASET, RUN, results)
    plain = GoldDataset(tuple(Query(query.id, query.text, GOLD) for query in DATASET), "plain")
    with pytest.warns(DataWarning, match="results: its questions stand for .*: plain has no"):
        read_run(str(results), plain)
    assert read_run(str(results), DATASET).results.keys() == RUN.results.keys()
    other = GoldDataset((Query("q1", "one?", GOLD, weight=5), *DATASET.queries[1:]), "other")
    with pytest.raises(DataError, match="query 'q1' has weight 5 in other and 3 in results; quest"):
        evaluate(other, str(results), match="id")
    write_results(plain, RUN, results)
    assert evaluate(other, str(results), match="id", metrics=["mrr@5"])["mrr@5"] == 1.0


def test_too_much(tmp_path: Path) -> None:
    """What squares of weights would not hold is refused by line, with a remedy, not a crash."""
    path = tmp_path / "gold.jsonl"
    row = {"query_id": "q1", "query": "one?", "gold": [{"id": "d1"}]}
    for field, value, message in (
        ("weight", 1e155, r"must be .* 0 to 1e\+50, not 1e\+155; write how many asks"),
        ("weight", 1e308, r"must be .* 0 to 1e\+50"),
        ("inclusion", 1e-320, "must be .*, not 1e-320; write a share"),
    ):
        path.write_text(json.dumps(row | {field: value}))
        (problem,) = [entry for entry in validate(str(path)).problems if entry.level == "error"]
        assert (problem.line, problem.field) == (1, field)
        with pytest.raises(DataError, match=rf"gold\.jsonl:1: {field}: {message}"):
            read_dataset(str(path))
    most = GoldDataset(
        (Query("q1", "one?", GOLD, weight=1e50, inclusion=1e-50), DATASET.queries[1])
    )
    assert evaluate(most, RUN, match="id", metrics=["mrr@5"])["mrr@5"] == 1.0


def test_all_0(tmp_path: Path) -> None:
    """Questions that all weigh nothing are refused, read whole, as a stream and in parts."""
    pytest.importorskip("pyarrow")
    row = {"gold": [{"id": "d1"}], "retrieved": [{"id": "d1"}], "weight": 0}
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(json.dumps({"query_id": name, **row}) for name in ("q1", "q2")))
    message = "every question has weight 0"
    with pytest.raises(DataError, match=message):
        GoldDataset((Query("q1", weight=0), Query("q2", weight=0)))
    for read in (
        lambda: read_dataset(str(path)),
        lambda: evaluate(str(path), match="id"),
        lambda: evaluate_in_parts(str(path), tmp_path / "out", match="id", metrics=["mrr@5"]),
    ):
        with pytest.raises(DataError, match=message):
            read()
    (problem,) = [entry for entry in validate(str(path)).problems if message in entry.message]
    assert problem.message.endswith("; say how often each is asked, or leave the field out")


def test_records_read_fast_and_slowly_weigh_alike(tmp_path: Path) -> None:
    """Plain records are gathered as arrays, others read field by field: weights are the same."""
    rows = [
        {"query_id": f"q{n}", "gold": [{"id": "d"}], "retrieved": [], "weight": n, "inclusion": 0.5}
        for n in range(4)
    ]
    path = tmp_path / "results.jsonl"
    for more in ({}, {"query_type": "a"}):
        path.write_text("\n".join(json.dumps(row | more) for row in rows))
        batches = [*Reading(str(path)).batches()]
        weights = np.concatenate([batch.weights for batch in batches if batch.weights is not None])
        assert weights.tolist() == [0.0, 2.0, 4.0, 6.0]
        assert [query.weight for batch in batches for query in batch.queries()] == [0, 1, 2, 3]


def test_a_difference_of_gold_sets_names_weights() -> None:
    """Numbers of a question that stands for more asks do not mean the same."""
    new = GoldDataset((Query("q1", "one?", GOLD, weight=5), *DATASET.queries[1:]))
    (question,) = diff_gold(DATASET, new).questions
    assert [(change.what, change.before, change.after) for change in question.changes] == [
        ("weight", 3.0, 5.0)
    ]
    assert not diff_gold(DATASET, new).comparable


def test_validate_says_how_many_asks(tmp_path: Path) -> None:
    """A set with weights is summed up by them as well; one without says nothing of asks."""
    write_gold(DATASET, tmp_path / "gold.jsonl")
    assert validate(str(tmp_path / "gold.jsonl")).summary["n_asks"] == 8.0
    assert "they stand for 8 asks" in str(validate(str(tmp_path / "gold.jsonl")))
    write_gold(GoldDataset((Query("q1", gold=GOLD),)), tmp_path / "plain.jsonl")
    assert "n_asks" not in validate(str(tmp_path / "plain.jsonl")).summary
