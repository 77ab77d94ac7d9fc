"""`agree`: how far a judge's labels are from people's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kragx.agreement.before_after import FEW_QUERIES, Change, changed
from kragx.agreement.coefficients import defined, resting_on, statistics, title, why_undefined
from kragx.agreement.label_files import Pair, Side
from kragx.agreement.labels import (
    Labels,
    Scale,
    examples_shown,
    other_forms,
    read_labels,
    read_sides,
)
from kragx.agreement.scoring import (
    METRIC,
    SystemAgreement,
    ends,
    level,
    rank_systems,
    scale_notes,
)
from kragx.comparison.statistics import (
    CONFIDENCE,
    LEAST,
    MOST_RESAMPLES,
    RESAMPLES,
    SEED,
    Interval,
    check_confidence,
    expanded_intervals,
)
from kragx.data import Run
from kragx.errors import DataError, check_whole
from kragx.judging.examples import is_held_out
from kragx.judging.store.qrels import NO_EXAMPLES
from kragx.metrics import Floats
from kragx.printing import Line, Part, Result, Table, joined, number, percent, phrase, warning

_LISTED = 10

_WHO: Mapping[Side, str] = {"judge": phrase("the judge"), "human": phrase("people")}
_SIDES: Mapping[Side, str] = {"judge": phrase("judge"), "human": phrase("human")}


@dataclass(frozen=True)
class OutOfScale:
    """A label that the scale does not have; its pair is not compared."""

    side: Side
    query_id: str
    document_id: str
    grade: float


@dataclass(frozen=True)
class Agreement(Result):
    """How far a judge's labels are from people's.

    Attributes:
        scale: the labels there are.
        pairs: how many pairs were compared: those with a label on the scale from both sides.
        queries: how many queries they belong to.
        confusion: (l, l) how many pairs have each human label (row) and judge's label (column).
        values: each statistic by name, None where it is undefined: ``kappa``, ``kappa_linear``,
            ``kappa_quadratic``, ``alpha_ordinal``, ``accuracy``, ``bias``,
            ``kappa_binary.<cut>`` and ``bias.<human label>``.
        intervals: of each of them; None where there is none.
        undefined: why a value is None.
        missing: for each side the pairs that only the other side has labelled.
        out_of_scale: labels that are not on the scale.
        n_repeated: for each side, how many pairs stood there again with the same label.
        notes: what a reader must know.
        systems: with runs, how alike both sides rank them.
        change: from labels before to these, if there are any.
        settings: confidence, resamples, seed and method of the intervals; ``examples``, the name of
            those that the judge was shown; ``held_out``, whether only queries count whose labels
            are never examples.

    Examples:
        >>> from kragx import agree
        >>> agreement = agree({"q1": {"a": 1, "b": 0}}, {"q1": {"a": 1, "b": 1}}, resamples=50)
        >>> agreement.pairs, agreement["accuracy"]
        (2, 0.5)
    """

    scale: Scale
    pairs: int
    queries: int
    confusion: tuple[tuple[int, ...], ...]
    values: Mapping[str, float | None]
    intervals: Mapping[str, Interval | None]
    undefined: Mapping[str, str]
    missing: Mapping[Side, tuple[Pair, ...]]
    out_of_scale: tuple[OutOfScale, ...]
    n_repeated: Mapping[Side, int]
    notes: tuple[str, ...]
    systems: SystemAgreement | None
    change: Change | None
    settings: Mapping[str, Any]

    also_plain: ClassVar[tuple[str, ...]] = ("base_rates",)

    def __getitem__(self, name: str) -> float | None:
        return self.values[name]

    @property
    def base_rates(self) -> dict[Side, dict[str, float]]:
        """For each side, the share of compared pairs with each label."""
        matrix = np.array(self.confusion)
        labels = list(map(str, self.scale.labels))
        return {
            "human": dict(zip(labels, (matrix.sum(1) / self.pairs).tolist())),
            "judge": dict(zip(labels, (matrix.sum(0) / self.pairs).tolist())),
        }

    def describe(self) -> Iterator[Part]:
        """The statistics with intervals, the confusion matrix, and what was left out."""
        settings = self.settings
        judge: str = settings["judge"]
        if settings["examples"]:
            judge = phrase(
                "{judge} with examples {examples}", judge=judge, examples=settings["examples"]
            )
        headline = phrase(
            "{judge} against {human}: {n} pairs of {n_queries} held-out queries, labels {scale}"
            if settings["held_out"]
            else "{judge} against {human}: {n} pairs of {n_queries} queries, labels {scale}",
            judge=judge,
            human=settings["human"],
            n=self.pairs,
            n_queries=self.queries,
            scale=str(self.scale),
        )
        inferred = phrase("(as the human labels have them)") if self.scale.inferred else ""
        yield Line(joined(" ", [headline, inferred]))
        yield Table(
            (phrase("statistic"), phrase("value"), level(settings["confidence"])),
            [
                (title(name), number(value), ends(self.intervals[name]))
                for name, value in self.values.items()
            ],
        )
        yield self._confusion_table()
        if self.change is not None:
            yield from self.change.describe(self.values, settings["confidence"])
        for name, reason in self.undefined.items():
            yield warning(phrase("{name}: no value: {reason}", name=title(name), reason=reason))
        if self.systems is not None:
            yield from self.systems.describe()
        yield from map(warning, (*self.notes, *self._left_out()))
        yield Line(
            phrase(
                "intervals: {method}, {n} resamples of queries, seed {seed}",
                method=settings["method"],
                n=settings["resamples"],
                seed=settings["seed"],
            )
        )

    def _confusion_table(self) -> Table:
        human, judge = ([*map(percent, rates.values())] for rates in self.base_rates.values())
        labels = list(map(str, self.scale.labels))
        columns = (str(sum(column)) for column in zip(*self.confusion))
        return Table(
            (phrase("human \\ judge"), *labels, phrase("all"), phrase("share")),
            [
                *(
                    (label, *map(str, row), str(sum(row)), share)
                    for label, row, share in zip(labels, self.confusion, human)
                ),
                (phrase("all"), *columns, str(self.pairs), ""),
                (phrase("share"), *judge, "", ""),
            ],
        )

    def _left_out(self) -> Iterator[str]:
        for side, party in _WHO.items():
            if pairs := self.missing[side]:
                listed = _first(map(" ".join, pairs))
                yield phrase(
                    "no label by {who}: {n} pairs ({pairs})", who=party, n=len(pairs), pairs=listed
                )
        if self.out_of_scale:
            listed = _first(
                joined(
                    " ", [_SIDES[label.side], label.query_id, label.document_id, f"{label.grade:g}"]
                )
                for label in self.out_of_scale
            )
            yield phrase(
                "out of scale, not compared: {n} labels ({labels})",
                n=len(self.out_of_scale),
                labels=listed,
            )
        if repeated := {_SIDES[side]: n for side, n in self.n_repeated.items() if n}:
            counts = joined(", ", (joined(" ", [side, str(n)]) for side, n in repeated.items()))
            yield phrase(
                "pairs that stand again with the same label, counted once: {counts}", counts=counts
            )


def _first(names: Iterable[str]) -> str:
    """The first of many, and how many more there are."""
    listed = list(names)
    n_hidden = len(listed) - _LISTED
    rest = phrase("... and {n} more: --format json lists all", n=n_hidden) if n_hidden > 0 else ""
    return joined("; ", [*listed[:_LISTED], rest])


def agree(
    human: object,
    judge: object,
    *,
    scale: object = None,
    runs: Sequence[Run] = (),
    metric: str = METRIC,
    top: int | None = None,
    asks: str | None = None,
    model: str | None = None,
    rubric: str | None = None,
    examples: str | None = None,
    before: object = None,
    held_out: bool | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Agreement:
    """Compare a judge's labels with people's.

    Args:
        human: labels, as for `read_labels`: a path of qrels, of a gold or results file, or of a
            judgement store (its human labels); ``{query id: {document id: grade}}``; a GoldDataset.
        judge: the same; of a store, what its judge graded.
        scale: the labels there are, ``"0-3"`` or ``(0, 3)``; None for that of the human labels.
        runs: systems to rank under both label sets.
        metric: what they are ranked by.
        top: how many of them are the top; None for half, ten at most.
        asks: of a judge's store, ``relevance`` or ``support``; None for what it was asked.
        model: of a judge's store, only this model's grades.
        rubric: of a judge's store, only grades by this rubric.
        examples: of a judge's store, only grades with the examples of this name, or ``none``; None
            for those with examples, if there are any.
        before: the judge's labels before something was changed, to compare with; None for the
            grades without examples in the same store, if these are with some.
        held_out: whether to count only the half of the queries whose labels are never examples;
            None for just where the judge's grades are known to be with examples.
        confidence: of the intervals.
        resamples: of the bootstrap over queries.
        seed: the same seed gives the same intervals.

    Raises:
        DataError: a file is broken, a pair has two different labels, or no pair has a label from
            both sides.
        UsageError: an argument is wrong.

    Examples:
        >>> from kragx import agree
        >>> people = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}}
        >>> judge = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 1}}
        >>> agree(people, judge, resamples=50)["kappa"]
        0.5
    """
    check_confidence(confidence)
    check_whole("resamples", resamples, most=MOST_RESAMPLES)
    check_whole("seed", seed, least=0)
    choice: dict[str, Any] = {"asks": asks, "model": model, "rubric": rubric}
    names = examples_shown(judge, **choice)
    if examples is None and len(names - {NO_EXAMPLES}) == 1:
        (examples,) = names - {NO_EXAMPLES}
    with_examples = examples not in (None, NO_EXAMPLES)
    people, machine, labels = read_sides(human, judge, scale, examples=examples, **choice)
    earlier = None
    if before is not None:
        earlier = read_labels(before, "judge", **choice)
    elif with_examples and NO_EXAMPLES in names:
        earlier = read_labels(judge, "judge", examples=NO_EXAMPLES, **choice)
        earlier = replace(earlier, name=f"{earlier.name} without examples")
    if held_out := with_examples if held_out is None else held_out:
        people, machine = map(held_out_half, (people, machine))
    sides: dict[Side, Labels] = {"human": people, "judge": machine}
    out_of_scale = tuple(
        OutOfScale(side, *pair, grade)
        for side, side_labels in sides.items()
        for pair, grade in side_labels.grades.items()
        if grade not in labels
    )
    missing: dict[Side, tuple[Pair, ...]] = {
        "human": tuple(pair for pair in machine.grades if pair not in people.grades),
        "judge": tuple(pair for pair in people.grades if pair not in machine.grades),
    }
    common = [
        pair
        for pair, grade in people.grades.items()
        if grade in labels and machine.grades.get(pair) in labels
    ]
    if held_out and not common:
        raise DataError(
            "no pair of the held-out half of the queries has a label from both sides",
            remedy="label more queries (kragx judge label), and let the judge grade them; or count "
            "all (--all-queries)",
        )
    if not common:
        off = f"; {len(out_of_scale)} labels are not on the scale of {labels}"
        firsts = [
            "{} has query {!r}, document {!r}".format(side.name, *next(iter(side.grades)))
            for side in (people, machine)
        ]
        raise DataError(
            f"no pair has a label from both sides{off if out_of_scale else ''}. "
            f"{', '.join(firsts)}: pairs are joined by query id and document id",
            remedy="; ".join(other_forms(*missing.values())),
        )
    compared = [] if earlier is None else [p for p in common if earlier.grades.get(p) in labels]
    if before is not None and not compared:
        raise DataError(f"no pair that is compared has a label in {earlier and earlier.name}")
    n_without, common = len(common) - len(compared), compared or common
    counts = _counts(common, people, machine, labels)
    matrix = counts.sum(0)
    values = {
        name: defined(statistic) for name, statistic in statistics(matrix, labels.labels).items()
    }
    intervals = expanded_intervals(
        counts,
        lambda sums: statistics(sums, labels.labels),
        confidence=confidence,
        count=resamples,
        seed=seed,
    )
    drawing: dict[str, Any] = {"confidence": confidence, "resamples": resamples, "seed": seed}
    change = None
    if earlier is not None and compared:
        first = _counts(common, people, earlier, labels)
        change = changed(
            first, counts, labels.labels, judge=earlier.name, n_without=n_without, **drawing
        )
    agreement = Agreement(
        scale=labels,
        pairs=len(common),
        queries=len(counts),
        confusion=tuple(tuple(map(int, row)) for row in matrix),
        values=values,
        intervals={
            name: None if values[name] is None else ends for name, ends in intervals.items()
        },
        undefined={
            name: why_undefined(name, matrix, labels.labels)
            for name, value in values.items()
            if value is None
        },
        missing=missing,
        out_of_scale=out_of_scale,
        n_repeated={name: side.n_repeated for name, side in sides.items()},
        notes=(),
        systems=(
            rank_systems(people, machine, runs, labels, values, metric=metric, top=top)
            if runs
            else None
        ),
        change=change,
        settings={
            "human": people.name,
            "judge": machine.name,
            **drawing,
            "unit": "query",
            "method": "expanded percentile bootstrap",
            "examples": examples if with_examples else None,
            "held_out": held_out,
        },
    )
    return replace(agreement, notes=tuple(_notes(agreement, counts)))


def held_out_half(labels: Labels) -> Labels:
    """The labels of the queries whose labels are never examples."""
    grades = {pair: grade for pair, grade in labels.grades.items() if is_held_out(pair[0])}
    return replace(labels, grades=grades)


def _counts(pairs: Sequence[Pair], human: Labels, judge: Labels, scale: Scale) -> Floats:
    """(q, l, l) the confusion matrix of each query."""
    rows: dict[str, int] = {}
    row_of = np.array([rows.setdefault(query, len(rows)) for query, _ in pairs])
    size = len(scale.labels)
    human_rows, judge_columns = (
        np.array([side.grades[pair] for pair in pairs], int) - scale.low for side in (human, judge)
    )
    # Query, row and column as one number, so that one pass counts every cell.
    cells = (row_of * size + human_rows) * size + judge_columns
    counts = np.bincount(cells, minlength=len(rows) * size**2)
    return counts.reshape(len(rows), size, size).astype(np.float64)


def _notes(agreement: Agreement, counts: Floats) -> Iterator[str]:
    """What a reader must know; `counts` is the confusion matrix of each query, (q, l, l)."""
    scale = agreement.scale
    if scale.inferred and agreement.out_of_scale:
        yield phrase(
            "the scale, {scale}, was taken from the human labels; if labels that are listed as "
            "out of scale belong to it, name it (--scale 0-3)",
            scale=str(scale),
        )
    if agreement.values["kappa"] is not None:
        matrix = np.array(agreement.confusion)
        for side, sums in ((_WHO["human"], matrix.sum(1)), (_WHO["judge"], matrix.sum(0))):
            if (sums > 0).sum() == 1:
                yield phrase(
                    "{who} gave every pair the label {label}, so kappa is 0 by its form",
                    who=side,
                    label=scale.low + int(sums.argmax()),
                )
    yield from _of_intervals(agreement, counts)
    yield from other_forms(*agreement.missing.values())
    if agreement.settings["held_out"]:
        yield phrase(
            "of all labels only those of the held-out half of the queries, never examples, count"
        )
    if agreement.change is not None and agreement.change.n_without:
        yield phrase(
            "not compared, as {judge} has no label of them: {n} pairs",
            judge=agreement.change.judge,
            n=agreement.change.n_without,
        )
    if agreement.settings["examples"] and agreement.change is None:
        yield phrase(
            "how the judge agreed without examples is not in the store: a run without "
            "judge.examples puts it there"
        )
    if agreement.systems is not None:
        yield from scale_notes(scale)


def _of_intervals(agreement: Agreement, counts: Floats) -> Iterator[str]:
    """Why there are none, or how rough they are; `counts` as of `_notes`."""
    values, intervals, n_queries = agreement.values, agreement.intervals, agreement.queries
    if n_queries == 1:
        yield phrase("all pairs belong to one query: no interval, as nothing can be resampled")
    elif n_queries < FEW_QUERIES:
        yield phrase(
            "{n} queries are few: intervals are rough below {few} queries",
            n=n_queries,
            few=FEW_QUERIES,
        )
    alike = [name for name, value in values.items() if value is not None and not intervals[name]]
    if 1 < n_queries < LEAST:
        yield phrase("too few to tell: fewer than {n} queries have no interval", n=LEAST)
    elif n_queries > 1 and alike:
        yield phrase(
            "no interval, as every resample gives the same value: {names}",
            names=joined("; ", map(title, alike)),
        )
    rough = [
        name
        for name, n_resting in resting_on(counts, agreement.scale.labels).items()
        if intervals[name] is not None and n_resting < FEW_QUERIES
    ]
    if n_queries >= FEW_QUERIES and rough:
        yield phrase(
            "rough intervals, as fewer than {few} queries have such human labels: {names}",
            few=FEW_QUERIES,
            names=joined("; ", map(title, rough)),
        )
