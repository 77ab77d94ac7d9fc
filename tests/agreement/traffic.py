"""Simulated traffic whose truth is known: what people's labels of a few questions say of all asks.

python -m tests.agreement.traffic        # the tables of docs/evidence/agreement.md, in minutes
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from functools import cache
from itertools import product

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
_FOUND = {"hit_rate@5": lambda relevant: relevant.max(-1)}
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


@cache
def truth(change: str, metric: str) -> tuple[float, float]:
    """The new version's mean over all asks, and what it has beyond the old one's."""
    every = traffic(np.random.default_rng(0), 2_000_000, change)
    values = (METRICS | _FOUND)[metric](every.people) @ every.asks / every.asks.sum()
    return float(values[1]), float(values[1] - values[0])


def coverage(
    change: str,
    metric: str,
    *,
    labelled: int = 100,
    n: int = 2_000,
    count: int = 2_000,
    by_asks: bool = True,
) -> dict[str, float]:
    """How often 95 % intervals hold the truth, and how wide they are, in so many data sets.

    ``mean`` and ``difference`` are corrected means of people's labels of drawn questions; ``alike``
    is the mean with all questions taken as one ask; ``judge`` the judge's own mean; ``thumbs`` the
    share of thumbs up for that of content people (hit_rate@5): one in ten gives a thumb who found
    nothing, and one in fifty who did.
    """
    mean, difference = truth(change, metric)
    content, _ = truth(change, "hit_rate@5")
    held = dict.fromkeys(("mean", "difference", "alike", "judge", "thumbs"), 0)
    width = 0.0
    for seed in range(count):
        rng = np.random.default_rng(seed + 1)
        drawn = traffic(rng, n, change)
        sizes = drawn.asks if by_asks else np.ones(n)
        chosen, chances = drawn_in_proportion(sizes.tolist(), labelled, random.Random(seed))
        order = np.concatenate([chosen, np.setdiff1d(np.arange(n), chosen)])
        people, judge = (
            METRICS[metric](side[:, order]).astype(float) for side in (drawn.people, drawn.judge)
        )

        def corrected(y, f, bounds=(0, 1), **drawing):
            return prediction_powered(
                y[:labelled], f[:labelled], f[labelled:], bounds=bounds, **drawing
            ).interval

        drawing = {"weights": drawn.asks[order], "chances": np.array(chances)[chosen]}
        ends = corrected(people[1], judge[1], **drawing)
        width += ends[1] - ends[0]
        held["mean"] += _holds(ends, mean)
        differences = people[1] - people[0], judge[1] - judge[0]
        held["difference"] += _holds(corrected(*differences, (-1, 1), **drawing), difference)
        held["alike"] += _holds(corrected(people[1], judge[1]), mean)
        plain = judge[1] @ drawing["weights"] / drawn.asks.sum()
        margin = 1.96 * judge[1].std() / n**0.5
        held["judge"] += _holds((plain - margin, plain + margin), mean)
        found = drawn.people[1].any(-1)
        gave = rng.binomial(drawn.asks.astype(int), np.where(found, 0.02, 0.1))
        held["thumbs"] += _holds(wilson_interval(gave @ found / gave.sum(), gave.sum()), content)
    return {name: times / count for name, times in held.items()} | {"width": width / count}


def _holds(ends, value):
    return ends is not None and ends[0] <= value <= ends[1]


def main():
    """Print the table: how often each interval holds the truth."""
    for by_asks in (True, False):
        for change, metric in product(CHANGES, METRICS):
            shares = coverage(change, metric, by_asks=by_asks)
            width = shares.pop("width")
            cells = [f"{share:.1%}" for share in shares.values()]
            how = "by asks" if by_asks else "alike"
            cells = [how, change, metric, *cells, f"{width:.3f}"]
            sys.stdout.write(f"| {' | '.join(cells)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
