"""What is known of all texts is gathered without reading all documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from kragx import DataError, evaluate, read_results, write_results
from kragx.data.formats.jsonl import gold_alone
from kragx.evaluation import inputs, vocabulary
from kragx.matchers import vocabulary as limits
from tests.thoroughness import examples

NAMES = st.sampled_from(["gold", "retrieved", '"retrieved"', "query", '\\"retrieved', "a,", "}"])
VALUE = st.recursive(
    NAMES | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def few_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are looked at of the first two questions."""
    for module in (limits, vocabulary):
        monkeypatch.setattr(module, "LOOKED_AT", 2)


def rows(n: int) -> list[dict[str, Any]]:
    """Questions with gold and documents; one has its fields the other way round."""
    made = [
        {
            "query_id": f"q{number}",
            "gold": [{"text": f"the gold of number {number} of all"}],
            "retrieved": [{"text": f"the gold of number {number} of some, and what is behind it"}],
        }
        for number in range(n)
    ]
    made[-1] = dict(reversed(made[-1].items()))
    return made


def written(path: Path, records: list[dict[str, Any]]) -> str:
    """A results file, with an empty line."""
    path.write_text("\n" + "".join(json.dumps(record) + "\n" for record in records))
    return str(path)


@examples(300)
@given(
    fields=st.lists(st.tuples(NAMES, VALUE), max_size=5, unique_by=lambda field: field[0]),
    spaces=st.sampled_from(["", " "]),
)
@example(fields=[("gold", [{"text": '", "retrieved": []'}]), ("retrieved", [])], spaces=" ")
@example(fields=[("gold", [{"retrieved": 1, "a,": "retrieved"}]), ("a,", 1)], spaces="")
@example(fields=[("query", {"gold": 1, "retrieved": 2}), ("retrieved", 1)], spaces=" ")
def test_what_stands_before_what_was_retrieved(fields: list[tuple[str, Any]], spaces: str) -> None:
    """A line is cut before its own ``retrieved`` alone, and only behind gold.

    It stays whole where the name stands in quotes before.
    """
    raw = json.dumps(dict(fields), separators=(f",{spaces}", f":{spaces}")).encode()
    names = [name for name, _ in fields]
    head = gold_alone(raw)
    is_cut = {"gold", "retrieved"} <= {*names} and names.index("gold") < names.index("retrieved")
    stop = names.index("retrieved") if is_cut else len(names)
    quoted_before = '"retrieved"' in json.dumps(dict(fields[:stop]))
    assert json.loads(head) == dict(fields if quoted_before else fields[:stop])


@pytest.fixture(params=[0, inputs._ROOM])
def room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for the first questions alone, whose rest is read twice, or for all of them."""
    monkeypatch.setattr(inputs, "_ROOM", request.param)


@pytest.mark.filterwarnings("ignore:texts of one template")
@pytest.mark.usefixtures("few_are_looked_at", "room")
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_file_has_the_words_of_its_rows(tmp_path: Path, ending: str) -> None:
    """A file, of which later documents are passed over, knows the words that its rows do."""
    records, path = rows(6), tmp_path / f"results.{ending}"
    write_results(*read_results(records), path)
    of_file = evaluate(str(path))
    assert of_file.settings["vocabulary"] == evaluate(records).settings["vocabulary"]
    assert of_file.settings["vocabulary"]["n_texts"] == 6 + 2
    assert of_file.mean == evaluate(records).mean


@pytest.mark.usefixtures("few_are_looked_at", "room")
def test_the_first_mistake_is_named(tmp_path: Path) -> None:
    """A mistake in a document is named, though one in gold behind it is read first."""
    records = rows(6)
    records[3]["retrieved"] = [{"text": 1}]
    records[4]["gold"] = [{"text": 2}]
    with pytest.raises(DataError, match=r"results.jsonl:5: retrieved\[0\]"):
        evaluate(written(tmp_path / "results.jsonl", records))
