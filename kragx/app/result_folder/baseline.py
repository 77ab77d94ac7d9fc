"""A baseline: a run's numbers in one file that is committed, for later runs to be held against.

It stands where a result folder may (``earlier:``), and holds what a comparison reads of one: each
question's values, settings, and of the gold set hashes instead of texts. What is the same for all
retrievers stands once, a question takes a line, and paths below the config's folder begin with
``${here}``: so the file is small, and a diff shows what became of which question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.app.result_folder.sealed import as_written, listed
from kragx.comparison import Results
from kragx.data import GoldDataset, Query
from kragx.data.formats.jsonl import read_object
from kragx.data.gold import query_hash
from kragx.data.gold_diff import State, states
from kragx.ground.errors import DataError, UsageError
from kragx.ground.json_values import plain
from kragx.report.csv_files import write_text
from kragx.report.record import Record

if TYPE_CHECKING:
    from kragx.app.run_report import RunReport

VERSION = 1

_KEPT = ("bounds", "failures", "queries")
"""What of an evaluation is kept beside its name, settings and means."""

_HASH = 16
"""Hexadecimal digits of a question's hash: enough to see that it is another."""

_IN_A_LINE = 20
"""So many entries without parts of their own stand in one line."""


def write_baseline(report: RunReport, path: Path) -> None:
    """Write a run's numbers as a baseline; what stands there is replaced as a whole.

    Raises:
        UsageError: the file cannot be written.
    """
    contents = report.to_dict()
    rows, weights = contents["evaluations"], contents.get("weights")
    # What all have alike stands once, so that a change of it is one line of a diff.
    shared = _shared([row["settings"] for row in rows])
    better = {
        name: direction
        for comparison in report.comparisons
        for name, direction in comparison.better.items()
    }
    baseline = {
        "kragx_baseline": VERSION,
        "record": plain(report.record),
        "settings": shared,
        "better": better,
        "evaluations": [_numbers(row, shared) for row in rows],
        "gold": {query.id: _hash_of(query) for query in report.dataset},
        **({} if weights is None else {"weights": weights}),
    }
    write_text(path, _without_place("".join(_laid_out(baseline)), report.config.file))


def _without_place(text: str, file: Path | None) -> str:
    """A baseline without the folder of its config, which each colleague has elsewhere."""
    if file is None:
        return text
    here = json.dumps(f"{file.parent.as_posix()}/", ensure_ascii=False)[1:-1]
    return text.replace(here, "${here}/")


def _numbers(row: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """What a baseline has of an evaluation, but for the settings that all of them share."""
    return {
        "retriever": row["retriever"],
        "match": row["match"],
        "settings": {k: v for k, v in row["settings"].items() if k not in shared},
        "n_failed": row["counts"]["n_failed"],
        "mean": row["mean"],
        **{name: row[name] for name in _KEPT if row.get(name)},
    }


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
        report = _as_report(value)
        gold = {str(query_id): str(content) for query_id, content in value["gold"].items()}
        record = None if value["record"] is None else Record.read(value["record"])
    if not report["evaluations"]:
        raise DataError("has no results", path=str(path), field="evaluations")
    return replace(Results.read(str(path), report), gold_hashes=gold), record


def _as_report(value: Mapping[str, Any]) -> dict[str, Any]:
    """A baseline as a folder's report.json has the same."""
    rows = [
        {
            "queries": {},
            **row,
            "settings": {**value["settings"], **row["settings"]},
            "counts": {"n_failed": row["n_failed"]},
        }
        for row in value["evaluations"]
    ]
    weights = {"weights": value["weights"]} if "weights" in value else {}
    return {"evaluations": rows, "comparisons": [{"better": dict(value["better"])}], **weights}


def check_same_gold(earlier: Results, dataset: GoldDataset | None, field: str = "") -> None:
    """Refuse a baseline of another gold set, and say which questions are others.

    Args:
        earlier: what may have been read from a baseline; of anything else nothing is checked.
        dataset: the present gold set.
        field: what the baseline is called in errors.

    Raises:
        UsageError: it is another one.
    """
    # Folders have the questions themselves, and are compared on those that are the same.
    if earlier.gold_hashes is None or dataset is None:
        return
    if earlier.scores[0].settings["dataset"]["hash"] == dataset.content_hash:
        return
    others = _others(earlier.gold_hashes, dataset)
    raise UsageError(
        "the gold set is not the one that the baseline was made with ({others})",
        path=earlier.name,
        field=field,
        remedy="save the baseline anew; or name a result folder, which has the questions that are "
        "the same compared; or --anyway",
        others=others,
    )


def _others(hashes: Mapping[str, str], dataset: GoldDataset) -> str:
    """Which questions are not those of a baseline, in a few words."""
    now = {query.id: _hash_of(query) for query in dataset}
    # Seen from the present set, in whose order questions are named.
    words: dict[State, str] = {"changed": "changed", "dropped": "new", "added": "gone"}
    groups: dict[str, list[str]] = {word: [] for word in words.values()}
    for query_id, state in states(now, hashes):
        groups[words[state]].append(query_id)
    return "; ".join(
        f"{len(group)} {problem}: {listed(group)}" for problem, group in groups.items() if group
    )


def _hash_of(query: Query) -> str:
    return query_hash(query).hex()[:_HASH]


def _shared(settings: list[Mapping[str, Any]]) -> dict[str, Any]:
    """What all settings have alike."""
    first, *rest = settings
    return {
        name: value
        for name, value in first.items()
        if all(name in setting and setting[name] == value for setting in rest)
    }


def _laid_out(value: dict[str, Any] | list[Any], indent: str = "") -> Iterator[str]:
    """JSON whose innermost objects and lists stand in a line each."""
    start, end = "{}" if isinstance(value, dict) else "[]"
    deeper = f"{indent} "
    entries = value.items() if isinstance(value, dict) else ((None, entry) for entry in value)
    for number, (name, entry) in enumerate(entries):
        key = "" if name is None else f"{json.dumps(name, ensure_ascii=False)}: "
        yield f"{',' if number else start}\n{deeper}{key}"
        if _fits_a_line(entry):
            yield json.dumps(entry, ensure_ascii=False)
        else:
            yield from _laid_out(entry, deeper)
    yield f"\n{indent}{end}"


def _fits_a_line(value: Any) -> bool:
    if not isinstance(value, dict | list):
        return True
    parts = value.values() if isinstance(value, dict) else value
    return len(value) <= _IN_A_LINE and not any(isinstance(part, dict | list) for part in parts)
