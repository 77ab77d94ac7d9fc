"""The threshold: where a score becomes a match. It is applied here, and nowhere else."""

from typing import Any


def matches(scores: Any, threshold: Any) -> Any:
    """Whether each score is a match: at or above the threshold.

    Args:
        scores: a number, or an array of any shape; NaN, a score that is not known, never matches.
        threshold: a number, or an array that fits.

    Returns:
        Yes or no, in the shape of the scores.
    """
    return scores >= threshold
