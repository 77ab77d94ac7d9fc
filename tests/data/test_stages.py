"""Stages in results files: each document once, and mistakes named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, Doc, GoldDataset, Run, read_results, write_results
from kragx.data import Retrieved, Stage, SurrogateRepair
from kragx.data.search_records import NumberedDocs, as_stages, stage_records
from tests.thoroughness import examples

DOCS = st.lists(
    st.builds(
        Doc,
        st.sampled_from("abc"),
        st.sampled_from(["한글", "text", None]),
        st.sampled_from([{}, {"page": 1}]),
        st.sampled_from([None, 0.5]),
    ),
    max_size=6,
).map(tuple)


@examples(200)
@given(DOCS, st.lists(DOCS, max_size=4))
def test_written_and_read(retrieved: tuple[Doc, ...], lists: list[tuple[Doc, ...]]) -> None:
    """What is written is read back, whatever repeats; each id with its text is written once."""
    stages = [
        Stage(f"s{i}", tuple(f"s{j}" for j in range(i)), docs, 0.5 * i, "late" if i == 3 else None)
        for i, docs in enumerate(lists)
    ]
    records = json.loads(json.dumps(stage_records(stages, NumberedDocs(retrieved))))
    assert as_stages(records, NumberedDocs(retrieved, SurrogateRepair())) == tuple(stages)
    whole = [entry for own in records for entry in own["retrieved"] if isinstance(entry, dict)]
    written = [(own.get("id"), own.get("text")) for own in whole if "same" not in own]
    assert len(written) == len(set(written))


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_in_files(ending: str, tmp_path: Path) -> None:
    """JSON Lines and Parquet hold stages, those of a question that failed too."""
    docs = Doc("a", "글"), Doc("b", "text", {"page": 3}, 0.5)
    stages = (Stage("bm25", (), docs, 0.25), Stage("rerank", ("bm25",), docs[::-1], None, "cut"))
    run = Run(
        {"q1": Retrieved(docs[:1], 1.0, stages=stages), "q2": Retrieved((), 1.0, "x", stages)}
    )
    dataset = GoldDataset.from_documents({"q1": ["글"], "q2": ["글"], "q3": ["글"]})
    path = tmp_path / f"results.{ending}"
    write_results(dataset, run, path)
    assert read_results(path)[1].results == run.results


WRONG = [
    ({"name": "x"}, r"stages: must be a list of stages"),
    ([{"retrieved": []}], r"stages\[0\].name: must be the name"),
    ([{"name": "x"}, {"name": "x"}], r"stages\[1\].name: 'x' stands twice"),
    ([{"name": "x", "inputs": ["y"]}], r"stages\[0\].inputs: no earlier stage is called 'y'"),
    ([{"name": "x", "retrieved": [7]}], r"stages\[0\].retrieved\[0\]: there is no document 7"),
    ([{"name": "x", "retrieved": ["a"]}], r"stages\[0\].retrieved\[0\]: an object is expected"),
    ([{"name": "x", "retrieved": [True]}], r"stages\[0\].retrieved\[0\]"),
    ([{"name": "x", "documents": []}], r"stages\[0\].documents: unknown field"),
    ([{"name": "x", "seconds": -1}], r"stages\[0\].seconds: must be how long"),
]


@pytest.mark.parametrize(("stages", "message"), WRONG)
def test_mistakes(stages: object, message: str, tmp_path: Path) -> None:
    """A wrong stage is an error with file, line and field."""
    path = tmp_path / "results.jsonl"
    record = {"query_id": "q1", "gold": [{"id": "a"}], "retrieved": [{"id": "a"}], "stages": stages}
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(DataError, match=rf"results.jsonl:1: .*{message}"):
        read_results(path)
