"""Tests of agreement, labelling, corrected metrics and probes."""
