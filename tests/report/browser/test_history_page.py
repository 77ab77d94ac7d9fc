"""The page of a history, in Chromium."""

from __future__ import annotations

import numpy as np
import pytest

from kragx.comparison import Estimate
from kragx.comparison.history import History, PastRun, PastScore
from kragx.report.history_page.page import write_history_page

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
        asked = {"args": {"k": 5 + (day % 3 == 0)}} if number == 0 else {}
        mean = float(values.mean())
        scores.append(
            PastScore(
                f"검색기 {number} 이름이 긴 것",
                "overlap",
                {**settings, "run": asked},
                {"recall@5": Estimate(mean, max(mean - 0.1, 0), min(mean + 0.1, 1), 30)},
                query_ids=IDS,
                values={"recall@5": values},
            )
        )
    date = f"2026-01-{day:02}T09:00:00+09:00"
    gold_set = settings["dataset"]
    return PastRun(
        f"run-{day}", date, "c" * 40, False, "main", gold_set, {"recall@5": "higher"}, tuple(scores)
    )


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(("n_runs", "n_retrievers"), [(1, 2), (8, 2), (8, 12)])
def test_looked_at(chromium, tmp_path, language, n_runs, n_retrievers):
    """The page does not scroll sideways, and axe finds nothing, in light and dark."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    days = range(1, n_runs + 1)
    runs = [run(day, n_retrievers, ("a" if day < 6 else "b") * 64) for day in days]
    path = tmp_path / "history.html"
    write_history_page(History.of(runs), path, language=language)
    for theme in ("light", "dark"):
        page = chromium.new_page(viewport={"width": 1280, "height": 900}, color_scheme=theme)
        errors = []
        page.on("pageerror", lambda error, errors=errors: errors.append(error))
        page.on("console", lambda message, errors=errors: errors.append(message.text))
        page.goto(path.as_uri())
        for details in page.query_selector_all("details"):
            details.evaluate("own => { own.open = true; }")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        n_lines = len(page.query_selector_all("polyline"))
        # The gold set of day 6 is another one: every line is in two pieces then.
        assert n_lines == (0 if n_runs == 1 else 2 * n_retrievers)
        assert len(page.query_selector_all("main path.mark title")) == n_runs * n_retrievers
        worse = page.query_selector_all("svg text.worse")
        assert len(worse) == (0 if n_runs == 1 else 1)
        found = axe.run(page).response["violations"]
        assert [(own["id"], own["nodes"][0]["html"]) for own in found] == []
        assert errors == []
        page.close()
