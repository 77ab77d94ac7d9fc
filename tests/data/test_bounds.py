"""What is out of proportion is refused, and what is large takes time in proportion."""

from __future__ import annotations

import csv
import gzip
import json
import os
import zipfile
from pathlib import Path

import pytest

from kragx import DataError, UsageError, read_dataset, validate
from kragx.app.config import load, load_dataset_config, match_spec
from kragx.app.environment import load_env
from kragx.data.formats import jsonl, tabular
from kragx.ground.errors import nearest
from kragx.judging.rubric import read_rubric
from tests.thoroughness import all_cases

LINE = '{"query_id": "q1", "query": "?", "gold": [{"id": "c"}]}\n'


@pytest.mark.parametrize("name", ["gold.jsonl.gz", "gold.json.gz", "gold.csv.gz", "gold.qrels.gz"])
def test_gzip_without_end(tmp_path, monkeypatch, name):
    """A small file that unpacks to much is refused when it has, before all of it is unpacked."""
    monkeypatch.setattr(jsonl, "MOST_UNPACKED", 1 << 18)
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"\0" * (1 << 22)))
    with pytest.raises(DataError, match=r"unpacks to more than 0 MB .* 200 times its size"):
        read_dataset(path)


@pytest.mark.integration
def test_gzip_in_proportion(tmp_path, monkeypatch):
    """A file of any size is read whose texts unpack as texts do, and a small one whatever it is."""
    rows = [
        {"query_id": f"q{n}", "query": f"{n * 7919}?", "gold": [{"id": "c"}]} for n in range(5000)
    ]
    large = "".join(json.dumps(row) + "\n" for row in rows).encode()
    small = (LINE + "\n" * 100_000).encode()
    for content, most, n_queries in ((large, 1 << 10, 5000), (small, 1 << 20, 1)):
        monkeypatch.setattr(jsonl, "MOST_UNPACKED", most)
        path = tmp_path / "gold.jsonl.gz"
        path.write_bytes(gzip.compress(content))
        assert len(read_dataset(path)) == n_queries


def test_workbook_without_end(tmp_path, monkeypatch):
    """A workbook whose parts unpack to much is refused before it is read."""
    pytest.importorskip("openpyxl")
    monkeypatch.setattr(tabular, "_MOST", 1 << 18)
    path = tmp_path / "gold.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/worksheets/sheet1.xml", b" " * (1 << 22))
    with pytest.raises(DataError, match="unpacks to more than"):
        read_dataset(path)


def test_parquet_without_end(tmp_path, monkeypatch):
    """Millions of equal rows, which take no place in a Parquet file, are refused unread."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "gold.parquet"
    column = pyarrow.DictionaryArray.from_arrays([0] * 200_000, ["same"])
    parquet.write_table(pyarrow.table({"query_id": column, "query": column}), path)
    monkeypatch.setattr(jsonl, "MOST_UNPACKED", 1 << 10)
    with pytest.raises(DataError, match="unpacks to more than"):
        read_dataset(path)


def lines_read(monkeypatch, path):
    """How many lines of a table the reader of CSV takes."""
    taken = 0
    plain = csv.reader

    def counting(lines, **options):
        def counted():
            nonlocal taken
            for line in lines:
                taken += 1
                yield line

        return plain(counted(), **options)

    monkeypatch.setattr(tabular.csv, "reader", counting)
    problems = validate(str(path)).problems
    return taken, problems


@pytest.mark.parametrize(
    "row",
    ['q{n},"bad" quote,c{n}', 'x",""",', "q{n},a,b,c"],
    ids=["misplaced", "never closed", "cells"],
)
def test_bad_quotes_take_time_in_proportion(tmp_path, monkeypatch, row):
    """However many rows are broken, each line is read once."""
    n_rows = 2000
    path = tmp_path / "gold.csv"
    rows = [row.format(n=n) for n in range(n_rows)]
    path.write_text("\n".join(["query_id,query,relevant_chunk_ids", *rows]), encoding="utf-8")
    taken, problems = lines_read(monkeypatch, path)
    assert taken == n_rows + 1
    assert problems


def test_a_whole_document_in_a_cell(tmp_path):
    """A cell is as long as its text, and Python's own bound of 131,072 characters is none."""
    text, path = "word " * 40_000, tmp_path / "passages.csv"
    path.write_text(f"question,answer_passage\nWhat?,{text.strip()}\n", encoding="utf-8")
    [query] = read_dataset(path)
    assert query.gold[0].text == text.strip()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes_and_devices(tmp_path):
    """What cannot be read twice is refused: a pipe would seem empty, a device has no end."""
    os.mkfifo(tmp_path / "gold.jsonl")
    for path in (tmp_path / "gold.jsonl", Path("/dev/zero")):
        with pytest.raises(DataError, match="a pipe or device, which cannot be read twice"):
            read_dataset(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no devices")
@pytest.mark.parametrize(
    "read",
    [
        load,
        load_dataset_config,
        lambda path: match_spec("device.yaml"),
        lambda path: read_rubric("device.yaml"),
    ],
    ids=["config", "dataset", "match", "rubric"],
)
def test_texts_without_end(tmp_path, monkeypatch, read):
    """A device in the place of a config, or one of 11 MB, ends the reading at 10 MB."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "device.yaml").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=r"device\.yaml: larger than 10 MB"):
        read("device.yaml")
    (tmp_path / "device.yaml").unlink()
    (tmp_path / "device.yaml").write_bytes(b"#" * (11 << 20))
    with pytest.raises(ValueError, match=r"device\.yaml: larger than 10 MB"):
        read("device.yaml")


def test_a_large_env_file(tmp_path):
    """A `.env` file is bounded as a config is."""
    (tmp_path / ".env").write_bytes(b"#" * (11 << 20))
    with pytest.raises(DataError, match=r"\.env: larger than 10 MB"):
        load_env(tmp_path)


def test_long_names_and_many():
    """A name as long as a file is compared with none, and a hint lists no thousand names."""
    hint = nearest("?", [f"column {n}" for n in range(1000)])
    assert hint.endswith("column 59, and 940 more")
    assert nearest("k" * 1_000_000, ["k" * 1_000_000, "threshold"]).startswith("valid: kkk")


@all_cases(
    ("written", "meant"),
    [
        ("treshold", "threshold"),
        ("ruoge1", "rouge1"),  # two letters swapped are one slip
        ("metrics", "metric"),
        ("difficlty", "metadata.difficulty"),
        ("Recal@5", "recall@5"),
    ],
)
def test_what_is_near(written, meant):
    """A slip of the hand, another form of a word, or the last part of a name mistyped."""
    assert nearest(written, ["timeout", meant]) == f"perhaps you meant {meant!r}?"


@pytest.mark.parametrize(("written", "other"), [("queries", "retries"), ("main", "mine")])
def test_what_only_looks_near(written, other):
    """Half of the letters are others, so what was meant is not known: all names are listed."""
    assert nearest(written, [other, "name"]) == f"valid: {other}, name"


def test_the_text_of_an_error_is_bounded():
    """A key of a megabyte makes no line of a megabyte; beginning and end of what is wrong stay."""
    error = UsageError("unknown field", field="k" * 1_000_000, remedy="remove it")
    assert len(str(error)) < 10_100
    assert str(error).endswith("unknown field; remove it")
    assert len(error.field) == 1_000_000
