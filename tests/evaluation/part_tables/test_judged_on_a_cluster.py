"""A judge that is asked from the workers of a Ray cluster: nobody pays twice, limits hold."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kragx import evaluate
from kragx.evaluation.part_tables import evaluate_in_parts
from kragx.evaluation.parts import part as parts
from kragx.evaluation.parts.cluster import Ray
from kragx.judging import Judge
from kragx.matchers import BaseMatcher, MatchWarning
from tests.judging.conftest import database, postgresql
from tests.judging.server import Handler, serving
from tests.judging.support import openai_client
from tests.local_cluster import two_workers

__all__ = ["database", "postgresql"]

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers."""
    with two_workers() as ray:
        yield ray


@dataclass(frozen=True)
class Deadly(BaseMatcher):
    """Nothing matches, and who is first asked about one question is killed."""

    place: str = ""
    yes_or_no = True

    def scores(self, items: Any, notes: Any) -> Any:
        """Zeros, of those who live."""
        for item in items:
            if item.query.id == "q33" and not Path(self.place).exists():
                Path(self.place).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield np.zeros(item.shape)


class Counting(Handler):
    """Remembers how many requests it had at once."""

    def do_POST(self) -> None:  # noqa: N802  # the protocol's name
        """Answer, and count."""
        with self.server.lock:
            self.server.seen["now"] += 1
            self.server.seen["most"] = max(self.server.seen["now"], self.server.seen["most"])
        try:
            super().do_POST()
        finally:
            with self.server.lock:
                self.server.seen["now"] -= 1


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Sixty questions in about ten parts; what is asked of one is asked of two others too."""
    monkeypatch.setattr(parts, "PART_BYTES", 1_500)
    rows = []
    for number in range(60):
        fact = number % 20
        docs = [f"it is said that fact {own} holds" for own in (fact, fact + 1)]
        gold = [{"text": f"fact {fact} holds"}]
        retrieved = [{"text": text} for text in docs]
        rows.append({"query_id": f"q{number}", "gold": gold, "retrieved": retrieved})
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_each_question_is_asked_once(
    cluster: Any, results: str, tmp_path: Path, database: str
) -> None:
    """Over both workers, one of which is killed, and no more at once than are allowed."""
    with serving(delay=0.02, handler=Counting) as server:
        judge = Judge(openai_client(server.base_url), store=database, concurrency=3)
        deadly = Deadly(place=str(tmp_path / "dead"))
        match = {"any": [deadly, {"method": "llm", "judge": judge}]}
        there = evaluate_in_parts(results, tmp_path / "out", match=match, workers=Ray())
        assert Path(deadly.place).exists()
        asked = Counter(body["messages"][1]["content"] for body in server.requests)
        assert len(asked) == 40
        assert set(asked.values()) == {1}
        assert server.seen["most"] <= 3
        assert there.evaluation.counts["judging"]["n_calls"] == 40
        here = evaluate(results, match=match)
        assert len(server.requests) == 40
        again = evaluate_in_parts(results, tmp_path / "out", match=match, workers=Ray())
        assert again.n_kept == len(there.tables)
    assert len(there.tables) >= 5
    for name in ("mean", "micro", "intervals", "queries"):
        assert getattr(there.evaluation, name) == getattr(here, name)
    assert there.evaluation.queries == again.evaluation.queries


def test_texts_are_looked_at_where_the_part_is(cluster: Any, results: str, tmp_path: Path) -> None:
    """Spans, budgets and times: the numbers of one process, to the last bit."""
    metrics = ["coverage@5", "recall@10tokens", "seconds_mean", "judged@2"]
    there = evaluate_in_parts(results, tmp_path / "out", metrics=metrics, workers=Ray())
    here = evaluate(results, metrics=metrics)
    assert there.evaluation.to_dict(queries=True) == here.to_dict(queries=True)
    assert there.evaluation.evidence is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"store": "judgements.sqlite"}, "its store judgements.sqlite is a file"),
        ({"budget": {"calls": 100}}, "its budget is kept"),
    ],
)
def test_it_is_said_where_it_is_asked_from_here(
    cluster: Any,
    results: str,
    tmp_path: Path,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    reason: str,
) -> None:
    """A store in a file, and a budget, stay with one process."""
    monkeypatch.chdir(tmp_path)
    with serving() as server:
        judge = Judge(openai_client(server.base_url), **{"store": database, **options})
        match = {"method": "llm", "judge": judge}
        with pytest.warns(MatchWarning, match=reason):
            result = evaluate_in_parts(results, tmp_path / "out", match=match, workers=Ray())
        assert result.evaluation["recall@10"] == 1.0
        assert len(server.requests) == 40
