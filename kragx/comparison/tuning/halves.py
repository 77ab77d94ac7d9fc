"""Which questions choose a setting, and which are held out to confirm it."""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import accumulate

import numpy as np

from kragx.comparison.statistics import Rows


def drawn(strata: Sequence[Hashable], seed: int) -> Rows:
    """(q) the positions of questions in an order drawn by lot, each beginning of which is fair.

    However many are taken from its start, each stratum has about the share that it has of all.

    Args:
        strata: (q) what each question belongs to; all equal where there are no slices.
        seed: the same seed gives the same order.
    """
    rng = np.random.default_rng(seed)
    lot = rng.random(len(strata))
    numbers = {stratum: number for number, stratum in enumerate(dict.fromkeys(strata))}
    stratum_of = np.array([numbers[stratum] for stratum in strata], np.intp)
    share = np.empty(len(strata))
    for number in range(len(numbers)):
        rows = np.flatnonzero(stratum_of == number)
        shift = rng.random()  # or small strata would all begin at the same place
        share[rows[np.argsort(lot[rows])]] = (np.arange(len(rows)) + shift) / max(len(rows), 1)
    return np.lexsort((lot, share))


def halved(order: Rows, strata: Sequence[Hashable]) -> tuple[Rows, Rows]:
    """The questions that choose and those that are held out; of an odd number one more chooses.

    Within each stratum they take turns, and of odd ones the first gives one more to either side by
    turns: of two equal strata, which take turns in `order`, neither side would else see but one.
    """
    sizes = Counter(strata)
    odd = accumulate((size % 2 for size in sizes.values()), initial=0)
    turn = {stratum: before % 2 for stratum, before in zip(sizes, odd)}
    sides: tuple[list[int], list[int]] = ([], [])
    for row in order.tolist():
        sides[turn[strata[row]]].append(row)
        turn[strata[row]] ^= 1
    return np.array(sides[0], np.intp), np.array(sides[1], np.intp)
