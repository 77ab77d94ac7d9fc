"""Result folders: what a run leaves behind, and reads again.

    report.json    config, versions and every number      gold.jsonl  the gold set as it was
    report.md      the report for people                  config.yaml the config, resolved
    means.csv      a line for each retriever and matcher  results/    what each retriever returned
    queries.csv    a line for each query besides          report.html all of it, to look into
    manifest.json  the size and hash of each of them

Of what stands elsewhere it keeps what its numbers need (`kragx.app.folder.inputs`).
With pyarrow (extra `parquet`) queries.parquet and results/*.parquet stand beside them. While a run
goes on, each answer is added to ``.unfinished/answers/<retriever>.jsonl`` as it comes. All files
appear together when the run has ended (`kragx.app.folder.sealed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.app.config import RunConfig, files_of
from kragx.app.folder.inputs import write_inputs
from kragx.app.folder.lock import locked
from kragx.app.folder.opened import INPUTS
from kragx.app.folder.sealed import (
    MANIFEST,
    Manifest,
    check_free,
    finish,
    listed,
    manifest_of,
    publish,
    tidy,
)
from kragx.data import GoldDataset, Retrieved, Run, every_run, file_names
from kragx.data.formats.gold import write_gold, write_results
from kragx.data.formats.jsonl import make_folder, refused, to_json
from kragx.evaluation.evaluation import metric_names
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import phrase
from kragx.report.csv_files import means_csv, queries_csv, query_rows, write_text
from kragx.report.record import UNFINISHED, store_files

if TYPE_CHECKING:
    from kragx.app.run_report import RunReport

_FILES = ("config.yaml", "gold.jsonl", "means.csv", "queries.csv", "queries.parquet")
_REPORTS = ("report.json", "report.md", "report.html")

_NOBODYS = {".gitignore", ".gitkeep", ".DS_Store", "Thumbs.db", "desktop.ini", "lost+found"}
"""What may stand in a folder that is empty."""


@contextmanager
def claimed(folder: Path, config: RunConfig) -> Iterator[Callable[[RunReport], None]]:
    """Hold a folder for a run: nobody else writes to it until the block ends.

    Yields:
        What writes a report there, all of its files at once.

    Raises:
        UsageError: the folder holds what kragx has not written, cannot be written, or another run
            writes to it.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"output: {folder} is a file; name a folder")
    work, is_new = folder / UNFINISHED, not folder.exists()
    _replaceable(folder, config)  # before anything is made in it
    with refused(folder, "written"):
        work.mkdir(parents=True, exist_ok=True)
    try:
        with locked(work / "lock"):
            finish(folder)
            allowed = _replaceable(folder, config)
            names = [file for files in files_of(config.asked).values() for file in files]
            results = [f"results/{name}.jsonl" for name in names]
            check_free(folder, (*_FILES, *INPUTS, *_REPORTS, *results), allowed)
            with refused(work, "written"):
                (work / ".gitignore").write_text("*\n", encoding="utf-8")
            yield lambda report: publish(folder, lambda new: _write(report, new), allowed)
    finally:
        tidy(folder)
        if is_new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def _replaceable(folder: Path, config: RunConfig) -> Manifest:
    """The files of a folder that a run may replace.

    Raises:
        UsageError: kragx has not written it.
    """
    with suppress(DataError):
        manifest = manifest_of(folder)
        if manifest is not None:
            return manifest
    with refused(folder, "read"):
        names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if (folder / UNFINISHED / "answers").is_dir() and MANIFEST not in names:
        return {}  # a run began here
    if "results" in names and not any((folder / "results").iterdir()):
        names.remove("results")
    stores = [path for store in config.stores for path in (*store_files(store), *store.parents)]
    store_names = {path.name for path in stores if path.parent == folder.resolve()}
    strangers = [name for name in names if name not in {*_NOBODYS, *store_names, UNFINISHED}]
    if strangers:
        raise UsageError(
            phrase(
                "output: {folder} holds what kragx run has not written ({names}), and nothing is "
                "written there",
                folder=folder,
                names=listed(strangers),
            ),
            remedy=phrase("name another folder, or an empty one"),
        )
    return {}


def _write(report: RunReport, folder: Path) -> None:
    """Write all that `kragx report` needs and people read."""
    make_folder(folder / "results")
    write_gold(report.dataset, folder / "gold.jsonl")
    runs = every_run(report.runs.values())
    files = dict(zip(file_names(run.name for run in runs), runs, strict=True))
    for name, run in files.items():
        write_results(report.dataset, run, folder / "results" / f"{name}.jsonl")
    if find_spec("pyarrow") is not None:
        for name, run in files.items():
            rows = _result_rows(report.dataset, run)
            _write_parquet(folder / "results" / f"{name}.parquet", rows, _RESULT_COLUMNS)
        columns = dict.fromkeys(("query_id", "retriever", "match"), "string")
        columns |= dict.fromkeys(metric_names(report.evaluations), "float64")
        columns["failure"] = "string"
        if any(evaluation.weights is not None for evaluation in report.evaluations):
            columns["weight"] = "float64"
        _write_parquet(folder / "queries.parquet", query_rows(report.evaluations), columns)
    write_inputs(report, folder)
    write_text(folder / "means.csv", means_csv(report.evaluations, report.comparisons))
    write_text(folder / "queries.csv", queries_csv(report.evaluations, report.dataset))
    write_text(folder / "config.yaml", report.config.to_yaml())
    write_text(folder / "report.json", to_json(report.to_dict(), indent=2))
    write_text(folder / "report.md", report.to_markdown())
    if report.config.html:
        report.to_html(folder / "report.html")


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
