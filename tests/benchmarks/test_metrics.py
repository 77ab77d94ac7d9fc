"""Metrics from ready matches and from dicts of ids, beside ranx, pytrec_eval and ir_measures."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest
import pytrec_eval

from kragx import Evaluation, GoldDataset, Run, evaluate
from kragx.metrics.engine import compute
from kragx.metrics.match_table import MatchTable

from .support import once, sides, take, turns
from .workloads import KS, METRICS, NAMES, SIZE, IdWorkload, ids, match_table, specs

TINY = 1e-12

TREC_NAMES = {
    "hit_rate": "success",
    "precision": "P",
    "recall": "recall",
    "map": "map_cut",
    "ndcg": "ndcg_cut",
}
"""pytrec_eval knows reciprocal rank and F without cut-offs only."""


def bare_pass(table: MatchTable) -> np.ndarray:
    """The least that seven metrics need: five sums over matches, each a bincount and a cumsum.

    It holds only where each document matches at most one gold item and every grade is above 0.
    """
    n_queries, n_cuts = table.n_queries, len(KS)
    query = np.searchsorted(table.doc_start, table.pair_doc, side="right") - 1
    rank = table.pair_doc - table.doc_start[query] + 1
    first = np.diff(query, prepend=-1) != 0
    nth = np.arange(len(query)) - np.maximum.accumulate(np.where(first, np.arange(len(query)), 0))
    cell = query * (n_cuts + 1) + np.searchsorted(KS, rank)
    weights = (
        None,
        first.astype(np.float64),
        first / rank,
        (nth + 1) / rank,
        table.grade[table.pair_gold] / np.log2(1 + rank),
    )
    sums = [np.bincount(cell, each, minlength=n_queries * (n_cuts + 1)) for each in weights]
    return np.cumsum(np.reshape(sums, (len(sums), n_queries, n_cuts + 1)), axis=2)


def by_pytrec_eval(workload: IdWorkload) -> dict[str, dict[str, float]]:
    """Per-query values by trec_eval's names."""
    cuts = ",".join(map(str, KS))
    measures = {f"{name}.{cuts}" for name in TREC_NAMES.values()} | {"recip_rank", "set_F"}
    return pytrec_eval.RelevanceEvaluator(workload.qrels, measures).evaluate(workload.run)


def by_ir_measures(workload: IdWorkload) -> Callable[[], object]:
    """The means by ir_measures' names."""
    ir_measures = importlib.import_module("ir_measures")
    names = ("Success", "P", "R", "AP", "nDCG", "RR")
    measures = [ir_measures.parse_measure(f"{name}@{k}") for name in names for k in KS]
    measures.append(ir_measures.parse_measure("SetF"))
    return lambda: ir_measures.calc_aggregate(measures, workload.qrels, workload.run)


def by_ranx(workload: IdWorkload) -> Callable[[], object]:
    """The means by ranx, which is given its own Qrels and Run, made before the clock starts."""
    ranx = importlib.import_module("ranx")
    qrels, run = ranx.Qrels(workload.qrels), ranx.Run(workload.run)

    def means() -> object:
        return ranx.evaluate(qrels, run, NAMES, save_results_in_run=False)

    return means


def by_kragx(workload: IdWorkload) -> Evaluation:
    """The same from the same dicts."""
    return evaluate(workload.qrels, workload.run, match="id", metrics=NAMES)


@sides("kragx", "peer-ranx", "floor")
@turns
def test_from_a_match_table(benchmark: Any, side: str, turn: int) -> None:
    """Seven metrics at five cut-offs from a ready match table, 100 documents x 10 gold items."""
    if side == "peer-ranx":
        pytest.importorskip("ranx", reason="ranx is not installed (extra bench)")
        take(benchmark, "metrics-table", by_ranx(ids(SIZE.metric_queries)), rounds=2)
        return
    table, wanted = match_table(SIZE.metric_queries, 100, 10), specs()
    work = (lambda: compute(table, wanted)) if side == "kragx" else (lambda: bare_pass(table))
    take(benchmark, "metrics-table", work, rounds=5)


def read_every_number(workload: IdWorkload) -> None:
    """The floor of the dicts: every score into an array, every gold id looked up."""
    rows = workload.run.values()
    np.fromiter(chain.from_iterable(row.values() for row in rows), np.float64)
    for query, golds in workload.qrels.items():
        list(map(workload.run[query].get, golds))


@sides("kragx", "peer-pytrec_eval", "floor")
@turns
def test_from_dicts(benchmark: Any, side: str, turn: int) -> None:
    """Seven metrics at five cut-offs from ``{query: {document: grade or score}}``."""
    workload = ids(SIZE.metric_queries)
    work = {
        "kragx": by_kragx,
        "peer-pytrec_eval": by_pytrec_eval,
        "floor": read_every_number,
    }[side]
    take(benchmark, "metrics-dicts", lambda: work(workload), rounds=9)


@sides("peer-ir_measures")
@once
def test_from_dicts_by_ir_measures(benchmark: Any, side: str, turn: int) -> None:
    """The same by ir_measures, which is far slower."""
    pytest.importorskip("ir_measures", reason="ir_measures is not installed (extra bench)")
    take(benchmark, "metrics-dicts", by_ir_measures(ids(SIZE.metric_queries)), rounds=1)


@sides("kragx", "floor")
@turns
def test_from_arrays(benchmark: Any, side: str, turn: int) -> None:
    """Seven metrics at five cut-offs of very many queries with 10 documents and 3 gold items."""
    table, wanted = match_table(SIZE.array_queries, 10, 3), specs()
    work = (lambda: compute(table, wanted)) if side == "kragx" else (lambda: bare_pass(table))
    take(benchmark, "metrics-arrays", work)


def test_values_equal_pytrec_eval() -> None:
    """Every value of the benchmark's dicts equals pytrec_eval's, for every query."""
    workload = ids(200)
    expected = by_pytrec_eval(workload)
    found = by_kragx(workload).queries
    for query, values in found.items():
        for metric, name in TREC_NAMES.items():
            for k in KS:
                assert abs(values[f"{metric}@{k}"] - expected[query][f"{name}_{k}"]) < TINY
        assert values["mrr@100"] == expected[query]["recip_rank"]
        assert abs(values["f1@100"] - expected[query]["set_F"]) < TINY


# Of ranx's own code, compiled by numba 0.68.
@pytest.mark.filterwarnings("ignore:.*unsafe cast from uint64")
@pytest.mark.integration
def test_means_equal_those_of_ranx_and_ir_measures() -> None:
    """The peers of the bench extra give the same means, so the same work is compared."""
    pytest.importorskip("ranx", reason="ranx is not installed (extra bench)")
    ir_measures = pytest.importorskip("ir_measures", reason="not installed (extra bench)")
    workload = ids(200)
    found = by_kragx(workload).mean
    assert by_ranx(workload)() == pytest.approx(found, abs=1e-9)
    theirs = {str(name): value for name, value in by_ir_measures(workload)().items()}
    assert theirs[str(ir_measures.parse_measure("nDCG@10"))] == pytest.approx(found["ndcg@10"])
    assert theirs[str(ir_measures.parse_measure("AP@5"))] == pytest.approx(found["map@5"])


def test_dicts_equal_documents() -> None:
    """Dicts of ids, the same as documents, and the match table behind them give equal values."""
    workload = ids(200)
    fast = by_kragx(workload)
    slow = evaluate(
        GoldDataset.from_documents(workload.qrels),
        Run.from_documents(workload.run),
        match="id",
        metrics=NAMES,
    )
    assert fast.queries == slow.queries
    assert (fast.mean, fast.micro) == (slow.mean, slow.micro)
    table = compute(match_table(200, 100, 10), specs())
    assert {str(each.spec): each.mean for each in table} == pytest.approx(fast.mean, abs=TINY)


def test_bare_pass_counts_what_metrics_count() -> None:
    """The floor's sums are those behind the metrics: it is work that cannot be left out."""
    table = match_table(50, 100, 10)
    relevant, hit, reciprocal, precisions, _ = bare_pass(table)[:, :, : len(KS)]
    values = {str(each.spec): each.values for each in compute(table, specs())}
    for column, k in enumerate(KS):
        assert values[f"precision@{k}"] == pytest.approx(relevant[:, column] / k)
        assert values[f"hit_rate@{k}"] == pytest.approx(hit[:, column])
        assert values[f"mrr@{k}"] == pytest.approx(reciprocal[:, column])
        assert values[f"map@{k}"] == pytest.approx(precisions[:, column] / 10)
    assert len(METRICS) == 7
