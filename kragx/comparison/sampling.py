"""Which questions of millions a reader is shown: by a rule, from few parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kragx.comparison.comparison import Comparison
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import Rows
from kragx.metrics import Bools
from kragx.metrics.intervals import SEED

MOST = 1_000
"""So many questions are shown."""

A_PART = 50
"""So many of a part, if that is enough: a topic may fill one, and each costs a look into a file."""


@dataclass(frozen=True)
class SampledRows:
    """Questions of a comparison.

    Attributes:
        rows: theirs, ascending.
        n: how many there are in all.
        n_differing: on how many of them retrievers differ.
        n_differing_held: how many of those are among the rows.
    """

    rows: Rows
    n: int
    n_differing: int
    n_differing_held: int


def sampled(
    comparison: Comparison, scores: Sequence[RetrieverScores], ends: Sequence[int]
) -> SampledRows:
    """The questions to show: first those on which retrievers differ, one having 0 and another more.

    By the first metric, parts drawn by lot: some of each, more only where that is too few; then
    others, from the same parts.

    Args:
        comparison: of all questions.
        scores: of its retrievers.
        ends: where each part of the first retriever's questions ends.
    """
    differing = _differing(comparison, scores)
    n, random = len(differing), np.random.default_rng(SEED)
    part_of = np.searchsorted(np.asarray(ends), np.arange(n), side="right")
    # By lot within each part, parts by lot, and by turns of so many.
    place = random.permutation(n)
    order = np.lexsort((place, part_of, ~differing))
    groups = part_of[order] + (~differing[order]) * (len(ends) + 1)
    starts = np.searchsorted(groups, groups)
    turn = (np.arange(n) - starts) // A_PART
    lot = random.permutation(len(ends) + 1)[part_of[order]]
    first = order[np.lexsort((lot, turn, ~differing[order]))][:MOST]
    held = np.sort(first)
    return SampledRows(held, n, int(differing.sum()), int(differing[held].sum()))


def _differing(comparison: Comparison, scores: Sequence[RetrieverScores]) -> Bools:
    """(q) on which questions one retriever has 0 in the first metric, and another more."""
    found, missed = np.zeros((2, comparison.n_queries), bool)
    for score in scores:
        values = score.table([comparison.primary], comparison.query_ids)[:, 0]
        found |= values > 0
        missed |= values == 0
    differing: Bools = found & missed
    return differing
