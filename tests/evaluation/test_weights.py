"""Questions that stand for several asks: the numbers are those of the asks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from kragx import (
    Doc,
    Gold,
    GoldDataset,
    Query,
    Retrieved,
    Run,
    Searches,
    evaluate,
    write_gold,
    write_results,
)
from kragx.app import config
from kragx.app.pipeline import run as run_config
from kragx.data.problems import DataWarning
from kragx.evaluation import parts as part
from kragx.evaluation.evaluate_run import evaluation_of_runs
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.part_tables import evaluate_in_parts
from kragx.judging import Answer, Judge, Request, Usage
from kragx.metrics import KRAGX, MatchTable, compute, parse
from tests.thoroughness import examples

METRICS = [
    *("mrr@3", "precision@3", "recall@3", "f1@3", "ndcg@3", "hit_rate@1", "redundancy@3"),
    *("seconds_mean", "seconds_p50", "seconds_p95", "throughput", "judged@3", "source_diversity"),
]
LEAKS = ["mrr@3", "leak@3", "leaked@3"]

Asked = tuple[list[str], list[str] | None, float | None, int]
"""Ids of gold and of what was retrieved (None: the retriever failed), seconds, and asks."""

IDS = st.sampled_from("abcdef")
ASKED = st.tuples(
    st.lists(IDS, max_size=3, unique=True),
    st.none() | st.lists(IDS, max_size=4),
    st.none() | st.sampled_from([0.25, 0.5, 1.0, 3.0]),
    st.integers(0, 4),
)


def evaluated(
    questions: list[Asked], weights: list[float], metrics: list[str], **fields: Any
) -> Evaluation:
    """Questions with these weights."""
    queries = tuple(
        Query(f"q{n}", gold=tuple(map(Gold, gold)), weight=weight, **fields)
        for n, ((gold, *_), weight) in enumerate(zip(questions, weights))
    )
    answers = {
        f"q{n}": Retrieved(error="gone", seconds=seconds)
        if docs is None
        else Retrieved(
            tuple(Doc(name, f"text {name}", metadata={"source": name[0]}) for name in docs), seconds
        )
        for n, (_, docs, seconds, _) in enumerate(questions)
    }
    return evaluate(GoldDataset(queries), Run(answers), match="id", metrics=metrics)


def numbers(evaluation: Evaluation) -> dict[str, Any]:
    """What an evaluation says of all questions together."""
    fields = ("mean", "micro", "bounds", "micro_bounds", "maximum", "intervals")
    return {name: getattr(evaluation, name) for name in fields}


def alike(folded: Any, unfolded: Any) -> bool:
    """Whether numbers are the same but for their last digits."""
    if folded is None or unfolded is None:
        return folded is unfolded
    return bool(np.allclose(folded, unfolded, rtol=1e-12, atol=1e-12))


def test_by_hand() -> None:
    """Asked 3 times and found at rank 2, once and found first: (3 / 2 + 1) / 4; micro 4 of 8."""
    questions: list[Asked] = [(["a"], ["x", "a"], 1.0, 3), (["b"], ["b", "x"], 2.0, 1)]
    result = evaluated(questions, [3, 1], ["mrr@2", "precision@2", "recall@1", "seconds_p50"])
    assert result.mean == {
        "mrr@2": 0.625,
        "precision@2": 0.5,
        "recall@1": 0.25,
        "seconds_p50": 1.0,
    }
    assert result.micro == {"precision@2": 0.5, "recall@1": 0.25}
    assert result.counts["n_asks"] == 4
    assert result.counts["n_queries"] == 2
    pooled = result.counts["pooled"]["precision@2"]
    assert pooled == {"relevant": 4, "other": 4, "found": 4, "missed": 0}
    assert "numbers of 4 asks, by 2 questions" in str(result)


def test_weights_that_are_shares_are_no_asks() -> None:
    """Weights of 3 / 4 and 1 / 4 are of no ask: their sum is told as what it is."""
    result = evaluated([(["a"], ["a"], 1.0, 1), (["b"], ["a"], 2.0, 1)], [0.75, 0.25], ["mrr@2"])
    assert result.mean["mrr@2"] == 0.75
    assert "numbers of 2 questions, by weights that sum to 1" in str(result)


@given(questions=st.lists(ASKED, min_size=1, max_size=7), leaks=st.booleans())
@examples(60)
def test_folded_and_unfolded_numbers_agree(questions: list[Asked], leaks: bool) -> None:
    """A question asked n times gives every number that n questions give, but for intervals."""
    questions = [*questions, (["a"], ["a"], 1.0, 1), (["b"], ["a"], 2.0, 2)]
    fields = {"forbidden": ({"id": "f"},)} if leaks else {}
    metrics = LEAKS if leaks else METRICS
    folded = evaluated(questions, [asks for *_, asks in questions], metrics, **fields)
    copies = [question for question in questions for _ in range(question[-1])]
    unfolded = evaluated(copies, [1] * len(copies), metrics, **fields)
    assert unfolded.weights is None
    for kind in ("mean", "micro", "bounds", "maximum"):
        ours, theirs = getattr(folded, kind), getattr(unfolded, kind)
        for name in {*ours, *theirs}:
            assert alike(ours.get(name), theirs.get(name)), (kind, name)


@given(
    questions=st.lists(ASKED, min_size=1, max_size=7),
    weight=st.sampled_from([2.0, 0.3, 1e6]),
    leaks=st.booleans(),
)
@examples(60)
def test_equal_weights_change_no_bit(questions: list[Asked], weight: float, leaks: bool) -> None:
    """Where each question stands for as many asks, every number and count is as without."""
    questions = [*questions, (["a"], ["b", "a"], 1.0, 1), (["c"], ["c"], None, 1)]
    fields = {"forbidden": ({"id": "f"},)} if leaks else {}
    metrics = LEAKS if leaks else METRICS
    plain, equal = (
        evaluated(questions, [of_each] * len(questions), metrics, **fields)
        for of_each in (1.0, weight)
    )
    assert equal.weights is None
    assert repr(numbers(equal)) == repr(numbers(plain))
    assert repr(equal.counts) == repr(plain.counts)


@st.composite
def tables(draw: st.DrawFn) -> tuple[MatchTable, list[int]]:
    """A match table in which some scores are not known, and how often each question is asked."""
    shapes = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=6))
    scores = [
        draw(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=n * m, max_size=n * m))
        for n, m in shapes
    ]
    asks = draw(st.lists(st.integers(0, 3), min_size=len(shapes), max_size=len(shapes)))
    asks[0] = max(asks[0], 1)
    return table_of([*zip(shapes, scores)], asks), asks


def table_of(rows: list[tuple[tuple[int, int], list[float]]], weights: list[int]) -> MatchTable:
    """The table of questions that are numbers of documents and gold items, and their scores."""
    docs, golds = (np.cumsum([0, *(shape[side] for shape, _ in rows)]) for side in (0, 1))
    pairs = [
        (docs[row] + i // m, golds[row] + i % m, score)
        for row, ((_, m), scores) in enumerate(rows)
        for i, score in enumerate(scores)
        if score != 0
    ]
    doc, gold, score = (np.array(column) for column in zip(*pairs)) if pairs else ([], [], [])
    return MatchTable(
        doc_start=docs,
        gold_start=golds,
        grade=np.ones(golds[-1]),
        answered=np.ones(len(rows), bool),
        repeated=np.zeros(docs[-1], bool),
        pair_doc=np.array(doc, np.int32),
        pair_gold=np.array(gold, np.int32),
        pair_score=np.array(score, np.float64),
        threshold=0.5,
        unanswerable=np.zeros(len(rows), bool),
        weights=np.array(weights, np.float64),
    )


def taken(table: MatchTable, rows: list[int]) -> MatchTable:
    """The table of some questions, each as often as it is named."""
    scores = [(table.dense(row).shape, table.dense(row).ravel().tolist()) for row in rows]
    return replace(table_of(scores, [1] * len(rows)), weights=None)


@given(tables())
@examples(80)
def test_bounds_of_folded_and_unfolded_agree(pair: tuple[MatchTable, list[int]]) -> None:
    """Where scores are not known the estimate and its bounds are those of the asks, too."""
    table, asks = pair
    specs = [*map(parse, ["mrr@2", "recall@2", "precision@2", "redundancy@2", "map(norm=hits)"])]
    unfolded = taken(table, [row for row, n in enumerate(asks) for _ in range(n)])
    assume(unfolded.has_unknown == table.has_unknown)  # else all that is open weighs nothing
    for ours, theirs in zip(compute(table, specs, KRAGX), compute(unfolded, specs, KRAGX)):
        assert alike(ours.bounds, theirs.bounds)
        assert alike(ours.mean, theirs.mean)
        assert alike(ours.micro, theirs.micro)


def test_weights_stay_with_the_matches() -> None:
    """Other metrics, other thresholds, several runs: the numbers are by the same weights."""
    questions: list[Asked] = [(["a"], ["x", "a"], 1.0, 3), (["b"], ["b", "x"], 2.0, 1)]
    result = evaluated(questions, [3, 1], ["mrr@2"])
    assert result.with_metrics("recall@1")["recall@1"] == 0.25
    text = evaluate(
        GoldDataset((Query("q1", gold=(Gold(text="red big car"),), weight=3), Query("q2"))),
        Run({"q1": Retrieved((Doc(text="red big bus"),)), "q2": Retrieved(())}),
        match={"method": "rouge1", "threshold": 0.9},
        metrics=["recall@1"],
        no_gold="zero",
    )
    assert text.at_threshold(0.5)["recall@1"] == 0.75
    assert [means["recall@1"] for _, means in text.means_at([0.5, 0.9])] == [0.75, 0.0]
    joint = evaluation_of_runs([result, evaluated(questions[::-1], [3, 1], ["mrr@2"])])
    assert joint["mrr@2"] == pytest.approx((0.625 + 0.875) / 2)
    assert joint.weights is result.weights


def test_searches_facts_and_a_judge(tmp_path: Path) -> None:
    """What searches cost, facts and judged relevance count a question as often as it is asked."""

    def search(*texts: str, tokens: int) -> dict[str, Any]:
        docs = [{"text": text} for text in texts]
        return {"retrieved": docs, "tokens": tokens, "seconds": tokens / 10}

    made = [
        [search("x", tokens=5), search("red car", tokens=20)],
        [search("blue bus", tokens=40)],
        [search("x", tokens=7)],
    ]
    golds, asks = ["red car", "blue bus", "big tree"], [3, 1, 2]

    def numbers_of(rows: list[int], weights: list[int], name: str) -> Evaluation:
        queries = tuple(
            Query(
                f"q{n}",
                f"question {row}?",
                (Gold(text=golds[row]),),
                metadata={"facts": [golds[row], "x"]},
                weight=weight,
            )
            for n, (row, weight) in enumerate(zip(rows, weights))
        )
        judge = Judge(Colours(), store=tmp_path / name, progress=False)
        return evaluate(
            GoldDataset(queries),
            {f"q{n}": Searches(made[row]) for n, row in enumerate(rows)},
            match="text",
            metrics=[
                *("tokens_per_gold", "tokens_to_evidence", "seconds_to_evidence_p90"),
                *("evidence_recall@1", "first_search", "waste", "recall(of=all)"),
                *("context_completeness@1", "precision_judged@1"),
            ],
            relevance_match={"method": "llm", "judge": judge},
        )

    folded = numbers_of([0, 1, 2], asks, "folded")
    unfolded = numbers_of([0, 0, 0, 1, 2, 2], [1] * 6, "unfolded")
    assert folded["tokens_per_gold"] == pytest.approx((3 * 25 + 40 + 2 * 7) / 4)
    assert folded["precision_judged@1"] == pytest.approx(1 / 6)
    for name, number in unfolded.mean.items():
        assert alike(folded.mean[name], number), name
    assert folded.intervals["tokens_per_gold"] is not None


class Colours:
    """A judge's client from a script: what holds "blue" is relevant."""

    settings: Mapping[str, Any] = {"provider": "scripted", "base_url": None, "model": "colours"}

    async def ask(self, request: Request) -> Answer:
        """A grade."""
        grade = 3 if "blue bus" in request.messages[-1][1] else 0
        return Answer(json.dumps({"reason": "", "grade": grade}), Usage(10, 5), "colours")


def files(folder: Path) -> str:
    """Results of 40 questions, the first half of which weighs alike."""
    queries = tuple(
        Query(f"q{n}", f"question {n}?", (Gold(id=f"d{n % 7}"),), weight=2 if n < 20 else n / 7)
        for n in range(40)
    )
    dataset = GoldDataset(queries)
    run = Run(
        {
            f"q{n}": Retrieved((Doc(f"d{n % 3}"), Doc(f"d{n % 5}"), Doc(f"d{n % 4}")))
            for n in range(40)
        }
    )
    write_results(dataset, run, folder / "results.jsonl")
    write_gold(dataset, folder / "gold.jsonl")
    return str(folder / "results.jsonl")


def test_parts_are_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of parts have weights where a part has any, and numbers and counts are the whole's."""
    pq = pytest.importorskip("pyarrow.parquet")
    path = files(tmp_path)
    metrics = ["mrr@3", "precision@3", "f1@2"]
    whole = evaluate(path, match="id", metrics=metrics)
    monkeypatch.setattr(part, "PART_BYTES", 900)
    for _ in range(2):  # computed, then read
        parts = evaluate_in_parts(path, tmp_path / "out", match="id", metrics=metrics)
        assert len(parts.tables) > 3
        assert repr(numbers(parts.evaluation)) == repr(numbers(whole))
        assert parts.evaluation.counts == whole.counts
        assert parts.evaluation.weights is not None
        assert whole.weights is not None
        assert parts.evaluation.weights.tolist() == whole.weights.tolist()
    assert all("weight" in pq.read_schema(table).names for table in parts.tables)


def test_parts_that_weigh_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all questions weigh as much, the numbers of parts are those without weights."""
    pytest.importorskip("pyarrow")
    rows = [
        {"query_id": f"q{n}", "gold": [{"id": f"d{n % 3}"}], "retrieved": [{"id": "d1"}]}
        for n in range(30)
    ]
    monkeypatch.setattr(part, "PART_BYTES", 400)
    results = []
    for weight in (1, 0.3):
        path = tmp_path / f"{weight}.jsonl"
        path.write_text("\n".join(json.dumps(row | {"weight": weight}) for row in rows))
        out = evaluate_in_parts(
            str(path), tmp_path / f"out {weight}", match="id", metrics=["mrr@3", "precision@3"]
        )
        results.append((repr(numbers(out.evaluation)), out.evaluation.counts))
    assert results[0] == results[1]


def test_a_report_has_them_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """report.json says what each question stands for, and the screen how many asks in all."""
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    asked = {"dataset": "gold.jsonl", "retrievers": {"mine": {"results": "results.jsonl"}}}
    asked |= {"match": "id", "metrics": ["mrr@3"]}
    Path("kragx.yaml").write_text(json.dumps(asked))
    report = run_config(config.load(Path("kragx.yaml")), progress=False)
    weights = report.to_dict()["weights"]
    assert weights["q0"] == 2.0
    assert weights["q39"] == pytest.approx(39 / 7)
    assert "numbers of" in str(report)
    plain = GoldDataset(tuple(replace(query, weight=1) for query in report.dataset))
    write_gold(plain, "gold.jsonl")
    with pytest.warns(DataWarning, match="results: .*: gold has no weight and inclusion"):
        report = run_config(config.load(Path("kragx.yaml")), progress=False)
    assert "weights" not in report.to_dict()
