"""Coverage of whole corpora, beside the rouge2 match of the same texts."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from kragx.evaluation.evidence import GatheredEvidence
from kragx.matchers import Diagnostics, RougeMatcher, SpanMatcher
from kragx.matchers.matching import match
from kragx.metrics import RankedList, compute, parse

from .support import sides, take, turns
from .workloads import SIZE, texts

KS = (1, 3, 5, 10, 100)
METRICS = {
    "kragx": [f"coverage@{k}" for k in KS],
    "kragx-bridged": [f"coverage@{k}(bridge=2)" for k in KS],
    "kragx-all": [f"{name}@{k}" for k in KS for name in ("coverage", "density", "iou")],
}


@cache
def evidence(n_queries: int) -> GatheredEvidence:
    """The answers of the workload; its matches are not asked for."""
    items = texts(n_queries).items
    lists = [RankedList(item.query, item.docs, "answered") for item in items]
    return GatheredEvidence(lists, match(items, RougeMatcher("rouge2"), Diagnostics()))


def measured(known: GatheredEvidence, names: list[str]) -> tuple[Any, ...]:
    """Each metric, everything read anew."""
    anew = GatheredEvidence(known.lists, known.table)
    return compute(known.table, [parse(name) for name in names], evidence=anew)


@sides("kragx", "kragx-bridged", "kragx-all", "kragx-span", "floor-rouge2")
@turns
def test_coverage(benchmark: Any, side: str, turn: int) -> None:
    """Coverage of the ROUGE rows' texts, all distinct, and the rouge2 match itself."""
    known = evidence(SIZE.rouge_queries)
    items = texts(SIZE.rouge_queries).items
    if side in METRICS:
        take(benchmark, "coverage", lambda: measured(known, METRICS[side]))
    else:
        kind = SpanMatcher if side == "kragx-span" else RougeMatcher
        take(benchmark, "coverage", lambda: list(kind().scores(items, Diagnostics())))


@pytest.mark.integration
def test_values_of_the_workload() -> None:
    """Each document holds 0, 30, 60 or 90 % of a gold text; bridging finds little more."""
    known = evidence(40)
    plain, bridged = measured(known, ["coverage@100", "coverage@100(bridge=2)"])
    assert 0.5 < plain.mean < 1
    assert plain.mean == pytest.approx(bridged.mean, abs=0.01)
