"""Intervals of means: `kragx.metrics.intervals`."""
