"""Numbers short enough to send, which still say the same."""

from math import floor, isnan
from typing import Any


def short(value: Any) -> Any:
    """Plain values with six digits a number, which is more than anyone reads; None for NaN."""
    match value:
        case float():
            return None if isnan(value) else float(f"{value:.6g}")
        case dict():
            return {key: short(entry) for key, entry in value.items()}
        case list():
            return list(map(short, value))
    return value


def rounded_score(score: float, threshold: float) -> float | None:
    """A score of four decimals that stands on the same side of the threshold; None if unknown."""
    if isnan(score):
        return None
    rounded = round(score, 4)
    if (rounded >= threshold) != (score >= threshold):
        return threshold if score >= threshold else floor(score * 10_000) / 10_000
    return rounded
