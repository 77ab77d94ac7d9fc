"""The chart of a history: which points are joined, and what is marked."""

from __future__ import annotations

import numpy as np
import pytest

from kragx.comparison import Estimate, RetrieverScores
from kragx.comparison.history import History, PastRun, PastScore
from kragx.report.figures.studies import history_figure
from tests.thoroughness import some

IDS = tuple(f"q{n}" for n in range(30))


def run(day: int, n: int, gold: str = "a" * 64) -> PastRun:
    """A run of some retrievers; every third day the first one loses half of the questions."""
    settings = {
        "profile": {"name": "kragx"},
        "match": {"method": "overlap", "threshold": 0.5},
        "dataset": {"name": "질문 <b>", "version": None, "hash": gold},
        "deviations": {},
        "versions": {"kragx": "1"},
    }
    scores = []
    for number in range(n):
        values = np.ones(30)
        values[: number + (15 if number == 0 and day % 3 == 0 else 0)] = 0.0
        mean = float(values.mean())
        scores.append(
            PastScore(
                RetrieverScores(
                    f"검색기 {number} 이름이 긴 것",
                    "overlap",
                    settings,
                    IDS,
                    {"recall@5": values},
                    {"recall@5": mean},
                    {"recall@5": "higher"},
                ),
                {"recall@5": Estimate(mean, max(mean - 0.1, 0), min(mean + 0.1, 1), 30)},
            )
        )
    date = f"2026-01-{day:02}T09:00:00+09:00"
    gold_set = settings["dataset"]
    return PastRun(
        f"run-{day}", date, "c" * 40, False, "main", gold_set, {"recall@5": "higher"}, tuple(scores)
    )


@pytest.mark.parametrize(
    ("language", "n_runs", "n_retrievers"),
    some([("en", 1, 2), ("en", 8, 12), ("en", 8, 2), ("ko", 8, 2), ("ko", 1, 2), ("ko", 8, 12)], 3),
)
def test_lines_are_broken_where_numbers_mean_something_else(
    tmp_path, language, n_runs, n_retrievers
):
    """The gold set of day 6 is another one: every line is in two pieces then."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("koreanize_matplotlib")
    days = range(1, n_runs + 1)
    history = History.of([run(day, n_retrievers, ("a" if day < 6 else "b") * 64) for day in days])
    path = tmp_path / "history.svg"
    (panel,) = history_figure(history, path, language=language).axes
    pieces = {line.get_gid(): line.get_xdata().tolist() for line in panel.lines}
    if n_runs == 1:
        assert pieces == {f"history-1-{number}-0": [0] for number in range(n_retrievers)}
    else:
        assert len(pieces) == 2 * n_retrievers
        assert pieces["history-1-0-0"] == [0, 1, 2, 3, 4]
        assert pieces["history-1-0-1"] == [5, 6, 7]
    signs = [(text.get_text(), text.xy[0]) for text in panel.texts]
    # Day 6 is no worse than day 5, with which it cannot be compared.
    assert signs == ([] if n_runs == 1 else [("▼", 2), ("▲", 3), ("▲", 6)])
    again = tmp_path / "again.svg"
    history_figure(history, again, language=language)
    assert again.read_bytes() == path.read_bytes()
