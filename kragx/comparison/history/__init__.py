"""Runs over time: what became of each retriever's numbers, with which commit and which settings."""

from kragx.comparison.history.history import History, Series
from kragx.comparison.history.runs import Entry, HistoryStep, PastRun, PastScore

__all__ = ["Entry", "History", "HistoryStep", "PastRun", "PastScore", "Series"]
