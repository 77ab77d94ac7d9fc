"""`agree`: how far a judge's labels are from people's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np

from kragx.agreement.coefficients import FEW_QUERIES, Change, changed, estimated, resting_on, title
from kragx.agreement.label_files import Pair, Side, examples_shown
from kragx.agreement.labels import OutOfScale, Scale, other_forms, read_labels, read_sides
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
)
from kragx.data import Run
from kragx.ground.errors import DataError, check_whole
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    Table,
    joined,
    listed,
    number,
    percent,
    phrase,
    warning,
)
from kragx.judging.store.qrels import NO_EXAMPLES, Choice
from kragx.metrics import Floats

_LISTED = 10

_WHO: Mapping[Side, str] = {"judge": phrase("the judge"), "human": phrase("people")}
_SIDES: Mapping[Side, str] = {"judge": phrase("judge"), "human": phrase("human")}


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
        yield self._headline()
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

    def _headline(self) -> Line:
        """Whose labels these are, and of how many pairs."""
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
        return Line(joined(" ", [headline, inferred]))

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
                yield phrase(
                    "no label by {who}: {n} pairs ({pairs})",
                    who=party,
                    n=len(pairs),
                    pairs=listed([*map(" ".join, pairs)], _LISTED),
                )
        if self.out_of_scale:
            labels = [
                joined(
                    " ", [_SIDES[label.side], label.query_id, label.document_id, f"{label.grade:g}"]
                )
                for label in self.out_of_scale
            ]
            yield phrase(
                "out of scale, not compared: {n} labels ({labels})",
                n=len(self.out_of_scale),
                labels=listed(labels, _LISTED),
            )


def agree(
    human: object,
    judge: object,
    *,
    scale: object = None,
    runs: Sequence[Run] = (),
    metric: str = METRIC,
    before: object = None,
    held_out: bool | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    **choice: Unpack[Choice],
) -> Agreement:
    """Compare a judge's labels with people's.

    Args:
        human: labels, as for `read_labels`: a path of qrels, of a gold or results file, or of a
            judgement store (its human labels); ``{query id: {document id: grade}}``; a GoldDataset.
        judge: the same; of a store, what its judge graded.
        scale: the labels there are, ``"0-3"`` or ``(0, 3)``; None for that of the human labels.
        runs: systems to rank under both label sets.
        metric: what they are ranked by.
        before: the judge's labels before something was changed, to compare with; None for the
            grades without examples in the same store, if these are with some.
        held_out: whether to count only the half of the queries whose labels are never examples;
            None for just where the judge's grades are known to be with examples.
        confidence: of the intervals.
        resamples: of the bootstrap over queries.
        seed: the same seed gives the same intervals.
        choice: of a judge's store, which of its grades: ``asks``, ``model``, ``rubric`` and
            ``examples``, as for `read_labels`; without ``examples`` those with some, if there are
            any.

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
    check_whole("resamples", resamples, highest=MOST_RESAMPLES)
    check_whole("seed", seed, lowest=0)
    # A judge that was shown labels is held against those it never saw, without anybody asking.
    example_set, is_without = examples_shown(judge, choice)
    if example_set is not None:
        choice["examples"] = example_set
    sides = read_sides(human, judge, scale, **choice)
    earlier = None
    # The labels before may be of another store, whose examples nobody has named.
    without: Choice = {**choice, "examples": NO_EXAMPLES if before is None else None}
    if before is not None:
        earlier = read_labels(before, "judge", **without)
    elif example_set is not None and is_without:
        earlier = read_labels(judge, "judge", **without)
        earlier = replace(earlier, name=f"{earlier.name} without examples")
    is_halved = example_set is not None if held_out is None else held_out
    sides = sides.held_out() if is_halved else sides
    people, machine, scale_of_labels = sides.human, sides.judge, sides.scale
    labels = scale_of_labels.labels
    common = sides.common(held_out=is_halved)
    compared = [pair for pair in common if earlier and earlier.grades.get(pair) in scale_of_labels]
    if before is not None and not compared:
        raise DataError(
            "no pair that is compared has a label in {value}", value=earlier and earlier.name
        )
    # Both are measured on the same pairs: else what was labelled would look like a change.
    n_without, common = len(common) - len(compared), compared or common
    counts = sides.counts(common, machine)
    drawing: dict[str, Any] = {"confidence": confidence, "resamples": resamples, "seed": seed}
    change = None
    if earlier is not None and compared:
        # Query by query in one order, as both of a query are drawn together.
        first = sides.counts(common, earlier)
        change = changed(first, counts, labels, earlier.name, n_without, **drawing)
    values, intervals, undefined = estimated(counts, labels, **drawing)
    agreement = Agreement(
        scale=scale_of_labels,
        pairs=len(common),
        queries=len(counts),
        confusion=tuple(tuple(map(int, row)) for row in counts.sum(0)),
        values=values,
        intervals=intervals,
        undefined=undefined,
        missing=sides.missing,
        out_of_scale=sides.out_of_scale,
        notes=(),
        systems=(rank_systems(sides, runs, values, metric=metric) if runs else None),
        change=change,
        settings={
            "human": people.name,
            "judge": machine.name,
            **drawing,
            "unit": "query",
            "method": "expanded percentile bootstrap",
            "examples": example_set,
            "held_out": is_halved,
        },
    )
    # Notes are of the whole result, which says first what there is to note.
    return replace(agreement, notes=tuple(_notes(agreement, counts)))


def _notes(agreement: Agreement, counts: Floats) -> Iterator[str]:
    """What a reader must know; `counts` is the confusion matrix of each query, (q, l, l)."""
    scale, matrix = agreement.scale, counts.sum(0)
    if scale.inferred and agreement.out_of_scale:
        yield phrase(
            "the scale, {scale}, was taken from the human labels; if labels that are listed as "
            "out of scale belong to it, name it (--scale 0-3)",
            scale=str(scale),
        )
    for side, sums in ((_WHO["human"], matrix.sum(1)), (_WHO["judge"], matrix.sum(0))):
        if (sums > 0).sum() == 1 and agreement["kappa"] is not None:
            yield phrase(
                "{who} gave every pair the label {label}, so kappa is 0 by its form",
                who=side,
                label=scale.low + int(sums.argmax()),
            )
    yield from _of_intervals(agreement, counts)
    yield from other_forms(*agreement.missing.values())
    yield from _of_change(agreement)
    if agreement.systems is not None:
        yield from scale_notes(scale)


def _of_change(agreement: Agreement) -> Iterator[str]:
    """What the judge's labels before a change, or without examples, say nothing of."""
    change = agreement.change
    if change is not None and change.n_without:
        yield phrase(
            "not compared, as {judge} has no label of them: {n} pairs",
            judge=change.judge,
            n=change.n_without,
        )
    if agreement.settings["examples"] and change is None:
        yield phrase(
            "how the judge agreed without examples is not in the store: a run without "
            "judge.examples puts it there"
        )


def _of_intervals(agreement: Agreement, counts: Floats) -> Iterator[str]:
    """Why there are none, or how rough they are; `counts` as of `_notes`."""
    intervals, n_queries = agreement.intervals, agreement.queries
    if n_queries < LEAST:
        yield phrase("too few to tell: fewer than {n} queries have no interval", n=LEAST)
        return
    alike = [name for name, end in intervals.items() if not end and agreement[name] is not None]
    resting = resting_on(counts, agreement.scale.labels) if n_queries >= FEW_QUERIES else {}
    rough = [name for name, n in resting.items() if intervals[name] and n < FEW_QUERIES]
    remarks = {
        phrase(
            "no interval, as every resample gives the same value: {names}",
            names=joined("; ", map(title, alike)),
        ): alike,
        phrase(
            "{n} queries are few: intervals are rough below {few} queries",
            n=n_queries,
            few=FEW_QUERIES,
        ): n_queries < FEW_QUERIES,
        phrase(
            "rough intervals, as fewer than {few} queries have such human labels: {names}",
            few=FEW_QUERIES,
            names=joined("; ", map(title, rough)),
        ): rough,
    }
    yield from (text for text, holds in remarks.items() if holds)
