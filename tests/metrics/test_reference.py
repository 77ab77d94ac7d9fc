"""The engine against the slow reference, on random ragged tables."""

from __future__ import annotations

from dataclasses import asdict, fields
from math import nan

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.metrics import MetricSpec, parse
from tests.thoroughness import examples, some

from . import reference
from .support import OPTIONS, TINY, Ranking, compute, metric_strings, quick, rankings, table

several = st.lists(rankings(), min_size=1, max_size=4)
cuts = st.lists(st.none() | st.integers(1, 9), min_size=1, max_size=3, unique=True)
thresholds = st.sampled_from([0.2, 0.5, 0.9])


def wanted(spec: MetricSpec) -> reference.Wanted:
    """The spec, as the reference takes it."""
    named = {each.name for each in fields(reference.Wanted)}
    options = {name: value for name, value in spec.options.items() if name in named}
    return reference.Wanted(name=spec.name, k=spec.k, **options)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("no_gold", some(["skip", "zero", "abstain"], 3))
@given(queries=several, ks=cuts, threshold=thresholds)
@examples(40)
def test_engine_equals_reference(
    name: str, no_gold: str, queries: list[Ranking], ks: list[int | None], threshold: float
) -> None:
    """Every option at every cut gives the reference's value for each query and in the mean."""
    specs = [parse(text) for text in metric_strings(ks, names=[name], rels=("2", "0.25"))]
    results = compute(table(*queries, threshold=threshold), specs, no_gold)
    assert [result.spec for result in results] == specs
    for result in results:
        metric = wanted(result.spec)
        expected = [reference.under_policy(q, metric, no_gold, threshold) for q in queries]
        plain = [nan if value is None else value for value in expected]
        np.testing.assert_allclose(result.values, plain, rtol=0, atol=TINY, err_msg=str(metric))
        mean = reference.mean(expected)
        assert result.mean == (None if mean is None else pytest.approx(mean, abs=TINY, rel=0))
        assert result.n_scored == sum(value is not None for value in expected)


@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
@pytest.mark.parametrize("no_gold", some(["skip", "zero", "abstain"], 3))
@given(queries=several, ks=cuts)
@examples(40)
def test_micro_equals_reference(
    name: str, no_gold: str, queries: list[Ranking], ks: list[int | None]
) -> None:
    """The four pooled counts and the micro average are the reference's."""
    specs = [parse(text) for text in metric_strings(ks, names=[name])]
    for result in compute(table(*queries), specs, no_gold):
        expected = reference.pooled(queries, wanted(result.spec), no_gold)
        assert result.pooled is not None
        assert {**asdict(result.pooled), "n_scored": expected.n_scored} == asdict(expected)
        assert (result.micro is None) == (expected.micro(name) is None) == (result.mean is None)
        if result.micro is not None:
            assert result.micro == pytest.approx(expected.micro(name), abs=TINY, rel=0)


@given(queries=several, ks=cuts, data=st.data())
@quick
def test_metrics_do_not_depend_on_company(
    queries: list[Ranking], ks: list[int | None], data: st.DataObject
) -> None:
    """A metric computed alone has the value that it has among all others, in any order."""
    shuffled = data.draw(st.permutations(metric_strings(ks)))
    together = compute(table(*queries), [parse(text) for text in shuffled])
    for result in data.draw(st.permutations(together))[:8]:
        (alone,) = compute(table(*queries), [result.spec])
        np.testing.assert_allclose(alone.values, result.values, rtol=0, atol=TINY)
        assert alone.pooled == result.pooled


@given(queries=several)
@quick
def test_queries_do_not_depend_on_company(queries: list[Ranking]) -> None:
    """A query scored alone has the values that it has among other queries."""
    specs = [parse(text) for text in metric_strings([2, None])]
    together = np.array([result.values for result in compute(table(*queries), specs)])
    for row, query in enumerate(queries):
        alone = np.array([result.values for result in compute(table(query), specs)])
        np.testing.assert_allclose(alone[:, 0], together[:, row], rtol=0, atol=TINY)


def test_no_micro_beyond_sets() -> None:
    """Only precision, recall and F1 have a micro average."""
    results = compute(table(Ranking(((1.0,),), (1.0,))), [parse(name) for name in OPTIONS])
    assert {r.spec.name for r in results if r.micro is not None} == {"precision", "recall", "f1"}


def test_reference_knows_the_textbook() -> None:
    """The reference's DCG is the usual one: 5.0178 for gains 3, 1, 2, 0, 1, at best 5.1925."""
    gains = [3.0, 1.0, 2.0, 1.0]
    assert reference.dcg(gains, [1, 2, 3, 5], 5) == pytest.approx(5.0178, abs=5e-5)
    assert reference.dcg(gains, [1, 1, 1, 1], 5) == pytest.approx(5.1925, abs=5e-5)
