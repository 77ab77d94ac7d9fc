"""`kragx compare` of folders that `kragx score --out` has written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kragx import compare, evaluate

pytest.importorskip("pyarrow")

METRICS = ["ndcg@5", "recall@5"]


@pytest.fixture
def files(jsonl):
    """Two results files of the same thirty questions, of which some have a difficulty."""

    def record(i, rank):
        found = [{"text": f"other text number {at} of {i}"} for at in range(4)]
        if rank is not None:
            found.insert(rank, {"text": f"the answer to question {i} stands here"})
        difficulty = {"metadata": {"difficulty": ["easy", "hard"][i % 2]}} if i % 5 else {}
        gold = [{"text": f"the answer to question {i} stands here"}]
        return {"query_id": f"q{i}", "gold": gold, "retrieved": found, **difficulty}

    old = jsonl(*(record(i, 1 + i % 3) for i in range(30)), name="old.jsonl")
    new = jsonl(*(record(i, None if i == 7 else i % 2) for i in range(30)), name="new.jsonl")
    return old, new


@pytest.fixture
def folders(files, kragx, tmp_path):
    """Their folders."""
    named = [tmp_path / path.stem for path in files]
    for path, folder in zip(files, named):
        options = [f"--metric={name}" for name in METRICS]
        assert kragx("score", path, "--out", folder, *options)[0] == 0
    return named


@pytest.mark.integration
def test_as_in_memory(files, folders, kragx):
    """Differences, slices and who changed are those of `compare` of the two evaluations."""
    code, out, _ = kragx("compare", *folders, "--slice", "difficulty", "--format", "json")
    assert code == 0
    (change,) = json.loads(out)["changes"]
    evaluations = [replace(evaluate(str(path), metrics=METRICS), name=path.stem) for path in files]
    expected = compare(evaluations, baseline="old").to_dict()
    assert change["comparison"]["overall"]["means"] == expected["overall"]["means"]
    parts = change["comparison"]["slices"]
    assert [(part["value"], part["n"]) for part in parts] == [("easy", 12), ("hard", 12), (None, 6)]
    # Rank 1 + i % 3 was old; i % 2 is new, and question 7 lost its answer.
    assert change["n_worse"] == 1
    assert change["worse"][0]["query_id"] == "q7"
    assert change["n_better"] == len(change["better"]) == 24


@pytest.mark.integration
def test_a_gate(folders, kragx):
    """A gate on the later folder decides the exit code; one folder alone has nothing to say."""
    assert kragx("compare", *folders, "--gate", "recall@5: no worse than earlier")[0] == 1
    assert kragx("compare", *folders, "--gate", "ndcg@5: no worse than earlier")[0] == 0
    code, _, err = kragx("compare", folders[0])
    assert code == 2
    assert "name another" in err


def test_not_whole(folders, kragx):
    """A table that is gone, and a summary that names one outside, are errors with the file."""
    summary = folders[1] / "evaluation.json"
    table = next((folders[1] / "tables").iterdir())
    kept = table.read_bytes()
    table.unlink()
    code, _, err = kragx("compare", *folders)
    assert code == 3
    assert table.name in err
    assert "kragx score --out again" in err
    table.write_bytes(kept)
    summary.write_text(summary.read_text().replace('"tables/', '"../tables/'))
    code, _, err = kragx("compare", *folders)
    assert code == 3
    assert "leads out of the folder" in err
