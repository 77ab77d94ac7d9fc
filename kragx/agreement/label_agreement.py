"""`agree`: how far a judge's labels are from people's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np

from kragx.agreement import scoring
from kragx.agreement.coefficients import confusions, defined, statistics
from kragx.agreement.label_files import Pair, Side, label_format
from kragx.agreement.labels import (
    LISTED,
    Labels,
    OutOfScale,
    Scale,
    Sides,
    other_form,
    read_labels,
    read_sides,
)
from kragx.agreement.scoring import METRIC, SystemAgreement
from kragx.comparison.statistics import CONFIDENCE, LEAST, MOST_RESAMPLES, RESAMPLES, SEED
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
    signed,
    warning,
)
from kragx.judging.store.qrels import NO_EXAMPLES, Choice
from kragx.metrics import Floats
from kragx.metrics.intervals import Interval, expanded_intervals

FEW_QUERIES = 10
"""An interval that rests on fewer queries than this is said to be a rough one."""

_TITLES = {
    "kappa": message("kappa"),
    "kappa_linear": message("kappa, linear weights"),
    "kappa_quadratic": message("kappa, quadratic weights"),
    "alpha_ordinal": message("Krippendorff's alpha, ordinal"),
    "accuracy": message("accuracy"),
    "bias": message("bias (judge - human)"),
}


def _title(name: str) -> str:
    """What people read for the name of a statistic."""
    group, dot, label = name.partition(".")
    if not dot:
        return _TITLES[group]
    return message(
        "kappa, {label} or more" if group == "kappa_binary" else "bias where human {label}",
        label=label,
    )


@dataclass(frozen=True)
class Change:
    """The same pairs, judged before and after.

    Attributes:
        judge: whose labels were those before.
        n_without: pairs that only the labels after have; they are not compared.
        values: each statistic before.
        differences: after minus before; None where one of them is undefined.
        intervals: of the differences, by pairs of queries; None where there is none.
    """

    judge: str
    n_without: int
    values: Mapping[str, float | None]
    differences: Mapping[str, float | None]
    intervals: Mapping[str, Interval | None]


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
        systems: with runs, how alike both sides rank them.
        change: from labels before to these, if there are any.
        notes: what a reader must know.
        settings: names, and how intervals are made; ``examples``, the name of those that the judge
            was shown; ``held_out``, whether there are any, and only queries count whose labels are
            never examples; ``cut``, the least grade that metrics take for relevant, if that is
            known.

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
    systems: SystemAgreement | None
    change: Change | None
    notes: tuple[str, ...]
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
        if settings["cut"] is not None:
            yield self._at_cut(settings["cut"])
        yield Table(
            (message("statistic"), message("value"), scoring.LEVEL),
            [
                (_title(name), number(value), scoring.ends(self.intervals[name]))
                for name, value in self.values.items()
            ],
        )
        yield self._confusion_table()
        if self.change is not None:
            yield self._change_table(self.change)
        if self.systems is not None:
            yield from self.systems.describe()
        yield from map(warning, self.notes)
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
            if settings["examples"]
            else "{judge} against {human}: {n} pairs of {n_queries} queries, labels {scale}",
            judge=judge,
            human=settings["human"],
            n=self.pairs,
            n_queries=self.queries,
            scale=str(self.scale),
        )
        inferred = message("(as the human labels have them)") if self.scale.inferred else ""
        return Line(joined(" ", [headline, inferred]))

    def _at_cut(self, cut: int) -> Line:
        """What both sides call relevant: how much of the pairs, and whether the same ones."""
        human, judge = (
            sum(rate for label, rate in rates.items() if int(label) >= cut)
            for rates in self.base_rates.values()
        )
        name = f"kappa_binary.{cut}"
        kappa, ends = self.values[name], self.intervals[name]
        text = message(
            "grade {cut} or more: {human} of the pairs by people, {judge} by the judge; they pick "
            "the same pairs no more often than chance would"
            if kappa is not None and kappa <= 0
            else "grade {cut} or more: {human} of the pairs by people, {judge} by the judge"
            if ends is None
            else "grade {cut} or more: {human} of the pairs by people, {judge} by the judge; too "
            "few to tell whether they pick the same pairs more often than chance would (kappa "
            "{kappa} {ends})"
            if ends[0] <= 0
            else "grade {cut} or more: {human} of the pairs by people, {judge} by the judge; they "
            "pick the same pairs more often than chance would (kappa {kappa} {ends})",
            cut=cut,
            human=percent(human),
            judge=percent(judge),
            kappa=number(kappa),
            ends=scoring.ends(ends),
        )
        return Line(text, "bold")

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

    def _change_table(self, change: Change) -> Table:
        moved = (message("difference"), scoring.LEVEL)
        return Table(
            (message("statistic"), message("before"), message("after"), *moved),
            [
                (
                    *(_title(name), number(value), number(self.values[name])),
                    *(signed(change.differences[name]), scoring.ends(change.intervals[name])),
                )
                for name, value in change.values.items()
                if not name.startswith("bias.")  # each rests on a few of these pairs
            ],
        )


def agree(
    human: object,
    judge: object,
    *,
    scale: object = None,
    runs: Sequence[Run] = (),
    metric: str = METRIC,
    before: object = None,
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
        resamples: of the bootstrap over queries.
        choice: of a judge's store, which of its grades: ``asks``, ``model``, ``rubric`` and
            ``examples``, as for `read_labels`; without ``examples`` those with some, if there are
            any. Of these only the half of the queries counts whose labels are never examples.

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
    sides = read_sides(human, judge, scale, **choice)
    examples = sides.examples
    earlier = _earlier(before, judge, sides, choice)
    sides = sides if examples is None else sides.held_out()
    pairs = sides.common()
    compared = [pair for pair in pairs if earlier and earlier.grades.get(pair) in sides.scale]
    if before is not None and not compared:
        raise DataError(
            "no pair that is compared has a label in {value}", value=earlier and earlier.name
        )
    # Both are measured on the same pairs: else what was labelled would look like a change.
    n_without, pairs = len(pairs) - len(compared), compared or pairs
    counts = _counts(
        sides, pairs, [earlier, sides.judge] if earlier and compared else [sides.judge]
    )
    labels, change = sides.scale.labels, None
    values, intervals = measured(counts, labels, resamples)
    notes = [*sides.remarks(), *_missing(sides)]
    if len(counts) < LEAST:
        notes.append(message("too few to tell: fewer than {n} queries have no interval", n=LEAST))
    elif len(counts) < FEW_QUERIES:
        notes.append(scoring.rough(len(counts), FEW_QUERIES))
    if earlier is not None and compared:
        first = {n: defined(value) for n, value in statistics(counts[:, 0].sum(0), labels).items()}
        moved = measured(counts, labels, resamples, change=True)
        change = Change(earlier.name, n_without, first, *moved)
        if n_without:
            notes.append(
                message(
                    "not compared, as {judge} has no label of them: {n} pairs",
                    judge=earlier.name,
                    n=n_without,
                )
            )
    if examples and change is None:
        notes.append(
            message(
                "how the judge agreed without examples is not in the store: a run without "
                "judge.examples puts it there"
            )
        )
    if runs:
        notes += scoring.scale_notes(sides.scale)
    return Agreement(
        scale=sides.scale,
        pairs=len(pairs),
        queries=len(counts),
        confusion=tuple(tuple(map(int, row)) for row in counts[:, -1].sum(0)),
        values=values,
        intervals=intervals,
        missing=sides.missing,
        out_of_scale=sides.out_of_scale(),
        systems=scoring.rank_systems(sides, runs, values["kappa"], metric=metric) if runs else None,
        change=change,
        notes=tuple(notes),
        settings={
            "human": sides.human.name,
            "judge": sides.judge.name,
            "confidence": CONFIDENCE,
            "resamples": resamples,
            "unit": "query",
            "method": "expanded percentile bootstrap",
            "examples": examples,
            "held_out": examples is not None,
            "cut": next((cut for cut in labels[1:] if cut == sides.judge.positive), None),
        },
    )


def _missing(sides: Sides) -> Iterator[str]:
    """The pairs that one side alone has labelled, and what to say of ids that nearly meet."""
    for who, pairs in zip((message("people"), message("the judge")), sides.missing.values()):
        if pairs:
            yield message(
                "no label by {who}: {n} pairs ({pairs})",
                who=who,
                n=len(pairs),
                pairs=listed([*map(" ".join, pairs)], LISTED),
            )
    if hint := other_form(sides.missing):
        yield hint


def _earlier(before: object, judge: object, sides: Sides, choice: Choice) -> Labels | None:
    """The labels before: those that are named, else of the same store without examples, or None."""
    # Those that are named may be of another store, whose examples nobody has named.
    without: Choice = {**choice, "examples": NO_EXAMPLES if before is None else None}
    if before is not None:
        return read_labels(before, "judge", **(without if label_format(before) == "store" else {}))
    if sides.examples is None:
        return None
    try:
        labels = read_labels(judge, "judge", **without)
    except DataError:  # the store has grades with examples alone
        return None
    return replace(labels, name=f"{labels.name} without examples")


def _counts(sides: Sides, pairs: Sequence[Pair], judges: Sequence[Labels]) -> Floats:
    """(q, j, l, l) the confusion matrix of each query with the labels of each judge."""
    # In the order in which queries come, as resamples draw them by number.
    places: dict[str, int] = {}
    queries = np.array([places.setdefault(query, len(places)) for query, _ in pairs])
    every = [[labels.grades[pair] for pair in pairs] for labels in (sides.human, *judges)]
    human, *by_judge = np.array(every, int) - sides.scale.low
    return confusions(queries, human, np.array(by_judge), len(sides.scale.labels))


def measured(
    counts: Floats, labels: Sequence[int], resamples: int, *, change: bool = False
) -> tuple[dict[str, float | None], dict[str, Interval | None]]:
    """Every statistic of the last judge, or what it has beyond the first's, and the intervals.

    Args:
        counts: (q, j, l, l) the confusion matrix of each query with each judge; those of a query
            are drawn together, as they are of the same pairs.
        labels: of the scale.
        resamples: of queries, how many.
        change: whether the statistics of the first judge are taken off.
    """

    def of_sums(sums: Floats) -> dict[str, Floats]:
        last = statistics(sums[:, -1], labels)
        first = statistics(sums[:, 0], labels) if change else dict.fromkeys(last, 0.0)
        return {name: value - first[name] for name, value in last.items()}

    sums = of_sums(counts.sum(0, keepdims=True))
    values = {name: defined(value[0]) for name, value in sums.items()}
    intervals = expanded_intervals(
        counts, of_sums, confidence=CONFIDENCE, count=resamples, seed=SEED
    )
    return values, {
        name: None if values[name] is None else interval for name, interval in intervals.items()
    }
