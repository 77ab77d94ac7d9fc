"""Agreement: Cohen's kappa, Krippendorff's alpha and their kin, of many confusion matrices at once.

A confusion matrix has a row for each human (true) label and a column for each of the judge's
(decided). Functions take an array of shape (..., l, l) and give one of shape (...), NaN where the
statistic is undefined, so that a bootstrap is one call. Of yes-or-no decisions l is 2, no first.
`statistics` has all that `agree` gives, by name.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kragx.judging import panel
from kragx.metrics import Bools, Floats, Ints

Weights = Literal["nominal", "linear", "quadratic"]


def confusions(query: Ints, human: Ints | Bools, judge: Ints | Bools, n_labels: int) -> Floats:
    """(q, l, l) the confusion matrix of each query that has a pair, in the queries' order.

    Args:
        query: (u) the query of each pair, by number.
        human: (u) the human label of each, by position from 0 on.
        judge: (u) the judge's.
        n_labels: how many labels there are.
    """
    queries, rows = np.unique(query, return_inverse=True)
    counts = np.zeros((len(queries), n_labels, n_labels))
    # `counts[...] += 1` would count a cell that stands there several times once.
    np.add.at(counts, (rows, human.astype(int), judge.astype(int)), 1)
    return counts


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
