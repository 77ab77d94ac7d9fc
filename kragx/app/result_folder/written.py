"""Result folders: what a run leaves behind, and reads again.

    report.json    config, versions and every number      gold.jsonl  the gold set as it was
    report.md      the report for people                  config.yaml the config, resolved
    means.csv      a line for each retriever and matcher  results/    what each retriever returned
    queries.csv    a line for each query besides          report.html all of it, to look into
    manifest.json  the size and hash of each of them

Of files elsewhere it keeps what its numbers need:

    corpus.jsonl   of the corpus the documents that gold and results name, or that are forbidden
    earlier/       the numbers that the run was compared with

While a run goes on, each answer is added to ``FOLDER.unfinished/answers/<retriever>.jsonl`` as it
comes. All files appear together when the run has ended (`kragx.app.result_folder.atomic_folder`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.app.config import RunConfig, files_of
from kragx.app.result_folder.atomic_folder import (
    Manifest,
    beside,
    finish,
    locked,
    manifest_of,
    publish,
    tidy,
)
from kragx.app.result_folder.opened import (
    BASELINE,
    BASELINE_VERSION,
    CORPUS,
    EARLIER,
    INPUTS,
    opened,
)
from kragx.data import Corpus, Doc, GoldDataset, Run, every_run, file_names
from kragx.data.forbidden import SUPERSEDED_BY, stretch_in
from kragx.data.formats.jsonl import make_folder, refused, to_json, write_bytes, write_records
from kragx.data.writing import write_gold, write_results
from kragx.ground.errors import DataError, UsageError
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import listed
from kragx.report.csv_files import means_csv, queries_csv, write_text

if TYPE_CHECKING:
    from kragx.app.run_report import RunReport

_FILES = ("config.yaml", "gold.jsonl", "means.csv", "queries.csv")
_REPORTS = ("report.json", "report.md", "report.html")

_KEPT = ("retriever", "match", "settings", "mean", "bounds", "failures", "queries")
"""What of an evaluation is kept beside how many questions failed."""

_NOBODYS = {".gitignore", ".gitkeep", ".DS_Store", "Thumbs.db", "desktop.ini", "lost+found"}
"""What may stand in a folder that is empty."""


@contextmanager
def claimed(folder: Path, config: RunConfig) -> Iterator[Callable[[RunReport], None]]:
    """Hold a folder for a run: nobody else writes to it until the block ends.

    Yields:
        What writes a report there, all of its files at once.

    Raises:
        UsageError: the folder holds what kragx has not written, cannot be replaced as a whole, or
            another run writes to it.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError("output: {folder} is a file; name a folder", folder=folder)
    try:
        with locked(beside(folder) / "lock"):
            finish(folder)
            _check_replaceable(folder, config)
            yield lambda report: publish(folder, lambda new: _write(report, new))
    finally:
        tidy(folder)


def _check_replaceable(folder: Path, config: RunConfig) -> None:
    """Refuse a folder in which a run would replace what kragx has not written."""
    manifest: Manifest | None = None
    with suppress(DataError):
        manifest = manifest_of(folder)
    there = set[str]()
    with refused(folder, "read"), suppress(FileNotFoundError):
        there = {path.name for path in folder.iterdir()}
    if manifest is None and (strangers := sorted(there - _NOBODYS)):
        raise UsageError(
            "output: {folder} holds what kragx run has not written ({names}), and nothing is "
            "written there",
            remedy="name another folder, or an empty one",
            folder=folder,
            names=listed(strangers),
        )
    names = [file for files in files_of(config.asked).values() for file in files]
    names = [*_FILES, *INPUTS, *_REPORTS, *(f"results/{name}.jsonl" for name in names)]
    names += [name for name in ("results", "earlier") if (folder / name).is_symlink()]
    taken = [n for n in names if n not in (manifest or {}) and os.path.lexists(folder / n)]
    if taken:
        raise UsageError(
            "{folder}: {listed}: there already, and not written by kragx run",
            remedy="move it away, or name another folder",
            folder=folder,
            listed=listed(taken),
        )
    if Path.cwd().is_relative_to(folder.resolve()) or folder.is_mount():
        raise UsageError(
            "output: {folder}: the current folder and a mounted disk cannot be replaced",
            remedy="name a folder in it",
            folder=folder,
        )


def _write(report: RunReport, folder: Path) -> None:
    """Write all that `kragx report` needs and people read."""
    make_folder(folder / "results")
    write_gold(report.dataset, folder / "gold.jsonl")
    runs = every_run(report.runs.values())
    files = dict(zip(file_names(run.name for run in runs), runs, strict=True))
    for name, run in files.items():
        write_results(report.dataset, run, folder / "results" / f"{name}.jsonl")
    _write_inputs(report, folder)
    write_text(folder / "means.csv", means_csv(report.evaluations, report.comparisons))
    write_text(folder / "queries.csv", queries_csv(report.evaluations, report.dataset))
    write_text(folder / "config.yaml", report.config.to_yaml())
    write_text(folder / "report.json", to_json(report.to_dict(), indent=2))
    write_text(folder / "report.md", report.to_markdown())
    if report.config.html:
        report.to_html(folder / "report.html")


def _write_inputs(report: RunReport, folder: Path) -> None:
    """Write what numbers need of files elsewhere, so that all is read from the folder alone."""
    if report.corpus.source is not None:
        documents = _named(report.corpus, report.dataset, every_run(report.runs.values()))
        write_records(documents, folder / CORPUS)
    if report.config.earlier is not None:
        make_folder((folder / EARLIER[0]).parent)
        if not report.config.earlier.is_dir():
            write_bytes(folder / BASELINE, report.config.earlier.read_bytes())
            return
        with opened(report.config.earlier, trust=True) as earlier:
            for place in EARLIER:
                source = earlier.path(Path(place).name)
                write_bytes(folder / place, source.read_bytes())


def write_baseline(report: RunReport, path: Path) -> None:
    """Write a run's numbers as a baseline; what stands there is replaced as a whole.

    It stands where a result folder may (``earlier:``), and holds what a comparison reads of one:
    each question's values, and settings, but no text. Paths below the config's folder begin with
    ``${here}``, which each colleague has elsewhere.

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
        "kragx_baseline": BASELINE_VERSION,
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


def _of_forbidden(corpus: Corpus, dataset: GoldDataset) -> Iterator[str | None]:
    """The documents by which it is told that what is forbidden is in the corpus."""
    items = [item for query in dataset for item in query.forbidden or ()]
    yield from (item.id for item in items)
    yield from (item.superseded_by for item in items)
    unmet: set[object] = {name for item in items for name in (item.id, item.source) if name}
    for doc_id, doc in corpus.docs.items() if unmet else ():
        # A source, or an id that stands in some field, as that of a parent.
        names = {stretch_in(doc.metadata, doc_id)[0], *map(str, doc.metadata.values())}
        if unmet & names:
            unmet -= names
            yield doc_id


def _named(corpus: Corpus, dataset: GoldDataset, runs: Iterable[Run]) -> Iterator[dict[str, Any]]:
    """The documents of a corpus, as its files have them, whose ids stand anywhere."""
    golds = [gold for query in dataset for gold in query.gold]
    ids = [gold.id for gold in golds]
    ids += [alternative.id for gold in golds for alternative in gold.alternatives]
    answers = [answer for run in runs for answer in run.results.values()]
    ids += [doc.id for answer in answers for doc in answer.documents]
    ids += [doc.id for answer in answers for stage in answer.stages for doc in stage.documents]
    ids += _of_forbidden(corpus, dataset)
    seen = set[str]()
    for first in ids:
        doc_id: object = first
        while isinstance(doc_id, str) and doc_id not in seen:
            seen.add(doc_id)
            doc = corpus.docs.get(doc_id, Doc(doc_id))
            if (text := corpus.text(doc_id)) is not None:
                yield {"id": doc_id, "text": text, "metadata": dict(doc.metadata)}
            doc_id = doc.metadata.get(SUPERSEDED_BY)  # whatever has taken its place
