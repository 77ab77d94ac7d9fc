"""Two versions side by side: how much of what they return is the same, and where most changed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kragx.comparison.advice import Failures
from kragx.comparison.gate_conditions import Gate, conditions_by_metric, read_condition
from kragx.comparison.gates import GateResult, gates_parts
from kragx.comparison.lists.question_diff import By, Identity, QuestionDiff
from kragx.data import Query, Run
from kragx.data.gold import cut
from kragx.ground.errors import DataError, UsageError
from kragx.ground.json_values import HIDDEN, jsonable_fields
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    Table,
    joined,
    listed,
    message,
    number,
    percent,
    plural,
    visible,
    warning,
)
from kragx.metrics.weights import question_weights, weighted_mean

SHOWN = 5
"""How many of the questions that changed most are shown."""

NAMED = 5
"""So many of the questions that are left out are named."""

LISTED = 10_000
"""And how many are in the result's plain values."""

_BY = {
    "id": message("documents are the same by id and text"),
    "text": message("documents are the same by their text"),
    "overlap": message("documents are alike by half of their word pairs"),
}


@dataclass(frozen=True)
class ListDiff(Result):
    """What two versions of a retriever return to the same questions.

    Attributes:
        old, new: what the versions are called.
        ks: the depths that are looked at.
        identity: how documents are told.
        counts: ``n_questions``; ``n_compared``, those with two lists; ``n_failed_old``,
            ``n_failed_new``, ``n_missing_old``, ``n_missing_new``; ``n_extra_old``,
            ``n_extra_new``, those of either that nobody named, left out; ``n_runs_old``,
            ``n_runs_new``, how often either was asked, of which the first time counts; at each
            depth, of those compared, ``documents@k`` of the new lists, ``came@k``, ``went@k``,
            ``moved@k``. Where
            questions stand for different numbers of asks ``n_asks``, of those compared.
        mean: over the asks of the questions compared: ``unchanged@k``, the share of equal lists;
            ``jaccard@k``; ``rbo``, rank-biased overlap of the whole lists. None without one.
        failures: of the versions that failed.
        gates: what the numbers were held against.
        questions: all of them, in order, but those left out.
        reworded: the ids of the questions left out, as other words stand under the same id.

    Examples:
        >>> from kragx import diff
        >>> result = diff([["a", "b"], ["c"]], [["a", "b"], ["d"]])
        >>> result.mean["unchanged@5"], [move.new for move in result.questions[1].moves()]
        (0.5, [1, None])
    """

    old: str
    new: str
    ks: tuple[int, ...]
    identity: Identity
    counts: Mapping[str, float]
    mean: Mapping[str, float | None]
    failures: tuple[Failures, ...]
    questions: tuple[QuestionDiff, ...] = field(repr=False, metadata=HIDDEN)
    gates: tuple[GateResult, ...] = ()
    reworded: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether equal lists have equal values in every metric of documents, and need no label."""
        return self.identity.is_exact

    @property
    def is_weighted(self) -> bool:
        """Whether questions stand for different numbers of asks."""
        return len({question.weight for question in self.questions}) > 1

    @property
    def most_changed(self) -> list[QuestionDiff]:
        """The questions whose lists differ, the least alike first, then the most asked."""
        k = self.ks[-1]
        changed = (question for question in self.questions if question.is_equal(k) is False)
        return sorted(changed, key=lambda question: (question.overlap(), -question.weight))

    def describe(self) -> Iterator[Part]:
        """How much is the same, by depth, and the questions that changed most."""
        counts, names = self.counts, {"old": visible(self.old), "new": visible(self.new)}
        head = message(
            "{old} → {new}: {n} of {of} questions have two lists",
            n=counts["n_compared"],
            of=counts["n_questions"],
            **names,
        )
        yield Line(joined("; ", [head, self.by]), "bold")
        yield from map(warning, self.remarks)
        yield self.depths_table()
        if changed := self.most_changed:
            yield self._changed(changed)
        yield from gates_parts(self.gates)
        is_same = self.is_exact and all(question.is_equal() for question in self.questions)
        next_step = message(
            "nothing differs, so no metric of ids and texts does"
            if is_same
            else "whether it got better, 'kragx compare' says where there is gold; without, people "
            "label what differs: --workshop FOLDER --metric precision@{k}",
            k=self.ks[-1],
        )
        yield Line(next_step, "dim")

    @property
    def by(self) -> str:
        """By what documents are told."""
        identity = self.identity
        by_id_alone = identity.by == "id" and not identity.reads_texts
        text: str = message("documents are the same by id") if by_id_alone else _BY[identity.by]
        if identity.fields:
            names = ", ".join(map(visible, identity.fields))
            text = joined(", ", [text, message("with the same {fields}", fields=names)])
        return text

    @property
    def remarks(self) -> Iterator[str]:
        """What a reader must know of the numbers."""
        for failure in self.failures:
            if failure.failed:
                yield from (line.text for line in failure.describe())
            else:
                yield message(
                    "{retriever} {failed}, neither the same nor changed there; the first: {first}",
                    retriever=visible(failure.retriever),
                    failed=failure.text,
                    first=cut(failure.first, 200),
                )
        yield from self._identity_remarks()
        yield from self.left_out
        for side, name in self._sides:
            if not any(getattr(question, side) for question in self.questions):
                yield message("{name} returned nothing for any question", name=name)
            if n := self.counts[f"n_missing_{side}"]:
                yield plural(
                    n,
                    "1 question is not among the results of {name}: neither the same nor changed",
                    "{n} questions are not among the results of {name}: neither the same nor "
                    "changed",
                    name=name,
                )
            # Runs of one version differ among themselves; lists are set side by side one by one.
            if (n := self.counts[f"n_runs_{side}"]) > 1:
                yield joined(": ", [name, message("asked {n} times; shown is the first", n=n)])

    def _identity_remarks(self) -> Iterator[str]:
        """Where what is called the same is not, or the other way round."""
        identity = self.identity
        n_same = identity.n_shared - identity.n_edited
        if not identity.is_exact:
            yield message(
                "these lists are alike and not the same: ids or texts do not meet, so equal lists "
                "need not have equal values"
            )
        if identity.n_edited:
            yield plural(
                identity.n_edited,
                "1 of the {of} ids that both have stands for another text in {new}; such documents "
                "are not the same",
                "{n} of the {of} ids that both have stand for another text in {new}; such "
                "documents are not the same",
                of=identity.n_shared,
                new=visible(self.new),
            )
        if identity.by == "id" and identity.n_renamed > n_same:
            yield message(
                "documents that meet by id and text: {n}; texts of both that stand under other "
                "ids, and are not the same: {texts}; by their texts '--by text' compares",
                n=n_same,
                texts=identity.n_renamed,
            )

    @property
    def left_out(self) -> Iterator[str]:
        """The questions that stand in the results and are not compared."""
        if n_reworded := len(self.reworded):
            yield plural(
                n_reworded,
                "1 question has other words under the same id, and is left out: {questions}",
                "{n} questions have other words under the same id, and are left out: {questions}",
                questions=listed([*map(visible, self.reworded)], NAMED),
            )
        for side, name in self._sides:
            if n := self.counts[f"n_extra_{side}"]:
                yield plural(
                    n,
                    "1 question of {name} is none of those named, and is left out",
                    "{n} questions of {name} are none of those named, and are left out",
                    name=name,
                )

    @property
    def _sides(self) -> tuple[tuple[str, str], ...]:
        return ("old", visible(self.old)), ("new", visible(self.new))

    def depths_table(self) -> Table:
        """How much is the same at each depth."""
        mean, counts = self.mean, self.counts
        unchanged: str = message(
            "lists that are the same" if self.is_exact else "lists that are alike"
        )
        came = (
            message("{n} of {of}", n=counts[f"came@{k}"], of=counts[f"documents@{k}"])
            for k in self.ks
        )
        rows: list[list[str]] = [
            [unchanged, *(percent(mean[f"unchanged@{k}"]) for k in self.ks)],
            ["Jaccard", *(number(mean[f"jaccard@{k}"]) for k in self.ks)],
            [message("documents that came"), *came],
            [message("documents that went"), *(str(counts[f"went@{k}"]) for k in self.ks)],
            [message("documents that moved"), *(str(counts[f"moved@{k}"]) for k in self.ks)],
        ]
        note = message("rank-biased overlap (p = .9) {rbo}", rbo=number(mean["rbo"]))
        weighted = ""
        if self.is_weighted:
            asks = f"{counts['n_asks']:,g}"
            weighted = message("shares are of {asks} asks, documents of questions", asks=asks)
        return Table(["", *(f"@{k}" for k in self.ks)], rows, note=joined("; ", [note, weighted]))

    def _changed(self, changed: list[QuestionDiff]) -> Table:
        asks = [message("asks")] * self.is_weighted
        rows = [
            [
                visible(question.query.id),
                cut(question.query.text or "", 50),
                *[f"{question.weight:g}"] * self.is_weighted,
                number(question.overlap()),
                *map(str, question.counts(self.ks[-1])),
            ]
            for question in changed[:SHOWN]
        ]
        words = [message("changed most"), message("question"), *asks]
        columns = [*words, "rbo", message("came"), message("went"), message("other rank")]
        more = len(changed) - SHOWN
        note = message("and {n} more", n=more) if more > 0 else ""
        return Table(columns, rows, words=2, note=note)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``changed`` has the questions that changed, the most changed first."""
        changed = [question.plain(self.ks[-1]) for question in self.most_changed[:LISTED]]
        return {**jsonable_fields(self), "changed": changed}


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
    old_lists, new_lists = (
        {name: answer.documents for name, answer in run.results.items() if answer.error is None}
        for run in (old, new)
    )
    sides = [(old_lists.get(query.id), new_lists.get(query.id)) for query in queries]
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
    depths |= {int(gate.metric.partition("@")[2]) for gate in conditions if "@" in gate.metric}
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
    questions = [diff.questions[row] for row in rows]
    values: dict[str, list[Any]] = {
        **{f"unchanged@{k}": [question.is_equal(k) for question in questions] for k in diff.ks},
        **{f"jaccard@{k}": [question.jaccard(k) for question in questions] for k in diff.ks},
        "rbo": [question.overlap() for question in questions],
    }
    weights = None if weights is None else weights[rows]
    columns = {name: np.array(column, np.float64) for name, column in values.items()}
    return {name: weighted_mean(column, weights) for name, column in columns.items()}


def _counts(diff: ListDiff, old: Run, new: Run) -> dict[str, float]:
    known = [question for question in diff.questions if question.is_known]
    counts: dict[str, float] = {"n_questions": len(diff.questions), "n_compared": len(known)}
    if diff.is_weighted:
        counts["n_asks"] = sum(question.weight for question in known)
    ids = {question.query.id for question in diff.questions}
    for side, run in (("old", old), ("new", new)):
        # Of several runs the first: a question that fails in a later one alone has a list here.
        counts |= {
            f"n_failed_{side}": len(ids & replace(run, reruns=()).failures.keys()),
            f"n_missing_{side}": len(ids - run.results.keys()),
            f"n_extra_{side}": len(run.results.keys() - ids.union(diff.reworded)),
            f"n_runs_{side}": len(run.every),
        }
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


def _conditions(gates: Sequence[str]) -> Iterator[Gate]:
    """The gates of a command line; a `UsageError` names what is none."""
    for measure, texts in conditions_by_metric(gates).items():
        for text in texts:
            gate = read_condition("--gate", measure, text)
            is_measure = _MEASURE.fullmatch(measure) is not None
            if gate is None or not is_measure or gate.than or gate.surely:
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
    passed = value is not None and gate.holds(value)
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
