"""Simulated traffic whose truth is known: what people's labels of a few questions say of all asks.

python -m tests.agreement.traffic        # the tables of docs/evidence/agreement.md, in minutes
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass

import numpy as np

from kragx.agreement import prediction_powered
from kragx.agreement.sample import drawn_in_proportion
from kragx.metrics.intervals import wilson_interval

DEPTH = 5
WRONG = 0.15
"""The share of the judge's labels that are the other way."""

CHANGES = ("better for frequent", "better for rare", "no difference")
METRICS = {
    "precision@5": lambda relevant: relevant.mean(-1),
    "hit_rate@1": lambda relevant: relevant[..., 0],
    "mrr@5": lambda relevant: relevant.max(-1) / (relevant.argmax(-1) + 1),
}
"""From (..., 5) relevant documents to a value a question."""


@dataclass(frozen=True)
class Traffic:
    """Folded questions.

    Attributes:
        asks: (q) how often each was asked; 40 % of all asks repeat another.
        people: (2, q, 5) which documents are relevant, of the old and the new version.
        judge: (2, q, 5) the same by the judge.
    """

    asks: np.ndarray
    people: np.ndarray
    judge: np.ndarray


def traffic(rng: np.random.Generator, n: int, change: str) -> Traffic:
    """So many questions: frequent ones are answered better, and the new version moves some."""
    asks = np.minimum(np.floor(0.8 * (1 + rng.pareto(2.1, n))) + (rng.random(n) < 0.5), 200)
    asks = np.maximum(asks, 1)
    ease = -0.9 + 0.7 * np.log(asks) + rng.normal(0, 1, n)
    lift = {CHANGES[0]: 0.9 * (asks > 2), CHANGES[1]: 0.5 * (asks == 1), CHANGES[2]: 0 * asks}
    draws = rng.normal(0, 1, (2, n, DEPTH))
    kept = rng.random(n) < 0.5  # half of the lists stay as they are
    draws[1, kept] = draws[0, kept]
    latent = draws + ease[:, None] - 0.25 * np.arange(DEPTH)
    latent[1] += np.where(kept, 0, lift[change])[:, None]
    people = latent > 0
    wrong = rng.random(people.shape) < WRONG
    wrong[1, kept] = wrong[0, kept]
    return Traffic(asks, people, people ^ wrong)


def truth(change: str, metric: str) -> tuple[float, float]:
    """The new version's mean over all asks, and what it has beyond the old one's."""
    every = traffic(np.random.default_rng(0), 2_000_000, change)
    values = METRICS[metric](every.people) @ every.asks / every.asks.sum()
    return float(values[1]), float(values[1] - values[0])


def coverage(
    change: str,
    metric: str,
    labelled: int = 100,
    n: int = 2_000,
    count: int = 2_000,
    by_asks: bool = True,
) -> dict[str, float]:
    """How often 95 % intervals hold the truth, and how wide they are, in so many data sets.

    ``mean`` and ``difference`` are corrected means of people's labels of drawn questions; ``alike``
    is the mean with all questions taken as one ask; ``judge`` the judge's own mean.
    """
    mean, difference = truth(change, metric)
    held = dict.fromkeys(("mean", "difference", "alike", "judge", "thumbs"), 0)
    width = 0.0
    for seed in range(count):
        rng = np.random.default_rng(seed + 1)
        one = traffic(rng, n, change)
        sizes = one.asks if by_asks else np.ones(n)
        chosen, chances = drawn_in_proportion(sizes.tolist(), labelled, random.Random(seed))
        order = np.concatenate([chosen, np.setdiff1d(np.arange(n), chosen)])
        people, judge = (
            METRICS[metric](side[:, order]).astype(float) for side in (one.people, one.judge)
        )
        drawing = {"weights": one.asks[order], "chances": np.array(chances)[chosen]}
        for name, target, bounds, (y, f), options in (
            ("mean", mean, (0, 1), (people[1], judge[1]), drawing),
            (
                "difference",
                difference,
                (-1, 1),
                (people[1] - people[0], judge[1] - judge[0]),
                drawing,
            ),
            ("alike", mean, (0, 1), (people[1], judge[1]), {}),
        ):
            y, f = y.astype(float), f.astype(float)
            found = prediction_powered(
                y[:labelled], f[:labelled], f[labelled:], bounds=bounds, **options
            )
            ends = found.interval or (found.value, found.value)
            held[name] += ends[0] <= target <= ends[1]
            width += name == "mean" and ends[1] - ends[0]
        plain = judge[1] @ drawing["weights"] / one.asks.sum()
        margin = 1.96 * judge[1].std() / n**0.5
        held["judge"] += abs(plain - mean) <= margin
        happy = one.people[1].any(-1)
        gave = rng.random(n) < np.where(happy, 0.02, 0.1)
        ups = (gave & happy) @ one.asks
        held["thumbs"] += _holds(wilson_interval(ups / (gave @ one.asks), gave.sum()), mean)
    return {name: times / count for name, times in held.items()} | {"width": width / count}


def _holds(ends, value):
    return ends[0] <= value <= ends[1]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    t = traffic(rng, 100000, CHANGES[2])
    print(
        "dup share",
        1 - 100000 / t.asks.sum(),
        "kish",
        t.asks.sum() ** 2 / (t.asks**2).sum() / 1e5,
        "max",
        t.asks.max(),
    )
    for change in CHANGES:
        print(change, [np.round(truth(change, m), 4).tolist() for m in METRICS])
    for by in (True, False):
        for change in CHANGES:
            for metric in METRICS:
                print(
                    by,
                    change,
                    metric,
                    coverage(change, metric, count=int(sys.argv[1]), by_asks=by),
                    flush=True,
                )
