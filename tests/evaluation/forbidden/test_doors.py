"""Planted leaks are found exactly, through every door, at every size, in however many processes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kragx import Evaluation, evaluate, read_results, write_results
from kragx.app.commands.main import main
from kragx.data import lists, source
from kragx.evaluation.part_tables import evaluate_in_parts
from tests.local_cluster import two_workers
from tests.thoroughness import some

pytestmark = pytest.mark.filterwarnings(
    "ignore:forbidden items that can match nothing", "ignore:rule .* 1 of .* questions have no"
)

METRICS = [
    "recall@3",
    "leak@3",
    "leak@3(kind=tenant)",
    "leak@3(kind=stale)",
    "leaked@3",
    "stale_first@3",
]
RULES = {
    "tenant": {"metadata.tenant": {"not": {"query": "metadata.tenant"}}},
    "stale": {"metadata.valid_until": {"before": {"query": "metadata.asked_at"}}},
}
SYLLABLES = ("ba", "co", "di", "fu", "ge", "hi", "ko", "la", "me", "no", "pu", "ri", "so", "te")


def words(number: int) -> list[str]:
    """A text of its own words, longer than a chunk."""
    drawn = random.Random(number)
    return ["".join(drawn.choices(SYLLABLES, k=4)) for _ in range(32)]


def passage(number: int) -> str:
    """A chunk of it."""
    return " ".join(words(number)[:24])


def planted(n: int, seed: int = 1) -> tuple[list[dict[str, Any]], dict[str, set[str]]]:
    """Lines of results, of whose first three documents some must not come, and which by kind.

    Questions forbid by id, by text in another chunking, by source or by rules alone, in turn.
    """
    drawn = random.Random(seed)
    lines: list[dict[str, Any]] = [{"forbidden": RULES}]
    leaks: dict[str, set[str]] = {kind: set() for kind in ("any", "id", "text", "source", *RULES)}
    for number in range(n):
        query_id, kind = f"q{number}", ("id", "text", "source", "rules")[number % 4]
        docs = [
            {
                "id": f"d{number}-{rank}",
                "text": passage(4 * number + rank),
                "metadata": {
                    "tenant": f"t{number % 7}",
                    "valid_until": "2026-06-30",
                    "source": f"s{number % 5}",
                },
            }
            for rank in range(4)
        ]
        item: dict[str, Any] = {"why": kind}
        victim = docs[drawn.randrange(4)]
        is_leak = drawn.random() < 0.3 and victim is not docs[3]
        if kind == "id":
            item["id"] = victim["id"] if drawn.random() < 0.3 or is_leak else f"x{number}"
            is_leak = item["id"] == victim["id"] and victim is not docs[3]
        elif kind == "text":
            place = 4 * number + docs.index(victim) if is_leak else -number - 1
            item["text"] = " ".join(words(place)[8:])  # it shares sixteen words with the chunk
        elif kind == "source":
            item["source"] = f"s{number % 5}" if is_leak else f"s{(number + 1) % 5}"
        elif is_leak:
            name, value = drawn.choice([("tenant", "other"), ("valid_until", "2026-01-31")])
            victim["metadata"][name] = value
            leaks["tenant" if name == "tenant" else "stale"].add(query_id)
        if is_leak:
            leaks["any"].add(query_id)
            if kind != "rules":
                leaks[kind].add(query_id)
        line = {
            "query_id": query_id,
            "query": f"What does {number} say?",
            "gold": [{"id": docs[0]["id"], "text": docs[0]["text"]}],
            "metadata": {"tenant": f"t{number % 7}", "asked_at": "2026-02-01T09:00:00+09:00"},
            **({} if kind == "rules" else {"forbidden": [item]}),
            "retrieved": docs,
        }
        lines.append(line)
    return lines, leaks


def written(lines: list[dict[str, Any]], path: Path) -> str:
    """A file of these lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def leaked(evaluation: Evaluation, metric: str = "leak@3") -> set[str]:
    """The questions that leak."""
    return {name for name, values in evaluation.queries.items() if values[metric] == 1.0}


def said(evaluation: Evaluation) -> Any:
    """All numbers of an evaluation."""
    bounds = evaluation.bounds
    return json.dumps(
        [evaluation.mean, evaluation.intervals, bounds, evaluation.counts, evaluation.queries]
    )


@pytest.mark.parametrize("n", some([4, 1, 200, 5_000, 100_000], 9))
@pytest.mark.parametrize("match", ["id", "overlap"])
def test_planted_leaks(n: int, match: str, tmp_path: Path) -> None:
    """Of questions from a file exactly those leak that leaks were planted in, for each kind."""
    if n == 100_000 and match == "overlap":
        n = 20_000
    lines, leaks = planted(n)
    evaluation = evaluate(written(lines, tmp_path / "r.jsonl"), match=match, metrics=METRICS)
    by_text = leaks["text"] if match == "id" else set()
    assert leaked(evaluation) == leaks["any"] - by_text
    for kind in RULES:
        assert leaked(evaluation, f"leak@3(kind={kind})") == leaks[kind]
    of_texts = {f"q{number}" for number in range(n) if number % 4 == 1}
    is_open = {name for name, values in evaluation.queries.items() if values["leak@3"] is None}
    assert is_open == (of_texts if match == "id" else set())  # an id says nothing of a text
    assert evaluation.counts["forbidden"]["n_could"] == n


def test_texts_that_were_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that waits while texts are forgotten keeps its own, those of its items among them."""
    monkeypatch.setattr(lists, "_MOST_CHARACTERS", 5_000)
    monkeypatch.setattr(source, "_AT_ONCE", 20)
    lines, leaks = planted(120)
    for rows in (written(lines, tmp_path / "r.jsonl"), lines):
        assert leaked(evaluate(rows, metrics=METRICS)) == leaks["any"]


def doors(lines: list[dict[str, Any]], folder: Path, match: str) -> Iterator[Evaluation]:
    """The same results through every door."""
    path = written(lines, folder / "results.jsonl")
    options: dict[str, Any] = {"match": match, "metrics": METRICS}
    dataset, run = read_results(path)
    yield evaluate(dataset, run, **options)
    yield evaluate(path, **options)
    yield evaluate(lines, **options)
    for workers in (1, 2):
        yield evaluate(path, workers=workers, **options)
        yield evaluate(dataset, run, workers=workers, **options)
    write_results(dataset, run, folder / "results.parquet")
    yield evaluate(str(folder / "results.parquet"), **options)
    for workers in (None, 2):  # then from tables that stand there
        out = folder / f"out-{match}"
        yield evaluate_in_parts(path, out, workers=workers, **options).evaluation
    without = [{**line} for line in lines[1:]]
    rules = without[0].get("forbidden") and RULES
    yield evaluate(written(without, folder / "bare.jsonl"), forbidden=rules or RULES, **options)


@pytest.mark.integration
@pytest.mark.parametrize("match", ["id", "overlap", "text"])
def test_every_door(match: str, tmp_path: Path) -> None:
    """Values, bounds, counts and intervals are the same to the last bit; parts are of any size."""
    lines, _ = planted(1_300)
    lines[5]["retrieved"] = []
    del lines[9]["retrieved"]
    del lines[12]["metadata"]
    lines[13]["gold"] = []
    first, *others = map(said, doors(lines, tmp_path, match))
    for place, other in enumerate(others):
        assert other == first, place


@pytest.mark.parametrize("forbids", [True, False])
def test_leaks_that_nobody_asked_for(forbids: bool, tmp_path: Path) -> None:
    """Tables have them where something is forbidden, as whole results do, and only there."""
    lines, _ = planted(40)
    if not forbids:  # somebody has looked, and nothing is
        lines = [{**line, "forbidden": []} for line in lines[1:]]
    path = written(lines, tmp_path / "results.jsonl")
    whole = evaluate(path, metrics=["recall@3"])
    assert ("leak@3" in whole.mean) == forbids
    for _ in range(2):
        scored = evaluate_in_parts(path, tmp_path / "out", metrics=["recall@3"])
        assert said(scored.evaluation) == said(whole)


@pytest.mark.integration
def test_on_ray(tmp_path: Path) -> None:
    """So they are on a cluster."""
    lines, _ = planted(1_300)
    path = written(lines, tmp_path / "results.jsonl")
    here = evaluate(path, metrics=METRICS)
    with two_workers():
        there = evaluate(path, metrics=METRICS, workers={"ray": {"address": "auto"}})
    assert said(there) == said(here)


@pytest.mark.integration
def test_ids_of_another_chunking(tmp_path: Path) -> None:
    """Whether any id is met is known of all questions, in whichever part the one stands."""
    lines, _ = planted(1_300)
    for line in lines[1:]:
        line["gold"] = []
        items = [item for item in line.get("forbidden", ()) if item.get("id")]
        line["forbidden"] = [{"id": f"x-{line['query_id']}"}] if items else []
    path = written(lines, tmp_path / "apart.jsonl")
    options: dict[str, Any] = {"match": "id", "metrics": METRICS}
    apart = [evaluate(path, workers=workers, **options) for workers in (None, 2)]
    assert said(apart[0]) == said(apart[1])
    assert apart[0].counts["forbidden"]["n_unmatchable"] == 325
    lines[-1]["gold"] = [{"id": lines[3]["retrieved"][0]["id"]}]  # one of them is alive
    path = written(lines, tmp_path / "met.jsonl")
    met = [evaluate(path, workers=workers, **options) for workers in (None, 2)]
    assert said(met[0]) == said(met[1])
    assert met[0].counts["forbidden"]["n_unmatchable"] == 0


def test_from_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kragx score FILE -m leak@3` says the same."""
    lines, leaks = planted(40)
    path = written(lines, tmp_path / "results.jsonl")
    options = ["-m", "leak@3", "--format", "json", "--per-query"]
    monkeypatch.setattr("sys.argv", ["kragx", "score", path, *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    queries = json.loads(capsys.readouterr().out)["queries"]
    assert {name for name, row in queries.items() if row["leak@3"] == 1.0} == leaks["any"]


def test_marks_of_a_budget(tmp_path: Path) -> None:
    """Where a list is cut at a budget, what stands behind it does not leak."""
    lines, _ = planted(40)
    path = written(lines, tmp_path / "results.jsonl")
    two = sum(len(doc["text"]) for doc in lines[1]["retrieved"][:2])
    evaluation = evaluate(path, metrics=["leak@2", f"leak@{two}chars"])
    marks = evaluation.forbidden
    assert marks is not None
    n_docs = evaluation.table.n_docs
    assert marks.first(n_docs, np.minimum(n_docs, 2)).mark.shape == (80, len(marks.kinds) + 1)
    first = evaluation.queries["q0"]
    assert first["leak@2"] == first[f"leak@{two}chars"]
