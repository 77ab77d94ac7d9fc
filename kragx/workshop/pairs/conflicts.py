"""Where people disagree, and how far: of a pair the newest grade of each person counts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kragx.judging.panel import ordinal_alpha
from kragx.metrics import Floats
from kragx.metrics.intervals import Interval, expanded_intervals
from kragx.workshop.pairs.candidates import QuestionPool
from kragx.workshop.pairs.standing import verdicts
from kragx.workshop.state.state import Pair, State


def conflicts(pools: Mapping[str, QuestionPool]) -> Iterator[Pair]:
    """Yield the pairs on which people differ and nobody has decided, question by question."""
    for pool in pools.values():
        yield from (entry.pair for entry in pool if entry.standing.state == "conflict")


LEAST_PAIRS = 10
"""Of fewer pairs that two have graded, a figure of how far people agree says nothing."""


@dataclass(frozen=True)
class Alpha:
    """How far people agree.

    Attributes:
        value: Krippendorff's alpha for ordered grades; None where nothing could disagree, and of
            fewer than `LEAST_PAIRS`.
        interval: at 95 %, over questions; None with fewer than three, and where nothing varies.
        pairs: how many pairs two people or more have graded.
        questions: how many questions they belong to.
    """

    value: float | None
    interval: Interval | None
    pairs: int
    questions: int


def agreement(state: State, top: int) -> Alpha:
    """How far people agree; files, decisions and "unusable" aside.

    Args:
        state: what was judged.
        top: the highest grade.
    """
    sums: dict[str, Floats] = {}
    n_pairs = 0
    for pair in list(state.judgements):
        people = verdicts(state, pair[0], [pair[1]])
        grades = [judgement.grade for judgement in people.values() if judgement.grade is not None]
        if len(grades) > 1:
            n_pairs += 1
            counts = sums.setdefault(pair[0], np.zeros((top + 1, top + 1)))
            # Of m grades each stands beside m - 1 others, and counts once in all.
            for first, second in combinations(grades, 2):
                counts[first, second] += 1 / (len(grades) - 1)
                counts[second, first] += 1 / (len(grades) - 1)
    if n_pairs < LEAST_PAIRS:
        return Alpha(None, None, n_pairs, len(sums))
    terms = np.stack(list(sums.values()))
    value = float(_alpha(terms.sum(0, keepdims=True))["alpha"][0])
    # All grades alike: nothing could disagree, and that is no agreement to speak of.
    if np.isnan(value):
        return Alpha(None, None, n_pairs, len(sums))
    return Alpha(value, expanded_intervals(terms, _alpha)["alpha"], n_pairs, len(sums))


def _alpha(coincidences: Floats) -> Mapping[str, Floats]:
    return {"alpha": ordinal_alpha(coincidences)}
