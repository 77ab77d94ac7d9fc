"""What figures show, as plain numbers.

Curves over k and over steps of searches, scores beside the threshold, query times.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.ranked_lists import gold_outcome
from kragx.metrics import RankedList

KS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200, 500, 1000)
"""The cut-offs of a curve, as far as lists reach."""

STEPS = (*range(1, 21), 25, 30, 40, 50, 70, 100, 200)
"""The steps of a curve of searches, as far as anybody goes."""

_BINS = 20


@dataclass(frozen=True)
class CutoffCurve:
    """One metric at growing cut-offs.

    Attributes:
        metric: without ``@k``.
        ks: the cut-offs.
        values: the macro average at each; None where no query has a value.
    """

    metric: str
    ks: tuple[int, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class StepCurve:
    """How much of the gold the first steps of searches have found.

    Attributes:
        steps: the numbers of steps, the same for all that are compared.
        values: the mean of ``evidence_recall`` after so many; None behind the last step that
            anybody made, and where no question has a value.
    """

    steps: tuple[int, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Histogram:
    """How high the highest score of each gold item is.

    Attributes:
        threshold: from where on a score is a match.
        top: the highest score or grade there is.
        counts: how many gold items have their highest score in each bin, of equal width up to
            `top`. A score on a border is in the bin above, so that one at the threshold stands
            with the matches; each grade above 0 has a bin of its own.
        nothing: how many have no score above 0.
        unknown: how many have a score that is not known, and no match.
    """

    threshold: float
    top: float
    counts: tuple[int, ...]
    nothing: int
    unknown: int


@dataclass(frozen=True)
class Times:
    """Seconds a query: how many were timed, and quantiles; of failures timeouts alone count."""

    n: int
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float
    most: float


def curves(evaluations: Sequence[Evaluation]) -> list[list[CutoffCurve]]:
    """For each evaluation the curve of each of its metrics that is made of matches alone.

    The longest list of all of them says how far curves reach, and a pool's depth.
    """
    longest = max((evaluation.table.longest for evaluation in evaluations), default=0)
    depths = [evaluation.settings.get("pool", {}).get("depth") for evaluation in evaluations]
    limit = min([longest, *(depth for depth in depths if depth is not None)])
    # The last point stands where the longest list ends: behind it no curve changes.
    ks = sorted({k for k in KS if k <= limit} | {limit}) if limit else []
    return [_curves(evaluation, tuple(ks)) if ks else [] for evaluation in evaluations]


def _curves(evaluation: Evaluation, ks: tuple[int, ...]) -> list[CutoffCurve]:
    of_matches = [
        spec for spec in evaluation.specs if spec.metric.from_matches and spec.metric.cuts
    ]
    # Without its label a metric at several k is one curve, drawn once.
    bare = list(dict.fromkeys(replace(spec, k=None, label="") for spec in of_matches))
    specs = [replace(spec, k=k) for spec in bare for k in ks]
    # All in one pass over the matches, then dealt out to the curves in order.
    means = iter([score.mean for score in evaluation.computed(specs)])
    return [CutoffCurve(str(spec), ks, tuple(islice(means, len(ks)))) for spec in bare]


def step_curves(evaluations: Sequence[Evaluation]) -> list[StepCurve | None]:
    """For each evaluation what its searches found by step; None where none are known."""
    furthest = [
        None if evaluation.searches is None else int(evaluation.searches.n_steps.max(initial=0))
        for evaluation in evaluations
    ]
    limit = max(filter(None, furthest), default=0)
    steps = tuple(sorted({n for n in STEPS if n <= limit} | {limit}) if limit else ())
    return [
        None if last is None else StepCurve(steps, _found(evaluation, steps, last))
        for evaluation, last in zip(evaluations, furthest)
    ]


def _found(evaluation: Evaluation, steps: Sequence[int], last: int) -> tuple[float | None, ...]:
    made = [n for n in steps if n <= last]
    scores = evaluation.with_metrics([f"evidence_recall@{n}" for n in made]).scores if made else ()
    return (*(score.mean for score in scores), *[None] * (len(steps) - len(made)))


def histogram(evaluation: Evaluation) -> Histogram | None:
    """The highest scores of the gold; None for a matcher that only says yes or no."""
    if "threshold" not in evaluation.settings["match"] or "pool" in evaluation.settings:
        return None
    table, gold = evaluation.table, gold_outcome(evaluation)
    n_bins = _BINS if table.top <= 1 else int(table.top)
    unknown = gold.unknown & gold.relevant
    best = gold.best[gold.relevant & ~unknown]
    above = best[best > 0]
    # Rounded, lest 0.15 * 20 be 2.9999999999999996 and the bin below.
    bins = np.floor(np.round(above / table.top * n_bins, 9)).astype(np.int64)
    # Grades begin at 1, and bins at 0.
    bins -= int(table.top > 1)
    counts = np.bincount(np.clip(bins, 0, n_bins - 1), minlength=n_bins)
    return Histogram(
        table.threshold,
        table.top,
        tuple(counts.tolist()),
        int((best == 0).sum()),
        int(unknown.sum()),
    )


def times(lists: Sequence[RankedList]) -> Times | None:
    """Quantiles of the time that questions took; None if none was timed."""
    waits = [seconds for ranked in lists if (seconds := ranked.waited) is not None]
    if not waits:
        return None
    quantiles = np.quantile(waits, (0.05, 0.25, 0.5, 0.75, 0.95, 1.0))
    return Times(len(waits), *map(float, quantiles))
