"""What a reader of an agreement must know: why a value is missing, what its intervals rest on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from unicodedata import normalize

from kragx.agreement import coefficients
from kragx.agreement.label_files import Pair, Side
from kragx.agreement.labels import Labels, Scale
from kragx.agreement.scoring import scale_notes
from kragx.comparison.statistics import Interval
from kragx.metrics import Floats
from kragx.printing import interval

FEW_QUERIES = 10
"""An interval that rests on fewer queries than this is said to be a rough one."""

_LISTED = 10


def level(confidence: float) -> str:
    """The head of a column of intervals: ``95 %``."""
    return f"{confidence * 100:g} %"


def ends(pair: Interval | None) -> str:
    """An interval as people read it; a dash where there is none."""
    return "-" if pair is None else interval(*pair)


def some(names: Iterable[str]) -> str:
    """The first of many, and how many more there are."""
    listed = list(names)
    more = len(listed) - _LISTED
    rest = f"; ... and {more} more: --format json lists all" if more > 0 else ""
    return "; ".join(listed[:_LISTED]) + rest


def undefined(values: Mapping[str, float | None], matrix: Floats, scale: Scale) -> dict[str, str]:
    """Why each value that is None is so."""
    reasons = {}
    for name in (name for name, value in values.items() if value is None):
        group, _, label = name.partition(".")
        if group == "kappa_binary":
            above = coefficients.binary(matrix, int(label) - scale.low)[1, 1] > 0
            where = f"{label} or above" if above else f"below {label}"
            reasons[name] = f"both sides put every pair at {where}: nothing could disagree"
        elif label:
            reasons[name] = f"no compared pair has the human label {label}"
        else:
            only = scale.low + int(matrix.sum(1).argmax())
            reasons[name] = f"both sides gave every pair the label {only}: nothing could disagree"
    return reasons


def notes(
    counts: Floats,
    scale: Scale,
    values: Mapping[str, float | None],
    intervals: Mapping[str, Interval | None],
    missing: Mapping[Side, Sequence[Pair]],
    out_of_scale: Sequence[object],
    *,
    runs: bool,
) -> Iterator[str]:
    """What a reader must know.

    Args:
        counts: (q, l, l) the confusion matrix of each query.
        scale: the labels.
        values: of the statistics.
        intervals: of the same.
        missing: for each side the pairs that only the other has labelled.
        out_of_scale: labels that are not on the scale.
        runs: whether systems were scored.
    """
    matrix, n_queries = counts.sum(0), len(counts)
    if scale.inferred and out_of_scale:
        yield (
            f"the scale, {scale}, was taken from the human labels; if labels that are listed as "
            "out of scale belong to it, name it (--scale 0-3)"
        )
    if values["kappa"] is not None:
        for side, sums in (("people", matrix.sum(1)), ("the judge", matrix.sum(0))):
            if (sums > 0).sum() == 1:
                label = scale.low + int(sums.argmax())
                yield f"{side} gave every pair the label {label}, so kappa is 0 by its form"
    if n_queries == 1:
        yield "all pairs belong to one query: no interval, as nothing can be resampled"
    elif n_queries < FEW_QUERIES:
        yield f"{n_queries} queries are few: intervals are rough below {FEW_QUERIES} queries"
    alike = [name for name, value in values.items() if value is not None and not intervals[name]]
    if n_queries > 1 and alike:
        yield f"no interval, as every resample gives the same value: {', '.join(alike)}"
    few = _resting_on_few(counts, scale)
    rough = [name for name, pair in intervals.items() if pair is not None and name in few]
    if n_queries >= FEW_QUERIES and rough:
        yield (
            f"rough intervals, as fewer than {FEW_QUERIES} queries have such human labels: "
            f"{', '.join(rough)}"
        )
    yield from other_forms(missing)
    if runs:
        yield from scale_notes(scale)


def _resting_on_few(counts: Floats, scale: Scale) -> set[str]:
    """The statistics that rest on human labels that only few queries have."""
    has = counts.sum(2) > 0
    queries = {f"bias.{label}": has[:, row].sum() for row, label in enumerate(scale.labels)}
    queries |= {
        f"kappa_binary.{label}": min(has[:, :cut].any(1).sum(), has[:, cut:].any(1).sum())
        for cut, label in enumerate(scale.labels[1:], start=1)
    }
    return {name for name, count in queries.items() if count < FEW_QUERIES}


def other_forms(missing: Mapping[Side, Sequence[Pair]]) -> Iterator[str]:
    """Ids that look alike and are not: one side's were composed, the other's taken apart."""
    human, judge = (
        {(normalize("NFC", query), normalize("NFC", document)) for query, document in pairs}
        for pairs in (missing["human"], missing["judge"])
    )
    if alike := human & judge:
        yield (
            f"pairs whose ids differ in their Unicode form alone (NFC, or NFD as macOS writes it): "
            f"{len(alike)}; write both files in one form"
        )


def nothing_common(
    human: Labels,
    judge: Labels,
    scale: Scale,
    n_out_of_scale: int,
    missing: Mapping[Side, Sequence[Pair]],
) -> str:
    """Why there is nothing to compare: how either side names its pairs."""
    human_pair, judge_pair = (
        "query {!r}, document {!r}".format(*next(iter(labels.grades))) for labels in (human, judge)
    )
    off = f"; {n_out_of_scale} labels are not on the scale of {scale}" if n_out_of_scale else ""
    lines = (
        f"no pair has a label from both sides{off}. {human.name} has {human_pair}, {judge.name} "
        f"{judge_pair}: pairs are joined by query id and document id",
        *other_forms(missing),
    )
    return "; ".join(lines)
