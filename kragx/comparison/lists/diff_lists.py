"""From two runs to what differs between their lists."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kragx.comparison.advice import Failures
from kragx.comparison.gate_conditions import Gate, conditions_by_metric, read_condition
from kragx.comparison.gates import GateResult
from kragx.comparison.lists.list_diff import ListDiff
from kragx.comparison.lists.question_diff import By, Identity, QuestionDiff
from kragx.data import Doc, Query, Run
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import message, number
from kragx.metrics.weights import question_weights, weighted_mean

KS = (1, 5, 10)
"""The depths that are looked at where none is named, as far as lists go."""

_MEASURE = re.compile(r"(?:unchanged|jaccard)@([1-9]\d*)|rbo")


def diff_lists(
    queries: Sequence[Query],
    old: Run,
    new: Run,
    *,
    ks: Sequence[int] | None = None,
    by: By | None = None,
    fields: Sequence[str] = (),
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
        by: how documents are told; None to find out (`Identity.of`).
        fields: metadata that a metric or rule reads, which must be the same as well.
        max_failed: the share of questions that a version may fail on.
        gates: what the numbers are held against, ``unchanged@5: >= 0.8``.
        reworded: the ids of questions that the versions were not asked in the same words, which are
            left out.

    Raises:
        DataError: no question has two lists; or nothing tells documents.
        UsageError: a depth, a gate or `by` cannot be.
    """
    conditions = [*_conditions(gates)]
    left_out = tuple(query.id for query in queries if query.id in reworded)
    queries = [query for query in queries if query.id not in reworded]
    sides = [(_documents(old, query), _documents(new, query)) for query in queries]
    pairs = [(before, after) for before, after in sides if before is not None and after is not None]
    if not pairs:
        words = f"; other words stand under {len(left_out)} of their ids" if left_out else ""
        raise DataError(
            "no question has a list of {name} and of {name_2}{words}",
            remedy="name two results of the same questions, which join by their ids",
            name=old.name,
            name_2=new.name,
            words=words,
        )
    identity = Identity.of(pairs, by, fields)
    numbers = identity.numbers(pairs)
    diffs = tuple(
        QuestionDiff(
            query,
            *pair,
            ((), ()) if None in pair else next(numbers),
            weight=query.weight / query.inclusion,
        )
        for query, pair in zip(queries, sides)
    )
    depths = {*_depths(ks, diffs)}
    depths |= {int(match[1]) for gate in conditions if (match := _measure(gate)) and match[1]}
    diff = ListDiff(
        old.name,
        new.name,
        tuple(sorted(depths)),
        identity,
        counts={},
        mean={},
        failures=tuple(_failures(queries, (old, new), max_failed)),
        questions=diffs,
        reworded=left_out,
    )
    diff = replace(diff, counts=_counts(diff, old, new), mean=_means(diff))
    return replace(diff, gates=tuple(_held(gate, diff) for gate in conditions))


def _documents(run: Run, query: Query) -> tuple[Doc, ...] | None:
    answer = run.results.get(query.id)
    return None if answer is None or answer.error is not None else answer.documents


def _depths(ks: Sequence[int] | None, diffs: Sequence[QuestionDiff]) -> Sequence[int]:
    for k in ks or ():
        if k < 1:
            raise UsageError("k: {k} is no depth; name whole numbers from 1", k=k)
    if ks:
        return ks
    longest = max(len(side) for diff in diffs for side in diff.numbers)
    return [k for place, k in enumerate(KS) if not place or KS[place - 1] < longest]


def _means(diff: ListDiff) -> dict[str, float | None]:
    """Of each measure over the asks of the questions with two lists."""
    asks = np.array([question.weight for question in diff.questions], np.float64)
    # Of all questions, also those without two lists: who is asked more often stays so.
    weights = question_weights(asks, np.ones_like(asks))
    rows = [row for row, question in enumerate(diff.questions) if question.is_known]
    known = [diff.questions[row] for row in rows]
    values: dict[str, list[Any]] = {
        f"unchanged@{k}": [question.is_equal(k) for question in known] for k in diff.ks
    }
    values |= {f"jaccard@{k}": [question.jaccard(k) for question in known] for k in diff.ks}
    values |= {"rbo": [question.overlap() for question in known]}
    return {
        name: weighted_mean(
            np.array(column, np.float64), None if weights is None else weights[rows]
        )
        for name, column in values.items()
    }


def _counts(diff: ListDiff, old: Run, new: Run) -> dict[str, float]:
    known = [question for question in diff.questions if question.is_known]
    counts: dict[str, float] = {"n_questions": len(diff.questions), "n_compared": len(known)}
    if diff.is_weighted:
        counts["n_asks"] = sum(question.weight for question in known)
    ids = {question.query.id for question in diff.questions}
    for side, run in (("old", old), ("new", new)):
        # A question that fails in a later run alone has a list here, and did not fail.
        first = replace(run, reruns=())  # of several runs
        counts[f"n_failed_{side}"] = len(ids & first.failures.keys())
        counts[f"n_missing_{side}"] = len(ids - run.results.keys())
        counts[f"n_extra_{side}"] = len(run.results.keys() - ids.union(diff.reworded))
        counts[f"n_runs_{side}"] = len(run.every)
    for k in diff.ks:
        counts[f"documents@{k}"] = sum(len(question.numbers[1][:k]) for question in known)
        moves = np.sum([question.counts(k) for question in known], axis=0).tolist()
        counts |= {f"{name}@{k}": n for name, n in zip(("came", "went", "moved"), moves)}
    return counts


def _failures(
    queries: Sequence[Query], runs: Sequence[Run], max_failed: float
) -> Iterator[Failures]:
    for run in runs:
        # The first of several runs is what is set side by side, so its failures alone count.
        errors = replace(run, reruns=()).failures
        failed = {query.id: errors[query.id] for query in queries if query.id in errors}
        for query_id, error in [*failed.items()][:1]:
            first, ids = f"{query_id}: {error}", frozenset(failed)
            yield Failures(run.name, len(failed), len(queries), first, max_failed, ids)


def _measure(gate: Gate) -> re.Match[str] | None:
    return _MEASURE.fullmatch(gate.metric)


def _conditions(gates: Sequence[str]) -> Iterator[Gate]:
    """The gates of a command line; a `UsageError` names what is none."""
    for measure, texts in conditions_by_metric(gates).items():
        for text in texts:
            gate = read_condition("--gate", measure, text)
            if gate is None or _measure(gate) is None or gate.sign is None or gate.surely:
                raise UsageError(
                    "--gate {measure}: {text!r} is no condition here",
                    remedy="write for example unchanged@5: >= 0.8; jaccard@5 and rbo can be held "
                    "to a limit as well",
                    measure=measure,
                    text=text,
                )
            yield gate


def _held(gate: Gate, diff: ListDiff) -> GateResult:
    """What became of a gate; where a version is not comparable none passes."""
    value = diff.mean[gate.metric]
    text: str = number(value)
    passed = value is not None and gate.limit("higher").holds(value)
    n, of = diff.counts["n_compared"], diff.counts["n_questions"]
    if n < of:
        text = message("{value}, by {n} of {of} questions", value=text, n=n, of=of)
    failed = next((failure for failure in diff.failures if not failure.tolerated), None)
    if failed is not None:
        text = message("not comparable: {name} {failed}", name=failed.retriever, failed=failed.text)
        value, passed = None, False
    by = diff.identity.by
    return GateResult(
        gate.path, gate.metric, gate.condition, by, diff.new, None, value, passed, text
    )
