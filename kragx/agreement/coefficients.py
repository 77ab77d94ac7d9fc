"""Agreement: Cohen's kappa, Krippendorff's alpha and their kin, of many confusion matrices at once.

A confusion matrix has a row for each human (true) label and a column for each of the judge's
(decided). Functions take an array of shape (..., l, l) and give one of shape (...), NaN where the
statistic is undefined, so that a bootstrap is one call. Of yes-or-no decisions l is 2, no first.
"""

from typing import Literal

import numpy as np

from kragx.metrics import Floats

Weights = Literal["nominal", "linear", "quadratic"]


def weights(n_labels: int, kind: Weights) -> Floats:
    """(l, l) how much each kind of disagreement counts: 0 on the diagonal."""
    places = np.arange(n_labels, dtype=float)
    power = {"nominal": 0, "linear": 1, "quadratic": 2}[kind]
    apart = np.abs(np.subtract.outer(places, places))
    return np.where(apart > 0, apart**power, 0.0)


def cohen_kappa(confusion: Floats, kind: Weights = "nominal") -> Floats:
    """1 - observed / expected disagreement, the latter from both sides' base rates.

    NaN where both sides gave one and the same label throughout: nothing could disagree.

    Source: J. Cohen, A coefficient of agreement for nominal scales, 1960; Weighted kappa, 1968.
    """
    apart = weights(confusion.shape[-1], kind)
    total = confusion.sum((-1, -2))
    observed = (confusion * apart).sum((-1, -2)) * total
    human, judge = confusion.sum(-1), confusion.sum(-2)
    expected = np.einsum("...i,ij,...j->...", human, apart, judge)
    return 1 - ratio(observed, expected)


def f1(confusion: Floats) -> Floats:
    """F1 of yes-or-no decisions, (..., 2, 2): the harmonic mean of precision and recall.

    NaN where nothing is decided and none true.
    """
    both = 2 * confusion[..., 1, 1]
    return ratio(both, both + confusion[..., 0, 1] + confusion[..., 1, 0])


def binary(confusion: Floats, cut: int) -> Floats:
    """(..., 2, 2) the confusion of "at or above" the label at position `cut` and "below"."""
    # Sums of the stretches that begin at 0 and at the cut: of rows, then of columns.
    return np.add.reduceat(np.add.reduceat(confusion, [0, cut], axis=-2), [0, cut], axis=-1)


def ordinal_alpha(confusion: Floats) -> Floats:
    """Krippendorff's alpha for two observers and ordered labels.

    NaN where only one label occurs.

    Source: K. Krippendorff, Computing Krippendorff's alpha-reliability, 2011.
    """
    together = confusion + np.swapaxes(confusion, -1, -2)
    values = together.sum(-1)
    total = values.sum(-1)
    # Labels are as far apart as there are values between them, half of either end counted.
    place = np.cumsum(values, -1) - values / 2
    apart = (place[..., :, None] - place[..., None, :]) ** 2
    observed = (together * apart).sum((-1, -2)) * (total - 1)
    expected = np.einsum("...i,...ij,...j->...", values, apart, values)
    return 1 - ratio(observed, expected)


def accuracy(confusion: Floats) -> Floats:
    """The share of pairs with the same label; NaN without a pair."""
    return ratio(np.trace(confusion, axis1=-2, axis2=-1), confusion.sum((-1, -2)))


def bias(confusion: Floats) -> Floats:
    """(..., l) the judge's mean label minus the human one, for each human label; NaN where none."""
    n_labels = confusion.shape[-1]
    judged = (confusion * np.arange(n_labels)).sum(-1)
    return ratio(judged, confusion.sum(-1)) - np.arange(n_labels)


def mean_bias(confusion: Floats) -> Floats:
    """The judge's mean label minus the human one, over all pairs; NaN without a pair."""
    positions = np.arange(confusion.shape[-1])
    difference = (confusion * (positions[None, :] - positions[:, None])).sum((-1, -2))
    return ratio(difference, confusion.sum((-1, -2)))


def ratio(part: Floats, whole: Floats) -> Floats:
    """A part over its whole, NaN where the whole is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
