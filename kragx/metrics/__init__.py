"""Metrics: from arrays to numbers.

A metric turns an evaluation's evidence into a value a query. `METRICS` holds them all, `metric`
finds one by name, metric string or import path, `parse` reads metric strings, and `compute`
computes them. Everything is loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kragx.metrics.engine import MetricWarning as MetricWarning
    from kragx.metrics.engine import compute as compute
    from kragx.metrics.evidence import Evidence as Evidence
    from kragx.metrics.evidence import RankedList as RankedList
    from kragx.metrics.profiles import KRAGX as KRAGX
    from kragx.metrics.profiles import PROFILES as PROFILES
    from kragx.metrics.profiles import Profile as Profile
    from kragx.metrics.profiles import profile as profile
    from kragx.metrics.registry import DEFAULT_METRICS as DEFAULT_METRICS
    from kragx.metrics.registry import METRICS as METRICS
    from kragx.metrics.registry import known_metric as known_metric
    from kragx.metrics.registry import metric as metric
    from kragx.metrics.registry import parse as parse
    from kragx.metrics.registry import parse_all as parse_all
    from kragx.metrics.registry import profile_for as profile_for
    from kragx.metrics.scores import MetricScores as MetricScores
    from kragx.metrics.spec import Metric as Metric
    from kragx.metrics.spec import MetricSpec as MetricSpec
    from kragx.metrics.spec import Option as Option
    from kragx.metrics.syntax import TextBudget as TextBudget

_MODULES = {
    "engine": ("MetricWarning", "compute"),
    "evidence": ("Evidence", "RankedList"),
    "profiles": ("KRAGX", "PROFILES", "Profile", "profile"),
    "registry": (
        "DEFAULT_METRICS",
        "METRICS",
        "known_metric",
        "metric",
        "parse",
        "parse_all",
        "profile_for",
    ),
    "scores": ("MetricScores",),
    "spec": ("Metric", "MetricSpec", "Option"),
    "syntax": ("TextBudget",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605  # type checkers read the imports above


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'kragx.metrics' has no attribute {name!r}")
    return getattr(importlib.import_module(f"kragx.metrics.{_MODULE_OF[name]}"), name)
