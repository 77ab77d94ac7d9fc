"""What becomes of a gate on one retriever: what was looked at, and whether that passes."""

from collections.abc import Sequence
from math import inf

from kragx.comparison.advice import Failures
from kragx.comparison.changes import Change
from kragx.comparison.comparison import Comparison
from kragx.comparison.estimates import Difference, Estimate
from kragx.comparison.gate_conditions import FAILURES, Gate, Limit
from kragx.comparison.power import limit_form, undecidable
from kragx.comparison.view import Slice, View
from kragx.ground.errors import nearest
from kragx.ground.printing import joined, message, number, signed

_NAMES = {"earlier": message("earlier"), "baseline": message("baseline")}
"""What people read for what a gate is held against."""
_POINT = message("point estimate")
_NO_EVIDENCE = message("nothing is sure of it: it has no interval")

Outcome = tuple[float | None, bool, str]
"""What was looked at, whether it passes, and what to say of it."""


def _no(reason: str) -> Outcome:
    """What does not pass, as there is no value."""
    return None, False, reason


def outcome_of(gate: Gate, name: str, comparison: Comparison, earlier: Sequence[Change]) -> Outcome:
    """What becomes of a gate on one retriever; of one that is no result, nothing passes."""
    failure, rival = (_serious(comparison, side) for side in (name, comparison.baseline))
    if gate.metric in FAILURES:
        return _failures(gate, name, comparison)
    if failure:
        return _no(message("not comparable: it {failed}", failed=failure.text))
    if gate.than == "baseline" and rival:
        return _no(message("not comparable: the baseline {failed}", failed=rival.text))
    if gate.than == "earlier":
        return _against_earlier(gate, name, comparison.match, earlier)
    return _in(gate, name, comparison)


def _against_earlier(gate: Gate, name: str, match: str, earlier: Sequence[Change]) -> Outcome:
    of_name = (change for change in earlier if change.retriever == name)
    of_match = (change for change in of_name if change.comparison.match == match)
    if (change := next(of_match, None)) is None:
        # A retriever that is new has nothing that it could be worse than.
        is_new = gate.retriever is None
        text = message(
            "new: not in earlier" if is_new else "the earlier results lack this retriever"
        )
        return None, is_new, text
    if gate.metric not in change.comparison.metrics:
        return _no(message("the earlier results lack {metric}", metric=gate.metric))
    if failure := _serious(change.comparison, change.before):
        failed = failure.text
        return _no(message("not comparable: in the earlier results it {failed}", failed=failed))
    return _in(gate, change.after, change.comparison)


def _serious(comparison: Comparison, name: str) -> Failures | None:
    """The failures for which a retriever is not comparable."""
    serious = (failure for failure in comparison.failures if not failure.tolerated)
    return next((failure for failure in serious if failure.retriever == name), None)


def _failures(gate: Gate, name: str, comparison: Comparison) -> Outcome:
    """A gate on failures held against one retriever."""
    view = _view(gate, comparison)
    if isinstance(view, str):
        return _no(view)
    n, n_failed = view.n, 0
    for failure in comparison.failures:
        if failure.retriever == name and isinstance(view, Slice):
            n_failed = len(failure.query_ids.intersection(view.query_ids))
        elif failure.retriever == name:
            n, n_failed = failure.n_queries, failure.n_failed
    value = n_failed if gate.metric == "n_failed" else n_failed / max(n, 1)
    text = message("{n} of {of} questions failed", n=n_failed, of=n)
    return value, gate.limit("lower").holds(value), text


def _view(gate: Gate, comparison: Comparison) -> View | str:
    """The queries that a gate is about, or that there are none."""
    if gate.field is None:
        return comparison.overall
    slices = {part.label: part for part in comparison.by(gate.field)}
    if gate.value in slices:
        return slices[gate.value]
    # Known only once retrievers have answered, whose answers an error would throw away.
    return f"no query has the value {gate.value!r}; {nearest(gate.value or '', slices)}"


def _in(gate: Gate, name: str, comparison: Comparison) -> Outcome:
    """A gate held against one retriever of a comparison."""
    view = _view(gate, comparison)
    if isinstance(view, str):
        return _no(view)
    limit = gate.limit(comparison.better[gate.metric])
    means = [view.means[name][gate.metric]]
    measured: Estimate | Difference | None = means[0]
    if gate.than is not None:
        means.append(view.means[comparison.baseline][gate.metric])
        measured = view.difference(gate.metric, name)
    # What is not known may be the worst, and a gate that passes by guessing guards nothing.
    if any(mean.bounds for mean in means):
        value, text = _at_worst(gate, limit, means)
    elif isinstance(measured, Difference) and measured.value is None and inf in measured.values:
        return _of_never(gate, limit, measured)
    else:
        value = None if measured is None else measured.value
        text = number(value) if gate.than is None or value is None else _against(gate, value)
        if gate.than is not None and not gate.surely:
            text = message("{value} ({reason})", value=text, reason=_POINT)
    if measured is None or value is None:
        return _no(message("no value: it could not be computed for any query here"))
    if gate.surely:
        return _surely(gate, limit, measured, (value, text), comparison)
    return value, limit.holds(value), text


def _of_never(gate: Gate, limit: Limit, difference: Difference) -> Outcome:
    """A gate held against a difference from what is never, or of that: nothing takes longer."""
    value, rival = difference.values
    if value is None or rival is None or limit.upwards:
        return _no(message("no value: it could not be computed for any query here"))
    than = _NAMES.get(gate.than or "", gate.than or "")
    text = message(
        "{value}, and {than} {rival}", value=number(value), than=than, rival=number(rival)
    )
    if gate.surely:
        return _no(joined("; ", [text, _NO_EVIDENCE]))
    if value == rival:
        return 0.0, limit.holds(0.0), text
    # Never against never is no worse; never against some time is.
    return None, rival == inf, text


def _against(gate: Gate, value: float) -> str:
    than = gate.than or ""
    return message("{value} against {than}", value=signed(value), than=_NAMES.get(than, than))


def _at_worst(gate: Gate, limit: Limit, means: Sequence[Estimate]) -> tuple[float | None, str]:
    """The worst that what is not known may make of a metric, and how people read it.

    Args:
        gate: without ``surely``.
        limit: what it asks for.
        means: of the retriever, and of the one that it is set against.
    """
    lows, highs = [mean.least for mean in means], [mean.greatest for mean in means]
    # The rival is taken at its best: both sides are as bad for the retriever as may be.
    worst, *rival = [*lows[:1], *highs[1:]] if limit.upwards else [*highs[:1], *lows[1:]]
    if worst is None or None in rival:
        return None, ""
    value = worst - sum(filter(None, rival))
    most_open = max(means, key=lambda mean: mean.n_open)
    text = message(
        "{value} at worst, as {n} of {of} questions is not known"
        if most_open.n_open == 1
        else "{value} at worst, as {n} of {of} questions are not known",
        value=number(value) if gate.than is None else _against(gate, value),
        n=most_open.n_open,
        of=most_open.n + most_open.n_open,
    )
    return value, text


def _surely(
    gate: Gate,
    limit: Limit,
    measured: Estimate | Difference,
    looked_at: tuple[float, str],
    comparison: Comparison,
) -> Outcome:
    """A gate held against what the questions are evidence for, beside what was looked at."""
    value, text = looked_at
    bound = measured.sure_low if limit.upwards else measured.sure_high
    if bound is None:
        return _no(joined("; ", [text, _NO_EVIDENCE]))
    if measured.value is None:  # not all is known, and those that are need not be like the rest
        bound = min(bound, value) if limit.upwards else max(bound, value)
    form = limit_form(gate.metric, limit) if gate.than is None else signed
    surely = message(
        "surely at least {value}" if limit.upwards else "surely at most {value}", value=form(bound)
    )
    text = message("{value}, {surely} (n = {n})", value=text, surely=surely, n=measured.n)
    passed = limit.holds(bound)
    is_worse = gate.than is not None and not limit.holds(value)  # more questions do not help it
    if passed or is_worse:
        return bound, passed, text
    confidence = comparison.statistics.confidence
    why = undecidable(gate, limit, measured.n, confidence, measured.effective)
    return bound, passed, text if why is None else joined("; ", [text, why])
