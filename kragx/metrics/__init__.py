"""Metrics: from arrays to numbers.

A metric turns an evaluation's evidence into a value a query. `METRICS` holds them all, `metric`
finds one by name, metric string or import path, `parse` reads metric strings, and `compute`
computes them. Everything is loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kragx.metrics.engine import MetricWarning, compute
    from kragx.metrics.evidence import Cut, Evidence, HeldFacts, RankedList, TextBudget
    from kragx.metrics.match_table import Bools, Floats, Ints, MatchTable, Votes
    from kragx.metrics.profiles import KRAGX, NO_GOLD, PROFILES, NoGold, Profile, profile
    from kragx.metrics.registry import (
        DEFAULT_METRICS,
        METRICS,
        known_metric,
        metric,
        parse,
        parse_all,
        profile_for,
    )
    from kragx.metrics.scores import MetricScores, counted, intervals_of, is_mean, valueless
    from kragx.metrics.spec import Metric, MetricSpec, Option

__all__ = [
    "DEFAULT_METRICS",
    "KRAGX",
    "METRICS",
    "NO_GOLD",
    "PROFILES",
    "Bools",
    "Cut",
    "Evidence",
    "Floats",
    "HeldFacts",
    "Ints",
    "MatchTable",
    "Metric",
    "MetricScores",
    "MetricSpec",
    "MetricWarning",
    "NoGold",
    "Option",
    "Profile",
    "RankedList",
    "TextBudget",
    "Votes",
    "compute",
    "counted",
    "intervals_of",
    "is_mean",
    "known_metric",
    "metric",
    "parse",
    "parse_all",
    "profile",
    "profile_for",
    "valueless",
]

# Those that cost nothing to import come first; each imports what stands before it.
_MODULES = ("profiles", "match_table", "evidence", "spec", "scores", "registry", "engine")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in _MODULES:
            names = vars(importlib.import_module(f"kragx.metrics.{module}"))
            if name in names:
                return names[name]
    raise AttributeError(f"module 'kragx.metrics' has no attribute {name!r}")
