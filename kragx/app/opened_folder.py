"""Result folders as they are read: whole, and of one run, or not at all."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kragx.app.config import RunConfig, load
from kragx.app.record import UNFINISHED, Record
from kragx.app.sealed import MANIFEST, Sealed, listed, reading
from kragx.comparison import Results
from kragx.data import GoldDataset, Run, file_names, read_gold, read_results
from kragx.data.formats.jsonl import file_name
from kragx.errors import DataError
from kragx.evaluation.evaluation import Evaluation

KEPT_BEFORE = ".partial.jsonl"
"""How the names of files in ``results`` end in which an earlier version kept answers."""


class FolderWarning(UserWarning):
    """Something about a result folder that its numbers do not show."""


@dataclass(frozen=True)
class Opened:
    """A result folder as it is read: of one run, and as that has written it.

    Attributes:
        sealed: where its files stand.
        report: what its report.json holds.
    """

    sealed: Sealed
    report: Mapping[str, Any]

    @property
    def record(self) -> Record | None:
        """How the run came about; None where an earlier version has written the folder."""
        value = self.report.get("record")
        try:
            return None if value is None else Record.read(value)
        except (KeyError, TypeError, AttributeError) as error:
            raise self._broken(error) from None

    @property
    def results(self) -> Results:
        """The numbers as they were written; nothing is computed again."""
        if self.sealed.manifest is None:
            self.contents()  # is refused if it is not whole
        gold = read_gold(self.sealed.path("gold.jsonl"))
        return Results.read(str(self.sealed.folder), self.report, gold)

    def config(self, settings: Iterable[str] = ()) -> RunConfig:
        """The config, with values that win over it."""
        return load(self.sealed.path("config.yaml"), settings, needs_env=False)

    def contents(
        self, settings: Iterable[str] = ()
    ) -> tuple[RunConfig, GoldDataset, dict[str, Run]]:
        """Its config, its gold set, and what each retriever returned."""
        config = self.config(settings)
        name = config.dataset.name or file_name(str(config.dataset.path).removesuffix(".gz"))
        gold = read_gold(self.sealed.path("gold.jsonl"))
        dataset = replace(gold, name=name, version=config.dataset.version)
        runs = {}
        for file, (name, retriever) in zip(
            file_names(config.retrievers), config.retrievers.items()
        ):
            asked, run = read_results(self.sealed.path(f"results/{file}.jsonl"))
            if self.sealed.manifest is None and asked.content_hash != gold.content_hash:
                raise _cut_short(self.sealed.folder)
            # Its queries are the gold set's; what was extra is not in the folder.
            runs[name] = replace(run, name=name, settings=retriever.settings)
        return config, dataset, runs

    def as_read(self, evaluations: Iterable[Evaluation]) -> tuple[Evaluation, ...]:
        """With what was counted while the sources were read, which their copies do not show."""
        try:
            counted = {
                row["retriever"]: {name: row["counts"].get(name, 0) for name in _READ_COUNTS}
                for row in self.report["evaluations"]
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise self._broken(error) from None
        return tuple(
            replace(evaluation, counts={**evaluation.counts, **counted.get(evaluation.name, {})})
            for evaluation in evaluations
        )

    def _broken(self, error: Exception) -> DataError:
        path = self.sealed.path("report.json")
        return DataError(f"{path}: not a report that kragx wrote: {error!r}")


_READ_COUNTS = ("n_extra", "n_replaced_surrogates", "n_longer_lines")


@contextmanager
def opened(folder: Path) -> Iterator[Opened]:
    """Open a result folder; whatever reads one reads it through this.

    Raises:
        DataError: it is none, is not whole, or was written anew before the block has ended.
    """
    with reading(folder) as sealed:
        if sealed.manifest is None:
            _check_former(folder)
        path = sealed.path("report.json")
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(report, dict):
                raise TypeError("no JSON object")
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"{path}: not a report that kragx wrote: {error}") from None
        yield Opened(sealed, report)


def read_folder(
    folder: Path, settings: Iterable[str] = ()
) -> tuple[RunConfig, GoldDataset, dict[str, Run]]:
    """What a run left in a folder: its config, its gold set, and what each retriever returned.

    Args:
        folder: the folder.
        settings: values that win over the config's.

    Raises:
        DataError: as for `opened`.
    """
    with opened(folder) as content:
        return content.contents(settings)


def _check_former(folder: Path) -> None:
    """Look whether all is there that an earlier version wrote, which wrote no manifest."""
    names = ("config.yaml", "gold.jsonl", "report.json", "results")
    missing = [name for name in names if not (folder / name).exists()]
    if (folder / UNFINISHED / "answers").is_dir() and missing:
        raise DataError(f"{folder}: no results yet, as a run was cut short here", remedy=_GOES_ON)
    if len(missing) == len(names) or {"config.yaml", "report.json"} <= {*missing}:
        raise DataError(
            f"{folder}: no result folder, as it has no {MANIFEST}; name one that kragx run has "
            "written"
        )
    if missing:
        raise DataError(f"{folder}: not whole; missing: {listed(missing)}", remedy=_GOES_ON)
    if kept_before(folder):
        raise _cut_short(folder)
    warnings.warn(
        f"{folder}: has no {MANIFEST}, as an earlier version has written it; that its files are "
        "all of one run is not certain",
        FolderWarning,
        stacklevel=4,
    )


_GOES_ON = "kragx run goes on from the answers that are kept"


def _cut_short(folder: Path) -> DataError:
    """Of a folder in which an earlier version was interrupted."""
    return DataError(
        f"{folder}: an earlier version was cut short while it wrote here, so what stands there may "
        "be of two runs",
        remedy="kragx run writes it anew",
    )


def kept_before(folder: Path) -> list[Path]:
    """The files in which an earlier version kept answers, until its results were complete."""
    kept = []
    for path in sorted((folder / "results").glob(f"*{KEPT_BEFORE}")):
        with suppress(OSError, ValueError), path.open(encoding="utf-8") as file:
            if "partial" in json.loads(next(file, "")):
                kept.append(path)
    return kept
