"""What people's labels of a few questions say of all traffic, where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.agreement.traffic import CHANGES, METRICS, coverage, traffic


@pytest.mark.integration
@pytest.mark.parametrize(
    ("by_asks", "change"), [*((True, change) for change in CHANGES), (False, CHANGES[0])]
)
@pytest.mark.parametrize("metric", METRICS)
def test_intervals_cover(by_asks, change, metric):
    """Of 100 questions' labels, drawn by asks or with equal chances, 93 to 97 of 100 hold.

    Weighted zeros and ones .92 to .985; differences of rarely changed lists, drawn with equal
    chances where few questions have most of the asks, at least .91. What counts every question as
    one ask, the judge's mean and the share of thumbs up do not.
    """
    shares = coverage(change, metric, by_asks=by_asks, count=1_500)
    low, high = (0.92, 0.985) if metric == "hit_rate@1" else (0.93, 0.97)
    assert low <= shares["mean"] <= high
    assert (low if by_asks else 0.91) <= shares["difference"] <= high
    assert shares["alike"] < 0.9
    assert shares["judge"] < 0.6
    assert shares["thumbs"] < 0.1


def test_the_traffic_is_what_is_said_of_it():
    """40 % of the asks repeat another, frequent questions are answered better, the judge errs."""
    drawn = traffic(np.random.default_rng(0), 100_000, CHANGES[0])
    assert 1 - len(drawn.asks) / drawn.asks.sum() == pytest.approx(0.4, abs=0.01)
    found = drawn.people[0].mean(-1)
    assert np.corrcoef(np.log(drawn.asks), found)[0, 1] > 0.25
    assert (drawn.people != drawn.judge).mean() == pytest.approx(0.15, abs=0.005)
    moved = (drawn.people[0] != drawn.people[1]).any(-1)
    assert 0.3 < moved.mean() < 0.5
