"""Sweeps: metrics against the threshold, from one scoring.

Every score is kept in the match table, so another threshold decides anew and scores nothing. A
metric can change only where a score lies, so thresholds between which none does share a value.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kragx.errors import MissingExtraError, UsageError
from kragx.evaluation.evaluation import Evaluation
from kragx.matchers import check_threshold

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

TOLERANCE = 0.01
"""Within a plateau a metric changes by no more, unless told otherwise."""


@dataclass(frozen=True)
class Plateau:
    """The widest stretch of thresholds in which a metric changes by no more than the tolerance.

    Attributes:
        low, high: its ends; both were looked at.
        least, greatest: the metric's values within.
    """

    low: float
    high: float
    least: float
    greatest: float

    def __contains__(self, threshold: float) -> bool:
        return self.low <= threshold <= self.high


@dataclass(frozen=True)
class Sweep:
    """Metrics of one evaluation at several thresholds.

    Attributes:
        name: the run's name.
        match: how it was matched, as results record it.
        match_name: what the matcher is called.
        chosen: the threshold of the evaluation itself.
        thresholds: (t) ascending.
        n_matches: (t) how many pairs of document and gold match at each.
        values: for each metric its mean at each threshold; None where it has none.
        plateaus: for each metric its plateau; None if it has none.
        tolerance: of the plateaus.
    """

    name: str
    match: dict[str, Any]
    match_name: str
    chosen: float
    thresholds: tuple[float, ...]
    n_matches: tuple[int, ...]
    values: dict[str, tuple[float | None, ...]]
    plateaus: dict[str, Plateau | None]
    tolerance: float = TOLERANCE

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "retriever": self.name,
            "match": dict(self.match),
            "chosen": self.chosen,
            "tolerance": self.tolerance,
            "thresholds": list(self.thresholds),
            "n_matches": list(self.n_matches),
            "values": {metric: list(values) for metric, values in self.values.items()},
            "plateaus": {
                metric: None
                if found is None
                else {
                    "low": found.low,
                    "high": found.high,
                    "least": found.least,
                    "greatest": found.greatest,
                    "holds_chosen": self.chosen in found,
                }
                for metric, found in self.plateaus.items()
            },
        }

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row for each threshold and a column for each metric.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("to_pandas", "pandas") from None
        columns = {"n_matches": self.n_matches, **self.values}
        return pandas.DataFrame(columns, index=pandas.Index(self.thresholds, name="threshold"))

    def plot(self, path: str | Path | None = None) -> Figure:
        """A panel for each metric, the plateau shaded and the chosen threshold marked.

        Args:
            path: where to write it (.png, .svg or .pdf); None to write nothing.

        Raises:
            MissingExtraError: matplotlib or koreanize-matplotlib is not installed.
        """
        from kragx.report.figures.sweep import sweep_figure

        return sweep_figure([self], path)


def sweep(
    evaluation: Evaluation,
    metrics: Iterable[str] | str | None = None,
    thresholds: Iterable[float] | Literal["scores"] | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> Sweep:
    """Metrics against the threshold; nothing is matched again.

    Args:
        evaluation: of a matcher with a threshold.
        metrics: metric strings; None for the evaluation's own.
        thresholds: where to look; ``scores`` for every distinct score, which misses no change; None
            for .01, .02, ..., 1 and the chosen one, or of a judge for its grades.
        tolerance: of plateaus.

    A plateau is the widest stretch of thresholds within which the metric changes by no more than
    the tolerance, above 0 and at or above half of the greatest value of the sweep: where hardly
    anything matches any more, a metric is stable too, and that means nothing.

    Raises:
        UsageError: the matcher decides yes or no, a threshold is out of range, or a metric unknown.
    """
    chosen = _threshold_of(evaluation)
    if metrics is not None:
        evaluation = evaluation.with_metrics([metrics] if isinstance(metrics, str) else metrics)
    at = _thresholds(evaluation, thresholds)
    names = list(evaluation.mean)
    counts, rows = [], []
    for count, means in evaluation.means_at(at):
        counts.append(count)
        rows.append(means)
    values = {name: tuple(row[name] for row in rows) for name in names}
    return Sweep(
        name=evaluation.name,
        match=dict(evaluation.settings["match"]),
        match_name=evaluation.match_name,
        chosen=chosen,
        thresholds=tuple(at),
        n_matches=tuple(counts),
        values=values,
        plateaus={name: plateau(at, of, tolerance) for name, of in values.items()},
        tolerance=tolerance,
    )


def plateau(
    thresholds: Sequence[float], values: Sequence[float | None], tolerance: float
) -> Plateau | None:
    """The widest stretch of thresholds within which values stay within the tolerance.

    Of two of the same width the one of greater values. None if no two neighbours qualify.
    """
    known = [value for value in values if value is not None]
    floor = max(known, default=0.0) / 2
    best: Plateau | None = None
    start = 0
    # The positions of values that may yet be the least, or greatest, of a stretch.
    least: deque[int] = deque()
    greatest: deque[int] = deque()
    for end, value in enumerate(values):
        if value is None or value < floor or not value > 0:
            start = end + 1
            least.clear()
            greatest.clear()
            continue
        while least and (values[least[-1]] or 0.0) >= value:
            least.pop()
        while greatest and (values[greatest[-1]] or 0.0) <= value:
            greatest.pop()
        least.append(end)
        greatest.append(end)
        while _at(values, greatest) - _at(values, least) > tolerance + 1e-12:
            start += 1
            for ends in (least, greatest):
                while ends[0] < start:
                    ends.popleft()
        found = Plateau(
            thresholds[start], thresholds[end], _at(values, least), _at(values, greatest)
        )
        if end > start and (best is None or _rank(found) > _rank(best)):
            best = found
    return best


def _at(values: Sequence[float | None], places: deque[int]) -> float:
    return values[places[0]] or 0.0


def _rank(found: Plateau) -> tuple[float, float]:
    return round(found.high - found.low, 12), found.least


def _threshold_of(evaluation: Evaluation) -> float:
    match = evaluation.settings["match"]
    return float(evaluation.at_threshold(match.get("threshold", 1.0)).table.threshold)


def _thresholds(evaluation: Evaluation, given: object) -> list[float]:
    top = evaluation.settings["match"].get("top")
    if given is None:
        grid = range(1, top + 1) if top else (at / 100 for at in range(1, 101))
        return sorted({*map(float, grid), _threshold_of(evaluation)})
    if isinstance(given, str):
        if given != "scores":
            raise UsageError(f"thresholds: {given!r} is neither numbers nor 'scores'")
        scores = evaluation.table.pair_score
        # A score equal to the threshold is a match, so a metric changes just above a score.
        at = np.unique(scores[~np.isnan(scores)])
        return [float(each) for each in at if each > 0] or [_threshold_of(evaluation)]
    listed = sorted(set(given)) if isinstance(given, Iterable) else []
    if not listed:
        raise UsageError("thresholds: none is given; name at least one, or 'scores'")
    if top is None:
        return [check_threshold(each) for each in listed]
    for each in listed:
        if not 0 < each <= top:
            raise UsageError(f"thresholds: {each!r} is no grade from 1 to {top}")
    return [float(each) for each in listed]
