"""Intervals, tests and corrections: `kragx.comparison.statistics`."""
