"""Sweeps: metrics against the threshold, from one scoring.

Every score is kept in the match table, so another threshold decides anew and scores nothing. A
metric can change only where a score lies, so thresholds between which none does share a value.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kragx.errors import MissingExtraError, UsageError
from kragx.evaluation import Evaluation, decided, follows
from kragx.matchers import check_threshold
from kragx.measurement import MetricWarning, measure
from kragx.measures import higher_is_better
from kragx.table import Floats, MatchTable

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

TOLERANCE = 0.01
"""Within a plateau a metric changes by no more, unless told otherwise."""

NEIGHBOURHOOD = 0.1
"""How far from the chosen threshold a conclusion should hold, unless told otherwise."""

_STEPS = 4  # thresholds on either side of the chosen one, for `flips`: few, as they take time
_EQUAL = 1e-12  # means that rounding alone tells apart are equal


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
        from kragx.report.sweeps import sweep_figure

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
            for .01, .02, ..., 1, or of a judge for its grades.
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
    for count, means in _means(evaluation, at):
        counts.append(count)
        rows.append(means)
    values = {name: tuple(row[column] for row in rows) for column, name in enumerate(names)}
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


@dataclass(frozen=True)
class Flips:
    """Whether the order of several evaluations depends on the threshold near the chosen one.

    Attributes:
        metric: by which they are ordered.
        chosen: the threshold of the evaluations.
        neighbourhood: how far from it was looked.
        names: the evaluations, in their order.
        thresholds: (t) where it was looked, ascending.
        values: for each evaluation the metric at each threshold; None where it has none.
        leader: which is best at the chosen threshold; None if several are.
        led_by: what leads elsewhere, with the threshold nearest to the chosen one where it does.
        swapped: pairs (better, worse at the chosen threshold) whose order is reversed elsewhere,
            with the threshold nearest to the chosen one.
    """

    metric: str
    chosen: float
    neighbourhood: float
    names: tuple[str, ...]
    thresholds: tuple[float, ...]
    values: tuple[tuple[float | None, ...], ...]
    leader: str | None
    led_by: dict[str, float]
    swapped: tuple[tuple[str, str, float], ...]

    def __bool__(self) -> bool:
        """Whether any order is reversed."""
        return bool(self.swapped)

    def warning(self) -> str | None:
        """One line for people; None if the order holds everywhere."""
        if not self.swapped:
            return None
        first = min(self.swapped, key=lambda each: abs(each[2] - self.chosen))
        better, worse, threshold = first
        more = len(self.swapped) - 1
        rest = f" (and {more} other pairs)" if more > 1 else " (and 1 other pair)" if more else ""
        return (
            f"the order depends on the threshold: at {self.chosen:g} {better!r} is ahead of "
            f"{worse!r} in {self.metric}, at {threshold:g} behind{rest}; see kragx sweep"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "metric": self.metric,
            "chosen": self.chosen,
            "neighbourhood": self.neighbourhood,
            "thresholds": list(self.thresholds),
            "values": dict(zip(self.names, map(list, self.values))),
            "leader": self.leader,
            "led_by": dict(self.led_by),
            "swapped": [list(each) for each in self.swapped],
        }


def flips(
    evaluations: Sequence[Evaluation], metric: str, neighbourhood: float = NEIGHBOURHOOD
) -> Flips | None:
    """Whether another threshold within the neighbourhood orders the evaluations otherwise.

    Four thresholds on either side are tried, evenly spread. Only strict reversals count: what is
    equal at one threshold is no change of order. Of a judge the neighbours are the grades next to
    the chosen one.

    Args:
        evaluations: two or more under one matcher.
        metric: by which they are ordered.
        neighbourhood: how far below and above the chosen threshold to look.

    Returns:
        None where there is nothing to vary: fewer than two evaluations, a matcher that decides yes
        or no, different matchers, a pool, or a metric that is neither better high nor low.
    """
    found = all_flips([each.with_metrics([metric]) for each in evaluations], neighbourhood)
    return next(iter(found.values()), None)


def all_flips(
    evaluations: Sequence[Evaluation], neighbourhood: float = NEIGHBOURHOOD
) -> dict[str, Flips]:
    """`flips` of every metric that all evaluations have and that has a direction, in one pass."""
    if len(evaluations) < 2 or not _same_threshold(evaluations):
        return {}
    chosen = _threshold_of(evaluations[0])
    match = evaluations[0].settings["match"]
    if "top" in match:
        near = [chosen - 1, chosen, chosen + 1]
        at = [each for each in near if 1 <= each <= match["top"]]
    else:
        grid = chosen + np.linspace(-neighbourhood, neighbourhood, 2 * _STEPS + 1)
        at = sorted({round(float(each), 6) for each in grid if 0 < each <= 1} | {chosen})
    tables = [[means for _, means in _means(each, at)] for each in evaluations]
    columns = [list(each.mean) for each in evaluations]
    shared = [name for name in columns[0] if all(name in listed for listed in columns)]
    names = tuple(each.name for each in evaluations)
    return {
        metric: _flips_of(
            metric,
            names,
            chosen,
            neighbourhood,
            at,
            [[row[listed.index(metric)] for row in rows] for rows, listed in zip(tables, columns)],
        )
        for metric in shared
        if higher_is_better(metric) is not None
    }


def flips_warning(found: Iterable[Flips]) -> str | None:
    """One line about all metrics in which the order is reversed; None if it holds in each."""
    warned = [each for each in found if each]
    if not warned:
        return None
    first = warned[0].warning()
    others = ", ".join(each.metric for each in warned[1:])
    return f"{first} (also in {others})" if others else first


def _flips_of(
    metric: str,
    names: tuple[str, ...],
    chosen: float,
    neighbourhood: float,
    at: Sequence[float],
    rows: Sequence[Sequence[float | None]],
) -> Flips:
    values = np.array([[np.nan if v is None else v for v in row] for row in rows], np.float64)
    signed = values if higher_is_better(metric) else -values
    here = list(at).index(chosen)
    nearest = sorted(range(len(at)), key=lambda place: abs(at[place] - chosen))
    best = np.flatnonzero(signed[:, here] == np.nanmax(signed[:, here], initial=-np.inf))
    swapped = []
    for one, other in combinations(range(len(names)), 2):
        lead = signed[one] - signed[other]
        if not abs(lead[here]) > _EQUAL:
            continue
        places = [place for place in nearest if lead[place] * np.sign(lead[here]) < -_EQUAL]
        if places:
            better, worse = (one, other) if lead[here] > 0 else (other, one)
            swapped.append((names[better], names[worse], at[places[0]]))
    led_by: dict[str, float] = {}
    if len(best) == 1:
        for place in nearest:
            column = signed[:, place]
            if np.isfinite(column).any() and np.nanmax(column) > column[best[0]] + _EQUAL:
                led_by.setdefault(names[int(np.nanargmax(column))], at[place])
    return Flips(
        metric=metric,
        chosen=chosen,
        neighbourhood=neighbourhood,
        names=names,
        thresholds=tuple(at),
        values=tuple(map(tuple, rows)),
        leader=names[int(best[0])] if len(best) == 1 else None,
        led_by=led_by,
        swapped=tuple(swapped),
    )


def _same_threshold(evaluations: Sequence[Evaluation]) -> bool:
    first = evaluations[0].settings["match"]
    return (
        "threshold" in first
        and not any("pool" in each.settings for each in evaluations)
        and all(each.settings["match"] == first for each in evaluations)
    )


def _threshold_of(evaluation: Evaluation) -> float:
    match = evaluation.settings["match"]
    return float(evaluation.at_threshold(match.get("threshold", 1.0)).table.threshold)


def _thresholds(evaluation: Evaluation, given: object) -> list[float]:
    top = evaluation.settings["match"].get("top")
    if given is None:
        return (
            [float(at) for at in range(1, top + 1)] if top else [at / 100 for at in range(1, 101)]
        )
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


def _means(
    evaluation: Evaluation, thresholds: Sequence[float]
) -> Iterator[tuple[int, list[float | None]]]:
    """At each threshold, ascending, how many pairs match and every metric's mean."""
    asked, profile = evaluation.wanted, evaluation.chosen_profile
    table = evaluation.table
    # What a low threshold leaves out no higher one lets in, unless a metric reads scores as such.
    prune = all(spec.gain != "score" for spec in asked.metrics) and not asked.measures
    # The same matches give the same values, unless facts are matched at the threshold as well.
    once = not follows(evaluation.evidence)
    before: tuple[int, list[float | None]] | None = None
    for threshold in thresholds:
        table = replace(table, threshold=threshold)
        count = int(table.matched.sum())
        if prune:
            table = _pruned(table)
        if before is None or before[0] != count or not once:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MetricWarning)  # evaluate says them
                found = measure(table, asked, profile, decided(evaluation.evidence, table))
            before = (count, found.means)
        yield before


def _pruned(table: MatchTable) -> MatchTable:
    """The table without the pairs below its threshold; those that are not known stay."""
    keep: Floats = ~(table.pair_score < table.threshold)  # type: ignore[assignment]
    if keep.all():
        return table
    return replace(
        table,
        pair_doc=table.pair_doc[keep],
        pair_gold=table.pair_gold[keep],
        pair_score=table.pair_score[keep],
    )
