"""CSV files, and how every text file of a report is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from kragx.data import GoldDataset, Query
from kragx.data.formats.cells import csv_line
from kragx.data.formats.jsonl import open_text
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.presenting import metric_names

if TYPE_CHECKING:
    from kragx.comparison import Comparison
    from kragx.comparison.threshold_study import Sweep

NEVER = "never"
"""How long it took to find what was not found, in English, as the names of columns are."""


def means_csv(evaluations: Sequence[Evaluation], comparisons: Sequence[Comparison] = ()) -> str:
    """A line for each run and matcher: failures, metrics, the micro averages, and intervals.

    Intervals are those of the comparisons, without any the evaluations' own: empty where there is
    none; a run's own number has no columns for one.
    """
    metrics = metric_names(evaluation.mean for evaluation in evaluations)
    ends = {
        (evaluation.name, evaluation.match_name): {
            f"{scores.spec} {end}": value
            for scores in evaluation.scores
            if scores.is_mean or scores.ratio is not None
            for end, value in zip(
                ("low", "high"), evaluation.intervals[str(scores.spec)] or (None, None)
            )
        }
        for evaluation in (() if comparisons else evaluations)
    } | {
        (name, comparison.match): {
            f"{metric} {end}": value
            for metric, mean in means.items()
            if mean.is_mean or mean.low is not None
            for end, value in (("low", mean.low), ("high", mean.high))
        }
        for comparison in comparisons
        for name, means in comparison.overall.means.items()
    }
    # Columns that no row has are left out, so that a plain result has a plain table.
    with_micro = {name for evaluation in evaluations for name in evaluation.micro}
    micro = [f"micro {name}" for name in metrics if name in with_micro]
    rows = (
        {
            "retriever": evaluation.name,
            "match": evaluation.match_name,
            **{name: evaluation.counts.get(name) for name in _COUNTS},
            **evaluation.mean,
            **{f"micro {name}": value for name, value in evaluation.micro.items()},
            **ends.get((evaluation.name, evaluation.match_name), {}),
        }
        for evaluation in evaluations
    )
    intervals = dict.fromkeys(name for row in ends.values() for name in row)
    counts = [name for name in _COUNTS if any(name in own.counts for own in evaluations)]
    columns = ["retriever", "match", *counts, *metrics, *micro, *intervals]
    return csv_text(rows, columns)


_COUNTS = ("n_queries", "n_asks", "n_failed")


def queries_csv(evaluations: Sequence[Evaluation], dataset: GoldDataset | None = None) -> str:
    """A line for each query, run and matcher, a column for each metric; empty where undefined.

    Behind them stands why the retriever failed, if it did, where something is forbidden what came
    of it, and of weighted queries for how many asks each stands; with the gold set, the question
    and its type at the end of each line.
    """
    columns = {} if dataset is None else QUESTION_COLUMNS

    def rows() -> Iterator[dict[str, Any]]:
        for evaluation in evaluations:
            leaks: dict[str, list[str]] = {}
            for leak in evaluation.leaks:
                line = f"{leak.rank}: {leak.document} ({', '.join(leak.kinds)})"
                leaks.setdefault(leak.query_id, []).append(line)
            # Where all weigh alike a column of ones would look as if somebody had given weights.
            asks = repeat(None) if evaluation.weights is None else evaluation.weights.tolist()
            for (query_id, values), weight in zip(evaluation.queries.items(), asks):
                query = Query(query_id) if dataset is None else dataset[query_id]
                yield {
                    "query_id": query_id,
                    "retriever": evaluation.name,
                    "match": evaluation.match_name,
                    **values,
                    "failure": evaluation.failures.get(query_id),
                    "leaks": "; ".join(leaks[query_id]) if query_id in leaks else None,
                    "weight": weight,
                    **{name: value_of(query) for name, value_of in columns.items()},
                }

    metrics = metric_names(evaluation.mean for evaluation in evaluations)
    further = ["failure", *["leaks"] * any(e.forbidden is not None for e in evaluations)]
    further += ["weight"] * any(e.weights is not None for e in evaluations)
    return csv_text(rows(), ["query_id", "retriever", "match", *metrics, *further, *columns])


QUESTION_COLUMNS: Mapping[str, Callable[[Query], object]] = {
    "query_type": lambda query: query.query_type,
    "answerable": lambda query: query.answerable,
    # Hangul of a Mac's file names is in pieces, and Excel shows the pieces.
    "query": lambda query: normalize("NFC", query.text or ""),
}
"""What queries.csv says of a question, behind the values: a column is a line here."""


def sweeps_csv(sweeps: Sequence[Sweep]) -> str:
    """A line for each retriever, matcher and threshold, a column for each metric."""
    rows = [row for sweep in sweeps for row in sweep.rows()]
    return csv_text(rows, list(dict.fromkeys(name for row in rows for name in row)))


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8 with a line feed at the end; CSV gets the mark that Excel looks for."""
    with open_text(path, "utf-8-sig" if path.suffix == ".csv" else "utf-8") as file:
        file.write(text if text.endswith("\n") else text + "\n")


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """CSV with a header, lines ended by a line feed; empty where a row lacks a column.

    What was not found has taken infinitely long, which is not unknown: ``never``, as in tables.
    A text that a spreadsheet would take for a formula has an apostrophe before it
    (`kragx.data.formats.cells.guarded`).
    """
    lines = (
        [NEVER if (cell := row.get(column)) == inf else cell for column in columns] for row in rows
    )
    return "".join([csv_line(columns), *map(csv_line, lines)])
