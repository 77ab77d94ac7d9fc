"""How far a judge's agreement with people changed: before and after it was shown examples."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kragx.agreement.coefficients import defined, statistics, title
from kragx.agreement.scoring import ends, level
from kragx.comparison.statistics import Interval, expanded_intervals
from kragx.ground.printing import Line, Part, Table, number, phrase, signed
from kragx.metrics import Floats

HEADLINE = "kappa_quadratic"
"""The one statistic that decides whether a judge got better: of many, one always did by chance."""


FEW_QUERIES = 10
"""An interval that rests on fewer queries than this is said to be a rough one."""


@dataclass(frozen=True)
class Change:
    """The same pairs, judged before and after.

    Attributes:
        judge: whose labels were those before.
        n_without: pairs that only the labels after have; they are not compared.
        values: each statistic before.
        differences: after minus before; None where one of them is undefined.
        intervals: of the differences, by pairs of queries; None where there is none.
        verdict: ``better``, ``worse`` or ``not known``, by `HEADLINE`, and not known of fewer than
            `FEW_QUERIES` queries; ``same`` where every query has the confusion that it had.
    """

    judge: str
    n_without: int
    values: Mapping[str, float | None]
    differences: Mapping[str, float | None]
    intervals: Mapping[str, Interval | None]
    verdict: str

    def describe(self, after: Mapping[str, float | None], confidence: float) -> Iterator[Part]:
        """A table of both, and what it says."""
        yield Table(
            (
                phrase("statistic"),
                phrase("before"),
                phrase("after"),
                phrase("difference"),
                level(confidence),
            ),
            [
                (
                    title(name),
                    number(value),
                    number(after[name]),
                    signed(self.differences[name]),
                    ends(self.intervals[name]),
                )
                for name, value in self.values.items()
                if not name.startswith("bias.")  # each rests on a few of these pairs
            ],
        )
        headline = title(HEADLINE)
        yield Line(
            {
                "better": phrase(
                    "the judge agrees better with people than before ({statistic})",
                    statistic=headline,
                ),
                "worse": phrase(
                    "the judge agrees worse with people than before ({statistic})",
                    statistic=headline,
                ),
                "same": phrase("the judge agrees with people as it did before, in every query"),
                "not known": phrase(
                    "these pairs cannot tell whether the judge agrees better or worse than before "
                    "({statistic}); label more",
                    statistic=headline,
                ),
            }[self.verdict]
        )


def changed(
    before: Floats,
    after: Floats,
    labels: range,
    *,
    judge: str,
    n_without: int,
    confidence: float,
    resamples: int,
    seed: int,
) -> Change:
    """How far the statistics changed, with intervals from resampled queries.

    Args:
        before: (q, l, l) the confusion matrix of each query.
        after: the same, of the same pairs.
        labels: of the scale.
        judge: whose labels were those before.
        n_without: pairs that have no label before.
        confidence: of the intervals.
        resamples: of the bootstrap.
        seed: the same seed gives the same intervals.
    """

    def differences(sums: Floats) -> dict[str, Floats]:
        first, second = (statistics(sums[:, side], labels) for side in (0, 1))
        return {name: second[name] - first[name] for name in first}

    stacked = np.stack([before, after], axis=1)
    whole = stacked.sum(0, keepdims=True)
    values = {name: defined(value) for name, value in statistics(whole[0, 0], labels).items()}
    changes = {name: defined(value[0]) for name, value in differences(whole).items()}
    intervals = {
        name: None if changes[name] is None else interval
        for name, interval in expanded_intervals(
            stacked, differences, confidence=confidence, count=resamples, seed=seed
        ).items()
    }
    interval = intervals[HEADLINE]
    verdict = "not known"
    if (before == after).all():
        verdict = "same"
    elif (
        len(stacked) >= FEW_QUERIES and interval is not None and not interval[0] <= 0 <= interval[1]
    ):
        verdict = "better" if interval[0] > 0 else "worse"
    return Change(judge, n_without, values, changes, intervals, verdict)
