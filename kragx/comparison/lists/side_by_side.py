"""From two runs to what differs between their lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from kragx.comparison.failures import Failures
from kragx.comparison.lists.gates import depths_of, read_list_gates, with_gates
from kragx.comparison.lists.identity import By, Identity
from kragx.comparison.lists.list_diff import ListDiff, SliceDiff
from kragx.comparison.lists.question_diff import QuestionDiff
from kragx.comparison.slices import sliced
from kragx.data import Doc, Query, Retrieved, Run
from kragx.ground.errors import DataError, UsageError
from kragx.metrics import Floats
from kragx.metrics.weights import question_weights, weighted_mean

KS = (1, 5, 10)
"""The depths that are looked at where none is named, as far as lists go."""


def diff_lists(
    queries: Sequence[Query],
    old: Run,
    new: Run,
    *,
    ks: Sequence[int] | None = None,
    ordered: bool = True,
    by: By | None = None,
    fields: Sequence[str] = (),
    slices: Iterable[str] = (),
    max_failed: float = 0.0,
    gates: Sequence[str] = (),
    reworded: Collection[str] = (),
) -> ListDiff:
    """Set two runs side by side.

    Args:
        queries: the questions, with their weights.
        old: what the old version returned; of several runs the first counts.
        new: what the new one did.
        ks: the depths to look at; None for `KS`, as far as lists go.
        ordered: whether lists are equal only in the same order.
        by: how documents are told; None to find out (`Identity.of`).
        fields: metadata that a metric or rule reads, which must be the same as well.
        slices: fields of questions to look within.
        max_failed: the share of questions that a version may fail on.
        gates: what the numbers are held against, ``unchanged@5: >= 0.8``.
        reworded: the ids of questions that the versions were not asked in the same words, which are
            left out.

    Raises:
        DataError: no question has two lists; or nothing tells documents.
        UsageError: a depth, a gate or `by` cannot be.
    """
    conditions = read_list_gates(gates)
    n_runs = {"n_runs_old": len(old.every), "n_runs_new": len(new.every)}
    old, new = replace(old, reruns=()), replace(new, reruns=())
    left_out = tuple(query.id for query in queries if query.id in reworded)
    queries = [query for query in queries if query.id not in reworded]
    diffs, identity = _questions(queries, old, new, by, fields)
    known = [question for question in diffs if question.is_known]
    if not known:
        words = f"; other words stand under {len(left_out)} of their ids" if left_out else ""
        raise DataError(
            f"no question has a list of {old.name} and of {new.name}{words}",
            remedy="name two results of the same questions, which join by their ids",
        )
    depths = tuple(sorted({*_depths(ks, known), *depths_of(conditions)}))
    values, weights = _values(diffs, depths, ordered=ordered), _weights(diffs)
    outcome = ListDiff(
        old.name,
        new.name,
        depths,
        ordered,
        identity,
        _counts(diffs, known, old, new, depths) | n_runs | _extra(queries, left_out, old, new),
        _means(values, weights),
        tuple(_slices(diffs, values, weights, slices)),
        tuple(_failures(queries, (old, new), max_failed)),
        tuple(diffs),
        reworded=left_out,
    )
    return with_gates(outcome, conditions)


def _questions(
    queries: Sequence[Query], old: Run, new: Run, by: By | None, fields: Sequence[str]
) -> tuple[list[QuestionDiff], Identity]:
    sides = [(_docs(old, query), _docs(new, query)) for query in queries]
    pairs = [(left, right) for left, right in sides if left is not None and right is not None]
    identity = Identity.of(pairs, by, fields)
    numbers = identity.numbers(pairs)
    return [
        QuestionDiff(
            query,
            left,
            right,
            next(numbers) if left is not None and right is not None else ((), ()),
            weight=query.weight / query.inclusion,
        )
        for query, (left, right) in zip(queries, sides)
    ], identity


def _docs(run: Run, query: Query) -> tuple[Doc, ...] | None:
    answer = run.results.get(query.id, Retrieved(error="missing"))
    return answer.documents if answer.error is None else None


def _depths(ks: Sequence[int] | None, known: Sequence[QuestionDiff]) -> Sequence[int]:
    for k in ks or ():
        if k < 1:
            raise UsageError(f"k: {k} is no depth; name whole numbers from 1")
    if ks:
        return ks
    longest = max(len(side) for question in known for side in question.numbers)
    return [k for place, k in enumerate(KS) if not place or KS[place - 1] < longest]


def _values(
    diffs: Sequence[QuestionDiff], ks: Sequence[int], *, ordered: bool
) -> dict[str, Floats]:
    """The value of each question by measure (q); NaN where there are not two lists."""

    def column(measure: Any) -> Floats:
        return np.array([measure(diff) if diff.is_known else nan for diff in diffs], np.float64)

    return {
        **{f"unchanged@{k}": column(lambda d, k=k: d.is_equal(k, ordered=ordered)) for k in ks},
        **{f"jaccard@{k}": column(lambda d, k=k: d.jaccard(k)) for k in ks},
        "rbo": column(QuestionDiff.overlap),
    }


def _weights(diffs: Sequence[QuestionDiff]) -> Floats | None:
    asks = np.array([diff.weight for diff in diffs], np.float64)
    return question_weights(asks, np.ones_like(asks))


def _means(
    values: Mapping[str, Floats], weights: Floats | None, rows: Any = slice(None)
) -> dict[str, float | None]:
    of_rows = None if weights is None else weights[rows]
    return {name: weighted_mean(column[rows], of_rows) for name, column in values.items()}


def _counts(
    diffs: Sequence[QuestionDiff],
    known: Sequence[QuestionDiff],
    old: Run,
    new: Run,
    ks: Sequence[int],
) -> dict[str, float]:
    counts: dict[str, float] = {"n_questions": len(diffs), "n_compared": len(known)}
    if _weights(diffs) is not None:
        counts["n_asks"] = sum(diff.weight for diff in known)
    ids = {diff.query.id for diff in diffs}
    for side, run in (("old", old), ("new", new)):
        counts[f"n_failed_{side}"] = len(ids & run.failures.keys())
        counts[f"n_missing_{side}"] = len(ids - run.results.keys())
    for k in ks:
        moved = np.array([diff.counts(k) for diff in known]).sum(axis=0)
        counts[f"documents@{k}"] = sum(len(diff.numbers[1][:k]) for diff in known)
        counts |= {f"{name}@{k}": int(n) for name, n in zip(("came", "went", "moved"), moved)}
    return counts


def _extra(
    queries: Sequence[Query], left_out: Sequence[str], old: Run, new: Run
) -> dict[str, float]:
    """How many questions of either run are none of those named."""
    ids = {query.id for query in queries}.union(left_out)
    return {
        f"n_extra_{side}": len(run.results.keys() - ids)
        for side, run in (("old", old), ("new", new))
    }


def _slices(
    diffs: Sequence[QuestionDiff],
    values: Mapping[str, Floats],
    weights: Floats | None,
    fields: Iterable[str],
) -> Iterator[SliceDiff]:
    is_known = np.array([diff.is_known for diff in diffs])
    for name, value, rows in sliced([diff.query for diff in diffs], fields):
        compared = [row for row in rows if is_known[row]]
        if compared:
            total = None if weights is None else float(weights[is_known].sum())
            share = (
                float(weights[compared].sum()) / total if weights is not None and total else None
            )
            means = _means(values, weights, compared)
            yield SliceDiff(name, value, len(compared), share, means)


def _failures(
    queries: Sequence[Query], runs: Sequence[Run], max_failed: float
) -> Iterator[Failures]:
    for run in runs:
        failures = run.failures
        failed = {query.id: failures[query.id] for query in queries if query.id in failures}
        if failed:
            query_id, error = next(iter(failed.items()))
            yield Failures(
                run.name,
                len(failed),
                len(queries),
                f"{query_id}: {error}",
                max_failed,
                frozenset(failed),
            )
