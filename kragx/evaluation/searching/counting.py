"""How many searches there were, and of which questions a list is not known."""

from __future__ import annotations

import numpy as np

from kragx.data.searches import UNKNOWN_DOC
from kragx.metrics import MatchTable
from kragx.metrics.search_table import SearchTable
from kragx.metrics.search_view import SearchView

SEARCHES = "searches"
"""What settings and counts of searches stand under."""

OF_SEARCHES = "searches "
"""Before the names of counts of searches, which are added up."""


def search_counts(searches: SearchTable) -> dict[str, int]:
    """The counts of some questions' searches; those of tables that follow one another add up.

    Of a question that failed searches and steps are counted, as they cost; no more is known of
    them. A search and its retries are one of ``n_searches``, as of ``searches_per_gold``; each that
    failed is one of ``n_failed``. ``n_no_search``: questions that were answered without one, but
    for unanswerable ones.
    ``n_documents``: distinct ones of each question that its searches brought. ``n_no_list`` and
    ``n_no_list_gold``: questions, and those of them with gold, of which the list is not known that
    metrics are about which name none.
    """
    table, read, places = searches.table, searches.read, searches.places()
    answered, has_searches = table.answered, searches.n_searches > 0
    no_list = answered & ~places.is_there
    counts = {
        "n_questions": has_searches.sum(),
        "n_searches": SearchView(searches).step_lanes.sum(),
        "n_steps": searches.n_steps.sum(),
        "n_documents": len(searches.places("all").docs),
        "n_unmeasured": (~searches.measured & ~searches.failed).sum(),
        "n_failed": (searches.failed & answered[searches.query]).sum(),
        "n_no_search": (answered & ~has_searches & ~table.unanswerable).sum(),
        "n_no_tokens": np.isnan(searches.tokens).sum(),
        "n_no_seconds": np.isnan(searches.seconds).sum(),
        "n_unread": (answered & ~read.is_there).sum(),
        "n_unknown_read": (read.docs == UNKNOWN_DOC).sum(),
        "n_no_list": no_list.sum(),
        "n_no_list_gold": (no_list & has_gold(table)).sum(),
    }
    return {f"{OF_SEARCHES}{name}": int(n) for name, n in counts.items()}


def has_gold(table: MatchTable) -> np.ndarray:
    """(q) which questions have gold."""
    gold = table.gold_query[table.grade > 0]
    return np.bincount(gold, minlength=table.n_queries) > 0
