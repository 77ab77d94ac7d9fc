"""Agreement: Cohen's kappa, Krippendorff's alpha and their kin, of many confusion matrices at once.

A confusion matrix has a row for each human (true) label and a column for each of the judge's
(decided). Functions take an array of shape (..., l, l) and give one of shape (...), NaN where the
statistic is undefined, so that a bootstrap is one call. Of yes-or-no decisions l is 2, no first.
`statistics` has all that `agree` gives, by name.
"""

from collections.abc import Sequence

import numpy as np

from kragx.judging import panel
from kragx.metrics import Bools, Floats, Ints


def confusions(query: Ints, human: Ints | Bools, judges: Ints | Bools, n_labels: int) -> Floats:
    """(q, j, l, l) each judge's confusion matrix of each query that has a pair, in their order.

    Args:
        query: (u) the query of each pair, by number.
        human: (u) the human label of each, by position from 0 on.
        judges: (j, u) each judge's.
        n_labels: how many labels there are.
    """
    queries, rows = np.unique(query, return_inverse=True)
    counts = np.zeros((len(queries), len(judges), n_labels, n_labels))
    judge = np.arange(len(judges))[:, None]
    # `counts[...] += 1` would count a cell that stands there several times once.
    np.add.at(counts, (rows, judge, human.astype(int), judges.astype(int)), 1)
    return counts


def cohen_kappa(confusion: Floats, power: int = 0) -> Floats:
    """1 - observed / expected disagreement, the latter from both sides' base rates.

    NaN where both sides gave one and the same label throughout: nothing could disagree.

    Args:
        confusion: the matrices.
        power: of the distance of two labels, by which their disagreement counts: 0 for nominal
            kappa, 1 for linear and 2 for quadratic weights.

    Source: J. Cohen, A coefficient of agreement for nominal scales, 1960; Weighted kappa, 1968.
    """
    places = np.arange(confusion.shape[-1], dtype=float)
    distances = np.abs(np.subtract.outer(places, places))
    disagreements = np.where(distances > 0, distances**power, 0.0)
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
    positions, total = np.arange(len(labels)), confusion.sum((-1, -2))
    leans = confusion * (positions - positions[:, None])  # the judge's label minus the human one
    # Sums of the stretches that begin at 0 and at a cut: of rows, then of columns.
    binaries = {
        label: np.add.reduceat(np.add.reduceat(confusion, [0, cut], axis=-2), [0, cut], axis=-1)
        for cut, label in enumerate(labels[1:], start=1)
    }
    # By label first: each label's bias is a statistic of its own, whatever stands before.
    means = ratio((confusion * positions).sum(-1), confusion.sum(-1))
    biases = np.moveaxis(means - positions, -1, 0)
    return {
        "kappa": cohen_kappa(confusion),
        "kappa_linear": cohen_kappa(confusion, 1),
        "kappa_quadratic": cohen_kappa(confusion, 2),
        "alpha_ordinal": panel.ordinal_alpha(confusion + np.swapaxes(confusion, -1, -2)),
        "accuracy": ratio(np.trace(confusion, axis1=-2, axis2=-1), total),
        "bias": ratio(leans.sum((-1, -2)), total),
        **{f"kappa_binary.{label}": cohen_kappa(binary) for label, binary in binaries.items()},
        **{f"bias.{label}": bias for label, bias in zip(labels, biases)},
    }
