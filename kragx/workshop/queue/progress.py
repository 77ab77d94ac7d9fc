"""How far a workshop is, and what the pairs that were drawn at random say of the whole.

What is shown because of what it could change is no sample: it is what retrievers disagree on, at
high ranks. The random share is one. A pair belongs to it if a hash of its ids is small enough; it
is shown in the order of that hash and never because of what it could change, so the n of its pairs
that come first in that order are a sample without replacement of all N pairs that are suggested.

What is estimated without bias is therefore any sum over the suggested pairs, N / n times the sum
over the sample: here each retriever's precision at k, and the share of relevant pairs. It holds of
the pairs that are suggested, and at a time that does not depend on the grades, such as after so
many judgements. Ratios of such sums (recall, ndcg) would only come near as n grows.

Source: W. Cochran, Sampling Techniques, 1977, sections 2.2 to 2.6.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from kragx.metrics import Floats
from kragx.metrics.intervals import student_t
from kragx.workshop.pairs.candidates import Board, LabellingPlan

_LEAST = 10

Shares = Mapping[str, Mapping[str, float]]
"""By query_type and difficulty the share that each value should have."""


def shares(boards: Collection[Board], targets: Shares) -> dict[str, list[dict[str, Any]]]:
    """By query_type and difficulty how many questions there are, and how many should be.

    Returns:
        For each a list of ``{"value", "questions", "share", "target", "judged", "answered"}``:
        those with a target first, in its order, questions without a value last. Share and target
        are of all questions; `judged` are pairs, `answered` questions with a relevant document.
    """
    shares_of: dict[str, list[dict[str, Any]]] = {}
    for name in ("query_type", "difficulty"):
        boards_of: defaultdict[str | None, list[Board]] = defaultdict(list)
        for board in boards:
            boards_of[getattr(board.question, name)].append(board)
        target = targets.get(name, {})
        further = sorted(value for value in boards_of if value is not None and value not in target)
        values = [*target, *further, *([None] if None in boards_of else [])]
        shares_of[name] = [
            {
                "value": value,
                "questions": len(boards_of[value]),
                "share": len(boards_of[value]) / len(boards) if boards else 0.0,
                "target": target.get(value) if value is not None else None,
                "judged": sum(board.n_judged for board in boards_of[value]),
                "answered": sum(board.has_relevant for board in boards_of[value]),
            }
            for value in ([] if values == [None] else values)
        ]
    return shares_of


@dataclass(frozen=True)
class PoolEstimate:
    """What the random share says of all suggested pairs.

    Attributes:
        name: of a retriever, whose precision it is; "" for the share of relevant pairs.
        value: the estimate.
        low, high: its interval at 95 %, within 0 and 1; None for a sample of fewer than ten.
        n: how many pairs are in the sample.
        of: how many pairs there are.
        drawn: how many of them were drawn beforehand, judged or not.
        missing: how many of the sample have no grade: put off, or people differ.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    n: int
    of: int
    drawn: int
    missing: int


def estimates(boards: Sequence[Board], plan: LabellingPlan) -> list[PoolEstimate]:
    """Of the share of relevant pairs, then of each retriever's precision; empty without a sample.

    Args:
        boards: the open questions; those that not all retrievers have answered are left out.
        plan: the retrievers, and how far down they are compared.
    """
    compared = [board for board in boards if board.is_compared]
    candidates = [candidate for board in compared for candidate in board]
    n_pairs = sum(candidate.is_suggested for candidate in candidates)
    drawn = sorted(
        (entry for entry in candidates if entry.is_random), key=lambda entry: entry.place
    )
    values: list[Floats] = []
    missing = 0
    for candidate in drawn:
        if candidate.standing.is_known:
            counts = np.array(candidate.counts) / plan.cut
            values.append(np.append(1.0, counts) * (candidate.grade > 0))
        elif candidate.standing.by or candidate.standing.later:
            missing += 1
        else:
            break  # what comes after it was judged for another reason
    if not values:
        return []
    # Totals of precision are over questions, that of the share over pairs.
    over = np.array([n_pairs, *[len(compared)] * len(plan.retrievers)], float)
    sample, n = np.array(values) * (n_pairs / over), len(values)
    mean = sample.mean(axis=0)
    error = np.zeros_like(mean)
    if n > 1:
        error = sample.std(axis=0, ddof=1) * sqrt(max(0.0, 1 - n / n_pairs) / n)
    reach = student_t(0.975, n - 1) * error if n >= _LEAST else np.full_like(mean, np.nan)
    return [
        PoolEstimate(
            name,
            float(value),
            None if np.isnan(own_reach) else max(0.0, float(value - own_reach)),
            None if np.isnan(own_reach) else min(1.0, float(value + own_reach)),
            n,
            n_pairs,
            len(drawn),
            missing,
        )
        for name, value, own_reach in zip(["", *plan.retrievers], mean, reach)
    ]
