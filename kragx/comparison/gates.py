"""Gates held against numbers, and what is found; `kragx.comparison.gate_conditions` reads them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, isinf

from kragx.comparison.advice import Failures
from kragx.comparison.changes import Change
from kragx.comparison.comparison import Comparison, Slice, View
from kragx.comparison.estimates import Difference, Estimate
from kragx.comparison.gate_conditions import (
    FAILURES,
    Gate,
    undecidable,
)
from kragx.comparison.scores import direction
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import (
    Line,
    Name,
    Part,
    Result,
    Table,
    joined,
    message,
    number,
    plural,
    signed,
    visible,
)
from kragx.metrics import known_metric

NEEDS_EARLIER = (
    "'no worse than earlier' needs earlier results: --earlier FOLDER, or earlier: FOLDER in the "
    "config"
)


@dataclass(frozen=True)
class GateResult(Result):
    """Whether one retriever passed one gate.

    Attributes:
        path, metric, condition: of the gate: where it stands, and what it asks for.
        match, retriever: which.
        slice: its field and value; None for all queries.
        value: what was looked at: a mean, a difference, or what is sure of it; None if there is
            none.
        passed: whether it holds; a value that is not there does not pass.
        said: what was found, as people read it.
    """

    path: str
    metric: str
    condition: str
    match: str
    retriever: str
    slice: Mapping[str, str | None] | None
    value: float | None
    passed: bool
    said: str

    @property
    def where(self) -> str:
        """The slice, as people read it; empty for all queries."""
        return "{field} = {value}".format(**self.slice) if self.slice else ""

    @property
    def text(self) -> str:
        """The gate, whom it concerns, and what was found."""
        return message(
            "{metric} {condition}: {retriever} ({under}): {said}",
            metric=self.metric,
            condition=self.condition,
            retriever=self.retriever,
            under=", ".join(filter(None, (self.match, self.where))),
            said=self.said,
        )

    def describe(self) -> Iterator[Line]:
        """The same as a line."""
        yield Line(self.text)


def gates_table(results: Sequence[GateResult]) -> Table:
    """Gates, whom they concern, and what was found."""
    match = len({result.match for result in results}) > 1
    has_slices = any(result.where for result in results)
    heads = [message("gate"), message("retriever"), *[message("match")] * match]
    columns = ["", *heads, *[message("slice")] * has_slices, message("found")]
    rows = [
        [
            "✅" if result.passed else "❌",
            Name(f"{result.metric} {result.condition}", "code"),
            result.retriever,
            *[result.match] * match,
            *[visible(result.where)] * has_slices,
            result.said,
        ]
        for result in results
    ]
    return Table(columns, rows, words=len(columns))


def gates_parts(results: Sequence[GateResult]) -> Iterator[Part]:
    """How many gates passed, and those that failed as a table; nothing where there are none."""
    if bad := failed(results):
        yield Line(message("gates: {n} of {of} failed", n=len(bad), of=len(results)), "bold red")
        yield gates_table(bad)
    elif results:
        n = len(results)
        text = message("gates: passed" if n == 1 else "gates: all {n} passed", n=n)
        yield Line(text, "green")


def gate_problems(
    gates: Iterable[Gate],
    *,
    metrics: Collection[str],
    retrievers: Collection[str],
    matchers: Collection[str],
    slices: Collection[str],
    baseline: str | None,
) -> Iterator[str]:
    """What gates ask for that will not be there, with the remedy; a line for each mistake.

    Args:
        gates: from `parse_gates`.
        metrics: that are computed, by canonical name.
        retrievers: by name.
        matchers: by name.
        slices: the fields that are compared within.
        baseline: the retriever that was named as such.
    """
    only = [*retrievers] if len(retrievers) == 1 else []
    for gate in gates:
        problems = [*_metric_problems(gate, metrics)] if gate.metric not in FAILURES else []
        if gate.retriever is not None and gate.retriever not in retrievers:
            hint = nearest(gate.retriever, retrievers)
            problems.append(
                message("no retriever {name!r}; {hint}", name=gate.retriever, hint=hint)
            )
        if gate.match is not None and gate.match not in matchers:
            hint = nearest(gate.match, matchers)
            problems += [message("no matcher {name!r}; {hint}", name=gate.match, hint=hint)]
        if gate.field is not None and gate.field not in slices:
            problem = message(
                "{field!r} is not among the slices; add it to 'slices'", field=gate.field
            )
            problems.append(joined("; ", [problem, nearest(gate.field, slices) if slices else ""]))
        if gate.than == "baseline" and baseline is None:
            problems.append(
                message(
                    "'no worse than baseline' needs one; name a retriever: baseline: {name}",
                    name=next(iter(retrievers), "NAME"),
                )
            )
        elif gate.than == "baseline" and baseline in (gate.retriever, *only):
            problems.append(
                message("{name!r} is the baseline, which is not held to itself", name=baseline)
            )
        yield from (joined(": ", [gate.path, problem]) for problem in problems)


def _metric_problems(gate: Gate, metrics: Collection[str]) -> Iterator[str]:
    """What is wrong with the metric of a gate."""
    metric, name = known_metric(gate.metric), gate.metric
    if name not in metrics:
        hint = nearest(name, metrics)
        yield message("{name} is not computed; add it to 'metrics'; {hint}", name=name, hint=hint)
    elif gate.than is not None and direction(name) == "neither":
        yield message("{name} has no direction, so nothing is worse", name=name)
    elif gate.surely and metric is not None and not metric.has_interval:
        yield message(
            "surely is not offered for {name}, a number of the whole run without an interval; "
            "write {without!r}",
            name=name,
            without=gate.condition.removeprefix("surely "),
        )
    elif gate.surely and gate.than == "earlier" and metric is not None and not metric.is_mean:
        # Of costs results keep the values of questions, and here there are none.
        yield message(
            "surely is not offered for {name} against earlier results, which do not keep what each "
            "question cost; write {without!r}",
            name=name,
            without=gate.condition.removeprefix("surely "),
        )


def check_gates(
    gates: Iterable[Gate], comparisons: Sequence[Comparison], earlier: Sequence[Change] = ()
) -> tuple[GateResult, ...]:
    """Hold every retriever against the gates that concern it.

    Args:
        gates: from `parse_gates`.
        comparisons: one for each matcher.
        earlier: what became of each retriever that an earlier result has as well.

    Raises:
        UsageError: a gate asks for what the comparisons lack.
    """
    matchers = [comparison.match for comparison in comparisons]
    return tuple(
        result
        for gate, comparison in product(gates, comparisons)
        # Of a matcher that there is not each comparison is asked, which refuses it.
        if gate.match == comparison.match or gate.match not in matchers
        for result in _results(gate, comparison, matchers, earlier)
    )


def _results(
    gate: Gate, comparison: Comparison, matchers: Collection[str], earlier: Sequence[Change]
) -> Iterator[GateResult]:
    if gate.than == "earlier" and not earlier:
        raise UsageError("{place}: {needs_earlier}", place=gate.path, needs_earlier=NEEDS_EARLIER)
    # Who wrote the gate could not know from which grade on the pool calls a document relevant.
    pooled = [metric for metric in comparison.metrics if _without_rel(metric) == gate.metric]
    if gate.metric not in comparison.metrics and len(pooled) == 1:
        gate = replace(gate, metric=pooled[0])
    for problem in gate_problems(
        [gate],
        metrics=comparison.metrics,
        retrievers=comparison.every_retriever,
        matchers=matchers,
        slices=comparison.fields,
        baseline=comparison.baseline,
    ):
        raise UsageError(problem)
    part = None if gate.field is None else {"field": gate.field, "value": gate.value}
    for name in comparison.every_retriever:
        is_baseline = gate.than == "baseline" and name == comparison.baseline
        if gate.retriever in (None, name) and not is_baseline:
            outcome = _outcome(gate, name, comparison, earlier)
            yield GateResult(
                gate.path, gate.metric, gate.condition, comparison.match, name, part, *outcome
            )


def _without_rel(metric: str) -> str:
    """The metric that was asked for: a pool says from which grade on a document is relevant."""
    name, _, options = metric.removesuffix(")").partition("(")
    rest = [option for option in options.split(", ") if option and not option.startswith("rel=")]
    return f"{name}({', '.join(rest)})" if rest else name


def failed(results: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """Those that did not pass."""
    return tuple(result for result in results if not result.passed)


_NAMES: Mapping[str | None, str] = {"earlier": message("earlier"), "baseline": message("baseline")}
"""What people read for what a gate is held against."""
_POINT = message("point estimate")
_NO_EVIDENCE = message("nothing is sure of it: it has no interval")
_NO_VALUE = message("no value: it could not be computed for any query here")

Outcome = tuple[float | None, bool, str]
"""What was looked at, whether it passes, and what to say of it."""


def _outcome(gate: Gate, name: str, comparison: Comparison, earlier: Sequence[Change]) -> Outcome:
    """What becomes of a gate on one retriever; of one that is no result, nothing passes."""
    if gate.metric in FAILURES:
        return _failures(gate, name, comparison)
    if failure := _serious(comparison, name):
        return None, False, message("not comparable: it {failed}", failed=failure.text)
    if gate.than == "baseline" and (failure := _serious(comparison, comparison.baseline)):
        text = message("not comparable: the baseline {failed}", failed=failure.text)
        return None, False, text
    if gate.than == "earlier":
        return _against_earlier(gate, name, comparison.match, earlier)
    return _in(gate, name, comparison)


def _against_earlier(gate: Gate, name: str, match: str, earlier: Sequence[Change]) -> Outcome:
    change_of = {(change.retriever, change.comparison.match): change for change in earlier}
    if (change := change_of.get((name, match))) is None:
        # A retriever that is new has nothing that it could be worse than.
        is_new = gate.retriever is None
        text = message(
            "new: not in earlier" if is_new else "the earlier results lack this retriever"
        )
        return None, is_new, text
    if gate.metric not in change.comparison.metrics:
        return None, False, message("the earlier results lack {metric}", metric=gate.metric)
    if failure := _serious(change.comparison, change.before):
        text = message("not comparable: in the earlier results it {failed}", failed=failure.text)
        return None, False, text
    return _in(gate, change.after, change.comparison)


def _serious(comparison: Comparison, name: str) -> Failures | None:
    """The failures for which a retriever is not comparable."""
    serious = {failure.retriever: failure for failure in comparison.failures}
    failure = serious.get(name)
    return None if failure is None or failure.tolerated else failure


def _failures(gate: Gate, name: str, comparison: Comparison) -> Outcome:
    """A gate on failures held against one retriever."""
    view = _view(gate, comparison)
    if isinstance(view, str):
        return None, False, view
    n, n_failed = view.n, 0
    for failure in comparison.failures:
        if failure.retriever == name and isinstance(view, Slice):
            n_failed = len(failure.query_ids.intersection(view.query_ids))
        elif failure.retriever == name:
            n, n_failed = failure.n_queries, failure.n_failed
    value = n_failed if gate.metric == "n_failed" else n_failed / max(n, 1)
    text = message("{n} of {of} questions failed", n=n_failed, of=n)
    return value, gate.holds(value), text


def _view(gate: Gate, comparison: Comparison) -> View | str:
    """The queries that a gate is about, or that there are none."""
    if gate.field is None:
        return comparison.overall
    slices = {part.label: part for part in comparison.by(gate.field)}
    # Known only once retrievers have answered, whose answers an error would throw away.
    lacking = message(
        "no query has the value {value!r}; {hint}",
        value=gate.value,
        hint=nearest(gate.value or "", slices),
    )
    return slices.get(gate.value or "", lacking)


def _in(gate: Gate, name: str, comparison: Comparison) -> Outcome:
    """A gate held against one retriever of a comparison."""
    view = _view(gate, comparison)
    if isinstance(view, str):
        return None, False, view
    names = (name,) if gate.than is None else (name, comparison.baseline)
    means = [view.means[side][gate.metric] for side in names]
    difference = None if gate.than is None else view.difference(gate.metric, name)
    measured = means[0] if gate.than is None else difference
    # What is not known may be the worst, and a gate that passes by guessing guards nothing.
    if any(mean.bounds for mean in means):
        value, text = _at_worst(gate, means)
    elif difference is not None and difference.value is None and inf in difference.values:
        return _of_never(gate, difference)
    else:
        value = None if measured is None else measured.value
        text = number(value) if difference is None or value is None else _against(gate, value)
        if gate.than is not None and not gate.surely:
            text = message("{value} ({reason})", value=text, reason=_POINT)
    if measured is None or value is None:
        return None, False, _NO_VALUE
    if gate.surely:
        return _surely(gate, measured, value, text, comparison)
    return value, gate.holds(value), text


def _of_never(gate: Gate, difference: Difference) -> Outcome:
    """A gate held against a difference from what is never, or of that: nothing takes longer."""
    value, rival = difference.values
    if value is None or rival is None or gate.upwards:
        return None, False, _NO_VALUE
    text = message(
        "{value}, and {than} {rival}",
        value=number(value),
        than=_NAMES[gate.than],
        rival=number(rival),
    )
    if gate.surely:
        return None, False, joined("; ", [text, _NO_EVIDENCE])
    # Never against never is no worse; never against some time is.
    gap = 0.0 if value == rival else value - rival
    return None if isinf(gap) else gap, gate.holds(gap), text


def _against(gate: Gate, value: float) -> str:
    return message("{value} against {than}", value=signed(value), than=_NAMES[gate.than])


def _at_worst(gate: Gate, means: Sequence[Estimate]) -> tuple[float | None, str]:
    """The worst that what is not known may make of a metric, and how people read it.

    Args:
        gate: without ``surely``.
        means: of the retriever, and of the one that it is set against.
    """
    lows, highs = [mean.least for mean in means], [mean.greatest for mean in means]
    # The rival is taken at its best: both sides are as bad for the retriever as may be.
    worst, *rival = [*lows[:1], *highs[1:]] if gate.upwards else [*highs[:1], *lows[1:]]
    if worst is None or None in rival:
        return None, ""
    value = worst - sum(filter(None, rival))
    most_open = max(means, key=lambda mean: mean.n_open)
    text = plural(
        most_open.n_open,
        "{value} at worst, as {n} of {of} questions is not known",
        "{value} at worst, as {n} of {of} questions are not known",
        value=number(value) if gate.than is None else _against(gate, value),
        of=most_open.n + most_open.n_open,
    )
    return value, text


def _surely(
    gate: Gate, measured: Estimate | Difference, value: float, text: str, comparison: Comparison
) -> Outcome:
    """A gate held against what the questions are evidence for, beside what was looked at."""
    bound = measured.sure_low if gate.upwards else measured.sure_high
    if bound is None:
        return None, False, joined("; ", [text, _NO_EVIDENCE])
    if measured.value is None:  # not all is known, and those that are need not be like the rest
        bound = min(bound, value) if gate.upwards else max(bound, value)
    surely, passed = gate.sure(bound), gate.holds(bound)
    text = message("{value}, {surely} (n = {n})", value=text, surely=surely, n=measured.n)
    why = undecidable(gate, measured.n, comparison.statistics.confidence, measured.effective)
    # More questions do not help what is worse by its mean.
    is_worse = gate.than is not None and not gate.holds(value)
    if why is not None and not passed and not is_worse:
        text = joined("; ", [text, why])
    return bound, passed, text
