"""`kragx match`: every pair's score and decision, a line for each query."""

from __future__ import annotations

import json

import pytest

TWO_BY_TWO = {
    "query_id": "two",
    "gold": [
        {"id": "g1", "text": "the quick brown fox jumps"},
        {"id": "g2", "text": "a lazy dog sleeps all day"},
    ],
    "retrieved": [
        {"id": "d1", "text": "once the quick brown fox jumps high"},
        {"text": "nothing in common here"},
        {"id": "d3", "text": "a lazy dog barks"},
    ],
}
ALTERNATIVES = {
    "query_id": "alternatives",
    "gold": [{"id": "g", "text": "one way of saying it", "alternatives": [{"text": "put it so"}]}],
    "retrieved": [{"id": "d", "text": "put it so"}, {"id": "e", "text": "one way of saying it"}],
}
MISSING = {"query_id": "missing", "gold": [{"text": "never asked for this"}]}
NO_GOLD = {"query_id": "no gold", "retrieved": [{"id": "d", "text": "something or other"}]}
PAIRS = "{method: overlap, short: 0}"  # shares of pairs of words for gold of any length
KEYS = {"query_id", "retrieved_ids", "gold_ids", "scores", "matched"}
TEXTS = {"query", "retrieved_texts", "gold_texts"}


def test_a_line_per_query(kragx, jsonl):
    """Each query gives one line, in order, with its decisions, and the texts unless told not to."""
    path = jsonl(TWO_BY_TWO, ALTERNATIVES, MISSING)
    lines = kragx("match", path).lines()
    assert [line["query_id"] for line in lines] == ["two", "alternatives", "missing"]
    assert all(set(line) == KEYS | TEXTS for line in lines)
    assert all(set(line) == KEYS for line in kragx("match", path, "--no-texts").lines())


def test_scores_and_decisions(kragx, jsonl):
    """Scores and decisions are n x m: retrieved documents down, gold items across."""
    (line,) = kragx("match", jsonl(TWO_BY_TWO), "--match", PAIRS).lines()
    assert line["retrieved_ids"] == ["d1", None, "d3"]
    assert line["gold_ids"] == ["g1", "g2"]
    # "a lazy dog barks" has 3 pairs of words, 2 of which stand in the second gold.
    assert line["scores"] == [[1.0, 0.0], [0.0, 0.0], [0.0, pytest.approx(2 / 3)]]
    assert line["matched"] == [[True, False], [False, False], [False, True]]


def test_threshold_decides_but_keeps_the_scores(kragx, jsonl):
    """Another threshold changes the decisions and leaves the scores as they are."""
    path = jsonl(TWO_BY_TWO)
    (loose,), (strict,) = (
        kragx("match", path, "--match", PAIRS, "--threshold", threshold).lines()
        for threshold in ("0.5", "0.7")
    )
    assert strict["scores"] == loose["scores"]
    assert (loose["matched"][2], strict["matched"][2]) == ([False, True], [False, False])


def test_alternatives_are_one_column(kragx, jsonl):
    """A gold item with alternatives is one column: the best score of any of them."""
    (line,) = kragx("match", jsonl(ALTERNATIVES), "--match", "exact").lines()
    assert line["gold_ids"] == ["g"]
    assert line["scores"] == [[1.0], [1.0]]
    assert line["matched"] == [[True], [True]]


@pytest.mark.parametrize("record", [MISSING, MISSING | {"retrieved": []}])
def test_missing_and_empty(kragx, jsonl, record):
    """A query that is missing or found nothing still has its line, with empty lists."""
    lines = kragx("match", jsonl(TWO_BY_TWO, record)).lines()
    assert lines[1] == {
        "query_id": "missing",
        "retrieved_ids": [],
        "gold_ids": [None],
        "scores": [],
        "matched": [],
        "query": None,
        "retrieved_texts": [],
        "gold_texts": [["never asked for this"]],
    }


def test_no_gold(kragx, jsonl):
    """A query without gold has a row for each document, with no column."""
    line, _ = kragx("match", jsonl(NO_GOLD, MISSING)).lines()
    assert (line["retrieved_ids"], line["gold_ids"]) == (["d"], [])
    assert (line["scores"], line["matched"]) == ([[]], [[]])


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("match", "lists.jsonl: the question has no gold, so no metric has a value; say in each"),
        ("score", "lists: the question has no gold, so no metric has a value; say in each"),
    ],
)
def test_gold_that_was_forgotten(kragx, jsonl, tmp_path, command, problem):
    """Where no question has gold nothing is written but an error, which --gold settles."""
    lists = jsonl({"query_id": "two", "retrieved": TWO_BY_TWO["retrieved"]}, name="lists.jsonl")
    written = () if command == "score" else ("--out", tmp_path / "pairs.jsonl")
    code, out, err = kragx(command, lists, *written)
    assert (code, out) == (3, "")
    assert problem in err
    assert "--gold" in err
    assert not (tmp_path / "pairs.jsonl").exists()
    gold = jsonl(TWO_BY_TWO, name="gold.jsonl")
    options = ("--no-texts",) if command == "match" else ("--format", "json")
    named, whole = kragx(command, lists, "--gold", gold, *options), kragx(command, gold, *options)
    if command == "match":
        assert named.out == whole.out
    else:
        assert named.json()["mean"] == whole.json()["mean"]


@pytest.mark.parametrize("option", ["--out", "-o"])
def test_out(kragx, jsonl, tmp_path, option):
    """--out writes to the file what would go to standard output, and prints nothing."""
    path, target = jsonl(TWO_BY_TWO, ALTERNATIVES), tmp_path / "pairs.jsonl"
    printed = kragx("match", path).out
    assert kragx("match", path, option, target) == (0, "", "")
    assert target.read_text(encoding="utf-8") == printed
    assert len(printed.splitlines()) == 2


def test_standard_input_to_standard_output(kragx):
    """`-` reads standard input; Korean ids come out as they are."""
    record = json.dumps({"query_id": "질문", "gold": [{"id": "가"}], "retrieved": [{"id": "가"}]})
    outcome = kragx("match", "-", "--match", "id", "--out", "-", stdin=record)
    assert "질문" in outcome.out
    assert outcome.lines()[0]["matched"] == [[True]]


def test_options(kragx, jsonl):
    """`match` takes the match options of `score`."""
    record = {
        "query_id": "q",
        "gold": [{"text": "NORTH WIND"}],
        "retrieved": [{"text": "a north wind blew"}],
    }
    spec = "{method: contains, direction: gold_in_document, casefold: %s}"
    (plain,), (folded,) = (
        kragx("match", jsonl(record), "--match", spec % folds).lines()
        for folds in ("false", "true")
    )
    assert (plain["matched"], folded["matched"]) == ([[False]], [[True]])


@pytest.mark.parametrize("target", ["no_such_folder/pairs.jsonl", "."])
def test_out_that_cannot_be_written(kragx, jsonl, here, target):
    """A place that cannot be written to is one line on standard error, not a traceback."""
    code, _, err = kragx("match", jsonl(TWO_BY_TWO), "--out", target)
    assert code in (2, 3)
    assert err.startswith("kragx: ")
    assert err.count("\n") == 1
    assert target.split("/", maxsplit=1)[0] in err


OWN = """
dataset: gold.jsonl
retrievers: {a: {results: a.jsonl}}
html: false
output: out
"""


def test_a_file_that_is_read_is_not_written_over(kragx, here):
    """No command writes over its own input, under whatever name and in whatever folder."""
    line = '{"query_id": "q1", "query": "?", "gold": [{"text": "a"}], "retrieved": []}\n'
    for name in ("gold.jsonl", "a.jsonl", "store.sqlite"):
        (here / name).write_text(line)
    (here / "run.yaml").write_text(OWN)
    (here / "spec.yaml").write_text("overlap")
    (here / "link.jsonl").symlink_to(here / "a.jsonl")
    assert kragx("run", "run.yaml").code == 0
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    for command, out in (
        ("match a.jsonl --out", "link.jsonl"),
        ("match a.jsonl --match spec.yaml --out", "spec.yaml"),
        ("threshold calibrate a.jsonl --out", "link.jsonl"),
        ("threshold sweep a.jsonl --plot", "a.jsonl"),
        ("threshold sweep out --plot", "out/gold.jsonl"),
        ("judge store export --store store.sqlite", "store.sqlite"),
        ("report out --format html --out", "out/report.json"),
        ("report out --summary", "out/config.yaml"),
        ("compare out --summary", "out/report.json"),
        ("run run.yaml --summary", "run.yaml"),
        ("run run.yaml --summary", "gold.jsonl"),
        ("run run.yaml --summary", "link.jsonl"),
        ("run run.yaml --summary", "out/manifest.json"),
    ):
        outcome = kragx(*command.split(), out)
        said = f"{out} is read, and would be lost; name another file"
        assert (outcome.code, said in outcome.err) == (2, True), command
    assert {path: path.read_bytes() for path in before} == before
    assert kragx("report", "out", "--format", "html", "--out", "out/report.md").code == 0
