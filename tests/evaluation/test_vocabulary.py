"""What is known of all texts is gathered before any of them is matched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kragx import DataError, evaluate, read_results, write_results
from kragx.evaluation import inputs, match_source
from kragx.matchers import vocabulary as limits


@pytest.fixture
def few_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are looked at of the first two questions."""
    for module in (limits, match_source):
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
