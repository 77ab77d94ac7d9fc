"""Result folders as they are read: whole, and of one run, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple

from kragx.app.config import RunConfig, files_of, load
from kragx.app.config.values import FACTS, RELEVANCE
from kragx.app.result_folder.baseline import read_baseline
from kragx.app.result_folder.scores import RecordedScores
from kragx.app.result_folder.sealed import MANIFEST, Sealed, as_written, reading
from kragx.comparison import Results
from kragx.comparison.report_fields import check_report
from kragx.comparison.scores import mean_in
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
from kragx.ground.caller_warnings import warn
from kragx.ground.errors import DataError, UntrustedError
from kragx.ground.printing import phrase
from kragx.report.record import UNFINISHED, Record

SCORES, CORPUS = "scores.jsonl", "corpus.jsonl"
EARLIER = ("earlier/report.json", "earlier/gold.jsonl")
BASELINE = "earlier/baseline.json"
INPUTS = (SCORES, CORPUS, *EARLIER, BASELINE)
"""What a folder keeps of what stands elsewhere (`kragx.app.result_folder.written`)."""


class FolderWarning(UserWarning):
    """Something about a result folder that its numbers do not show."""


@dataclass(frozen=True)
class Content:
    """What a run left in a folder.

    Attributes:
        config: its config.
        dataset: its gold set.
        runs: what each retriever returned.
        corpus: the texts of ids.
        scores: those that code or a model gave; None where its author is trusted, and these are
            asked again.
    """

    config: RunConfig
    dataset: GoldDataset
    runs: Mapping[str, Run]
    corpus: Corpus
    scores: RecordedScores | None


class Earlier(NamedTuple):
    """The results of an earlier run, and how that came about, if it is recorded."""

    results: Results
    record: Record | None


@dataclass(frozen=True)
class Opened:
    """A result folder as it is read: of one run, and as that has written it.

    Attributes:
        sealed: where its files stand.
        report: what its report.json holds.
        trust: whether what the config names may be run, and read elsewhere.
    """

    sealed: Sealed
    report: Mapping[str, Any]
    trust: bool = False

    @property
    def record(self) -> Record | None:
        """How the run came about; None where that is not recorded."""
        value = self.report.get("record")
        with self._as_written():
            return None if value is None else Record.read(value)

    @property
    def results(self) -> Results:
        """The numbers as they were written; nothing is computed again."""
        gold = read_gold(self.sealed.path("gold.jsonl"))
        return Results.read(str(self.sealed.folder), self.report, gold)

    def config(self, settings: Iterable[str] = ()) -> RunConfig:
        """The config, with values that win over it."""
        path = self.sealed.path("config.yaml")
        return load(path, settings, needs_env=False, trust=self.trust)

    def contents(self, settings: Iterable[str] = ()) -> Content:
        """Its config, its gold set, what each retriever returned, and what belongs to that."""
        # The copy in the folder, not the file that the config names: that may be another by now.
        config = self.config(settings)
        name = config.dataset.name or name_of(config.dataset.path)
        gold = read_gold(self.sealed.path("gold.jsonl"))
        dataset = replace(gold, name=name, version=config.dataset.version)
        runs, files = {}, files_of(config.asked)
        for name, retriever in config.asked.items():
            # Its queries are the gold set's; what was extra is not in the folder.
            paths = (self.sealed.path(f"results/{file}.jsonl") for file in files[name])
            several = [replace(read_results(path)[1], name=name) for path in paths]
            runs[name] = replace(Run.repeated(several), settings=retriever.settings)
        return Content(config, dataset, runs, self._corpus(config), self._scores(dataset))

    def _corpus(self, config: RunConfig) -> Corpus:
        elsewhere = config.dataset.corpus
        # The folder's copy has the documents alone that the run named.
        if self.trust and elsewhere is not None and elsewhere.exists():
            return as_corpus(elsewhere)
        return as_corpus(self.sealed.path(CORPUS)) if self.sealed.has(CORPUS) else NO_CORPUS

    def _scores(self, dataset: GoldDataset) -> RecordedScores | None:
        # Who trusts the folder has its code and models asked anew, and needs no records.
        if self.trust:
            return None
        if not self.sealed.has(SCORES):
            return RecordedScores((), dataset)
        return RecordedScores.read(self.sealed.path(SCORES), dataset)

    def earlier(self, config: RunConfig) -> Earlier | None:
        """The results that the run was compared with; None without any.

        Raises:
            UntrustedError: they stand elsewhere alone.
        """
        if config.earlier is None:
            return None
        if self.trust:
            return read_earlier(config.earlier, trust=True)
        if self.sealed.has(BASELINE):
            kept_results, record = read_baseline(self.sealed.path(BASELINE))
            return Earlier(replace(kept_results, name=str(config.earlier)), record)
        # A path of a stranger's folder is not followed: it might lead to anything of the reader's.
        if not all(map(self.sealed.has, EARLIER)):
            raise UntrustedError(f"earlier: {config.earlier} is not kept in the folder")
        report, gold = map(self.sealed.path, EARLIER)
        baseline = Opened(self.sealed, read_object(report, "report"))
        return Earlier(
            Results.read(str(config.earlier), baseline.report, read_gold(gold)), baseline.record
        )

    def as_read(
        self, evaluations: Sequence[Evaluation], scores: RecordedScores | None
    ) -> tuple[Evaluation, ...]:
        """With what was counted while the sources were read, which their copies do not show.

        Where scores were recorded, with all that was counted while they were given, too. A mean
        that is another than the report says is warned about.
        """
        # Judges that were asked then are not asked now, so that their counts exist nowhere else.
        score_matchers = set() if scores is None else scores.matchers
        with self._as_written():
            rows = {(row["retriever"], row["match"]): row for row in self.report["evaluations"]}
            counts_of = {key: dict(row["counts"]) for key, row in rows.items()}
            means = {
                (*key, metric): mean_in(row, metric)
                for key, row in rows.items()
                for metric in row["mean"]
            }
        self._warn_of_others(evaluations, means)

        def counts(evaluation: Evaluation) -> Mapping[str, Any]:
            recorded = counts_of.get((evaluation.name, evaluation.match_name), {})
            if score_matchers & {evaluation.match_name, FACTS, RELEVANCE}:
                return recorded
            return {name: recorded.get(name, 0) for name in _READ_COUNTS} if recorded else {}

        read = tuple(
            replace(evaluation, counts={**evaluation.counts, **counts(evaluation)})
            for evaluation in evaluations
        )
        # Now and within, so that a forged count is the folder's fault and no failure of kragx.
        with self._as_written():
            for evaluation in read:
                evaluation.remarks  # noqa: B018  # counts that cannot be told are a mistake of it
        return read

    def _warn_of_others(
        self, evaluations: Iterable[Evaluation], means: Mapping[tuple[str, str, str], object]
    ) -> None:
        """Warn of the first mean that is another than it was; `compare` reads those that were."""
        for evaluation in evaluations:
            for metric, value in evaluation.mean.items():
                before = means.get((evaluation.name, evaluation.match_name, metric), value)
                if not _is_same(before, value):
                    text = phrase(
                        "{folder}: {metric} of {retriever} was {before} when it was written "
                        "and is {now} now: kragx or a model differs",
                        folder=self.sealed.folder,
                        metric=metric,
                        retriever=evaluation.name,
                        before=before,
                        now=value,
                    )
                    warn(text, FolderWarning)
                    return

    def _as_written(self) -> AbstractContextManager[None]:
        return as_written(self.sealed.path("report.json"), "a report")


def _is_same(before: object, now: float | None) -> bool:
    """Whether two means are the same, but for the last digits."""
    # Sums differ in the last bits between processors. A whole number that somebody put into the
    # file may be too large for a float, at which `isclose` would raise.
    if isinstance(before, int | float) and now is not None and abs(before) < 1e300:
        return isclose(before, now, rel_tol=1e-9, abs_tol=1e-9)
    return before == now


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
    if not folder.exists():
        raise DataError(phrase("cannot be read: no such file or folder"), path=str(folder))
    if not folder.is_dir():
        raise DataError(
            phrase("a file, and no result folder"),
            path=str(folder),
            remedy=phrase(
                "results files are compared by kragx score FILE FILE, without gold by kragx diff; "
                "a baseline's name ends with .json"
            ),
        )
    with reading(folder, trust=trust) as folder_files:
        if not folder_files.manifest:
            raise _not_written(folder)
        report = read_object(folder_files.path("report.json"), "report")
        check_report(report, str(folder))
        yield Opened(folder_files, report, trust)


def read_folder(folder: Path, *, trust: bool = False) -> Content:
    """What a run left in a folder; as `opened`."""
    with opened(folder, trust=trust) as content:
        return content.contents()


def _not_written(folder: Path) -> DataError:
    """The error of a folder in which no run has ended."""
    if (folder / UNFINISHED / "answers").is_dir():
        problem = phrase("{folder}: no results yet, as a run was cut short here", folder=folder)
        return DataError(problem, remedy="kragx run goes on from the answers that are kept")
    return DataError(
        phrase(
            "{folder}: no result folder, as it has no {file}; name one that kragx run has written",
            folder=folder,
            file=MANIFEST,
        )
    )
