"""Gates held against numbers, and what is found; `kragx.comparison.gate_conditions` reads them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from kragx.comparison.changes import Change
from kragx.comparison.comparison import Comparison
from kragx.comparison.gate_conditions import FAILURES, Gate
from kragx.comparison.gate_outcomes import outcome_of
from kragx.comparison.scores import direction
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import Line, Name, Part, Result, Table, message, visible
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
        text = message("gates: the one passed" if n == 1 else "gates: all {n} passed", n=n)
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
    for gate in gates:
        named = [*_metric_problems(gate, metrics)]
        for kind, name, names in (
            ("retriever", gate.retriever, retrievers),
            ("matcher", gate.match, matchers),
        ):
            if name is not None and name not in names:
                named.append(f"no {kind} {name!r}; {nearest(name, names)}")
        if gate.field is not None and gate.field not in slices:
            hint = f"; {nearest(gate.field, slices)}" if slices else ""
            named.append(f"{gate.field!r} is not among the slices; add it to 'slices'{hint}")
        named += _baseline_problems(gate, retrievers, baseline)
        yield from (f"{gate.path}: {problem}" for problem in named)


def _metric_problems(gate: Gate, metrics: Collection[str]) -> Iterator[str]:
    if gate.metric in FAILURES:
        return
    if gate.metric not in metrics:
        hint = nearest(gate.metric, metrics)
        yield f"{gate.metric} is not computed; add it to 'metrics'; {hint}"
    elif gate.than is not None and direction(gate.metric) == "neither":
        yield f"{gate.metric} has no direction, so nothing is worse"
    elif gate.surely and (why := _never_sure(gate)):
        without = gate.condition.removeprefix("surely ")
        yield f"surely is not offered for {why}; write {without!r}"


def _baseline_problems(
    gate: Gate, retrievers: Collection[str], baseline: str | None
) -> Iterator[str]:
    if gate.than != "baseline":
        return
    if baseline is None:
        name = next(iter(retrievers), "NAME")
        yield f"'no worse than baseline' needs one; name a retriever: baseline: {name}"
    elif gate.retriever == baseline or {*retrievers} == {baseline}:
        yield f"{baseline!r} is the baseline, which is not held to itself"


def _never_sure(gate: Gate) -> str:
    """Of what a gate with ``surely`` finds no interval, whatever is asked; empty if it may."""
    metric = known_metric(gate.metric)
    if metric is None or (metric.is_mean and metric.has_interval):
        return ""
    if not metric.has_interval:
        return f"{gate.metric}, a number of the whole run without an interval"
    if gate.than == "earlier":  # results keep the values of questions, and here there are none
        return f"{gate.metric} against earlier results, which do not keep what each question cost"
    return ""


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
            outcome = outcome_of(gate, name, comparison, earlier)
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
