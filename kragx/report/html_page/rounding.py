"""Numbers short enough to read, which still say the same."""

from __future__ import annotations

from math import floor, isnan


def rounded_score(score: float, threshold: float) -> float | None:
    """A score of four decimals that stands on the same side of the threshold; None if unknown."""
    if isnan(score):
        return None
    short = round(score, 4)
    if (short >= threshold) != (score >= threshold):
        return threshold if score >= threshold else floor(score * 10_000) / 10_000
    return short
