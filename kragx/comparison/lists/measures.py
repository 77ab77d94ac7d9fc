"""How alike two rankings are."""

from collections.abc import Hashable, Sequence

PERSISTENCE = 0.9
"""The p of rank-biased overlap: its first ten ranks carry 86 % of the weight."""


def rank_biased_overlap(
    old: Sequence[Hashable], new: Sequence[Hashable], p: float = PERSISTENCE
) -> float:
    """Rank-biased overlap of two rankings, extrapolated from what they show to all depths.

    ``RBO_EXT = (1-p)/p * (sum for d = 1..l of X_d/d p^d + sum for d = s+1..l of X_s (d-s)/(s d)
    p^d) + ((X_l - X_s)/l + X_s/s) p^l``, where s and l are the lengths of the shorter and the
    longer ranking, and X_d is how many items their first d have in common.

    Args:
        old: distinct items, the best first.
        new: the same.
        p: how surely a reader goes on to the next rank, above 0 and below 1.

    Returns:
        1 for equal rankings, also for two empty ones; 0 without a common item, also where one is
        empty.

    Source: W. Webber, A. Moffat, J. Zobel, A similarity measure for indefinite rankings, ACM
    Transactions on Information Systems 28 (4), 2010, equation 32.
    """
    shorter, longer = sorted((old, new), key=len)
    s, n_longer = len(shorter), len(longer)
    if not s:
        return float(not n_longer)
    seen_shorter, seen_longer = set[Hashable](), set[Hashable]()
    common, common_at_s, total = 0, 0, 0.0
    for depth, item in enumerate(longer, 1):
        if depth <= s:
            seen_shorter.add(shorter[depth - 1])
            common += shorter[depth - 1] in seen_longer
        seen_longer.add(item)
        common += item in seen_shorter
        if depth == s:
            common_at_s = common
        beyond = common_at_s * (depth - s) / s if depth > s else 0.0
        total += (common + beyond) / depth * p**depth
    tail = (common - common_at_s) / n_longer + common_at_s / s
    return (1 - p) / p * total + tail * p**n_longer


def jaccard(old: Sequence[Hashable], new: Sequence[Hashable]) -> float:
    """How many items two lists have in common, over all that stand in either.

    Args:
        old: items; one that stands again counts once.
        new: the same.

    Returns:
        1 for two empty lists.

    Source: P. Jaccard, Étude comparative de la distribution florale, 1901.
    """
    left, right = set(old), set(new)
    return len(left & right) / len(left | right) if left or right else 1.0
