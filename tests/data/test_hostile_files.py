"""Files that say something wrong: every command refuses the same ones, with the same words."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kragx import DataError, evaluate, match_pairs, read_dataset
from kragx.agreement import read_labels
from kragx.data.reading import read_run
from tests.app.commands.conftest import here, jsonl, kragx, module
from tests.thoroughness import some

__all__ = ["here", "jsonl", "kragx", "module"]

GOOD = {"query_id": "q9", "query": "when is it open?", "gold": [{"id": "c9"}], "retrieved": []}


def line(**changes: Any) -> bytes:
    """A line of a results file with these changes, and a good one."""
    record = {"query_id": "q1", "query": "how is it done?", "gold": [{"id": "c1"}]}
    return rows({**record, "retrieved": [{"id": "c1"}], **changes}, GOOD)


def rows(*records: Any) -> bytes:
    """JSON Lines."""
    texts = (record if isinstance(record, str) else json.dumps(record) for record in records)
    return "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass")


def gold(**changes: Any) -> bytes:
    """A line whose gold item has these fields."""
    return line(gold=[{"id": "c1", **changes}])


def raw(fields: str) -> bytes:
    """A line with these fields as they stand."""
    return rows(f'{{"query_id": "q1", "query": "how?", "retrieved": [], {fields}}}', GOOD)


HEAD = "query_id,query,query_type,relevant_chunk_ids,retrieved_chunk_ids"


def table(row: str, more: str = "") -> bytes:
    """A CSV file with this row."""
    return f"{HEAD}{more}\n{row}\n".encode()


CELLS = "q1,how?,a,c1,c1"
ITEM = 'an object is expected, not the string \'c2\'; write {"id": ...} or {"text": ...}'
EMPTY = "the id is empty; remove it or fill it in"
MISSING = "query_id: missing; each query needs an id of its own"
TEXT = "an empty text; it is in every document, so it matches everything"
GRADE = "gold[0].grade: must be a finite number, not "
SECONDS = "seconds: must be how long the answer took, 0 to 1,000,000 seconds, not "

# By name: the file, and what is said of it; None where it is read.
JSON_LINES: dict[str, tuple[bytes, str | None]] = {
    "good": (line(), None),
    "a string as an alternative": (gold(alternatives=["c2"]), f"gold[0].alternatives[0]: {ITEM}"),
    "a string for alternatives": (gold(alternatives="c2"), "gold[0].alternatives: must be a list"),
    "false for alternatives": (gold(alternatives=False), "gold[0].alternatives: must be a list"),
    "no alternatives": (gold(alternatives=None), None),
    "a string as gold": (line(gold=["c2"]), f"gold[0]: {ITEM}"),
    "an empty gold id": (gold(id=""), f"gold[0]: {EMPTY}"),
    "a blank gold id": (gold(id=" \t"), f"gold[0]: {EMPTY}"),
    "an empty gold id beside a text": (gold(id="", text="some words"), f"gold[0]: {EMPTY}"),
    "gold that is null": (line(gold=[{"id": None}]), "gold[0]: a gold item needs 'id', 'text'"),
    "an empty id of an alternative": (
        gold(alternatives=[{"id": ""}]),
        f"gold[0].alternatives[0]: {EMPTY}",
    ),
    "an empty gold text": (gold(text=""), f"gold[0].text: {TEXT}"),
    "a blank text of an alternative": (
        gold(alternatives=[{"text": "\n"}]),
        f"gold[0].alternatives[0].text: {TEXT}",
    ),
    "an empty retrieved id": (line(retrieved=[{"id": ""}]), f"retrieved[0]: {EMPTY}"),
    "a blank retrieved id": (line(retrieved=[{"id": "\u3000"}]), f"retrieved[0]: {EMPTY}"),
    "an empty retrieved id, with text": (
        line(retrieved=[{"id": "c1"}, {"id": "", "text": "x"}]),
        f"retrieved[1]: {EMPTY}",
    ),
    "an id in a list that is null": (
        line(retrieved=None, retrieved_chunk_ids=[None]),
        "retrieved: must be a list of documents, not None",
    ),
    "an empty query id": (line(query_id=""), MISSING),
    "a blank query id": (line(query_id="  "), MISSING),
    "a query id that is null": (line(query_id=None), MISSING),
    "a query id that is true": (line(query_id=True), "query_id: an id must be a string"),
    "a query id that is 1.0": (line(query_id=1.0), "query_id: an id must be a string"),
    "a query id twice, as number": (
        rows({**GOOD, "query_id": 1}, {**GOOD, "query_id": "1"}),
        "query_id: '1' stands twice (first on line 1)",
    ),
    "a key twice": (raw('"gold": [], "gold": []'), "the key 'gold' stands twice"),
    "a key twice in metadata": (
        raw('"gold": [], "metadata": {"a": 1, "a": 1}'),
        "the key 'a' stands twice",
    ),
    "two keys that become one": (
        raw(r'"gold": [], "metadata": {"\ud83d": 1, "\ud83e": 2}'),
        "the key '\ufffd' stands twice",
    ),
    "a grade that is text": (gold(grade="2"), f"{GRADE}'2'"),
    "a grade that is true": (gold(grade=True), f"{GRADE}True"),
    "a grade that is NaN": (raw('"gold": [{"id": "c1", "grade": NaN}]'), f"{GRADE}nan"),
    "a grade of 1e999": (raw('"gold": [{"id": "c1", "grade": 1e999}]'), f"{GRADE}inf"),
    "a grade of 10^400": (raw('"gold": [{"id": "c1", "grade": 1%s}]' % ("0" * 400)), GRADE),
    "a grade of 10^5000": (raw('"gold": [{"id": "c1", "grade": 1%s}]' % ("0" * 5000)), "limit"),
    "no gold": (line(gold=[]), None),
    "gold of grade 0 alone": (gold(grade=0), None),
    "a grade below 0": (line(gold=[{"id": "c1", "grade": -1}, {"id": "c2"}]), None),
    "an id with two grades": (
        line(gold=[{"id": "c1", "grade": 2}, {"id": "c1"}]),
        "gold[1].id: id 'c1' also stands in gold[0], with grade 2 instead of 1: keep one",
    ),
    "a text with two grades": (
        line(gold=[{"text": "same  words", "grade": 2}, {"text": "same words"}]),
        "gold[1].text: text 'same words' also stands in gold[0], with grade 2",
    ),
    "an id with two grades, by place": (
        line(
            gold=[
                {"id": "c", "grade": 2, "metadata": {"start": 0, "end": 9}},
                {"id": "c", "metadata": {"start": 20, "end": 29}},
            ]
        ),
        None,
    ),
    "an id of two passages": (
        line(gold=[{"id": "c", "text": "some", "grade": 2}, {"id": "c", "text": "other"}]),
        None,
    ),
    "unanswerable with gold": (line(answerable=False), "answerable: false, but there are 1 gold"),
    "facts that are no list": (line(metadata={"facts": "one"}), None),
    "seconds below 0": (line(seconds=-0.5), f"{SECONDS}-0.5"),
    "seconds that are a time of day": (line(seconds=1.7e9), f"{SECONDS}1700000000.0"),
    "seconds that are text": (line(seconds="0.5"), "seconds: must be a finite number, not '0.5'"),
    "seconds without end": (raw('"gold": [], "seconds": Infinity'), "must be a finite number"),
    "no seconds at all": (line(seconds=0), None),
    "a score that is text": (
        line(retrieved=[{"id": "c", "score": "0.5"}]),
        "retrieved[0].score: must be a number, not '0.5'",
    ),
    "a score that is NaN": (
        raw('"gold": [], "retrieved_chunk_ids": [], "seconds": NaN'),
        "seconds: must be a finite number, not nan",
    ),
    "a rank": (line(retrieved=[{"id": "c", "rank": 2}]), "retrieved[0].rank: unknown field"),
    "a string for what was retrieved": (line(retrieved="c1"), "retrieved: must be a list"),
    "a mapping for what was retrieved": (line(retrieved={"c1": 1}), "retrieved: must be a list"),
    "two lists that say the same": (line(retrieved_chunk_ids=["c1"]), None),
    "an answer and an error": (
        line(error="late"),
        "retrieved: stands beside 'error', which says otherwise; keep one",
    ),
    "an answer and no error": (line(error=None), None),
    "an answer and an empty error": (line(error=""), None),
    "metadata that is a list": (line(metadata=[1]), "metadata: must be a mapping"),
    "metadata of a document that is text": (
        line(retrieved=[{"id": "c", "metadata": "x"}]),
        "retrieved[0].metadata: must be a mapping",
    ),
    "nested too deeply": (raw('"gold": [], "metadata": %s' % ("[" * 99_999)), "too deeply"),
    "a trailing comma": (raw('"gold": [],'), "not valid JSON"),
    "a comment": (rows("// results of today", GOOD), "not valid JSON"),
    "line ends of old Macs": (line().replace(b"\n", b"\r"), "not valid JSON"),
    "line ends of Windows": (line().replace(b"\n", b"\r\n"), None),
    "a mark": (b"\xef\xbb\xbf" + line(), None),
    "nothing": (b"", "the file holds no query"),
    "blank lines": (b"\n \n", "the file holds no query"),
}
CSV: dict[str, tuple[bytes, str | None]] = {
    "good": (table(CELLS), None),
    "semicolons": (table(CELLS).replace(b",", b";"), None),
    "semicolons, and a comma in the header": (
        table(f"{CELLS},x", ";metadata.a"),
        "6 cells, the header has 5",
    ),
    "tabs": (table(CELLS).replace(b",", b"\t"), None),
    "no closing quote": (table('q1,"how?,a,c1,c1'), "not valid CSV"),
    "a column twice": (table(f"{CELLS},c2", ", query"), "the column 'query' stands twice"),
    "a header alone": (table(""), "the file holds no query"),
    "a mark": (b"\xef\xbb\xbf" + table(CELLS), None),
    "line ends of old Macs": (table(CELLS).replace(b"\n", b"\r"), None),
    "a comment": (b"# results\n" + table(CELLS), "5 cells, the header has 1"),
    "a trailing comma": (table(f"{CELLS},"), "6 cells, the header has 5"),
    "a blank query id": (table("  ,how?,a,c1,c1"), MISSING),
    "an empty id in a list": (
        table('q1,how?,a,"[""c1"", "" ""]",c1'),
        f"relevant_chunk_ids[1]: {EMPTY}",
    ),
    "null in a list": (table('q1,how?,a,"[""c1"", null]",c1'), f"relevant_chunk_ids[1]: {EMPTY}"),
    "a key twice": (
        table(CELLS + ',"{""a"": 1, ""a"": 2}"', ",metadata"),
        "metadata: the key 'a' stands twice in one object; keep one",
    ),
    "a key in two columns": (
        table(CELLS + ',"{""a"": 1}",2', ",metadata,metadata.a"),
        "metadata.a: another column says otherwise of the metadata's 'a'; keep one",
    ),
    "a key in two columns, the same": (
        table(CELLS + ',"{""a"": ""1""}",1', ",metadata,metadata.a"),
        None,
    ),
    "columns without name or cells": (table(f"{CELLS},, ", ",,"), None),
    "a cell in a column without name": (table(f"{CELLS},x", ","), "6 cells, the header has 5"),
    "the index of pandas": (f",{HEAD}\n0,{CELLS}\n".encode(), None),
    "a column without name among others": (table(f"{CELLS},,x", ",,y"), "a column has no name"),
    "1_0 seconds": (table(f"{CELLS},1_0", ",seconds"), "seconds: must be a number, not '1_0'"),
    "full-width seconds": (table(f"{CELLS},１", ",seconds"), "seconds: must be a number, not '１'"),
    "a decimal comma": (table(f'{CELLS},"1,5"', ",seconds"), "seconds: must be a number"),
    "seconds below 0": (table(f"{CELLS},-3", ",seconds"), f"{SECONDS}-3.0"),
    "a padded query id twice": (table(f"{CELLS}\nq1 ,who?,a,c1,c1"), "query_id: 'q1' stands twice"),
    "leading zeros": (table("007,how?,a,c1,c1\n7,who?,a,c1,c1"), None),
}
QRELS: dict[str, tuple[bytes, str | None]] = {
    "good": (b"q1 0 c1 1\n", None),
    "1_0": (b"q1 0 c1 1_0\n", "grade must be a finite number, not '1_0'"),
    "full-width digits": ("q1 0 c1 １\n".encode(), "grade must be a finite number, not '１'"),
    "Arabic digits": ("q1 0 c1 ١\n".encode(), "grade must be a finite number, not '١'"),
    "a no-break space": ("q1 0 c1 1\xa0\n".encode(), "grade must be a finite number"),
    "hexadecimal": (b"q1 0 c1 0x1\n", "grade must be a finite number, not '0x1'"),
    "infinity": (b"q1 0 c1 infinity\n", "grade must be a finite number, not 'infinity'"),
    "NaN": (b"q1 0 c1 nan\n", "grade must be a finite number, not 'nan'"),
    "true": (b"q1 0 c1 true\n", "grade must be a finite number, not 'true'"),
    "a line twice": (b"q1 0 c1 1\nq1 0 c1 1\n", None),
    "two grades": (b"q1 0 c1 1\nq1 0 c1 2\n", "has grade 2 here and 1 before; keep one"),
    "a grade of 0": (b"q1 0 c1 0\nq1 0 c2 1\n", None),
    "half a grade": (b"q1 0 c1 .5\n", None),
    "line ends of Windows": (b"q1 0 c1 1\r\n", None),
    "five columns": (b"q1 0 c1 1 x\n", "5 columns; 4 are expected"),
}
FILES = [
    *((f"file.jsonl: {name}", *case) for name, case in JSON_LINES.items()),
    *((f"file.csv: {name}", *case) for name, case in CSV.items()),
]


def told(kragx: Callable[..., Any], *args: object) -> str | None:
    """The first error that a command tells of; None where it goes on."""
    code, out, err = kragx(*args)
    assert code in (0, 3), (args, code, err)
    text = err.removeprefix("kragx: ") or out[out.find("error: ") :].removeprefix("error: ")
    return text.splitlines()[0].partition(" (and ")[0] if code else None


def raised(read: Callable[[str], object], path: Path) -> str:
    """The same of a function that does not go on."""
    with pytest.raises(DataError) as caught:
        read(str(path))
    return str(caught.value).partition(" (and ")[0]


@pytest.mark.parametrize(
    ("name", "content", "message"), some(FILES, 4), ids=[file[0] for file in FILES]
)
def test_every_command_says_the_same(
    kragx: Callable[..., Any], here: Path, name: str, content: bytes, message: str | None
) -> None:
    """Results files: all that reads one takes it, or refuses it with the same words."""
    path = Path(name.partition(":")[0])
    path.write_bytes(content)
    score = ("score", path, "--match", "id", "--metric", "mrr@5")
    refusals = {told(kragx, *score), told(kragx, "gold", "validate", path)}
    if message is not None:
        readers = [read_dataset, read_run, evaluate, lambda path: [*match_pairs(path)]]
        readers += [read_labels] if "no query" not in message else []
        refusals |= {raised(reader, path) for reader in readers}
    (refusal,) = refusals
    assert message in refusal if refusal and message else refusal is message
    assert refusal is None or refusal.startswith(str(path))


def run_refusal(kragx: Callable[..., Any], dataset: Path, results: Path) -> str | None:
    """What `kragx run` tells of a gold set and a results file."""
    Path("c.yaml").write_text(
        f"dataset: {dataset}\nretrievers: {{a: {{results: {results}}}}}\nmatch: id\nhtml: false\n",
        encoding="utf-8",
    )
    return told(kragx, "run", "c.yaml", "--output", "out")


def test_run_and_agree_say_the_same(kragx: Callable[..., Any], here: Path) -> None:
    """Before anything is asked; of what would be retrieved as well as of the gold set."""
    bad, good = here / "bad.jsonl", here / "good.jsonl"
    bad.write_bytes(line(seconds=-1))
    good.write_bytes(line())
    refusal = f"{bad}:1: {SECONDS}-1"
    assert told(kragx, "agree", bad, good) == refusal
    assert run_refusal(kragx, bad, good) == refusal
    assert run_refusal(kragx, good, bad) == refusal.replace(
        "seconds", "retrievers.a.results.seconds", 1
    )


@pytest.mark.integration
@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=[file[0] for file in FILES])
def test_run_takes_what_score_takes(
    kragx: Callable[..., Any], here: Path, name: str, content: bytes, message: str | None
) -> None:
    """Every results file of above, as the gold set of a config and as a retriever's results."""
    path, good = here / name.partition(":")[0], here / "good.jsonl"
    path.write_bytes(content)
    good.write_bytes(line())
    if message is None:
        assert run_refusal(kragx, path, path) is None
        return
    for dataset, results in ((path, good), (good, path)):
        refusal = run_refusal(kragx, dataset, results)
        assert refusal is not None
        assert message in refusal


@pytest.mark.parametrize(("content", "message"), some(QRELS.values(), 4), ids=QRELS)
def test_qrels(kragx: Callable[..., Any], here: Path, content: bytes, message: str | None) -> None:
    """Qrels: scored, validated and read as labels, or refused by all, zipped or not."""
    path, zipped = here / "a.qrels", here / "b.qrels.gz"
    path.write_bytes(content)
    zipped.write_bytes(gzip.compress(content))
    (here / "a.run").write_text("q1 Q0 c1 1 0.5 t\n", encoding="utf-8")
    score = ("--run", "a.run", "--metric", "mrr@5")
    refusals = {
        told(kragx, "score", "--qrels", path, *score),
        told(kragx, "gold", "validate", path),
        (told(kragx, "score", "--qrels", zipped, *score) or "").replace("b.qrels.gz", path.name)
        or None,
    }
    if message is not None and "keep one" not in message:  # which labels say of all at once
        refusals.add(raised(read_labels, path))
    (refusal,) = refusals
    assert message in refusal if refusal and message else refusal is message


@pytest.mark.parametrize("score", ["1_0", "１", "0x1", "nan", "1,5", "\u0661"])
def test_scores_of_a_run(here: Path, score: str) -> None:
    """A run's scores are numbers as every tool reads them; an infinite one is one."""
    run = here / "a.run"
    run.write_text(f"q1 Q0 c1 1 {score} t\n", encoding="utf-8")
    with pytest.raises(DataError, match="score must be a number, not"):
        evaluate({"q1": {"c1": 1}}, run, match="id")
    run.write_text("q1 Q0 c1 1 -inf t\nq1 Q0 c2 1 INF t\n", encoding="utf-8")
    evaluation = evaluate({"q1": {"c1": 1}}, run, match="id", metrics=["mrr@5"])
    assert evaluation["mrr@5"] == 0.5


def test_a_table_of_four_columns_is_no_qrels(here: Path) -> None:
    """A .tsv whose header names fields is a table; without, four columns are qrels."""
    head = ["query_id", "query", "relevant_chunk_ids", "retrieved_chunk_ids"]
    cells = "q1\twhy?\tc1\tc1"
    path = here / "a.tsv"
    for mark in ("", "\ufeff"):
        path.write_text(mark + "\t".join(head) + f"\n{cells}\n", encoding="utf-8")
        assert evaluate(path, match="id", metrics=["mrr@5"])["mrr@5"] == 1
    path.write_text("q1\t0\tc1\t1\n", encoding="utf-8")
    assert read_dataset(path)["q1"].gold[0].id == "c1"
