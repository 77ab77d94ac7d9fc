"""Broken files: every broken line is named in every format, and the rest is checked as well."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, read_dataset, validate
from kragx.data.formats.jsonl import entry_lines


def errors(path):
    """The errors of a file as (line, the beginning of what is said)."""
    found = validate(str(path)).problems
    return [(each.line, each.message[:24]) for each in found if each.level == "error"]


def refused(path):
    """What reading the file as a gold set says."""
    with pytest.raises(DataError) as caught:
        read_dataset(path)
    return str(caught.value)


def saved(tmp_path, name, text):
    """A file with this text."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_json_lines(tmp_path):
    """Lines that are no JSON, no object or no UTF-8 are passed over."""
    good = '{"query_id": "%s", "query": "%s?", "gold": [{"id": "d"}]}\n'
    text = (good % ("a", "a") + "{broken\n" + "[1]\n" + good % ("b", "b")).encode() + b"\xff\n"
    path = saved(tmp_path, "set.jsonl", text)
    assert errors(path) == [
        (2, "not valid JSON: Expecting"[:24]),
        (3, "a JSON object is expecte"),
        (5, "not UTF-8 (byte 1 of the"),
    ]
    assert validate(str(path)).summary["n_queries"] == 2
    assert refused(path).startswith(f"{path}:2: not valid JSON")
    assert "and 2 more" in refused(path)


def test_keys_that_stand_twice(tmp_path):
    """JSON would silently keep the last; a gold set must not, by line or as a whole."""
    good = '{"query_id": "a", "query": "a?", "gold": [{"id": "d"}]}'
    twice = '{"query_id": "b", "query": "b?", "gold": [{"id": "d", "id": "e"}]}'
    path = saved(tmp_path, "set.jsonl", f"{good}\n{twice}\n")
    assert errors(path) == [(2, "the key 'id' stands twic")]
    path = saved(tmp_path, "refs.json", '{"7": ["a"], "8": ["b"], "7": ["c"]}')
    assert refused(path) == f"{path}: the key '7' stands twice in one object; keep one"


def test_csv(tmp_path):
    """A row with a misplaced quote, or a cell too few, does not hide the rows behind it.

    A quote that is never closed takes them all in.
    """
    path = saved(
        tmp_path,
        "set.csv",
        "query_id,query,relevant_chunk_ids\n"
        'a,"two\nlines",c1\n'
        'b,"y"z,c2\n'
        "c,z\n"
        'd,"open,c3\n'
        "e,w,c4\n",
    )
    assert errors(path) == [
        (4, "not valid CSV: ',' expec"),
        (5, "2 cells, the header has "),
        (6, "not valid CSV: unexpecte"),
    ]
    assert validate(str(path)).summary["n_queries"] == 1


def test_qrels(tmp_path):
    """Columns, grades and contradictions, each on its line."""
    path = saved(
        tmp_path, "set.qrels", "q1 0 d1 1\nq1 0 d1 2\nq2 0 d3\n# note\nq3 0 d x\nq4 0 d 1\n"
    )
    assert errors(path) == [
        (2, "document 'd1' of query '"),
        (3, "3 columns; 4 are expecte"),
        (5, "grade must be a finite n"),
    ]
    (about,) = [each for each in validate(str(path)).problems if each.level == "warning"]
    assert about.line is None
    assert "qrels hold no questions" in about.message


def test_qrels_say_on_which_line_a_query_begins(tmp_path):
    """What is wrong with a query's gold stands on the line of its first judgement."""
    path = saved(tmp_path, "set.qrels", "q1 0 d1 1\nq2 0 d1 0\nq2 0 d2 0\n")
    assert [(each.line, each.query_id, each.field) for each in validate(str(path)).problems] == [
        (None, None, "query"),
        (2, "q2", "gold"),
    ]


def test_llamaindex(tmp_path):
    """Each part of the object is named."""
    whole = {
        "queries": {"a": "물음?", "b": 3},
        "corpus": {"c1": "some text"},
        "relevant_docs": {"a": ["c1", "c9"], "z": ["c1"]},
    }
    path = saved(tmp_path, "set.json", json.dumps(whole, indent=2))
    found = {each.field for each in validate(str(path)).problems}
    assert {"queries.b", "relevant_docs.a", "relevant_docs.z"} <= found


def test_a_json_list(tmp_path):
    """An item of a list is named by the line on which it begins."""
    path = saved(
        tmp_path,
        "set.json",
        '[\n {"query_id": "a", "query": "a?",\n  "gold": [{"id": "1"}]},\n 3,\n'
        ' {"query_id": "b", "query": "b?"}\n]',
    )
    assert errors(path) == [(4, "an object is expected, n")]
    about = [(each.line, each.message[:8]) for each in validate(str(path)).problems]
    assert about[1:] == [(5, "no gold,")]


@pytest.mark.parametrize(
    "text", ['[{"query_id": "a"},\n {"b"]', '{"queries": {"a": "b"\n "c": {}}']
)
def test_json_that_is_neither_whole_nor_lines(tmp_path, text):
    """It is one mistake, on its line, and not one for each line."""
    path = saved(tmp_path, "set.json", text)
    with pytest.raises(DataError, match=r"set\.json:2: not valid JSON: "):
        validate(str(path))


def test_where_every_line_is_broken(tmp_path):
    """All of them are listed, although nothing tells the format."""
    path = saved(tmp_path, "set.jsonl", "{a\n{b\n")
    assert [line for line, _ in errors(path)] == [1, 2]
    assert validate(str(path)).format == "unknown"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=6))
def test_lines_of_entries(value):
    """The line of every entry of a list is the one that a marker would stand on."""
    found = entry_lines(json.dumps(value, indent=1))
    assert len(found) == len(value)
    for place, line in enumerate(found):
        marked = [*value[:place], "\N{BLACK STAR}" * 99, *value[place + 1 :]]
        lines = json.dumps(marked, indent=1).splitlines()
        assert "\\u2605" * 99 in lines[line - 1]
