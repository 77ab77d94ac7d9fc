"""Released gold files: their version is known without being told, and they never change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kragx import DataError, GoldDataset, UsageError, read_dataset
from kragx.data.gold_diff import diff_files
from kragx.data.validation import validate

LINES = [{"query_id": f"q{i}", "query": f"why {i}?", "gold": [{"id": f"c{i}"}]} for i in range(3)]


def write(path: Path, lines: list[dict]) -> None:
    """JSON Lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def released(tmp_path):
    """A release of three questions, with what stands beside it."""
    path = tmp_path / "gold_v2.jsonl"
    write(path, LINES)
    content = {"file": path.name, "name": "manuals", "version": "v2"}
    content["hash"] = read_dataset(path).content_hash
    (tmp_path / "gold_v2.release.json").write_text(json.dumps(content), encoding="utf-8")
    return path


def test_its_version_is_known(released):
    """Name and version are the release's; a name of one's own wins, another version is wrong."""
    dataset = read_dataset(str(released))
    assert (dataset.name, dataset.version) == ("manuals", "v2")
    assert read_dataset(released, name="mine", version="v2").settings["name"] == "mine"
    with pytest.raises(UsageError, match=r"version: 'v1', but gold_v2.jsonl is release v2"):
        read_dataset(released, version="v1")


def test_the_order_of_lines_is_no_change(released):
    """Lines that are sorted otherwise, or written with other white space, are the same content."""
    lines = [json.dumps(line, indent=None, separators=(" , ", " : ")) for line in LINES[::-1]]
    released.write_text("\r\n".join(lines), encoding="utf-8")
    assert read_dataset(released).version == "v2"


def test_content_that_is_another_is_refused(released):
    """An edited release has no numbers; `validate` says it, and `diff` says what was edited."""
    before = released.with_name("before.jsonl")
    write(before, LINES)
    write(released, [{**LINES[0], "query": "edited"}, *LINES[1:]])
    with pytest.raises(DataError, match=r"gold_v2.jsonl: not the content of release v2 any more"):
        read_dataset(released)
    report = validate(str(released))
    assert report.n_errors == 1
    assert "give what was edited another file name" in str(report)
    diff = diff_files(before, released)
    assert [own.query_id for own in diff.questions] == ["q0"]
    assert diff.new["version"] == "v2, changed since"
    assert any("not the content of release v2" in text for text in diff.remarks)


def test_a_copy_is_a_file_like_any_other(released):
    """Under another name, or beside another file, nothing vouches for a version."""
    copy = released.with_name("mine.jsonl")
    copy.write_bytes(released.read_bytes())
    assert (read_dataset(copy).name, read_dataset(copy).version) == ("mine", None)
    table = released.with_name("gold_v2.csv")
    table.write_text("query_id,query,relevant_chunk_ids\nq0,why?,c0\n")
    assert read_dataset(table).version is None
    assert read_dataset(GoldDataset.from_documents([["a"]])).version is None


@pytest.mark.parametrize("content", ["[]", "{", '{"file": "gold_v2.jsonl", "name": 1}'])
def test_what_stands_beside_it_is_broken(released, content):
    """Half a file beside a release is an error that names it, not a release without a version."""
    released.with_name("gold_v2.release.json").write_text(content)
    with pytest.raises(DataError, match=r"gold_v2.release.json"):
        read_dataset(released)
