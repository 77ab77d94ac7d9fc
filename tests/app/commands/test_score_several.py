"""`kragx score` of several files: compared, named by their files, and who failed wins nothing."""

from __future__ import annotations

import csv
import io
import re

import pytest

from kragx import compare, evaluate, read_rows

METRICS = ("-m", "mrr@5", "-m", "recall@5")
N = 20


def rows(rank, skip=()):
    """Results in which question i finds its gold at rank ``rank(i)``; None for a failure."""
    for i in range(N):
        if i in skip:
            continue
        gold = {"text": f"환불 규정 {i} 번 문단의 내용"}
        row = {"query_id": f"q{i}", "query": f"질문 {i}", "gold": [gold]}
        if rank(i) is None:
            yield {**row, "error": "TimeoutError: too late"}
            continue
        docs = [{"text": f"other {number}"} for number in range(3)]
        docs.insert(rank(i) - 1, gold)
        yield {**row, "retrieved": docs}


@pytest.fixture
def files(jsonl):
    """Results of a good and of a fair retriever."""
    return jsonl(*rows(lambda i: 1), name="good.jsonl"), jsonl(
        *rows(lambda i: 2), name="fair.jsonl"
    )


def test_verdict_and_table(kragx, files):
    """Who is best and how sure stands above a table with both, named by their files."""
    out = kragx("score", *files, *METRICS).out
    assert "- Use good: in mrr@5 it is better than every other retriever" in out
    assert [cell.strip() for cell in out.splitlines()[4].strip("┃").split("┃")] == [
        "metric",
        "good",
        "fair",
    ]
    assert out.splitlines()[-1] == "20 of 20 queries scored"


def test_json_is_what_python_gives(kragx, files):
    """`runs` has each file as it is alone, `comparison` what `kragx.compare` says of them."""
    shown = kragx("score", *files, *METRICS, "--format", "json").json()
    assert [own["mean"]["mrr@5"] for own in shown["runs"]] == [1.0, 0.5]
    alone = {path.stem: evaluate(*read_rows(path), metrics=["mrr@5", "recall@5"]) for path in files}
    assert shown["comparison"] == compare(alone).to_dict()


def test_csv(kragx, files):
    """CSV has a line for each file, with the intervals of the comparison."""
    out = kragx("score", *files, *METRICS, "--format", "csv").out
    assert [row["retriever"] for row in csv.DictReader(io.StringIO(out))] == ["good", "fair"]
    per_query = kragx("score", *files, *METRICS, "--format", "csv", "--per-query").out
    assert len(list(csv.DictReader(io.StringIO(per_query)))) == 2 * N


def test_one_gold_set(kragx, files, jsonl):
    """With --gold the files' own gold does not count, and what a file lacks is missing."""
    gold = jsonl(*rows(lambda i: 1), name="gold.jsonl")
    short = jsonl(*rows(lambda i: 2, skip=[3]), name="short.jsonl")
    out = kragx("score", "--gold", gold, files[0], short, *METRICS).out
    assert "short: queries missing in the run: 1 (scored as empty lists)" in out
    one = kragx("score", "--gold", gold, short, "--format", "json", *METRICS).json()
    assert one["counts"]["n_missing"] == 1
    bare = jsonl(*({**row, "gold": []} for row in rows(lambda i: 1)), name="bare.jsonl")
    refused = kragx("score", "--gold", bare, files[0], short)
    assert (refused.code, "bare: none of the 20 questions has gold" in refused.err) == (3, True)


def test_other_questions_are_said_and_left_out(kragx, files, jsonl):
    """Questions that not all files have are named; table and verdict are of the others."""
    short = jsonl(*rows(lambda i: 2, skip=[3]), name="short.jsonl")
    out = kragx("score", files[0], short, *METRICS).out
    assert "1 question is not the same (1 only in the earlier: q3), left out here; 19" in out
    assert out.splitlines()[-1] == "19 queries compared"
    means = kragx("score", files[0], short, *METRICS, "--format", "json").json()["comparison"]
    assert means["n_queries"] == 19


def test_the_table_is_of_the_questions_compared(kragx, jsonl):
    """Where a question is left out, the means of the table are those that the verdict quotes."""
    whole = jsonl(*rows(lambda i: 1 if i == 3 else 2), name="whole.jsonl")
    short = jsonl(*rows(lambda i: 3, skip=[3]), name="short.jsonl")
    out = kragx("score", whole, short, "-m", "mrr@5").out
    assert "with 0.5000" in out
    assert re.search(r"│ mrr@5 +│ +0\.5000 ★ │ +0\.3333 │", out)


def test_who_failed(kragx, files, jsonl):
    """A file with failures is not comparable, nobody has won, and the command ends with 5."""
    broken = jsonl(*rows(lambda i: None if i == 7 else 1), name="broken.jsonl")
    code, out, err = kragx("score", files[1], broken, *METRICS)
    assert code == 5
    assert "Only fair can be compared, as broken failed." in out
    assert err == "broken failed on 1 of 20 questions\n"
    tolerated = kragx("score", files[1], broken, *METRICS, "--max-failed", 0.1)
    assert tolerated.code == 0
    assert "Use broken" in tolerated.out


def test_names(kragx, jsonl, tmp_path):
    """Files of the same name are told apart by their folders; the same file twice is an error."""
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
    paths = [jsonl(*rows(lambda i: 1), name=f"{own}/results.jsonl") for own in ("old", "new")]
    out = kragx("score", *paths, "-m", "mrr@5", "--format", "csv").out
    names = [row["retriever"] for row in csv.DictReader(io.StringIO(out))]
    assert names == ["old/results", "new/results"]
    twice = kragx("score", paths[0], paths[0])
    assert (twice.code, "stands twice; name each once" in twice.err) == (2, True)
    detour = kragx("score", paths[0], tmp_path / "new" / ".." / "old" / "results.jsonl")
    assert (detour.code, "stands twice; name each once" in detour.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("good.jsonl", "fair.jsonl", "--out", "x"), 2, "--out: writes tables of one set"),
        (("good.jsonl", "--anyway"), 2, "--anyway: belongs to several files"),
        (("good.jsonl", "nowhere.jsonl"), 3, "nowhere.jsonl: cannot be read"),
        (("good.jsonl", "empty.jsonl"), 3, "empty.jsonl"),
        (("good.jsonl", "bare.jsonl"), 3, "bare: the question has no gold, so no"),
        (("good.jsonl", "strange.jsonl"), 2, "the gold sets differ"),
    ],
)
def test_what_cannot_be_compared(kragx, files, jsonl, here, arguments, code, message):
    """What a file lacks, or an option that does not fit, is an error with the file or option."""
    (here / "empty.jsonl").write_text("")
    jsonl({"query_id": "q1", "retrieved": []}, name="bare.jsonl")
    strange = {"query_id": "x", "gold": [{"text": "a"}], "retrieved": [{"text": "a"}]}
    jsonl(strange, name="strange.jsonl")
    outcome = kragx("score", *arguments, *METRICS)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


def test_several_runs_of_trec(kragx, here):
    """TREC runs beside qrels are compared as files are."""
    (here / "q.qrels").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(N)))
    for name, rank in (("one", 1), ("other", 2)):
        lines = [f"q{i} Q0 d{i} {rank} {9 - rank} {name}" for i in range(N)]
        lines += [f"q{i} Q0 x 0 7.5 {name}" for i in range(N)]
        (here / f"{name}.run").write_text("\n".join(lines))
    runs = ("--run", "one.run", "--run", "other.run")
    out = kragx("score", "--qrels", "q.qrels", *runs, "-m", "mrr@10").out
    assert "- Use one: in mrr@10" in out


def test_runs_are_files(tmp_path, monkeypatch, kragx):
    """Runs stand behind --run or as files, qrels behind --qrels or --gold, with equal numbers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.qrels").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    (tmp_path / "one.run").write_text("q1 Q0 d1 1 2 x\nq2 Q0 d2 1 2 x\n")
    (tmp_path / "other.run").write_text("q1 Q0 d9 1 2 x\nq1 Q0 d1 2 1 x\n")
    ways = (
        ("--qrels", "gold.qrels", "--run", "one.run", "--run", "other.run"),
        ("--qrels", "gold.qrels", "--run", "one.run", "other.run"),
        ("--qrels", "gold.qrels", "one.run", "other.run"),
        ("--gold", "gold.qrels", "--run", "one.run", "--run", "other.run"),
    )
    tables = {kragx("score", *way, "-m", "mrr", "--format", "csv").out for way in ways}
    (table,) = tables
    means = [(row["retriever"], row["mrr"]) for row in csv.DictReader(io.StringIO(table))]
    assert means == [("one", "1.0"), ("other", "0.25")]
    nothing = kragx("score", "--qrels", "gold.qrels")
    assert (nothing.code, nothing.err) == (2, "kragx: name results files, or runs (--run)\n")
