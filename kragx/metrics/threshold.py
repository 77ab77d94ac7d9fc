"""The threshold: where a score becomes a match. It is applied here, and nowhere else."""

from typing import Any


def matches(scores: Any, threshold: Any) -> Any:
    """Whether each score, a number or an array, is a match: at or above the threshold.

    NaN, a score that is not known, never matches.
    """
    return scores >= threshold
