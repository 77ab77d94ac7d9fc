"""What metrics claim of themselves, and bounds rest on: `rises_with_matches`, `rises_with_gold`."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given

from kragx.metrics import METRICS, MetricSpec, parse
from tests.thoroughness import examples

from .support import LISTS, TINY, Ranking, compute, rankings, table

some = examples(200)


def claiming(claim: str) -> list[MetricSpec]:
    """Every metric of matches at some k, with every choice of its options with which it claims it.

    A judge's gains are left out, since these rankings have no graded scores.
    """
    specs = []
    for metric in METRICS.values():
        choices = {
            name: option.choices
            for name, option in metric.options.items()
            if option.choices and option.settable and name not in ("gain_from", *LISTS)
        }
        claimed = getattr(metric, claim)
        ks = ("@1", "@3", "") if metric.cuts else ("",)
        for k, *values in product(ks, *choices.values()):
            options = ", ".join(map("=".join, zip(choices, values)))
            if metric.from_matches is not None:
                spec = parse(f"{metric.name}{k}({options})")
                specs += [spec] if claimed is True or (claimed and claimed(spec)) else []
    return specs


def assert_not_lower(before: list[Ranking], after: list[Ranking], of: list[MetricSpec]) -> None:
    """No value is lower after than before."""
    for low, high in zip(*(compute(table(*each), of, "zero") for each in (before, after))):
        assert np.all(high.values >= low.values - TINY), low.spec


@given(rankings(min_docs=1, min_gold=1))
@some
def test_another_match_lowers_nothing_that_says_so(query: Ranking) -> None:
    """What rises with matches is never lower with one match more, whichever."""
    places = product(range(len(query.scores)), range(len(query.grades)))
    after = [query.with_score(row, column, 1.0) for row, column in places]
    assert_not_lower([query] * len(after), after, claiming("rises_with_matches"))


@pytest.mark.integration
@given(rankings(min_docs=1, min_gold=1))
@some
def test_another_gold_item_lowers_nothing_that_says_so(query: Ranking) -> None:
    """What rises with gold is never lower where an item turns out to be gold, whichever."""

    def graded(column: int, grade: float) -> Ranking:
        grades = (*query.grades[:column], grade, *query.grades[column + 1 :])
        return replace(query, grades=grades)

    # Each in a table of its own, since a metric may take the scale of grades from the table.
    for column, grade in product(range(len(query.grades)), (0.5, 4.0)):
        before, after = graded(column, 0.0), graded(column, grade)
        assert_not_lower([before], [after], claiming("rises_with_gold"))
