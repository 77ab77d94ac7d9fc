"""CSV, and files in general."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kragx.evaluation import Evaluation
from kragx.formats.jsonl import open_text
from kragx.report.rows import metric_names


def means_csv(evaluations: Sequence[Evaluation]) -> str:
    """A line for each run and matcher, a column for each metric, then the micro averages."""
    metrics = metric_names(evaluations)
    micro = [name for name in metrics if name in evaluations[0].micro]
    header = ["retriever", "match", *metrics, *(f"micro {name}" for name in micro)]
    rows = (
        [
            each.name,
            each.match_name,
            *(each.mean.get(name) for name in metrics),
            *(each.micro.get(name) for name in micro),
        ]
        for each in evaluations
    )
    return csv_text(header, rows)


def queries_csv(evaluations: Sequence[Evaluation]) -> str:
    """A line for each query, run and matcher, a column for each metric; empty where undefined."""
    metrics = metric_names(evaluations)

    def rows() -> Iterator[list[Any]]:
        for each in evaluations:
            for query_id, values in each.queries.items():
                yield [
                    query_id,
                    each.name,
                    each.match_name,
                    *(values.get(name) for name in metrics),
                ]

    return csv_text(["query_id", "retriever", "match", *metrics], rows())


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8 with a line feed at the end; CSV gets the mark that Excel looks for."""
    with open_text(path, "utf-8-sig" if path.suffix == ".csv" else "utf-8") as file:
        file.write(text if text.endswith("\n") else text + "\n")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """CSV with a header, lines ended by a line feed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
