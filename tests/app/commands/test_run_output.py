"""The folder that `kragx run` writes: enough to read, plot, re-score and repeat the run."""

from __future__ import annotations

import csv
import json

import pytest

from tests.thoroughness import some

GOLD = (
    {
        "query_id": "질문 1",
        "query": "여우?",
        "gold": [{"id": "g1", "text": "the quick brown fox jumps", "grade": 2}],
    },
    {
        "query_id": "q2",
        "query": "dog?",
        "gold": [{"text": "a lazy dog sleeps", "alternatives": [{"id": "x", "text": "dogs nap"}]}],
    },
    {"query_id": "q3", "query": "nothing?", "gold": []},
)
RETRIEVER = """
def first(question):
    if question == "dog?":
        raise TimeoutError("too late")
    return [{"id": "d", "text": "no"}, {"id": "e", "text": "the quick brown fox jumps", "score": 1}]

def second(question):
    return ["the quick brown fox jumps", "a lazy dog sleeps", "the quick brown fox jumps"]

def odd(question):
    return [{"id": "d", "text": "text", "metadata": {"page": float("nan"), "at": {1, 2}}}]
"""
CONFIG = """
dataset: gold.jsonl
retrievers:
  first: {class: 'toy_output:first'}
  둘째/a:b: {class: 'toy_output:second'}
metrics: [mrr@10, recall@5, redundancy@5]
matchers: {strict: exact, loose: overlap}
max_failed: 0.5
output: from_config
"""


@pytest.fixture
def written(kragx, jsonl, module, here, monkeypatch):
    """Run a config in the test's own folder; gives that folder."""
    monkeypatch.syspath_prepend(str(here))
    jsonl(*GOLD, name="gold.jsonl")
    module("toy_output", RETRIEVER)

    def call(*options, text=CONFIG):
        (here / "run.yaml").write_text(text, encoding="utf-8")
        code, _, err = kragx("run", "run.yaml", *options)
        assert code == 0, err
        return here

    return call


def rows(path):
    """The lines of a CSV file that begins with the mark Excel looks for."""
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))


def test_files(written):
    """The folder holds the report in three forms, two CSV files, the config, and results."""
    folder = written() / "from_config"
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".parquet")
    names = sorted(path.relative_to(folder).as_posix() for path in files)
    assert names == [
        "config.yaml",
        "gold.jsonl",
        "manifest.json",
        "means.csv",
        "queries.csv",
        "report.html",
        "report.json",
        "report.md",
        "results/first.jsonl",
        "results/둘째_a_b.jsonl",
    ]


@pytest.mark.parametrize("option", ["-o", "--output"])
def test_output_option_wins(written, option):
    """-o wins over the config's output, and is relative to the current folder."""
    here = written(option, "deep/er")
    assert (here / "deep" / "er" / "report.json").is_file()
    assert not (here / "from_config").exists()


def test_nothing_is_written_without_output(written):
    """Without an output folder nothing is written."""
    here = written(text=CONFIG.replace("output: from_config", ""))
    assert sorted(p.name for p in here.iterdir() if p.name != "__pycache__") == [
        "gold.jsonl",
        "run.yaml",
        "toy_output.py",
    ]


def test_report(written):
    """report.json holds config, versions and, for each matcher and retriever, all the numbers."""
    report = json.loads((written() / "from_config" / "report.json").read_text(encoding="utf-8"))
    assert {"config", "versions", "evaluations"} <= set(report)
    assert report["config"]["retrievers"]["first"]["concurrency"] == 1
    assert {"kragx", "python", "numpy"} <= set(report["versions"])
    assert [
        (evaluation["match"], evaluation["retriever"]) for evaluation in report["evaluations"]
    ] == [
        ("strict", "first"),
        ("strict", "둘째/a:b"),
        ("loose", "first"),
        ("loose", "둘째/a:b"),
    ]
    loose = report["evaluations"][2]
    assert {"settings", "counts", "mean", "micro", "queries"} <= set(loose)
    assert loose["settings"]["match"]["tokenizer"]["name"] == "auto"
    assert loose["settings"]["match"]["tokenizer"]["version"]
    assert loose["settings"]["profile"]["name"] == "kragx"
    assert loose["settings"]["run"]["class"] == "toy_output:first"
    assert loose["queries"]["질문 1"]["mrr@10"] == 0.5
    assert loose["queries"]["q3"]["mrr@10"] is None
    assert loose["counts"]["n_failed"] == loose["counts"]["n_no_gold"] == 1


def test_means(written):
    """means.csv holds a line for each matcher and retriever, undefined values left empty."""
    lines = rows(written() / "from_config" / "means.csv")
    assert [(row["match"], row["retriever"], row["mrr@10"]) for row in lines] == [
        ("strict", "first", "0.25"),
        ("strict", "둘째/a:b", "0.75"),
        ("loose", "first", "0.25"),
        ("loose", "둘째/a:b", "0.75"),
    ]
    assert lines[0]["micro recall@5"] == "0.5"
    assert lines[0]["mrr@10 low"] == lines[0]["mrr@10 high"] == "", "of two queries"


def test_queries(written):
    """queries.csv holds a line for each query, matcher and retriever."""
    lines = rows(written() / "from_config" / "queries.csv")
    assert len(lines) == 2 * 2 * 3
    by_key = {(row["match"], row["retriever"], row["query_id"]): row for row in lines}
    assert by_key["loose", "둘째/a:b", "q2"]["mrr@10"] == "0.5"
    assert by_key["loose", "first", "질문 1"]["mrr@10"] == "0.5"
    assert by_key["loose", "first", "q2"]["redundancy@5"] == ""
    assert by_key["loose", "first", "q3"]["mrr@10"] == ""


def test_results_score_to_the_same_numbers(written, kragx):
    """`kragx score` on a written results file gives the run's numbers and counts."""
    folder = written() / "from_config"
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    options = [part for name in ("mrr@10", "recall@5", "redundancy@5") for part in ("-m", name)]
    for evaluation in report["evaluations"]:
        file = folder / "results" / evaluation["retriever"].replace("/", "_").replace(":", "_")
        method = {"strict": "exact", "loose": "overlap"}[evaluation["match"]]
        again = kragx(
            *("score", f"{file}.jsonl", "--match", method, *options, "--per-query"),
            *("--max-failed", "0.5", "--format", "json"),
        ).json()
        for part in ("mean", "micro", "queries", "counts"):
            assert again[part] == evaluation[part]


def test_config_repeats_the_run(written, kragx):
    """The written config.yaml is a config that gives the same means from any folder."""
    here = written()
    folder = here / "from_config"
    outcome = kragx("run", folder / "config.yaml", "-o", here / "again")
    assert outcome.code == 0
    again = (here / "again" / "means.csv").read_bytes()
    assert again == (folder / "means.csv").read_bytes()


@pytest.mark.parametrize(
    "name", some(["a/b", "..", "../up", "한국어", "c:d", "e|f", "a.b", "con*?"], 4)
)
def test_odd_names(written, name):
    """Whatever a retriever is called, its results become one file inside the results folder."""
    text = f"dataset: gold.jsonl\nretrievers: {{'{name}': {{class: 'toy_output:second'}}}}"
    here = written("-o", "out/odd", text=text)
    (file,) = (here / "out" / "odd" / "results").glob("*.jsonl")
    assert set((here / "out").rglob("*.jsonl")) == {file, here / "out" / "odd" / "gold.jsonl"}
    assert file.parent == here / "out" / "odd" / "results"
    assert rows(here / "out" / "odd" / "means.csv")[0]["retriever"] == name


def test_names_that_become_the_same_file_name(written):
    """Two retrievers whose names differ only in what a file name cannot hold keep two files."""
    text = """
dataset: gold.jsonl
max_failed: 0.5
retrievers:
  a/b: {class: 'toy_output:first'}
  a:b: {class: 'toy_output:second'}
"""
    here = written("-o", "out", text=text)
    files = list((here / "out" / "results").glob("*.jsonl"))
    assert len({file.name.casefold() for file in files}) == 2


def test_metadata_that_json_lacks(written):
    """Metadata such as NaN or a set, common in LangChain documents, does not lose the run."""
    text = "dataset: gold.jsonl\nretrievers: {odd: {class: 'toy_output:odd'}}"
    here = written("-o", "out", text=text)
    lines = (here / "out" / "results" / "odd.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["query_id"] for line in lines] == ["질문 1", "q2", "q3"]


def test_output_that_cannot_be_written(written, kragx, here):
    """An output folder that is a file is one line on standard error, not a traceback."""
    written("-o", "fine")
    code, _, err = kragx("run", "run.yaml", "-o", "gold.jsonl")
    assert code in (2, 3)
    assert err.startswith("kragx: ")
    assert "gold.jsonl" in err
    assert err.count("\n") == 1
