"""Scoring into tables of values per question."""
