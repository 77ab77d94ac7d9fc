"""Result folders: what a run leaves behind, and reads again.

    report.json    config, versions and every number      gold.jsonl  the gold set as it was
    report.md      the report for people                  config.yaml the config, resolved
    means.csv      a line for each retriever and matcher  results/    what each retriever returned
    queries.csv    a line for each query besides          report.html all of it, to look into

With pyarrow (extra `parquet`) queries.parquet and results/*.parquet stand beside them. While a run
goes on, each answer is added to ``.unfinished/answers/<retriever>.jsonl`` as it comes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.app.config import RunConfig, load
from kragx.app.record import UNFINISHED
from kragx.data import GoldDataset, Retrieved, Run, file_names, read_gold, read_results
from kragx.data.formats.gold import write_gold, write_results
from kragx.data.formats.jsonl import file_name, make_folder, to_json
from kragx.errors import DataError
from kragx.evaluation.evaluation import Evaluation, metric_names
from kragx.report.csv_files import means_csv, queries_csv, query_rows, write_text

if TYPE_CHECKING:
    from kragx.app.run_report import RunReport


def write_folder(report: RunReport, folder: Path) -> None:
    """Write all that `kragx report` needs and people read."""
    make_folder(folder / "results")
    write_gold(report.dataset, folder / "gold.jsonl")
    files = dict(zip(file_names(report.runs), report.runs.values(), strict=True))
    for name, run in files.items():
        write_results(report.dataset, run, folder / "results" / f"{name}.jsonl")
    if find_spec("pyarrow") is not None:
        for name, run in files.items():
            rows = _result_rows(report.dataset, run)
            _write_parquet(folder / "results" / f"{name}.parquet", rows, _RESULT_COLUMNS)
        columns = dict.fromkeys(("query_id", "retriever", "match"), "string")
        columns |= dict.fromkeys(metric_names(report.evaluations), "float64")
        columns["failure"] = "string"
        _write_parquet(folder / "queries.parquet", query_rows(report.evaluations), columns)
    write_text(folder / "means.csv", means_csv(report.evaluations, report.comparisons))
    write_text(folder / "queries.csv", queries_csv(report.evaluations, report.dataset))
    write_text(folder / "config.yaml", report.config.to_yaml())
    # Last, as earlier results may turn out not to be comparable; what was retrieved is kept.
    write_text(folder / "report.json", to_json(report.to_dict(), indent=2))
    write_text(folder / "report.md", report.to_markdown())
    if report.config.html:
        report.to_html(folder / "report.html")
    # Until all of it stands there, a next run goes on from these.
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)


_RESULT_COLUMNS = {
    "query_id": "string",
    "rank": "int32",
    "id": "string",
    "text": "string",
    "score": "float64",
    "metadata": "string",
    "seconds": "float64",
    "error": "string",
}


def _result_rows(dataset: GoldDataset, run: Run) -> Iterator[dict[str, Any]]:
    """A row for each document retrieved; one without rank for a query that got none."""
    for query in dataset:
        retrieved = run.results.get(query.id, Retrieved(error="missing"))
        of_query = {
            "query_id": query.id,
            "seconds": retrieved.seconds,
            "error": retrieved.error,
        }
        documents = retrieved.documents if retrieved.error is None else ()
        rows = [
            {
                **of_query,
                "rank": rank,
                "id": doc.id,
                "text": doc.text,
                "score": doc.score,
                "metadata": to_json(dict(doc.metadata)),
            }
            for rank, doc in enumerate(documents, start=1)
        ]
        yield from rows or [of_query]


def _write_parquet(path: Path, rows: Iterable[dict[str, Any]], kinds: Mapping[str, str]) -> None:
    """Write rows; their types are named, lest a column without a value have none."""
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in kinds.items()])
    parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema), path)


def read_folder(
    folder: Path, settings: Iterable[str] = ()
) -> tuple[RunConfig, GoldDataset, dict[str, Run]]:
    """What a run left in a folder: its config, its gold set, and what each retriever returned.

    Args:
        folder: the folder.
        settings: values that win over the config's.

    Raises:
        DataError: the folder lacks a file, or one is broken.
    """
    if not (folder / "config.yaml").is_file():
        raise DataError(
            f"{folder}: no result folder, as it has no config.yaml; name one that kragx run has "
            "written (an interrupted run goes on with kragx run)"
        )
    config = load(folder / "config.yaml", settings, needs_env=False)
    name = config.dataset.name or file_name(str(config.dataset.path).removesuffix(".gz"))
    gold = read_gold(folder / "gold.jsonl")
    dataset = replace(gold, name=name, version=config.dataset.version)
    runs = {}
    for file, (name, retriever) in zip(file_names(config.retrievers), config.retrievers.items()):
        run = read_results(folder / "results" / f"{file}.jsonl")[1]
        # Its queries are the gold set's; what was extra is not in the folder.
        runs[name] = replace(run, name=name, settings=retriever.settings)
    return config, dataset, runs


_READ_COUNTS = ("n_extra", "n_replaced_surrogates", "n_longer_lines")


def as_read(folder: Path, evaluations: Iterable[Evaluation]) -> tuple[Evaluation, ...]:
    """With what was counted while the sources were read, which their copies no longer show."""
    path = folder / "report.json"
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["evaluations"]
        counted = {
            row["retriever"]: {name: row["counts"].get(name, 0) for name in _READ_COUNTS}
            for row in rows
        }
    except FileNotFoundError:
        counted = {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a report that kragx wrote: {error}") from None
    return tuple(
        replace(evaluation, counts={**evaluation.counts, **counted.get(evaluation.name, {})})
        for evaluation in evaluations
    )
