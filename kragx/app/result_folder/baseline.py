"""A baseline: a run's numbers in one file that is committed, for later runs to be held against.

It stands where a result folder may (``earlier:``), and holds what a comparison reads of one: each
question's values, and settings, but no text. Paths below the config's folder begin with
``${here}``, which each colleague has elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.app.result_folder.atomic_folder import as_written
from kragx.comparison import Results
from kragx.data.formats.jsonl import read_object, to_json
from kragx.ground.errors import DataError
from kragx.ground.json_values import to_jsonable
from kragx.report.csv_files import write_text
from kragx.report.record import Record

if TYPE_CHECKING:
    from kragx.app.run_report import RunReport

VERSION = 1

_KEPT = ("retriever", "match", "settings", "mean", "bounds", "failures", "queries")
"""What of an evaluation is kept beside how many questions failed."""


def write_baseline(report: RunReport, path: Path) -> None:
    """Write a run's numbers as a baseline; what stands there is replaced as a whole.

    Raises:
        UsageError: the file cannot be written.
    """
    contents = report.to_dict()
    better = {
        name: direction
        for comparison in report.comparisons
        for name, direction in comparison.better.items()
    }
    baseline = {
        "kragx_baseline": VERSION,
        "record": to_jsonable(report.record),
        "better": better,
        "evaluations": [_numbers(row) for row in contents["evaluations"]],
        **{name: contents[name] for name in ("weights",) if name in contents},
    }
    text = to_json(baseline, indent=1)
    if report.config.file is not None:
        here = json.dumps(f"{report.config.file.parent.as_posix()}/", ensure_ascii=False)[1:-1]
        text = text.replace(here, "${here}/")
    write_text(path, text)


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a baseline has of an evaluation, as a folder's report.json has the same."""
    kept = {name: row[name] for name in _KEPT if name in row}
    return {**kept, "counts": {"n_failed": row["counts"]["n_failed"]}}


def read_baseline(path: Path) -> tuple[Results, Record | None]:
    """The numbers of a baseline, and how the run came about.

    Raises:
        DataError: there is no such file, or it is none.
    """
    if not path.exists():
        raise DataError(
            "there is no such baseline",
            path=str(path),
            remedy="to make the first one: kragx run CONFIG.yaml --set earlier=null --set "
            "gates=null --save-baseline {name}",
            name=path.name,
        )
    value = read_object(path, "baseline")
    if value.get("kragx_baseline") != VERSION:
        raise DataError(
            "no baseline that this version of kragx reads",
            path=str(path),
            remedy="kragx run CONFIG.yaml --save-baseline FILE writes one",
        )
    with as_written(path, "a baseline"):
        report = {**value, "comparisons": [{"better": dict(value["better"])}]}
        record = None if value["record"] is None else Record.read(value["record"])
        if not report["evaluations"]:
            raise DataError("has no results", path=str(path), field="evaluations")
        return Results.read(str(path), report), record
