"""Tests of the metrics: their strings, their numbers, and what is counted beside them."""
