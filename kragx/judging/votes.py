"""Several judges' votes on one question: what they decide, and how far judges agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

from kragx.judging.question import Judgement
from kragx.judging.tally import Pattern

if TYPE_CHECKING:
    from kragx.metrics import Floats

Decide = Literal["median", "majority", "mean"]


def decided(grades: Sequence[float], rule: Decide) -> float:
    """What some grades (at least one) come to.

    ``median``: the middle one, the lower of two; so it is a match, at whatever cut, exactly where
    more than half of the grades are. ``majority``: the most frequent one; of several equally
    frequent ones the median. ``mean``: their mean.
    """
    if rule == "mean":
        return sum(grades) / len(grades)
    ordered = sorted(grades)
    if rule == "majority":
        counts = Counter(ordered)
        highest = max(counts.values())
        ordered = [grade for grade, count in counts.items() if count == highest]
    return ordered[(len(ordered) - 1) // 2]


def settled_grade(grades: Sequence[float], n_open: int, rule: Decide, top: int) -> float | None:
    """What grades come to whatever further ones will be; None if these can change it.

    Args:
        grades: that are known.
        n_open: how many are not.
        rule: how they are decided.
        top: the highest grade there is.
    """
    if not grades:
        return None
    if not n_open:
        return decided(grades, rule)
    if rule == "majority":  # the next can at best all be for the second
        (first, n_first), *rest = Counter(grades).most_common(2)
        second = rest[0][1] if rest else 0
        return first if n_first - second > n_open else None
    low, high = (decided([*grades, *[grade] * n_open], rule) for grade in (0, top))
    return low if low == high else None


def n_needed(n_judges: int, rule: Decide) -> int:
    """How many judges must be asked in any case; that many of one mind decide."""
    return n_judges if rule == "mean" else n_judges // 2 + 1


@dataclass(frozen=True, slots=True)
class Verdict(Judgement):
    """What the votes of several judges came to; no row of a store, as its votes are.

    Attributes:
        low, high: the least and the greatest grade that a judge gave; None without any.
        votes: of each judge, in their order.
    """

    low: int | None = None
    high: int | None = None
    votes: Pattern = ()

    @property
    def reach(self) -> tuple[float, float]:
        """The least and the greatest vote; not known (NaN) where the grade is not."""
        if self.grade is None or self.low is None or self.high is None:
            return self.score, self.score
        return self.low, self.high


def ordinal_alpha(coincidences: Floats) -> Floats:
    """Krippendorff's alpha for ordered labels, from (..., l, l) symmetric coincidences.

    NaN where only one label occurs.

    Source: K. Krippendorff, Computing Krippendorff's alpha-reliability, 2011.
    """
    import numpy as np  # commands that judge nothing do without

    values = coincidences.sum(-1)
    total = values.sum(-1)
    # Labels are as far apart as there are values between them, half of either end counted.
    place = np.cumsum(values, -1) - values / 2
    distance = (place[..., :, None] - place[..., None, :]) ** 2
    observed = (coincidences * distance).sum((-1, -2)) * (total - 1)
    expected = np.einsum("...i,...ij,...j->...", values, distance, values)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1 - np.where(expected > 0, observed / expected, np.nan)


def alpha(patterns: Mapping[Pattern, int]) -> float | None:
    """Krippendorff's ordinal alpha among judges; None where nothing could disagree.

    Args:
        patterns: how many questions got each row of votes; what is no grade is a missing value.
    """
    import numpy as np

    graded = [(_grades(votes), n) for votes, n in patterns.items()]
    size = max((grade for grades, _ in graded for grade in grades), default=0) + 1
    coincidences = np.zeros((size, size))
    for grades, n in graded:
        # Of m grades each stands beside m - 1 others, and counts once in all.
        for pair in combinations(grades, 2):
            coincidences[pair] += n / (len(grades) - 1)
    value = float(ordinal_alpha(coincidences + coincidences.T))
    return None if math.isnan(value) else value


def agreement(
    patterns: Mapping[Pattern, int], names: Sequence[str], n_everywhere: int
) -> dict[str, Any]:
    """How far judges agree, as results record it.

    Args:
        patterns: how many questions got each row of votes.
        names: of the judges.
        n_everywhere: how many of them, the first, were asked everything: whoever is asked only
            where others differ cannot be said to agree or not.
    """
    first: Counter[Pattern] = Counter()
    for votes, n in patterns.items():
        first[votes[:n_everywhere]] += n
    return {
        "n_questions": sum(patterns.values()),
        "n_disputed": sum(n for votes, n in patterns.items() if len({*_grades(votes)}) > 1),
        "alpha": alpha(first),
        "alpha_of": list(names[:n_everywhere]),
        "votes": [
            {"judge": name} | _of_judge([(votes[place], n) for votes, n in patterns.items()])
            for place, name in enumerate(names)
        ],
    }


def _of_judge(votes: Sequence[tuple[int | str | None, int]]) -> dict[str, Any]:
    """How many grades a judge gave, how often it failed, and the mean of its grades."""
    n_graded = sum(n for vote, n in votes if isinstance(vote, int))
    total = sum(vote * n for vote, n in votes if isinstance(vote, int))
    return {
        "n": n_graded,
        "n_failed": sum(n for vote, n in votes if isinstance(vote, str)),
        "mean": total / n_graded if n_graded else None,
    }


def _grades(votes: Pattern) -> list[int]:
    return [vote for vote in votes if isinstance(vote, int)]
