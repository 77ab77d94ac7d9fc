"""Runs over time: what became of each retriever's numbers, with which commit and which settings."""

from kragx.comparison.history.history import History, Series
from kragx.comparison.history.runs import PastRun, PastScore
from kragx.comparison.history.steps import BREAKS, Entry, Step, StepTest

__all__ = ["BREAKS", "Entry", "History", "PastRun", "PastScore", "Series", "Step", "StepTest"]
