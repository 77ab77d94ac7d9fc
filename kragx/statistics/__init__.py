"""How sure a number is: resampling over queries. Arrays in, arrays out; the query is the unit."""

from __future__ import annotations

from kragx.statistics.resampling import CONFIDENCE, RESAMPLES, SEED, percentile_interval, resamples

__all__ = ["CONFIDENCE", "RESAMPLES", "SEED", "percentile_interval", "resamples"]
