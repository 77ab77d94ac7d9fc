"""Kappa, alpha and tau-b: by hand, and against scikit-learn, krippendorff and scipy."""

from __future__ import annotations

import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix

from kragx.agreement import agree, kendall_tau_b
from tests.thoroughness import examples

SCALES = [(0, 1), (0, 2), (0, 3), (1, 5), (-2, 4), (0, 10)]


def labels_of(grades):
    """The grades as labels of one document each, three documents a query."""
    found = {}
    for at, grade in enumerate(grades):
        found.setdefault(f"q{at // 3}", {})[f"d{at}"] = grade
    return found


def compared(human, judge, scale):
    """`agree` on lists of grades, with few resamples: figures alone are wanted."""
    return agree(labels_of(human), labels_of(judge), scale=scale, resamples=20)


@st.composite
def two_sides(draw):
    """A scale, and two lists of labels on it; one label alone is likely enough."""
    low, high = draw(st.sampled_from(SCALES))
    used = draw(st.lists(st.integers(low, high), min_size=1, max_size=6))
    grade = st.sampled_from(used)
    pairs = draw(st.lists(st.tuples(grade, grade), min_size=1, max_size=40))
    return (low, high), [one for one, _ in pairs], [other for _, other in pairs]


@pytest.mark.integration
@given(two_sides())
@examples(150)
def test_kappa_and_confusion_equal_scikit_learn(sides):
    """On any scale: nominal, linear, quadratic and binary kappa, accuracy, confusion matrix."""
    scale, human, judge = sides
    found = compared(human, judge, scale)
    every = list(range(scale[0], scale[1] + 1))
    assert found.confusion == tuple(map(tuple, confusion_matrix(human, judge, labels=every)))
    assert found["accuracy"] == pytest.approx(accuracy_score(human, judge), abs=1e-12)
    peers = {
        "kappa": (human, judge, None, every),
        "kappa_linear": (human, judge, "linear", every),
        "kappa_quadratic": (human, judge, "quadratic", every),
    }
    for cut in every[1:]:
        above = [[int(grade >= cut) for grade in side] for side in (human, judge)]
        peers[f"kappa_binary.{cut}"] = (*above, None, [0, 1])
    for name, (one, other, weights, labels) in peers.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # undefined: said once more by the value
            expected = cohen_kappa_score(one, other, weights=weights, labels=labels)
        if np.isnan(expected):
            assert found[name] is None
        else:
            assert found[name] == pytest.approx(expected, abs=1e-12), name


@given(two_sides())
@examples(150)
def test_alpha_equals_krippendorff(sides):
    """Ordinal alpha is the krippendorff package's, and None where that has none."""
    scale, human, judge = sides
    found = compared(human, judge, scale)["alpha_ordinal"]
    if len({*human, *judge}) == 1:
        assert found is None
        return
    expected = krippendorff.alpha(np.array([human, judge], float), level_of_measurement="ordinal")
    assert found == pytest.approx(expected, abs=1e-10)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30),
)
@examples(200)
def test_tau_b_equals_scipy(scores):
    """Tau-b with any ties is scipy's; None where one side is all ties."""
    first, second = (np.array(side, float) for side in zip(*scores, strict=True))
    found = kendall_tau_b(first, second)
    expected = kendalltau(first, second, variant="b").statistic
    if np.isnan(expected):
        assert found is None
    else:
        assert found == pytest.approx(expected, abs=1e-12)


def test_tau_b_by_hand():
    """Four systems, one tie a side: of 5 untied pairs a side 4 are common, and all 4 agree: 4/5."""
    first, second = np.array([1.0, 2, 2, 3]), np.array([1.0, 1, 2, 3])
    assert kendall_tau_b(first, second) == pytest.approx(4 / 5)
    assert kendall_tau_b(first, second[::-1]) == pytest.approx(-4 / 5)
    assert kendall_tau_b(first, np.ones(4)) is None


def test_by_hand():
    """Ten pairs: 7 alike; chance .5 x .6 + .5 x .4 = .5, so kappa (.7 - .5) / (1 - .5) = .4."""
    human = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    judge = [1, 1, 1, 1, 0, 0, 0, 0, 1, 1]
    found = compared(human, judge, None)
    assert found.confusion == ((3, 2), (1, 4))
    assert found["kappa"] == pytest.approx(0.4)
    assert found["kappa_binary.1"] == pytest.approx(0.4)
    assert found.base_rates == {"human": {"0": 0.5, "1": 0.5}, "judge": {"0": 0.4, "1": 0.6}}
    assert found["bias"] == pytest.approx(0.1)
    assert found["bias.0"] == pytest.approx(0.4)
    assert found["bias.1"] == pytest.approx(-0.2)


def test_known_table():
    """Cohen's own table (1960, agreement of two raters on three classes) gives kappa .492."""
    table = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
    human, judge = [], []
    for row, cells in enumerate(table):
        for column, count in enumerate(cells):
            human += [row] * count
            judge += [column] * count
    assert compared(human, judge, None)["kappa"] == pytest.approx(0.492, abs=5e-4)


def test_one_side_constant():
    """Where only the judge is constant kappa is 0, by its form."""
    found = compared([0, 1, 2, 0], [1, 1, 1, 1], None)
    assert found["kappa"] == 0
