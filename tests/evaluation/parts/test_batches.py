"""Questions read and matched in batches give what they give one by one."""

from __future__ import annotations

import json
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow
import pytest
from hypothesis import example, given, strategies as st
from pyarrow import parquet as parquet_files

from kragx import DataError, Evaluation, UsageError, evaluate
from kragx.data import batch, lists, source
from kragx.data.batch import Batch
from kragx.matchers import Diagnostics, MatchItem, RougeMatcher
from kragx.metrics import MatchTable
from tests.thoroughness import examples

PASSAGE = "환불은 산 날부터 14일 안에 되고 배송료는 가게가 냅니다"
TEXTS = [
    PASSAGE,
    unicodedata.normalize("NFD", PASSAGE),
    f"  {PASSAGE.replace(' ', '  ')}",
    f"# 안내\n\n{PASSAGE}. 그 밖의 것은 문의하세요.",
    "1919",
    "The treaty was signed in 1919 in the hall of mirrors.",
    "the hall of mirrors was built by the king in the year before",
    "***",
    "",
    "\ud83d\ude00",
    "東京都は日本の首都である",
]
GOLD = st.fixed_dictionaries(
    {"text": st.sampled_from(TEXTS)},
    optional={"id": st.sampled_from("ab"), "grade": st.sampled_from([0, 1, 2, 1.5])},
)
DOC = st.fixed_dictionaries(
    {"text": st.sampled_from(TEXTS)},
    optional={
        "id": st.sampled_from("abc"),
        "score": st.floats(0, 1),
        "metadata": st.just({"n": 1}),
    },
)
LONE = st.fixed_dictionaries({"text": st.sampled_from(TEXTS)})


@st.composite
def results(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Questions with gold and what was retrieved; now and then one that is not plain."""
    records = []
    for number in range(draw(st.integers(1, 6))):
        docs = draw(st.sampled_from([LONE, LONE, DOC, st.just({"id": "a"})]))
        record: dict[str, Any] = {
            "query_id": f"q{number}",
            "gold": draw(st.lists(draw(st.sampled_from([LONE, GOLD])), max_size=3)),
        }
        if draw(st.integers(0, 5)):
            record["retrieved"] = draw(st.lists(docs, max_size=5))
        if not draw(st.integers(0, 5)):
            record |= draw(st.sampled_from([{"query_type": "a"}, {"seconds": 0.5}, {"query": "?"}]))
        if not draw(st.integers(0, 9)):
            record |= draw(st.sampled_from([{"retrieved": "a"}, {"gold": [{"text": 1}]}, {"x": 1}]))
        records.append(record)
    return records


def outcome(path: Path, **options: Any) -> object:
    """All that an evaluation says, with its warnings; or why there is none."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            evaluation = evaluate(str(path), **options)
        except (DataError, UsageError) as error:
            return str(error)
    return (
        columns(evaluation.table),
        evaluation.query_ids,
        dict(evaluation.mean),
        evaluation.counts,
        evaluation.settings,
        [str(own.message) for own in said],
    )


def columns(table: MatchTable) -> dict[str, object]:
    """A match table as plain values, bit for bit."""
    values = {own.name: getattr(table, own.name) for own in fields(table)}
    return {
        name: (own.dtype.str, own.tobytes()) if isinstance(own, np.ndarray) else own
        for name, own in values.items()
    }


@contextmanager
def of_size(size: int) -> Iterator[None]:
    """Batches of so many questions."""
    with patch.object(source, "_AT_ONCE", size):
        yield


@contextmanager
def one_by_one() -> Iterator[None]:
    """Every record is read by itself, and every question is a batch."""
    with (
        patch.object(batch, "plain_columns", lambda *_, **__: None),
        of_size(1),
    ):
        yield


def one_kind(record: dict[str, Any]) -> dict[str, Any]:
    """A record as a row: a column holds values of one type."""
    return record | {"query_id": str(record["query_id"])}


MATCHES = ["overlap", "rouge2", "rouge1", "rougeL", "phrase", "span", "text", "id"]


@pytest.mark.integration
@examples(150)
@given(
    records=results(),
    match=st.sampled_from(MATCHES),
    profile=st.sampled_from(["kragx", "trec", "krag"]),
    size=st.integers(1, 4),
    is_table=st.booleans(),
)
@example(
    records=[{"query_id": 1, "gold": [{"text": PASSAGE, "grade": 0}], "retrieved": []}],
    match="overlap",
    profile="kragx",
    size=1,
    is_table=True,
)
@example(  # in whichever batch: the first question that is wrong is named
    records=[
        {"query_id": "q1", "gold": [{"text": PASSAGE}], "retrieved": [{"id": "a"}]},
        {"query_id": "q2", "gold": [{"text": PASSAGE}], "retrieved": [{"text": PASSAGE}]},
    ],
    match="id",
    profile="kragx",
    size=2,
    is_table=False,
)
def test_batches_give_what_single_questions_give(
    records: list[dict[str, Any]], match: str, profile: str, size: int, is_table: bool
) -> None:
    """Table, means, counts, hash of the gold, warnings and errors, whatever the size of batches."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "results.jsonl")
        path.write_text("".join(json.dumps(own) + "\n" for own in records), encoding="utf-8")
        if is_table:
            with suppress(pyarrow.ArrowException):  # which tables cannot hold
                table = pyarrow.Table.from_pylist([*map(one_kind, json.loads(json.dumps(records)))])
                path = path.with_suffix(".parquet")
                parquet_files.write_table(table, path, row_group_size=size)
        with of_size(size):
            in_batches = outcome(path, match=match, profile=profile)
        with one_by_one():
            assert in_batches == outcome(path, match=match, profile=profile)


@pytest.mark.parametrize("most", [200, 400, 600])
def test_texts_are_forgotten_between_batches(tmp_path: Path, most: int) -> None:
    """Where what stands between blocks fills the memory of texts, those behind keep their own."""
    path = tmp_path / "results.jsonl"
    records: list[dict[str, Any]] = []
    for number in range(60):
        texts = [f"{word} {number} of the passage that is looked for" for word in ("one", "other")]
        docs = [{"text": text} for text in texts]
        record = {"query_id": f"q{number}", "gold": docs[number % 2 :][:1], "retrieved": docs}
        records.append(record if number % 7 < 6 else {**record, "query_type": "a"})
    path.write_text("".join(json.dumps(own) + "\n" for own in records), encoding="utf-8")
    with of_size(4), patch.object(lists, "_MOST_CHARACTERS", most):
        in_batches = outcome(path, match="rouge1", metrics=["recall@1"])
    with one_by_one():
        assert in_batches == outcome(path, match="rouge1", metrics=["recall@1"])


class Halved(RougeMatcher):
    """Somebody's matcher: ROUGE, by half."""

    def scores(self, items: Iterable[MatchItem], diagnostics: Diagnostics) -> Iterator[Any]:
        """Half of each score."""
        return (scores / 2 for scores in super().scores(items, diagnostics))


@pytest.mark.parametrize("in_file", [True, False])
def test_a_subclass_with_scores_of_its_own(tmp_path: Path, in_file: bool) -> None:
    """It is asked for each question's scores, in whatever form the questions come."""
    rows = [
        {"query_id": f"q{n}", "gold": [{"text": PASSAGE}], "retrieved": [{"text": PASSAGE}]}
        for n in range(3)
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(own) + "\n" for own in [*rows, {"query_id": "q3"}]))
    given = (str(path),) if in_file else ([[PASSAGE]] * 3, [[PASSAGE]] * 3)
    match = Halved("rouge1", threshold=0.4)
    evaluation = evaluate(*given, match=match, metrics=["recall@1"])
    assert evaluation.mean == {"recall@1": 1.0}
    assert evaluation.table.pair_score.tolist() == [0.5] * 3
    assert evaluation.counts["n_missing"] == in_file


def test_no_objects_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain questions make no object; nor do those that are not plain, which come in order."""
    path = tmp_path / "results.jsonl"
    plain = {"gold": [{"text": PASSAGE}], "retrieved": [{"text": PASSAGE}, {"text": "1919"}]}
    records = [{"query_id": f"q{n}", **plain} for n in range(9)]
    records[4]["query_type"] = "a"
    path.write_text("".join(json.dumps(own) + "\n" for own in records), encoding="utf-8")
    made: list[int] = []
    rows = Batch.rows
    monkeypatch.setattr(Batch, "rows", lambda batch: made.append(len(batch)) or rows(batch))
    evaluation: Evaluation = evaluate(str(path), metrics=["recall@1"])
    assert evaluation.query_ids == tuple(f"q{n}" for n in range(9))
    assert evaluation.mean == {"recall@1": 1.0}
    assert not made
