"""Intervals, tests and corrections: `kragx.statistics`."""
