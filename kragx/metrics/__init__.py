"""Metrics: from arrays to numbers.

A metric turns an evaluation's evidence into a value a query. `METRICS` holds them all, `metric`
finds one by name, metric string or import path, `parse` reads metric strings, and `compute`
computes them. Everything is loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kragx.data.lists import Bools, Floats, Ints
    from kragx.metrics.engine import MetricWarning, compute
    from kragx.metrics.evidence import (
        Cut,
        Evidence,
        ForbiddenMarks,
        HeldFacts,
        RankedList,
        TextBudget,
    )
    from kragx.metrics.match_table import MatchTable, TableView, Votes as Votes
    from kragx.metrics.profiles import (
        KRAGX as KRAGX,
        LEFT_OUT as LEFT_OUT,
        NO_GOLD as NO_GOLD,
        PROFILES,
        NoGold,
        Profile,
        profile,
    )
    from kragx.metrics.registry import (
        DEFAULT_METRICS,
        METRICS,
        MetricLike,
        known_metric as known_metric,
        listed as listed,
        measure,
        metric,
        name_among as name_among,
        parse,
        parse_all as parse_all,
        profile_for as profile_for,
    )
    from kragx.metrics.scores import (
        MetricScores,
        counted as counted,
        intervals_of as intervals_of,
        is_mean as is_mean,
        valueless as valueless,
    )
    from kragx.metrics.search_table import SearchTable, SearchView
    from kragx.metrics.spec import Metric, MetricSpec, Option

__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "PROFILES",
    "Bools",
    "Cut",
    "Evidence",
    "Floats",
    "ForbiddenMarks",
    "HeldFacts",
    "Ints",
    "MatchTable",
    "Metric",
    "MetricLike",
    "MetricScores",
    "MetricSpec",
    "MetricWarning",
    "NoGold",
    "Option",
    "Profile",
    "RankedList",
    "SearchTable",
    "SearchView",
    "TableView",
    "TextBudget",
    "compute",
    "measure",
    "metric",
    "parse",
    "profile",
]

# Those that cost nothing to import come first; each imports what stands before it.
_MODULES = (
    "profiles",
    "match_table",
    "search_table",
    "evidence",
    "spec",
    "scores",
    "registry",
    "engine",
)


def __getattr__(name: str) -> Any:
    # Also names that are not public, for the other rooms.
    for module in _MODULES if not name.startswith("_") else ():
        names = vars(importlib.import_module(f"kragx.metrics.{module}"))
        if name in names:
            return names[name]
    raise AttributeError(f"module 'kragx.metrics' has no attribute {name!r}")
