"""A table of values per question as a file: columns, and as JSON what else is known of its part."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from kragx.data.formats.jsonl import replacing, to_json
from kragx.data.formats.parquet import OPTIONS, TABLE_KEY
from kragx.data.weights import WEIGHT
from kragx.evaluation.inputs import Passed
from kragx.matchers import Notes

VERSION = 8
"""Of the form of tables; a table of another one is not taken."""

_KEPT = ("n_judgements", "n_human", "n_distinct", "n_stored")
"""The counts of `Tally.kept`."""

_NOT_OURS = (ImportError, AttributeError, LookupError, TypeError, ValueError)
"""What reading a table raises that kragx has not written, or not so."""


def write_table(
    path: Path,
    metrics: Sequence[str],
    result: Mapping[str, Any],
    groups: Sequence[Mapping[str, Any]],
) -> None:
    """Write the table of a part beside where it belongs, then put it there.

    Args:
        path: its place, which is named by what its values depend on.
        metrics: by canonical name.
        result: the fields of the `ScoredPart`.
        groups: of each question what slices are made of, and what became of it.
    """
    import pyarrow as pa
    from pyarrow import parquet

    passed, values = result["passed"], result["values"]
    ((weights, _),) = result["weights"]
    schema = dict.fromkeys(("query_id", "status", "query_type", "error"), pa.string())
    schema |= dict.fromkeys(("n_gold", "n_retrieved"), pa.int32())
    schema |= {"query_hash": pa.binary(32)}
    schema |= {} if weights is None else {WEIGHT: pa.float64()}
    fields = (name for group in groups for name in group if name.startswith("metadata."))
    schema |= dict.fromkeys(fields, pa.list_(pa.string()))
    schema |= dict.fromkeys(values, pa.float64())
    columns: dict[str, Any] = {"query_id": passed.query_ids, "query_hash": passed.hashes}
    columns |= {} if weights is None else {WEIGHT: weights}
    columns |= {name: column for name, (column,) in values.items()}
    columns |= {name: [g.get(name) for g in groups] for name in schema if name not in columns}
    about = {
        "version": VERSION,
        "key": path.stem,
        "metrics": metrics,
        "values": list(values),
        "counts": result["sums"],
        "longest": result["longest"],
        "lines": passed.lines,
        "statuses": passed.statuses,
        "orders": passed.orders,
        "surrogates": passed.mender.surrogates,
        "golds": passed.golds and _record(passed.golds),
        "notes": _notes_record(result["notes"]),
        "facts": _notes_record(result["facts"]),
        "readers": [*map(_record, result["readers"].values())],
        **({} if result["beyond"] is None else {"beyond": _record(result["beyond"])}),
    }
    table = pa.table(columns, pa.schema(schema.items(), {TABLE_KEY: to_json(about)}))
    with replacing(path) as place:
        parquet.write_table(table, place, **{**OPTIONS, "store_schema": True})


def read_table(path: Path, metrics: Sequence[str]) -> dict[str, Any] | None:
    """The fields that `write_table` was given; None where there is no table of ours that is whole.

    Nothing in it is run: a folder may be anybody's.
    """
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
        about = json.loads((table.schema.metadata or {})[TABLE_KEY])
        if (about["version"], about["key"], about["metrics"]) != (VERSION, path.stem, [*metrics]):
            return None
        ids, errors = table["query_id"].to_pylist(), table["error"].to_pylist()
        readers, names = [*map(_made, about["readers"])], table.column_names
        passed = Passed(
            query_ids=ids,
            lines=about["lines"],
            statuses=Counter(about["statuses"]),
            orders=Counter(about["orders"]),
            failures={name: error for name, error in zip(ids, errors) if error is not None},
            hashes=table["query_hash"].to_pylist(),
            golds=about["golds"] and _made(about["golds"]),
        )
        passed.mender.surrogates = about["surrogates"]
        return {
            "passed": passed,
            "notes": _notes_made(about["notes"]),
            "facts": _notes_made(about["facts"]),
            "readers": {reader.options: reader for reader in readers},
            "values": {name: [table[name].to_numpy()] for name in about["values"]},
            "sums": Counter(about["counts"]),
            "longest": about["longest"],
            "weights": [(table[WEIGHT].to_numpy() if WEIGHT in names else None, len(ids))],
            "beyond": _made(about["beyond"]) if "beyond" in about else None,
        }
    except (OSError, ArrowException, *_NOT_OURS):
        return None


def _record(value: Any) -> dict[str, Any]:
    """A dataclass of kragx as JSON; of anybody else's the name alone, so that it is not read."""
    kind, fields = type(value), None
    if kind.__module__.startswith("kragx."):
        fields = TypeAdapter(kind).dump_python(value, mode="json")
    return {"module": kind.__module__, "class": kind.__qualname__, "fields": fields}


def _made(record: Mapping[str, Any]) -> Any:
    """The dataclass of kragx that a record is of."""
    if not record["module"].startswith("kragx."):
        raise ValueError(record["module"])
    kind = getattr(import_module(record["module"]), record["class"])
    if not is_dataclass(kind):
        raise TypeError(kind)
    return TypeAdapter(kind).validate_python(record["fields"])


def _notes_record(notes: Notes) -> dict[str, Any]:
    record: dict[str, Any] = {
        "counts": dict(notes),
        "findings": [[*key, _record(finding)] for key, finding in notes.findings.items()],
    }
    if "judging" in vars(notes):
        kept = notes.judging.kept()  # nothing is asked for a table that stands there
        counts = {name: getattr(kept, name) for name in _KEPT}
        record["judging"] = {**counts, "dialects": kept.dialects}
    return record


def _notes_made(record: Mapping[str, Any]) -> Notes:
    notes = Notes(record["counts"])
    for kind, settings, finding in record["findings"]:
        notes.findings[kind, settings] = _made(finding)
    if "judging" in record:
        from kragx.judging.tally import Tally

        counts = {name: record["judging"][name] for name in _KEPT}
        notes.judging = Tally(**counts, dialects=Counter(record["judging"]["dialects"]))
    return notes
