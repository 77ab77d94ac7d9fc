"""Searches of a question: its distinct documents, matched once, and the lists made of them."""

from kragx.evaluation.searching.basis import Seen, Told, seen_in, seen_in_records, seen_in_runs
from kragx.evaluation.searching.behind import documents_behind
from kragx.evaluation.searching.counting import OF_SEARCHES, SEARCHES, search_counts
from kragx.evaluation.searching.listing import n_came
from kragx.evaluation.searching.searching import Searched, Searching

__all__ = [
    "OF_SEARCHES",
    "SEARCHES",
    "Searched",
    "Searching",
    "Seen",
    "Told",
    "documents_behind",
    "n_came",
    "search_counts",
    "seen_in",
    "seen_in_records",
    "seen_in_runs",
]
