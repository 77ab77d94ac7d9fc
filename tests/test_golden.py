"""What every cell of the table of doors gave before: a rewrite gives the same.

    python -m tests.test_golden > tests/golden.jsonl

keeps it anew. A line a cell: values to the last bit as one digest, means as people read them,
counts, and what was warned of. All doors give what these say (`tests.test_doors`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kragx import evaluate
from tests.test_doors import CELLS, Cell, flat, said

FILE = Path(__file__).with_name("golden.jsonl")


def line(cell: Cell) -> dict[str, Any]:
    """What a cell gives, by way of a gold set and a run of objects."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        evaluation = evaluate(cell.own.dataset, cell.own.run, **cell.options)
    values = said(evaluation)
    written = json.dumps(flat(values), sort_keys=True, ensure_ascii=False)
    return {
        "cell": [cell.content, cell.match, cell.kind],
        "values": hashlib.sha256(written.encode()).hexdigest()[:16],
        "mean": {name: round(own, 12) for name, own in values["mean"].items() if own is not None},
        "counts": dict(evaluation.counts),
        "warned": sorted(str(own.message) for own in warned),
    }


def lines() -> Iterator[str]:
    """Of all cells, in a folder of its own, where a judge keeps what it was told."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in CELLS:
            yield json.dumps(line(cell), ensure_ascii=False, sort_keys=True, default=str)


@pytest.mark.integration
def test_what_every_cell_gives_is_what_was_kept() -> None:
    """Values, counts and warnings of all cells are those of the kept file."""
    kept = FILE.read_text(encoding="utf-8").splitlines()
    given = [*lines()]
    assert len(given) == len(kept)
    assert [now for now, before in zip(given, kept) if now != before] == []


if __name__ == "__main__":
    print(*lines(), sep="\n")
