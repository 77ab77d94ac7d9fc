"""The numbers of a finished run, as they stand in its folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from kragx.comparison.estimate import Direction
from kragx.comparison.scores import RetrieverScores
from kragx.data.gold import GoldDataset
from kragx.data.reading import read_gold
from kragx.errors import DataError, UsageError, nearest


@dataclass(frozen=True)
class Results:
    """What a comparison needs of a finished run.

    Attributes:
        name: what messages call it.
        scores: of its retrievers, under each matcher.
        dataset: its gold set.
    """

    name: str
    scores: tuple[RetrieverScores, ...]
    dataset: GoldDataset

    @property
    def retrievers(self) -> tuple[str, ...]:
        """The retrievers' names, each once."""
        return tuple(dict.fromkeys(own.name for own in self.scores))

    def of(self, retriever: str) -> tuple[RetrieverScores, ...]:
        """A retriever's scores, under each matcher.

        Raises:
            UsageError: there is no such retriever.
        """
        scores = tuple(own for own in self.scores if own.name == retriever)
        if not scores:
            hint = nearest(retriever, self.retrievers)
            raise UsageError(f"{self.name} has no retriever {retriever!r}; {hint}")
        return scores


def read_results_folder(folder: Path) -> Results:
    """The numbers of a result folder as they were written; nothing is computed again.

    Raises:
        DataError: a file is missing or broken.
    """
    path = folder / "report.json"
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        rows = list(report["evaluations"])
        better: dict[str, Direction] = {}
        for comparison in report.get("comparisons", ()):
            better |= comparison["better"]
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read: {error.strerror or error}; name a folder that kragx run has "
            "written"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a report that kragx wrote: {error!r}") from None
    try:
        scores = tuple(RetrieverScores.read(row, better) for row in rows)
    except DataError as error:
        raise error.within(path=str(path)) from None
    return Results(str(folder), scores, read_gold(folder / "gold.jsonl"))
