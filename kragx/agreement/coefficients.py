"""Agreement: Cohen's kappa, Krippendorff's alpha and their kin, of many confusion matrices at once.

A confusion matrix has a row for each human (true) label and a column for each of the judge's
(decided). Functions take an array of shape (..., l, l) and give one of shape (...), NaN where the
statistic is undefined, so that a bootstrap is one call. Of yes-or-no decisions l is 2, no first.
`statistics` has all that `agree` gives, by name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kragx.agreement.scoring import ends, level
from kragx.comparison.statistics import CONFIDENCE, SEED
from kragx.ground.printing import Part, Table, message, number, signed
from kragx.judging import panel
from kragx.metrics import Floats
from kragx.metrics.intervals import Interval, expanded_intervals

Weights = Literal["nominal", "linear", "quadratic"]

_TITLES = {
    "kappa": message("kappa"),
    "kappa_linear": message("kappa, linear weights"),
    "kappa_quadratic": message("kappa, quadratic weights"),
    "alpha_ordinal": message("Krippendorff's alpha, ordinal"),
    "accuracy": message("accuracy"),
    "bias": message("bias (judge - human)"),
}


def weights(n_labels: int, kind: Weights) -> Floats:
    """(l, l) how much each kind of disagreement counts: 0 on the diagonal."""
    places = np.arange(n_labels, dtype=float)
    distances: Floats = np.abs(np.subtract.outer(places, places))
    return {"nominal": distances > 0, "linear": distances, "quadratic": distances**2}[kind].astype(
        float
    )


def cohen_kappa(confusion: Floats, kind: Weights = "nominal") -> Floats:
    """1 - observed / expected disagreement, the latter from both sides' base rates.

    NaN where both sides gave one and the same label throughout: nothing could disagree.

    Source: J. Cohen, A coefficient of agreement for nominal scales, 1960; Weighted kappa, 1968.
    """
    disagreements = weights(confusion.shape[-1], kind)
    # Counts instead of shares: both sides of the ratio would be divided by the total squared.
    total = confusion.sum((-1, -2))
    observed = (confusion * disagreements).sum((-1, -2)) * total
    human, judge = confusion.sum(-1), confusion.sum(-2)
    expected = np.einsum("...i,ij,...j->...", human, disagreements, judge)
    return 1 - ratio(observed, expected)


def f1(confusion: Floats) -> Floats:
    """F1 of yes-or-no decisions, (..., 2, 2): the harmonic mean of precision and recall.

    NaN where nothing is decided and none true.
    """
    agreed = 2 * confusion[..., 1, 1]
    return ratio(agreed, agreed + confusion[..., 0, 1] + confusion[..., 1, 0])


def binary(confusion: Floats, cut: int) -> Floats:
    """(..., 2, 2) the confusion of "at or above" the label at position `cut` and "below"."""
    # Sums of the stretches that begin at 0 and at the cut: of rows, then of columns.
    return np.add.reduceat(np.add.reduceat(confusion, [0, cut], axis=-2), [0, cut], axis=-1)


def ordinal_alpha(confusion: Floats) -> Floats:
    """Krippendorff's alpha for two observers and ordered labels; see `kragx.judging.panel`."""
    return panel.ordinal_alpha(confusion + np.swapaxes(confusion, -1, -2))


def accuracy(confusion: Floats) -> Floats:
    """The share of pairs with the same label; NaN without a pair."""
    return ratio(np.trace(confusion, axis1=-2, axis2=-1), confusion.sum((-1, -2)))


def bias(confusion: Floats) -> Floats:
    """(..., l) the judge's mean label minus the human one, for each human label; NaN where none."""
    positions = np.arange(confusion.shape[-1])
    return ratio((confusion * positions).sum(-1), confusion.sum(-1)) - positions


def mean_bias(confusion: Floats) -> Floats:
    """The judge's mean label minus the human one, over all pairs; NaN without a pair."""
    positions = np.arange(confusion.shape[-1])
    differences = confusion * (positions[None, :] - positions[:, None])
    return ratio(differences.sum((-1, -2)), confusion.sum((-1, -2)))


def ratio(part: Floats, whole: Floats) -> Floats:
    """A part over its whole, NaN where the whole is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


def defined(value: Floats | float) -> float | None:
    """A statistic's value; None where it is NaN."""
    return None if np.isnan(value) else float(value)


def statistics(confusion: Floats, labels: Sequence[int]) -> dict[str, Floats]:
    """Every statistic of confusion matrices of shape (..., l, l), by name, NaN where undefined.

    Args:
        confusion: the matrices.
        labels: (l) what stands for each row and column, in order.
    """
    # By label first: each label's bias is a statistic of its own, whatever stands before.
    biases = np.moveaxis(bias(confusion), -1, 0)
    return {
        "kappa": cohen_kappa(confusion),
        "kappa_linear": cohen_kappa(confusion, "linear"),
        "kappa_quadratic": cohen_kappa(confusion, "quadratic"),
        "alpha_ordinal": ordinal_alpha(confusion),
        "accuracy": accuracy(confusion),
        "bias": mean_bias(confusion),
        **{
            f"kappa_binary.{label}": cohen_kappa(binary(confusion, cut))
            for cut, label in enumerate(labels[1:], start=1)
        },
        **{f"bias.{label}": bias_there for label, bias_there in zip(labels, biases)},
    }


def estimated(
    counts: Floats, labels: Sequence[int], resamples: int
) -> tuple[dict[str, float | None], dict[str, Interval | None]]:
    """Every statistic, and its interval by so many resamples of queries.

    Args:
        counts: (q, l, l) the confusion matrix of each query.
        labels: as of `statistics`.
        resamples: how many.
    """
    return _resampled(counts, lambda sums: statistics(sums, labels), resamples)


def _resampled(
    terms: Floats, measured: Callable[[Floats], dict[str, Floats]], resamples: int
) -> tuple[dict[str, float | None], dict[str, Interval | None]]:
    """What is measured of the sum of all terms, and its intervals where there is a value."""
    sums = measured(terms.sum(0, keepdims=True))
    values = {name: defined(value[0]) for name, value in sums.items()}
    intervals = expanded_intervals(
        terms, measured, confidence=CONFIDENCE, count=resamples, seed=SEED
    )
    return values, {
        name: None if values[name] is None else interval for name, interval in intervals.items()
    }


def title(name: str) -> str:
    """What people read for the name of a statistic."""
    group, dot, label = name.partition(".")
    if not dot:
        return _TITLES[group]
    return message(
        "kappa, {label} or more" if group == "kappa_binary" else "bias where human {label}",
        label=label,
    )


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
    """

    judge: str
    n_without: int
    values: Mapping[str, float | None]
    differences: Mapping[str, float | None]
    intervals: Mapping[str, Interval | None]

    def describe(self, after: Mapping[str, float | None]) -> Iterator[Part]:
        """A table of both."""
        moved = (message("difference"), level(CONFIDENCE))
        yield Table(
            (message("statistic"), message("before"), message("after"), *moved),
            [
                (
                    *(title(name), number(value), number(after[name])),
                    *(signed(self.differences[name]), ends(self.intervals[name])),
                )
                for name, value in self.values.items()
                if not name.startswith("bias.")  # each rests on a few of these pairs
            ],
        )


def changed(
    before: Floats, after: Floats, labels: range, judge: str, n_without: int, resamples: int
) -> Change:
    """How far the statistics changed, with intervals from resampled queries.

    Args:
        before: (q, l, l) the confusion matrix of each query.
        after: the same, of the same pairs.
        labels: of the scale.
        judge: whose labels were those before.
        n_without: pairs that have no label before.
        resamples: how many.
    """

    def differences(sums: Floats) -> dict[str, Floats]:
        first, second = (statistics(sums[:, side], labels) for side in (0, 1))
        return {name: second[name] - first[name] for name in first}

    # Both of a query are drawn together, as they are of the same pairs.
    changes, intervals = _resampled(np.stack([before, after], axis=1), differences, resamples)
    values = {name: defined(value) for name, value in statistics(before.sum(0), labels).items()}
    return Change(judge, n_without, values, changes, intervals)
