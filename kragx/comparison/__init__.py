"""Which retriever is better, and how sure is that: comparisons, slices.

`compare` makes a `Comparison`; `kragx.comparison.model` says what is in it.
"""

from __future__ import annotations

from kragx.comparison.comparable import check_comparable
from kragx.comparison.comparing import compare, compare_scored
from kragx.comparison.model import (
    CORRECTIONS,
    NO_VALUE,
    Comparison,
    Difference,
    Estimate,
    Leader,
    Settings,
    Slice,
    View,
)
from kragx.comparison.scored import Scored

__all__ = [
    "CORRECTIONS",
    "NO_VALUE",
    "Comparison",
    "Difference",
    "Estimate",
    "Leader",
    "Scored",
    "Settings",
    "Slice",
    "View",
    "check_comparable",
    "compare",
    "compare_scored",
]
