"""What must not be found: how often it comes, how much of it, and old versions before new ones."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from kragx.data.lists import Bools, Floats, Ints
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import message
from kragx.metrics.evidence import Evidence
from kragx.metrics.match_table import MatchTable
from kragx.metrics.spec import WHERE, Metric, MetricSpec, Option


def check_kinds(spec: MetricSpec, kinds: Collection[str]) -> None:
    """Refuse a metric of what must not be found where nothing of its kind is forbidden.

    Args:
        spec: `LEAK` or the like.
        kinds: as what anything is forbidden.

    Raises:
        UsageError: the metric's kind is not among them, or there is none.
    """
    label, kind = f"metric {spec}", spec["kind"]
    if not kinds and spec.metric != STALE_FIRST:
        raise UsageError(
            "nothing is forbidden, so nothing can leak",
            field=label,
            remedy='say what must not come: "forbidden": [{"id": ...}] on questions of the gold '
            "set, or rules under 'forbidden'",
        )
    if kind is not None and kind not in kinds:
        remedy = nearest(kind, kinds)
        raise UsageError(
            message("nothing is forbidden as {kind!r}", kind=kind), field=label, remedy=remedy
        )


def _marks_of(evidence: Evidence, spec: MetricSpec) -> tuple[Ints, Ints, Bools, Bools]:
    """What one kind, or any, says: which documents, and which perhaps; (q) of which questions.

    What of a question is open, said last, is not known whatever its documents are. Documents stand
    by their places in the table, as few of a million are forbidden.
    """
    marks, kind = evidence.forbidden, spec["kind"]
    check_kinds(spec, () if marks is None else marks.kinds)
    if marks is None:
        raise UsageError("no versions of documents are known", field=f"metric {spec}")
    is_stale = spec.metric == STALE_FIRST
    kinds = [not is_stale and kind in (None, name) for name in marks.kinds]
    places = np.array([*kinds, is_stale], bool)
    columns: tuple[Any, ...] = marks.mark, marks.could, marks.open
    mark, could, is_open = (column[:, places] for column in columns)
    docs, perhaps = (is_so.any(axis=1).nonzero()[0] for is_so in (mark > 0, mark < 0))
    # What a question lacks for one kind leaves its documents open, whatever else it could leak.
    return docs, perhaps, could.any(axis=1), (is_open & could).any(axis=1)


def _places(table: MatchTable, spec: MetricSpec, docs: Ints) -> Ints:
    """(q) how many of these documents stand within k."""
    query_of = np.searchsorted(table.doc_start, docs, side="right") - 1
    if spec.rank is not None:
        query_of = query_of[docs - table.doc_start[query_of] < spec.rank]
    return np.bincount(query_of, minlength=table.n_queries)


def _whether(table: MatchTable, spec: MetricSpec, docs: Ints, is_open: Bools) -> Floats:
    return ((_places(table, spec, docs) > 0) | is_open).astype(np.float64)


def _share(table: MatchTable, spec: MetricSpec, docs: Ints, is_open: Bools) -> Floats:
    n = table.n_docs if spec.rank is None else np.minimum(table.n_docs, spec.rank)
    return np.where(is_open, 1.0, _places(table, spec, docs) / np.maximum(n, 1))


_Value = Callable[[MatchTable, MetricSpec, Ints, Bools], Floats]


def _metric(name: str, value_of: _Value, *, question: str, formula: str, meaning: str) -> Metric:
    """A metric of marks: what their documents give where all of them are known."""

    def extremes(evidence: Evidence, spec: MetricSpec) -> tuple[Floats, Floats]:
        """With everything that is not known as it should be, and as it should not."""
        table, (docs, perhaps, could, is_open) = evidence.table, _marks_of(evidence, spec)
        # Nothing can stand in an empty list, whatever is not known.
        is_open = is_open & ~(table.answered & (table.n_docs == 0))
        low = value_of(table, spec, docs, np.zeros_like(is_open))
        high = value_of(table, spec, np.union1d(docs, perhaps), is_open)
        return np.where(could, low, np.nan), np.where(could, high, np.nan)

    def values(evidence: Evidence, spec: MetricSpec) -> Floats:
        low, high = extremes(evidence, spec)
        return np.where(low == high, low, np.nan)

    def counts(evidence: Evidence, spec: MetricSpec) -> Mapping[str, int]:
        table, (low, high) = evidence.table, extremes(evidence, spec)
        could, n_docs = ~np.isnan(low), table.n_docs
        answered = could & table.answered
        is_open, (*_, is_lost) = could & (low < high), _marks_of(evidence, spec)
        masks = {
            "n_could": could,
            "n_leaked": could & (low > 0),
            "n_open": is_open,
            "n_unanswered": is_open & ~table.answered,
            "n_lost": is_open & table.answered & is_lost,
            "n_lacking": is_open & table.answered & ~is_lost,
            "n_empty": answered & (n_docs == 0),
            "n_short": answered & (n_docs > 0) & (n_docs < (spec.rank or 0)),
        }
        return {count: int(mask.sum()) for count, mask in masks.items()}

    return Metric(
        name=name,
        question=question,
        formula=formula,
        meaning=meaning,
        from_evidence=values,
        extremes=extremes,
        counts=counts,
        options={} if name == "stale_first" else {"kind": Option(None)},
        better="lower",
        of="all",
        reads_forbidden=True,
        interval="exact" if value_of is _whether else "capped",
    )


LEAK = _metric(
    "leak",
    _whether,
    question="How often does something come that must not?",
    formula="1 if a forbidden document stands within k, else 0 (kind=x: one forbidden as x); "
    "undefined where nothing could, and where it is not known",
    meaning=message(
        "The share of questions for which something stands in {where} that must not.", where=WHERE
    ),
)
LEAKED = _metric(
    "leaked",
    _share,
    question="How much of the top k must not be there?",
    formula="forbidden documents in the top k / min(k, n), 0 if n = 0 (kind=x: those forbidden as "
    "x); undefined where nothing could be, and where it is not known",
    meaning=message("The share of {where} that must not be there.", where=WHERE),
)
STALE_FIRST = _metric(
    "stale_first",
    _whether,
    question="How often does an old version stand where the new one does not stand above it?",
    formula="1 if within k an older version stands and none of its successors above it, else 0; of "
    "questions that name or meet two versions; undefined where it is not known",
    meaning=message(
        "The share of questions for which an old version stands in {where} without the new one "
        "above it.",
        where=WHERE,
    ),
)


def with_leak(specs: tuple[MetricSpec, ...]) -> tuple[MetricSpec, ...]:
    """The metrics of what has forbidden documents: with `LEAK`, if nobody has asked for it.

    It looks as far down as the deepest of them: whoever trusts one of the others is to know.
    """
    if any(spec.metric == LEAK and spec["kind"] is None for spec in specs):
        return specs
    cuts = [spec.k for spec in specs if spec.metric.cuts]
    ranks = [k for k in cuts if isinstance(k, int)]
    # A metric of whole lists, or of a budget, may look below any rank.
    return (*specs, LEAK.spec(max(ranks) if ranks and len(ranks) == len(cuts) else None))
