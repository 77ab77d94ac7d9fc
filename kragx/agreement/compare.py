"""`agree`: how far a judge's labels are from people's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unicodedata import normalize

import numpy as np

from kragx.agreement import coefficients
from kragx.agreement.intervals import Interval, bootstrap, check_confidence
from kragx.agreement.labels import Labels, Pair, Scale, Side, read_labels, read_scale
from kragx.agreement.systems import METRIC, SystemAgreement, lowest_is_zero, rank_systems
from kragx.comparison.statistics import CONFIDENCE, RESAMPLES, SEED
from kragx.data.runs import Run
from kragx.errors import DataError
from kragx.metrics.table import Floats

FEW_QUERIES = 10
"""An interval that rests on fewer queries than this is said to be a rough one."""


@dataclass(frozen=True)
class OutOfScale:
    """A label that the scale does not have; its pair is not compared."""

    side: Side
    query_id: str
    document_id: str
    grade: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "side": self.side,
            "query_id": self.query_id,
            "document_id": self.document_id,
            "grade": self.grade,
        }


@dataclass(frozen=True)
class Agreement:
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
        settings: confidence, resamples, seed and method of the intervals.
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
    notes: tuple[str, ...] = ()
    systems: SystemAgreement | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float | None:
        return self.values[name]

    @property
    def base_rates(self) -> dict[str, dict[str, float]]:
        """For each side, the share of compared pairs with each label."""
        matrix = np.array(self.confusion)
        return {
            "human": _by_label(self.scale, matrix.sum(1) / self.pairs),
            "judge": _by_label(self.scale, matrix.sum(0) / self.pairs),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = {
            "pairs": self.pairs,
            "queries": self.queries,
            "labels": list(self.scale.labels),
            "scale_inferred": self.scale.inferred,
            **_nested(self.values),
            "confusion": [list(row) for row in self.confusion],
            "base_rates": self.base_rates,
            "missing": {side: [list(pair) for pair in self.missing[side]] for side in self.missing},
            "n_missing": {side: len(self.missing[side]) for side in self.missing},
            "out_of_scale": [each.to_dict() for each in self.out_of_scale],
            "duplicates": dict(self.n_repeated),
            "intervals": _nested(
                {
                    name: None if ends is None else list(ends)
                    for name, ends in self.intervals.items()
                }
            ),
            "undefined": dict(self.undefined),
            "notes": list(self.notes),
            "settings": dict(self.settings),
        }
        if self.systems is None:
            return plain
        # Whoever takes only this part takes the kappa with the tau.
        kappas = {name: self.values[name] for name in ("kappa", "kappa_quadratic")}
        return {**plain, "systems": {**self.systems.to_dict(), **kappas}}

    def print(self) -> None:
        """Print it as tables."""
        from kragx.report.agreement import print_agreement

        print_agreement(self)


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
        confidence: of the intervals.
        resamples: of the bootstrap over queries.
        seed: the same seed gives the same intervals.

    Raises:
        DataError: a file is broken, a pair has two different labels, or no pair has a label from
            both sides.
        UsageError: an argument is wrong.
    """
    check_confidence(confidence)
    theirs = read_labels(human, "human")
    ours = read_labels(judge, "judge", asks=asks, model=model, rubric=rubric)
    chosen = read_scale(scale, theirs)
    sides: dict[Side, Labels] = {"human": theirs, "judge": ours}
    strange = tuple(
        OutOfScale(side, *pair, grade)
        for side, labels in sides.items()
        for pair, grade in labels.grades.items()
        if grade not in chosen
    )
    left_out = {(each.query_id, each.document_id) for each in strange}
    missing: dict[Side, tuple[Pair, ...]] = {
        "human": tuple(pair for pair in ours.grades if pair not in theirs.grades),
        "judge": tuple(pair for pair in theirs.grades if pair not in ours.grades),
    }
    both = [pair for pair in theirs.grades if pair in ours.grades and pair not in left_out]
    if not both:
        raise DataError(_nothing_common(theirs, ours, chosen, strange, missing))
    counts = _counts(both, theirs, ours, chosen)
    matrix = counts.sum(0)
    values = {name: _known(found) for name, found in statistics(matrix, chosen).items()}
    intervals = bootstrap(
        counts,
        lambda sums: statistics(sums, chosen),
        confidence=confidence,
        count=resamples,
        seed=seed,
    )
    return Agreement(
        scale=chosen,
        pairs=len(both),
        queries=len(counts),
        confusion=tuple(tuple(int(cell) for cell in row) for row in matrix.tolist()),
        values=values,
        intervals={
            name: None if values[name] is None else ends for name, ends in intervals.items()
        },
        undefined=_reasons(values, matrix, chosen),
        missing=missing,
        out_of_scale=strange,
        n_repeated={side: labels.n_repeated for side, labels in sides.items()},
        notes=(
            *_notes(matrix, chosen, len(counts), strange),
            *_without_interval(values, intervals, len(counts)),
            *_of_few_queries(counts, intervals, chosen),
            *_other_forms(missing),
            *(lowest_is_zero(chosen) if runs else ()),
        ),
        systems=rank_systems(theirs, ours, runs, chosen, metric=metric, top=top) if runs else None,
        settings={
            "human": theirs.name,
            "judge": ours.name,
            "confidence": confidence,
            "resamples": resamples,
            "seed": seed,
            "unit": "query",
            "method": "expanded percentile bootstrap",
        },
    )


def statistics(confusion: Floats, scale: Scale) -> dict[str, Floats]:
    """Every statistic of confusion matrices of shape (..., l, l), NaN where undefined."""
    found = {
        "kappa": coefficients.cohen_kappa(confusion),
        "kappa_linear": coefficients.cohen_kappa(confusion, "linear"),
        "kappa_quadratic": coefficients.cohen_kappa(confusion, "quadratic"),
        "alpha_ordinal": coefficients.ordinal_alpha(confusion),
        "accuracy": coefficients.accuracy(confusion),
        "bias": coefficients.mean_bias(confusion),
    }
    for at, label in enumerate(scale.labels):
        if at:
            found[f"kappa_binary.{label}"] = coefficients.cohen_kappa(
                coefficients.binary(confusion, at)
            )
    biases = coefficients.bias(confusion)
    for at, label in enumerate(scale.labels):
        found[f"bias.{label}"] = biases[..., at]
    return found


def _counts(both: Sequence[Pair], human: Labels, judge: Labels, scale: Scale) -> Floats:
    """(q, l, l) the confusion matrix of each query."""
    rows: dict[str, int] = {}
    at = [rows.setdefault(query, len(rows)) for query, _ in both]
    size = len(scale.labels)
    theirs = np.array([human.grades[pair] for pair in both]) - scale.low
    ours = np.array([judge.grades[pair] for pair in both]) - scale.low
    cells = (np.array(at) * size + theirs.astype(int)) * size + ours.astype(int)
    counts = np.bincount(cells, minlength=len(rows) * size * size)
    return counts.reshape(len(rows), size, size).astype(np.float64)


def _known(value: Floats) -> float | None:
    return None if np.isnan(value) else float(value)


def _reasons(values: Mapping[str, float | None], matrix: Floats, scale: Scale) -> dict[str, str]:
    reasons = {}
    for name, value in values.items():
        if value is not None:
            continue
        if name.startswith("kappa_binary."):
            cut = int(name.partition(".")[2])
            above = coefficients.binary(matrix, cut - scale.low)[1, 1] > 0
            where = f"{cut} or above" if above else f"below {cut}"
            reasons[name] = f"both sides put every pair at {where}: nothing could disagree"
        elif name.startswith("bias."):
            reasons[name] = f"no compared pair has the human label {name.partition('.')[2]}"
        else:
            label = scale.low + int(matrix.sum(1).argmax())
            reasons[name] = f"both sides gave every pair the label {label}: nothing could disagree"
    return reasons


def _notes(
    matrix: Floats, scale: Scale, n_queries: int, strange: Sequence[OutOfScale]
) -> tuple[str, ...]:
    notes = []
    if scale.inferred and strange:
        notes.append(
            f"the scale, {scale}, was taken from the human labels; if labels that are listed as "
            "out of scale belong to it, name it (--scale 0-3)"
        )
    if not np.isnan(coefficients.cohen_kappa(matrix)):
        for side, sums in (("people", matrix.sum(1)), ("the judge", matrix.sum(0))):
            if (sums > 0).sum() == 1:
                label = scale.low + int(sums.argmax())
                notes.append(f"{side} gave every pair the label {label}, so kappa is 0 by its form")
    if n_queries == 1:
        notes.append("all pairs belong to one query: no interval, as nothing can be resampled")
    elif n_queries < FEW_QUERIES:
        notes.append(
            f"{n_queries} queries are few: intervals are rough below {FEW_QUERIES} queries"
        )
    return tuple(notes)


def _without_interval(
    values: Mapping[str, float | None], intervals: Mapping[str, Interval | None], n_queries: int
) -> list[str]:
    names = [name for name, value in values.items() if value is not None and not intervals[name]]
    if n_queries < 2 or not names:
        return []
    return [f"no interval, as every resample gives the same value: {', '.join(names)}"]


def _of_few_queries(
    counts: Floats, intervals: Mapping[str, Interval | None], scale: Scale
) -> list[str]:
    """Which intervals rest on human labels that only few of many queries have."""
    if len(counts) < FEW_QUERIES:
        return []
    has = counts.sum(2) > 0
    resting = {f"bias.{label}": has[:, at].sum() for at, label in enumerate(scale.labels)}
    for at, label in enumerate(scale.labels):
        if at:
            below, above = has[:, :at].any(1).sum(), has[:, at:].any(1).sum()
            resting[f"kappa_binary.{label}"] = min(below, above)
    names = [
        name
        for name in intervals
        if intervals[name] and resting.get(name, FEW_QUERIES) < FEW_QUERIES
    ]
    return (
        [
            f"rough intervals, as fewer than {FEW_QUERIES} queries have such human labels: "
            f"{', '.join(names)}"
        ]
        if names
        else []
    )


def _other_forms(missing: Mapping[Side, Sequence[Pair]]) -> list[str]:
    """Ids that look alike and are not: one side's were composed, the other's taken apart."""
    human, judge = (
        {(normalize("NFC", query), normalize("NFC", document)) for query, document in pairs}
        for pairs in (missing["human"], missing["judge"])
    )
    count = len(human & judge)
    if not count:
        return []
    return [
        f"pairs whose ids differ in their Unicode form alone (NFC, or NFD as macOS writes it): "
        f"{count}; write both files in one form"
    ]


def _nothing_common(
    human: Labels,
    judge: Labels,
    scale: Scale,
    strange: Sequence[OutOfScale],
    missing: Mapping[Side, Sequence[Pair]],
) -> str:
    example = [
        f"query {query!r}, document {document!r}"
        for query, document in (next(iter(human.grades)), next(iter(judge.grades)))
    ]
    off = f"; {len(strange)} labels are not on the scale of {scale}" if strange else ""
    return (
        f"no pair has a label from both sides{off}. {human.name} has {example[0]}, {judge.name} "
        f"{example[1]}: pairs are joined by query id and document id"
        + "".join(f"; {line}" for line in _other_forms(missing))
    )


def _by_label(scale: Scale, shares: Floats) -> dict[str, float]:
    return {str(label): float(share) for label, share in zip(scale.labels, shares)}


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """``{"bias": x, "bias.0": y}`` as ``{"bias": x, "bias_by_grade": {"0": y}}``."""
    plain: dict[str, Any] = {}
    for name, value in flat.items():
        group, _, label = name.partition(".")
        if label:
            plain.setdefault("bias_by_grade" if group == "bias" else group, {})[label] = value
        else:
            plain[name] = value
    return plain
