"""Files that somebody changed by hand, or that lost some bytes: one line, never a crash."""

import copy
import hashlib
import json
import random
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from kragx.judging import Judge, Store
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.rubric import canonical_json, key_of
from tests.judging.support import ask
from tests.thoroughness import all_cases, some

TEXT = "Gift cards do not expire."
ROWS = [
    {
        "query_id": f"q{n}",
        "query": f"question {n}?",
        "gold": [{"id": f"d{n}", "text": f"{TEXT} {n}"}],
        "retrieved": [{"id": f"d{n}", "text": f"{TEXT} {n}"}, {"id": "x", "text": "other"}],
    }
    for n in range(6)
]
CONFIG = "dataset: {}\nretrievers: {{a: {{results: {}}}}}\noutput: {}\nmetrics: [recall@5]\n"
ODD = (None, True, -1, 2.5, 10**30, "x", "a\0b", [], [1], {}, {"a": 1}, [{}])


@pytest.fixture
def results(here):
    """The folder, with a file of results."""
    Path("run.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return here


def one_line(done, code):
    """A message without a traceback, and nothing on standard output."""
    assert done.code == code, done.err
    assert "mistake in kragx" not in done.err
    assert done.err.startswith("kragx: ")
    assert not done.out


def paths(value, path=()):
    """The paths of all values within a value."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths(value[key], (*path, key))


def changed(value, path, new):
    """A value with another one at a path."""
    if not path:
        return new
    value = inner = copy.deepcopy(value)
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return value


@pytest.mark.parametrize("place", range(3))
def test_nul_in_a_config(kragx, results, place):
    """NUL in the name of a file is wrong use, with the line where it stands."""
    names = ["run.jsonl", "run.jsonl", "out"]
    names[place] = '"a\\0b"'
    Path("kragx.yaml").write_text(CONFIG.format(*names))
    done = kragx("run", "kragx.yaml")
    one_line(done, 2)
    assert f"line {place + 1}, " in done.err
    assert "holds the character NUL; remove it" in done.err


def test_nul_in_a_setting(kragx, results):
    """The same of what stands behind --set."""
    Path("kragx.yaml").write_text(CONFIG.format("run.jsonl", "run.jsonl", "out"))
    done = kragx("run", "kragx.yaml", "--set", 'output="a\\0b"')
    one_line(done, 2)
    assert "--set" in done.err


@pytest.fixture
def written(kragx, results):
    """A result folder and a baseline, and what writes a changed report.json into a copy."""
    config = CONFIG.format("run.jsonl", "run.jsonl", "all/out")
    Path("kragx.yaml").write_text(config.replace("}}\n", "}, b: {results: run.jsonl}}\n"))
    assert kragx("run", "kragx.yaml", "--save-baseline", "base.json").code == 0
    source = Path("all/out")
    manifest = json.loads((source / "manifest.json").read_text())

    def write(path, new):
        value = changed(json.loads((source / "report.json").read_text()), path, new)
        folder = Path("all/changed")
        folder.mkdir(exist_ok=True)
        for file in (file for file in source.rglob("*") if file.is_file()):
            copied = folder / file.relative_to(source)
            copied.parent.mkdir(exist_ok=True)
            copied.write_bytes(file.read_bytes())
        data = json.dumps(value).encode()
        (folder / "report.json").write_bytes(data)
        manifest["files"]["report.json"] = {
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        (folder / "manifest.json").write_text(json.dumps(manifest))
        return folder

    return write


_ROW = ("evaluations", 0)
_LOW = ("comparisons", 0, "overall", "means", "a", "recall@5", "low")


@all_cases(
    ("path", "new"),
    [
        ((*_ROW, "mean", "recall@5"), {"a": 1}),
        ((*_ROW, "mean", "recall@5"), "x"),
        ((*_ROW, "retriever"), [1]),
        ((*_ROW, "retriever"), -1),
        ((*_ROW, "match"), {}),
        ((*_ROW, "nearby", "thresholds", 1), {"a": 1}),
        ((*_ROW, "settings", "dataset", "hash"), 2.5),
        ((*_ROW, "settings", "dataset", "name"), 10**30),
        ((*_ROW, "settings", "match"), "x"),
        ((*_ROW, "counts", "n_empty"), [{}]),
        ((*_ROW, "counts", "n_failed"), "x"),
        ((*_ROW, "settings", "run"), "a\0b"),
        (_LOW, []),
        (_LOW, "x"),
    ],
)
def test_a_report_that_was_changed(kragx, written, path, new):
    """Another kind of value in report.json is bad data with its field; a history leaves it out."""
    folder = written(path, new)
    done = kragx("compare", "all/out", folder)
    one_line(done, 3)
    assert ".".join(map(str, path)) in done.err
    done = kragx("history", "all")
    assert done.code == 0
    assert "mistake in kragx" not in done.out + done.err


def test_a_baseline_that_was_changed(kragx, written):
    """The same of a baseline, wherever it is read."""
    base = json.loads(Path("base.json").read_text())
    path = ("evaluations", 0, "mean", "recall@5")
    Path("base.json").write_text(json.dumps(changed(base, path, {"a": 1})))
    one_line(kragx("compare", "base.json", "all/out"), 3)
    done = kragx("run", "kragx.yaml", "--set", "earlier=base.json", "--set", "output=null")
    one_line(done, 3)


@all_cases("new", [None, ""])
def test_a_history_leaves_out_who_does_not_name_its_gold(kragx, written, new):
    """Without the hash of its gold set a run stands beside no other; the rest is shown."""
    written((*_ROW, "settings", "dataset", "hash"), new)
    done = kragx("history", "all")
    assert done.code == 0
    assert "does not say which gold set it is of" in done.out + done.err


@all_cases("name", ["dataset", "profile", "match"])
def test_a_history_leaves_out_what_cannot_be_compared(kragx, written, name):
    """A row without one of the settings that numbers rest on is no report's; the rest is shown."""
    report = json.loads(Path("all/out/report.json").read_text())
    row = report["evaluations"][1]
    written(
        ("evaluations", 1),
        row | {"settings": {key: own for key, own in row["settings"].items() if key != name}},
    )
    done = kragx("history", "all")
    assert done.code == 0, done.err
    assert f"not what kragx writes: KeyError('{name}')" in done.out + done.err


@pytest.mark.integration
@pytest.mark.parametrize("part", range(4))
def test_any_place_of_a_report(kragx, written, part):
    """Whatever stands at whatever place of report.json, no command calls it a mistake in kragx."""
    report = json.loads(Path("all/out/report.json").read_text())
    cases = [(path, new) for path in paths(report) for new in ODD]
    for path, new in random.Random(part).sample(cases, 25):
        folder = written(path, new)
        for command in (("compare", "all/out", folder), ("history", "all"), ("report", folder)):
            assert kragx(*command).code in (0, 1, 2, 3, 5), (command, path, new)


@pytest.mark.parametrize("new", [{"a": 1}, [], 3])
def test_stored_judgements_that_were_changed(kragx, results, new):
    """What a question asks is a text; a mapping there is no judgement, whatever its key."""
    client = ScriptedClient([json.dumps({"reason": "so", "grade": 2})], model="m")
    Judge(client, store="store.sqlite", progress=False).judge([ask("a document")])
    with Store("store.sqlite") as store:
        (record,) = store.records()
    for with_key in (False, True):
        question = record["question"] | {"asks": new}
        key = {"key": key_of(canonical_json(question))} if with_key else {}
        Path("in.jsonl").write_text(json.dumps(record | {"question": question} | key))
        done = kragx("judge", "store", "import", "in.jsonl", "--store", "other.sqlite")
        one_line(done, 3)
        assert "question.asks is" in done.err


def broken(data, number):
    """Bytes with some of them flipped, zeroed or cut off."""
    rng, data = random.Random(number), bytearray(data)
    match number % 4:
        case 0:
            return bytes(data[: rng.randrange(len(data))])
        case 1:
            start = rng.randrange(len(data))
            data[start : start + 8] = bytes(8)
        case 2:
            data[rng.randrange(len(data))] = rng.randrange(256)
        case _:  # the schema, and where what stands
            data[-1 - rng.randrange(min(2500, len(data)))] = rng.randrange(256)
    return bytes(data)


@pytest.mark.integration
@pytest.mark.parametrize("part", some(range(8), 4))
def test_parquet_with_flipped_bytes(kragx, results, part):
    """What is no Parquet any more, or says what it does not hold, is bad data or read as it is."""
    rows = [{**row, "query_id": f"q{n}"} for n, row in enumerate(ROWS * 5)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), "good.parquet")
    data = Path("good.parquet").read_bytes()
    for number in range(part * 40, part * 40 + 40):
        Path("bad.parquet").write_bytes(broken(data, number))
        done = kragx("score", "bad.parquet", "--metric", "recall@5")
        assert done.code in (0, 3), (number, done.err)


def test_a_column_whose_name_is_no_text(kragx, results):
    """Bytes that are no UTF-8 where a column's name stands."""
    parquet.write_table(pyarrow.table({"query_id": ["a"], "a_long_name": ["b"]}), "x.parquet")
    data = Path("x.parquet").read_bytes().replace(b"a_long_name", b"a_lo\xffg_name")
    Path("x.parquet").write_bytes(data)
    done = kragx("score", "x.parquet")
    one_line(done, 3)
    assert "x.parquet: cannot be read as Parquet" in done.err
