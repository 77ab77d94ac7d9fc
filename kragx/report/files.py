"""CSV, and files in general."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

from kragx.data.formats.jsonl import open_text
from kragx.data.gold import GoldDataset, Query
from kragx.evaluation.evaluation import Evaluation, metric_names
from kragx.evaluation.sweep import Sweep


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


def queries_csv(evaluations: Sequence[Evaluation], dataset: GoldDataset | None = None) -> str:
    """A line for each query, run and matcher, a column for each metric; empty where undefined.

    With the gold set, the question and its type stand at the end of each line.
    """
    metrics = metric_names(evaluations)

    def rows() -> Iterator[list[Any]]:
        for each in evaluations:
            for query_id, values in each.queries.items():
                about = [] if dataset is None else [of(dataset[query_id]) for of in more.values()]
                of_metrics = (values.get(name) for name in metrics)
                yield [query_id, each.name, each.match_name, *of_metrics, *about]

    more = {} if dataset is None else QUESTION_COLUMNS
    return csv_text(["query_id", "retriever", "match", *metrics, *more], rows())


QUESTION_COLUMNS: Mapping[str, Callable[[Query], object]] = {
    "query_type": lambda query: query.query_type,
    "query": lambda query: _composed(query.text),
}
"""What queries.csv says of a question, behind the values: a column is a line here."""


def sweeps_csv(sweeps: Sequence[Sweep]) -> str:
    """A line for each retriever, matcher and threshold, a column for each metric."""
    metrics = list(dict.fromkeys(name for sweep in sweeps for name in sweep.values))

    def rows() -> Iterator[list[Any]]:
        for sweep in sweeps:
            for position, threshold in enumerate(sweep.thresholds):
                chosen = int(threshold == sweep.chosen)
                settings = (sweep.retriever, sweep.match_name, threshold, chosen)
                values = [
                    sweep.values[name][position] if name in sweep.values else None
                    for name in metrics
                ]
                yield [*settings, sweep.n_matches[position], *values]

    return csv_text(["retriever", "match", "threshold", "chosen", "n_matches", *metrics], rows())


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8 with a line feed at the end; CSV gets the mark that Excel looks for."""
    with open_text(path, "utf-8-sig" if path.suffix == ".csv" else "utf-8") as file:
        file.write(text if text.endswith("\n") else text + "\n")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """CSV with a header, lines ended by a line feed.

    A text that a spreadsheet would take for a formula has an apostrophe before it: a question that
    begins with ``=`` must not be computed, less still one that a stranger has typed.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return out.getvalue()


def _composed(text: str | None) -> str | None:
    """A text in NFC: Hangul of a Mac's file names is in pieces, and Excel shows the pieces."""
    return None if text is None else normalize("NFC", text)


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str) or cell[:1] not in _FORMULA or not cell:
        return cell
    return cell if _NUMBER.fullmatch(cell) else f"'{cell}"


_FORMULA = "=+-@＝＋－＠\t\r\n"  # the wide ones too: Excel of East Asia may read them so
_NUMBER = re.compile(r"[+-]?[0-9.]+")
