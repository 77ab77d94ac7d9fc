"""`agree`: how far a judge's labels are from people's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np

from kragx.agreement.coefficients import FEW_QUERIES, Change, changed, estimated, title
from kragx.agreement.label_files import Pair, Side, examples_shown
from kragx.agreement.labels import OutOfScale, Scale, other_form, read_labels, read_sides
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
    Interval,
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
    message,
    number,
    percent,
    warning,
)
from kragx.judging.store.qrels import NO_EXAMPLES, Choice

_LISTED = 10

_WHO: Mapping[Side, str] = {"judge": message("the judge"), "human": message("people")}
_SIDES: Mapping[Side, str] = {"judge": message("judge"), "human": message("human")}


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
        missing: for each side the pairs that only the other side has labelled.
        out_of_scale: labels that are not on the scale.
        notes: what a reader must know.
        systems: with runs, how alike both sides rank them.
        change: from labels before to these, if there are any.
        settings: names, and how intervals are made; ``examples``, the name of those that the judge
            was shown; ``held_out``, whether only queries count whose labels are never examples.

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
            (message("statistic"), message("value"), level(CONFIDENCE)),
            [
                (title(name), number(value), ends(self.intervals[name]))
                for name, value in self.values.items()
            ],
        )
        yield self._confusion_table()
        if self.change is not None:
            yield from self.change.describe(self.values)
        if self.systems is not None:
            yield from self.systems.describe()
        yield from map(warning, (*self.notes, *self._left_out()))
        yield Line(
            message(
                "intervals: {method}, {n} resamples of queries",
                method=settings["method"],
                n=settings["resamples"],
            )
        )

    def _headline(self) -> Line:
        """Whose labels these are, and of how many pairs."""
        settings = self.settings
        judge: str = settings["judge"]
        if settings["examples"]:
            judge = message(
                "{judge} with examples {examples}", judge=judge, examples=settings["examples"]
            )
        headline = message(
            "{judge} against {human}: {n} pairs of {n_queries} held-out queries, labels {scale}"
            if settings["held_out"]
            else "{judge} against {human}: {n} pairs of {n_queries} queries, labels {scale}",
            judge=judge,
            human=settings["human"],
            n=self.pairs,
            n_queries=self.queries,
            scale=str(self.scale),
        )
        inferred = message("(as the human labels have them)") if self.scale.inferred else ""
        return Line(joined(" ", [headline, inferred]))

    def _confusion_table(self) -> Table:
        human, judge = ([*map(percent, rates.values())] for rates in self.base_rates.values())
        labels = list(map(str, self.scale.labels))
        columns = (str(sum(column)) for column in zip(*self.confusion))
        return Table(
            (message("human \\ judge"), *labels, message("all"), message("share")),
            [
                *(
                    (label, *map(str, row), str(sum(row)), share)
                    for label, row, share in zip(labels, self.confusion, human)
                ),
                (message("all"), *columns, str(self.pairs), ""),
                (message("share"), *judge, "", ""),
            ],
        )

    def _left_out(self) -> Iterator[str]:
        for side, party in _WHO.items():
            if pairs := self.missing[side]:
                yield message(
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
            yield message(
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
    resamples: int = RESAMPLES,
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
        resamples: of the bootstrap over queries.
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
    check_whole("resamples", resamples, highest=MOST_RESAMPLES)
    # A judge that was shown labels is held against those it never saw, without anybody asking.
    example_set, is_without = examples_shown(judge, choice)
    if example_set is not None:
        choice["examples"] = example_set
    sides = read_sides(human, judge, scale, **choice)
    is_halved, earlier = example_set is not None if held_out is None else held_out, None
    # The labels before may be of another store, whose examples nobody has named.
    without: Choice = {**choice, "examples": NO_EXAMPLES if before is None else None}
    if before is not None:
        earlier = read_labels(before, "judge", **without)
    elif example_set is not None and is_without:
        earlier = read_labels(judge, "judge", **without)
        earlier = replace(earlier, name=f"{earlier.name} without examples")
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
    change = None
    if earlier is not None and compared:
        # Query by query in one order, as both of a query are drawn together.
        first = sides.counts(common, earlier)
        change = changed(first, counts, labels, earlier.name, n_without, resamples)
    values, intervals = estimated(counts, labels, resamples)
    agreement = Agreement(
        scale=scale_of_labels,
        pairs=len(common),
        queries=len(counts),
        confusion=tuple(tuple(map(int, row)) for row in counts.sum(0)),
        values=values,
        intervals=intervals,
        missing=sides.missing,
        out_of_scale=sides.out_of_scale,
        notes=(),
        systems=(rank_systems(sides, runs, values, metric=metric) if runs else None),
        change=change,
        settings={
            "human": people.name,
            "judge": machine.name,
            "confidence": CONFIDENCE,
            "resamples": resamples,
            "unit": "query",
            "method": "expanded percentile bootstrap",
            "examples": example_set,
            "held_out": is_halved,
        },
    )
    # Notes are of the whole result, which says first what there is to note.
    return replace(agreement, notes=tuple(_notes(agreement)))


def _notes(agreement: Agreement) -> Iterator[str]:
    """What a reader must know."""
    scale, change, n_queries = agreement.scale, agreement.change, agreement.queries
    if scale.inferred and agreement.out_of_scale:
        yield message(
            "the scale, {scale}, was taken from the human labels; if labels that are listed as "
            "out of scale belong to it, name it (--scale 0-3)",
            scale=str(scale),
        )
    if n_queries < LEAST:
        yield message("too few to tell: fewer than {n} queries have no interval", n=LEAST)
    elif n_queries < FEW_QUERIES:
        yield message(
            "{n} queries are few: intervals are rough below {few} queries",
            n=n_queries,
            few=FEW_QUERIES,
        )
    if hint := other_form(agreement.missing):
        yield hint
    if change is not None and change.n_without:
        yield message(
            "not compared, as {judge} has no label of them: {n} pairs",
            judge=change.judge,
            n=change.n_without,
        )
    if agreement.settings["examples"] and change is None:
        yield message(
            "how the judge agreed without examples is not in the store: a run without "
            "judge.examples puts it there"
        )
    if agreement.systems is not None:
        yield from scale_notes(scale)
