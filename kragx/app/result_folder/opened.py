"""Result folders as they are read: whole, and of one run, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

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
from kragx.app.result_folder.baseline import read_baseline
from kragx.comparison import Results
from kragx.comparison.scores import check_report
from kragx.data import (
    NO_CORPUS,
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
from kragx.ground.errors import DataError, KragxError, UntrustedError
from kragx.ground.printing import message
from kragx.report.record import Record

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


class Earlier(NamedTuple):
    """The results of an earlier run, and how that came about, if it is recorded."""

    results: Results
    record: Record | None


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
        value = self.report.get("record")
        with as_written(self.path("report.json"), "a report"):
            return None if value is None else Record.read(value)

    @property
    def results(self) -> Results:
        """The numbers as they were written; nothing is computed again."""
        gold = read_gold(self.path("gold.jsonl"))
        return Results.read(str(self.folder), self.report, gold)

    def config(self, max_failed: float | None = None) -> RunConfig:
        """The config, with another tolerance of failures if one is named."""
        config = load(self.path("config.yaml"), needs_env=False, trust=self.trust)
        changed = {} if max_failed is None else {"max_failed": max_failed}
        return config.model_copy(update=changed)

    def contents(self, max_failed: float | None = None) -> Content:
        """Its config, its gold set, what each retriever returned, and what belongs to that."""
        # The copy in the folder, not the file that the config names: that may be another by now.
        config = self.config(max_failed)
        name = config.dataset.name or name_of(config.dataset.path)
        gold = read_gold(self.path("gold.jsonl"))
        dataset = replace(gold, name=name, version=config.dataset.version)
        runs, files = {}, files_of(config.asked)
        for name, retriever in config.asked.items():
            # Its queries are the gold set's; what was extra is not in the folder.
            paths = (self.path(f"results/{file}.jsonl") for file in files[name])
            several = [replace(read_results(path)[1], name=name) for path in paths]
            runs[name] = replace(Run.repeated(several), settings=retriever.settings)
        return Content(config, dataset, runs, self._corpus(config))

    def _corpus(self, config: RunConfig) -> Corpus:
        elsewhere = config.dataset.corpus
        # The folder's copy has the documents alone that the run named.
        if self.trust and elsewhere is not None and elsewhere.exists():
            return as_corpus(elsewhere)
        return as_corpus(self.path(CORPUS)) if CORPUS in self.manifest else NO_CORPUS

    def earlier(self, config: RunConfig) -> Earlier | None:
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
            return Earlier(replace(kept_results, name=str(config.earlier)), record)
        # A path of a stranger's folder is not followed: it might lead to anything of the reader's.
        if not self.manifest.keys() >= {*EARLIER}:
            raise UntrustedError(
                "earlier: {earlier} is not kept in the folder", earlier=config.earlier
            )
        path, gold = map(self.path, EARLIER)
        before = replace(self, report=read_object(path, "report"))
        results = Results.read(str(config.earlier), before.report, read_gold(gold))
        return Earlier(results, before.record)

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


def read_earlier(folder: Path, *, trust: bool = False) -> Earlier:
    """The results of an earlier run: its folder, as `opened`, or a baseline made of it."""
    if folder.suffix == ".json" and not folder.is_dir():
        return Earlier(*read_baseline(folder))
    with opened(folder, trust=trust) as content:
        return Earlier(content.results, content.record)


@contextmanager
def opened(folder: Path, *, trust: bool = False) -> Iterator[Opened]:
    """Open a result folder; whatever reads one reads it through this.

    Args:
        folder: the folder.
        trust: whether what its config names may be run, and read elsewhere.

    Raises:
        DataError: it is none, is not whole, or was written anew before the block has ended.
    """
    manifest = finished_manifest(folder)
    if not manifest:
        raise _none_there(folder)
    problem = None
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
        problem = message("{folder}: no results yet, as a run was cut short here", folder=folder)
        return DataError(problem, remedy="kragx run goes on from the answers that are kept")
    return DataError(
        "{folder}: no result folder, as it has no {file}; name one that kragx run has written",
        folder=folder,
        file=MANIFEST,
    )
