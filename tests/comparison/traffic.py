"""Traffic whose truth is known: asks of each question, and what a change does to it.

python -m tests.comparison.traffic      # the table of docs/evidence/intervals.md, in a minute
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np

from kragx.comparison.statistics import mean_intervals

TRAFFIC = ("strata", "log-normal", "zipf")
CHANGES = ("any", "frequent", "rare")
"""Whom a change helps: any question alike, or the more the more frequent, or the rarer, it is."""

_POPULATION = 200_000


@cache
def population(traffic, change, balanced=False):
    """(N) asks and differences of all questions; `balanced`: as much is lost as is gained."""
    rng = np.random.default_rng(7)
    asks = {
        "strata": np.where(rng.random(_POPULATION) < 0.3, 1.0, 5.0),
        "log-normal": np.exp(rng.normal(0, 1, _POPULATION)),
        "zipf": np.minimum(np.ceil(rng.random(_POPULATION) ** (-1 / 1.3)), 200.0),
    }[traffic]
    rank = np.argsort(np.argsort(asks)) / _POPULATION
    way = {"any": np.full(_POPULATION, 0.5), "frequent": rank, "rare": 1 - rank}[change]
    better = 0.05 + 0.2 * way
    worse = float(asks @ better / asks.sum()) if balanced else 0.1
    luck, size = rng.random(_POPULATION), rng.choice([1.0, 0.5, 0.2, 0.1], _POPULATION)
    return asks, np.where(luck < better, size, np.where(luck < better + worse, -size, 0.0))


def drawn_traffic(traffic, change, n, count, balanced=False):
    """(count, n) asks and differences of questions drawn by lot, and the difference of all asks."""
    asks, differences = population(traffic, change, balanced)
    rows = np.random.default_rng(n).integers(0, len(asks), (count, n))
    return asks[rows], differences[rows], float(asks @ differences / asks.sum())


def held(traffic, change, n, count=4_000):
    """How often the interval of a weighted difference holds the truth."""
    asks, differences, truth = drawn_traffic(traffic, change, n, count)
    pairs = zip(differences, asks)
    ends = np.array([mean_intervals(own[:, None], [None], weights=w)[:, 0] for own, w in pairs])
    return float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())


def main():
    """Print the table."""
    for traffic in TRAFFIC:
        for change in CHANGES:
            shares = "".join(f"{held(traffic, change, n):8.1%}" for n in (30, 60, 150, 400))
            sys.stdout.write(f"{traffic:12}{change:12}{shares}\n")


if __name__ == "__main__":
    main()
