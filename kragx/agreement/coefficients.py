"""Agreement: Cohen's kappa, Krippendorff's alpha and their kin, of many confusion matrices at once.

A confusion matrix has a row for each human (true) label and a column for each of the judge's
(decided). Functions take an array of shape (..., l, l) and give one of shape (...), NaN where the
statistic is undefined, so that a bootstrap is one call. Of yes-or-no decisions l is 2, no first.
`statistics` has all that `agree` gives, by name.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kragx.ground.printing import phrase
from kragx.judging import votes
from kragx.metrics import Floats
from kragx.metrics.intervals import Interval, expanded_intervals

Weights = Literal["nominal", "linear", "quadratic"]

_TITLES = {
    "kappa": phrase("kappa"),
    "kappa_linear": phrase("kappa, linear weights"),
    "kappa_quadratic": phrase("kappa, quadratic weights"),
    "alpha_ordinal": phrase("Krippendorff's alpha, ordinal"),
    "accuracy": phrase("accuracy"),
    "bias": phrase("bias (judge - human)"),
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
    """Krippendorff's alpha for two observers and ordered labels; see `kragx.judging.votes`."""
    return votes.ordinal_alpha(confusion + np.swapaxes(confusion, -1, -2))


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
    counts: Floats, labels: Sequence[int], *, confidence: float, resamples: int, seed: int
) -> tuple[dict[str, float | None], dict[str, Interval | None], dict[str, str]]:
    """Every statistic, its interval by resampled queries, and why there is none where it lacks.

    Args:
        counts: (q, l, l) the confusion matrix of each query.
        labels: as of `statistics`.
        confidence: of the intervals.
        resamples: of the bootstrap.
        seed: the same seed gives the same intervals.
    """
    whole = counts.sum(0)
    values = {name: defined(value) for name, value in statistics(whole, labels).items()}
    intervals = expanded_intervals(
        counts,
        lambda sums: statistics(sums, labels),
        confidence=confidence,
        count=resamples,
        seed=seed,
    )
    undefined = {
        name: why_undefined(name, whole, labels) for name, value in values.items() if value is None
    }
    return values, {**intervals, **dict.fromkeys(undefined)}, undefined


def title(name: str) -> str:
    """What people read for the name of a statistic."""
    group, dot, label = name.partition(".")
    if not dot:
        return _TITLES[group]
    return phrase(
        "kappa, {label} or more" if group == "kappa_binary" else "bias where human {label}",
        label=label,
    )


def why_undefined(name: str, confusion: Floats, labels: Sequence[int]) -> str:
    """Why a statistic has no value for this matrix; arguments as of `statistics`."""
    group, _, label = name.partition(".")
    if group == "kappa_binary":
        above = binary(confusion, labels.index(int(label)))[1, 1] > 0
        return phrase(
            "both sides put every pair at {label} or above: nothing could disagree"
            if above
            else "both sides put every pair at below {label}: nothing could disagree",
            label=label,
        )
    if label:
        return phrase("no compared pair has the human label {label}", label=label)
    common = labels[int(confusion.sum(1).argmax())]
    return phrase(
        "both sides gave every pair the label {label}: nothing could disagree", label=common
    )


def resting_on(confusions: Floats, labels: Sequence[int]) -> dict[str, int]:
    """How many queries have the human labels that a statistic rests on, where not all do.

    Args:
        confusions: (q, l, l) the matrix of each query.
        labels: as of `statistics`.
    """
    has = confusions.sum(2) > 0
    return {
        **{
            f"kappa_binary.{label}": min(has[:, :cut].any(1).sum(), has[:, cut:].any(1).sum())
            for cut, label in enumerate(labels[1:], start=1)
        },
        **{f"bias.{label}": has[:, row].sum() for row, label in enumerate(labels)},
    }
