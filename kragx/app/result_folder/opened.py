"""Result folders as they are read: whole, and of one run, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kragx.app.config import RunConfig, files_of, load
from kragx.app.result_folder.atomic_folder import (
    MANIFEST,
    Manifest,
    as_written,
    beside,
    check_files,
    finished_manifest,
    inside,
    manifest_of,
)
from kragx.comparison import Results
from kragx.comparison.scores import check_report
from kragx.comparison.slices import Tables
from kragx.data import (
    Corpus,
    GoldDataset,
    Run,
    as_corpus,
    read_gold,
    read_results,
)
from kragx.data.formats.jsonl import read_object
from kragx.data.source import name_of
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.part_tables import SUMMARY
from kragx.ground.errors import DataError, KragxError, UntrustedError, UsageError, nearest
from kragx.report.record import Past, Record

BASELINE_VERSION = 1

CORPUS = "corpus.jsonl"
EARLIER = ("earlier/report.json", "earlier/gold.jsonl")
BASELINE = "earlier/baseline.json"
INPUTS = (CORPUS, *EARLIER, BASELINE)
"""What a folder keeps of what stands elsewhere (`kragx.app.result_folder.written`)."""


@dataclass(frozen=True)
class Content:
    """What a run left in a folder.

    Attributes:
        config: its config.
        dataset: its gold set.
        runs: what each retriever returned.
        corpus: the texts of ids.
    """

    config: RunConfig
    dataset: GoldDataset
    runs: Mapping[str, Run]
    corpus: Corpus

    def check_named(self, folder: Path, name: str) -> None:
        """Raise a `UsageError` unless it has a retriever of this name."""
        if name not in self.runs:
            raise UsageError(
                "{folder} has no {name!r}",
                field="--retriever",
                remedy=nearest(name, self.runs),
                folder=folder,
                name=name,
            )


@dataclass(frozen=True)
class Opened:
    """A result folder as it is read: of one run, and as that has written it.

    Attributes:
        folder: the folder.
        manifest: what belongs to it.
        report: what its report.json holds.
        trust: whether what the config names may be run, and read elsewhere.
    """

    folder: Path
    manifest: Manifest
    report: Mapping[str, Any]
    trust: bool = False

    def path(self, name: str) -> Path:
        """Where a file stands.

        Raises:
            DataError: the manifest does not name it; or it is no plain file.
        """
        if name not in self.manifest:
            raise DataError(
                "{folder}: {name} does not belong to it, says its {manifest}",
                folder=self.folder,
                name=name,
                manifest=MANIFEST,
            )
        return inside(self.folder, self.folder / name, trust=self.trust)

    @property
    def record(self) -> Record | None:
        """How the run came about; None where that is not recorded."""
        with as_written(self.path("report.json"), "a report"):
            return Record.read(self.report.get("record"))

    @property
    def results(self) -> Results:
        """The numbers as they were written; nothing is computed again."""
        return Results.read(str(self.folder), self.report, read_gold(self.path("gold.jsonl")))

    def config(self, max_failed: float | None = None) -> RunConfig:
        """The config, with another tolerance of failures if one is named."""
        config = load(self.path("config.yaml"), needs_env=False, trust=self.trust)
        changed: dict[str, Any] = {} if max_failed is None else {"max_failed": max_failed}
        return replace(config, **changed)

    def contents(self, max_failed: float | None = None) -> Content:
        """Its config, its gold set, what each retriever returned, and what belongs to that."""
        # The copy in the folder, not the file that the config names: that may be another by now.
        config = self.config(max_failed)
        source = config.dataset
        dataset = replace(
            read_gold(self.path("gold.jsonl")),
            name=source.name or name_of(source.path),
            version=source.version,
        )
        runs, files = {}, files_of(config.asked)
        for name, retriever in config.asked.items():
            # Its queries are the gold set's; what was extra is not in the folder.
            paths = (self.path(f"results/{file}.jsonl") for file in files[name])
            several = [replace(read_results(path)[1], name=name) for path in paths]
            runs[name] = replace(Run.repeated(several), settings=retriever.settings)
        corpus: object = self.path(CORPUS) if CORPUS in self.manifest else None
        # The folder's copy has the documents alone that the run named.
        if self.trust and source.corpus is not None and source.corpus.exists():
            corpus = source.corpus
        return Content(config, dataset, runs, as_corpus(corpus))

    def earlier(self, config: RunConfig) -> Past | None:
        """The results that the run was compared with; None without any.

        Raises:
            UntrustedError: they stand elsewhere alone.
        """
        if config.earlier is None:
            return None
        if self.trust:
            return read_earlier(config.earlier, trust=True)
        if BASELINE in self.manifest:
            kept_results, record = read_baseline(self.path(BASELINE))
            return Past(replace(kept_results, name=str(config.earlier)), record)
        # A path of a stranger's folder is not followed: it might lead to anything of the reader's.
        if not self.manifest.keys() >= {*EARLIER}:
            raise UntrustedError(
                "earlier: {earlier} is not kept in the folder", earlier=config.earlier
            )
        path, gold = map(self.path, EARLIER)
        before = replace(self, report=read_object(path, "report"))
        results = Results.read(str(config.earlier), before.report, read_gold(gold))
        return Past(results, before.record)

    def as_read(self, evaluations: Sequence[Evaluation]) -> tuple[Evaluation, ...]:
        """With what was counted while the sources were read, which their copies do not show."""
        read: list[Evaluation] = []
        # As a whole, so that a forged count is the folder's fault and no failure of kragx.
        with as_written(self.path("report.json"), "a report"):
            rows = {(row["retriever"], row["match"]): row for row in self.report["evaluations"]}
            for evaluation in evaluations:
                counts = rows.get((evaluation.name, evaluation.match_name), {}).get("counts", {})
                counts = {name: counts.get(name, 0) for name in _READ_COUNTS if counts}
                read.append(replace(evaluation, counts={**evaluation.counts, **counts}))
                read[-1].remarks  # noqa: B018  # counts that cannot be told are a mistake of it
        return tuple(read)


_READ_COUNTS = ("n_extra", "n_replaced_surrogates", "n_longer_lines")


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
    if value.get("kragx_baseline") != BASELINE_VERSION:
        raise DataError(
            "no baseline that this version of kragx reads",
            path=str(path),
            remedy="kragx run CONFIG.yaml --save-baseline FILE writes one",
        )
    with as_written(path, "a baseline"):
        report = {**value, "comparisons": [{"better": dict(value["better"])}]}
        if not report["evaluations"]:
            raise DataError("has no results", path=str(path), field="evaluations")
        return Results.read(str(path), report), Record.read(value.get("record"))


def read_earlier(folder: Path, *, trust: bool = False) -> Past:
    """The results of an earlier run: its folder, as `opened`, or a baseline made of it."""
    if folder.suffix == ".json" and not folder.is_dir():
        return Past(*read_baseline(folder))
    with opened(folder, trust=trust) as content:
        return Past(content.results, content.record)


@contextmanager
def opened(folder: Path, *, trust: bool = False) -> Iterator[Opened]:
    """Open a result folder; whatever reads one reads it through this.

    Args:
        folder: the folder.
        trust: whether what its config names may be run, and read elsewhere.

    Raises:
        DataError: it is none, is not whole, or was written anew before the block has ended.
    """
    if not (manifest := finished_manifest(folder)):
        raise _none_there(folder)
    problem: KragxError | None = None
    try:
        check_files(folder, manifest, trust=trust)
        files = Opened(folder, manifest, {}, trust)
        report = read_object(files.path("report.json"), "report")
        check_report(report, str(folder))
        yield replace(files, report=report)
    except KragxError as error:
        problem = error
    # First, as whatever else is wrong comes of it.
    if (manifest_of(folder) or {}) != manifest:
        raise DataError(
            "{folder}: was written anew while it was read; read it again", folder=folder
        )
    if problem is not None:
        raise problem


def is_scored(folder: Path) -> bool:
    """Whether a folder holds tables of values, as `kragx score --out` writes, and is no run's."""
    return (folder / SUMMARY).is_file() and not (folder / MANIFEST).exists()


def read_scored(folder: Path) -> Results:
    """The numbers of a folder of `kragx score --out`.

    Raises:
        DataError: it is not whole.
    """
    path = folder / SUMMARY
    summary = read_object(path, "summary of scores")
    names = summary.get("tables")
    if not (isinstance(names, list) and names):
        raise DataError("names no tables", path=str(path), field="tables")
    paths = tuple(inside(folder, folder / str(name)) for name in names)
    if missing := [path for path in paths if not path.is_file()]:
        raise DataError(
            "{n_missing} of {n_paths} tables are not there",
            path=str(missing[0]),
            remedy="run kragx score --out again; it computes what is missing",
            n_missing=len(missing),
            n_paths=len(paths),
        )
    return Results.read(str(folder), {"evaluations": [summary]}, None, Tables(paths))


def read_folder(folder: Path, *, trust: bool = False) -> Content:
    """What a run left in a folder; as `opened`."""
    with opened(folder, trust=trust) as content:
        return content.contents()


def _none_there(folder: Path) -> DataError:
    """The error of a folder in which no run has ended."""
    if folder.is_file():
        return DataError(
            "a file, and no result folder",
            path=str(folder),
            remedy="results files are compared by kragx score FILE FILE, without gold by kragx "
            "diff; a baseline's name ends with .json",
        )
    if (beside(folder) / "answers").is_dir():
        return DataError(
            "{folder}: no results yet, as a run was cut short here",
            remedy="kragx run goes on from the answers that are kept",
            folder=folder,
        )
    return DataError(
        "{folder}: no result folder, as it has no {file}; name one that kragx run has written",
        folder=folder,
        file=MANIFEST,
    )
