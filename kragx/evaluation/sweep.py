"""Sweeps: metrics against the threshold, from one scoring.

Every score is kept in the match table, so another threshold decides anew and scores nothing. A
metric can change only where a score lies, so thresholds between which none does share a value.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kragx.errors import UsageError, needing
from kragx.evaluation.wording import method_label
from kragx.printing import Cell, Line, Part, Result, Table, number

if TYPE_CHECKING:
    import pandas

    from kragx.evaluation.evaluation import Evaluation


TOLERANCE = 0.01
"""Within a plateau a metric changes by no more, unless told otherwise."""

_ROWS = 21  # a table of more is thinned out


@dataclass(frozen=True)
class Plateau:
    """The widest stretch of thresholds in which a metric changes by no more than the tolerance.

    Attributes:
        low, high: its ends; both were looked at.
        least, greatest: the metric's values within.
        holds_chosen: whether the evaluation's own threshold lies within.
    """

    low: float
    high: float
    least: float
    greatest: float
    holds_chosen: bool = False

    def __contains__(self, threshold: float) -> bool:
        return self.low <= threshold <= self.high


@dataclass(frozen=True)
class Sweep(Result):
    """Metrics of one evaluation at several thresholds.

    Attributes:
        retriever: the run's name.
        match: how it was matched, as results record it.
        match_name: what the matcher is called.
        chosen: the threshold of the evaluation itself.
        thresholds: (t) ascending.
        n_matches: (t) how many pairs of document and gold match at each.
        values: for each metric its mean at each threshold; None where it has none.
        plateaus: for each metric its plateau; None if it has none.
        tolerance: of the plateaus.
    """

    retriever: str
    match: dict[str, Any]
    match_name: str
    chosen: float
    thresholds: tuple[float, ...]
    n_matches: tuple[int, ...]
    values: dict[str, tuple[float | None, ...]]
    plateaus: dict[str, Plateau | None]
    tolerance: float = TOLERANCE

    def describe(self) -> Iterator[Part]:
        """Thresholds down, metrics across, the chosen one in bold, and where each is stable."""
        yield Line(f"{self.retriever}, match: {method_label(self.match)}")
        columns = ["threshold", "matches", *self.values]
        yield Table(columns, [self._row(position) for position in self._shown()], words=0)
        for name in self.plateaus:
            yield Line(f"{name}: {self._plateau_line(name)}")
        yield Line("*: the chosen threshold; |: the plateau")

    def _row(self, position: int) -> list[Cell]:
        threshold = self.thresholds[position]
        is_chosen = threshold == self.chosen
        stable = {
            name for name, plateau in self.plateaus.items() if plateau and threshold in plateau
        }
        cells = [
            f"{threshold:.4g}" + (" *" if is_chosen else ""),
            str(self.n_matches[position]),
            *(
                number(values[position]) + (" |" if name in stable else "  ")
                for name, values in self.values.items()
            ),
        ]
        return [Cell(cell, "bold" if is_chosen else "") for cell in cells]

    def _shown(self) -> list[int]:
        """The positions of evenly spread thresholds, the chosen one always among them."""
        n = len(self.thresholds)
        if n <= _ROWS:
            return list(range(n))
        positions = {round(row * (n - 1) / (_ROWS - 1)) for row in range(_ROWS)}
        if self.chosen in self.thresholds:
            positions.add(self.thresholds.index(self.chosen))
        return sorted(positions)

    def _plateau_line(self, metric: str) -> str:
        stable = self.plateaus[metric]
        if stable is None:
            return f"no two neighbouring thresholds are within {self.tolerance:g} of each other"
        where = "inside" if stable.holds_chosen else "outside"
        return (
            f"between {number(stable.least)} and {number(stable.greatest)} from threshold "
            f"{stable.low:.4g} to {stable.high:.4g} (plateau, tolerance {self.tolerance:g}); the "
            f"chosen {self.chosen:g} is {where}"
        )

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row for each threshold and a column for each metric.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with needing("pandas", "to_pandas"):
            import pandas
        columns = {"n_matches": self.n_matches, **self.values}
        return pandas.DataFrame(columns, index=pandas.Index(self.thresholds, name="threshold"))


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
    chosen = float(evaluation.check_threshold(evaluation.table.threshold))
    if metrics is not None:
        evaluation = evaluation.with_metrics([metrics] if isinstance(metrics, str) else metrics)
    looked_at = _thresholds(evaluation, thresholds, chosen)
    counts, means = zip(*evaluation.means_at(looked_at), strict=True)
    values = {name: tuple(of_all[name] for of_all in means) for name in evaluation.mean}
    plateaus = {name: plateau(looked_at, of, tolerance) for name, of in values.items()}
    return Sweep(
        retriever=evaluation.name,
        match=dict(evaluation.settings["match"]),
        match_name=evaluation.match_name,
        chosen=chosen,
        thresholds=tuple(looked_at),
        n_matches=counts,
        values=values,
        plateaus={
            name: stable and replace(stable, holds_chosen=chosen in stable)
            for name, stable in plateaus.items()
        },
        tolerance=tolerance,
    )


def plateau(
    thresholds: Sequence[float], values: Sequence[float | None], tolerance: float
) -> Plateau | None:
    """The widest stretch of thresholds within which values stay within the tolerance.

    Of two of the same width the one of greater values. None if no two neighbours qualify.
    """
    known = [value or 0.0 for value in values]
    floor = max(known, default=0.0) / 2
    stretches: list[Plateau] = []
    start = 0
    within: list[float] = []  # the values from start to end, ascending
    for end, value in enumerate(known):
        if value < floor or not value > 0:
            start, within = end + 1, []
            continue
        insort(within, value)
        while within[-1] - within[0] > tolerance + 1e-12:
            within.pop(bisect_left(within, known[start]))
            start += 1
        if end > start:
            low, high = thresholds[start], thresholds[end]
            stretches.append(Plateau(low, high, within[0], within[-1]))
    return max(stretches, key=lambda it: (round(it.high - it.low, 12), it.least), default=None)


def _thresholds(evaluation: Evaluation, thresholds: object, chosen: float) -> list[float]:
    if thresholds is None:
        top = evaluation.settings["match"].get("top")
        grid = range(1, top + 1) if top else (step / 100 for step in range(1, 101))
        return sorted({*map(float, grid), chosen})
    if isinstance(thresholds, str):
        if thresholds != "scores":
            raise UsageError(f"thresholds: {thresholds!r} is neither numbers nor 'scores'")
        # A score equal to the threshold is a match, so a metric changes just above a score.
        scores = evaluation.table.pair_score
        return np.unique(scores[scores > 0]).tolist() or [chosen]
    listed = sorted(set(thresholds)) if isinstance(thresholds, Iterable) else []
    if not listed:
        raise UsageError("thresholds: none is given; name at least one, or 'scores'")
    return [float(evaluation.check_threshold(threshold)) for threshold in listed]
