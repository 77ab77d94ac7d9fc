"""Memory of the match table, measured in a process of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from kragx.matchers import Diagnostics, adapted
from kragx.matchers.matching import match

from .support import child, once, sides, take
from .workloads import SIZE, scored_stream


@sides("kragx")
@once
def test_match_table(benchmark: Any, side: str, turn: int) -> None:
    """A table of 100 documents x 10 gold items a query in which every pair has a score."""
    answer = take(
        benchmark, "memory-table", lambda: child("table", str(SIZE.metric_queries)), rounds=1
    )
    benchmark.extra_info["memory"] = answer


def test_the_table_holds_every_score() -> None:
    """What is measured is a table with every pair, and its scores are the matcher's."""
    items, matcher = scored_stream(5)
    made = match(items, adapted(matcher), Diagnostics())
    assert len(made.pair_score) == 5 * 100 * 10
    scores = matcher.scores(scored_stream(5)[0], Diagnostics())
    assert all(np.array_equal(made.dense(row), each) for row, each in enumerate(scores))
