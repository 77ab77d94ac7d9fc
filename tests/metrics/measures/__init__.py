"""Tests of the measures beside the metrics."""
