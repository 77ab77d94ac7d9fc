"""Values per question in Parquet files: compared from there, they are compared as in memory."""

from __future__ import annotations

import numpy as np
import pytest

from kragx.comparison.changes import changes
from kragx.comparison.compare_retrievers import compare_scores
from kragx.comparison.estimates import Settings
from kragx.comparison.scores import Results, RetrieverScores
from kragx.comparison.slices import Tables
from kragx.errors import DataError, UsageError
from tests.comparison.support import evaluation, gold_set

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

N = 60


@pytest.fixture(scope="module")
def evaluated():
    """Two retrievers on sixty questions of three types, some without one, in lists of subjects."""
    gold = gold_set(
        N,
        query_type=lambda i: (None, "easy", "hard")[i % 3],
        subject=lambda i: [["law"], ["law", "tax"], []][i % 3],
    )
    return [
        evaluation(gold, "a", lambda i: 1 + i % 7, seconds=lambda i: 0.1 + i / 100),
        evaluation(gold, "b", lambda i: None if i % 11 == 0 else 1 + i % 5),
    ]


def written(folder, own, rows, *, per=25, drop=()):
    """An evaluation's values as tables, some of its rows, so many a file."""
    scores = RetrieverScores.of(own)
    folder.mkdir()
    for start in range(0, len(rows), per):
        part = rows[start : start + per]
        queries = [own.dataset[own.query_ids[row]] for row in part]
        columns = {
            "query_id": [query.id for query in queries],
            "query_type": [query.query_type for query in queries],
            "metadata.subject": pyarrow.array(
                [query.metadata["subject"] for query in queries], pyarrow.list_(pyarrow.string())
            ),
            **{name: scores.values[name][part] for name in scores.values if name not in drop},
        }
        parquet.write_table(pyarrow.table(columns), folder / f"{start:04d}.parquet")
    tables = Tables(tuple(sorted(folder.glob("*.parquet"))))
    row = {**own.to_dict(queries=False), "retriever": own.name, "match": own.match_name}
    if len(rows) < N:
        row["mean"] = {name: float(np.nanmean(scores.values[name][rows])) for name in row["mean"]}
    return RetrieverScores.read(row, {}, None, tables)


def everything(comparison):
    """A comparison as JSON holds it, but for ids, which tables do not list."""
    record = comparison.to_dict()
    for part in record["slices"]:
        part.pop("query_ids")
    return record


@pytest.mark.integration
def test_compared_as_in_memory(evaluated, tmp_path):
    """Means, intervals, tests, slices and advice from tables are those of the evaluations."""
    rows = np.arange(N)
    tables = [written(tmp_path / own.name, own, rows) for own in evaluated]
    slices = ["query_type", "metadata.subject"]
    settings = Settings(resamples=500)
    memory = [RetrieverScores.of(own) for own in evaluated]
    gold = evaluated[0].dataset
    expected = compare_scores(memory, settings, slices=slices, dataset=gold)
    assert everything(compare_scores(tables, settings, slices=slices)) == everything(expected)
    assert [part.n for part in expected.by("metadata.subject")] == [40, 20, 20]


def test_joined_by_id(evaluated, tmp_path):
    """Tables in another order, or with other questions, are joined by id, as evaluations are."""
    rows = np.random.default_rng(3).permutation(N)[:50]
    tables = [
        written(tmp_path / "a", evaluated[0], np.arange(N)),
        written(tmp_path / "b", evaluated[1], rows),
    ]
    compared = compare_scores(tables, Settings(resamples=500), slices=["query_type"])
    assert list(compared.query_ids) == [f"q{row}" for row in sorted(rows)]
    difference = compared.overall.difference("mrr@10", "b")
    by_hand = [own.values["mrr@10"] for own in map(RetrieverScores.of, evaluated)]
    assert difference.n == 50
    assert difference.value == pytest.approx((by_hand[1] - by_hand[0])[rows].mean())
    assert sum(part.n for part in compared.slices) == 50


def test_changes(evaluated, tmp_path):
    """Who changed, by how much and in what order is as in memory, though no question has a text."""
    rows = np.arange(N)
    tables = [written(tmp_path / own.name, own, rows) for own in evaluated]
    gold = evaluated[0].dataset
    memory = [RetrieverScores.of(own) for own in evaluated]
    results = [
        changes(
            Results("old", (pair[0],), dataset),
            Results("new", (pair[1],), dataset),
            Settings(resamples=500),
            retrievers=["a", "b"],
        )[0]
        for pair, dataset in ((memory, gold), (tables, None))
    ]
    assert (results[1].n_better, results[1].n_worse) == (results[0].n_better, results[0].n_worse)
    for name in ("better", "worse"):
        pairs = zip(getattr(results[0], name), getattr(results[1], name), strict=True)
        assert all(
            (one.query_id, one.before, one.after) == (two.query_id, two.before, two.after)
            for one, two in pairs
        )


def test_bad_tables(evaluated, tmp_path):
    """Files without a metric, none of Parquet and unknown fields are errors that name them."""
    one = written(tmp_path / "a", evaluated[0], np.arange(30), per=30)
    with pytest.raises(DataError, match=r"b.0000.parquet: has no column 'recall@10'; score it"):
        written(tmp_path / "b", evaluated[0], np.arange(30), per=30, drop=("recall@10",))
    with pytest.raises(UsageError, match=r"no query has a value of 'querytype'; .*query_type"):
        compare_scores([one], Settings(resamples=500), slices=["querytype"])
    none = pyarrow.table({"query_id": ["q1"], "query_type": pyarrow.nulls(1, pyarrow.string())})
    parquet.write_table(none, tmp_path / "none.parquet")
    with pytest.raises(UsageError, match="of 'query_type'; they have no field to slice by"):
        [*Tables((tmp_path / "none.parquet",)).sliced(["q1"], ["query_type"])]
    broken = tmp_path / "broken.parquet"
    broken.write_text("no Parquet")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        _ = Tables((broken,)).query_ids
