"""Searches of a question: its distinct documents, matched once, and the lists made of them."""

from kragx.evaluation.searching.basis import Seen, seen_in, seen_in_runs
from kragx.evaluation.searching.searching import (
    OF_SEARCHES,
    SEARCHES,
    Searched,
    Searching,
    documents_behind,
    search_counts,
)

__all__ = [
    "OF_SEARCHES",
    "SEARCHES",
    "Searched",
    "Searching",
    "Seen",
    "documents_behind",
    "search_counts",
    "seen_in",
    "seen_in_runs",
]
