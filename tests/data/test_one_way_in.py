"""One way in: whatever one function reads, every function and command reads."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from kragx import (
    DataError,
    GoldDataset,
    Run,
    UsageError,
    evaluate,
    explain,
    match_pairs,
    read_dataset,
    read_gold,
    read_results,
    read_rows,
    sweep,
    write_gold,
    write_results,
)
from kragx.data.formats.trec import write_qrels
from kragx.data.reading import read_run, read_runs
from tests.app.commands.conftest import here, jsonl, kragx, module
from tests.data.support import write_run

__all__ = ["here", "jsonl", "kragx", "module"]

GOLD = GoldDataset.from_documents(
    {"q1": [{"id": "a"}], "q2": [{"id": "c"}, {"id": "d"}]}, queries=["where?", "when?"]
)
RUN = Run.from_documents({"q1": [{"id": "b"}, {"id": "a"}], "q2": [{"id": "c"}]})
CSV = """query_id,query,query_type,relevant_chunk_ids,retrieved_chunk_ids
q1,where?,fact,a,b; a
q2,when?,fact,c; d,"[""c""]"
"""
EXPECTED = {"mrr@10": 0.75, "recall@10": 0.75}


def sources(folder: Path) -> dict[str, object]:
    """The gold set above in every form that evaluate takes."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    pytest.importorskip("pyarrow")
    (folder / "gold.csv").write_text(CSV, encoding="utf-8")
    frame = pandas.read_csv(folder / "gold.csv")
    frame.to_excel(folder / "gold.xlsx", index=False)
    frame.to_parquet(folder / "gold.parquet")
    write_gold(GOLD, folder / "gold.jsonl")
    write_qrels(GOLD, folder / "gold.qrels")
    autorag = [
        {"qid": q.id, "query": q.text, "retrieval_gt": [[g.id] for g in q.gold]} for q in GOLD
    ]
    llamaindex = {
        "queries": {q.id: q.text for q in GOLD},
        "relevant_docs": {q.id: [g.id for g in q.gold] for q in GOLD},
    }
    (folder / "autorag.json").write_text(json.dumps(autorag), encoding="utf-8")
    (folder / "llamaindex.json").write_text(json.dumps(llamaindex), encoding="utf-8")
    names = ("csv", "xlsx", "parquet", "jsonl", "qrels")
    return {
        **{name: folder / f"gold.{name}" for name in names},
        "autorag": folder / "autorag.json",
        "llamaindex": str(folder / "llamaindex.json"),
        "frame": frame,
        "rows": frame.to_dict("records"),
        "object": llamaindex,
        "dataset": GOLD,
        "mapping": {q.id: [{"id": g.id} for g in q.gold] for q in GOLD},
        "grades": {q.id: {g.id or "": 1.0 for g in q.gold} for q in GOLD},
    }


def test_every_source_of_gold_gives_the_same_numbers(tmp_path: Path) -> None:
    """Files, frames, rows, objects and mappings: evaluate reads what read_dataset reads."""
    for name, source in sources(tmp_path).items():
        evaluation = evaluate(source, RUN, match="id", metrics=list(EXPECTED))
        assert evaluation.mean == EXPECTED, name
        assert [query.id for query in read_dataset(source)] == ["q1", "q2"], name


def test_every_source_of_a_run_gives_the_same_numbers(tmp_path: Path) -> None:
    """A results file, a TREC run, a table, rows and Python values are all runs."""
    tables = sources(tmp_path)
    write_results(GOLD, RUN, tmp_path / "results.jsonl")
    write_run(RUN, tmp_path / "ranked.run")
    (tmp_path / "ranked.txt").write_bytes((tmp_path / "ranked.run").read_bytes())
    runs = [
        RUN,
        tmp_path / "results.jsonl",
        str(tmp_path / "ranked.run"),
        tmp_path / "ranked.txt",
        *(tables[name] for name in ("csv", "xlsx", "parquet", "frame", "rows")),
        {query_id: list(RUN[query_id].documents) for query_id in RUN},
        [list(RUN[query_id].documents) for query_id in RUN],
    ]
    for run in runs:
        assert evaluate(GOLD, run, match="id", metrics=list(EXPECTED)).mean == EXPECTED, run


@pytest.mark.parametrize("name", ["csv", "xlsx", "parquet", "frame", "rows"])
def test_a_table_with_what_was_retrieved_stands_alone(name: str, tmp_path: Path) -> None:
    """`evaluate`, `match_pairs`, `explain`, `read_rows` and `read_results` take it as results."""
    source: Any = sources(tmp_path)[name]
    evaluation = evaluate(source, match="id", metrics=list(EXPECTED))
    assert evaluation.mean == EXPECTED
    assert [pair["retrieved_ids"] for pair in match_pairs(source, match="id")] == [
        ["b", "a"],
        ["c"],
    ]
    assert explain(source, query_id="q2", match="id").query_id == "q2"
    for read in (read_rows, read_results):
        dataset, run = read(source)
        assert evaluate(dataset, run, match="id", metrics=list(EXPECTED)).mean == EXPECTED
    assert read_gold(source).queries == dataset.queries


@pytest.mark.parametrize("name", ["gold.csv", "gold.xlsx", "gold.parquet"])
def test_commands_take_tables(name: str, tmp_path: Path, kragx: Any) -> None:
    """`kragx score`, `match` and `explain` of a table with what was retrieved."""
    path = sources(tmp_path)[name.removeprefix("gold.")]
    options = ("--match", "id", "--metric", "mrr@10", "--metric", "recall@10")
    assert kragx("score", path, *options, "--format", "json").json()["mean"] == EXPECTED
    assert kragx("match", path, "--match", "id").out.count("\n") == 2
    assert "q1" in kragx("explain", path, "--query", "q1", "--match", "id").out


def test_a_threshold_is_swept_over_a_table(tmp_path: Path) -> None:
    """Rows of ragas with texts, as CSV, go the way of a results file."""
    path = tmp_path / "rows.csv"
    path.write_text(
        'user_input,reference_contexts,retrieved_contexts\nwho?,a b c d,"a b\nx a b c d"\n',
        encoding="utf-8",
    )
    evaluation = evaluate(path, match="rouge1", metrics=["mrr@10"])
    assert evaluation.mean == {"mrr@10": 1.0}
    assert sweep(evaluation).to_dict()


def test_what_is_no_source_is_said(tmp_path: Path) -> None:
    """A run is no gold set, a gold set no run, and a value of another kind neither."""
    write_run(RUN, tmp_path / "ranked.run")
    write_gold(GOLD, tmp_path / "gold.jsonl")
    with pytest.raises(DataError, match="a TREC run, which holds no gold"):
        read_dataset(tmp_path / "ranked.run")
    for read in (read_run, lambda path: evaluate(GOLD, path), evaluate):
        with pytest.raises(DataError, match="no query has 'retrieved'"):
            read(tmp_path / "gold.jsonl")
    with pytest.raises(UsageError, match="int is not a gold set; pass"):
        read_dataset(5)
    with pytest.raises(DataError, match=r"not recognised as a gold set or as results; .* '번호'"):
        read_dataset([{"번호": 1, "질문": "?"}])
    # Lists of ids are the competition's gold; other lists are nobody's.
    (tmp_path / "whole.json").write_text('{"results": [{"query_id": "q1", "retrieved": []}]}')
    with pytest.raises(DataError, match=r"not recognised .* its fields are 'results'"):
        read_dataset(tmp_path / "whole.json")


def test_a_table_that_is_not_understood_leads_to_what_reads_it(tmp_path: Path, kragx: Any) -> None:
    """The options that an error names are all that the same command needs to read the table."""
    gold, run = tmp_path / "gold.csv", tmp_path / "found.csv"
    gold.write_text("질문,정답 근거\nWhen?,1919\n", encoding="utf-8")
    run.write_text("question,results\nWhen?,It was in 1919.\n", encoding="utf-8")
    results = tmp_path / "results.jsonl"
    results.write_text('{"query_id": "q1", "retrieved": [{"text": "In 1919."}]}\n', "utf-8")
    command = ("score", results, "--gold", gold, "-m", "mrr@5", "--format", "json")
    (options,) = re.findall(r"for example (.*) \(columns: in a config", kragx(*command).err)
    assert kragx(*command, *shlex.split(options)).json()["mean"] == {"mrr@5": 1.0}
    assert "its fields are 'question', 'results'" in kragx("score", run).err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("words.jsonl", '{"query_id": "q1", "query": "why?", "retrieved": []}\n'),
        ("words.csv", "query_id,query,metadata.a b c d e f,retrieved_chunk_ids\nq1,why?,x,[]\n"),
    ],
)
def test_six_words_in_the_first_line_make_no_trec_run(tmp_path: Path, name: str, text: str) -> None:
    """JSON and tables are told by their ending, however many words their first line has."""
    assert len(text.splitlines()[0].split()) == 6
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(read_run(tmp_path / name)) == ["q1"]


def test_several_runs_are_named_apart(tmp_path: Path) -> None:
    """By their tags and files, of whatever format each is."""
    write_run(RUN, tmp_path / "one.run")
    write_results(GOLD, RUN, tmp_path / "two.jsonl")
    runs = read_runs([tmp_path / "one.run", tmp_path / "two.jsonl"])
    assert [run.name for run in runs] == ["run", "two"]
    with pytest.raises(UsageError, match=r"one\.run stands twice; name each once"):
        read_runs([tmp_path / "one.run"] * 2)
