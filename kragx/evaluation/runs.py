"""Several runs of one retriever as one evaluation: its counts, its spread, what is said of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from kragx.evaluation.searching import SEARCHES
from kragx.ground.printing import between, listed, message
from kragx.metrics.intervals import Interval
from kragx.metrics.runs import PARTLY, mean_of


@dataclass(frozen=True)
class SeveralRuns:
    """How the runs of a retriever that was asked several times differ.

    Attributes:
        n: how many there are.
        mean: for each metric the number of each run; None where it has none.
    """

    n: int
    mean: Mapping[str, tuple[float | None, ...]]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> SeveralRuns:
        """From its plain values."""
        return cls(int(record["n"]), {name: tuple(row) for name, row in record["mean"].items()})

    def spread(self, metric: str) -> Interval | None:
        """The lowest and the highest number of a run; None where none has any."""
        numbers = [value for value in self.mean.get(metric, ()) if value is not None]
        return (min(numbers), max(numbers)) if numbers else None

    def text(self, metric: str) -> str:
        """The same as people read it; empty without."""
        low, high = self.spread(metric) or (None, None)
        if low is None or high is None:
            return ""
        return message("alike") if low == high else between(low, high)

    def beside(self, metric: str) -> str:
        """The same beside a mean."""
        text = self.text(metric)
        return message("runs: {spread}", spread=text) if text else ""


def runs_note(runs: Mapping[str, SeveralRuns]) -> str:
    """What stands below a table of means in which some are of several runs, by retriever."""
    if not runs:
        return ""
    times = listed([f"{name} ({of_retriever.n})" for name, of_retriever in runs.items()])
    return message(
        "asked several times: {times}; values are each question's mean, runs the lowest and the "
        "highest of a run; single documents are those of the first run",
        times=times,
    )


RUNS = "runs"
"""Under which counts and settings say how many runs there are."""


_ANSWERS = ("n_failed", "n_missing", "n_empty")
_SUMS = "judging"
"""Counts whose names begin so are of what it took, and add up."""


def counts_of_runs(
    several: Sequence[Mapping[str, Any]], failures: Collection[str]
) -> dict[str, Any]:
    """The counts of all runs of a retriever.

    Questions count once: of the questions, lists and documents of which something is so the count
    is that of the run with most of them. What judging took adds up. Under ``runs`` stands how many
    there are, how many of all their answers are missing, failed or empty, and how many documents
    all their searches brought.

    Args:
        several: the counts of each run.
        failures: the questions that failed in some run.
    """
    documents = [counts[SEARCHES]["n_documents"] for counts in several if SEARCHES in counts]
    of_runs = {name: sum(counts[name] for counts in several) for name in _ANSWERS}
    of_runs |= {"n_documents": sum(documents)} if len(documents) == len(several) else {}
    return {
        **_merged(several, max),
        **{
            name: _merged([counts[name] for counts in several if name in counts], sum)
            for name in dict.fromkeys(chain.from_iterable(several))
            if name.startswith(_SUMS)
        },
        # By question: the greatest count of a run would miss those that failed in another one.
        "n_failed": len(failures),
        "judged_share": mean_of([counts["judged_share"] for counts in several]),
        RUNS: {"n": len(several), **of_runs},
    }


def _merged(several: Sequence[Mapping[str, Any]], of_numbers: Any) -> dict[str, Any]:
    """Mappings as one: whole numbers by a rule, what is within mappings alike; else the first."""
    merged: dict[str, Any] = {}
    for name in dict.fromkeys(chain.from_iterable(several)):
        values = [counts[name] for counts in several if name in counts]
        if all(isinstance(value, Mapping) for value in values):
            merged[name] = _merged(values, of_numbers)
        # By type, as True is an int, too. A cost is none, and known in all runs or in none.
        elif all(type(value) is int for value in values) or (name == "cost" and None not in values):
            merged[name] = of_numbers(values)
        else:
            merged[name] = values[0]
    return merged


def partly_remarks(counts: Mapping[str, Any]) -> Iterator[str]:
    """For how many queries metrics have no value in some of the runs."""
    partly = {
        metric: of_metric[PARTLY]
        for metric, of_metric in counts.get("metrics", {}).items()
        if PARTLY in of_metric
    }
    if partly:
        yield message(
            "queries with a value in some runs only, by whose mean they count: {metrics}",
            metrics=listed([f"{metric} {n}" for metric, n in partly.items()], limit=len(partly)),
        )
