"""Which list a metric looks at, where that is not the one that all others do, and its gold."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.ranked_lists import gold_outcome
from kragx.metrics import MetricSpec
from kragx.metrics.search_view import NEVER, SearchView

STEPS = "steps"
"""Stands for all searches, with the number of the step in the place of a rank."""


def list_looked_at(spec: MetricSpec, basis: str | None) -> str | None:
    """The list that a metric is about, where that is not the basis."""
    if spec.metric.from_searches is not None:
        return STEPS
    if spec["of"] in (None, basis):
        return None
    return f"{spec['of']} {spec['order']}" if spec["of"] == "all" else str(spec["of"])


def ranks_in(evaluation: Evaluation, name: str | None = None) -> list[list[int | None]]:
    """For each row the first rank of each gold item in a list.

    It is 0 for an item that was not found, and None where that is not known; an item that is no
    gold (its grade is too low) has -1.

    Args:
        evaluation: with searches, where a list is named.
        name: as `list_looked_at` gives it; None for the list that the evaluation is of.
    """
    searches, table = evaluation.searches, evaluation.table
    if searches is not None and name is not None:
        of, _, order = name.partition(" ")
        table = searches.table if name == STEPS else searches.of(of, order or "turns")  # type: ignore[arg-type]  # as a spec has them
    outcome = gold_outcome(replace(evaluation, table=table))
    first = outcome.first
    if searches is not None and name == STEPS:
        steps = SearchView(searches, evaluation.profile.rel).gold_step
        first = np.where(steps == NEVER, 0, steps)
    # A rank of -1 tells the page that an item is judged, and no gold.
    ranks = np.where(outcome.relevant, first, -1).tolist()
    # A judgement that is missing could make it found: 0 would say that it was not.
    is_open = (outcome.unknown & outcome.relevant).tolist()
    known = [None if unknown else rank for rank, unknown in zip(ranks, is_open, strict=True)]
    return [known[start:end] for start, end in pairwise(table.gold_start.tolist())]
